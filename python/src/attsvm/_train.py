"""Training: train, train_many, Run."""
import os
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

from ._arrays import Array, as_array, copy_doubles, copy_of, named_arrays
from ._data import Data, as_data
from ._library import Call, InputError, Lock, callback_struct, ffi, lib, new, own, text
from ._progress import watch
from ._results import (Origin, Path, Stored, number, plain, settings_in, strip_html, with_file,
                       with_problem)
from ._settings import Settings, new_struct

PARAMETERS = ("p", "W", "K", "Q", "v")
CALLS = 100  # of a callback in a run, where `observe` does not say how often


class State:
    """Where a run is, for a callback: all numbers of ``run.info``, and the parameters.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> seen = []
    >>> def look(state):
    ...     seen.append((state.iters, state.p.shape))
    ...     return state.iters < 20  # False ends the run
    >>> attsvm.train(data, iters=100, observe=10, callback=look).iters
    20
    >>> seen
    [(0, (10,)), (10, (10,)), (20, (10,))]
    """

    def __init__(self, train: Any, info: Any) -> None:
        self.iters = int(info.iters)
        for name in NUMBERS:
            setattr(self, name, getattr(info, name))
        model = lib.attsvm_train_model(train)
        count = ffi.new("int64_t *")
        theta = lib.attsvm_train_parameters(train, count)
        self.parameters: Dict[str, Array] = blocks_of(model, copy_doubles(theta, count[0]))

    def __getattr__(self, name: str) -> Any:
        if name in PARAMETERS:
            return self.__dict__.get("parameters", {}).get(name)
        raise AttributeError(name)


NUMBERS = ("seconds", "loss", "loss_limit", "loss_excess", "log_excess", "norm", "grad_log_scale",
           "softmax_min", "softmax_mean", "entropy", "effective_tokens", "accuracy", "margin",
           "nuclear", "effective_rank", "direction_change")


def blocks_of(model: Any, theta: Array) -> Dict[str, Array]:
    """The trained arrays in a vector of parameters."""
    out: Dict[str, Array] = {}
    for k in range(lib.attsvm_model_describe(model).parameters):
        block = lib.attsvm_model_parameter(model, k)
        part = theta[block.offset:block.offset + block.count]
        name = text(block.name)
        out[name] = part if name in ("p", "v") else part.reshape(block.rows, block.columns)
    return out


class Run(Stored):
    """A training run: its parameters, selected tokens, attention, trace and numbers.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> run = attsvm.train(data, iters=500, record=100)
    >>> run.p.shape, run.ids.shape, run.softmax.shape
    ((10,), (6,), (6, 8))
    >>> run.trace["iter"]
    array([  0, 100, 200, 300, 400, 500])
    >>> run.continue_(500).iters
    1000
    """

    def __init__(self, handle: Any, data: Data, settings: Settings, call: Call,
                 exchangeable: Optional[Dict[str, int]]) -> None:
        self._handle, self._call = handle, call
        self._data: Any = data  # None of a loaded run, as the settings are
        self._settings: Any = settings
        self._lock = Lock()
        self._exchangeable = exchangeable
        self._file: Optional[str] = None
        self._scheduled = "schedule" in call.functions
        self._describe()

    def _describe(self) -> None:
        """The numbers of the present state; arrays are copied when they are asked for."""
        self._arrays, self._compared = {}, False
        info, settings = lib.attsvm_train_describe(self._handle), self._settings
        self.info = {"model": settings.get("model"), "step": settings.get("step"),
                     "predicted_norm": limit_of(settings)[1],
                     "outcome": text(lib.attsvm_train_outcome_name(info.outcome)),
                     "iters": info.iters}
        self.info.update((name, getattr(info, name)) for name in NUMBERS)
        self.info["zero_gradient"] = info.grad_log_scale == -float("inf")
        self.info["exchangeable"] = self._exchangeable

    def _restored(self) -> None:
        self._handle = self._data = self._settings = self._file = self._exchangeable = None
        self._call = Call()
        self._lock = Lock()

    def _open(self, data: Any) -> None:
        """A loaded run becomes one of the library again, over the data set it was trained on."""
        if self._handle is not None:
            return
        used = self._beside() if data is None else as_data(data)
        scheduled = "schedule" in self._arrays

        def read(path: str) -> None:
            loss, head = callback_struct(self._call, "loss"), callback_struct(self._call, "head")
            self._handle = new("train_load", "train", used._handle, os.fsencode(path), loss, head,
                               call=self._call)
            self._settings = Origin(path).train_settings()
        with_file(self._bytes(), read)
        self._data, self._content, self._scheduled = used, None, scheduled
        self._describe()

    def _beside(self) -> Data:
        """The data set that the file of the run names, where it lies beside that file."""
        name = self.info.get("settings", {}).get("file")
        path = os.path.join(os.path.dirname(self._file), name) if self._file and name else ""
        if not os.path.exists(path):
            raise InputError("this run was loaded: give the data set that it was trained on, "
                             "data=...")
        return Data(path)

    # ---------------------------------------------------------------------------- arrays

    def _array(self, name: str) -> Optional[Array]:
        with self._lock:
            found = self._arrays.get(name)
            if found is None and self._handle is not None:
                pointer = lib.attsvm_train_find(self._handle, name.encode())
                if pointer != ffi.NULL:
                    found = self._arrays[name] = copy_of(pointer)
            return found

    def _compare(self, solution: Any = ffi.NULL) -> None:
        """Adds the records' correlation with the SVM, where there is one to compare with."""
        recorded = self._settings.get("record") and self._settings.get("loss") != "ntp"
        if recorded and not self._compared:
            self._compared = True
            if lib.attsvm_train_compare(self._handle, solution, own.error) == lib.ATTSVM_E_MEMORY:
                raise MemoryError(text(own.error.message))

    def _names(self) -> List[str]:
        if self._handle is None:
            return list(self._arrays)
        self._compare()
        return [text(lib.attsvm_train_array(self._handle, k).name)
                for k in range(lib.attsvm_train_count(self._handle))]

    @property
    def p(self) -> Optional[Array]:
        """The trained prompt (d), or None."""
        return self._array("p")

    @property
    def W(self) -> Optional[Array]:
        """The trained W (d,d), or None."""
        return self._array("W")

    @property
    def K(self) -> Optional[Array]:
        """The trained K (d,rank), or None."""
        return self._array("K")

    @property
    def Q(self) -> Optional[Array]:
        """The trained Q (d,rank), or None."""
        return self._array("Q")

    @property
    def v(self) -> Optional[Array]:
        """The trained head, or None where it was fixed."""
        return self._array("v")

    @property
    def parameters(self) -> Dict[str, Array]:
        """The trained arrays by name."""
        found = {name: self._array(name) for name in PARAMETERS}
        return {name: array for name, array in found.items() if array is not None}

    @property
    def theta(self) -> Array:
        """What the logits are made with: p, W'p, W or K Q'."""
        if self._handle is not None:
            with self._lock:
                count = ffi.new("int64_t *")
                pointer = lib.attsvm_train_theta(self._handle, count)
                array = copy_doubles(pointer, count[0])
            d = lib.attsvm_data_describe(self._data._handle).d
            return array if array.size == d else array.reshape(d, d)
        if self.K is not None and self.Q is not None:
            return self.K @ self.Q.T
        if self.p is not None and self.W is not None:
            return self.W.T @ self.p
        return self._need("W" if self.p is None else "p")

    @property
    def ids(self) -> Array:
        """The selected token of every term."""
        return self._need("ids")

    @property
    def softmax(self) -> Array:
        """Attention at the end: (n,T), or one entry a token where lengths differ."""
        return self._need("softmax")

    @property
    def trace(self) -> Dict[str, Array]:
        """What ``record`` kept, by name: iter, loss, norm, p, softmax, ..."""
        with self._lock:
            return {name[len("trace_"):]: self._need(name)
                    for name in self._names() if name.startswith("trace_")}

    @property
    def iters(self) -> int:
        """Steps done."""
        return int(self.info["iters"])

    @property
    def loss(self) -> float:
        """The loss at the end."""
        return float(self.info["loss"])

    # ----------------------------------------------------------------------------- verbs

    def continue_(self, iters: int, *, callback: Optional[Callable[[State], Any]] = None,
                  progress: Any = False, data: Any = None) -> "Run":
        """Goes on for ``iters`` more steps, as if the run had been that much longer.

        A loaded run needs the ``data`` it was trained on, unless their file lies beside its own.
        """
        if iters < 0:
            raise InputError(f"iters = {iters} is negative")
        with self._lock:
            self._open(data)
            if self._scheduled and "schedule" not in self._call.functions:
                raise InputError("the schedule of this run is a function, which a file cannot "
                                 "hold; start a new run with init=run")
            total = self.iters + int(iters)
            try:
                run_watched(self._call, "train_continue", self._handle, (total,), callback,
                            progress, total)
            finally:
                self._describe()
        return self

    def verdict(self, **settings: Any) -> Any:
        """What the run is beside the max-margin solution: see :func:`attsvm.verify`."""
        from ._theory import verdict_of
        return verdict_of(self, settings)

    def svm(self, **settings: Any) -> Any:
        """The SVM of the selected tokens, as ``attsvm.svm(data, select=run)``."""
        from ._svm import svm
        data = self._data if self._data is not None else self._beside()
        return svm(data, select=self, **settings)

    def _with_head(self, data: Data) -> Data:
        """The data set with the head that was trained."""
        return data if self.v is None else data.replace(v=self.v)

    def _save(self, path: str) -> None:
        more = [("schedule", np.ones(1, np.uint8))] if "schedule" in self._call.functions else []
        arrays, keep = named_arrays(more)
        with self._lock:
            self._compare()
            Call().run("train_save", self._handle, os.fsencode(path), arrays, len(more))
        del keep

    def to_dict(self) -> Dict[str, Any]:
        out = super().to_dict()
        out["selected"] = plain(self.ids)
        return out

    # ------------------------------------------------------------------------------ text

    def _shown(self) -> List[Tuple[str, str]]:
        info = self.info
        return [("model", str(info.get("model"))), ("step", str(info.get("step"))),
                ("iters", str(info.get("iters"))), ("loss", number(info["loss"])),
                ("norm", number(info["norm"])), ("softmax_min", number(info["softmax_min"]))]

    def _words(self) -> str:
        least = self.info["softmax_min"]
        if least >= 1 - 1e-3:
            return "attention has chosen one token in every sequence."
        return f"attention is not decided: some selected token has {least:.3f} of it."

    def _html_parts(self) -> List[str]:
        softmax = self.softmax
        if self._data is None or softmax is None:
            return []
        offsets = self._data.offsets
        flat = softmax.reshape(-1)
        return [strip_html(flat, offsets)] if len(flat) == offsets[-1] else []


def limit_of(settings: Settings) -> Tuple[Any, str]:
    """The SVM settings that training leads to, and its norm as text, "" where there is no claim."""
    table, svm = new_struct("svm")
    claimed = ffi.new("bool *")
    if lib.attsvm_train_limit(settings.structs["train"], svm, claimed, ffi.NULL) != 0:
        return svm, ""
    out = ffi.new("char[]", 32)
    lib.attsvm_settings_get(table, svm, b"norm", out, 32)
    norm = text(out) if svm.norm != lib.ATTSVM_NORM_LQ else f"lq:{svm.q:g}"
    return svm, norm if claimed[0] else ""


def svm_keywords(run: Run, keywords: Dict[str, Any]) -> Dict[str, Any]:
    """Problem, query and head of a run, unless keywords say otherwise."""
    if run._settings is None:
        origin: Origin = with_file(run._bytes(), Origin)
        return origin.svm_keywords(keywords)
    svm, _ = limit_of(run._settings)
    return with_problem(new_struct("svm")[0], svm, keywords)


def taken_from(select: Any, data: Data, keywords: Dict[str, Any]) -> Tuple[Data, Dict[str, Any]]:
    """Data set and settings of a problem whose tokens a run or a result file selects."""
    if isinstance(select, Run):
        own = svm_keywords(select, keywords)
        if select._data is not data or keywords.get("problem") is not None:
            with_file(select._bytes(), Origin).check(data, own)
        return select._with_head(data), own
    if isinstance(select, os.PathLike) or (isinstance(select, str)
                                           and select not in ("", "opt", "ids", "sets")):
        origin = Origin(select)
        head, own = origin.head(), origin.svm_keywords(keywords)
        origin.check(data, own)
        return data if head is None else data.replace(v=head), own
    return data, keywords


# ------------------------------------------------------------------------------- running

def functions_of(loss: Any, head: Any, schedule: Any, keywords: Dict[str, Any]) -> Dict[str, Any]:
    """Callables among loss, head and schedule; texts go to the keywords."""
    functions: Dict[str, Callable[..., Any]] = {}
    for name, value in (("loss", loss), ("head", head)):
        if callable(value):
            functions[name] = value
        elif value is not None:
            keywords[name] = value
    if schedule is not None:
        if not callable(schedule):
            raise InputError("schedule is not callable; expected a function of the step's number")
        functions["schedule"] = schedule
    return functions


def create(data: Data, settings: Settings, functions: Dict[str, Any],
           init: Any) -> Tuple[Any, Call]:
    """A run that has not begun, and the call that keeps its callbacks alive."""
    call = Call(functions)
    loss, head = callback_struct(call, "loss"), callback_struct(call, "head")
    handle = new("train_create", "train", data._handle, settings.structs["train"], loss, head,
                 call=call)
    if "schedule" in functions:
        call.run("train_schedule", handle, callback_struct(call, "schedule"))
    start = init.parameters if isinstance(init, Run) else init
    if isinstance(start, dict):
        arrays, keep = named_arrays([(name, as_array(value, f"init[{name!r}]"))
                                     for name, value in start.items()])
        call.run("train_start", handle, arrays, len(start))
        del keep
    return handle, call


def run_watched(call: Call, name: str, handle: Any, arguments: Tuple[Any, ...], callback: Any,
                progress: Any, total: int) -> None:
    """attsvm_train_run or _continue, with progress and a callback."""
    def tell(train: Any, info: Any) -> Optional[bool]:
        go_on: Optional[bool] = callback(State(train, info))
        return go_on

    with watch(call, "train", progress, total, None if callback is None else tell):
        call.run(name, handle, *arguments)


def train(data: Any, model: Optional[str] = None, step: Optional[str] = None, *,
          init: Any = "auto", loss: Any = None, head: Any = None,
          callback: Optional[Callable[[State], Any]] = None,
          schedule: Optional[Callable[[int], float]] = None, progress: Any = False,
          **settings: Any) -> Run:
    """Trains one attention layer by descent.

    ``model`` is one of p, pW, W, KQ, vp, vpW, vW, vKQ; ``step`` the step rule.  ``init`` is the
    text of the flag ("auto", "zero", "gauss:1", ..., a result file), a :class:`Run`, or a dict of
    arrays (p, W, K, Q, v).  ``loss`` is a name or a function u -> (value, slope), strictly
    decreasing; ``head`` a name or a function u (d) -> (value, gradient (d)); ``schedule`` a
    function of the step's number that returns the step size.  ``callback`` gets a :class:`State`
    and ends the run by returning False; it is called every ``observe`` steps, by default a hundred
    times.  Settings as ``attsvm.settings("train")`` lists them.

    >>> import attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> run = attsvm.train(data, iters=1000)
    >>> run.ids
    array([1, 1, 1, 5, 6, 1])
    """
    used = as_data(data)
    keywords: Dict[str, Any] = {"model": model, "step": step, **settings}
    functions = functions_of(loss, head, schedule, keywords)
    if isinstance(init, (str, os.PathLike)):
        keywords["init"] = init
    elif not isinstance(init, (Run, dict)):
        raise InputError(f"init is a {type(init).__name__}; expected a text, a Run or a dict of "
                         "arrays")
    chosen = Settings("train", keywords)
    struct = chosen.structs["train"]
    if callback is not None and keywords.get("observe") is None:
        struct.observe = max(1, struct.iters // CALLS)
    handle, call = create(used, chosen, functions, init)
    exchangeable = exchangeable_of(handle, call)
    run_watched(call, "train_run", handle, (), callback, progress, struct.iters)
    return Run(handle, used, chosen, call, exchangeable)


def exchangeable_of(handle: Any, call: Call) -> Optional[Dict[str, int]]:
    """Words that exact descent never separates, where tokens are unit vectors."""
    found = ffi.new("attsvm_exchangeable *")
    call.run("exchangeable_compute", found, handle)
    return {"groups": found.groups, "words": found.words} if found.onehot else None


def train_many(jobs: Iterable[Tuple[Any, Dict[str, Any]]], threads: int = 0, *,
               progress: Any = False) -> List[Run]:
    """Trains many small problems on all cores, without Python in the loop.

    ``jobs`` are pairs (data, settings), settings a dict of the keywords of :func:`train`; callables
    are not taken.  The result does not depend on ``threads``.

    >>> import attsvm
    >>> sets = [attsvm.generate("planted-p", n=4, T=3, d=5, seed=s) for s in range(20)]
    >>> runs = attsvm.train_many([(data, {"iters": 200}) for data in sets])
    >>> len(runs), runs[0].iters
    (20, 200)
    """
    made: List[Tuple[Any, Data, Settings, Call, Any]] = []
    for k, (data, settings) in enumerate(jobs):
        keywords = dict(settings)
        init = keywords.pop("init", "auto")
        if isinstance(init, (str, os.PathLike)):
            keywords["init"] = init
        for name in ("loss", "head", "schedule", "callback"):
            if callable(keywords.get(name)):
                raise InputError(f"job {k}: {name} is a function; train_many takes none")
        chosen, used = Settings("train", keywords), as_data(data)
        handle, call = create(used, chosen, {}, init)
        made.append((handle, used, chosen, call, exchangeable_of(handle, call)))
    handles = ffi.new("attsvm_train *[]", [one[0] for one in made] or 1)
    with watch(Call(), "train_many", progress, len(made)) as call:
        call.run("train_run_batch", handles, len(made), int(threads))
    return [Run(*one) for one in made]


def load_run(path: Path, arrays: Dict[str, Array], data: Any, loss: Any, head: Any) -> Run:
    """A run as its file has it; the numbers that need its data set are NaN without one."""
    out: Run = Run.__new__(Run)
    with open(path, "rb") as stream:
        out._content = stream.read()
    out._arrays = arrays
    out._restored()
    out._file = os.path.abspath(path)
    recorded = settings_in(arrays)
    how = recorded.get("train", {})
    out.info = {"model": how.get("model"), "step": how.get("step"),
                "outcome": recorded.get("outcome"), "iters": recorded.get("iters"),
                **{name: float("nan") for name in NUMBERS}, "settings": recorded}
    out._call = Call(functions_of(loss, head, None, {}))
    if data is not None:
        out._open(data)
    return out

