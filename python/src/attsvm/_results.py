"""What all results have in common: numbers, arrays, text, pickling, files."""
import html
import json
import math
import os
import tempfile
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Array, copy_doubles, copy_of, named_arrays
from ._library import Call, Error, InputError, check, ffi, lib, new, own, text
from ._settings import Settings, new_struct

Path = Union[str, "os.PathLike[str]"]


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers that are not finite are None, arrays are lists."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def count(value: int) -> Optional[int]:
    """A count of the library; -1 stands for one that was not counted."""
    return None if value < 0 else value


def number(value: float, digits: int = 6) -> str:
    return f"{value:.{digits}g}"


class Result:
    """Numbers in `info`, under the names that the command prints as JSON; arrays by attribute."""

    info: Dict[str, Any]

    def to_dict(self) -> Dict[str, Any]:
        """All numbers, as the command's ``--json`` has them; ready for ``json.dumps``."""
        out: Dict[str, Any] = plain(self.info)
        return out

    def _shown(self) -> List[Tuple[str, str]]:
        """(name, value) for one line of text."""
        return []

    def _words(self) -> str:
        """The result in a sentence."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self._shown())})"

    def _html_parts(self) -> List[str]:
        return []

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th style='text-align:left'>{html.escape(k)}</th>"
                        f"<td>{html.escape(v)}</td></tr>" for k, v in self._shown())
        parts = [f"<p><b>{type(self).__name__}</b>: {html.escape(self._words())}</p>",
                 f"<table>{cells}</table>"] + self._html_parts()
        return f"<div>{''.join(parts)}</div>"


def table_html(head: Sequence[str], body: Sequence[Sequence[Any]], most: int = 12) -> str:
    """The first rows of a table."""
    def row(tag: str, cells: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"
    more = f"<p>and {len(body) - most} more</p>" if len(body) > most else ""
    return f"<table>{row('th', head)}{''.join(row('td', r) for r in body[:most])}</table>{more}"


def strip_html(attention: Array, offsets: Array, most: int = 12) -> str:
    """Attention as one strip of cells a sequence, darker where there is more of it."""
    rows = []
    for i in range(min(len(offsets) - 1, most)):
        cells = "".join(
            f"<span title='token {t}: {a:.4f}' style='display:inline-block;width:12px;height:12px;"
            f"background:rgba(20,80,160,{min(max(a, 0.04), 1):.3f})'></span>"
            for t, a in enumerate(attention[offsets[i]:offsets[i + 1]][:200]))
        rows.append(f"<div style='line-height:12px;margin:1px'>{cells}</div>")
    return f"<div>{''.join(rows)}</div>"


# ---------------------------------------------------------------------------------- files

def temporary(use: Callable[[str], Any]) -> Any:
    """Calls use(path) with the name of a file that is gone afterwards."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="attsvm-", dir=memory) as folder:
        return use(os.path.join(folder, "result.npz"))


def bytes_of(save: Callable[[str], None]) -> bytes:
    """What `save` writes."""
    def use(path: str) -> bytes:
        save(path)
        with open(path, "rb") as stream:
            return stream.read()
    out: bytes = temporary(use)
    return out


def with_file(content: bytes, use: Callable[[str], Any]) -> Any:
    """Calls use(path) with a file of this content, whose name is kept out of messages."""
    def write(path: str) -> Any:
        with open(path, "wb") as stream:
            stream.write(content)
        try:
            return use(path)
        except Error as error:
            raise type(error)(str(error).replace(path, "the stored result")) from None
    return temporary(write)


def read_arrays(path: str) -> Dict[str, Array]:
    """The arrays of a file, copied."""
    read = Settings("read", {}).structs["read"]
    archive = new("archive_open", "archive", os.fsencode(path), read)
    return {text(lib.attsvm_archive_name(archive, k)): copy_of(lib.attsvm_archive_array(archive, k))
            for k in range(lib.attsvm_archive_count(archive))}


def write_arrays(path: Path, arrays: Sequence[Tuple[str, Array]]) -> None:
    c_arrays, keep = named_arrays([(name, np.ascontiguousarray(a)) for name, a in arrays])
    Call().run("archive_write", os.fsencode(path), c_arrays, len(arrays))
    del keep


def settings_in(arrays: Dict[str, Array]) -> Dict[str, Any]:
    """The array `settings` of a result file, which is JSON text."""
    found = arrays.get("settings")
    if found is None:
        return {}
    try:
        value = json.loads(bytes(found.astype(np.uint8)).decode())
    except ValueError as error:
        raise InputError(f"settings is not JSON text: {error}") from None
    return value if isinstance(value, dict) else {}


class Origin:
    """What a result file says about how it was made: data set, settings, trained head."""

    def __init__(self, path: Path) -> None:
        self.handle = new("origin_read", "origin", os.fsencode(path))
        self.info = None if self.handle == ffi.NULL else lib.attsvm_origin_describe(self.handle)

    def head(self) -> Optional[Array]:
        """The trained head."""
        if self.info is None or self.info.v == ffi.NULL:
            return None
        return copy_doubles(self.info.v, self.info.v_count)

    def svm_keywords(self, keywords: Dict[str, Any]) -> Dict[str, Any]:
        """Problem, query and head of the result, unless keywords say otherwise."""
        if self.info is None:
            return keywords
        table, svm = new_struct("svm")
        check(lib.attsvm_origin_svm(self.handle, svm, own.error), own.error)
        return with_problem(table, svm, keywords)

    def check(self, data: Any, keywords: Dict[str, Any]) -> None:
        """Raises an error that names both if data set or problem contradict the result."""
        if self.info is None:
            return
        names = ("problem", "query", "query_token", "head", "kappa")
        svm = Settings("svm", {name: keywords[name] for name in names if name in keywords})
        check(lib.attsvm_origin_check(self.handle, data._handle, svm.structs["svm"], own.error),
              own.error)

    def train_settings(self) -> Settings:
        """The settings of the training run."""
        if self.info is None or self.info.train == ffi.NULL:
            raise InputError("the file does not say how the run was trained")
        out = Settings("train", {})
        ffi.memmove(out.structs["train"], self.info.train, ffi.sizeof("attsvm_train_settings"))
        out.keep.append(self.handle)  # owns the texts of the settings
        return out


def with_problem(table: Any, svm: Any, keywords: Dict[str, Any]) -> Dict[str, Any]:
    """Keywords, completed by problem, query and head of a settings struct."""
    out = dict(keywords)
    for names in (("problem",), ("query", "query_token"), ("head", "kappa")):
        if all(out.get(name) is None for name in names):
            for name in names:
                value = ffi.new("char[]", 64)
                lib.attsvm_settings_get(table, svm, name.encode(), value, 64)
                out[name] = text(value)
    return out


class Stored(Result):
    """A result with a file form: it is pickled and copied as the content of that file.

    `_arrays` are the arrays by name; a result that was just computed fills them from the library
    when they are asked for, one that was loaded has them from its file.
    """

    _arrays: Dict[str, Array]
    _content: Optional[bytes] = None

    def _array(self, name: str) -> Optional[Array]:
        return self._arrays.get(name)

    def _need(self, name: str) -> Array:
        """An array that every result of this kind has."""
        found = self._array(name)
        if found is None:
            raise InputError(f"this {type(self).__name__} holds no array {name}")
        return found

    def _save(self, path: str) -> None:
        raise NotImplementedError

    def save(self, path: Path) -> None:
        """Writes the result as the command's ``-o`` does."""
        if self._content is not None and os.fspath(path).endswith(".npz"):
            Call().run("file_write", os.fsencode(path), self._content, len(self._content))
        elif self._content is not None:
            write_arrays(path, list(self._arrays.items()))
        else:
            self._save(os.fspath(path))

    def _bytes(self) -> bytes:
        return self._content if self._content is not None else bytes_of(self._save)

    def __reduce__(self) -> Tuple[Any, ...]:
        return restore, (type(self), dict(self.info), self._bytes())

    def __deepcopy__(self, memo: Any) -> Any:
        return restore(type(self), dict(self.info), self._bytes())

    def __copy__(self) -> Any:
        return self.__deepcopy__(None)

    def _restored(self) -> None:
        """After reading from a file: nothing of the library stands behind the result."""


def restore(kind: Any, info: Dict[str, Any], content: bytes) -> Any:
    """A stored result from its numbers and its file."""
    out = kind.__new__(kind)
    out.info = info
    out._content = content
    out._arrays = with_file(content, read_arrays)
    out._restored()
    return out
