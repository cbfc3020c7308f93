"""Sections of an FX graph, so that a model of fifty layers can be read folded.

The text of a graph is flat: blocks of nodes, each below a `# File: …` comment that says which line of the user's code
they come from. A block is a section. Where the same sequence of blocks comes again and again, a loop or a stack of
equal layers was traced: each pass becomes a section around its blocks. Where a graph names the parameters that are read
(Dynamo's does), a section is called by the layer that they are of: `layers.3`, `layers.3.attn.qkv`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tltui.text.document import Section
from tltui.text.graphs.fx_graph import FxGraph, FxNode, Origin, SubGraph, parse
from tltui.text.graphs.module_names import Parameter, common, parameter_of

FOLD_FROM = 4
"""Passes of one sequence from which on they are shown closed."""
CANDIDATES = 24
"""Distances that are tried for a repeat."""
TITLE = 160
_SAME = re.compile(r"^torch\.ops\.(?:aten|prims)\.(?:t|permute|transpose|_to_copy|convert_element_type)\.")
"""What makes a parameter ready to be read."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `first` to `last` (both inclusive) below a comment."""

    first: int
    last: int
    origin: Origin
    layer: str = ""
    """The innermost module that has all parameters that are read in it; '' where none is known."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """`times` passes of `size` blocks each, from block `first` on."""

    first: int
    size: int
    times: int


def fx_sections(lines: Sequence[str], inputs: Mapping[str, str] | None = None) -> list[Section]:
    """The sections of a text of FX graphs. `inputs`: how Dynamo called the inputs of a graph that names them anew: `primals_3`."""
    graph = parse(lines)
    stops = _stops(graph)
    origins = {origin.line: origin for origin in graph.origins}
    layers = _layers(graph, inputs or {})
    sections: list[Section] = []
    depth: list[int] = []
    for sub in graph.graphs:
        level = 0 if sub.parent < 0 else depth[sub.parent] + 1
        depth.append(level)
        if sub.last > sub.first:
            sections.append(Section(sub.first, sub.last, level, short_title(lines[sub.first].strip().rstrip(":"))))
        sections += _head(lines, sub, level + 1)
        sections += _passes([_named(block, layers) for block in _blocks(lines, sub, origins, stops)], level + 1)
    return sections


def _layers(graph: FxGraph, inputs: Mapping[str, str]) -> dict[int, str]:
    """Line → the module whose parameters a node on it reads, without the variable of the outermost one where there is one only."""
    known = {node.name: found for node in graph.nodes if (found := _read(node, inputs)) is not None}
    one = len({found.root for found in known.values()}) <= 1
    held = {name: found.path if one else (found.root, *found.path) for name, found in known.items()}
    lines: dict[int, list[str]] = {}
    idle = ("placeholder", "get_attr", "output", "unpack", "alias")
    for node in graph.nodes:
        if node.args and node.args[0] in held and (node.kind == "alias" or _SAME.match(node.target)):
            held[node.name] = held[node.args[0]]
        if node.kind not in idle:
            lines.setdefault(node.line, []).extend(".".join(held[name]) for name in node.args if name in held)
    return {line: common(paths) for line, paths in lines.items() if paths}


def _read(node: FxNode, inputs: Mapping[str, str]) -> Parameter | None:
    if node.kind == "placeholder":
        return parameter_of(inputs.get(node.name, node.name))
    return parameter_of(node.target) if node.kind == "get_attr" else None


def _named(block: Block, layers: dict[int, str]) -> Block:
    """A block with the layer that it is of, as far as names tell."""
    found = [layers[line] for line in range(block.first, block.last + 1) if line in layers]
    return Block(block.first, block.last, block.origin, common(found)) if found else block


def short_title(title: str) -> str:
    """The title of a section, not longer than a screen is wide."""
    return title if len(title) <= TITLE else title[: TITLE - 1] + "…"


def _head(lines: Sequence[str], sub: SubGraph, level: int) -> list[Section]:
    """The parameters, where they stand on lines of their own."""
    first = next((n for n in range(sub.first, sub.inputs_end) if lines[n].lstrip().startswith("def ")), sub.inputs_end)
    inputs = sub.inputs_end - first - 1
    title = f"{lines[first].strip().split('(')[0]} ({inputs} lines)" if inputs > 0 else ""
    return [Section(first, sub.inputs_end, level, short_title(title))] if inputs > 0 else []


def _stops(graph: FxGraph) -> dict[int, int]:
    """Lines at which a block ends, and the line behind which the text goes on: an inner graph is jumped over."""
    stops = {node.line: node.line for node in graph.nodes if node.kind == "output"}
    stops.update((sub.first, sub.last) for sub in graph.graphs if sub.parent >= 0)
    return stops


def _blocks(lines: Sequence[str], sub: SubGraph, origins: dict[int, Origin], stops: dict[int, int]) -> list[Block]:
    """The blocks of one graph, without those of the graphs inside of it. Neighbours of one line of code are one."""
    blocks: list[Block] = []
    current: Origin | None = None
    first = last = n = sub.inputs_end + 1
    while n <= sub.last + 1:
        origin = origins.get(n) if n <= sub.last else None
        if origin and current and _key(origin) == _key(current):
            last = n
        elif origin or n > sub.last or n in stops or "No stacktrace found" in lines[n]:
            if current is not None and last > first:
                blocks.append(Block(first, last, current))
            current, first, last = origin, n, n
        elif lines[n].strip():
            last = n
        n = stops.get(n, n) + 1
    return blocks


def _key(origin: Origin) -> tuple[str, int, str]:
    return origin.path, origin.place, origin.function


def _passes(blocks: list[Block], level: int) -> list[Section]:
    """Sections of the blocks, those of a repeated sequence inside of a section for each pass."""
    sections: list[Section] = []
    done = 0
    for repeat in find_repeats([_key(block.origin) for block in blocks]):
        sections += _plain(blocks[done : repeat.first], level)
        for number in range(repeat.times):
            at = repeat.first + number * repeat.size
            group = blocks[at : at + repeat.size]
            title = f"{_layer(group) or 'layer'} pass {number + 1}/{repeat.times} of {_place(group)}"
            sections.append(Section(group[0].first, group[-1].last, level, title, repeat.times >= FOLD_FROM))
            sections += _plain(group, level + 1)
        done = repeat.first + repeat.size * repeat.times
    return sections + _plain(blocks[done:], level)


def _layer(group: list[Block]) -> str:
    """The layer of a pass; '' where it has parts of two iterations, as a backward's may."""
    layer = common(block.layer for block in group if block.layer)
    inner = (block.layer[len(layer) :].strip(".").partition(".")[0] for block in group if block.layer)
    return "" if any(part.isdecimal() for part in inner) else layer


def _plain(blocks: list[Block], level: int) -> list[Section]:
    return [Section(block.first, block.last, level, _title(block)) for block in blocks]


def _title(block: Block) -> str:
    origin, layer = block.origin, f"{block.layer}  " if block.layer else ""
    return short_title(f"{layer}{origin.function}  {origin.path.rpartition('/')[2]}:{origin.place}  {origin.code}".rstrip())


def _place(group: list[Block]) -> str:
    """Where the code of a pass stands: the lines of the file of its first block."""
    origin = group[0].origin
    places = [block.origin.place for block in group if block.origin.path == origin.path]
    lines = f"{min(places)}–{max(places)}" if min(places) < max(places) else str(places[0])
    return short_title(f"{origin.path.rpartition('/')[2]}:{lines} ({origin.function})")


def find_repeats(keys: Sequence[object]) -> list[Repeat]:
    """Sequences that come at least twice in a row, outer ones first: of all repeats that begin at a place, the one
    that covers most; of those the shortest sequence. A single block that repeats is no layer."""
    names = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    codes = [names[key] for key in keys]
    places: dict[int, list[int]] = defaultdict(list)
    for n, code in enumerate(codes):
        places[code].append(n)
    seen: dict[int, int] = defaultdict(int)
    found: list[Repeat] = []
    at = 0
    for n, code in enumerate(codes):
        seen[code] += 1
        if n < at:
            continue
        best = Repeat(n, 0, 0)
        for other in places[code][seen[code] : seen[code] + CANDIDATES]:
            times = _times(codes, n, other - n)
            if times > 1 and codes[n + 1] != code and times * (other - n) > best.times * best.size:
                best = Repeat(n, other - n, times)
        if best.times:
            found.append(best)
            at = n + best.size * best.times
    return found


def _times(codes: list[int], first: int, size: int) -> int:
    """How often the `size` codes from `first` on stand in a row."""
    at = first + size
    if codes[first + 1 : first + 2] != codes[at + 1 : at + 2]:
        return 1  # nearly always: no need to copy long lists
    model = codes[first:at]
    while codes[at : at + size] == model:
        at += size
    return (at - first) // size
