"""A model at given parameters: loss, exact gradient, attention."""
from typing import Any, Dict, List, Tuple

import numpy as np

from ._arrays import Array, as_array, doubles, integers
from ._data import as_data
from ._library import Call, InputError, callback_struct, ffi, lib, new, text
from ._results import Result, number
from ._settings import Settings
from ._train import functions_of

NUMBERS = ("loss", "loss_limit", "loss_excess", "log_excess", "norm", "grad_log_scale",
           "softmax_min", "softmax_mean", "entropy", "effective_tokens", "accuracy", "margin")


class Evaluation(Result):
    """A model at given parameters.

    >>> import numpy as np, attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> at = attsvm.evaluate(data, p=np.zeros(10))
    >>> np.allclose(at.softmax, 1 / 8)
    True
    >>> sorted(at.gradient)
    ['p']
    """

    def __init__(self, info: Dict[str, Any], gradient: Dict[str, Array],
                 log_scale: Dict[str, float], softmax: Array, logits: Array, ids: Array) -> None:
        self.info, self.gradient, self.log_scale = info, gradient, log_scale
        self.softmax, self.logits, self.ids = softmax, logits, ids

    @property
    def loss(self) -> float:
        """The loss L."""
        return float(self.info["loss"])

    @property
    def excess(self) -> float:
        """L minus its limit for the tokens selected now, without cancellation."""
        return float(self.info["loss_excess"])

    @property
    def log_excess(self) -> float:
        """The natural logarithm of the excess, also where the excess itself is 0 in doubles."""
        return float(self.info["log_excess"])

    def full_gradient(self, name: str) -> Array:
        """exp(log_scale) gradient: the plain gradient, which far out is 0 in doubles."""
        plain: Array = np.exp(self.log_scale[name]) * self.gradient[name]
        return plain

    def _shown(self) -> List[Tuple[str, str]]:
        return [("loss", number(self.loss)), ("log_excess", number(self.log_excess)),
                ("log_scale", str({k: round(x, 4) for k, x in self.log_scale.items()})),
                ("softmax_min", number(self.info["softmax_min"]))]

    def _words(self) -> str:
        return "the model at given parameters; gradients are exp(log_scale) times unit-scaled ones."


def evaluate(data: Any, model: str = "p", *, p: Any = None, W: Any = None, K: Any = None,
             Q: Any = None, v: Any = None, loss: Any = None, head: Any = None,
             **settings: Any) -> Evaluation:
    """Loss, exact gradient, softmax and logits at any parameters.

    The gradient in each trained array is ``exp(log_scale[name]) * gradient[name]``: it keeps its
    direction where attention is saturated and the plain gradient would be 0 in doubles.  Arrays
    that the model does not train (v, the key map W, the prompt p of pW) replace those of the data.

    >>> import numpy as np, attsvm
    >>> data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    >>> far = attsvm.evaluate(data, p=1e5 * np.ones(10))
    >>> far.log_scale["p"] < -1000, bool(np.isfinite(far.gradient["p"]).all())
    (True, True)
    """
    given = {name: value for name, value in (("p", p), ("W", W), ("K", K), ("Q", Q), ("v", v))
             if value is not None}
    keywords: Dict[str, Any] = {"model": model, **settings}
    functions = functions_of(loss, head, None, keywords)
    if "rank" not in keywords and "K" in given:
        keywords["rank"] = as_array(given["K"], "K").shape[-1]
    chosen, call = Settings("evaluate", keywords), Call(functions)
    used = as_data(data)
    trained = trained_names(chosen.get("model"))
    fixed = {name: value for name, value in given.items() if name not in trained}
    if fixed:
        used = used.replace(**fixed)
    handle = new("model_create", "model", used._handle, chosen.structs["train"],
                 callback_struct(call, "loss"), callback_struct(call, "head"), call=call)
    info = lib.attsvm_model_describe(handle)
    blocks = [lib.attsvm_model_parameter(handle, k) for k in range(info.parameters)]
    theta = np.concatenate([parameter(block, given) for block in blocks])
    out, gradient = ffi.new("attsvm_evaluation *"), np.empty(info.size)
    call.run("model_evaluate", handle, doubles(theta), out, doubles(gradient))
    softmax, logits = np.empty(info.cells), np.empty(info.cells)
    call.run("model_softmax", handle, doubles(theta), doubles(softmax))
    call.run("model_logits", handle, doubles(theta), doubles(logits))
    ids = np.empty(info.terms, np.int64)
    call.run("model_select", handle, doubles(theta), integers(ids))
    shape = cell_shape(info, lib.attsvm_data_describe(used._handle))
    numbers = {name: getattr(out, name) for name in NUMBERS}
    return Evaluation(numbers, {text(b.name): block_of(b, gradient) for b in blocks},
                      {text(b.name): out.log_scale[k] for k, b in enumerate(blocks)},
                      softmax.reshape(shape), logits.reshape(shape), ids)


def trained_names(model: str) -> Tuple[str, ...]:
    """vpW trains v, p and W; pW trains W alone; KQ trains K and Q."""
    head = ("v",) if model.startswith("v") else ()
    rest = model[len(head):]
    if rest == "pW":
        return head + (("p", "W") if head else ("W",))
    return head + tuple(rest)


def parameter(block: Any, given: Dict[str, Any]) -> Array:
    """One trained array, as entries of theta."""
    name = text(block.name)
    shape: Tuple[int, ...] = (block.rows,) if name in ("p", "v") else (block.rows, block.columns)
    if name not in given:
        raise InputError(f"Missing {name} {shape}: this model is evaluated at it")
    array = as_array(given[name], name, np.float64)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}")
    return array.reshape(-1)


def block_of(block: Any, theta: Array) -> Array:
    name = text(block.name)
    part = theta[block.offset:block.offset + block.count].copy()
    return part if name in ("p", "v") else part.reshape(block.rows, block.columns)


def cell_shape(model: Any, data: Any) -> Tuple[int, ...]:
    """(terms,T) where all sequences are equally long, else one entry a cell."""
    equal = data.T_min == data.T_max
    return (model.terms, data.T_max) if equal else (model.cells,)


