"""The operators in the name of a fused kernel: `cpp_fused_embedding_native_layer_norm_0`.

Inductor joins the names of operators with `_`, which they contain themselves: `index_add` may be one or two. So a name is
read as a sequence of operators that the graphs and comments know, the longest first; a name with any other part
is not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tltui.analyses.provenance.code import CodeText
from tltui.analyses.provenance.graph import GraphText
from tltui.text.graphs.fx_graph import FxNode

_BASE = re.compile(r"^(?:torch\.)?(?:ops\.)?(\w+)\.(\w+)")
_NUMBER = re.compile(r"_\d+$")
_FUSED = re.compile(r"_fused_(\w+?)(?:_\d+)?$")
MAX_PARTS = 60


def aten_of(node: FxNode) -> str:
    """`torch.ops.aten.addmm.default` → `aten.addmm`"""
    match = _BASE.match(node.target)
    return f"{match[1]}.{match[2]}" if match else node.target


def name_base(name: str) -> str:
    """`view_14` → `view`: what a node was when it was made, though a pass may have made it a `reshape`."""
    return _NUMBER.sub("", name)


def vocabulary(pre: GraphText | None, post: GraphText | None, codes: Iterable[CodeText]) -> frozenset[str]:
    """The names of operators that a unit knows."""
    found: set[str] = set()
    for node in post.nodes if post is not None else ():
        if node.kind == "call":
            found.update((aten_of(node).partition(".")[2], name_base(node.name)))
    for node in pre.nodes if pre is not None else ():
        if node.kind in ("call", "expression"):
            plain = node.target.removesuffix(".default").rpartition(".")[2].strip("_")
            found.update((plain, f"native_{plain}", f"{plain}_backward", f"native_{plain}_backward"))
    for code in codes:
        for remarks in (*(own.remarks for own in code.definitions), *(call.remarks for call in code.calls)):
            found.update(aten.rpartition(".")[2] for aten in remarks.aten)
    return frozenset(word for word in found if word)


def fused_operators(kernel: str, known: frozenset[str]) -> frozenset[str]:
    """The operators in the name of a kernel; none if it has no such name, or a part of it is not known."""
    match = _FUSED.search(kernel)
    parts = match[1].split("_") if match is not None else []
    if not 0 < len(parts) <= MAX_PARTS:
        return frozenset()
    # best[n]: the fewest operators that parts n … can be read as, and the end of the first of them
    best: list[tuple[int, int] | None] = [None] * len(parts) + [(0, 0)]
    for n in range(len(parts) - 1, -1, -1):
        for stop in range(n + 1, len(parts) + 1):
            rest = best[stop]
            if rest is not None and "_".join(parts[n:stop]) in known:
                choice = (rest[0] + 1, stop)
                current = best[n]
                if current is None or choice[0] <= current[0]:
                    best[n] = choice
    words, n = set(), 0
    while n < len(parts):
        step = best[n]
        if step is None:
            return frozenset()
        words.add("_".join(parts[n : step[1]]))
        n = step[1]
    return frozenset(words)
