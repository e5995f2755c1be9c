"""Every verb agrees with the command on the same input, to the last bit."""
import numpy as np
import pytest

import attsvm
from conftest import command

OWN = {"file", "seconds", "pass_seconds", "select", "statement", "must"}  # of the command alone


def agree(found, printed):
    """Every key that Python has is in the command's JSON, with the same value."""
    for key, value in found.items():
        if key in OWN:
            continue
        assert key in printed, key
        if isinstance(value, dict) and isinstance(printed[key], dict):
            agree(value, printed[key])
        else:
            assert value == printed[key], key


def same_arrays(mine, theirs):
    """Two result files with the same arrays; how they were made is text that may name a file."""
    mine, theirs = np.load(mine), np.load(theirs)
    assert mine.files == theirs.files
    for name in set(mine.files) - {"settings"}:
        np.testing.assert_array_equal(mine[name], theirs[name])


@pytest.fixture
def file(tmp_path):
    name = tmp_path / "d.npz"
    command("generate", "--kind", "planted-p", "--n", 6, "--T", 8, "--d", 10, "--seed", 3,
            "-o", name)
    return name


def flags(settings):
    return [text for name, value in settings.items()
            for text in ("--" + name.replace("_", "-"), str(value))]


SVM = [{}, {"problem": "p"}, {"problem": "p", "norm": "l1"}, {"problem": "p", "norm": "lq:3"},
       {"problem": "v"}, {"problem": "joint"}, {"problem": "W", "norm": "nuc"},
       {"problem": "W", "query": "all"}, {"problem": "p", "soft": 0.5},
       {"problem": "W", "rank": 2}, {"problem": "multi", "select": "opt"},
       {"problem": "p", "duplicates": "strict", "tol": 1e-9}]


@pytest.mark.parametrize("settings", SVM, ids=str)
def test_svm(file, tmp_path, settings):
    printed = command("svm", file, *flags(settings), "-o", tmp_path / "c.npz")
    solution = attsvm.svm(attsvm.Data(file), **settings)
    agree(solution.to_dict(), printed)
    solution.save(tmp_path / "p.npz")
    stored = np.load(tmp_path / "c.npz")
    for name, found in (("theta", solution.theta), ("lambda", solution.lambda_),
                        ("active", solution.active), ("equal", solution.equal),
                        ("mu", solution.mu), ("ids", solution.ids), ("O", solution.sets)):
        assert (found is not None) == (name in stored.files), name
        if found is not None:
            np.testing.assert_array_equal(found, stored[name])
    checked = command("check", file, tmp_path / "p.npz")
    agree(solution.check().to_dict(), checked)
    again = attsvm.load(tmp_path / "c.npz")
    agree(again.check(attsvm.Data(file)).to_dict(), checked)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "c.npz").read_bytes()


def test_infeasible(tmp_path):
    X = np.array([[[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]])  # token 0 lies between the others
    data = attsvm.Data(X, [1], ids=[0])
    data.save(tmp_path / "d.npz")
    solution = attsvm.svm(data, "p", select="ids")
    printed = command("svm", tmp_path / "d.npz", "--problem", "p", "--select", "ids")
    agree(solution.to_dict(), printed)
    assert solution.status == "infeasible" and np.isnan(solution.theta).all()
    assert solution.check().valid


TRAIN = [{}, {"model": "W"}, {"model": "KQ", "rank": 2, "seed": 4}, {"model": "vp"},
         {"model": "vW", "step": "gd"}, {"step": "adam", "lr": 0.01}, {"step": "nmd:3"},
         {"loss": "exp", "step": "polyak"}, {"model": "p", "batch": 2, "seed": 9},
         {"model": "W", "query": "all"}, {"model": "p", "head": "concave:0.5"},
         {"eps": "1e-12", "decay": 0.5, "record": "log"}, {"init": "gauss:1", "seed": 2}]


@pytest.mark.parametrize("settings", TRAIN, ids=str)
def test_train(file, tmp_path, settings):
    settings = {"iters": 300, **settings}
    printed = command("train", file, *flags(settings), "-o", tmp_path / "c.npz")
    run = attsvm.train(attsvm.Data(file), **settings)
    agree(run.to_dict(), printed)
    stored = np.load(tmp_path / "c.npz")
    for name, found in {**run.parameters, "ids": run.ids, "softmax": run.softmax}.items():
        np.testing.assert_array_equal(found, stored[name])
    for name, found in run.trace.items():
        np.testing.assert_array_equal(found, stored["trace_" + name])
    run.save(tmp_path / "p.npz")
    same_arrays(tmp_path / "p.npz", tmp_path / "c.npz")
    again = attsvm.load(tmp_path / "c.npz")
    for name, found in run.parameters.items():
        np.testing.assert_array_equal(again.parameters[name], found)


def test_runs_go_both_ways(file, tmp_path):
    """A run saved by Python is read by the command, and the other way round."""
    data = attsvm.Data(file)
    run = attsvm.train(data, iters=300)
    run.save(tmp_path / "p.npz")
    printed = command("svm", file, "--problem", "p", "--select", tmp_path / "p.npz")
    agree(attsvm.svm(data, select=run).to_dict(), printed)
    command("train", file, "--iters", 300, "-o", tmp_path / "c.npz")
    agree(attsvm.svm(data, select=tmp_path / "c.npz").to_dict(), printed)
    agree(attsvm.svm(data, select=attsvm.load(tmp_path / "c.npz")).to_dict(), printed)
    started = command("train", file, "--iters", 50, "--init", tmp_path / "p.npz")
    agree(attsvm.train(data, iters=50, init=run).to_dict(), started)
    agree(attsvm.train(data, iters=50, init=tmp_path / "p.npz").to_dict(), started)


@pytest.mark.parametrize("settings", [{}, {"model": "W"}, {"model": "vp"}, {"step": "gd"},
                                      {"model": "W", "head": "concave:0.3"}], ids=str)
def test_verify(file, tmp_path, settings):
    settings = {"iters": 500, **settings}
    printed = command("verify", file, *flags(settings), "-o", tmp_path / "c.npz")
    verdict = attsvm.verify(attsvm.Data(file), **settings)
    agree(verdict.to_dict(), printed)
    verdict.save(tmp_path / "p.npz")
    same_arrays(tmp_path / "p.npz", tmp_path / "c.npz")
    again = command("verify", file, tmp_path / "p.npz")
    agree(attsvm.load(tmp_path / "c.npz", file).verdict().to_dict(), again)


@pytest.mark.parametrize("settings", [{}, {"problem": "W"}, {"norm": "l1", "problem": "p"}],
                         ids=str)
def test_tokens(tmp_path, settings):
    file = tmp_path / "small.npz"  # 81 selections
    attsvm.generate("planted-p", n=4, T=3, d=4, output=file)
    printed = command("tokens", file, *flags(settings), "--enumerate", "-o", tmp_path / "c.npz")
    found = attsvm.tokens(attsvm.Data(file), enumerate=True, **settings)
    agree(found.to_dict(), printed)
    found.save(tmp_path / "p.npz")
    same_arrays(tmp_path / "p.npz", tmp_path / "c.npz")


@pytest.mark.parametrize("settings", [{}, {"model": "W"}, {"model": "vp", "ratio": 2}], ids=str)
def test_path(file, tmp_path, settings):
    settings = {"radii": "1:100:3", **settings}
    printed = command("path", file, *flags(settings), "-o", tmp_path / "c.npz")
    found = attsvm.path(attsvm.Data(file), **settings)
    agree(found.to_dict(), printed)
    found.save(tmp_path / "p.npz")
    assert (tmp_path / "p.npz").read_bytes() == (tmp_path / "c.npz").read_bytes()
    assert repr(attsvm.load(tmp_path / "c.npz")) == repr(found)


def test_graph(tmp_path):
    name = tmp_path / "g.npz"
    command("generate", "--kind", "ntp", "--n", 50, "--T", 5, "--d", 8, "-o", name)
    printed = command("graph", name, "--iters", 500, "-o", tmp_path / "c.npz")
    found = attsvm.graph(name, iters=500)
    agree(found.to_dict(), printed)
    found.save(tmp_path / "p.npz")
    same_arrays(tmp_path / "p.npz", tmp_path / "c.npz")


@pytest.mark.parametrize("kind", ["gauss", "sphere", "planted-p", "planted-W", "clusters",
                                  "vocabulary", "onehot", "tied", "ntp"])
def test_generate(tmp_path, kind):
    command("generate", "--kind", kind, "--n", 7, "--T", 5, "--d", 6, "-o", tmp_path / "c.npz")
    attsvm.generate(kind, n=7, T=5, d=6, output=tmp_path / "p.npz")
    assert (tmp_path / "p.npz").read_bytes() == (tmp_path / "c.npz").read_bytes()
    data, stored = attsvm.generate(kind, n=7, T=5, d=6), np.load(tmp_path / "c.npz")
    for name, array in data.arrays().items():
        np.testing.assert_array_equal(array, stored[name])


def test_info(file):
    printed = command("info", file)
    found = attsvm.Data(file).info
    for key in ("n", "d", "tokens", "T_min", "T_max", "dtype", "storage", "queries", "vocabulary"):
        assert found[key] == printed[key]


def test_settings_are_the_flags_of_the_command():
    names = {s.name for s in attsvm.settings("train")}
    assert {"lr", "iters", "seed", "threads", "record", "eps"} <= names
    for verb in ("train", "svm", "tokens", "verify", "path", "generate", "check"):
        for setting in attsvm.settings(verb):
            assert setting.meaning
    small = attsvm.generate(n=2, T=2, d=2)
    with pytest.raises(attsvm.InputError, match="did you mean 'iters'"):
        attsvm.train(small, iter=5)
    with pytest.raises(attsvm.InputError, match="lr"):
        attsvm.train(small, lr=-1)
    with pytest.raises(attsvm.InputError, match="verb"):
        attsvm.settings("walk")
