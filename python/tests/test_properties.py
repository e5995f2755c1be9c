"""Random data sets and settings: an answer or a clear error, never a crash, a hang or a leak.

The long run has 10 000 examples and 100 000 calls."""
import gc
import resource

import numpy as np
import pytest
from conftest import LONG
from hypothesis import example, given, note
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import attsvm

small = st.integers(0, 5)
shapes = st.one_of(st.tuples(small, small, small), st.tuples(small, small),
                   st.lists(small, max_size=4).map(tuple))
dtypes = st.sampled_from([np.float16, np.float32, np.float64, ">f4", "<f8", np.int8, np.uint64,
                          bool, np.complex64, "U3", object])


@st.composite
def any_array(draw, shape=shapes):
    dtype = np.dtype(draw(dtypes))
    if dtype == object:
        return np.full(draw(shape), None)
    array = draw(hnp.arrays(dtype, draw(shape)))
    order = draw(st.sampled_from(["C", "F", "reversed", "read-only"]))
    if order == "F":
        return np.asfortranarray(array)
    if order == "reversed" and array.ndim:
        return array[::-1]
    array.flags.writeable = order != "read-only"
    return array


any_value = st.one_of(any_array(), st.none(), st.integers(-9, 9), st.text(max_size=5),
                      st.lists(st.integers(-2, 9), max_size=6), st.floats(), st.binary(max_size=4))


@given(X=st.one_of(any_value, st.lists(any_array(), max_size=4)),
       more=st.dictionaries(st.sampled_from(["y", "groups", "offsets", "E", "tokens", "Z", "v", "V",
                                             "W", "p", "ids", "O", "s", "labels", "init_p"]),
                            any_value, max_size=3),
       key=st.one_of(st.slices(5), st.lists(st.integers(-7, 7), max_size=4), any_value))
def test_data(X, more, key):
    try:
        data = attsvm.Data(X, **more)
    except (attsvm.Error, MemoryError, OSError):
        return
    assert len(data) == len(list(data)) and repr(data)
    try:
        view = data[key]
    except (attsvm.Error, IndexError):
        return
    assert repr(view)


@st.composite
def data_sets(draw):
    n, T, d = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    numbers = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e3, 1e3),
                        st.sampled_from([1e-300, 1e150, -1e100, 5e-324]))
    X = draw(hnp.arrays(np.float64, (n, T, d), elements=numbers))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    v = draw(hnp.arrays(np.float64, d, elements=numbers))
    note(f"X = {X.tolist()}, y = {y}, v = {v.tolist()}")
    return attsvm.Data(X, y, v=v)


numbers = st.one_of(st.integers(-3, 60), st.floats(), st.sampled_from(["", "x", "1e3", "\0", "é"]))


@given(data_sets(), st.fixed_dictionaries({}, optional={
    "model": st.sampled_from(["p", "W", "KQ", "vp", "vpW", "vW", "vKQ", "pW", "x"]),
    "step": st.sampled_from(["gd", "ngd", "polyak", "md:3", "nmd:1.5", "sign", "coordinate",
                             "spectral", "momentum", "signum", "muon", "nuclear", "adam",
                             "rescale:2", "md:", "?"]),
    "loss": st.sampled_from(["logistic", "exp", "linear", "ntp", ""]),
    "head": st.sampled_from(["linear", "concave:0.5", "relu", "concave:x"]),
    "query": st.sampled_from(["all", "causal", "last", "0", "7"]),
    "init": st.sampled_from(["zero", "gauss:1", "uniform:0.3", "file", "nowhere"]),
    "lr": numbers, "rank": numbers, "batch": numbers, "seed": numbers, "record": numbers,
    "eps": numbers, "decay": numbers, "ridge": numbers, "threads": st.integers(0, 3),
    "nonsense": numbers}))
def test_train(data, settings):
    try:
        run = attsvm.train(data, iters=12, **settings)
    except (attsvm.Error, MemoryError, OSError):
        return
    assert run.ids.size and (np.asarray(run.softmax) >= 0).all()


@given(data_sets(), st.fixed_dictionaries({}, optional={
    "problem": st.sampled_from(["p", "v", "joint", "W", "multi", "finite", "q"]),
    "norm": st.sampled_from(["l2", "fro", "nuc", "spectral", "lq:3", "l1", "linf", "lq:0"]),
    "select": st.one_of(st.sampled_from(["opt", "ids", "sets", ""]),
                        st.lists(st.integers(-1, 4), max_size=5)),
    "query": st.sampled_from(["all", "causal", "last", "0", "7"]),
    "soft": numbers, "rank": st.integers(-1, 3), "tol": numbers, "threshold": numbers,
    "threads": st.integers(0, 3), "duplicates": st.sampled_from(["merge", "strict", "?"])}))
@example(attsvm.Data([[[3.4395525670743494e-136], [-1e100], [0.0]]], [-1], v=[1e-300]), {})
@example(attsvm.Data([[[1e-300, -1e100], [0.0, -1e100]]], [1], v=[5e-324, 1.0]), {"problem": "p"})
@example(attsvm.Data([[[2.9e-96], [26.7], [-449.8]], [[5.2e-285], [1e150], [-1e100]]], [1, -1],
                     v=[-2.0]), {})
def test_svm(data, settings):
    try:
        solution = attsvm.svm(data, **settings, time_limit=5)
    except (attsvm.Error, MemoryError, OSError):
        return
    assert solution.status in ("optimal", "infeasible", "stalled", "stationary")
    report = solution.check(tol=settings.get("tol"))
    assert report.valid or solution.status == "stalled", (solution, report.reason)


@given(data_sets(), st.data())
def test_evaluate(data, draw):
    model = draw.draw(st.sampled_from(["p", "W", "KQ", "vp", "vW"]))
    d = data.shape[2]
    shape = {"p": (d,), "v": (d,), "W": (d, d), "K": (d, 2), "Q": (d, 2)}
    at = {name: draw.draw(hnp.arrays(np.float64, shape[name], elements=st.floats(-1e6, 1e6)))
          for name in model}
    try:
        found = attsvm.evaluate(data, model, **at)
    except attsvm.Error:
        return
    for name, gradient in found.gradient.items():
        assert gradient.shape == at[name].shape


def calls(data, times):
    for k in range(times):
        kind = k % 5
        if kind == 0:
            attsvm.svm(data, "p").theta
        elif kind == 1:
            attsvm.train(data, iters=2).p
        elif kind == 2:
            attsvm.evaluate(data, p=np.ones(3))
        elif kind == 3:
            attsvm.check(data, attsvm.svm(data, "p"))
        else:
            with pytest.raises(attsvm.InputError):
                attsvm.train(data, lr=-1)
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_memory_stays_flat():
    data = attsvm.generate("planted-p", n=3, T=3, d=3)
    before = calls(data, 1000)
    assert calls(data, 100_000 if LONG else 3000) - before < 2000  # kB
