"""Data: every form that it takes, what is borrowed and what is copied, and clear errors."""
import copy
import gc
import pickle
import resource
import subprocess
import sys
import weakref

import numpy as np
import pytest

import attsvm


def tokens(data):
    return [np.asarray(sequence) for sequence in data]


def same(data, expected):
    assert len(data) == len(expected)
    for found, wanted in zip(tokens(data), expected):
        np.testing.assert_array_equal(found, np.asarray(wanted, np.float64))


# ------------------------------------------------------------------------------------ forms

def test_equal_lengths(arrays):
    X, y, v = arrays
    data = attsvm.Data(X, y, v=v)
    same(data, X)
    assert data.shape == (6, 8, 10)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.array("v"), v)


def test_list_of_arrays():
    parts = [np.arange(6.0).reshape(3, 2), np.ones((1, 2)), np.zeros((4, 2))]
    data = attsvm.Data(parts, [1, -1, 1])
    same(data, parts)
    assert data.shape == (3, None, 2)
    np.testing.assert_array_equal(data.lengths, [3, 1, 4])


def test_offsets():
    X = np.arange(12.0).reshape(6, 2)
    same(attsvm.Data(X, offsets=[0, 1, 6]), [X[:1], X[1:]])


def test_lengths_and_bags(tmp_path):
    """The other ways in which a file says where sequences begin, also with an array replaced."""
    X = np.arange(12.0).reshape(6, 2)
    for more in ({"lengths": [2, 4]}, {"bags": [7, 7, 3, 3, 3, 3]}):
        data = attsvm.Data(X, [1, -1], **more)
        same(data, [X[:2], X[2:]])
        data.save(tmp_path / "d.npz")
        same(attsvm.Data(tmp_path / "d.npz", v=[1.0, 2.0])[::-1], [X[2:], X[:2]])
        data[[1]].save(tmp_path / "view.npz")
        same(attsvm.Data(tmp_path / "view.npz"), [X[2:]])


def test_table():
    E = np.arange(8.0).reshape(4, 2)
    data = attsvm.Data(E=E, tokens=[3, 0, 1, 1], offsets=[0, 1, 4])
    same(data, [E[[3]], E[[0, 1, 1]]])
    assert data.info["vocabulary"] == 4


def test_groups_in_order_of_first_appearance():
    X = np.arange(12.0).reshape(6, 2)
    data = attsvm.Data(X, [1, -1, 1], groups=["b", "a", "b", "c", "a", "b"])
    same(data, [X[[0, 2, 5]], X[[1, 4]], X[[3]]])
    np.testing.assert_array_equal(data.y, [1, -1, 1])


def test_groups_with_a_label_for_each_row():
    X = np.arange(8.0).reshape(4, 2)
    data = attsvm.Data(X, [1, -1, 1, -1], groups=[7, 3, 7, 3])
    np.testing.assert_array_equal(data.y, [1, -1])
    with pytest.raises(attsvm.InputError, match=r"y\[2\].*group 7"):
        attsvm.Data(X, [1, -1, -1, -1], groups=[7, 3, 7, 3])


def test_groups_side_by_side_are_borrowed():
    X = np.arange(8.0).reshape(4, 2)
    assert np.shares_memory(X, attsvm.Data(X, groups=[5, 5, 2, 2]).array("X"))


def test_file(tmp_path, planted):
    planted.save(tmp_path / "d.npz")
    data = attsvm.Data(tmp_path / "d.npz")
    same(data, tokens(planted))
    with_head = attsvm.Data(tmp_path / "d.npz", v=np.ones(10))
    np.testing.assert_array_equal(with_head.array("v"), np.ones(10))
    same(with_head, tokens(planted))


def test_replace(planted):
    other = planted.replace(v=np.arange(10.0))
    np.testing.assert_array_equal(other.array("v"), np.arange(10.0))
    assert np.shares_memory(other.array("X"), planted.array("X"))


# ------------------------------------------------------------------------- borrowed or copied

@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_in_c_order_are_borrowed(dtype):
    X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(dtype)
    data = attsvm.Data(X)
    assert data.array("X").ctypes.data == X.ctypes.data
    assert data.info["dtype"] == np.dtype(dtype).name


def test_borrowed_arrays_are_kept_alive():
    X = np.ones((3, 4, 5))
    alive = weakref.ref(X)
    data = attsvm.Data(X)
    view = data[1:]
    del X, data
    gc.collect()
    assert alive() is not None
    same(view, np.ones((2, 4, 5)))
    del view
    gc.collect()
    assert alive() is None


def test_a_view_shares_the_tokens(arrays):
    X, y, v = arrays
    data = attsvm.Data(X, y, v=v)
    X[3, 0, 0] = 7.5  # seen through the view: nothing was copied
    assert data[[3]].sequence(0)[0, 0] == 7.5


@pytest.mark.parametrize("make", [
    lambda X: np.asfortranarray(X),
    lambda X: X.swapaxes(0, 1).copy().swapaxes(0, 1),
    lambda X: X.astype(">f8"),
    lambda X: X.astype(np.longdouble),
    lambda X: np.repeat(X, 2, axis=2)[:, :, ::2],
    lambda X: X.tolist(),
    lambda X: [part.view(np.matrix) for part in X],
], ids=["fortran", "swapped", "big-endian", "longdouble", "strided", "lists", "matrices"])
def test_others_are_copied_and_right(make):
    X = np.random.default_rng(1).normal(size=(3, 4, 5))
    given = make(X)
    data = attsvm.Data(given)
    same(data, X)
    if isinstance(given, np.ndarray):
        assert not np.shares_memory(given, data.array("X"))


def test_integers_and_read_only_arrays():
    X = np.arange(24).reshape(2, 3, 4)
    same(attsvm.Data(X), X)
    fixed = X.astype(np.float64)
    fixed.flags.writeable = False
    data = attsvm.Data(fixed)
    assert np.shares_memory(fixed, data.array("X"))
    assert not data.array("X").flags.writeable


def test_unaligned_memory():
    raw = np.zeros(8 * 24 + 1, np.uint8)[1:].view(np.float64)
    raw[:] = np.arange(24)
    same(attsvm.Data(raw.reshape(2, 3, 4)), np.arange(24).reshape(2, 3, 4))


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    X = torch.randn(3, 4, 5, requires_grad=True)
    data = attsvm.Data(X, torch.tensor([1, 0, 1]))
    assert data.array("X").ctypes.data == X.data_ptr()
    same(data, X.detach().numpy())
    same(attsvm.Data(X.detach().bfloat16()), X.detach().bfloat16().float().numpy())
    same(attsvm.Data([X[0], X[1, :2]]), [X[0].detach().numpy(), X[1, :2].detach().numpy()])


def test_nothing_is_imported_without_need():
    code = "import sys, numpy, attsvm; attsvm.Data(numpy.ones((2, 2, 2))); " \
           "print(sorted({'torch', 'matplotlib', 'sklearn', 'tqdm'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_peak_memory_of_a_large_array():
    """A fresh process, so that its peak is its own: 410 MB of tokens are not copied."""
    code = """if True:
        import resource, numpy as np, attsvm
        X = np.zeros((100_000, 16, 64), np.float32)
        X += 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        data = attsvm.Data(X, np.tile([1, -1], 50_000))
        data[::2]
        print(X.nbytes, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    size, more = map(int, done.stdout.split())
    assert more < 0.03 * size


# ----------------------------------------------------------------------------------- indexing

def test_indexing(arrays):
    X, y, v = arrays
    data = attsvm.Data(X, y, v=v)
    for key in (slice(1, 5, 2), slice(None, None, -1), [0, 5, 0], np.array([-1, 2]),
                np.array([True, False, True, False, False, True])):
        same(data[key], X[key])
        np.testing.assert_array_equal(data[key].y, y[key])
    np.testing.assert_array_equal(data[-1], X[-1])
    same(data[1:][::2], X[1:][::2])


@pytest.mark.parametrize("key", [[6], [-7], [0.5], "a", [[0]], np.ones(5, bool), None], ids=str)
def test_bad_indices(planted, key):
    with pytest.raises((IndexError, attsvm.InputError)):
        planted[key]


def test_an_empty_view_is_an_error(planted):
    with pytest.raises(attsvm.InputError):
        planted[[]]


# ------------------------------------------------------------------------------------- errors

@pytest.mark.parametrize("arguments, name", [
    ({"X": 3.0}, "X"), ({"X": np.ones(3)}, "X"), ({"X": []}, "X"),
    ({"X": [np.ones((2, 3)), np.ones((2, 4))]}, r"X\[1\]"),
    ({"X": np.ones((2, 2, 2), complex)}, "X"), ({"X": np.array([["a"]])}, "X"),
    ({"X": [[[1, 2], [3]]]}, "X"), ({"X": np.full((1, 1, 1), np.inf)}, "X"),
    ({"X": np.ones((2, 2, 2)), "y": [1, 2]}, "Y"), ({"X": np.ones((2, 2, 2)), "y": 1}, "Y"),
    ({"X": np.ones((2, 2, 2)), "y": [1, -1, 1]}, "Y"),
    ({"X": np.ones((4, 2)), "offsets": [0, 2]}, "offsets"),
    ({"X": np.ones((4, 2)), "groups": [1, 2]}, "groups"),
    ({"X": np.ones((2, 2, 2)), "v": ["x", "y"]}, "v"),
    ({"X": np.ma.masked_array(np.ones((2, 2, 2)))}, "X"),
    ({"X": np.ones((2, 2, 2)), "w": 1}, "'w'"), ({}, "X"),
    ({"X": np.array(3.0)}, "X"), ({"X": attsvm.generate(n=2, T=2, d=2)}, "X"),
])
def test_errors_name_the_argument(arguments, name):
    with pytest.raises(attsvm.InputError, match=name):
        attsvm.Data(**arguments)


def test_errors_are_of_python_kinds(tmp_path):
    with pytest.raises(OSError):
        attsvm.Data("nowhere.npz")
    (tmp_path / "bad.npz").write_bytes(b"no zip at all")
    with pytest.raises(attsvm.FileError, match="bad.npz"):
        attsvm.Data(tmp_path / "bad.npz")
    with pytest.raises(ValueError):
        attsvm.Data(np.full((1, 1, 1), np.nan))


# ------------------------------------------------------------------------------------ storing

def test_pickle_and_copy(arrays):
    X, y, v = arrays
    data = attsvm.Data(X, y, v=v)
    for one in (data, data[[4, 1]], attsvm.generate("ntp", n=5, T=4, d=3)):
        for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
            same(again, tokens(one))
            np.testing.assert_array_equal(again.y, one.y)
    assert not np.shares_memory(copy.deepcopy(data).array("X"), X)


def test_saved_views(arrays, tmp_path):
    X, y, v = arrays
    attsvm.Data(X, y, v=v)[[2, 0]].save(tmp_path / "view.npz")
    again = attsvm.Data(tmp_path / "view.npz")
    same(again, X[[2, 0]])
    np.testing.assert_array_equal(again.y, y[[2, 0]])


def test_memory_stays_flat():
    X, y = np.ones((4, 3, 2)), [1, -1, 1, -1]

    def many(times):
        for _ in range(times):
            attsvm.Data(X, y)[1:3]
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = many(500)
    assert many(5000) - before < 1000  # kB
