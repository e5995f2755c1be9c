"""Max-margin problems: svm, Solution, check, Report."""
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._arrays import Array, as_array, copy_doubles, copy_integers, doubles, integers
from ._data import Data, as_data
from ._library import Call, InputError, ffi, lib, new, own_object, text
from ._progress import watch
from ._results import (Path, Result, Stored, count, number, read_arrays, settings_in, table_html,
                       with_file)
from ._settings import Settings

PROOFS = {lib.ATTSVM_PROOF_EXACT: "exact", lib.ATTSVM_PROOF_BEYOND: "beyond"}
SUPPORT = np.dtype([("sequence", np.int64), ("query", np.int64), ("token", np.int64),
                    ("lambda", np.float64)])
ROW = np.dtype([("sequence", np.int64), ("query", np.int64), ("token", np.int64)])


def outcome_name(outcome: int) -> str:
    return text(lib.attsvm_outcome_name(outcome))


def rows_at(pointer: Any, number_of_rows: int) -> Array:
    if number_of_rows == 0:
        return np.zeros(0, ROW)
    return np.frombuffer(ffi.buffer(pointer, ROW.itemsize * number_of_rows), ROW).copy()


class Solution(Stored):
    """A solved max-margin problem with its proof.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> solution = attsvm.svm(data, "p")
    >>> solution.status, solution.theta.shape, bool(solution.gap < 1e-12)
    ('optimal', (10,), True)
    >>> solution.check(data).valid
    True
    """

    def __init__(self, handle: Any, data: Optional[Data], settings: Settings, select: str,
                 ties: int) -> None:
        self._handle, self._data = handle, data
        self._arrays = {}
        self._claim: Any = None
        self._made = (settings, select, ties)
        self._info: Optional[Dict[str, Any]] = None

    @property
    def info(self) -> Dict[str, Any]:
        """The numbers of the solve, under the names of the command's JSON."""
        if self._info is None:
            self._info = solution_info(lib.attsvm_solution_describe(self._handle), *self._made)
        return self._info

    @info.setter
    def info(self, value: Dict[str, Any]) -> None:
        self._info = value

    def _restored(self) -> None:
        self._handle = self._data = self._claim = None

    # ---------------------------------------------------------------------------- arrays

    def _array(self, name: str) -> Optional[Array]:
        found = self._arrays.get(name)
        if found is None and self._handle is not None:
            if self._claim is None:
                self._claim = lib.attsvm_solution_claim(self._handle)
            found = claim_array(self._claim, name, self._data)
            if found is not None:
                self._arrays[name] = found
        return found

    @property
    def theta(self) -> Array:
        """The solution: p or v (d), or W (d,d); NaN where the problem is infeasible."""
        return self._need("theta")

    @property
    def theta_lo(self) -> Optional[Array]:
        """Low part: the value is theta + theta_lo; None: all zeros."""
        return self._array("theta_lo")

    @property
    def active(self) -> Array:
        """Rows with lambda > 0: (m,2) sequence, token; (m,3) sequence, query, token."""
        return self._need("active")

    @property
    def lambda_(self) -> Array:
        """Multipliers of the active rows (m), in norm form."""
        return self._need("lambda")

    @property
    def equal(self) -> Optional[Array]:
        """Equality rows of multi and finite, named as in `active`."""
        return self._array("equal")

    @property
    def mu(self) -> Optional[Array]:
        """Multipliers of the equality rows."""
        return self._array("mu")

    @property
    def ids(self) -> Optional[Array]:
        """The selected tokens, one for each term; None for problems of sets."""
        return self._array("ids")

    @property
    def sets(self) -> Optional[Array]:
        """The selected sets, 0 or 1 for each cell; None for problems of tokens."""
        return self._array("O")

    @property
    def support(self) -> Array:
        """Active rows as a table with the columns sequence, query, token and lambda."""
        active, out = self.active, np.zeros(len(self.active), SUPPORT)
        out["sequence"], out["token"] = active[:, 0], active[:, -1]
        if active.shape[1] == 3:
            out["query"] = active[:, 1]
        out["lambda"] = self.lambda_
        return out

    # --------------------------------------------------------------------------- numbers

    @property
    def status(self) -> str:
        """"optimal", "infeasible", "stalled" or "stationary"."""
        return str(self.info["status"])

    @property
    def norm(self) -> float:
        """The norm of theta."""
        return float(self.info["norm"])

    @property
    def margin(self) -> float:
        """1 / norm."""
        return float(self.info["margin"])

    @property
    def gap(self) -> float:
        """Relative optimality gap, certified."""
        return float(self.info["gap"])

    @property
    def rank(self) -> Optional[int]:
        """Singular values of W above 1e-6 of the largest; None for p and v."""
        rank: Optional[int] = self.info["rank"]
        return rank

    # ----------------------------------------------------------------------------- verbs

    def check(self, data: Optional[Any] = None, **settings: Any) -> "Report":
        """Recomputes from the data whether what the solution claims is proved."""
        return check(self._data if data is None else data, self, **settings)

    def compare(self, theta: Any, data: Optional[Any] = None) -> Dict[str, float]:
        """Any parameters against the solution: correlation, angle, norm, margin, efficiency."""
        used = self._needs(data)
        array = as_array(theta, "theta", np.float64)
        out = ffi.new("attsvm_comparison *")
        Call().run("solution_compare", out, self._object(used), used._handle, doubles(array),
                   array.size)
        return {name: float(getattr(out, name))
                for name in ("correlation", "angle", "norm", "margin", "efficiency")}

    def _needs(self, data: Optional[Any]) -> Data:
        if data is None and self._data is None:
            raise InputError("this solution was loaded: give the data set that it belongs to")
        return as_data(self._data if data is None else data)

    def _object(self, data: Data) -> Any:
        """The library's object; of a loaded solution it is read from the file's content."""
        if self._handle is not None:
            return self._handle
        content = self._content or b""
        return with_file(content, lambda path: new("solution_load", "solution", data._handle,
                                                   os.fsencode(path)))

    def _save(self, path: str) -> None:
        data = self._needs(None)
        Call().run("solution_save", self._handle, data._handle, os.fsencode(path), ffi.NULL, 0)

    # ------------------------------------------------------------------------------ text

    def _shown(self) -> List[Tuple[str, str]]:
        info = self.info
        shown = [("status", self.status), ("problem", str(info.get("problem"))),
                 ("geometry", str(info.get("geometry")))]
        if self.status == "infeasible":
            return shown + [("proof", str(info.get("proof")))]
        return shown + [("norm", number(self.norm)), ("margin", number(self.margin)),
                        ("gap", number(self.gap, 2)), ("active", str(info.get("active")))]

    def _words(self) -> str:
        if self.status == "optimal":
            return f"the shortest theta that keeps margin 1, proved to a gap of {self.gap:.1e}."
        if self.status == "infeasible":
            return "no theta separates the selected tokens from their rivals; the rows prove it."
        return "the best point found; it is not proved to be the shortest."

    def _html_parts(self) -> List[str]:
        body = [[r["sequence"], r["token"], number(r["lambda"])] for r in self.support]
        return [table_html(["sequence", "rival token", "multiplier"], body)]


def solution_info(info: Any, settings: Settings, select: str, ties: int) -> Dict[str, Any]:
    """The numbers of a solve under the names of the command's JSON."""
    out = {"status": outcome_name(info.outcome), "norm": info.norm, "margin": info.margin,
           "dual": info.dual, "gap": info.gap, "violation": info.violation,
           "tight": count(info.tight), "active": count(info.active), "merged": count(info.merged),
           "rank": count(info.rank), "passes": info.passes, "iterations": count(info.iterations),
           "seconds": info.seconds, "pass_seconds": info.pass_seconds,
           "rounds": count(info.rounds), "problem": settings.get("problem"),
           "geometry": settings.get("norm"), "select": select, "ties": ties,
           "objective": info.objective, "residual": info.residual, "unique": info.unique,
           "undecided": info.undecided}
    if info.outcome == lib.ATTSVM_INFEASIBLE:
        out.update(proof=text(lib.attsvm_proof_name(info.proof)), bound=info.bound)
    if info.conflict:
        pair = info.pair
        out["pair"] = {"sequence": pair.sequence, "query": pair.query,
                       "selected": info.pair_selected, "token": pair.token}
    return out


SETS = (lib.ATTSVM_PROBLEM_MULTI, lib.ATTSVM_PROBLEM_FINITE)


def claim_array(claim: Any, name: str, data: Optional[Data]) -> Optional[Array]:
    """One array of a claim, copied, in the shape that it has in a result file."""
    assert data is not None
    settings = claim.settings
    described = lib.attsvm_data_describe(data._handle)
    matrix = settings.problem in SETS or settings.problem == lib.ATTSVM_PROBLEM_W
    shape = (described.d, described.d) if matrix else (described.d,)
    if name in ("theta", "theta_lo", "theta_lo2"):
        pointer = getattr(claim, name)
        return None if pointer == ffi.NULL else copy_doubles(pointer, *shape)
    if name in ("lambda", "mu"):
        length = claim.active_count if name == "lambda" else claim.equal_count
        pointer = getattr(claim, name)
        absent = name == "mu" and settings.problem not in SETS
        return None if absent else copy_doubles(pointer, length)
    if name in ("active", "equal"):
        if name == "equal" and settings.problem not in SETS:
            return None
        rows = rows_at(getattr(claim, name), getattr(claim, name + "_count"))
        every = settings.query in (lib.ATTSVM_QUERY_ALL, lib.ATTSVM_QUERY_CAUSAL)
        given = settings.query == lib.ATTSVM_QUERY_GIVEN and described.queries > 1
        columns = ROW.names if matrix and (every or given) else ("sequence", "token")
        out: Array = np.stack([rows[column] for column in columns or ()], axis=1)
        return out
    selection = claim.selection
    if name == "ids" and selection.alpha != ffi.NULL:
        return copy_integers(selection.alpha, selection.terms)
    if name == "O" and selection.sets != ffi.NULL:
        return np.frombuffer(ffi.buffer(selection.sets, selection.cells), np.uint8).copy()
    if name == "s" and selection.softmax != ffi.NULL:
        return copy_doubles(selection.softmax, selection.cells)
    return None


# ------------------------------------------------------------------------------- choosing

class Choice:
    """The tokens of a problem: a selection struct, where it came from, and what keeps it alive."""

    def __init__(self, data: Data, settings: Settings, select: Any) -> None:
        self.source, self.ties = "ids", 0
        svm = settings.structs["svm"]
        if select is None or isinstance(select, (str, os.PathLike)):
            source = b"" if select is None else os.fsencode(select)
            self._chosen = new("chosen_create", "chosen", data._handle, svm, source)
            info = lib.attsvm_chosen_describe(self._chosen)
            self._info = info
            self.selection = ffi.addressof(info, "selection")
            self.source, self.ties = text(info.source), info.ties
            return
        self.selection = ffi.new("attsvm_selection *")
        if svm.problem in SETS:
            self._take_sets(data, svm, select)
        else:
            self._take_ids(select)

    def _take_ids(self, select: Any) -> None:
        ids = as_array(getattr(select, "ids", select), "select")
        if ids.dtype.kind not in "iu":
            raise InputError(f"select has elements of type {ids.dtype}; expected token numbers")
        self._ids = np.ascontiguousarray(ids.astype(np.int64, copy=False)).reshape(-1)
        self.selection.alpha, self.selection.terms = integers(self._ids), self._ids.size

    def _take_sets(self, data: Data, svm: Any, select: Any) -> None:
        softmax = getattr(select, "softmax", None)
        if softmax is not None:
            values = np.ascontiguousarray(softmax, np.float64).reshape(-1)
            sets = values > svm.threshold
        else:
            pair = select if isinstance(select, tuple) and len(select) == 2 else (select, None)
            sets = as_array(pair[0], "select").reshape(-1) != 0
            values = sets if pair[1] is None else as_array(pair[1], "select[1]").reshape(-1)
        self._sets = np.ascontiguousarray(sets, np.uint8)
        self._softmax = np.ascontiguousarray(values, np.float64)
        if self._sets.size != self._softmax.size:
            raise InputError(f"select: {self._sets.size} set entries and {self._softmax.size} "
                             "softmax values; expected as many of each")
        self.selection.sets = ffi.cast("uint8_t *", ffi.from_buffer(self._sets))
        self.selection.softmax, self.selection.cells = doubles(self._softmax), self._sets.size
        self.source = "sets"


def svm(data: Any, problem: Optional[str] = None, norm: Optional[str] = None, *,
        select: Any = None, warm: Optional[Solution] = None, progress: Any = False,
        **settings: Any) -> Solution:
    """Solves a max-margin problem to the proof.

    ``select`` says which tokens: "opt" (best scores), "ids" or "sets" (arrays of the data set),
    token numbers, a :class:`Run` (its selected tokens), or a result file; for the problems multi
    and finite also sets of tokens as 0/1, or a pair (sets, softmax).  A run also says which
    problem, query and head, unless keywords do.  ``warm`` is a solution of a similar problem.
    Settings as ``attsvm.settings("svm")`` lists them.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> attsvm.svm(data, norm="l1").status
    'optimal'
    """
    from ._train import taken_from
    used, keywords = taken_from(select, as_data(data),
                                {"problem": problem, "norm": norm, **settings})
    chosen = Settings("svm", keywords)
    choice = Choice(used, chosen, select)
    struct = chosen.structs["svm"]
    handle = new("problem_create", "problem", used._handle, choice.selection, struct)
    solution = solve(handle, warm._object(used) if warm is not None else None, progress)
    if struct.problem not in (lib.ATTSVM_PROBLEM_P, lib.ATTSVM_PROBLEM_V, lib.ATTSVM_PROBLEM_JOINT):
        Call().run("solution_rank", solution)
    return Solution(solution, used, chosen, choice.source, choice.ties)


def solve(problem: Any, warm: Any = None, progress: Any = False) -> Any:
    """attsvm_problem_solve; a solution that Ctrl-C interrupted is let go."""
    out = ffi.new("attsvm_solution **")
    claim = ffi.NULL if warm is None else ffi.new("attsvm_claim *", lib.attsvm_solution_claim(warm))
    call = Call()
    try:
        if progress:
            with watch(call, "svm", progress):
                call.run("problem_solve", problem, claim, out)
        else:
            call.run("problem_solve", problem, claim, out)
    except BaseException:
        lib.attsvm_solution_free(out[0])
        raise
    return own_object(out[0], "solution", problem)


# ------------------------------------------------------------------------------- checking

class Report(Result):
    """What a check of a solution found, recomputed from the data and the claim alone.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> report = attsvm.check(data, attsvm.svm(data))
    >>> report.valid, report.status
    (True, 'optimal')
    """

    def __init__(self, info: Dict[str, Any]) -> None:
        self.info = info

    @property
    def valid(self) -> bool:
        """What the solution claims is proved."""
        return bool(self.info["valid"])

    @property
    def status(self) -> str:
        """The claimed outcome."""
        return str(self.info["status"])

    @property
    def gap(self) -> float:
        """Relative gap between the norm and its proved lower bound."""
        return float(self.info["gap"])

    @property
    def reason(self) -> str:
        """Why the claim is not proved; otherwise what was proved."""
        return str(self.info["reason"])

    def __bool__(self) -> bool:
        return self.valid

    def _shown(self) -> List[Tuple[str, str]]:
        return [("valid", str(self.valid)), ("status", self.status), ("gap", number(self.gap, 2)),
                ("min_margin", number(self.info["min_margin"]))]

    def _words(self) -> str:
        return f"{'proved' if self.valid else 'NOT proved'}: {self.reason}."


def check(data: Any, solution: Any, **settings: Any) -> Report:
    """Whether what a solution (or a result file) claims about the data is proved.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> bool(attsvm.check(data, attsvm.svm(data), tol=1e-10))
    True
    """
    if data is None:
        raise InputError("this solution was loaded: give the data set that it belongs to")
    used = as_data(data)
    struct = Settings("check", settings).structs["check"]
    if isinstance(solution, (str, os.PathLike)):
        handle = new("solution_load", "solution", used._handle, os.fsencode(solution))
    else:
        handle = solution._object(used)
    claim = ffi.new("attsvm_claim *", lib.attsvm_solution_claim(handle))
    out = ffi.new("attsvm_report *")
    Call().run("check", out, used._handle, claim, struct)
    return Report({"valid": out.valid, "consistent": out.valid or out.consistent,
                   "status": outcome_name(out.outcome), "min_margin": out.min_margin,
                   "gap": out.gap, "dual_norm": out.dual_norm, "reason": text(out.reason),
                   "norm": out.norm, "dual": out.dual, "violation": out.violation,
                   "tight": count(out.tight), "active": count(out.active),
                   "merged": count(out.merged)})


def load_solution(path: Path, arrays: Dict[str, Array], data: Any) -> Solution:
    """A solution as its file has it; the numbers that need its data set are NaN without one."""
    out: Solution = Solution.__new__(Solution)
    recorded = settings_in(arrays)
    with open(path, "rb") as stream:
        out._content = stream.read()
    out._arrays = arrays
    out._restored()
    nan = float("nan")
    how = recorded.get("svm", {})
    out.info = {"status": recorded.get("status"), "norm": nan, "margin": nan, "gap": nan,
                "rank": None, "active": len(arrays["lambda"]), "problem": how.get("problem"),
                "geometry": how.get("norm"), "settings": recorded}
    if data is not None:
        out._data = as_data(data)
        report = out.check()
        out.info.update({name: report.info[name] for name in ("norm", "gap", "tight", "merged")})
        out.info["margin"] = 1 / out.norm if out.norm > 0 else nan
    return out


__all__ = ["Solution", "Report", "svm", "check", "read_arrays"]
