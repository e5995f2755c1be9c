"""Results as objects: owned arrays, text, pickling, copies; evaluate; train_many."""
import copy
import gc
import json
import pickle
import threading

import numpy as np
import pytest

import attsvm
from conftest import command


def results(data):
    """One of every kind."""
    run = attsvm.train(data, iters=200, record=50)
    small = attsvm.generate("planted-p", n=4, T=3, d=4)
    return [run, attsvm.svm(data), attsvm.check(data, attsvm.svm(data)), run.verdict(),
            attsvm.evaluate(data, p=run.p), attsvm.tokens(small, enumerate=True),
            attsvm.path(data, radii="1:10:2"),
            attsvm.graph(attsvm.generate("ntp", n=30, T=4, d=6), iters=10)]


def test_text_of_every_result(planted):
    for result in results(planted):
        assert repr(result).startswith(type(result).__name__ + "(")
        assert "\n" not in repr(result)
        page = result._repr_html_()
        assert page.startswith("<div>") and page.count("<table>") == page.count("</table>")
        json.dumps(result.to_dict(), allow_nan=False)


def test_pickle_and_copy_of_every_result(planted):
    for result in results(planted):
        for again in (pickle.loads(pickle.dumps(result)), copy.copy(result),
                      copy.deepcopy(result)):
            assert again.to_dict() == result.to_dict()
            assert repr(again) == repr(result)


def test_arrays_are_owned(planted):
    run, solution = attsvm.train(planted, iters=50, record=10), attsvm.svm(planted)
    kept = [run.p, run.softmax, run.trace["p"], solution.theta, solution.active, solution.lambda_]
    before = [array.copy() for array in kept]
    assert all(array.flags.owndata or array.base.flags.owndata for array in kept)
    del run, solution
    gc.collect()
    attsvm.train(planted, iters=300)
    for array, wanted in zip(kept, before):
        np.testing.assert_array_equal(array, wanted)


def test_a_solution_outlives_its_data():
    solution = attsvm.svm(attsvm.generate("planted-p", n=6, T=8, d=10, seed=1))
    gc.collect()
    assert solution.check().valid


def test_loaded_solutions_need_their_data(planted, tmp_path):
    attsvm.svm(planted).save(tmp_path / "s.npz")
    loaded = attsvm.load(tmp_path / "s.npz")
    assert loaded.check(planted).valid
    assert loaded.compare(loaded.theta, planted)["correlation"] == pytest.approx(1)
    with pytest.raises(attsvm.InputError, match="data set"):
        loaded.check()
    with pytest.raises(attsvm.Error):
        loaded.check(attsvm.generate(n=3, T=2, d=4))


def test_load_of_other_files(planted, tmp_path):
    planted.save(tmp_path / "d.npz")
    with pytest.raises(attsvm.FileError, match="no result"):
        attsvm.load(tmp_path / "d.npz")
    with pytest.raises(OSError):
        attsvm.load(tmp_path / "nothing.npz")


def test_numbers_of_loaded_results(planted, tmp_path):
    """A file holds settings and arrays; the numbers are recomputed from the data."""
    run, solution = attsvm.train(planted, "W", iters=200), attsvm.svm(planted, "p", "l1")
    run.save(tmp_path / "r.npz")
    solution.save(tmp_path / "s.npz")
    loaded = attsvm.load(tmp_path / "r.npz")
    assert (loaded.info["model"], loaded.iters, repr(loaded.loss)) == ("W", 200, "nan")
    found = attsvm.load(tmp_path / "r.npz", planted).to_dict()
    for name, value in run.to_dict().items():
        if name not in ("seconds", "direction_change"):  # of the loop, not of its end
            assert found[name] == value, name
    again = attsvm.load(tmp_path / "s.npz", planted)
    assert (again.status, again.info["geometry"]) == ("optimal", "l1")
    assert again.norm == pytest.approx(solution.norm, rel=1e-15) and again.check().valid


def test_loaded_runs_go_on(planted, tmp_path):
    """Also pickled ones, and those of the command, whose data set lies beside them."""
    planted.save(tmp_path / "d.npz")
    whole = attsvm.train(planted, iters=100, record=10)
    run = attsvm.train(planted, iters=40, record=10)
    run.save(tmp_path / "r.npz")
    command("train", tmp_path / "d.npz", "--iters", 40, "--record", 10, "-o", tmp_path / "c.npz")
    for again in (attsvm.load(tmp_path / "r.npz", planted).continue_(60),
                  pickle.loads(pickle.dumps(run)).continue_(60, data=planted),
                  attsvm.load(tmp_path / "c.npz").continue_(60)):
        assert (again.iters, again.loss) == (100, whole.loss)
        np.testing.assert_array_equal(again.p, whole.p)
        np.testing.assert_array_equal(again.trace["p"], whole.trace["p"])
        assert again.svm().to_dict()["norm"] == whole.svm().norm
        assert again.verdict().kind == whole.verdict().kind


def test_loaded_runs_that_cannot_go_on(planted, tmp_path):
    run = attsvm.train(planted, iters=5)
    run.save(tmp_path / "r.npz")
    with pytest.raises(attsvm.InputError, match="data="):
        attsvm.load(tmp_path / "r.npz").continue_(5)
    with pytest.raises(attsvm.InputError, match="another data set"):
        attsvm.load(tmp_path / "r.npz", attsvm.generate("planted-p", n=6, T=8, d=10, seed=2))
    attsvm.train(planted, step="momentum", iters=5).save(tmp_path / "m.npz")
    with pytest.raises(attsvm.InputError, match="state of the step rule"):
        attsvm.load(tmp_path / "m.npz", planted).continue_(5)

    attsvm.train(planted, iters=5, schedule=lambda step: 0.1).save(tmp_path / "f.npz")
    with pytest.raises(attsvm.InputError, match="schedule"):
        attsvm.load(tmp_path / "f.npz", planted).continue_(5)

    def loss(u):
        return np.logaddexp(0, -u), -1 / (1 + np.exp(u))
    attsvm.train(planted, iters=5, loss=loss).save(tmp_path / "l.npz")
    with pytest.raises(attsvm.InputError, match="loss"):
        attsvm.load(tmp_path / "l.npz", planted)
    assert attsvm.load(tmp_path / "l.npz", planted, loss=loss).continue_(5).iters == 10
    assert attsvm.train(planted, iters=5, init=attsvm.load(tmp_path / "m.npz")).iters == 5


def test_continue_gives_the_same_bytes(planted):
    for model in ("p", "W", "vp"):
        parts = attsvm.train(planted, model, "momentum", iters=40, record=10)
        parts.continue_(25).continue_(35)
        whole = attsvm.train(planted, model, "momentum", iters=100, record=10)
        for name, array in whole.parameters.items():
            np.testing.assert_array_equal(parts.parameters[name], array)


# ----------------------------------------------------------------------------------- evaluate

@pytest.mark.parametrize("model", ["p", "pW", "W", "KQ", "vp", "vpW", "vW", "vKQ"])
@pytest.mark.parametrize("loss", ["logistic", "exp", "linear"])
def test_gradients_against_differences(planted, model, loss):
    random = np.random.default_rng(3)
    shapes = {"p": (10,), "W": (10, 10), "K": (10, 2), "Q": (10, 2), "v": (10,)}
    names = [n for n in ("p", "W", "K", "Q", "v") if n in model] + (["p"] if model == "pW" else [])
    at = {name: 0.3 * random.normal(size=shapes[name]) for name in dict.fromkeys(names)}
    found = attsvm.evaluate(planted, model, loss=loss, **at)
    for name, gradient in found.gradient.items():
        direction = random.normal(size=shapes[name])
        h = 1e-5
        low, high = (attsvm.evaluate(planted, model, loss=loss,
                                     **{**at, name: at[name] + s * h * direction}).loss
                     for s in (-1, 1))
        slope = np.sum(found.full_gradient(name) * direction)
        assert slope == pytest.approx((high - low) / (2 * h), rel=1e-6, abs=1e-9)
        assert np.isfinite(gradient).all()


def test_softmax_and_logits(arrays):
    X, y, v = arrays
    p = np.linspace(-1, 1, 10)
    found = attsvm.evaluate(attsvm.Data(X, y, v=v), p=p)
    np.testing.assert_allclose(found.logits, X @ p, rtol=1e-12, atol=1e-14)
    weights = np.exp(X @ p)
    np.testing.assert_allclose(found.softmax, weights / weights.sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(found.ids, (X @ p).argmax(1))
    u = np.einsum("nt,ntd->nd", found.softmax, X) @ v * y
    assert found.loss == pytest.approx(np.log1p(np.exp(-u)).mean(), rel=1e-12)


def test_fixed_arrays_can_be_given(arrays):
    X, y, v = arrays
    p, W = np.ones(10), np.diag(np.arange(10.0))
    found = attsvm.evaluate(attsvm.Data(X, y), p=p, v=v, W=W)
    np.testing.assert_allclose(found.logits, X @ W.T @ p, rtol=1e-12, atol=1e-13)


def test_errors_of_evaluate(planted):
    with pytest.raises(attsvm.InputError, match="Missing p"):
        attsvm.evaluate(planted)
    with pytest.raises(attsvm.InputError, match=r"p has shape \(3,\)"):
        attsvm.evaluate(planted, p=np.ones(3))
    with pytest.raises(attsvm.InputError, match="model"):
        attsvm.evaluate(planted, "q", p=np.ones(10))


# --------------------------------------------------------------------------------- selections

def test_selections(planted):
    best = attsvm.svm(planted, "p", select="opt")
    np.testing.assert_array_equal(attsvm.svm(planted, "p", select=best.ids).theta, best.theta)
    run = attsvm.train(planted, iters=2000)
    np.testing.assert_array_equal(attsvm.svm(planted, select=run).ids, run.ids)
    several = attsvm.svm(planted, "multi", select=attsvm.train(planted, "W", iters=2000))
    assert several.status == "optimal" and several.check().valid
    warm = attsvm.svm(planted, "p", warm=best)
    np.testing.assert_allclose(warm.theta, best.theta, rtol=1e-10)
    for bad in ([0], [0.5] * 6, [9] * 6, [-1] * 6, "nowhere.npz"):
        with pytest.raises(attsvm.Error):
            attsvm.svm(planted, "p", select=bad)


def test_a_trained_head_goes_with_the_run(planted):
    run = attsvm.train(planted, "vp", iters=500)
    assert attsvm.svm(planted, select=run).info["problem"] == "joint"
    assert attsvm.tokens(planted, select=run).ids.tolist() == run.ids.tolist()


# ---------------------------------------------------------------------------------- many runs

def test_train_many():
    sets = [attsvm.generate("planted-p", n=4, T=3, d=5, seed=seed) for seed in range(40)]
    jobs = [(data, {"iters": 100, "seed": k, "model": "W" if k % 3 == 0 else "p"})
            for k, data in enumerate(sets)]
    first, second = attsvm.train_many(jobs), attsvm.train_many(jobs, threads=1)
    for k, (a, b) in enumerate(zip(first, second)):
        np.testing.assert_array_equal(a.theta, b.theta)
        single = attsvm.train(jobs[k][0], **jobs[k][1])
        np.testing.assert_allclose(a.theta, single.theta, rtol=1e-6, atol=1e-9)
    assert attsvm.train_many([]) == []
    with pytest.raises(attsvm.InputError, match="job 1"):
        attsvm.train_many([jobs[0], (sets[0], {"loss": lambda u: (0, 0)})])


def test_objects_are_locked(planted):
    """Threads that go on with one run at the same time take turns."""
    run = attsvm.train(planted, iters=10)
    workers = [threading.Thread(target=run.continue_, args=(10,)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert run.iters == 90
    np.testing.assert_array_equal(run.p, attsvm.train(planted, iters=90).p)
