"""Classifiers: scikit-learn's own checks, the same bits as the command, explanations."""
import pathlib
import pickle
import subprocess
import sys
import unittest

import numpy as np
import pytest
from conftest import LONG, command
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import attsvm

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
QUICK = {"pool": "prompt", "starts": 1}


def test_scikit_learn():
    """Of scikit-learn's 51 checks all run, none is skipped, none fails."""
    passed, skipped, failed = 0, [], []
    model = attsvm.AttentionClassifier(**({} if LONG else QUICK))
    for estimator, check in check_estimator(model, generate_only=True):
        try:
            check(estimator)
            passed += 1
        except unittest.SkipTest as why:
            skipped.append((check, why))
        except Exception as why:  # an assertion or whatever the estimator raised
            failed.append((check, why))
    assert (passed, skipped, failed) == (51, [], [])


@pytest.fixture
def bags():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 5, 4)), np.arange(60) % 2
    X[y == 1, 2] += 4  # token 2 tells the class
    return X, y


def test_forms_of_bags(bags):
    X, y = bags
    model = attsvm.AttentionClassifier(**QUICK).fit(X, y)
    for same in (list(X), attsvm.Data(X), attsvm.Data(X, y)):
        np.testing.assert_array_equal(model.predict_proba(same), model.predict_proba(X))
    again = attsvm.AttentionClassifier(**QUICK).fit(attsvm.Data(X), y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(np.ones((2, 3, 5)))


@pytest.mark.parametrize("pool", ["prompt", "score", "witness", "mean"])
def test_same_bits_as_the_command(bags, tmp_path, pool):
    X, y = bags
    attsvm.Data(X, y).save(tmp_path / "d.npz")
    command("fit", tmp_path / "d.npz", "--pool", pool, "--starts", 2, "--ridge", 1e-4,
            "--weights", "balanced", "--scale", "standard", "--seed", 0, "-o", tmp_path / "c.npz")
    command("predict", tmp_path / "c.npz", tmp_path / "d.npz", "-o", tmp_path / "p.npz")
    model = attsvm.AttentionClassifier(pool=pool, starts=2, ridge=1e-4, random_state=0).fit(X, y)
    predicted = np.load(tmp_path / "p.npz")
    np.testing.assert_array_equal(model.decision_function(X), predicted["score"])
    np.testing.assert_array_equal(model.predict_proba(X), predicted["probability"])
    model.save(tmp_path / "m.npz")
    command("predict", tmp_path / "m.npz", tmp_path / "d.npz", "-o", tmp_path / "q.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "q.npz")["score"], predicted["score"])


def test_explanations(bags):
    X, y = bags
    model = attsvm.AttentionClassifier(**QUICK).fit(X, y)
    assert model.score(X, y) == 1
    assert (model.explain(X[y == 1])["decider"] == 2).mean() > 0.9
    for weights in model.attention(X):
        assert weights.shape == (5,) and weights.sum() == pytest.approx(1)
    assert [c.shape for c in model.contributions(list(X[:2]) + [X[2, :3]])] == [(5,), (5,), (3,)]


def test_pickle_clone_and_cross_validation(bags):
    X, y = bags
    model = attsvm.AttentionClassifier(**QUICK).fit(X, np.where(y, "yes", "no"))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert set(model.predict(X)) == {"yes", "no"}
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.9


def test_texts(tmp_path):
    texts = ["a good film", "a bad film", "good fun", "bad taste"] * 5
    model = attsvm.AttentionTextClassifier(**QUICK).fit(texts, ["pos", "neg"] * 10)
    assert model.predict(["good", "so bad", "unknown words"]).tolist()[:2] == ["pos", "neg"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    with pytest.raises(attsvm.InputError, match="one string"):
        model.predict("good")
    with pytest.raises(attsvm.InputError, match="labels"):
        attsvm.AttentionTextClassifier().fit(texts, ["pos"])
    for missing in (None, float("nan")):
        with pytest.raises(attsvm.InputError, match=r"X\[1\] is (None|nan); expected a string"):
            model.predict(["good", missing])
    with pytest.raises(attsvm.InputError, match="ridge = -1; expected a number from 0 on"):
        attsvm.AttentionTextClassifier(ridge=-1).fit(texts, ["pos", "neg"] * 10)


@pytest.mark.parametrize("name", ["musk1", "digit_bags"])
def test_the_pool_has_the_smaller_error_and_auc(tmp_path, name):
    """pool auto: error + (1 - AUC) in five folds, computed here from the scores of cv."""
    file = np.load(EXAMPLES / "data" / f"{name}.npz")
    path, y = tmp_path / "d.npz", file["Y"]
    np.savez(path, X=file["X"], offsets=file["offsets"], y=y)
    value = {}
    for pool in ("prompt", "score"):
        command("cv", path, "--pool", pool, "--folds", 5, "--repeats", 1, "-o", tmp_path / "c.npz")
        score = np.load(tmp_path / "c.npz")["score"][0]
        pairs = np.sign(score[y > 0][:, None] - score[y < 0][None, :])
        value[pool] = ((score > 0) != (y > 0)).mean() + 1 - (pairs.mean() + 1) / 2
    told = command("fit", path, "-o", tmp_path / "m.npz")
    assert told["validation"] == pytest.approx(value, 1e-12)
    assert told["pool"] == ("score" if value["score"] < value["prompt"] else "prompt")


@pytest.mark.parametrize("pool", ["prompt", "score", "witness", "mean"])
@pytest.mark.parametrize("name", ["musk1", "digit_bags"])
def test_contributions_add_up_and_flips_are_predictions_without_the_decider(tmp_path, name, pool):
    """Contributions and bias are the score; `flips` is what predicting the cut file says."""
    path = EXAMPLES / "data" / f"{name}.npz"
    file, model, found = np.load(path), tmp_path / "m.npz", tmp_path / "p.npz"
    command("fit", path, "--pool", pool, "--starts", 2, "-o", model)
    command("predict", model, path, "-o", found)
    told, offsets = np.load(found), file["offsets"]
    total = np.add.reduceat(told["contribution"], offsets[:-1])
    score = np.load(model)["b"].mean() + np.where(told["label"] == 1, 1, -1) * total
    np.testing.assert_allclose(score, told["score"], atol=1e-10, rtol=0)
    bags = [file["X"][a:b] for a, b in zip(offsets, offsets[1:])]
    cut = [bag[(bag != bag[k]).any(1)] for bag, k in zip(bags, told["decider"])]
    left = np.array([len(bag) > 0 for bag in cut])
    attsvm.Data([bag for bag in cut if len(bag)]).save(tmp_path / "cut.npz")
    command("predict", model, tmp_path / "cut.npz", "-o", tmp_path / "q.npz")
    changed = np.load(tmp_path / "q.npz")["label"] != told["label"][left]
    np.testing.assert_array_equal(changed, told["flips"][left])
    assert changed.any()


def test_grid_search_uses_views():
    """Folds of Data are views: ten folds of 80 MB need far less than one copy."""
    done = subprocess.run([sys.executable, "-c", GRID_SEARCH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    best, megabytes = done.stdout.split()
    assert float(best) > 0.9 and float(megabytes) < 40, done.stdout


GRID_SEARCH = """
import resource
import numpy as np
from sklearn.model_selection import GridSearchCV
import attsvm
random = np.random.default_rng(0)
y = np.arange(500) % 2
X = random.standard_normal((500, 40, 1000), dtype=np.float32)
X[y == 1, 3, :20] += 20
data = attsvm.Data(X)
model = attsvm.AttentionClassifier(pool="mean", starts=1, scale="none")
model.fit(data[:50], y[:50])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
search = GridSearchCV(model, {"ridge": [1e-3, 1e-2]}, cv=5).fit(data, y)
print(search.best_score_, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
