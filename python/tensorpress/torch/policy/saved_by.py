"""Which function saves a tensor for backward, and how much of the tensor its backward looks at.

Saved-tensor hooks see a tensor but not who saves it. `WatchedFunctions` is a torch function mode
that knows which of PyTorch's functions is running. The tables below then say what is enough for
backward: 1 bit for a ReLU, the shape for a pooling. A function that no table names keeps its
tensors exactly: some (abs, amax, maximum, sort) compare them, some (log, sqrt, a division) divide
by them in backward, where an error beside zero has no bound. Values that are nearly the same would
give a wrong gradient, not one that is nearly right.
"""

from __future__ import annotations

import contextlib
import enum
import pathlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
import torch.utils.checkpoint
from torch.overrides import TorchFunctionMode

from ..logits.lazy import LazyLogits
from ..packing.pool_indices import Pair, Windows
from . import rebuildable

Rebuildable = Callable[[Callable[..., Any], "Call", Any], None]


class Need(enum.Enum):
    VALUES = "values"
    SIGN = "sign"  # above 0 or not
    INSIDE = "inside"  # between two limits or not
    SHAPE = "shape"
    ZEROS = "zeros"  # where values are exactly 0, beside values of both signs
    WINDOW = "window"  # which place of a pooling's window


# Backward is linear in the saved values (or, for batch_norm, nearly): an unbiased error stays one.
LINEAR = frozenset(
    """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear bilinear
    matmul __matmul__ __rmatmul__ linalg_matmul mm bmm addmm addbmm baddbmm mv addmv dot vdot inner
    outer tensordot einsum _grouped_mm batch_norm""".split()
)
ATTENTION = ("scaled_dot_product_attention", "multi_head_attention_forward")
# Where these take what they multiply with, which may be computed from parameters, and its name.
WEIGHT_AT = {
    **dict.fromkeys("conv1d conv2d conv3d linear".split(), (1, "weight")),
    **dict.fromkeys("conv_transpose1d conv_transpose2d conv_transpose3d".split(), (1, "weight")),
    "bilinear": (2, "weight"),
    "_grouped_mm": (1, "mat2"),
    "sliced_linear_cross_entropy": (1, "linear_weight"),
}
# What only gives a tensor another shape or type, such as autocast does to parameters.
RESHAPING = frozenset(
    "ToCopy T Transpose Permute View UnsafeView Reshape ReshapeAlias Expand Clone".split()
)
# Backward is smooth in the saved values, wherever these are; powers by what `is_singular` says.
SMOOTH = frozenset(
    """layer_norm group_norm instance_norm rms_norm local_response_norm
    gelu silu mish sigmoid sigmoid_ special_expit logsigmoid tanh tanh_ softplus glu erf
    mul mul_ __mul__ __rmul__ exp exp_ expm1 sin cos square square_ pow pow_ __pow__ addcmul lerp
    mse_loss binary_cross_entropy_with_logits""".split()
)
# Many steps in one call, smooth in all that they save; the weights come after input and state.
RECURRENT = frozenset("lstm gru rnn_tanh lstm_cell gru_cell rnn_tanh_cell".split())
RECURRENT_WEIGHTS_FROM = 2
QUERY_KEY_VALUE = ("query", "key", "value")
# Whose matrices have a row for each token or step, not features for the last layers.
BY_ROWS = RECURRENT | {"_grouped_mm", "sliced_linear_cross_entropy"}
POWERS = frozenset("pow pow_ __pow__".split())
# Backward takes the exponential of the saved values, or they are exponentials.
EXPONENTIAL = frozenset(
    """softmax log_softmax softmin cross_entropy nll_loss logsumexp
    scaled_dot_product_attention multi_head_attention_forward
    sliced_linear_cross_entropy""".split()
)
# What forward ends with: the next that runs is its backward.
AT_THE_END = frozenset("cross_entropy log_softmax".split())
# Smooth on either side of zero: the sign is kept beside the values.
SMOOTH_BESIDE_ZERO = frozenset("prelu elu elu_ selu celu".split())
# Smooth between limits and beyond them: what is inside is kept beside the values.
SMOOTH_BETWEEN = frozenset("hardswish hardswish_".split())
# What they make of values that are nearly the same may be something else, even of another size.
CHOOSING = frozenset(
    """topk sort argsort argmax argmin max min kthvalue nonzero masked_select unique
    unique_consecutive multinomial""".split()
)
SIGN_ONLY = frozenset("relu relu_ leaky_relu leaky_relu_".split())
SHAPE_ONLY = frozenset(
    """max_pool1d max_pool2d max_pool3d
    max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
    avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d adaptive_max_pool1d_with_indices
    adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices""".split()
)
ROWS_PADDED_TO = 32  # by attention on GPUs
POOL_2D = ("max_pool2d", "max_pool2d_with_indices")
POOL_1D = ("max_pool1d", "max_pool1d_with_indices")


class Call(NamedTuple):
    """One of PyTorch's functions at work, with what it was called with."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def argument(self, position: int, name: str, default: Any) -> Any:
        if len(self.args) > position:
            return self.args[position]
        return self.kwargs.get(name, default)


NO_CALL = Call("", (), {})
# torch.utils.checkpoint, which computes a part of the network again from what it saves, whatever is
# in that part.
CHECKPOINT = Call("checkpoint", (), {})
_CHECKPOINT_FILE = torch.utils.checkpoint.__file__
_CHECKPOINT_SAVES_IN = (
    "save_inputs",
    "<listcomp>",  # in save_inputs, until Python 3.11
    "_checkpoint_without_reentrant_generator",
    "checkpoint",
)
_OURS = str(pathlib.Path(__file__).parents[1])  # with the hooks that autograd calls


def limits_of(call: Call) -> tuple[float, float] | None:
    """Where hardtanh and its relatives have another slope than outside. The backward of all but
    those of SMOOTH_BETWEEN asks only that."""
    if call.name == "relu6":
        return 0.0, 6.0
    if call.name in SMOOTH_BETWEEN or call.name in ("hardsigmoid", "hardsigmoid_"):
        return -3.0, 3.0
    if call.name in ("hardtanh", "hardtanh_"):
        low, high = call.argument(1, "min_val", -1.0), call.argument(2, "max_val", 1.0)
        return (float(low), float(high)) if low < high else None
    return None


def windows_of(call: Call) -> Windows | None:
    """Of a pooling that is at work, or None if this is not one, or one of too large windows."""
    if call.name not in POOL_2D + POOL_1D:
        return None
    tensor = call.argument(0, "input", None)
    kernel = call.argument(1, "kernel_size", None)
    stride = call.argument(2, "stride", None)
    padding = call.argument(3, "padding", 0)
    dilation = call.argument(4, "dilation", 1)
    axes = 2 if call.name in POOL_2D else 1
    if not isinstance(tensor, torch.Tensor) or kernel is None or tensor.dim() < axes:
        return None
    extent = tuple(tensor.shape[-axes:])
    kernel = _pair(kernel, axes, 1)
    windows = Windows(
        _pair(extent, axes, 1),
        kernel,
        _pair(stride, axes, 1) if stride not in (None, [], ()) else kernel,
        _pair(padding, axes, 0),
        _pair(dilation, axes, 1),
    )
    return windows if kernel[0] * kernel[1] <= 256 else None


def is_singular(call: Call) -> bool:
    """Powers that are no polynomial: their slope grows without bound beside zero."""
    if call.name not in POWERS:
        return False
    exponent = call.argument(1, "exponent", None)
    return not isinstance(exponent, int | float) or exponent < 1 or exponent != int(exponent)


def is_log_sum(call: Call, tensor: torch.Tensor) -> bool:
    """What fused attention keeps of each row of pairs: the logarithm that probabilities are made
    with in backward, so that an error of it is a factor of all of them."""
    shape = _shape_of_rows(call) if call.name in ATTENTION else None
    if shape is None:
        return False
    found = tensor.shape[:-1] if tensor.dim() == len(shape) + 1 else tensor.shape
    if len(found) != len(shape) or found[:-1] != shape[:-1]:
        return False
    same_rows = shape[-1] <= found[-1] < shape[-1] + ROWS_PADDED_TO
    return same_rows and found.numel() == tensor.numel()


def is_outline_of_loss(call: Call, first: bool) -> bool:
    """Logarithms of probabilities, which cross_entropy saves twice: the second time its backward
    asks only what shape they have."""
    if call.name != "cross_entropy" or first:
        return False
    target = call.argument(1, "target", None)
    smooths = call.argument(7, "label_smoothing", 0.0)
    return isinstance(target, torch.Tensor) and not target.is_floating_point() and smooths == 0


def is_multiplied_in_attention(call: Call, tensor: torch.Tensor) -> bool:
    """What attention's backward is linear in: its values, its result, and where probabilities are
    saved, query and key, which are then scaled before. Otherwise these two are exponentiated. In
    multi-head attention the inputs only enter layers."""
    if call.name not in ATTENTION:
        return False
    inputs = [call.argument(place, name, None) for place, name in enumerate(QUERY_KEY_VALUE)]
    at = _address(tensor)
    same = [isinstance(each, torch.Tensor) and _address(each) == at for each in inputs]
    if any(same):
        return call.name == "multi_head_attention_forward" or not (same[0] or same[1])
    *_, made_by = (None, *origins(tensor))
    return made_by is not None and made_by.name().startswith(("ScaledDotProduct", "MulBackward"))


def _address(tensor: torch.Tensor) -> tuple[int, int]:
    """Where a tensor begins; on the device meta, too, where all addresses are 0."""
    if tensor.is_meta and tensor.layout is torch.strided:
        return tensor.untyped_storage()._cdata, tensor.storage_offset()
    return tensor.data_ptr(), 0


def _shape_of_rows(call: Call) -> torch.Size | None:
    """Batch, heads and queries of an attention that is at work."""
    query = call.argument(0, "query", None)
    if not isinstance(query, torch.Tensor):
        return None
    if call.name == "scaled_dot_product_attention":
        return query.shape[:-1]
    if call.name == "multi_head_attention_forward":  # queries first, and perhaps no batch
        batch = query.shape[1] if query.dim() == 3 else 1
        return torch.Size((batch, call.argument(4, "num_heads", 0), query.shape[0]))
    return None


def chooses(call: Call) -> bool:
    if call.name == "__getitem__":
        places = torch.utils._pytree.tree_leaves(call.args[1:])
        return any(isinstance(each, torch.Tensor) and each.dtype == torch.bool for each in places)
    return call.name in CHOOSING or (call.name == "where" and len(call.args) == 1)


def origins(tensor: torch.Tensor) -> Iterator[Any]:
    """The node that made a tensor, and as long as these only reshape, the node before it."""
    node = tensor.grad_fn
    while node is not None:
        yield node
        kind = type(node)
        reshapes = _RESHAPES.get(kind)
        if reshapes is None:
            if len(_RESHAPES) >= MOST_KNOWN:  # of functions that are made anew for each call
                _RESHAPES.clear()
            reshapes = _RESHAPES[kind] = node.name().removesuffix("Backward0") in RESHAPING
        if not reshapes:
            return
        node = node.next_functions[0][0]


_RESHAPES: dict[type, bool] = {}  # by the type of a node


def is_weight(call: Call, tensor: torch.Tensor) -> bool:
    """The weight of a layer, also where it is no parameter itself: normalized, or with an adapter.
    Its error would be the same for all of a batch, so it would not average out."""
    if call.name not in WEIGHT_AT and call.name not in RECURRENT:
        return False
    if call.name in RECURRENT and tensor.dim() == 1:  # all weights of a GPU's recurrent network
        return True
    return any(_is_made_of(tensor, weight) for weight in _weights_of(call))


def _weights_of(call: Call) -> list[torch.Tensor]:
    if call.name in RECURRENT:
        found = torch.utils._pytree.tree_leaves(call.args[RECURRENT_WEIGHTS_FROM:])
    elif call.name in WEIGHT_AT:
        found = [call.argument(*WEIGHT_AT[call.name], None)]
    else:
        found = []
    return [each for each in found if isinstance(each, torch.Tensor)]


def _is_made_of(tensor: torch.Tensor, weight: torch.Tensor) -> bool:
    made_by = weight.grad_fn
    same = weight.untyped_storage()._cdata == tensor.untyped_storage()._cdata
    return same or (made_by is not None and any(node is made_by for node in origins(tensor)))


def need_of(call: Call, tensor: torch.Tensor) -> Need:
    if not tensor.is_floating_point():
        return Need.VALUES
    if call.name in SIGN_ONLY:
        # A negative slope turns signs around in the result, which is what the in-place form saves.
        slope = call.argument(1, "negative_slope", 0.01) if "leaky" in call.name else 0.0
        return Need.SIGN if slope >= 0 else Need.VALUES
    if call.name in SHAPE_ONLY:
        return Need.SHAPE
    if limits_of(call) is not None and call.name not in SMOOTH_BETWEEN:
        return Need.INSIDE
    return Need.VALUES


class WatchedFunctions(TorchFunctionMode):
    """Knows the function of PyTorch that is running (`call`) and how many there were (`count`).
    `choosing` is the name of one that chose by values in a part of the network that is computed
    again in backward."""

    def __init__(self) -> None:
        super().__init__()
        self.call = NO_CALL
        self.count = 0
        self.choosing = ""
        # Told of functions that rebuildable.py names when they have run.
        self.on_rebuildable: Rebuildable | None = None

    @property
    def saving(self) -> Call:
        """What saves a tensor now, asked by the hook that autograd calls."""
        return self.call if self.call.name or not _checkpoint_saves() else CHECKPOINT

    @contextlib.contextmanager
    def inside_backward(self) -> Iterator[None]:
        """While a part of the network runs again: a mode does not see what backward calls."""
        outer, self.call = self.call, NO_CALL
        try:
            with self:
                yield
        finally:
            self.call = outer

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if torch.compiler.is_compiling():  # and traced into, which would break the graph
            return function(*args, **(kwargs or {}))
        known = _KNOWN.get(function) or _known(function)
        if known is ATTRIBUTE:
            return function(*args, **(kwargs or {}))
        name, may_choose, may_rebuild = known
        call = Call(name, args, kwargs or {})
        outer, self.call = self.call, call
        self.count += 1
        if may_choose and chooses(call) and _inside_checkpoint():
            self.choosing = name
        try:
            if LazyLogits in types:  # which has other functions compute, that are watched too
                with self:
                    return LazyLogits.__torch_function__(function, types, args, kwargs)
            result = function(*args, **call.kwargs)
            if may_rebuild and self.on_rebuildable is not None and torch.is_grad_enabled():
                with torch._C.DisableTorchFunction():
                    self.on_rebuildable(function, call, result)
            return result
        finally:
            self.call = outer


class Known(NamedTuple):
    """What there is to know of a function, whatever it is called with."""

    name: str
    may_choose: bool
    may_rebuild: bool


ATTRIBUTE = Known("", False, False)  # reading one, such as a tensor's shape
MOST_KNOWN = 4096
_KNOWN: dict[Callable[..., Any], Known] = {}


def _known(function: Callable[..., Any]) -> Known:
    name = _name_of(function)
    if name == "__get__":
        known = ATTRIBUTE
    else:
        choosing = name in CHOOSING or name in ("__getitem__", "where")
        known = Known(name, choosing, rebuildable.may_rebuild(name))
    if len(_KNOWN) >= MOST_KNOWN:  # of functions that are made anew for each call
        _KNOWN.clear()
    _KNOWN[function] = known
    return known


def _checkpoint_saves() -> bool:
    """Whether autograd's hook was called from torch.utils.checkpoint, which is not one of the
    functions that a mode sees."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != _CHECKPOINT_FILE:
        return False
    return frame.f_code.co_name in _CHECKPOINT_SAVES_IN


def _is_between(file: str) -> bool:
    """Whether frames of a file may lie between a hook and what saves a tensor."""
    return file.startswith(_OURS) or file == torch.autograd.function.__file__


def _inside_checkpoint() -> bool:
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != _CHECKPOINT_FILE:
        frame = frame.f_back
    return frame is not None


def _name_of(function: Callable[..., Any]) -> str:
    """Empty for functions that are neither PyTorch's nor ours, which may be called anything."""
    module = getattr(function, "__module__", None)
    if module is not None and not module.startswith(("torch", "tensorpress.torch")):
        return ""
    return getattr(function, "__name__", "")


def _pair(value: Any, axes: int, missing: int) -> Pair:
    numbers = tuple(value) if isinstance(value, (tuple, list, torch.Size)) else (value,)
    if len(numbers) < axes:
        numbers = numbers * axes
    return (missing, numbers[0]) if axes == 1 else (numbers[0], numbers[1])
