"""What the guard tree says about sizes: which are free, how dims were marked, and the conditions on symbols that stayed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tltui.analyses.records import Reader, address, list_in, named
from tltui.analyses.stacks.stacks import StackFrame, is_end_of
from tltui.model.nodes import Compile

GUARDS, GRAPH = "dynamo_cpp_guards_str", "dynamo_output_graph"
GUARDS_LIMIT = 16 << 20
"""Bytes of a guard tree that are read."""
MARKS = {
    "dynamic": "dynamic", "weak_dynamic": "maybe dynamic", "unbacked": "unbacked", "strict_unbacked": "unbacked",
    "static": "static",
}  # fmt: skip
_MARKED = re.compile(
    r"getattr\((?P<source>[^\n]{1,400}?), '_dynamo_(?P<mark>(?:weak_)?dynamic|(?:strict_)?unbacked|static)_indices', set\(\)\)"
    r"\.issubset\(\{(?P<dims>[\d, ]+)\}\)"
)
_TENSOR = re.compile(
    r"TENSOR_MATCH: check_tensor\((?P<source>[^\n]{1,400}?), [\w.]+, DispatchKeySet\([^\n)]*\), [^\n]*?size=\[(?P<size>[^\]\n]*)\]"
)
_SHAPE = re.compile(r"^\+- (?!RootGuardManager)[A-Z_]+: (.+)$", re.MULTILINE)
_PLACE = re.compile(r"# (?P<file>[^\s:#]+):(?P<line>\d{1,9}) in (?P<name>\S+)")
_BOUNDS = re.compile(r"^(?:(?P<low>-?\d+) <= )?(?P<source>[^<>=!]+?)(?: <= (?P<high>-?\d+))?$")
_ZERO_ONE = "0/1 specialization"


@dataclass(frozen=True, slots=True)
class KeptGuard:
    """A condition on sizes that every call is checked for: where it does not hold, torch compiles again."""

    expr: str
    """In the words of the caller: `2 <= L['x'].size()[0] <= 9`."""
    source: str | None
    """What is bounded, if it is one thing and the condition a range."""
    low: int | None
    high: int | None
    zero_one: bool
    """The lower bound is torch's own: it compiles sizes 0 and 1 for themselves."""
    user: StackFrame | None
    ref: str
    """The address of the guard tree."""


@dataclass(frozen=True, slots=True)
class GuardedSizes:
    """What the guards say about tensors and symbols."""

    marks: dict[tuple[str, int], str]
    """(tensor, dim) → how the user marked it, as in `MARKS`."""
    sizes: dict[str, tuple[str, ...]]
    """Tensor → its sizes as they are checked; `None` for a free one."""
    kept: tuple[KeptGuard, ...]
    found: bool
    """Whether there is a guard tree at all."""


def guarded_sizes(compile_: Compile, reader: Reader) -> GuardedSizes:
    """Read the newest guard tree of a compile."""
    records = [record for record, _ in named(compile_, (GUARDS,))]
    if not records:
        return GuardedSizes({}, {}, (), False)
    text = reader.text(records[-1], GUARDS_LIMIT)
    marks: dict[tuple[str, int], str] = {}
    for match in _MARKED.finditer(text):
        for dim in match["dims"].split(","):
            if dim.strip():
                marks[match["source"], int(dim.strip()[:6])] = MARKS[match["mark"]]
    sizes = {m["source"]: tuple(size.strip() for size in m["size"].split(",")) for m in _TENSOR.finditer(text)}
    ref = address(compile_, records[-1], GUARDS)
    return GuardedSizes(marks, sizes, tuple(_kept(found[1], ref) for found in _SHAPE.finditer(text)), True)


def _kept(text: str, ref: str) -> KeptGuard:
    expr, _, comment = text.partition("  # ")
    expr = expr.strip()
    place = _PLACE.search("# " + comment)
    user = None
    if place is not None:
        code = comment[: max(place.start() - 2, 0)].rstrip().removesuffix("#").strip()
        user = StackFrame(place["name"], place["file"], int(place["line"]), code or None)
    bounds = _BOUNDS.match(expr)
    if bounds is None or (bounds["low"] is None and bounds["high"] is None):
        return KeptGuard(expr, None, None, None, False, user, ref)
    low = None if bounds["low"] is None else int(bounds["low"][:18])
    high = None if bounds["high"] is None else int(bounds["high"][:18])
    return KeptGuard(expr, bounds["source"], low, high, _ZERO_ONE in comment and low == 2, user, ref)


def graph_sizes(compile_: Compile, reader: Reader) -> dict[str, tuple[str, ...]]:
    """Sizes of the inputs in the graph that Dynamo made, by plain name (see `plain_name`): symbols where they are free."""
    records = [record for record, _ in named(compile_, (GRAPH,))]
    sizes = reader.event(records[-1]).get("sizes") if records else None
    if not isinstance(sizes, dict):
        return {}
    return {plain_name(name): tuple(str(item)[:80] for item in list_in(sizes, name)) for name in sizes}


def plain_name(source: str) -> str:
    """What is left of the name of an input in all of torch's ways to write it: `L['x']`, `L_x_`, `l_x_` → `lx`"""
    return re.sub(r"[\W_]+", "", source).lower()


def whole_path(frame: StackFrame | None, known: Iterable[StackFrame | None]) -> StackFrame | None:
    """Guards name files by the end of their paths: the same place as another record names it, if one does."""
    if frame is None:
        return None
    for other in known:
        if other is not None and other.line == frame.line and is_end_of(frame.file, other.file):
            return other
    return frame
