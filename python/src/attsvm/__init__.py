"""attsvm: max-margin token selection in attention.

numpy arrays in, numpy arrays out, over the C library attsvm.  Names follow the command line:
:func:`train`, :func:`svm`, :func:`check`, :func:`verify`, :func:`tokens`, :func:`path`,
:func:`graph`, :func:`generate`; :func:`evaluate` gives the exact gradient at any parameters.
"""
from typing import Any as _Any, List as _List

from . import plot
from ._library import Error, FileError, InputError, lib as _lib, text as _text
from ._data import Data, generate
from ._graph import Graph, graph
from ._load import load
from ._model import Evaluation, evaluate
from ._settings import Setting, settings
from ._svm import Report, Solution, check, svm
from ._theory import RegularisationPath, Tokens, Verdict, path, tokens, verify
from ._train import Run, State, train, train_many

_CLASSIFIERS = ("AttentionClassifier", "AttentionTextClassifier")


def __getattr__(name: str) -> _Any:
    """The classifiers, which need scikit-learn: it is imported when one is asked for."""
    if name in _CLASSIFIERS:
        from . import _learn
        return getattr(_learn, name)
    raise AttributeError(f"module 'attsvm' has no attribute {name!r}")


def __dir__() -> _List[str]:
    return sorted([*globals(), *_CLASSIFIERS])


__version__ = _text(_lib.attsvm_version())
__all__ = [
    "Data", "Error", "Evaluation", "FileError", "Graph", "InputError", "RegularisationPath",
    "Report", "Run", "Setting", "Solution", "State", "Tokens", "Verdict", "check", "evaluate",
    "generate", "graph", "load", "path", "plot", "settings", "svm", "tokens", "train",
    "train_many", "verify",
]
