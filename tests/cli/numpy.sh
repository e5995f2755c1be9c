# numpy reads what generate writes, and the numbers are what they are said to be.
. "$(dirname "$0")/lib.sh" "$@"
python=/usr/bin/python3
if ! $python -c 'import numpy' 2>/dev/null; then
    echo "skipped: $python has no numpy"
    exit 77
fi

for dtype in float16 float32 float64; do
    good generate --kind planted-p --n 200 --T 8 --d 12 --push 0.5 --dtype $dtype -o p.npz
    good generate --kind planted-W --n 200 --T 8 --T-min 3 --d 12 --push 0.5 --queries 2 \
        --dtype $dtype -o W.npz
    good generate --kind sphere --n 200 --T 8 --d 12 --dtype $dtype --deflate -o sphere.npz
    cat >values.py <<'END'
import sys
import numpy as np

dtype = np.dtype(sys.argv[1])
error = 40 * np.finfo(dtype).eps
p = np.load("p.npz")
assert p["X"].dtype == dtype and p["X"].shape == (200, 8, 12) and p["Y"].dtype == np.int8
X, v, y, ids = p["X"].astype(float), p["v"], p["Y"], p["ids"]
along, score = X @ p["planted_p"], y[:, None] * (X @ v)
row = np.arange(200)
assert abs(np.linalg.norm(p["planted_p"]) - 1) < 1e-14 and abs(p["planted_p"] @ v) < 1e-14
for values, lead in ((along, 0.5), (score, 0.1)):
    best = values[row, ids].copy()
    values[row, ids] = -np.inf
    assert (best - values.max(1)).min() > lead - error

W = np.load("W.npz")
offsets, X, Z = W["offsets"], W["X"].astype(float), W["Z"].astype(float)
assert W["X"].dtype == dtype and Z.shape == (200, 2, 12) and W["ids"].shape == (200, 2)
assert abs(np.linalg.norm(W["planted_W"]) - 1) < 1e-14
lengths = np.diff(offsets)
assert lengths.min() == 3 and lengths.max() == 8
for i in range(200):
    x = X[offsets[i] : offsets[i + 1]]
    for m in range(2):
        u = W["planted_W"] @ Z[i, m]
        along = x @ u / np.linalg.norm(u)
        score = W["Y"][i] * (x @ W["v"])
        best = W["ids"][i, m]
        rivals = np.delete(np.arange(len(x)), best)
        assert (along[best] - along[rivals]).min() > 0.5 - error
        assert (score[best] - score[rivals]).min() > 0.1 - error

s = np.load("sphere.npz")
assert np.abs(np.linalg.norm(s["X"].astype(float), axis=2) - 1).max() < error
END
    check "values in $dtype" $python values.py $dtype
done

# what numpy writes is read: orders, byte orders, compression
cat >write.py <<'END'
import numpy as np

X = np.arange(24, dtype=">f4").reshape(2, 3, 4)
np.savez("a.npz", X=X, Y=np.array([1, -1]))
np.savez("b.npz", X=np.asfortranarray(X.astype("<f4")), Y=np.array([1, -1]))
np.savez_compressed("c.npz", X=X.astype("<f4"), Y=np.array([1, -1]))
END
check 'numpy writes' $python write.py
for file in a b c; do
    good info $file.npz -o $file.safetensors --json
    json d 4
done
check 'one content, three ways' cmp a.safetensors b.safetensors
check 'one content, three ways' cmp a.safetensors c.safetensors
finish
