"""Losses, heads, schedules and callbacks in Python; their exceptions come out as themselves."""
import numpy as np
import pytest

import attsvm


class Mine(Exception):
    pass


def logistic(u):
    return np.log1p(np.exp(-u)), -1 / (1 + np.exp(u))


def test_own_loss_is_the_built_in_one(planted):
    mine = attsvm.train(planted, iters=200, loss=logistic)
    theirs = attsvm.train(planted, iters=200)
    np.testing.assert_allclose(mine.p, theirs.p, rtol=1e-9)
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    at = attsvm.evaluate(planted, p=theirs.p, loss=logistic)
    np.testing.assert_allclose(at.loss, attsvm.evaluate(planted, p=theirs.p).loss, rtol=1e-12)


def test_own_head_is_the_linear_one(planted):
    v = np.array(planted.array("v"))
    mine = attsvm.train(planted, iters=100, head=lambda u: (u @ v, v))
    np.testing.assert_allclose(mine.p, attsvm.train(planted, iters=100).p, rtol=1e-7)


@pytest.mark.parametrize("name", ["loss", "head"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_comes_out_as_itself(planted, name, threads):
    calls = []

    def broken(u):
        calls.append(u)
        if len(calls) > 30:
            raise Mine("no more")
        return logistic(u) if name == "loss" else (u.sum(), np.ones(len(u)))
    with pytest.raises(Mine, match="no more"):
        attsvm.train(planted, iters=500, threads=threads, **{name: broken})
    with pytest.raises(Mine):
        attsvm.evaluate(planted, p=np.ones(10), **{name: broken})


@pytest.mark.parametrize("value", [None, 3.0, (1.0,), ("a", "b"), (np.nan, -1.0), (1.0, 1.0)],
                         ids=str)
def test_bad_values_of_a_loss(planted, value):
    with pytest.raises((attsvm.Error, TypeError, ValueError)):
        attsvm.train(planted, iters=20, loss=lambda u: value)


def test_wrong_shape_of_a_head(planted):
    with pytest.raises(ValueError):
        attsvm.train(planted, iters=20, head=lambda u: (0.0, np.ones(3)))


def test_the_point_of_a_head_cannot_be_written(planted):
    def head(u):
        u[0] = 1
        return 0.0, u
    with pytest.raises(ValueError, match="read-only"):
        attsvm.train(planted, iters=20, head=head)


def test_callback_sees_the_iterates(planted):
    seen = []
    run = attsvm.train(planted, iters=50, observe=10, record=10,
                       callback=lambda state: seen.append((state.iters, state.p, state.loss)))
    assert [iters for iters, _, _ in seen] == [0, 10, 20, 30, 40, 50]
    np.testing.assert_array_equal(np.array([p for _, p, _ in seen]), run.trace["p"])
    np.testing.assert_array_equal([loss for _, _, loss in seen], run.trace["loss"])


def test_callback_is_called_about_a_hundred_times(planted):
    seen = []
    attsvm.train(planted, iters=1000, callback=lambda state: seen.append(state.iters))
    assert 90 <= len(seen) <= 110


def test_a_callback_stops_and_the_run_goes_on(planted):
    run = attsvm.train(planted, iters=100, observe=1, callback=lambda state: state.iters < 30)
    assert (run.iters, run.info["outcome"]) == (30, "observer")
    whole = attsvm.train(planted, iters=100)
    np.testing.assert_array_equal(run.continue_(70).p, whole.p)
    assert run.to_dict().items() >= {"iters": 100, "outcome": "done"}.items()


def test_a_false_of_numpy_stops_too(planted):
    run = attsvm.train(planted, iters=100, observe=1,
                       callback=lambda state: np.float64(state.iters) < 30)
    assert (run.iters, run.info["outcome"]) == (30, "observer")


def test_an_exception_in_a_callback(planted):
    def callback(state):
        if state.iters == 20:
            raise Mine("enough")
    with pytest.raises(Mine, match="enough"):
        attsvm.train(planted, iters=100, observe=10, callback=callback)


def test_a_run_survives_an_exception(planted):
    run = attsvm.train(planted, iters=10, observe=5)

    def callback(state):
        raise Mine()
    with pytest.raises(Mine):
        run.continue_(90, callback=callback)
    np.testing.assert_array_equal(run.continue_(10).p,
                                  attsvm.train(planted, iters=20).p)


def test_schedule(planted):
    steps = []

    def schedule(t):
        steps.append(t)
        return 0.1 / (t + 1) ** 0.5
    run = attsvm.train(planted, iters=30, lr=0.1, schedule=schedule)
    assert steps == list(range(30))
    np.testing.assert_allclose(run.p, attsvm.train(planted, iters=30, lr=0.1, decay=0.5).p,
                               rtol=1e-12)
    with pytest.raises(Mine):
        attsvm.train(planted, iters=30, schedule=lambda t: (_ for _ in ()).throw(Mine()))
    with pytest.raises(attsvm.Error):
        attsvm.train(planted, iters=30, schedule=lambda t: float("nan"))


def test_init(planted):
    start = np.arange(10.0)
    run = attsvm.train(planted, iters=0, init={"p": start})
    np.testing.assert_array_equal(run.p, start)
    np.testing.assert_array_equal(attsvm.train(planted, iters=0, init=run).p, start)
    for bad in ({"p": np.ones(3)}, {"q": start}, {"p": "x"}, 3, {"p": np.full(10, np.nan)}):
        with pytest.raises(attsvm.InputError):
            attsvm.train(planted, iters=0, init=bad)
