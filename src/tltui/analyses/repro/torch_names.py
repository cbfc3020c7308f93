"""What a graph may call: names of torch that are nothing but arithmetic on tensors.

`torch_functions.txt` is made by `tools/torch_functions.py` from torch itself. Of `torch.` and `torch.ops.` a name that is not in it
is refused: a trace could spell `torch.os.system`, `torch.load` or `torch.ops.aten.from_file` as well.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_MODULES = (
    "torch torch.functional torch.nn.functional torch.fft torch.linalg torch.special torch.Tensor torch._tensor.Tensor "
    "torch._C._nn torch._C._fft torch._C._linalg torch._C._special torch._C._sparse torch._C._nested torch._VF torch._C.TensorBase "
    "torch._C._VariableFunctions torch._C._TensorBase"
)
MODULES = frozenset(_MODULES.split())
"""Where functions of torch stand."""

_OTHERS = (
    "torch._C._set_grad_enabled torch.set_grad_enabled torch.is_grad_enabled torch.amp.autocast_mode._enter_autocast "
    "torch.amp.autocast_mode._exit_autocast torch.amp._enter_autocast torch.amp._exit_autocast "
    "torch._functorch.predispatch.lazy_load_decompositions torch._functorch.vmap.lazy_load_decompositions "
    "torch._C._autograd._saved_tensors_hooks_disable torch._C._autograd._saved_tensors_hooks_enable "
    "torch._functorch.eager_transforms._set_tensor_requires_grad torch._functorch.eager_transforms._autograd_grad "
    "torch._functorch.eager_transforms._jvp_treespec_compare torch._functorch.eager_transforms._vjp_treespec_compare "
    "torch._C._functorch.set_inplace_requires_grad_allowed torch._prims.convert_element_type torch._prims_common.dtype_to_type "
    "torch.Size torch.is_tensor torch._assert torch.autograd.function.FunctionCtx torch._C._log_api_usage_once"
)
OTHERS = frozenset(_OTHERS.split())

_NESTING = (
    "_vmap_increment_nesting _vmap_decrement_nesting _add_batch_dim _remove_batch_dim _grad_increment_nesting "
    "_grad_decrement_nesting _wrap_for_grad _unwrap_for_grad _jvp_increment_nesting _jvp_decrement_nesting get_unwrapped"
)
NESTING = frozenset(_NESTING.split())
"""What `torch.vmap` and `torch.func` do, in the two modules that have it."""

_REGIONS = (
    "cond while_loop scan associative_scan map map_impl wrap wrap_activation_checkpoint tag_activation_checkpoint checkpoint "
    "autograd_function_apply wrap_with_set_grad_enabled wrap_with_autocast invoke_subgraph "
    "out_dtype auto_functionalized auto_functionalized_v2 strict_mode hints_wrapper with_effects "
    "run_and_save_rng_state run_with_rng_state foreach_map base_hop"
)
REGIONS = frozenset(_REGIONS.split())
"""`torch.ops.higher_order`: what takes parts of the graph as an argument."""

_OPERATOR = (
    "abs add and_ concat contains eq floordiv ge getitem gt iadd iand ifloordiv ilshift imatmul imod imul index inv invert ior "
    "ipow irshift is_ is_not isub itruediv ixor le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv "
    "truth xor"
)
OPERATOR = frozenset(_OPERATOR.split())
_MATH = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs floor fmod gamma hypot isfinite "
    "isinf isnan isqrt lgamma log log10 log1p log2 pow prod radians sin sinh sqrt tan tanh trunc"
)
MATH = frozenset(_MATH.split())
_BUILTIN = (
    "abs bool float int len max min pow round slice sum tuple list"
)
BUILTIN = frozenset(_BUILTIN.split())
"""`getattr` is none of them: see `whitelist.py`."""

_ATTRIBUTES = (
    "shape dtype device layout grad data T mT H mH real imag ndim requires_grad itemsize nbytes is_cuda is_sparse is_nested "
    "is_quantized is_leaf names values indices"
)
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
"""Of a value; the last two of what `max`, `sort` and `topk` return."""

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "c32": "complex32", "c64": "complex64", "c128": "complex128",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "b8": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64",
}  # fmt: skip
"""As torch abbreviates them in graphs (`torch/utils/_dtype_abbrs.py`)."""
ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16"}
CONSTANTS = frozenset(
    (*DTYPES.values(), *ALIASES, "strided", "sparse_coo", "sparse_csr", "jagged", "contiguous_format", "preserve_format",
     "channels_last", "channels_last_3d", "per_tensor_affine", "inf", "nan", "pi", "e")
)  # fmt: skip
"""`torch.X` that is a value."""

_METHOD_DUNDERS = (
    "__getitem__ __setitem__ __add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __matmul__ __and__ __or__ __xor__ "
    "__lshift__ __rshift__ __radd__ __rsub__ __rmul__ __rtruediv__ __rpow__ __rmod__ __rfloordiv__ __iadd__ __isub__ __imul__ "
    "__itruediv__ __iand__ __ior__ __ixor__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__ __bool__ "
    "__int__ __float__ __len__ __contains__ __index__"
)
METHOD_DUNDERS = frozenset(_METHOD_DUNDERS.split())
RANDOM = (
    "rand", "bernoulli", "multinomial", "normal", "dropout", "uniform_", "exponential_", "cauchy_", "geometric_", "poisson",
    "rrelu", "scaled_dot_product",
)  # fmt: skip
"""What the name of an operation has that draws random numbers, or may."""


@cache
def known() -> dict[str, frozenset[str]]:
    """Section (`functions`, `methods`, `aten`, `prims`, `inductor`) → names."""
    text = files(__package__).joinpath("torch_functions.txt").read_text("ascii")
    return {section: frozenset(names.split()) for section, _, names in (line.partition(": ") for line in text.splitlines())}


def refusal(path: str) -> str:
    """Why a dotted path that begins with `torch.` may not be called, '' when it may."""
    if path in OTHERS:
        return ""
    module, _, name = path.rpartition(".")
    if path.startswith("torch.ops."):
        return _operator(path.split(".")[2:])
    if module in MODULES and (name in known()["functions"] or ("Tensor" in module and is_method(name))):
        return ""
    if module in ("torch._functorch.predispatch", "torch._C._functorch") and name in NESTING:
        return ""
    if ".distributed" in path or "c10d" in path:
        return f"{path} needs the other ranks of the job"
    return f"{path} is no function of torch that tltui knows to be arithmetic"


def is_method(name: str) -> bool:
    """Whether a tensor may be asked for it."""
    return name in known()["methods"] or name in METHOD_DUNDERS


def _operator(parts: list[str]) -> str:
    """The same for what stands behind `torch.ops.`."""
    space, name = parts[0], parts[1] if len(parts) > 1 else ""
    if len(parts) > 3 or not name:
        return f"torch.ops.{'.'.join(parts)} is no operator"
    if space == "higher_order":
        if name.startswith("triton_kernel_wrapper"):
            return f"it runs a Triton kernel of the job's own ({name}), whose code no graph has"
        return "" if name in REGIONS and len(parts) == 2 else f"torch.ops.higher_order.{name} needs more than the graph has"
    if "c10d" in space or space in ("symm_mem", "_dtensor", "fsdp"):
        return f"torch.ops.{space}.{name} needs the other ranks of the job"
    if space in ("aten", "prims", "inductor"):
        return "" if name in known()[space] else f"torch.ops.{space}.{name} is no operator that tltui knows"
    return f"torch.ops.{space}.{name} is an operator of the job's own; its code is not in the trace"
