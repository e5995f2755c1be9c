"""Pictures with matplotlib, which is imported only here.  Every function takes and returns Axes."""
from typing import Any, Optional, Sequence

import numpy as np

from ._data import Data
from ._library import InputError
from ._svm import Solution
from ._theory import RegularisationPath, Tokens
from ._train import Run

__all__ = ["trajectory", "correlation", "attention", "support", "bag", "path"]


def axes(ax: Any) -> Any:
    """The given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot
    return pyplot.subplots()[1]


def iterates(run: Run) -> Any:
    """(k, size): the recorded attention parameters as vectors."""
    trace = run.trace
    for name in ("p", "W"):
        if name in trace:
            return trace["iter"], trace[name].reshape(len(trace["iter"]), -1)
    if "K" in trace and "Q" in trace:
        products = np.einsum("kij,klj->kil", trace["K"], trace["Q"])
        return trace["iter"], products.reshape(len(products), -1)
    raise InputError("this run has no trace; train with record=100 or record='log'")


def trajectory(run: Run, solution: Optional[Solution] = None, *, plane: Sequence[int] = (0, 1),
               ax: Any = None) -> Any:
    """The recorded parameters in a plane of two coordinates, with the SVM direction as a line.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import attsvm, attsvm.plot
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=2, seed=1)
    >>> run = attsvm.train(data, iters=300, record=10)
    >>> len(attsvm.plot.trajectory(run).lines)
    1
    """
    ax = axes(ax)
    _, points = iterates(run)
    i, j = plane
    ax.plot(points[:, i], points[:, j], ".-", markersize=3, label="training")
    if solution is not None:
        direction = solution.theta.reshape(-1)[[i, j]]
        length = np.linalg.norm(points[:, [i, j]], axis=1).max()
        size = np.linalg.norm(direction) or 1.0
        line = np.outer([0, length / size], direction)
        ax.plot(line[:, 0], line[:, 1], "--", color="black", label="max margin")
        ax.legend()
    ax.set_xlabel(f"coordinate {i}")
    ax.set_ylabel(f"coordinate {j}")
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def correlation(run: Run, solution: Solution, *, ax: Any = None) -> Any:
    """1 - correlation of the recorded parameters with an SVM solution, on logarithmic axes.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import attsvm, attsvm.plot
    >>> run = attsvm.train(attsvm.generate("planted-p", n=6, T=8, d=10, seed=1), iters=99, record=9)
    >>> attsvm.plot.correlation(run, run.svm()).get_yscale()
    'log'
    """
    ax = axes(ax)
    steps, points = iterates(run)
    theta = solution.theta.reshape(-1)
    norms = np.linalg.norm(points, axis=1) * np.linalg.norm(theta)
    known = (norms > 0) & (steps > 0)
    distance = 1 - points[known] @ theta / norms[known]
    ax.plot(steps[known], np.maximum(distance, 1e-16))
    ax.set_yscale("log")
    ax.set_xscale("log")
    ax.set_xlabel("step")
    ax.set_ylabel("1 - correlation with the SVM")
    return ax


def attention(run: Any, data: Optional[Data] = None, *, ax: Any = None) -> Any:
    """Attention as an image: a row a sequence, a column a token, darker where there is more.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import attsvm, attsvm.plot
    >>> run = attsvm.train(attsvm.generate("planted-p", n=6, T=8, d=10, seed=1), iters=99)
    >>> attsvm.plot.attention(run).images[0].get_array().shape
    (6, 8)
    """
    ax = axes(ax)
    softmax = np.asarray(run.softmax)
    if softmax.ndim == 1:
        used = data if data is not None else run._data
        if used is None:
            raise InputError("sequences differ in length: give the data set too")
        offsets = used.offsets
        table = np.full((len(used), int(np.diff(offsets).max())), np.nan)
        for i in range(len(used)):
            row = softmax[offsets[i]:offsets[i + 1]]
            table[i, :len(row)] = row
        softmax = table
    softmax = softmax.reshape(-1, softmax.shape[-1])
    ax.imshow(softmax, vmin=0, vmax=1, cmap="Blues", aspect="auto", interpolation="nearest")
    ax.set_xlabel("token")
    ax.set_ylabel("sequence")
    return ax


def support(found: Any, *, most: int = 20, ax: Any = None) -> Any:
    """The largest multipliers of a solution, or of Tokens: which rivals hold the margin.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import attsvm, attsvm.plot
    >>> solution = attsvm.svm(attsvm.generate("planted-p", n=6, T=8, d=10, seed=1))
    >>> len(attsvm.plot.support(solution).patches) == min(len(solution.support), 20)
    True
    """
    ax = axes(ax)
    if not isinstance(found, (Solution, Tokens)):
        raise InputError(f"support of a {type(found).__name__}; expected a Solution or Tokens")
    table = found.support[np.argsort(-found.support["lambda"], kind="stable")[:most]]
    names = [f"{row['sequence']}: {row['token']}" for row in table]
    ax.barh(np.arange(len(table)), table["lambda"])
    ax.set_yticks(np.arange(len(table)), names)
    ax.invert_yaxis()
    ax.set_xlabel("multiplier")
    ax.set_ylabel("sequence: rival token")
    return ax


def bag(run: Any, data: Data, i: int, *, plane: Sequence[int] = (0, 1), ax: Any = None) -> Any:
    """The tokens of one sequence in a plane of two coordinates, as large as their attention.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import attsvm, attsvm.plot
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> attsvm.plot.bag(attsvm.train(data, iters=99), data, 2).collections[0].get_offsets().shape
    (8, 2)
    """
    ax = axes(ax)
    tokens = data.sequence(i)
    offsets = data.offsets
    weights = np.asarray(run.softmax).reshape(-1)[offsets[i]:offsets[i + 1]]
    ax.scatter(tokens[:, plane[0]], tokens[:, plane[1]], s=10 + 200 * weights, alpha=0.7)
    for t, (x, y) in enumerate(tokens[:, list(plane)]):
        ax.annotate(str(t), (x, y), fontsize=8)
    ax.set_title(f"sequence {i}")
    ax.set_xlabel(f"coordinate {plane[0]}")
    ax.set_ylabel(f"coordinate {plane[1]}")
    return ax


def path(found: RegularisationPath, *, ax: Any = None) -> Any:
    """1 - correlation along a regularisation path, on logarithmic axes.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import attsvm, attsvm.plot
    >>> found = attsvm.path(attsvm.generate("planted-p", n=6, T=8, d=10, seed=1), radii="1:100:3")
    >>> attsvm.plot.path(found).lines[0].get_xdata()
    array([  1.,  10., 100.])
    """
    ax = axes(ax)
    ax.plot(found.radius, np.maximum(1 - found.correlation, 1e-16), "o-")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("radius")
    ax.set_ylabel("1 - correlation with the SVM")
    return ax
