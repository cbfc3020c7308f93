"""Foldable sections of a text, by language, with the repeated layers of FX graphs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from tltui.text.document import Section
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import FxGraph, FxNode, Origin, SubGraph, parse
from tltui.text.graphs.guard_tree import parse as parse_guards
from tltui.text.graphs.scheduler_ir import parse as parse_ir
from tltui.text.torch_names import Owner, Parameter, common, owner_of, parameter_of

FOLD_FROM = 4
"""Passes of one sequence from which on they are shown closed."""
CANDIDATES = 24
"""Distances that are tried for a repeat."""
TITLE = 160
_SAME = re.compile(r"^torch\.ops\.(?:aten|prims)\.(?:t|permute|transpose|_to_copy|convert_element_type)\.")
"""What makes a parameter ready to be read."""


@frozen
class Block:
    """Lines `first` to `last` (both inclusive) below a comment."""

    first: int
    last: int
    origin: Origin
    layer: str = ""
    """The innermost module that has all parameters that are read in it; '' where none is known."""


@frozen
class Repeat:
    """`times` passes of `size` blocks each, from block `first` on."""

    first: int
    size: int
    times: int


def fx_sections(lines: Sequence[str], inputs: Mapping[str, str] | None = None) -> list[Section]:
    """Return the sections of a text of FX graphs.

    `inputs`: Dynamo's names of the inputs of a graph that renames them: `primals_3`.
    """
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
        sections += _passes([_with_layer(block, layers) for block in _blocks(lines, sub, origins, stops)], level + 1)
    return sections


def _layers(graph: FxGraph, inputs: Mapping[str, str]) -> dict[int, str]:
    """Line → the module whose parameters a node on it reads, without the variable of the outermost one where there is one only."""
    origins = {node.name: origin for node in graph.nodes if (origin := _read(node, inputs)) is not None}
    has_one_root = len({origin.root for origin in origins.values()}) <= 1
    held = {name: origin.path if has_one_root else (origin.root, *origin.path) for name, origin in origins.items()}
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


def _with_layer(block: Block, layers: dict[int, str]) -> Block:
    """Return a block with its layer, as far as names give it."""
    paths = [layers[line] for line in range(block.first, block.last + 1) if line in layers]
    return Block(block.first, block.last, block.origin, common(paths)) if paths else block


def short_title(title: str) -> str:
    """Shorten the title of a section to the width of a screen."""
    return title if len(title) <= TITLE else title[: TITLE - 1] + "…"


def _head(lines: Sequence[str], sub: SubGraph, level: int) -> list[Section]:
    """Return the section of the parameters, where they are on lines of their own."""
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
    """Return the blocks of one graph, without those of nested graphs. Neighbours of one line of code are one."""
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
    """Return the layer of a pass; '' where it has parts of two iterations, as a backward's may."""
    layer = common(block.layer for block in group if block.layer)
    inner = (block.layer[len(layer) :].strip(".").partition(".")[0] for block in group if block.layer)
    return "" if any(part.isdecimal() for part in inner) else layer


def _plain(blocks: list[Block], level: int) -> list[Section]:
    return [Section(block.first, block.last, level, _title(block)) for block in blocks]


def _title(block: Block) -> str:
    origin, layer = block.origin, f"{block.layer}  " if block.layer else ""
    return short_title(f"{layer}{origin.function}  {origin.path.rpartition('/')[2]}:{origin.place}  {origin.code}".rstrip())


def _place(group: list[Block]) -> str:
    """Return the place of the code of a pass: the lines of the file of its first block."""
    origin = group[0].origin
    places = [block.origin.place for block in group if block.origin.path == origin.path]
    lines = f"{min(places)}–{max(places)}" if min(places) < max(places) else str(places[0])
    return short_title(f"{origin.path.rpartition('/')[2]}:{lines} ({origin.function})")


def find_repeats(keys: Sequence[object]) -> list[Repeat]:
    """Find sequences that come at least twice in a row, outer ones first.

    Of all repeats that begin at a place, the one that covers most wins; of those the shortest sequence. A single block that repeats
    is no layer.
    """
    names = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    codes = [names[key] for key in keys]
    places: dict[int, list[int]] = defaultdict(list)
    for n, code in enumerate(codes):
        places[code].append(n)
    counts: dict[int, int] = defaultdict(int)
    repeats: list[Repeat] = []
    at = 0
    for n, code in enumerate(codes):
        counts[code] += 1
        if n < at:
            continue
        best = Repeat(n, 0, 0)
        for other in places[code][counts[code] : counts[code] + CANDIDATES]:
            times = _times(codes, n, other - n)
            if times > 1 and codes[n + 1] != code and times * (other - n) > best.times * best.size:
                best = Repeat(n, other - n, times)
        if best.times:
            repeats.append(best)
            at = n + best.size * best.times
    return repeats


def _times(codes: list[int], first: int, size: int) -> int:
    """Return how many times in a row the `size` codes from `first` on occur."""
    at = first + size
    if codes[first + 1 : first + 2] != codes[at + 1 : at + 2]:
        return 1  # nearly always: no need to copy long lists
    model = codes[first:at]
    while codes[at : at + size] == model:
        at += size
    return (at - first) // size


FOLD_FRAMES = 2
"""Frames of torch or of libraries in a row from which on they are shown closed."""

TORCH = "torch"
WHOSE = {Owner.USER: "", Owner.LIBRARY: "library", Owner.PYTHON: TORCH, Owner.TORCH: TORCH}
"""The owner in the title of a frame. Frames of Python are between those of torch."""
_KERNEL = re.compile(r"^(\w+) = async_compile\.(\w+)\(")
_PYTHON = re.compile(r"(?:async def|def|class|if __name__)\b")
_FRAME = re.compile(r'^(\s*)File "([^"]+)"(?:, line (\d+))?(?:, in (.*))?$')
_HEADER = re.compile(
    r"^\s*(?:Traceback \(most recent call last\):|User code traceback:|User stack trace:|from user code:)\s*$"
)
_JSON_KEY = re.compile(r'^\s*"((?:[^"\\]|\\.)*)"\s*:')


def nested(sections: Iterable[Section]) -> list[Section]:
    """Sections in order, levels counted anew: whatever a strange text made a finder believe, they nest properly."""
    result: list[Section] = []
    opened: list[Section] = []
    for section in sorted(sections, key=lambda section: (section.first, -section.last, section.level)):
        while opened and opened[-1].last < section.first:
            opened.pop()
        last = min(section.last, opened[-1].last) if opened else section.last
        if last <= section.first:
            continue
        if section.level != len(opened) or last != section.last:
            section = Section(section.first, last, len(opened), section.title, section.folded, section.aside)
        result.append(section)
        opened.append(section)
    return result


def _last_text(lines: Sequence[str], first: int, last: int) -> int:
    """Return the last line with text in `first` … `last`."""
    while last > first and not lines[last].strip():
        last -= 1
    return last


def _python(lines: Sequence[str]) -> list[Section]:
    """Definitions at the margin, and those inside of a class."""
    return _definitions(lines, 0, len(lines), 0)


def _definitions(lines: Sequence[str], first: int, stop: int, level: int) -> list[Section]:
    """Definitions of one indentation, four blanks a level. A line that is further left ends one."""
    sections: list[Section] = []
    margin, n = "    " * level, first
    while n < stop:
        line = lines[n]
        if not line.startswith(margin) or not _PYTHON.match(line, len(margin)):
            n += 1
            continue
        end = n + 1
        while end < stop and (not lines[end].strip() or lines[end].startswith((margin + " ", margin + ")"))):
            end += 1
        last = _last_text(lines, n, end - 1)
        if last > n:
            sections.append(Section(n, last, level, short_title(line.strip().rstrip(":"))))
            if line.startswith("class ", len(margin)) and level < 4:
                sections += _definitions(lines, n + 1, end, level + 1)
        n = end
    return sections


def _output_code(lines: Sequence[str]) -> list[Section]:
    """Kernels, and between them the definitions of the wrapper."""
    sections: list[Section] = []
    n = done = 0
    while n < len(lines):
        kernel = _KERNEL.match(lines[n]) if "async_compile." in lines[n] else None
        if kernel is None:
            n += 1
            continue
        sections += _definitions(lines, done, n, 0)
        last = _kernel_end(lines, n)
        if last > n:
            sections.append(Section(n, last, 0, short_title(f"{kernel[1]}  ({kernel[2]} kernel)")))
        n = done = last + 1
    sections += _definitions(lines, done, len(lines), 0)
    return sections


def _kernel_end(lines: Sequence[str], first: int) -> int:
    """Return the line that closes the string of a kernel, or its bracket where it has no string."""
    quote = next((quote for quote in ("'''", '"""') if quote in lines[first]), "")
    goes_on = lines[first].count(quote) == 1 if quote else lines[first].rstrip().endswith(("(", "[", "{", ","))
    if not goes_on:
        return first
    for n in range(first + 1, len(lines)):
        if _KERNEL.match(lines[n]):
            return first
        if quote in lines[n] if quote else lines[n][:1] in (")", "]", "}"):
            return n
    return first


def _cpp(lines: Sequence[str]) -> list[Section]:
    """Return blocks whose first line and closing brace are at the margin: functions, classes, namespaces."""
    sections: list[Section] = []
    opened: list[int] = []
    head = -1
    for n, line in enumerate(lines):
        text = line.rstrip()
        if not text:
            continue
        if text.startswith("}"):
            head = -1
            if opened:
                first = opened.pop()
                title = lines[first].strip().rstrip("{( ")
                sections.append(Section(first, n, len(opened), short_title(title)))
            continue
        at_margin = not text[0].isspace() and not text.startswith(("#", "//", "/*", "*"))
        if at_margin and (head < 0 or text[0] not in "{):"):
            head = n
        if head >= 0 and text.endswith("{"):
            opened.append(head)
            head = -1
        elif text.endswith(";"):
            head = -1
    return sections


def _guards(lines: Sequence[str]) -> list[Section]:
    """Return the subtree of each manager as a section."""
    tree = parse_guards(lines)
    ends = list(range(len(tree.nodes)))
    for n in range(len(tree.nodes) - 1, 0, -1):
        parent = tree.nodes[n].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[n])
    sections = []
    for n, node in enumerate(tree.nodes):
        last = tree.nodes[ends[n]].line
        if last > node.line:
            title = " ".join(filter(None, (node.side, node.kind, node.source or node.expression)))
            sections.append(Section(node.line, last, node.depth, short_title(title)))
    return sections


def _traceback(lines: Sequence[str]) -> list[Section]:
    """Each traceback, and in it runs of the user's frames, of libraries' and of torch's; the latter two are closed."""
    sections: list[Section] = []
    headers = [n for n, line in enumerate(lines) if _HEADER.match(line)]
    starts = headers if headers[:1] == [0] else [0, *headers]
    for first, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = _last_text(lines, first, stop - 1)
        level = 0
        if first in headers[:1] or first > 0:
            if last > first:
                sections.append(Section(first, last, 0, short_title(lines[first].strip())))
            level = 1
        sections += _frame_runs(lines, first, last, level)
    return sections


@mutable
class _Run:
    """Frames of one side, one directly below the other."""

    first: int
    last: int
    whose: str
    """Of whom the frames are, '' for the user's own."""
    frames: list[str]


def _frame_runs(lines: Sequence[str], first: int, last: int, level: int) -> list[Section]:
    """Return runs of frames of one side. A frame is its `File` line and the deeper lines below it."""
    runs: list[_Run] = []
    n = first
    while n <= last:
        frame = _FRAME.match(lines[n])
        if frame is None:
            n += 1
            continue
        end = n + 1
        while end <= last and lines[end].startswith(frame[1] + "  ") and not _FRAME.match(lines[end]):
            end += 1
        whose = WHOSE[owner_of(frame[2])]
        if not (runs and runs[-1].whose == whose and runs[-1].last == n - 1):
            runs.append(_Run(n, n, whose, []))
        runs[-1].last = end - 1
        runs[-1].frames.append(f"{frame[4] or '?'}  {frame[2].rpartition('/')[2]}:{frame[3] or '?'}")
        n = end
    return [_run_section(run, level) for run in runs]


def _run_section(run: _Run, level: int) -> Section:
    if not run.whose:
        return Section(run.first, run.last, level, short_title("user: " + " › ".join(run.frames)))
    many = len(run.frames) >= FOLD_FRAMES
    title = f"{len(run.frames)} {run.whose} frames" if many else f"a {run.whose} frame"
    return Section(run.first, run.last, level, short_title(f"{title}: {run.frames[0]}"), many, many and run.whose == TORCH)


def _json(lines: Sequence[str]) -> list[Section]:
    """Objects and arrays that go over several lines, but for the outermost one. Works with any indentation."""
    sections: list[Section] = []
    opened: list[tuple[int, str]] = []
    counts = [0]
    for n, line in enumerate(lines):
        text = line.strip()
        if text[:1] in ("}", "]") and opened:
            first, title = opened.pop()
            counts.pop()
            if opened and n > first:
                sections.append(Section(first, n, len(opened) - 1, title))
        if text.endswith(("{", "[")):
            key = _JSON_KEY.match(line)
            opened.append((n, short_title(key[1]) if key else f"[{counts[-1]}]"))
            counts[-1] += 1
            counts.append(0)
        elif text[:1] not in ("}", "]", ""):
            counts[-1] += 1
    return sections


def _ir(lines: Sequence[str]) -> list[Section]:
    """Nodes, the members of those that were fused, and loop bodies."""
    sections: list[Section] = []
    waiting = [(node, 0) for node in reversed(parse_ir(lines))]
    while waiting:
        node, level = waiting.pop()
        last = _last_text(lines, node.first, node.last)
        if last > node.first:
            sections.append(Section(node.first, last, level, short_title(f"{node.name}  {node.kind}")))
        if node.body is not None and node.body[1] > node.body[0]:
            sections.append(Section(*node.body, level + 1, short_title(f"loop of {node.name}")))
        waiting += [(member, level + 1) for member in reversed(node.members)]
    return sections


_FINDERS: dict[str, Callable[[Sequence[str]], list[Section]]] = {
    "output_code": _output_code,
    "python": _python,
    "cpp": _cpp,
    "guards": _guards,
    "ir": _ir,
    "traceback": _traceback,
    "json": _json,
}


def find_sections(language: str, lines: Sequence[str], inputs: Mapping[str, str] | None = None) -> Sequence[Section]:
    """Return the sections of a text in the order of their first lines; () for a language without.

    `inputs`: as in `fx_sections`.
    """
    if language == "fx":
        return tuple(nested(fx_sections(lines, inputs)))
    finder = _FINDERS.get(language)
    return () if finder is None else tuple(nested(finder(lines)))
