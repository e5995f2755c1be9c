"""Settings by keyword, checked by the library's own tables."""
import difflib
import os
from typing import Any, Dict, List, NamedTuple, Tuple

from ._library import InputError, check, ffi, lib, own, text

# The tables behind each verb, in the order in which a keyword is looked for.
VERBS: Dict[str, Tuple[str, ...]] = {
    "train": ("train",), "evaluate": ("train",), "verify": ("train", "joint"), "svm": ("svm",),
    "tokens": ("svm", "enumerate"), "path": ("path",), "generate": ("generate",),
    "check": ("check",), "fit": ("fit",), "predict": ("predict",),
    "samples": ("samples",), "read": ("read",), "graph": ("train",),
}


class Setting(NamedTuple):
    """One setting of a verb: its name, default, range and meaning, all as text."""
    name: str
    default: str
    range: str
    meaning: str


def table_of(name: str) -> Any:
    return getattr(lib, "table_" + name)()


def settings(verb: str) -> List[Setting]:
    """The settings that a verb takes as keywords.

    >>> import attsvm
    >>> [s for s in attsvm.settings("train") if s.name == "lr"]
    [Setting(name='lr', default='0.1', range='0..1e300', meaning='step size')]
    >>> len(attsvm.settings("svm")) > 10
    True
    """
    if verb not in VERBS:
        raise InputError(f"no verb {verb!r}; there are: {', '.join(sorted(VERBS))}")
    out: List[Setting] = []
    for name in VERBS[verb]:
        table = table_of(name)
        for k in range(table.count):
            field = table.fields[k]
            if text(field.name) not in (seen.name for seen in out):
                out.append(Setting(text(field.name), default_text(table, field), range_text(field),
                                   text(field.meaning)))
    return out


def default_text(table: Any, field: Any) -> str:
    out = ffi.new("char[]", 256)
    lib.attsvm_settings_get(table, ffi.NULL, field.name, out, 256)
    return text(out)


def range_text(field: Any) -> str:
    out = ffi.new("char[]", 512)
    lib.attsvm_setting_range(ffi.addressof(field), out, 512)
    return text(out)


def as_text(name: str, value: Any) -> str:
    """A keyword's value as the text that the flag of the command takes."""
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        out = value
    elif isinstance(value, bool) or type(value).__name__ == "bool_":
        out = "yes" if value else "no"
    elif isinstance(value, (tuple, list)):
        out = ",".join(as_text(name, one) for one in value)
    elif isinstance(value, os.PathLike):
        out = os.fsdecode(value)
    elif hasattr(value, "__index__"):
        out = str(value.__index__())
    elif hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0:
        out = repr(float(value))
    else:
        raise InputError(f"{name} = {value!r} is neither a number nor a text")
    if "\0" in out:
        raise InputError(f"{name} holds a null character")
    return out


class Settings:
    """The settings structs of one call: `structs["svm"]` is an attsvm_svm_settings pointer."""

    def __init__(self, verb: str, keywords: Dict[str, Any]) -> None:
        self.verb = verb
        self.tables = [(name, *new_struct(name)) for name in VERBS[verb]]
        self.structs = {name: struct for name, _, struct in self.tables}
        self.keep: List[Any] = []
        for name, value in keywords.items():
            if value is not None:
                self.set(name, value)

    def set(self, name: str, value: Any) -> None:
        c_name, c_value = name.encode(), as_text(name, value).encode()
        kept = ffi.new("char[]", c_value)
        found = False
        for _, table, struct in self.tables:
            if lib.attsvm_settings_find(table, c_name) != ffi.NULL:
                found = True
                check(lib.attsvm_settings_set(table, struct, c_name, kept, own.error), own.error)
        if not found:
            raise InputError(unknown(self.verb, name))
        self.keep.append(kept)

    def get(self, name: str) -> str:
        """The value in force, as text."""
        out = ffi.new("char[]", 1024)
        for _, table, struct in self.tables:
            if lib.attsvm_settings_find(table, name.encode()) != ffi.NULL:
                lib.attsvm_settings_get(table, struct, name.encode(), out, 1024)
                break
        return text(out)


_structs: Dict[str, Tuple[Any, Any]] = {}


def new_struct(name: str) -> Tuple[Any, Any]:
    """The table of that name, and a settings struct with its defaults."""
    known = _structs.get(name)
    if known is None:
        known = _structs[name] = (table_of(name), ffi.typeof(f"attsvm_{name}_settings *"))
    struct = ffi.new(known[1])
    lib.attsvm_settings_init(known[0], struct)
    return known[0], struct


def unknown(verb: str, name: str) -> str:
    names = [setting.name for setting in settings(verb)]
    near = difflib.get_close_matches(name, names, 1)
    return f"{verb}: unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
