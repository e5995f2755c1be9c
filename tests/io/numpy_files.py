"""numpy reads what we write, and we read what numpy writes.

    numpy_files.py COPY_ARCHIVE TEST_IO_DAMAGE

Exit status 77, after saying so, where numpy is missing.
"""
import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

COPY, DAMAGE = sys.argv[1:3]
KINDS = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()
SHAPES = [(), (0,), (1,), (7,), (3, 5), (5, 3), (2, 0, 4), (4, 3, 2), (2, 3, 4, 5), (33, 65, 34),
          (1, 2, 1, 2, 1, 2, 1, 3)]
rng = np.random.default_rng(1)


def values(kind, shape):
    """Random values that use every byte of an element."""
    dtype = np.dtype(kind)
    if kind == "b1":
        return rng.integers(0, 2, shape).astype(bool)
    count = int(np.prod(shape))
    array = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
    if dtype.kind == "f":
        array = np.where(np.isnan(array), dtype.type(1.5), array)
    return array.astype(dtype).reshape(shape)


def copy(source, target, *flags):
    subprocess.run([COPY, *flags, source, target], check=True)


def fails(source, *words):
    """The file is refused with a message that has these words, and quietly."""
    run = subprocess.run([COPY, source], capture_output=True, text=True)
    assert run.returncode in (2, 3), run
    for word in (os.path.basename(source), *words):
        assert word in run.stderr, (word, run.stderr)


def same(a, b, what):
    assert a.dtype == b.dtype.newbyteorder("="), (what, a.dtype, b.dtype)
    assert a.shape == b.shape, (what, a.shape, b.shape)
    assert a.tobytes() == b.astype(b.dtype.newbyteorder("=")).tobytes(), what


def check_npy():
    """Every dtype, shape, memory order, byte order and version, through a directory."""
    os.mkdir("npy")
    arrays = {}
    cases = itertools.product(KINDS, SHAPES, "CF", "<>", (1, 2, 3))
    for number, (kind, shape, order, endian, version) in enumerate(cases):
        array = np.array(values(kind, shape), order=order, dtype=np.dtype(endian + kind))
        name = f"a{number}_{kind}_{len(shape)}_{order}_{version}"
        arrays[name] = array
        with open(f"npy/{name}.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=(version, 0))
    for flags in ([], ["-d"]):
        copy("npy", "npy.npz", *flags)
        with np.load("npy.npz") as back:
            assert sorted(back.files) == sorted(arrays)
            for name in arrays:
                same(back[name], arrays[name], name)
        assert zipfile.ZipFile("npy.npz").testzip() is None
    print(f"npy: {len(arrays)} files")


def example():
    arrays = {f"{kind}_{k}": values(kind, shape) for kind in KINDS for k, shape in enumerate(SHAPES)}
    arrays["grün/Ärger €"] = values("f8", (3,))
    arrays["mapped"] = values("f4", (300, 1200))
    arrays["mapped too"] = values("i2", (1000, 600))
    arrays["large, column-major"] = np.asfortranarray(values("f8", (400, 500)))
    arrays["large, swapped"] = values("f8", (400, 500)).astype(">f8")
    return arrays


def check_npz():
    arrays = example()
    np.savez("a.npz", **arrays)
    np.savez_compressed("b.npz", **arrays)
    listing = subprocess.run([COPY, "a.npz"], check=True, capture_output=True, text=True).stdout
    assert "mapped float32 300 1200 mapped\n" in listing
    assert listing.count(" mapped\n") == 2
    for source, flags in itertools.product(("a.npz", "b.npz"), ([], ["-d"], ["-v"])):
        copy(source, "c.npz", *flags)
        with np.load("c.npz") as back:
            assert back.files == list(arrays)
            for name in arrays:
                same(back[name], arrays[name], name)
    # one array to a file of its own
    np.savez("one.npz", X=arrays["mapped"])
    copy("one.npz", "one.npy")
    same(np.load("one.npy"), arrays["mapped"], "npy")
    same(np.load("one.npy", mmap_mode="r"), arrays["mapped"], "npy")
    print(f"npz: {len(arrays)} arrays")


NAMES = {"b1": "BOOL", **{k: k.upper()[0] + str(8 * int(k[1:])) for k in KINDS if k != "b1"}}


def read_safetensors(path):
    raw = open(path, "rb").read()
    length, = struct.unpack("<Q", raw[:8])
    assert length % 8 == 0
    header = json.loads(raw[8:8 + length])
    kinds = {value: key for key, value in NAMES.items()}
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = np.dtype(kinds[entry["dtype"]]).newbyteorder("<")
        assert begin % dtype.itemsize == 0
        arrays[name] = np.frombuffer(raw[8 + length + begin:8 + length + end],
                                     dtype).reshape(entry["shape"])
    return arrays


def check_safetensors():
    arrays = example()
    np.savez("a.npz", **arrays)
    copy("a.npz", "a.safetensors")
    back = read_safetensors("a.safetensors")
    assert list(back) == list(arrays)
    for name in arrays:
        assert np.array_equal(back[name], arrays[name], equal_nan=False), name
    copy("a.safetensors", "b.npz")
    with np.load("b.npz") as again:
        for name in arrays:
            same(again[name], arrays[name], name)
    print("safetensors: read and written")


def check_csv():
    lengths = rng.integers(1, 6, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    X = rng.normal(size=(offsets[-1], 6)) * 10.0 ** rng.integers(-300, 300, (offsets[-1], 6))
    Y = rng.choice(np.array([-1, 1], dtype="i1"), 40)
    np.savez("t.npz", X=X, offsets=offsets, Y=Y)
    for name in ("t.csv", "t.tsv"):
        copy("t.npz", name)
        copy(name, "u.npz")
        with np.load("u.npz") as back:
            for key, array in (("X", X), ("offsets", offsets), ("Y", Y)):
                same(back[key], array, key)
    table = np.genfromtxt("t.csv", delimiter=",", skip_header=1)
    assert np.array_equal(table[:, 2:], X)
    print("csv: read and written")


def check_refusals():
    """Files that numpy writes and that are not for us."""
    np.save("o.npy", np.array([1, None], dtype=object), allow_pickle=True)
    fails("o.npy", "Python objects")
    np.save("c.npy", np.zeros(3, complex))
    fails("c.npy", "complex")
    np.save("s.npy", np.array(["text"]))
    fails("s.npy", "text")
    np.save("r.npy", np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]))
    fails("r.npy", "structured")
    np.save("l.npy", np.zeros(2, np.longdouble))
    fails("l.npy", "'<f16'")
    np.save("d.npy", np.zeros((1,) * 9))
    fails("d.npy", "more than 8 dimensions")
    np.savez("z.npz", fine=np.zeros(3), Y=np.array([None], dtype=object))
    fails("z.npz", "Y: its type '|O'")
    # under names that no data set has, they are left out
    others = {"o": np.array([None], dtype=object), "s": np.zeros(2), "text": np.array(["a"]),
              "c": np.zeros(3, complex), "nine": np.zeros((1,) * 9), "l": np.zeros(2, np.longdouble)}
    for save in np.savez, np.savez_compressed:
        save("z.npz", fine=np.zeros(3), **others)
        copy("z.npz", "y.npz")
        assert sorted(np.load("y.npz").files) == ["fine", "s"], np.load("y.npz").files
    with zipfile.ZipFile("e.npz", "w") as file:
        file.writestr("X.npy", open("one.npy", "rb").read(), zipfile.ZIP_LZMA)
    fails("e.npz", "X: it is packed by zip method 14")


def check_damage():
    np.savez("a.npz", X=values("f4", (5, 3)), y=values("i8", (3,)))
    np.savez_compressed("b.npz", X=values("f4", (5, 3)), y=values("i8", (3,)))
    np.savez("c.npz", X=values("f4", (600, 512)), y=values("i8", (3,)))
    subprocess.run([DAMAGE, "a.npz", "b.npz", "c.npz"], check=True)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    check_npy()
    check_npz()
    check_safetensors()
    check_csv()
    check_refusals()
    check_damage()
    os.chdir("/")
