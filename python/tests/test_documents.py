"""Docstrings are run; every public name has one with an example; pictures by their data."""
import doctest
import importlib
import inspect
import pkgutil

import matplotlib
import numpy as np
import pytest

import attsvm

matplotlib.use("Agg")
MODULES = [name for _, name, _ in pkgutil.iter_modules(attsvm.__path__) if name != "_attsvm"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name):
    module = importlib.import_module("attsvm." + name)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(module, optionflags=options)
    assert failed == 0


def test_every_public_name_has_an_example():
    for name in (*attsvm.__all__, "AttentionClassifier", "AttentionTextClassifier"):
        assert name in dir(attsvm)
        value = getattr(attsvm, name)
        if inspect.ismodule(value) or name == "Setting":
            continue
        assert ">>>" in (value.__doc__ or ""), name
        if inspect.isclass(value):
            for member, method in inspect.getmembers(value, inspect.isfunction):
                if not member.startswith("_"):
                    assert method.__doc__ or any(
                        getattr(base, member, None) and getattr(base, member).__doc__
                        for base in value.__mro__[1:]), f"{name}.{member}"
    for name in attsvm.plot.__all__:
        assert ">>>" in getattr(attsvm.plot, name).__doc__, name


def test_pictures(planted):
    from matplotlib import pyplot
    run = attsvm.train(planted, iters=500, record=50)
    solution = run.svm()
    ax = attsvm.plot.trajectory(run, solution)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), run.trace["p"][:, 0])
    end = np.array([ax.lines[1].get_xdata()[-1], ax.lines[1].get_ydata()[-1]])
    assert np.cross(end, solution.theta[:2]) == pytest.approx(0, abs=1e-9)
    own = pyplot.figure().add_subplot()
    assert attsvm.plot.correlation(run, solution, ax=own) is own
    last = 1 - solution.compare(run.theta)["correlation"]
    assert own.lines[0].get_ydata()[-1] == pytest.approx(last, rel=1e-6)
    image = attsvm.plot.attention(run).images[0].get_array()
    np.testing.assert_array_equal(image, run.softmax)
    ragged = attsvm.Data([np.ones((2, 3)), np.arange(12.0).reshape(4, 3)], [1, -1], v=np.ones(3))
    shown = attsvm.plot.attention(attsvm.train(ragged, iters=5)).images[0].get_array()
    assert shown.shape == (2, 4) and np.isnan(np.asarray(shown)[0, 2:]).all()
    bars = attsvm.plot.support(solution).patches
    assert bars[0].get_width() == solution.lambda_.max()
    points = attsvm.plot.bag(run, planted, 3).collections[0].get_offsets()
    np.testing.assert_array_equal(points, planted[3][:, :2])
    with pytest.raises(attsvm.InputError, match="record"):
        attsvm.plot.trajectory(attsvm.train(planted, iters=5))
    pyplot.close("all")
