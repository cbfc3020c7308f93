"""Words and files of torch's source, of Python and of the logs themselves; what of a path is public."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

from tltui.model.kinds import all_kinds
from tltui.text.frozen import frozen

_FIRM = """
acc accessed adam adamw after allgather aot api args arguments asm aten attempt attention attrs autocast autograd autotune avg
backend backward before bfloat bounds break broadcast bucket buf build bundle bwd bypass bytecode bytes cache call cast cell
class closure cls codegen collective column comm commit compile compiled compiler compute config const constant content conv
cpp cpu cublas cuda cuda_graph cudagraph cudagraphs debug def default dict distributed double dump dynamic dynamo eager
encoding entire entry enum envs epilogue error eval event export expr extern fail fake false file first flag flags flash frame
func function functional functions functorch fused fusion fwd gemm get global globals gpu graph graphs guard guards half
handle hash heads helper hidden hint hit hooks idx inductor inf inference inline iter joint json kernel kernels keys kind
kwargs kwonly label lambda last layer layernorm len load loc local locals lock logging logs long loop loss lowering main make
manager map masked mem memory method metrics miss missing mod model models mse multi native nested net new next nll node nodes
none not num numpy obj object optim optimize option outputs overlap package param parameter partition pass passes patch
pattern pid placeholder point pool pos position post pre precision prim prims print process profile property proxy python
reason recompile record ref region replay repro reset results return rms rng run runnable runtime safe sample save schedule
scheduler scope script seq sequence sequential set setup shapes span starts static stats storage strides string struct submod
super sym symbol symbolic symint table tag tags tangents test time timestamp title token tokens top torch transform
transformer triton true tuple types uint unbacked unit unpack use util utils val variable variables version views void wait
weak wrapped wrapper write xnumel xpu zero
cell_contents listcomp genexpr dictcomp setcomp default_factory
"""
"""Words of graphs, guards and generated code that stay even where the user has something of that name."""

_PACKAGES = """
torch torchvision torchaudio torchtext torchao torchtune torchrec torchgen functorch triton numpy scipy sympy mpmath
networkx transformers vllm diffusers accelerate deepspeed flash_attn xformers einops pytest peft timm lightning pytorch_lightning
safetensors tokenizers datasets huggingface_hub jax pandas
"""
PUBLIC = frozenset(_PACKAGES.split())
"""Packages that everybody knows: their names stay. What is in them stays of `TRUSTED` only."""
TRUSTED = frozenset({"torch", "torchgen", "functorch", "triton", "sympy", "numpy"})

_MORE = """
CPU CUDA MPS XPU HPU MTIA PrivateUse1 Meta AutogradCPU AutogradCUDA AutogradMeta AutogradOther AutogradFunctionality
ADInplaceOrView AutocastCPU AutocastCUDA BackendSelect Functionalize Python PythonTLSSnapshot PythonDispatcher Dense Conjugate
Negative ZeroTensor Batched VmapMode FuncTorchBatched FuncTorchGradWrapper FuncTorchDynamicLayerFrontMode
FuncTorchDynamicLayerBackMode CatchAll Undefined Quantized Sparse SparseCsr NestedTensor Tracer PreDispatch PyInterpreter
DispatchKeySet DispatchKey mismatch expected actual rank size stride index requires_grad device dtype global state changed
grad_mode autocast enabled LAMBDA_GUARD DIMENSION DIMENSION_DYNAMIC_MARKING_GUARD NO_HASATTR LENGTH_CHECK DICT_LENGTH
FALSE_MATCH TRUE_MATCH NOT_NONE OBJECT_ALIASING DYNAMIC_INDICES DUAL_LEVEL_MATCH STORAGE_OVERLAPPING SYMBOLIC_SHAPE_GUARD
RELATIONAL_GUARD framelocals framelocals_idx deterministic_algorithms deterministic_algorithms_warn_only
deterministic_algorithms_settings allow_bf16_reduce allow_fp16_reduce autocast_state cached_enabled
torch_function_all_disabled dispatch_mode requires_subclass_dispatch local_cache_enabled remote_cache_enabled
precompile_enabled fx_graph_cache_disabled autograd_cache_disabled autograd_config create_proxy_time_s get_fake_value_time_s
variable_builder_call_time_s missing_dynamic_whitelist recompile_dynamic_whitelist int_oo zuf cpp_prefix csrc currentframe
Provenance strided contiguous_format preserve_format settings users symints env_str children_spec CreationMeta stringstream
cerr third_party inductor dynamo functorch cubin isn doesn aren won wasn _nn _VF _C _VariableFunctions _custom_partitioner_fn
inductor_config_comms inner_f Clang GCC Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec main default compile_range_end
compile_range_start compile_ranges_split_points compile_sizes cudagraph_mode custom_ops enabled_passes
dynamic_shapes_evaluate_guards dynamic_shapes_type inductor_passes is_cudagraph_capture_size is_single_size piecewise_index
prefix splitting_ops submod_name total_piecewise_compiles use_inductor_graph_partition fresh_compile aot_cache_hit
CompilationMode VLLM_COMPILE CUDAGraphMode PIECEWISE DynamicShapesType BACKED document edit usp sharing
1HSuTTVvYH1pTew89Rtpeu84Ht3nQEFTYhAX3Ypa_xJs constrain OMP_NUM_THREADS HOSTNAME TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT
TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_USE_AGENT_STORE TORCHELASTIC_ERROR_FILE TORCHELASTIC_SIGNALS_TO_HANDLE
TORCH_NCCL_ASYNC_ERROR_HANDLING SIGTERM SIGINT SIGHUP SIGQUIT WORLD_SIZE LOCAL_RANK GROUP_RANK ABCMeta ProcessGroup Reducer
MOD_SKIPLIST _TorchCompileInductorWrapper select_decomp_table all_gather_single all_gather_tensor all_reduce
reduce_scatter_single reduce_scatter_tensor all_to_all_single cache_size_bytes call_module fma fmt
"""
"""Written by torch in C++ or by vLLM, or put together from parts: not in the source of torch's package as they stand."""

_WORD = re.compile(r"[A-Za-z]\w*")
COUNTED = re.compile(r"(?:(?<!\d)\d{1,5})?(?:_\d{1,5}){0,8}_?$")
"""The number of a name: `buf12`, `add_3`. `tools/torch_words.py` removes it too."""
NUMBER = re.compile(r"\d[\d_]*(?:[eE]\d*|[a-zA-Z]{1,3}|(?:x\d+)+)?|0[xX][0-9a-fA-F]{1,16}|anon\d+")
"""A number, also with a unit; and what was put in the place of something already."""

SCHEDULED = re.compile(r"op\d{1,6}(?:_op\d{1,6})*(?:_loop_body)?")
"""A node of Inductor's scheduler: `op0`; fused ones have the names of all (`op0_op2`)."""


@frozen
class Vocabulary:
    """Torch's words, by where they may stand."""

    firm: frozenset[str]
    """Torch's wherever they stand: operators, members of its modules, arguments of its functions; words of Python."""
    names: frozenset[str]
    """Torch's unless the user is known to have something of that name."""
    prose: frozenset[str]
    """Torch's within sentences."""
    files: frozenset[str]
    """Its source files, `torch/nn/modules/linear.py`."""
    tails: frozenset[str]
    """Ends of these of at least two parts, as guards name files."""
    file_names: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """Return the words of torch's source, which are read once."""
    packed = (Path(__file__).parent / "torch_words.z").read_bytes()
    operators, names, prose, files = unpacked(packed)
    firm = {*operators, *_FIRM.split(), *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_members()}
    firm.update(word for kind in all_kinds() for word in _WORD.findall(kind.name))
    tails = {path.split("/", n)[-1] for path in files for n in range(1, path.count("/"))}
    more = {*names, *_MORE.split(), *PUBLIC, *sys.stdlib_module_names}
    return Vocabulary(
        frozenset(firm), frozenset(more), frozenset(prose), frozenset(files), frozenset(tails | set(files)),
        frozenset(path.rpartition("/")[2] for path in files),
    )  # fmt: skip


def _members() -> set[str]:
    """Return the attributes of Python's built-in types: `append`, `items`."""
    return {name for kind in (str, list, dict, set, int, float, tuple, BaseException) for name in dir(kind)}


def unpacked(packed: bytes) -> list[list[str]]:
    """Decompress the lists of a file that `tools/torch_words.py` wrote."""
    return [_lines(part) for part in zlib.decompress(packed).decode().split("\n\n")]


def _lines(coded: str) -> list[str]:
    """Decode lines whose first letter is the length of the prefix that they share with the previous line."""
    before, out = "", []
    for line in coded.split("\n") if coded else ():
        before = before[: ord(line[0]) - 33] + line[1:]
        out.append(before)
    return out


@lru_cache(maxsize=1 << 16)
def is_firm(word: str) -> bool:
    """Return whether a word is torch's or Python's in any place, or no word: two letters, a number, a node of the scheduler."""
    return len(word) <= 2 or _has_word(word, vocabulary().firm) or (
        NUMBER.fullmatch(word) is not None or SCHEDULED.fullmatch(word) is not None
    )


@lru_cache(maxsize=1 << 16)
def is_name(word: str) -> bool:
    """Return whether torch has an object of this name."""
    return is_firm(word) or _has_word(word, vocabulary().names)


def is_word(word: str) -> bool:
    """Return whether torch's messages have this word."""
    words = vocabulary()
    return is_name(word) or word in words.prose or word.lower() in words.prose or word.lower() in words.names


def _has_word(word: str, words: frozenset[str]) -> bool:
    """Return whether a word, with or without its number, is one of `words`."""
    if word in words:
        return True
    base = COUNTED.sub("", word)
    return base != word and (base in words or (len(base) <= 2 and len(word) <= 6))


SPLIT = re.compile(r"([/\\]+)")
FILE = re.compile(
    r"py[cix]?|ipynb|cpp|cc|cxx|cu|cuh|hpp|[cho]|log|ya?ml|json|toml|txt|sh|pth?|pt2|so|gz|zip|pkl|bin|safetensors|ptx|cubin|best_config"
)
"""Suffixes of files. Any other suffix belongs to the name."""
_PACKAGED = re.compile(r"(?:^|.*[/\\])(?:site|dist)-packages[/\\]+([\w\-]+)")
_STDLIB = re.compile(r"(?:^|.*[/\\])python\d[\w.]*[/\\]+([A-Za-z_]\w*)(?=[/\\.])")
_TORCH = re.compile(r"(?:^|.*[/\\])(torch[/\\].*)")
_GENERATED = re.compile(r"<(?:eval_with_key>\.\d+|string>|stdin>|frozen [\w.]+>|unknown file>|built-in>)")
_PUBLIC_PARTS = re.compile(
    r"lib(?:32|64)?|python\d[\d.]*|(?:site|dist)-packages|usr|opt|bin|home|Users|tmp|private|var|dev|proc|self|etc|null|local|share"
    r"|include|\.+|~|[A-Za-z]:"
)
"""Directories that every machine has."""
_CACHE = "torchinductor_"
_WITHIN = "nn optim fx utils autograd distributed export jit cuda amp func ao testing _dynamo _inductor _functorch _export"
_SUBPACKAGES = frozenset(_WITHIN.split())
"""Subpackages of torch by which its files are distinguished from the user's."""


def is_public(path: str) -> bool:
    """Return whether a file belongs to torch, to a package that torch is built on, or to Python: its lines are no secret."""
    return _public_from(path) is not None


def _public_from(path: str) -> int | None:
    """Return the index in a path at which the part of torch or Python begins; None if it has none."""
    if path.startswith("<"):
        return 0 if _GENERATED.fullmatch(path) else None
    if match := _PACKAGED.match(path):
        return match.start(1) if match[1] in TRUSTED else None
    if match := _STDLIB.match(path):
        return match.start(1) if match[1] in sys.stdlib_module_names else None
    match = _TORCH.match(path)
    return match.start(1) if match and match[1].replace("\\", "/") in vocabulary().files else None


def is_torch_tail(path: str) -> bool:
    """Return whether a path without its beginning, as guards have it, can be torch's."""
    return path.replace("\\", "/") in vocabulary().tails


def tail(path: str) -> str:
    """Return the last two parts of a path: the file and its directory."""
    return "/".join(parts_of(path)[-2:])


def parts_of(path: str) -> list[str]:
    """Return the parts of a path."""
    return [part for part in SPLIT.split(path) if part and not SPLIT.fullmatch(part)]


def ending(name: str) -> tuple[str, str]:
    """Split a file's name into stem and suffix, `('x', '.py')`; a name without a known suffix is `(name, '')`."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if stem and FILE.fullmatch(suffix) else (name, "")


def replaced(path: str, anon: Callable[[str], str]) -> str:
    """Replace the parts of a path by `anon`, except those of torch or Python."""
    start = _public_from(path)
    out = []
    pieces = SPLIT.split(path if start is None else path[:start])
    before = ""
    cached = False
    for number, piece in enumerate(pieces):
        if not piece or SPLIT.fullmatch(piece):
            out.append(piece)
            continue
        after = pieces[number + 2] if number + 2 < len(pieces) else ""
        out.append(_part(piece, before, after, anon, cached))
        before = piece
        cached = cached or piece.startswith(_CACHE)
    return "".join(out) + ("" if start is None else path[start:])


def _part(piece: str, before: str, after: str, anon: Callable[[str], str], cached: bool) -> str:
    """Replace one part of a path between two others; `cached`: within Inductor's cache."""
    stem, suffix = ending(piece)
    if _PUBLIC_PARTS.fullmatch(piece) or piece.isdigit() or (cached and len(stem) <= 2):
        return piece
    if before.endswith("-packages") and stem in PUBLIC:
        return piece
    if (piece == "torch" and after in _SUBPACKAGES) or (before == "torch" and piece in _SUBPACKAGES):
        return piece  # a checkout of torch, of an unknown version
    if piece.startswith(_CACHE):
        return _CACHE + anon(piece.removeprefix(_CACHE))
    return anon(stem) + suffix
