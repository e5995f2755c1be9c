"""Next-token prediction: its graphs, the direction in which W grows, and the finite part."""
import math
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._arrays import Array, doubles, named_arrays
from ._data import as_data
from ._library import Call, InputError, ffi, lib, new
from ._results import Path, Result, number
from ._settings import Settings
from ._svm import Solution, check, solve
from ._train import train


class Graph(Result):
    """What next-token prediction learns: components, direction, finite part.

    >>> import attsvm
    >>> contexts = attsvm.generate("ntp", n=40, T=4, d=8, seed=2)
    >>> found = attsvm.graph(contexts, iters=0)
    >>> found.status, found.checked, found.finite.shape
    ('optimal', True, (8, 8))
    """

    def __init__(self, info: Dict[str, Any], solution: Solution, finite: Array,
                 trained: Optional[Array]) -> None:
        self.info, self.solution, self.finite, self.trained = info, solution, finite, trained

    @property
    def status(self) -> str:
        """The outcome of the graph SVM."""
        return str(self.info["status"])

    @property
    def components(self) -> List[Dict[str, Any]]:
        """For each last word its edges and its strongly connected components, in order."""
        found: List[Dict[str, Any]] = self.info["components"]
        return found

    @property
    def checked(self) -> bool:
        """The direction is proved."""
        return bool(self.info["checked"])

    def save(self, path: Path) -> None:
        """Writes the direction with its proof, and the matrices, as ``attsvm graph -o`` does."""
        more = [("finite", self.finite)]
        if self.trained is not None:
            more.append(("trained", self.trained))
        arrays, keep = named_arrays(more)
        data = self.solution._needs(None)
        Call().run("solution_save", self.solution._handle, data._handle, os.fsencode(path), arrays,
                   len(more))
        del keep

    def _shown(self) -> List[Tuple[str, str]]:
        return [("status", self.status), ("words", str(self.info["words"])),
                ("edges", str(self.info["edges"])), ("cyclic", str(self.info["cyclic"])),
                ("margin", number(self.info["margin"]))]

    def _words(self) -> str:
        if self.status != "optimal":
            return "no W puts the words into these orders."
        return ("attention can learn the word that follows in every context."
                if self.info["cyclic"] == 0 else
                "between components attention decides; inside cycles it stays divided.")


def graph(data: Any, *, iters: int = 20000, lr: float = 1.0, trained: Any = None,
          threads: int = 0) -> Graph:
    """The graphs of next-token data, the direction in which training grows, and the finite part.

    ``iters`` steps of gradient descent are compared with them, or ``trained``, a W (d,d) or a Run.

    >>> import attsvm
    >>> attsvm.graph(attsvm.generate("ntp", n=40, T=4, d=8, seed=2), iters=2000).info["words"] > 0
    True
    """
    used = as_data(data)
    handle = new("graph_create", "graph", used._handle)
    about = lib.attsvm_graph_describe(handle)
    d = lib.attsvm_data_describe(used._handle).d
    chosen = Settings("svm", {"problem": "multi", "query": "last", "duplicates": "strict",
                              "threads": threads})
    selection = ffi.new("attsvm_selection *")
    selection.sets = lib.attsvm_graph_sets(handle)
    selection.cells = lib.attsvm_data_describe(used._handle).tokens
    problem = new("problem_create", "problem", used._handle, selection, chosen.structs["svm"])
    solution = Solution(solve(problem), used, chosen, "graph", 0)
    report = check(used, solution, tol=chosen.structs["svm"].tol, threads=threads)
    finite, about_finite = np.empty((d, d)), ffi.new("attsvm_graph_finite_info *")
    Call().run("graph_finite", handle, doubles(finite), about_finite)
    run = None
    if trained is None and iters > 0:
        run = train(used, "W", "gd", loss="ntp", query="last", lr=lr, iters=iters, threads=threads)
    W = getattr(run if run is not None else trained, "W", trained)
    info = {"status": solution.status, "components": parts_of(handle, about.lasts),
            "contexts": len(used), "words": about.words, "edges": about.edges,
            "cyclic": about.cyclic, "norm": solution.norm, "margin": solution.margin,
            "gap": solution.gap, "checked": report.valid, "finite_norm": about_finite.norm,
            "finite_loss": about_finite.loss, "finite_gradient": about_finite.gradient}
    compare_graph(info, handle, W, finite, solution)
    own = run is not None and solution.status == "optimal"
    info["loss"] = run.loss if run is not None and own else math.nan
    info["iters"] = iters if own else None
    return Graph(info, solution, finite, None if W is None else np.array(W, np.float64))


def compare_graph(info: Dict[str, Any], handle: Any, W: Any, finite: Array,
                  solution: Solution) -> None:
    """A trained W against finite + R direction."""
    match = ffi.new("attsvm_graph_match *", [math.nan] * 4)
    if W is not None and solution.status == "optimal":
        array = np.ascontiguousarray(W, np.float64)
        if array.shape != finite.shape:
            raise InputError(f"trained has shape {array.shape}; expected {finite.shape}")
        Call().run("graph_compare", handle, doubles(array), doubles(finite),
                   doubles(solution.theta), match)
    info.update(finite_error=match.finite_error, correlation=match.correlation,
                together=match.together, R=match.R)


def parts_of(handle: Any, lasts: int) -> List[Dict[str, Any]]:
    out = []
    for k in range(lasts):
        part = lib.attsvm_graph_part_of(handle, k)
        sets: List[List[int]] = [[] for _ in range(part.components)]
        for a in range(part.words):
            sets[part.component[a]].append(part.word[a])
        out.append({"last": part.last, "edges": part.edges, "sets": sets})
    return out
