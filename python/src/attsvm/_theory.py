"""What attention selects: verify, tokens, path."""
import math
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._arrays import Array, copy_of, copy_doubles, doubles, named_arrays
from ._data import Data, as_data
from ._library import Call, InputError, ffi, lib, new, own_object, text
from ._progress import watch
from ._results import (Path, Result, Stored, count, number, plain, settings_in, table_html,
                       write_arrays)
from ._settings import Settings, new_struct
from ._svm import Choice, Solution, outcome_name, solve
from ._train import Run, taken_from, train

# --------------------------------------------------------------------------------- verify

WORDS = {"global": "attention chose the best token in every sequence, in the max-margin direction.",
         "local": "attention chose locally optimal tokens, in their max-margin direction.",
         "not_local": "attention chose tokens that are not locally optimal: descent leaves them.",
         "unsaturated": "attention is not decided yet.",
         "infeasible": "nothing separates the chosen tokens from their rivals."}


class Verdict(Result):
    """A run beside the max-margin solution of its selected tokens.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> verdict = attsvm.verify(data, iters=5000)
    >>> verdict.kind, bool(verdict.correlation > 0.99)
    ('global', True)
    >>> verdict.solution.status
    'optimal'
    """

    _verdict: Any = None

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_verdict"}

    def __init__(self, info: Dict[str, Any], run: Run, solution: Optional[Solution],
                 joint: Optional[Solution]) -> None:
        self.info, self.run, self.solution, self.joint = info, run, solution, joint

    @property
    def kind(self) -> str:
        """"global", "local", "not_local", "unsaturated" or "infeasible"."""
        return str(self.info["kind"])

    @property
    def correlation(self) -> float:
        """Cosine of the angle between the trained parameters and the SVM solution."""
        return float(self.info["correlation"])

    @property
    def efficiency(self) -> float:
        """Margin of the trained direction relative to the largest; 1 at the optimum."""
        return float(self.info["efficiency"])

    @property
    def margin(self) -> float:
        """The margin of the SVM."""
        return float(self.info["margin"])

    @property
    def gap(self) -> float:
        """The optimality gap of the SVM."""
        return float(self.info["gap"])

    @property
    def selected(self) -> Array:
        """The selected token of every term."""
        return self.run.ids

    @property
    def conditions(self) -> Dict[str, Any]:
        """Which conditions of the theorems the data meet."""
        found: Dict[str, Any] = self.info["conditions"]
        return found

    def to_dict(self) -> Dict[str, Any]:
        return {**super().to_dict(), "selected": plain(self.selected)}

    def save(self, path: Path) -> None:
        """Writes the run, with svm_theta beside it, as ``attsvm verify -o`` does."""
        more = [] if self.solution is None else [("svm_theta", self.solution.theta)]
        if self.joint is not None and self.joint.status == "optimal":
            claim = lib.attsvm_solution_claim(self.joint._handle)
            head = copy_doubles(claim.head.theta, claim.head.theta_count)
            more += [("svm_joint", self.joint.theta), ("svm_v", head)]
        if self.run._handle is None:
            self.run.save(path)
            return
        arrays, keep = named_arrays(more)
        Call().run("verdict_save", self._verdict, self.run._handle,
                   ffi.NULL if self.solution is None else self.solution._handle,
                   os.fsencode(path), arrays, len(more))
        del keep

    def _shown(self) -> List[Tuple[str, str]]:
        return [("kind", self.kind), ("correlation", number(self.correlation, 8)),
                ("efficiency", number(self.efficiency, 8)), ("margin", number(self.margin)),
                ("gap", number(self.gap, 2))]

    def _words(self) -> str:
        return WORDS.get(self.kind, self.kind)

    def _html_parts(self) -> List[str]:
        return self.run._html_parts() + ([] if self.solution is None else
                                         self.solution._html_parts())


def verify(data: Any, model: Optional[str] = None, step: Optional[str] = None,
           **settings: Any) -> Verdict:
    """Trains, and says what the result is beside the max-margin solution.

    Takes the arguments of :func:`train`, and ``samples`` and ``descent`` of the search about
    Assumption B where head and prompt are trained together.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> attsvm.verify(data, iters=5000).conditions["feasible"]
    True
    """
    own = [name for name in ("samples", "descent") if name in settings]
    joint = {name: settings.pop(name) for name in own}
    return verdict_of(train(data, model, step, **settings), joint)


def verdict_of(run: Run, keywords: Dict[str, Any]) -> Verdict:
    """The verdict on a run that is over."""
    run._open(None)
    train_settings = run._settings.structs["train"]
    with run._lock:
        verdict, out = ffi.new("attsvm_verdict *"), ffi.new("attsvm_solution **")
        Call().run("verdict_compute", verdict, run._handle, ffi.NULL, out)
        found = out[0] != ffi.NULL
        solution = own_object(out[0], "solution", run._handle) if found else None
        run._compare(out[0])
        conditions = ffi.new("attsvm_conditions *")
        Call().run("conditions_compute", conditions, run._handle)
        info = verdict_info(verdict, run)
        info["conditions"] = conditions_info(conditions)
        joint = None
        linear = train_settings.head == lib.ATTSVM_HEAD_LINEAR and not run._call.functions
        prompt = run.info["model"] in ("p", "pW", "vp", "vpW")
        if not prompt and not linear:
            info["several"] = several_info(run)
        if prompt and linear and run.v is not None:
            joint = joint_info(run, keywords, info)
    chosen = Settings("svm", {})
    ffi.memmove(chosen.structs["svm"], ffi.addressof(verdict, "svm"),
                ffi.sizeof("attsvm_svm_settings"))
    solved = solution and Solution(solution, run._with_head(run._data), chosen, "run", 0)
    judged = Verdict(info, run, solved, joint)
    judged._verdict = verdict
    return judged


def verdict_info(d: Any, run: Run) -> Dict[str, Any]:
    norm = ffi.new("char[]", 32)
    lib.attsvm_settings_get(new_struct("svm")[0], ffi.addressof(d, "svm"), b"norm", norm, 32)
    lq = d.svm.norm == lib.ATTSVM_NORM_LQ
    best = d.optimality
    return {"kind": text(lib.attsvm_verdict_name(d.kind)), "correlation": d.correlation,
            "angle": d.angle, "efficiency": d.efficiency, "margin": d.margin, "gap": d.gap,
            "conditions": {}, "exchangeable": run.info["exchangeable"],
            "status": outcome_name(d.outcome), "geometry": f"lq:{d.svm.q:g}" if lq else text(norm),
            "claimed": d.claimed, "norm": d.norm, "softmax_min": d.attention,
            "locally_optimal": best.local, "globally_optimal": getattr(best, "global"),
            "support": best.support, "against": best.against, "missed": best.missed,
            "tie": best.tie, "unique": best.unique, "seconds": run.info["seconds"]}


def conditions_info(c: Any) -> Dict[str, Any]:
    return {"equal_scores": c.equal_scores, "unique_optimal": c.unique_optimal, "wide": c.wide,
            "feasible": c.feasible, "queries": c.queries, "rivals": c.rivals,
            "choices": c.choices, "tokens": c.tokens, "optimal_norm": c.norm, "nu": math.nan}


def several_info(run: Run) -> Dict[str, Any]:
    """W beside W_fin + R W_svm, where attention may keep several tokens."""
    struct = new_struct("svm")[1]
    trained = run._settings.structs["train"]
    struct.threads, struct.query = trained.threads, trained.query
    struct.query_token = trained.query_token
    k, W = ffi.new("attsvm_multi_token *"), np.ascontiguousarray(run.theta)
    Call().run("multi_token_compare", k, run._data._handle, doubles(W), struct, ffi.NULL, ffi.NULL,
               ffi.NULL)
    return {"status": outcome_name(k.svm), "kept": k.kept, "several": k.several,
            "least_kept": k.least_kept, "most_masked": k.most_masked, "R": k.R,
            "predictivity": 1 - k.correlation, "correlation": k.correlation,
            "correlation_svm": k.correlation_svm, "correlation_single": k.correlation_single}


def joint_info(run: Run, keywords: Dict[str, Any], info: Dict[str, Any]) -> Optional[Solution]:
    """Head and prompt trained together; adds its numbers to info."""
    joint = new_struct("joint")
    struct = joint[1]
    struct.threads = run._settings.structs["train"].threads
    struct.seed = run._settings.structs["train"].seed
    for name, value in keywords.items():
        setattr(struct, name, int(value))
    j, out = ffi.new("attsvm_joint *"), ffi.new("attsvm_solution **")
    Call().run("joint_compute", j, run._handle, struct, out)
    info["conditions"]["nu"] = j.nu
    info["joint"] = {"status": outcome_name(j.outcome), "head_margin": j.margin, "tight": j.tight,
                     "all_tight": j.all_tight, "label_margin": j.label_margin, "nu": j.nu,
                     "nu_norm": j.nu_norm, "tried": j.tried, "relaxed_norm": j.relaxed,
                     "unrelaxed_norm": j.unrelaxed, "correlation_v": j.correlation_v,
                     "correlation_relaxed": j.correlation_relaxed,
                     "correlation_unrelaxed": j.correlation_unrelaxed, "ratio": j.ratio,
                     "ratio_needed": j.ratio_needed}
    if out[0] == ffi.NULL:
        return None
    solution = own_object(out[0], "solution", run._handle)
    chosen = Settings("svm", {"problem": "joint"})
    return Solution(solution, run._with_head(run._data), chosen, "run", 0)


# --------------------------------------------------------------------------------- tokens

SUPPORT = np.dtype([("sequence", np.int64), ("query", np.int64), ("token", np.int64),
                    ("selected", np.int64), ("lambda", np.float64), ("advantage", np.float64)])


class Tokens(Result):
    """Scores, support tokens, and whether a selection is optimal.

    >>> import attsvm
    >>> found = attsvm.tokens(attsvm.generate("planted-p", n=4, T=3, d=5, seed=1), enumerate=True)
    >>> found.globally_optimal, found.exhaustive, len(found.selections) >= 1
    (True, True, True)
    """

    _enumeration: Any = None

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_enumeration"}

    def __init__(self, info: Dict[str, Any], gamma: Array, opt: Array, ids: Array, support: Array,
                 selections: Optional[Array]) -> None:
        self.info, self.gamma, self.opt, self.ids = info, gamma, opt, ids
        self.support, self.selections = support, selections

    @property
    def locally_optimal(self) -> bool:
        """Every support token has a lower score than the selected one."""
        return bool(self.info["locally_optimal"])

    @property
    def globally_optimal(self) -> bool:
        """Every selected token has the best score of its term."""
        return bool(self.info["globally_optimal"])

    @property
    def exhaustive(self) -> Optional[bool]:
        """The list of selections is complete; None where it was not asked for."""
        found: Optional[bool] = self.info.get("exhaustive")
        return found

    def to_dict(self) -> Dict[str, Any]:
        names = SUPPORT.names or ()
        out = {"opt": plain(self.opt), "selected": plain(self.ids),
               "support": [{name: plain(row[name]) for name in names} for row in self.support]}
        if self.selections is not None:
            out["selections"] = plain(self.selections)
        return {**out, **super().to_dict()}

    def save(self, path: Path) -> None:
        """Writes gamma, opt, ids, support and selections as ``attsvm tokens -o`` does."""
        rows = np.stack([self.support[name] for name in ("sequence", "query", "token")], axis=1)
        arrays = [("gamma", self.gamma), ("opt", self.opt), ("ids", self.ids), ("support", rows),
                  ("support_lambda", self.support["lambda"])]
        if self._enumeration is not None:
            c_arrays, keep = named_arrays([(n, np.ascontiguousarray(a)) for n, a in arrays])
            Call().run("enumeration_save", self._enumeration, os.fsencode(path), c_arrays,
                       len(arrays))
            del keep
            return
        if self.selections is not None:
            arrays.append(("selections", self.selections))
        write_arrays(path, arrays)

    def _shown(self) -> List[Tuple[str, str]]:
        shown = [("locally_optimal", str(self.locally_optimal)),
                 ("globally_optimal", str(self.globally_optimal)),
                 ("support", str(len(self.support)))]
        if self.selections is not None:
            shown.append(("selections", str(len(self.selections))))
        return shown

    def _words(self) -> str:
        if self.info["status"] == "infeasible":
            return "nothing separates this selection from its rivals."
        local = "locally optimal" if self.locally_optimal else "not locally optimal"
        return f"the selection is {local}" + (" and globally optimal." if self.globally_optimal
                                              else ".")

    def _html_parts(self) -> List[str]:
        body = [[r["sequence"], r["selected"], r["token"], number(r["lambda"]),
                 number(r["advantage"])] for r in self.support]
        return [table_html(["sequence", "selected", "rival", "multiplier", "score over it"], body)]


def tokens(data: Any, *, select: Any = None, enumerate: bool = False,  # noqa: A002
           progress: Any = False, **settings: Any) -> Tokens:
    """Scores, support tokens, and whether a selection is locally or globally optimal.

    ``select`` as in :func:`svm`.  ``enumerate=True`` also lists every locally optimal selection.

    >>> import attsvm
    >>> attsvm.tokens(attsvm.generate("planted-p", n=4, T=3, d=5, seed=1)).opt.shape
    (4,)
    """
    used, keywords = taken_from(select, as_data(data), settings)
    if settings.get("problem") is None and keywords.get("problem") == "joint":
        keywords["problem"] = "p"  # scores are those of the head as it was trained
    chosen = Settings("tokens", keywords)
    svm = chosen.structs["svm"]
    if svm.problem not in (lib.ATTSVM_PROBLEM_P, lib.ATTSVM_PROBLEM_W):
        raise InputError("problem is p or W: scores are those of a fixed head")
    scores = new("scores_create", "scores", used._handle, svm)
    terms = [lib.attsvm_scores_term(scores, g) for g in range(lib.attsvm_scores_terms(scores))]
    choice = Choice(used, chosen, select)
    problem = new("problem_create", "problem", used._handle, choice.selection, svm)
    solution = solve(problem)
    best = ffi.new("attsvm_optimality *")
    Call().run("optimality_compute", best, scores, solution, ffi.NULL, 0)
    support = ffi.new("attsvm_support[]", max(best.support, 1))
    Call().run("optimality_compute", best, scores, solution, support, best.support)
    info = tokens_info(lib.attsvm_solution_describe(solution), best, chosen)
    selections = found = None
    if enumerate:
        found, selections = enumerate_into(info, scores, chosen, progress)
    alpha = choice.selection.alpha
    out = Tokens(info, gamma_of(scores, terms, used), np.array([t.optimal for t in terms]),
                  np.array([alpha[g] for g in range(len(terms))], np.int64),
                 support_table(support, best.support), selections)
    out._enumeration = found
    return out


def gamma_of(scores: Any, terms: List[Any], data: Data) -> Array:
    """Scores of all terms, rows of length T_i; hidden tokens are NaN."""
    out: List[float] = []
    for g, term in enumerate(terms):
        length = lib.attsvm_data_length(data._handle, term.sequence)
        out += [lib.attsvm_scores_gamma(scores, g, t) if t < term.tokens else math.nan
                for t in range(length)]
    return np.array(out)


def support_table(support: Any, rows: int) -> Array:
    out = np.zeros(rows, SUPPORT)
    for k in range(rows):
        s = support[k]
        out[k] = (s.row.sequence, s.row.query, s.row.token, s.selected, getattr(s, "lambda"),
                  s.advantage)
    return out


def tokens_info(info: Any, best: Any, chosen: Settings) -> Dict[str, Any]:
    return {"locally_optimal": best.local, "globally_optimal": getattr(best, "global"),
            "status": outcome_name(info.outcome), "geometry": chosen.get("norm"),
            "norm": info.norm, "margin": info.margin, "gap": info.gap,
            "merged": count(info.merged), "against": best.against, "missed": best.missed,
            "advantage": best.advantage, "tie": best.tie, "tied_optimal": best.tied_optimal,
            "tied_support": best.tied_support, "unique": best.unique}


def enumerate_into(info: Dict[str, Any], scores: Any, chosen: Settings,
                   progress: Any) -> Tuple[Any, Array]:
    """Every locally optimal selection; its numbers go into info."""
    out = ffi.new("attsvm_enumeration **")
    with watch(Call(), "tokens", progress) as call:
        call.run("enumerate", out, scores, chosen.structs["svm"], chosen.structs["enumerate"])
    found = own_object(out[0], "enumeration", scores)
    about = lib.attsvm_enumeration_describe(found)
    local = [lib.attsvm_enumeration_get(found, k) for k in range(about.count)]
    info.update(exhaustive=about.exhaustive, selections_norm=[one.norm for one in local],
                selections_global=[getattr(one, "global") for one in local],
                product=about.product, judged=about.judged, pruned=about.pruned,
                stalled=about.stalled)
    table = np.array([[one.alpha[g] for g in range(about.terms)] for one in local], np.int64)
    return found, table.reshape(about.count, about.terms)


# ----------------------------------------------------------------------------------- path

COLUMNS = ("radius", "correlation", "loss_excess", "log_excess", "loss", "efficiency", "attention",
           "margin", "ridge", "radius_v", "correlation_relaxed", "correlation_unrelaxed",
           "correlation_v", "predictivity", "selected")  # of the command's JSON


class RegularisationPath(Stored):
    """A regularisation path: one entry a point in every array.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> found = attsvm.path(data, radii="1:1e3:4")
    >>> found.radius
    array([1.e+00, 1.e+01, 1.e+02, 1.e+03])
    >>> found.correlation.shape, found.selected.shape
    ((4,), (4, 6))
    """

    def __init__(self, info: Dict[str, Any], arrays: Dict[str, Array], handle: Any) -> None:
        self.info, self._arrays, self._handle = info, arrays, handle

    @property
    def arrays(self) -> Dict[str, Array]:
        """All arrays by name."""
        return {name: array for name, array in self._arrays.items() if name != "settings"}

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__.get("_arrays", {})
        if name in arrays:
            return arrays[name]
        raise AttributeError(f"this path has no array {name!r}; it has: {', '.join(arrays)}")

    def to_dict(self) -> Dict[str, Any]:
        shown = {name: plain(self.arrays[name]) for name in COLUMNS if name in self.arrays}
        return {**shown, **super().to_dict()}

    def _save(self, path: str) -> None:
        Call().run("path_save", self._handle, os.fsencode(path))

    def _shown(self) -> List[Tuple[str, str]]:
        radius = self.arrays["radius"]
        return [("model", str(self.info["model"])), ("points", str(len(radius))),
                ("radius", f"{number(radius[0])}..{number(radius[-1])}" if len(radius) else "none"),
                ("correlation", number(self.arrays["correlation"][-1], 8) if len(radius) else "")]

    def _words(self) -> str:
        return f"the SVM that it is compared with is {self.info['svm']}."


def path(data: Any, model: Optional[str] = None, *, select: Any = None, progress: Any = False,
         **settings: Any) -> RegularisationPath:
    """Follows a regularisation path: the parameters of least loss in growing balls.

    ``radii`` is "FIRST:LAST:COUNT", log-spaced; settings as ``attsvm.settings("path")`` lists them.

    >>> import attsvm
    >>> attsvm.path(attsvm.generate("planted-p", n=6, T=8, d=10, seed=1), radii="1:1e4:5")
    RegularisationPath(model=p, points=5, radius=1..10000, correlation=0.99999...)
    """
    used, chosen = as_data(data), Settings("path", {"model": model, **settings})
    struct = chosen.structs["path"]
    choice = None
    if select is not None:
        svm = Settings("svm", {"problem": "p" if chosen.get("model") in ("p", "vp") else "W"})
        svm.structs["svm"].query = struct.query
        svm.structs["svm"].query_token = struct.query_token
        choice = Choice(used, svm, select)
    out = ffi.new("attsvm_path **")
    with watch(Call(), "path", progress) as call:
        call.run("path_follow", out, used._handle, struct,
                 ffi.NULL if choice is None else choice.selection)
    handle = own_object(out[0], "path", used._handle)
    about = lib.attsvm_path_describe(handle)
    info = {"model": chosen.get("model"), "svm": outcome_name(about.svm),
            "svm_norm": about.svm_norm, "svm_gap": about.svm_gap}
    if struct.model == lib.ATTSVM_MODEL_VP:
        info.update(case=text(lib.attsvm_joint_case_name(about.joint)),
                    least_ratio=about.least_ratio)
    if about.kept >= 0:
        info.update(kept=about.kept, idle=count(about.zero_weight_tokens))
    info.update(solves=about.solves, evaluations=about.evaluations, seconds=about.seconds)
    named = [lib.attsvm_path_array(handle, k) for k in range(lib.attsvm_path_count(handle))]
    arrays = {text(one.name): copy_of(one.array) for one in named}
    return RegularisationPath(info, arrays, handle)


def load_path(path: Path, arrays: Dict[str, Array]) -> RegularisationPath:
    """A path as its file has it."""
    recorded = settings_in(arrays)
    found = recorded.get("info", {})
    info = {"model": recorded.get("path", {}).get("model"), **found, "settings": recorded}
    out = RegularisationPath({"svm": None, **info}, arrays, None)
    with open(path, "rb") as stream:
        out._content = stream.read()
    return out


__all__ = ["Verdict", "Tokens", "RegularisationPath", "verify", "tokens", "path"]
