"""Names that torch generates: owners of source files, resume functions, module paths of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern

_GRAPH_BREAK = lazy_pattern("gb[0-9]{3,6}", re.ASCII)
_GRAPH_BREAK_SITE = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"
_GRAPH_BREAK_PAGE = lazy_pattern(re.escape(_GRAPH_BREAK_SITE) + _GRAPH_BREAK.pattern + r"\.html", re.ASCII)


def graph_break_page(number: str | None) -> str:
    """Return the address of torch's page about a kind of graph break, `gb0059`; '' for any other text."""
    return f"{_GRAPH_BREAK_SITE}{number}.html" if number and _GRAPH_BREAK.fullmatch(number) else ""


def is_graph_break_page(target: str) -> bool:
    """Decide whether a link leads to torch's page about a kind of graph break: the only web address that pages link."""
    return _GRAPH_BREAK_PAGE.fullmatch(target) is not None


class Owner(Enum):
    """The author of a file, ordered by how useful its lines are to the user."""

    USER = "your"
    LIBRARY = "a library's"
    PYTHON = "Python's own"
    TORCH = "torch's own"

    @property
    def rank(self) -> int:
        """The sort rank: 0 for user code, higher for less useful files."""
        return _RANKS[self]

    @property
    def word(self) -> str:
        """As JSON has it: one of `WORDS`."""
        return WORDS[self.rank]


_RANKS = {owner: number for number, owner in enumerate(Owner)}
WORDS = ("own", "library", "python", "torch")
"""What JSON calls the owners, in the same order."""
_TORCH = lazy_pattern(
    r"/(?:site|dist)-packages/(?:torch|functorch|torchgen)/|^<eval_with_key>|/torchinductor_[^/]+/|/inductor_cache/"
    # a checkout, or a packaged program; the second: as torch shortens its own paths in the comments of guards
    r"|(?:^|/)torch/(?:_|(?:nn|optim|fx|utils|autograd|distributed|distributions|export|jit|cuda|amp|func|ao|testing|compiler"
    r"|library|linalg|fft|special|sparse|nested|masked|profiler|multiprocessing|onnx|package|backends|futures|mps|xpu"
    r"|accelerator|quantization|signal|functional\.py|overrides\.py|library\.py|random\.py|serialization\.py|storage\.py)(?:/|$))"
    r"|^_(?:dynamo|inductor|functorch|subclasses|prims|prims_common|refs|higher_order_ops|decomp|export|library|logging)/"
    r"|^_(?:ops|tensor|compile|guards|utils|utils_internal)\.py$|^nn/(?:modules/|parallel/|functional\.py$)|^fx/experimental/"
)
_LIBRARY = lazy_pattern(r"/(?:site|dist)-packages/|/torch_(?:compile_cache|aot_compile)/")
"""Packages, and code that vLLM writes into its cache (`vllm/compilation`)."""
_RUNNER = lazy_pattern(
    r"/(?:site|dist)-packages/(?:_pytest|pytest|pluggy|xdist|pytest_\w+)(?:\.py)?(?:/|$)"
    r"|/python3[.\d]*/(?:unittest/|runpy\.py$)|/Python3\d+/Lib/(?:unittest/|runpy\.py$)|^<frozen runpy>$"
)
"""What runs a test or a module: pytest with its plugins, unittest, runpy."""
_PYTHON = lazy_pattern(r"^<frozen|^<string>|/lib(?:64)?/python3[.\d]*/|/Python3\d+/Lib/")


@lru_cache(maxsize=8192)
def owner_of(path: str) -> Owner:
    """Who wrote a source file."""
    path = path.replace("\\", "/")
    if _TORCH.search(path):
        return Owner.TORCH
    if _LIBRARY.search(path):
        return Owner.LIBRARY
    return Owner.PYTHON if _PYTHON.search(path) else Owner.USER


@lru_cache(maxsize=8192)
def is_runner(path: str) -> bool:
    """Whether a file is one of pytest, its plugins, unittest or runpy."""
    return _RUNNER.search(path.replace("\\", "/")) is not None


def is_framework(path: str) -> bool:
    """Whether a file is none of the user's own."""
    return owner_of(path) is not Owner.USER


PREFIX = "torch_dynamo_resume_in_"
MARK, ASCII_MARK = "↩", "<-"
RESUMED = f"f {MARK}5 is the code of f after the graph break at line 5"
_NAME = lazy_pattern(rf"(?<!\w){PREFIX}(<\w+>|\w+)_at_(\d+)(?!\w)")
_SHORT = lazy_pattern(rf"(?<!\w)(<\w+>|\w+) ?(?:{MARK}|{ASCII_MARK})(\d+)(?!\w)")
_TYPED = lazy_pattern(
    r"(?<![\w\\\[])(?:torch_dynamo_resume|(?:torch_dynamo_)?resume_in(?:_(\w*?)(?:_at(?:_(\d+))?)?)?)(?!\w)", re.IGNORECASE
)
"""What a pattern may have of such a name: all of it, or its beginning, with or without `torch_dynamo_`."""


def short(text: str, ascii_only: bool = False) -> str:
    """`text` with the functions in it called in short. Idempotent; a longer name that begins so (an artifact's) stays."""
    if PREFIX not in text:
        return text
    mark = ASCII_MARK if ascii_only else MARK

    def called(match: re.Match[str]) -> str:
        return f"{short(match[1], ascii_only)} {mark}{match[2]}"

    return _NAME.sub(called, text)


def both(text: str) -> str:
    """Return the short form of `text`, followed by torch's spelling if it differs, so that a search matches either."""
    shown = short(text)
    return text if shown is text else f"{shown} {text}"


def in_payloads(pattern: str) -> str:
    """Return a regular expression that also matches torch's names of functions that `pattern` names in short."""
    if MARK not in pattern and ASCII_MARK not in pattern:
        return pattern
    return _SHORT.sub(lambda match: f"(?:{PREFIX}{match[1]}_at_{match[2]}|{match[1]} (?:{MARK}|{ASCII_MARK}){match[2]})", pattern)


def either(pattern: str) -> str:
    """Return a regular expression that also matches the other name of each function in `pattern`."""
    return _TYPED.sub(_typed, in_payloads(pattern)) if "resume" in pattern.lower() else in_payloads(pattern)


def _typed(match: re.Match[str]) -> str:
    name, line = match[1] or "", match[2] or ""
    return f"(?:{match[0]}|{name}{' ' if name else ''}(?:{MARK}|{ASCII_MARK}){line})"


WRAPPERS = frozenset((
    "_orig_mod", "orig_mod", "_fsdp_wrapped_module", "fsdp_wrapped_module", "_checkpoint_wrapped_module",
    "checkpoint_wrapped_module",
))  # fmt: skip
"""Modules that wrap another one and are not the model's."""
_MARKED = lazy_pattern(r"^[lLgG]_(?P<root>\w+?)_(?P<rest>(?:modules|parameters|buffers)_\w+)$")
_ATTRIBUTE = lazy_pattern(r"^(?P<number>\d{1,9})_(?P<name>[A-Za-z]\w*)$")
"""A tensor that is an attribute of a module in a list, neither parameter nor buffer."""
_OLD = lazy_pattern(r"^(?:L__self___|l__self___)(?P<rest>\w+)$")
_EXPORTED = lazy_pattern(r"^(?:p|b)_(?P<rest>\w+)$")


@frozen
class Parameter:
    """A parameter or buffer that a graph reads."""

    root: str
    """The variable that holds the outermost module: `self`, `model`; '' where names do not say."""
    path: tuple[str, ...]
    """The module that owns it."""
    name: str
    """`weight`; '' where that cannot be told from the path."""


DICTIONARY = "_dict"
"""End of the root of a module whose class has a `__getattr__` that reads `__dict__["_modules"]`, like the models of diffusers."""


def parameter_of(name: str, exported: bool = False) -> Parameter | None:
    """Return the parameter behind an input or attribute of a graph, None for any other name."""
    name = name.removeprefix("self.")
    if match := _MARKED.match(name):
        root, tail = match["root"].removesuffix(DICTIONARY), "_" + match["rest"]
        modules, marker, leaf = _last_cut(tail)
        parts = tuple(part for part in modules.split("_modules_") if part)
        parts = tuple(number if (number := part.removesuffix(DICTIONARY)).isdecimal() else part for part in parts)
        if not marker and parts and (attribute := _ATTRIBUTE.match(parts[-1])):
            parts, leaf = (*parts[:-1], attribute["number"]), attribute["name"]
        return Parameter(root, unwrapped(parts), leaf.rstrip("_").removesuffix("__1"))
    if "." in name:  # an attribute of the graph, as export and AOTInductor have them: `layers.0.fc.weight`
        *path, last = name.split(".")
        return Parameter("", unwrapped(tuple(path)), last)
    if match := _OLD.match(name):
        return Parameter("", _by_numbers(match["rest"]), "")
    if exported and (match := _EXPORTED.match(name)):
        return Parameter("", _by_numbers(match["rest"]), "")
    return None


def _last_cut(text: str) -> tuple[str, str, str]:
    """Modules, marker and name of a parameter: the last marker counts, of a module can hold `_parameters_` too."""
    at = max(text.rfind("_parameters_"), text.rfind("_buffers_"))
    if at < 0:
        return text, "", ""
    marker = "_parameters_" if text.startswith("_parameters_", at) else "_buffers_"
    return text[:at], marker, text[at + len(marker) :]


def _by_numbers(flat: str) -> tuple[str, ...]:
    """Split `layers_0_self_attn_weight` into `layers`, `0`, `self_attn`; the part after the last `_` is the parameter."""
    words = flat.strip("_").split("_")[:-1]
    parts: list[str] = []
    for word in words:
        if word.isdecimal() or not parts or parts[-1].isdecimal():
            parts.append(word)
        else:
            parts[-1] += f"_{word}"
    return unwrapped(tuple(parts)) if any(part.isdecimal() for part in parts) else ()


def unwrapped(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path without modules that only wrap another one."""
    return tuple(part.strip("_") for part in parts if part not in WRAPPERS)


def common(paths: Iterable[str]) -> str:
    """Return the innermost module that contains all paths."""
    first: list[str] | None = None
    for path in paths:
        parts = path.split(".") if path else []
        if first is None:
            first = parts
        else:
            same = 0
            while same < min(len(first), len(parts)) and first[same] == parts[same]:
                same += 1
            first = first[:same]
    return ".".join(first or ())
