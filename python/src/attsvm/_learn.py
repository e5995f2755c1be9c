"""Classifiers for scikit-learn over the library's own: fit, predict, explain."""
import numbers
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ._arrays import Array, copy_integers, copy_of, doubles, integers
from ._data import Data
from ._library import Call, InputError, ffi, lib, new, text
from ._results import Path, bytes_of, with_file
from ._settings import Settings


class Fitted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What both classifiers share: settings, the model, predictions."""

    def _settings(self) -> Settings:
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        if self.class_weight not in (None, "balanced") and not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight = {self.class_weight!r}; expected 'balanced', None or "
                             "a dict")
        if isinstance(self.ridge, numbers.Real) and self.ridge < 0:
            raise InputError(f"ridge = {self.ridge!r}; expected a number from 0 on, or 'auto'")
        return Settings("fit", {"pool": self.pool, "heads": self.heads, "ridge": self.ridge,
                                "starts": self.starts, "scale": self.scale, "seed": int(seed),
                                "weights": "balanced" if self.class_weight == "balanced"
                                else "equal", "threads": self._threads()})

    def _threads(self) -> int:
        return 1 if self.n_jobs is None else max(0, int(self.n_jobs))

    def _fit(self, data: Any, label: Array, sample_weight: Optional[Array]) -> Any:
        """Learns from a data set of the library and class numbers."""
        settings, targets = self._settings(), ffi.new("attsvm_targets *")
        keep: List[Any] = [np.ascontiguousarray(label, np.int64)]
        targets.label, targets.classes = integers(keep[0]), len(self.classes_)
        if sample_weight is not None:
            keep.append(np.ascontiguousarray(sample_weight, np.float64))
            targets.sample_weight = doubles(keep[-1])
        if isinstance(self.class_weight, dict):
            keep.append(np.array([float(self.class_weight.get(c, 1.0)) for c in self.classes_]))
            targets.class_weight = doubles(keep[-1])
        model = new("classifier_fit", "classifier", data, targets, settings.structs["fit"])
        names = [ffi.new("char[]", str(c).encode()) for c in self.classes_]
        Call().run("classifier_name_classes", model, ffi.new("char *[]", names))
        return model

    def _keep(self, model: Any) -> None:
        """The model as the content of its file, which can be pickled, and as an object."""
        self._content = bytes_of(lambda path: Call().run(
            "classifier_save", model, os.fsencode(path), ffi.NULL))
        self._model = model
        info = lib.attsvm_classifier_describe(model)
        self.info_ = {"loss": info.loss, "accuracy": info.accuracy, "ridge": info.ridge,
                      "iterations": info.iterations, "converged": info.converged,
                      "seconds": info.seconds}
        self.n_iter_ = max(int(info.iterations), 1)

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_model"}

    def _object(self) -> Any:
        check_is_fitted(self, "classes_")
        if getattr(self, "_model", None) is None:
            self._model = with_file(self._content, lambda path: new(
                "classifier_load", "classifier", os.fsencode(path)))
        return self._model

    def _predict(self, data: Any, explain: bool = False) -> Dict[str, Array]:
        settings = Settings("predict", {"threads": self._threads(), "explain": explain})
        found = new("classifier_predict", "prediction", self._object(), data,
                    settings.structs["predict"])
        named = [lib.attsvm_prediction_array(found, k)
                 for k in range(lib.attsvm_prediction_count(found))]
        return {text(one.name): copy_of(one.array) for one in named}

    def save(self, path: Path) -> None:
        """Writes the fitted model; ``attsvm predict`` reads it."""
        Call().run("classifier_save", self._object(), os.fsencode(path), ffi.NULL)

    # ------------------------------------------------------------------------ predictions

    def _data(self, X: Any) -> Tuple[Any, Any]:
        """(handle, what keeps it alive) of new samples."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """The class of every bag."""
        handle, keep = self._data(X)
        found: Array = self.classes_[self._predict(handle)["label"]]
        del keep
        return found

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, classes)."""
        handle, keep = self._data(X)
        found = self._predict(handle)["probability"]
        del keep
        return found

    def decision_function(self, X: Any) -> Array:
        """Scores (n), positive for the second class, or (n, classes)."""
        handle, keep = self._data(X)
        found = self._predict(handle)["score"]
        del keep
        return found

    def _by_bag(self, X: Any, name: str) -> List[Array]:
        handle, keep = self._data(X)
        values = self._predict(handle, explain=True)[name]
        n = lib.attsvm_data_describe(handle).n
        cuts = [lib.attsvm_data_offset(handle, i) for i in range(1, n)]
        del keep
        return list(np.split(values, cuts))

    def attention(self, X: Any) -> List[Array]:
        """Attention on the tokens of every bag, the mean over heads and ensemble."""
        return self._by_bag(X, "attention")

    def contributions(self, X: Any) -> List[Array]:
        """What every token contributes to the score of the predicted class."""
        return self._by_bag(X, "contribution")

    def explain(self, X: Any) -> Dict[str, Array]:
        """For every bag the token that decided, the runner-up, and whether the answer flips."""
        handle, keep = self._data(X)
        found = self._predict(handle, explain=True)
        del keep
        names = ("label", "decider", "runner_up", "flips", "agreement")
        return {name: found[name] for name in names if name in found}


class AttentionClassifier(Fitted):
    """One attention layer that learns from labelled bags, as a scikit-learn estimator.

    X is an :class:`attsvm.Data`, a list of bags (T_i,d), an array (n,T,d), or (n,d), where each row
    is a bag of one token.  ``n_jobs`` counts threads; the result does not depend on it.

    >>> import numpy as np, attsvm
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(60, 5, 4))
    >>> y = np.arange(60) % 2
    >>> X[y == 1, 2] += 4  # one token tells the class
    >>> model = attsvm.AttentionClassifier().fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.explain(X[y == 1])["decider"][:3]
    array([2, 2, 2])
    """

    def __init__(self, pool: str = "auto", heads: int = 1, ridge: Any = 1e-4, starts: int = 5,
                 scale: str = "standard", class_weight: Any = "balanced", random_state: Any = 0,
                 n_jobs: Optional[int] = None) -> None:
        self.pool, self.heads, self.ridge, self.starts = pool, heads, ridge, starts
        self.scale, self.class_weight = scale, class_weight
        self.random_state, self.n_jobs = random_state, n_jobs

    def _bags(self, X: Any, reset: bool) -> Data:
        """X as a data set; two-dimensional arrays are checked as scikit-learn does."""
        bags = isinstance(X, Data) or (isinstance(X, (list, tuple)) and len(X) > 0
                                       and getattr(X[0], "ndim", np.ndim(X[0])) == 2) \
            or getattr(X, "ndim", 0) == 3
        if bags:
            data = X if isinstance(X, Data) else Data(X)
        else:
            rows = self._validate_data(X, reset=reset, dtype=[np.float64, np.float32],
                                       accept_large_sparse=False)
            data = Data(rows[:, None, :])
        d = lib.attsvm_data_describe(data._handle).d
        if reset:
            self.n_features_in_ = d
        elif d != self.n_features_in_:
            raise InputError(f"X has {d} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input")
        return data

    def _data(self, X: Any) -> Tuple[Any, Any]:
        check_is_fitted(self, "classes_")
        data = self._bags(X, reset=False)
        return data._handle, data

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "AttentionClassifier":
        """Learns from bags X with labels y, any integers or words."""
        data = self._bags(X, reset=True)
        if y is None and isinstance(X, Data):
            y = X.y
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is "
                             "None")
        from sklearn.utils import column_or_1d
        from sklearn.utils.validation import assert_all_finite
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y)
        check_classification_targets(y)
        if len(y) != len(data):
            raise InputError(f"y has {len(y)} labels and X {len(data)} bags")
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("y has only one class; a classifier needs at least two")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, np.empty((len(y), 1)))
        self._keep(self._fit(data._handle, label, sample_weight))
        return self


class AttentionTextClassifier(Fitted):
    """The same on a list of strings; words are the tokens.

    ``embeddings`` names a file of word vectors; without it words are one-hot.

    >>> import attsvm
    >>> texts = ["a good film", "a bad film", "good fun", "bad taste"] * 5
    >>> model = attsvm.AttentionTextClassifier().fit(texts, ["pos", "neg"] * 10)
    >>> model.predict(["good", "so bad"])
    array(['pos', 'neg'], dtype='<U3')
    """

    def __init__(self, embeddings: Any = None, pool: str = "auto", heads: int = 1,
                 ridge: Any = 1e-4, starts: int = 5, scale: str = "standard",
                 class_weight: Any = "balanced", random_state: Any = 0,
                 n_jobs: Optional[int] = None) -> None:
        self.embeddings, self.pool, self.heads, self.ridge = embeddings, pool, heads, ridge
        self.starts, self.scale, self.class_weight = starts, scale, class_weight
        self.random_state, self.n_jobs = random_state, n_jobs

    def _samples(self, texts: Any, model: Any, labels: Any = None) -> Any:
        if isinstance(texts, str):
            raise InputError("X is one string; expected a list of strings")
        texts = list(texts)
        for k, one in enumerate(texts):
            if not isinstance(one, str):
                raise InputError(f"X[{k}] is {one!r}; expected a string")
        words = [ffi.new("char[]", one.encode()) for one in texts]
        settings = Settings("samples", {"embeddings": self.embeddings,
                                        "threads": self._threads()})
        names = [ffi.new("char[]", str(one).encode()) for one in labels or ()]
        if labels is not None and len(names) != len(words):
            raise InputError(f"y has {len(names)} labels and X {len(words)} texts")
        return new("samples_texts", "samples", ffi.new("char *[]", words or 1),
                   ffi.new("char *[]", names) if names else ffi.NULL, len(words),
                   settings.structs["samples"], model)

    def _data(self, X: Any) -> Tuple[Any, Any]:
        samples = self._samples(X, self._object())
        return lib.attsvm_samples_data(samples), samples

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "AttentionTextClassifier":
        """Learns from strings X with labels y."""
        found = {str(c): c for c in np.unique(np.asarray(y))}
        samples = self._samples(X, ffi.NULL, list(y))
        names = [text(lib.attsvm_samples_class(samples, k)) for k in range(len(found))]
        self.classes_ = np.array([found[name] for name in names])
        label = copy_integers(lib.attsvm_samples_label(samples), len(list(y)))
        model = self._fit(lib.attsvm_samples_data(samples), label, sample_weight)
        Call().run("classifier_adopt", model, samples)
        self._keep(model)
        return self


__all__ = ["AttentionClassifier", "AttentionTextClassifier"]
