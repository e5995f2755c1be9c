"""Results from files, whichever verb wrote them."""
import os
from typing import Any

from ._library import FileError
from ._results import Path, read_arrays
from ._svm import load_solution
from ._theory import RegularisationPath
from ._train import load_run


def load(path: Path) -> Any:
    """A :class:`Run`, :class:`Solution` or :class:`RegularisationPath` from a result file.

    >>> import os, tempfile, attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> name = os.path.join(tempfile.mkdtemp(), "s.npz")
    >>> attsvm.svm(data).save(name)
    >>> attsvm.load(name).check(data).valid
    True
    """
    arrays = read_arrays(os.fspath(path))
    if "lambda" in arrays and "theta" in arrays:
        return load_solution(path, arrays)
    if "radius" in arrays and "correlation" in arrays:
        return RegularisationPath({"model": None, "svm": None}, arrays)
    if "ids" in arrays and "softmax" in arrays:
        return load_run(path, arrays)
    raise FileError(f"{os.fspath(path)} is no result of svm, train or path; it holds: "
                    f"{', '.join(arrays)}")
