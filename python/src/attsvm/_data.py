"""Data sets: token sequences with labels, queries and heads."""
import os
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Array, as_array, copy_of, describe, integers, is_torch, named_arrays
from ._library import Call, InputError, ffi, lib, new, own, text
from ._settings import Settings

# The arrays of a data set, in the order in which they are saved.
TOKENS = ("X", "E", "tokens", "offsets", "lengths", "bags", "vocabulary")
NAMES = TOKENS + ("Y", "Z", "v", "V", "W", "p", "ids", "O", "s", "labels", "init_p", "init_W",
                  "init_K", "init_Q", "init_v", "fold", "inst")

STORAGE = {lib.ATTSVM_EQUAL: "equal", lib.ATTSVM_RAGGED: "ragged", lib.ATTSVM_TABLE: "table"}


class Memory:
    """Memory of the library as an array that keeps its owner alive."""

    def __init__(self, array: Any, owner: Any) -> None:
        empty = copy_of(array) if array.data == ffi.NULL else None
        shape = tuple(array.shape[k] for k in range(array.ndim))
        dtype = np.dtype(text(lib.attsvm_dtype_name(array.dtype)))
        address = int(ffi.cast("uintptr_t", array.data)) if empty is None else empty.ctypes.data
        self.keep = (owner, empty)
        self.__array_interface__ = {"shape": shape, "typestr": dtype.str, "data": (address, True),
                                    "version": 3}


def view_of(array: Any, owner: Any) -> Array:
    """An attsvm_array as a read-only numpy array over the same memory."""
    return np.asarray(Memory(array, owner))


class Data:
    """Token sequences X_i (T_i, d), with labels, queries, and heads or selections where needed.

    ``X`` is an array (n,T,d); a list of arrays (T_i,d); stacked rows (N,d) with ``offsets`` (n+1)
    or with ``groups`` (N), whose rows of one group form a bag; or the name of a file.  Instead of
    ``X`` a table ``E`` (V,d) with ``tokens`` (N) and ``offsets``.  ``y`` are labels -1/+1 or 0/1,
    with ``groups`` one a bag, or one a row that is the same within a bag.  The other arrays are
    those of the file format: queries ``Z``, head ``v`` and ``V``, key map ``W``, prompt ``p``,
    selections ``ids``, ``O``, ``s``, next tokens ``labels``.

    float16, float32 and float64 in C order are borrowed: keep them unchanged while the data set
    is in use.  Everything else is copied once.  Tensors of torch count as arrays.

    >>> import numpy as np, attsvm
    >>> X = np.random.default_rng(0).normal(size=(6, 8, 10))
    >>> data = attsvm.Data(X, y=[1, -1, 1, -1, 1, -1], v=np.ones(10))
    >>> data
    Data(n=6, T=8, d=10, float64, labels 3+ 3-)
    >>> data[:2].shape
    (2, 8, 10)
    >>> np.shares_memory(X, data.array("X"))
    True
    """

    def __init__(self, X: Any = None, y: Any = None, *, groups: Any = None, offsets: Any = None,
                 E: Any = None, tokens: Any = None, Z: Any = None, v: Any = None, V: Any = None,
                 W: Any = None, p: Any = None, ids: Any = None, O: Any = None, s: Any = None,
                 labels: Any = None, threads: int = 0, **more: Any) -> None:
        given = {"E": E, "tokens": tokens, "offsets": offsets, "Y": y, "Z": Z, "v": v, "V": V,
                 "W": W, "p": p, "ids": ids, "O": O, "s": s, "labels": labels, **more}
        for name in more:
            if name not in NAMES:
                raise InputError(f"Data has no array {name!r}; there are: {', '.join(NAMES)}")
        arrays = {name: as_array(value, "y" if name == "Y" else name)
                  for name, value in given.items() if value is not None}
        self._file: Optional[str] = None
        self._parent: Optional["Data"] = None
        self._indices: Optional[Array] = None
        self._archive: Any = None
        self._arrays: Optional[Dict[str, Array]] = None
        self._settings = Settings("read", {"threads": threads or None})
        if isinstance(X, (str, os.PathLike)):
            if groups is not None:
                raise InputError("groups go with an array X, not with a file")
            self._read(os.fspath(X), arrays)
        else:
            if groups is not None:
                arrays.update(bags(as_array(X, "X"), groups, arrays))
            elif X is not None:
                arrays.update(tokens_of(X))
            self._create({name: arrays[name] for name in NAMES if name in arrays})

    # ------------------------------------------------------------------------ making

    def _create(self, arrays: Dict[str, Array]) -> None:
        """Over arrays in memory, which are borrowed."""
        self._arrays = arrays
        c_arrays, keep = named_arrays(list(arrays.items()))
        self._handle = new("data_create", "data", c_arrays, len(arrays),
                           self._settings.structs["read"], keep=keep)

    def _read(self, path: str, arrays: Dict[str, Array]) -> None:
        """From a file, with some of its arrays replaced."""
        read = self._settings.structs["read"]
        c_path = os.fsencode(path)
        if not arrays:
            self._handle = new("data_read", "data", c_path, read)
            self._file = path
            return
        self._archive = archive = new("archive_open", "archive", c_path, read)
        names = [text(lib.attsvm_archive_name(archive, k))
                 for k in range(lib.attsvm_archive_count(archive))]
        found = [view_of(lib.attsvm_archive_array(archive, k), archive) for k in range(len(names))]
        known = {"Y" if name == "y" else name: one for name, one in zip(names, found)}
        known.update(arrays)
        self._create({name: known[name] for name in NAMES if name in known})

    @classmethod
    def _of_handle(cls, handle: Any, names: Sequence[str]) -> "Data":
        """A data set that the library owns."""
        self = cls.__new__(cls)
        self._file = self._parent = self._indices = self._archive = None
        self._settings = Settings("read", {})
        self._handle = handle
        found = {name: self.array(name) for name in names}
        self._arrays = {name: array for name, array in found.items() if array is not None}
        return self

    def replace(self, **arrays: Any) -> "Data":
        """The same data set with other arrays: ``data.replace(v=run.v)``.  Tokens are shared.

        >>> import attsvm
        >>> data = attsvm.generate(n=3, T=4, d=2)
        >>> data.replace(v=[1.0, 0.0]).array("v")
        array([1., 0.])
        """
        if self._parent is not None:
            raise InputError("replace arrays of the whole data set, and take the view of that")
        new_names = {"Y" if name == "y" else name: value for name, value in arrays.items()}
        for name in new_names:
            if name not in NAMES:
                raise InputError(f"Data has no array {name!r}; there are: {', '.join(NAMES)}")
        kept = dict(self.arrays())
        kept.update({name: as_array(value, name) for name, value in new_names.items()
                     if value is not None})
        for name, value in new_names.items():
            if value is None:
                kept.pop(name, None)
        out = Data.__new__(Data)
        out._file = out._parent = out._indices = None
        out._archive, out._settings = self._handle, self._settings
        out._create({name: kept[name] for name in NAMES if name in kept})
        return out

    # ---------------------------------------------------------------------- describing

    @property
    def info(self) -> Dict[str, Any]:
        """n, d, tokens, T_min, T_max, vocabulary, queries, positive, negative, dtype, storage."""
        d = lib.attsvm_data_describe(self._handle)
        return {"n": d.n, "d": d.d, "tokens": d.tokens, "T_min": d.T_min, "T_max": d.T_max,
                "vocabulary": d.vocabulary, "queries": d.queries, "positive": d.positive,
                "negative": d.negative, "dtype": text(lib.attsvm_dtype_name(d.dtype)),
                "storage": STORAGE.get(d.storage, "other")}

    def __len__(self) -> int:
        return int(lib.attsvm_data_describe(self._handle).n)

    @property
    def shape(self) -> Tuple[int, Optional[int], int]:
        """(n, T, d); T is None where sequences differ in length."""
        d = lib.attsvm_data_describe(self._handle)
        return d.n, d.T_max if d.T_min == d.T_max else None, d.d

    @property
    def lengths(self) -> Array:
        """T_i of every sequence."""
        return np.diff(self.offsets)

    @property
    def offsets(self) -> Array:
        """Where each sequence begins in arrays with one entry a token (n+1)."""
        offset, handle = lib.attsvm_data_offset, self._handle
        return np.array([offset(handle, i) for i in range(len(self) + 1)], np.int64)

    @property
    def y(self) -> Optional[Array]:
        """Labels -1 and +1 of the sequences, or None."""
        d = lib.attsvm_data_describe(self._handle)
        if d.positive + d.negative == 0:
            return None
        label, handle = lib.attsvm_data_label, self._handle
        return np.array([label(handle, i) for i in range(d.n)], np.int64)

    def array(self, name: str) -> Optional[Array]:
        """An array of the data set as the library holds it (read-only, not copied), or None."""
        found = lib.attsvm_data_array(self._handle, name.encode())
        return None if found == ffi.NULL else view_of(found, self)

    def arrays(self) -> Dict[str, Array]:
        """All arrays by name."""
        if self._arrays is not None:
            return self._arrays
        if self._parent is not None:
            return taken(self._parent, self._indices)
        found = {name: self.array(name) for name in NAMES}
        return {name: array for name, array in found.items() if array is not None}

    def __repr__(self) -> str:
        d = self.info
        lengths = d["T_max"] if d["T_min"] == d["T_max"] else f"{d['T_min']}..{d['T_max']}"
        labelled = d["positive"] + d["negative"] > 0
        labels = f"labels {d['positive']}+ {d['negative']}-" if labelled else "no labels"
        words = f", {d['vocabulary']} words" if d["vocabulary"] else ""
        return f"Data(n={d['n']}, T={lengths}, d={d['d']}, {d['dtype']}{words}, {labels})"

    # ------------------------------------------------------------------------ indexing

    def sequence(self, i: int) -> Array:
        """The tokens (T_i, d) of sequence i, as float64."""
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"sequence {i} of {n}")
        i %= n
        out = np.empty((lib.attsvm_data_length(self._handle, i),
                        lib.attsvm_data_describe(self._handle).d))
        for t, row in enumerate(out):
            lib.attsvm_data_token(self._handle, i, t, ffi.cast("double *", row.ctypes.data))
        return out

    def __getitem__(self, key: Any) -> Any:
        """A view of some sequences; with a single integer the tokens of that sequence."""
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            return self.sequence(int(key))
        indices = index_array(key, len(self))
        out = Data.__new__(Data)
        out._file = out._archive = out._arrays = None
        out._settings = self._settings
        out._parent, out._indices = self, indices
        out._handle = new("data_subset", "data", self._handle, integers(indices), len(indices))
        return out

    def __iter__(self) -> Iterator[Array]:
        return (self.sequence(i) for i in range(len(self)))

    # ------------------------------------------------------------------------- storing

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the data set as a file that the command reads."""
        c_arrays, keep = named_arrays(list(self.arrays().items()))
        Call().run("archive_write", os.fsencode(path), c_arrays, len(self.arrays()))
        del keep

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._parent is not None:
            return take, (self._parent, self._indices)
        if self._file is not None:
            return Data, (os.path.abspath(self._file),)
        return of_arrays, (dict(self.arrays()),)

    def __copy__(self) -> "Data":
        return self

    def __deepcopy__(self, memo: Any) -> "Data":
        return of_arrays({name: np.array(array) for name, array in self.arrays().items()})


def take(parent: Data, indices: Array) -> Data:
    view: Data = parent[indices]
    return view


def of_arrays(arrays: Dict[str, Array]) -> Data:
    """The data set with these arrays, in this order; they are borrowed."""
    out = Data.__new__(Data)
    out._file = out._parent = out._indices = out._archive = None
    out._settings = Settings("read", {})
    out._create(arrays)
    return out


def as_data(value: Any) -> Data:
    """What a verb takes as its data set: a Data, or a file name."""
    if isinstance(value, Data):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Data(value)
    raise InputError(f"data is a {type(value).__name__}; expected attsvm.Data or a file name")


# -------------------------------------------------------------------------------- shapes

def tokens_of(X: Any) -> Dict[str, Array]:
    """X as (n,T,d) or (N,d), and offsets where X is a list of arrays."""
    if isinstance(X, Data):
        raise InputError("X is a Data already; data.replace(y=...) gives it other arrays")
    if not isinstance(X, (list, tuple)) or is_torch(X):
        array = as_array(X, "X")
        if array.ndim < 2:
            raise InputError(f"X has shape {array.shape}; expected (n,T,d), or (N,d) with offsets")
        return {"X": array}
    if not X:
        raise InputError("X is an empty list; expected one array (T_i,d) for each sequence")
    parts = [as_array(part, f"X[{i}]") for i, part in enumerate(X)]
    for i, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != parts[0].shape[-1]:
            raise InputError(f"X[{i}] has shape {part.shape}; expected (T_{i},d) with the same d "
                             "for every sequence")
    if len({len(part) for part in parts}) == 1:
        return {"X": np.stack(parts)}
    return {"X": np.concatenate(parts), "offsets": offsets_of([len(part) for part in parts])}


def offsets_of(lengths: Union[Sequence[int], Array]) -> Array:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(np.int64)


def bags(X: Array, groups: Any, given: Dict[str, Array]) -> Dict[str, Array]:
    """Rows of one group as a bag, bags in the order in which groups first appear."""
    names = np.asarray(groups)
    if X.ndim != 2 or names.shape != (len(X),):
        raise InputError(f"groups has shape {names.shape} and X {X.shape}; expected (N) and (N,d)")
    if "offsets" in given:
        raise InputError("give either groups or offsets")
    if len(X) == 0:
        raise InputError("X has no rows")
    _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    bag = rank[inverse]
    order = np.argsort(bag, kind="stable")
    in_order = bool((order == np.arange(len(X))).all())
    out = {"X": X if in_order else X[order], "offsets": offsets_of(np.bincount(bag))}
    y = given.get("Y")
    if y is not None and y.shape == (len(X),) and len(X) != len(first):
        sorted_y = y[order]
        starts = out["offsets"][:-1]
        same = sorted_y == np.repeat(sorted_y[starts], np.diff(out["offsets"]))
        if not same.all():
            row = int(order[np.argmin(same)])
            raise InputError(f"y[{row}] = {y[row]} differs from the label of an earlier row of its "
                             f"group {names[row]!r}")
        out["Y"] = sorted_y[starts]
    return out


def index_array(key: Any, n: int) -> Array:
    """A slice, mask or list of integers as sequence numbers."""
    if isinstance(key, slice):
        return np.arange(n, dtype=np.int64)[key].copy()
    array = np.asarray(key)
    if array.dtype == bool:
        if array.shape != (n,):
            raise InputError(f"the mask has shape {array.shape}; expected ({n},)")
        return np.flatnonzero(array).astype(np.int64)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"an index of type {array.dtype} and shape {array.shape}; expected "
                         "integers, a slice or a mask")
    out = np.array(array, np.int64)
    if ((out < -n) | (out >= n)).any():
        raise IndexError(f"index {out[(out < -n) | (out >= n)][0]} of {n} sequences")
    return np.where(out < 0, out + n, out)


def taken(parent: Data, indices: Optional[Array]) -> Dict[str, Array]:
    """Arrays of a view, tokens copied: for saving it."""
    assert indices is not None
    view: Data = parent[indices]
    arrays: Dict[str, Array] = {}
    parts: List[Array] = [view.sequence(i) for i in range(len(view))]
    dtype = parent.info["dtype"]
    arrays.update(tokens_of([part.astype(dtype) for part in parts]))
    for name in NAMES:
        array = view.array(name)
        if array is not None and name not in TOKENS:
            arrays[name] = np.array(array)
    return {name: arrays[name] for name in NAMES if name in arrays}


def generate(kind: Optional[str] = None, *, output: Any = None, deflate: bool = False,
             **settings: Any) -> Data:
    """A random data set; settings as ``attsvm.settings("generate")`` lists them.

    With ``output`` it is written to that file piece by piece, whatever its size, and read from
    there; Ctrl-C stops that, but not the making of a data set in memory.  The same settings give
    the same values everywhere.

    >>> import attsvm
    >>> attsvm.generate("planted-p", n=5, T=4, d=3, seed=7)
    Data(n=5, T=4, d=3, float64, labels 3+ 2-)
    """
    chosen = Settings("generate", {"kind": kind, **settings})
    generator = new("generator_create", "generator", chosen.structs["generate"])
    info = lib.attsvm_generator_describe(generator)
    names = [text(info.arrays[k].name) for k in range(info.count)]
    if output is not None:
        Call().run("generator_write", generator, os.fsencode(output), deflate)
        return Data(output)
    return Data._of_handle(new("data_generate", "data", chosen.structs["generate"]), names)
