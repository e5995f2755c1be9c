"""The C library: its handle, its errors as exceptions, and calls that Ctrl-C can stop."""
import os
import re
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

import numpy as np

# Debian's packages of the shared libraries that the extension stands on.
PACKAGES = {"libgmp": "libgmp10", "libzip": "libzip4", "libjansson": "libjansson4",
            "libstdc++": "libstdc++6"}

try:
    from ._attsvm import ffi, lib
except ImportError as error:
    missing = re.match(r"(lib[\w+]+?)[-.\d]*\.so\S*: cannot open", str(error))
    if not missing:
        raise
    package = PACKAGES.get(missing[1], "the one that holds " + missing[1])
    raise ImportError(f"attsvm needs a shared library that is not installed: {error}.  On Debian, "
                      f"install {package}.") from error

__all__ = ["ffi", "lib", "Error", "InputError", "FileError", "Call", "Lock", "check", "text", "own",
           "new", "own_object", "callback_struct", "fields"]


class Error(Exception):
    """Any failure that the library reports.

    >>> import attsvm
    >>> issubclass(attsvm.InputError, attsvm.Error) and issubclass(attsvm.InputError, ValueError)
    True
    """


class InputError(Error, ValueError):
    """An argument, a setting or a data set is not valid; the message names it.

    >>> import attsvm
    >>> try:
    ...     attsvm.Data([[[0.0, float("nan")]]])
    ... except attsvm.InputError as error:
    ...     print(error)
    X[0,0,1] is NaN; tokens must be finite
    """


class FileError(Error, OSError):
    """A file cannot be opened, read or written, or is not what its name promises.

    >>> import attsvm
    >>> try:
    ...     attsvm.Data("nowhere.npz")
    ... except OSError as error:
    ...     print(type(error).__name__)
    FileError
    """


def exception_types() -> Dict[int, Callable[[str], BaseException]]:
    return {lib.ATTSVM_E_ARG: InputError, lib.ATTSVM_E_DATA: InputError,
            lib.ATTSVM_E_OPEN: FileError, lib.ATTSVM_E_FORMAT: FileError,
            lib.ATTSVM_E_DISK: FileError, lib.ATTSVM_E_MEMORY: MemoryError}


EXCEPTIONS = exception_types()


def text(pointer: Any) -> str:
    """A C string as str; "" for NULL."""
    return "" if pointer == ffi.NULL else str(ffi.string(pointer).decode("utf-8", "replace"))


def check(status: int, error: Any) -> None:
    """Raises what the library reported, where a call failed."""
    if status != 0:
        raise EXCEPTIONS.get(status, Error)(text(error.message) or "the call failed")


class Own(threading.local):
    """One error struct a thread."""

    def __init__(self) -> None:
        self.error = ffi.new("attsvm_error *")


own = Own()


class Lock:
    """A lock of an object.  A forked process does not wait for a thread that it does not have."""

    def __init__(self) -> None:
        self._lock, self._holder = threading.RLock(), 0

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            if self._holder != os.getpid():
                raise Error("another thread was using this object when the process was forked: "
                            "the child process cannot use it")
            self._lock.acquire()
        self._holder = os.getpid()

    def __exit__(self, *_: Any) -> None:
        self._lock.release()


# ------------------------------------------------------------------- calls that may be stopped

POLL_SECONDS = 0.1  # between two looks at pending signals


class Call:
    """Calls of the library that call back: observers, losses, heads, schedules.

    An exception in a callback ends the call and is raised by `run`, as itself.  A Ctrl-C is such
    an exception: Python raises it in the observer, which the library calls every now and then.
    """

    def __init__(self, functions: Optional[Dict[str, Callable[..., Any]]] = None) -> None:
        self.observe: Optional[Callable[..., Optional[bool]]] = None
        self.functions = functions or {}
        self.failure: Optional[BaseException] = None
        self.key = ffi.new_handle(self)
        self.state = ffi.new("poll_state *")
        self.start(POLL_SECONDS)

    def start(self, every: float) -> None:
        """From now on the observer asks Python every so many seconds."""
        lib.poll_start(self.state, every, self.key)

    def ask(self, *progress: Any) -> bool:
        """Whether the call may go on."""
        try:
            if self.failure is not None:
                return False
            answer = None if self.observe is None else self.observe(*progress)
            return not isinstance(answer, (bool, np.bool_)) or bool(answer)
        except BaseException as failure:  # handed on by `run`
            self.fail(failure)
            return False

    def fail(self, failure: BaseException) -> None:
        if self.failure is None:
            self.failure = failure

    def run(self, name: str, *arguments: Any) -> None:
        """Calls attsvm_NAME; its observer, context and error struct are filled in here.

        Raises what a callback raised, else what the library reported.
        """
        function, observer, at = signature(name)
        error = own.error
        if observer is not None:
            arguments = arguments[:at] + (observer, self.state) + arguments[at:]
        status = function(*arguments, error)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if status != 0:
            check(status, error)


_signatures: Dict[str, Tuple[Any, Any, int]] = {}


def signature(name: str) -> Tuple[Any, Any, int]:
    """The function attsvm_NAME, the observer that it takes (None: none), and where it takes it."""
    found = _signatures.get(name)
    if found is None:
        function = getattr(lib, "attsvm_" + name)
        found = (function, None, 0)
        for at, kind in enumerate(ffi.typeof(function).args):
            if kind in OBSERVERS:
                found = (function, OBSERVERS[kind], at)
        _signatures[name] = found
    return found


def new(name: str, kind: str, *arguments: Any, call: Optional[Call] = None,
        keep: Any = None) -> Any:
    """An object made by attsvm_NAME, which frees itself; `kind` is its type without attsvm_.

    What it was made from, and `keep`, stays alive until it is freed: it may borrow that.
    """
    out = ffi.new(kind_of(kind)[0])
    (call or Call()).run(name, out, *arguments)
    return own_object(out[0], kind, arguments, keep)


_kinds: Dict[str, Tuple[Any, Any]] = {}


def kind_of(kind: str) -> Tuple[Any, Any]:
    """The C type of a pointer to such an object's pointer, and what frees the object."""
    found = _kinds.get(kind)
    if found is None:
        found = (ffi.typeof(f"attsvm_{kind} **"), getattr(lib, f"attsvm_{kind}_free"))
        _kinds[kind] = found
    return found


def own_object(pointer: Any, kind: str, *borrowed: Any) -> Any:
    """The pointer, freed by the library when Python lets go of it, and before what it borrows."""
    free = kind_of(kind)[1]

    def release(last: Any, borrowed: Any = borrowed) -> None:
        free(last)
    return ffi.gc(pointer, release)


def on_error(kind: Any, value: Any, trace: Any) -> None:
    """For exceptions outside the `try` of a callback, as Ctrl-C at its very first instruction."""
    call = trace.tb_frame.f_locals.get("call") if trace is not None else None
    key = trace.tb_frame.f_locals.get("key") if trace is not None else None
    if call is None and key is not None:
        call = ffi.from_handle(key)
    if isinstance(call, Call):
        call.fail(value)


def define_observers() -> Dict[Any, Any]:
    """The Python half of every observer type of the header; the C half by its C type."""
    def define(name: str) -> None:
        def ask(key: Any, *progress: Any) -> bool:
            call: Call = ffi.from_handle(key)
            return call.ask(*progress)
        ffi.def_extern(name=name, onerror=on_error, error=False)(ask)
    observers = {}
    for name in dir(lib):
        if name.startswith("poll_") and name.endswith("observer"):
            define("python_" + name[len("poll_"):])
            pointer = ffi.addressof(lib, name)
            observers[ffi.typeof(pointer)] = pointer
    return observers


OBSERVERS = define_observers()

NAN = float("nan")
Function = TypeVar("Function", bound=Callable[..., float])


def callback(function: Function) -> Function:
    """The Python half of a function of the caller; it returns NaN where it fails."""
    ffi.def_extern(onerror=on_error, error=NAN)(function)
    return function


@callback
def python_loss(key: Any, u: float, slope: Any) -> float:
    """A loss of the caller: its value at u, and its slope into *slope."""
    call: Call = ffi.from_handle(key)
    try:
        value, slope[0] = call.functions["loss"](u)
        return float(value)
    except BaseException as failure:
        call.fail(failure)
        slope[0] = NAN
        return NAN


@callback
def python_schedule(key: Any, step: int) -> float:
    """A step-size schedule of the caller."""
    call: Call = ffi.from_handle(key)
    try:
        return float(call.functions["schedule"](step))
    except BaseException as failure:
        call.fail(failure)
        return NAN


@callback
def python_head(key: Any, u: Any, d: int, gradient: Any) -> float:
    """A head of the caller: its value at u (d), and its gradient into gradient (d)."""
    import numpy
    call: Call = ffi.from_handle(key)
    out = numpy.frombuffer(ffi.buffer(gradient, 8 * d))
    try:
        point = numpy.frombuffer(ffi.buffer(u, 8 * d))
        point.flags.writeable = False
        value, slope = call.functions["head"](point)
        out[:] = slope
        return float(value)
    except BaseException as failure:
        call.fail(failure)
        out[:] = NAN
        return NAN


def callback_struct(call: Call, name: str) -> Any:
    """attsvm_NAME_callback for the function of that name, or NULL where there is none."""
    if name not in call.functions:
        return ffi.NULL
    return ffi.new(f"attsvm_{name}_callback *",
                   {"value": getattr(lib, "python_" + name), "context": call.key})


def fields(struct: Any) -> Dict[str, Any]:
    """The fields of a struct by name, spare room left out."""
    kind = ffi.typeof(struct)
    names = _names.get(kind)
    if names is None:
        plain = kind.item if kind.kind == "pointer" else kind
        names = _names[kind] = [name for name, _ in plain.fields
                                if name not in ("reserved", "padding")]
    return {name: getattr(struct, name) for name in names}


_names: Dict[Any, List[str]] = {}
