"""numpy arrays as the library sees them, and back."""
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from ._library import InputError, ffi, lib

Array = NDArray[Any]  # the element type is decided at run time

CODES: Dict[str, int] = {
    "float16": lib.ATTSVM_F16, "float32": lib.ATTSVM_F32, "float64": lib.ATTSVM_F64,
    "bool": lib.ATTSVM_BOOL, "int8": lib.ATTSVM_I8, "int16": lib.ATTSVM_I16,
    "int32": lib.ATTSVM_I32, "int64": lib.ATTSVM_I64, "uint8": lib.ATTSVM_U8,
    "uint16": lib.ATTSVM_U16, "uint32": lib.ATTSVM_U32, "uint64": lib.ATTSVM_U64,
}
BY_CODE = {code: np.dtype(name) for name, code in CODES.items()}
BY_DTYPE = {np.dtype(name): code for name, code in CODES.items()}


def is_torch(value: Any) -> bool:
    """A tensor of torch, without importing torch to find out."""
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def from_torch(value: Any, name: str) -> Array:
    """A tensor as an array over the same memory."""
    tensor = value.detach()
    if tensor.device.type != "cpu":
        raise InputError(f"{name} is a tensor on {tensor.device}; move it to the CPU first")
    if tensor.layout is not sys.modules["torch"].strided:
        raise InputError(f"{name} is a tensor of layout {tensor.layout}; make it dense first")
    if str(tensor.dtype) == "torch.bfloat16":  # numpy has no such type; float32 holds its values
        tensor = tensor.float()
    out: Array = tensor.resolve_conj().resolve_neg().numpy()
    return out


def as_array(value: Any, name: str, dtype: Optional[type] = None) -> Array:
    """Dense, row-major and in the machine's byte order: `value` itself where it is, else a copy."""
    array = from_torch(value, name) if is_torch(value) else value
    if not isinstance(array, np.ndarray):
        try:
            array = np.asarray(array)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} is not an array of numbers: {error}") from None
    if isinstance(array, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; fill it or drop what is masked")
    if type(array) is not np.ndarray:  # np.matrix has shapes of its own
        array = np.asarray(array)
    if array.dtype not in BY_DTYPE:
        array = to_known_type(array, name)
    if dtype is not None and array.dtype != dtype:
        array = array.astype(dtype)
    if array.ndim > lib.ATTSVM_MAX_DIMS:
        raise InputError(f"{name} has {array.ndim} dimensions; at most {lib.ATTSVM_MAX_DIMS}")
    dense: Array = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    return dense


def to_known_type(array: Array, name: str) -> Array:
    native = array.dtype.newbyteorder("=")
    if native in BY_DTYPE:
        return array.astype(native)
    if array.dtype.kind == "f":  # longdouble
        return array.astype(np.float64)
    what = "complex numbers" if array.dtype.kind == "c" else f"elements of type {array.dtype}"
    raise InputError(f"{name} has {what}; expected an array of real numbers")


def describe(to: Any, array: Array) -> Any:
    """Fills an attsvm_array; returns the pointer that must be kept alive with it."""
    pointer = ffi.from_buffer(array) if array.size else ffi.NULL
    to.data = pointer
    to.ndim = array.ndim
    to.dtype = BY_DTYPE[array.dtype]
    to.shape = array.shape
    return pointer


def named_arrays(arrays: Sequence[Tuple[str, Array]]) -> Tuple[Any, List[Any]]:
    """attsvm_named_array[] over arrays, and what must be kept alive while it is used."""
    out = ffi.new(NAMED_ARRAYS, max(len(arrays), 1))
    keep: List[Any] = [out]
    for entry, (name, array) in zip(out, arrays):
        entry.name = c_name = c_text(name)
        keep += [c_name, array, describe(entry.array, array)]
    return out, keep


NAMED_ARRAYS = ffi.typeof("attsvm_named_array[]")
_texts: Dict[str, Any] = {}  # names of arrays as C strings: there are few


def c_text(name: str) -> Any:
    found = _texts.get(name)
    if found is None:
        found = _texts[name] = ffi.new("char[]", name.encode())
    return found


def product(shape: Sequence[int]) -> int:
    out = 1
    for extent in shape:
        out *= extent
    return out


def copy_of(array: Any) -> Array:
    """An attsvm_array as a numpy array that owns its memory."""
    shape = tuple(array.shape[k] for k in range(array.ndim))
    dtype = BY_CODE[array.dtype]
    count = product(shape)
    if count == 0 or array.data == ffi.NULL:
        return np.zeros(shape, dtype)
    memory = ffi.buffer(ffi.cast("char *", array.data), count * dtype.itemsize)
    return np.frombuffer(memory, dtype).reshape(shape).copy()


def copy_doubles(pointer: Any, *shape: int) -> Array:
    """Doubles at a C pointer as an array of its own; NULL is all zeros."""
    count = product(shape)
    if pointer == ffi.NULL or count == 0:
        return np.zeros(shape)
    return np.frombuffer(ffi.buffer(pointer, 8 * count)).reshape(shape).copy()


def copy_integers(pointer: Any, *shape: int) -> Array:
    count = product(shape)
    if pointer == ffi.NULL or count == 0:
        return np.zeros(shape, np.int64)
    return np.frombuffer(ffi.buffer(pointer, 8 * count), np.int64).reshape(shape).copy()


def doubles(array: Array) -> Any:
    """The C pointer of a float64 array."""
    return ffi.cast("double *", ffi.from_buffer(array)) if array.size else ffi.NULL


def integers(array: Array) -> Any:
    return ffi.cast("int64_t *", ffi.from_buffer(array)) if array.size else ffi.NULL
