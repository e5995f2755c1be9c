"""Results from files, whichever verb wrote them."""
import os
from typing import Any

from ._library import FileError
from ._results import Path, read_arrays
from ._svm import load_solution
from ._theory import load_path
from ._train import load_run


def load(path: Path, data: Any = None, *, loss: Any = None, head: Any = None) -> Any:
    """A :class:`Run`, :class:`Solution` or :class:`RegularisationPath` from a result file.

    The file of a verdict gives its run.  With its ``data`` the result has all its numbers, and a
    run can go on.  ``loss`` and ``head`` are the functions that a run was trained with, if any.

    >>> import os, tempfile, attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> name = os.path.join(tempfile.mkdtemp(), "r.npz")
    >>> attsvm.train(data, iters=100).save(name)
    >>> attsvm.load(name, data).continue_(50).iters
    150
    """
    arrays = read_arrays(os.fspath(path))
    trained = "ids" in arrays and "softmax" in arrays
    if "lambda" in arrays and "theta" in arrays and not trained:
        return load_solution(path, arrays, data)
    if "radius" in arrays and "correlation" in arrays:
        return load_path(path, arrays)
    if trained:
        return load_run(path, arrays, data, loss, head)
    raise FileError(f"{os.fspath(path)} is no result of svm, train or path; it holds: "
                    f"{', '.join(arrays)}")
