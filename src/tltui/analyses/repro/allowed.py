"""What a graph may call: functions of torch that compute with tensors.

`allowed_names.py` has the names; `tools/repro_names.py` makes it from the graphs of real traces and from what torch documents, and
leaves out each name that takes an address, a storage, a file or code, or that skips a bounds check. A name outside of the list is
refused: a trace could spell `torch.os.system`, `torch.load` or `torch.ops.aten.from_file` as well.
"""

from __future__ import annotations

from tltui.analyses.repro.allowed_names import ATEN, FUNCTIONS, METHODS, OVERLOADS, PRIMS

_MODULES = (
    "torch torch.functional torch.nn.functional torch.fft torch.linalg torch.special torch.Tensor torch._tensor.Tensor "
    "torch._C._nn torch._C._fft torch._C._linalg torch._C._special torch._VF torch._C.TensorBase "
    "torch._C._VariableFunctions torch._C._TensorBase"
)
MODULES = frozenset(_MODULES.split())
"""Modules and classes of torch whose functions have the names of the list."""

_OTHERS = (
    "torch._C._set_grad_enabled torch.set_grad_enabled torch.is_grad_enabled torch.amp.autocast_mode._enter_autocast "
    "torch.amp.autocast_mode._exit_autocast torch.amp._enter_autocast torch.amp._exit_autocast "
    "torch._prims.convert_element_type torch.Size torch.is_tensor torch._assert torch.autograd.function.FunctionCtx "
    "torch._C._log_api_usage_once"
)
OTHERS = frozenset(_OTHERS.split())
"""Paths outside of these modules that Dynamo writes into graphs."""

_REGIONS = (
    "cond while_loop scan associative_scan map map_impl wrap wrap_activation_checkpoint tag_activation_checkpoint checkpoint "
    "autograd_function_apply wrap_with_set_grad_enabled wrap_with_autocast invoke_subgraph"
)
REGIONS = frozenset(_REGIONS.split())
"""`torch.ops.higher_order`: what takes parts of the graph as an argument."""

_OPERATOR = (
    "abs add and_ concat contains eq floordiv ge getitem gt iadd iand ifloordiv imatmul imod imul index inv invert ior "
    "irshift is_ is_not isub itruediv ixor le lt matmul mod mul ne neg not_ or_ pos rshift setitem sub truediv truth xor"
)
OPERATOR = frozenset(_OPERATOR.split())
_MATH = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs floor fmod gamma hypot isfinite "
    "isinf isnan isqrt lgamma log log10 log1p log2 pow prod radians sin sinh sqrt tan tanh trunc"
)
MATH = frozenset(_MATH.split())
_BUILTIN = "abs bool float int len max min round slice sum tuple list"
BUILTIN = frozenset(_BUILTIN.split())
"""`getattr` is none of them: see `checking.py`."""

_ATTRIBUTES = (
    "shape dtype device layout grad T mT H mH real imag ndim requires_grad itemsize nbytes is_cuda is_sparse is_nested "
    "is_quantized is_leaf names values indices"
)
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
"""Of a value; the last two of what `max`, `sort` and `topk` return. `data` is none of them: a change of `x.data` escapes the check
that autograd makes of the tensors that it saved."""

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "c32": "complex32", "c64": "complex64", "c128": "complex128",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "b8": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64",
}  # fmt: skip
"""As torch abbreviates them in graphs (`torch/utils/_dtype_abbrs.py`)."""
ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16"}
CONSTANTS = frozenset(
    (*DTYPES.values(), *ALIASES, "strided", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "inf",
     "nan", "pi", "e")
)  # fmt: skip
"""`torch.X` that is a value. Layouts other than `strided` are none: nobody checks the indices of a sparse tensor."""
KEYWORDS = frozenset(("out", "generator", "check_invariants", "unsafe", "sparse", "pin_memory"))
"""Keywords that no graph may give, except as None or False: `out=` resizes a tensor that others share."""

_METHOD_DUNDERS = (
    "__getitem__ __setitem__ __add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __matmul__ __and__ __or__ __xor__ "
    "__rshift__ __radd__ __rsub__ __rmul__ __rtruediv__ __rmod__ __rfloordiv__ __iadd__ __isub__ __imul__ "
    "__itruediv__ __iand__ __ior__ __ixor__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__ __bool__ "
    "__int__ __float__ __len__ __contains__ __index__"
)
METHOD_DUNDERS = frozenset(_METHOD_DUNDERS.split())
_IN_PLACE_FUNCTIONS = (
    "iadd iand ifloordiv imatmul imod imul ior irshift isub itruediv ixor setitem __setitem__ __iadd__ __isub__ __imul__ "
    "__itruediv__ __iand__ __ior__ __ixor__"
)
IN_PLACE_FUNCTIONS = frozenset(_IN_PLACE_FUNCTIONS.split())
"""Functions that change their first argument and whose name does not end with `_`."""
RANDOM = (
    "rand", "bernoulli", "multinomial", "normal", "dropout", "uniform_", "exponential_", "cauchy_", "geometric_", "poisson",
    "rrelu", "scaled_dot_product",
)  # fmt: skip
"""What the name of an operation has that draws random numbers, or may."""


class Refused(Exception):
    """Why there is no script of a graph: a clause for people."""


def refusal(path: str) -> str:
    """Explain why a dotted path that begins with `torch.` may not be called; '' when it may."""
    if path in OTHERS:
        return ""
    module, _, name = path.rpartition(".")
    if path.startswith("torch.ops."):
        return _operator(path.split(".")[2:])
    if module in MODULES and (is_method(name) if "Tensor" in module else name in FUNCTIONS):
        return ""
    if ".distributed" in path or "c10d" in path:
        return f"{path} needs the other ranks of the job"
    return f"{path} is no function of torch that tltui allows in a script"


def is_method(name: str) -> bool:
    """Whether a graph may call this method of a tensor."""
    return name in METHODS or name in METHOD_DUNDERS


def is_in_place(path: str) -> bool:
    """Whether a call of this path changes its first argument."""
    parts = path.split(".")
    name = parts[3] if path.startswith("torch.ops.") and len(parts) > 3 else parts[-1]
    is_python = name in OPERATOR or name.endswith("__")
    return name in IN_PLACE_FUNCTIONS or (name.endswith("_") and not is_python)


def _operator(parts: list[str]) -> str:
    """Explain the same for what follows `torch.ops.`."""
    space, name = parts[0], parts[1] if len(parts) > 1 else ""
    if len(parts) > 3 or not name:
        return f"torch.ops.{'.'.join(parts)} is no operator"
    if space == "higher_order":
        if name.startswith("triton_kernel_wrapper"):
            return f"it runs a Triton kernel of the job's own ({name}), whose code no graph has"
        return "" if name in REGIONS and len(parts) == 2 else f"torch.ops.higher_order.{name} needs more than the graph has"
    if "c10d" in space or space in ("symm_mem", "_dtensor", "fsdp"):
        return f"torch.ops.{space}.{name} needs the other ranks of the job"
    if space in ("aten", "prims"):
        if len(parts) > 2 and parts[2] not in OVERLOADS:
            return f"torch.ops.{space}.{name}.{parts[2]} is an overload that tltui does not allow in a script"
        allowed = ATEN if space == "aten" else PRIMS
        return "" if name in allowed else f"torch.ops.{space}.{name} is no operator that tltui allows in a script"
    if space == "inductor":
        return f"torch.ops.inductor.{name} is no operator that tltui allows in a script"
    return f"torch.ops.{space}.{name} is an operator of the job's own; its code is not in the trace"
