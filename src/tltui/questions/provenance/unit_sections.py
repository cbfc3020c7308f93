"""Sections about a unit's provenance: coverage in three counts, the panes `layers` and `source`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.ref import parse_ref
from tltui.questions.layers.layer_costs import Layer, UnitLayers
from tltui.questions.provenance.provenance import KERNEL_LINES, KERNEL_NODES, PANES
from tltui.questions.provenance.records import (
    CPP,
    DERIVED,
    KERNEL,
    POST,
    PRE,
    PY,
    SOURCE,
    Coverage,
    Known,
    Place,
    UnitProvenance,
    Unknown,
)
from tltui.text import tokens
from tltui.text.document import Builder, Document, Options, TextDocument
from tltui.text.formatting import ELLIPSIS, cells
from tltui.text.frozen import frozen, mutable
from tltui.text.line_correspondence import LineGroups
from tltui.text.safe_files import read_small_file

SAID = {
    "node_mappings": "torch's node mappings",
    "kernel_information": "kernel_information.json",
    "kernel_operations": "the list of operations of each kernel",
    "kernel_stack_traces": "stack traces of the kernels",
    "forward_mappings": "node mappings of the forward graph",
    "comments": "comments in the generated code",
    "file_comments": "# File: comments",
    "dataflow": "data flow",
    "guards": "guards, and the order of the graph",
    "call_site": "the line that calls the compiled function",
    "kernel_names": "operators in the names of kernels",
}
"""What a source is called."""
DERIVED_MARK = "≈"
LEGEND = f"{DERIVED_MARK} derived from code and graph, not recorded by torch"
COUNTS = (
    "`kernels → nodes 4/6`: 4 of 6 kernels are mapped to graph nodes. Lines are those of your code. Derived: tltui mapped them "
    "from the generated code and the graph; torch did not record it."
)


def marked(source: str) -> str:
    """Return `≈ ` for a source that torch did not record."""
    return f"{DERIVED_MARK} " if source in DERIVED else ""


def coverage_text(coverage: Coverage) -> str:
    """Format `kernels → nodes 20/39 (19 ≈) · kernels → lines 39/39 · nodes → kernels 100/173`."""
    if not coverage.kernels and not coverage.nodes:
        return "no kernels, no nodes"
    counts = (
        (coverage.kernels_with_nodes, coverage.kernels, "kernels → nodes", coverage.kernel_nodes_from),
        (coverage.kernels_with_lines, coverage.kernels, "kernels → lines", coverage.kernel_lines_from),
        (coverage.nodes_with_kernel, coverage.nodes, "nodes → kernels", coverage.node_kernels_from),
    )
    return " · ".join(f"{text} {count}/{all_}{_derived(sources)}" for count, all_, text, sources in counts)


def _derived(sources: tuple[Known, ...]) -> str:
    count = sum(item.count for item in sources if item.source in DERIVED)
    return f" ({count} {DERIVED_MARK})" if count else ""


def counts_of(coverage: Coverage) -> Iterator[tuple[str, str]]:
    """Yield label and text of each of the three counts.

    For example `20 of 39: 3 from torch's node mappings, ≈ 17 from data flow`.
    """
    counts = (
        ("kernels → nodes", coverage.kernels_with_nodes, coverage.kernels, coverage.kernel_nodes_from),
        ("kernels → lines", coverage.kernels_with_lines, coverage.kernels, coverage.kernel_lines_from),
        ("nodes → kernels", coverage.nodes_with_kernel, coverage.nodes, coverage.node_kernels_from),
    )
    for label, count, all_, sources in counts:
        yield label, f"{count} of {all_}" + (f": {_sources(sources, count)}" if sources else "")


def _sources(sources: tuple[Known, ...], count: int) -> str:
    if len(sources) == 1 and sources[0].count == count:
        return f"{marked(sources[0].source)}from {SAID[sources[0].source]}"
    return ", ".join(f"{marked(item.source)}{item.count} from {SAID.get(item.source, item.source)}" for item in sources)


def unknown_text(unknown: Unknown) -> str:
    """Format `nodes of 19 kernels: torch writes no mapping of …`."""
    count = len(unknown.names)
    if unknown.kind == KERNEL_NODES:
        of = f"nodes of {fmt.plural(count, 'kernel')}"
    elif unknown.kind == KERNEL_LINES:
        of = f"lines of {fmt.plural(count, 'kernel')}"
    else:
        of = f"kernels of {fmt.plural(count, 'node')}"
    return f"{of}: {unknown.reason}"


PANE_TITLES = {
    "source": "your source", "pre": "pre-grad graph", "post": "post-grad graph", "py": "generated code",
    "cpp": "C++ wrapper", "kernel": "C++ kernels",
}  # fmt: skip
SOURCE_TITLES = {
    "node_mappings": "node mappings", "kernel_stack_traces": "stacks of kernels", "forward_mappings": "forward graph's mappings",
    "kernel_information": "kernel_information.json", "kernel_operations": "operations of kernels", "dataflow": "data flow",
    "guards": "guards", "call_site": "call of the function",
    "comments": "comments in the code", "file_comments": "# File: comments", "kernel_names": "names of kernels",
    "none": "nothing",
}  # fmt: skip
LONGEST = 40
"""Lines of one pane that a page of one correspondence holds."""


def coverage_lines(unit: UnitProvenance) -> tuple[tuple[str, ...], bool]:
    """Return coverage texts, longest first, and whether torch recorded provenance.

    `kernels → nodes 41/44 · kernels → lines 44/44 · nodes → kernels 212/230 (node mappings)`; without a
    recording, also how to enable it.
    """
    counts = coverage_text(unit.coverage)
    sourced = f"{counts} ({SOURCE_TITLES.get(unit.source, unit.source)})"
    texts = (sourced, counts, counts.rpartition(" · ")[0] or counts, counts.partition(" · ")[0])
    if unit.recorded:
        return texts, True
    message = f"{sourced} · provenance was not recorded"
    return (f"{message}: set INDUCTOR_PROVENANCE=1 (torch 2.9 and later)", message, *texts), False


def selection_document(
    unit: UnitProvenance, groups: LineGroups, documents: Mapping[int, Document], pane: int, line: int
) -> TextDocument:
    """Return the document of one pane line and its matches. Lines count from 1."""
    refs = (parse_ref(pane_entry.ref) for pane_entry in unit.panes if pane_entry.ref)
    of = next((f"[{replace(ref, artifact=None, n=None)}] " for ref in refs), "")
    builder = Builder(f"@provenance:{unit.unit}", f"{of}{fmt.graph_title(unit.unit)}: {PANE_TITLES[PANES[pane]]}, line {line + 1}")
    for other in sorted(documents):
        lines = [line] if other == pane else []
        lines += [n for first, last in groups.matches(pane, line, other) for n in range(first, last + 1) if n not in lines]
        builder.heading(PANE_TITLES[PANES[other]])
        if not lines:
            builder.add(("  nothing", tokens.DIM))
        for n in sorted(lines)[:LONGEST]:
            text = documents[other].line(n).text if n < len(documents[other]) else ""
            builder.add((f"{n + 1:>7}  ", tokens.DIM), text)
        if len(lines) > LONGEST:
            builder.add((f"         and {len(lines) - LONGEST} more lines", tokens.DIM))
    return builder.document()


NAMES_UP_TO = 22
"""Columns of names, behind which numbers of kernels stand below each other."""


@frozen
class Below:
    """The distinct nodes and kernels of a tree line: its layer and all nested ones."""

    path: str
    pre: frozenset[str]
    post: frozenset[str]
    kernels: frozenset[str]
    """Keys."""
    lines: frozenset[str]
    """`FILE:LINE`."""


@frozen
class LayerTree:
    """The document of the layers, and the layers of each of its lines."""

    document: TextDocument
    below: dict[int, Below]
    places: dict[str, int]
    """Path of a layer → its line."""


@mutable
class _Node:
    path: str
    name: str
    children: dict[str, _Node] = field(default_factory=dict)
    members: list[Layer] = field(default_factory=list)
    """Layers of exactly this path, without those in them."""

    def layers(self) -> Iterator[Layer]:
        """Yield the layer and all nested layers."""
        yield from self.members
        for child in self.children.values():
            yield from child.layers()


def layer_tree(ref: str, unit: UnitLayers) -> LayerTree | None:
    """Return the tree of a unit; None if only the outermost layer is known."""
    root = _Node("", "")
    for layer in unit.layers:
        _place(root, layer)
    if not root.children:
        return None
    builder = Builder(ref, "layers")
    below: dict[int, Below] = {}
    places: dict[str, int] = {}
    for child in root.children.values():
        _add(builder, _joined(child), 0, below, places)
    if unit.unknown:
        builder.close(0)
        builder.blank()
        why = f": {unit.why}" if unit.why else ""
        builder.add((f"layers of {fmt.plural(unit.unknown, 'kernel')} unknown{why}", tokens.DIM))
    return LayerTree(builder.document(), below, places)


def _place(root: _Node, layer: Layer) -> None:
    node, path = root, ""
    for name in filter(None, layer.path.split(".")):
        path = f"{path}.{name}" if path else name
        node = node.children.setdefault(name, _Node(path, name))
    if layer.path:
        node.members.append(layer)


def _joined(node: _Node) -> _Node:
    """Merge a module with its only child: `model.layers`, and `layers.0` of several."""
    while not node.members and len(node.children) == 1:
        (child,) = node.children.values()
        node = _Node(child.path, f"{node.name}.{child.name}", child.children, child.members)
    return node


def _add(builder: Builder, node: _Node, depth: int, below: dict[int, Below], places: dict[str, int]) -> None:
    line = len(builder.growing().lines)
    layers = list(node.layers())
    nested = Below(
        node.path, frozenset(name for layer in layers for name in layer.pre),
        frozenset(name for layer in layers for name in layer.post), frozenset(key for layer in layers for key in layer.kernels),
        frozenset(place for layer in layers for place in layer.lines),
    )  # fmt: skip
    below[line], places[node.path] = nested, line
    if node.children:
        builder.open(node.path)
    head = f"{'  ' * depth}{node.name}"
    count = f"{' ' * max(NAMES_UP_TO - len(head), 1)}{len(nested.kernels):>3}"
    builder.add((head, tokens.NAME), (count, tokens.DIM), anchor=node.path)
    for child in node.children.values():
        _add(builder, _joined(child), depth + 1, below, places)
    if node.children:
        builder.close()


def lines_of_layers(unit: UnitProvenance, tree: LayerTree, places: Mapping[int, int]) -> dict[int, dict[int, frozenset[int]]]:
    """Map tree lines to panes and their matching lines."""
    pre = {node.name: node.line - 1 for born in unit.lines for node in born.pre_nodes}
    post = {node.name: node.line - 1 for born in unit.lines for node in born.post_nodes}
    source = {str(unit.places[n]): line for line, n in places.items()}
    results: dict[int, dict[int, frozenset[int]]] = {}
    for line, below in tree.below.items():
        pane_lines = results[line] = {
            SOURCE: frozenset(source[place] for place in below.lines if place in source),
            PRE: frozenset(pre[name] for name in below.pre if name in pre),
            POST: frozenset(post[name] for name in below.post if name in post),
        }
        for pane in (PY, CPP, KERNEL):
            calls = (kernel.call_lines for kernel in unit.kernels if kernel.key in below.kernels and kernel.call_pane == pane)
            pane_lines[pane] = frozenset(n - 1 for lines in calls for n in lines)
    return results


RECORDED = "  (recorded)"
UNREADABLE = " is not readable on this machine; its lines are those that torch recorded"
AROUND = 5
"""Lines shown before and behind a recorded one."""
MAX_FILE = 8 << 20
MAX_FILES = 200
ReadFile = Callable[[str], "list[str] | None"]


@frozen
class SourceLines:
    """The source document, and the line of each place in it."""

    document: TextDocument
    lines: tuple[int, ...]
    places: dict[int, int]
    """The other way round: line of the document → number of the place."""
    headings: dict[int, str]
    """Line of a heading → path of the file, and whether it could be read."""


def file_tails(files: Iterable[str]) -> dict[str, str]:
    """Shorten paths to their last directory and name, `…/train/model.py`; equal ends are extended until they differ."""
    paths = set(files)
    tails: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        for count in range(2, len(parts)):
            end = "/".join(parts[-count:])
            if not any(other != path and other.endswith(f"/{end}") for other in paths):
                break
        else:
            end = path
        tail = path if end == path else f"{ELLIPSIS}/{end}"
        tails[path] = path if cells(tail) >= cells(path) else tail
    return tails


def read_file(path: str) -> list[str] | None:
    """Return the lines of a local source file; None if there is none.

    Paths come from a trace: only regular files up to a size limit are opened.
    """
    if not os.path.isabs(path):
        return None
    try:
        return [line.rstrip("\r") for line in read_small_file(path, MAX_FILE).decode("utf-8", "replace").split("\n")]
    except (OSError, ValueError):
        return None


def source_lines(
    ref: str, title: str, places: Sequence[Place], options: Options, read: ReadFile = read_file
) -> SourceLines:
    """Return the document of some places in the given order, grouped by file."""
    page = Page(ref, title, options)
    lines = [-1] * len(places)
    headings: dict[int, str] = {}
    if not places:
        page.say("torch recorded no source line for this.", "", tokens.DIM)
    tails = file_tails(place.file for place in places)
    files: list[tuple[str, list[tuple[int, Place]], list[str] | None]] = []
    for file, group in groupby(enumerate(places), key=lambda item: item[1].file):
        files.append((file, list(group), read(file) if len(files) < MAX_FILES else None))
    pad = max((len(str(max(_shown(members, text)))) for _, members, text in files), default=0)
    for file, members, text in files:
        is_missing = text is None and not file.startswith("<")
        page.close(0)
        page.blank()
        page.open(tails[file])
        headings[len(page.growing().lines)] = f"{fmt.home(file)}{UNREADABLE if is_missing else ''}"
        page.add((tails[file], tokens.HEADING), (RECORDED if is_missing else "", tokens.DIM))
        _file(page, file, members, text, lines, pad)
    document = page.document()
    return SourceLines(document, tuple(lines), {line: n for n, line in enumerate(lines) if line >= 0}, headings)


def _unchanged(members: list[tuple[int, Place]], text: list[str] | None) -> set[int]:
    """Return the numbers of the lines that the file has as they were recorded."""
    return {place.line for _, place in members if text is not None and _same(text, place)}


def _shown(members: list[tuple[int, Place]], text: list[str] | None) -> set[int]:
    """Return the numbers of the lines of a file that are shown."""
    return _around(_unchanged(members, text), len(text or ())) | {place.line for _, place in members}


def _file(
    page: Page, file: str, members: list[tuple[int, Place]], text: list[str] | None, lines: list[int], pad: int
) -> None:
    """Add the lines of one file, after the differences between file and trace. `pad`: cells of the longest line number."""
    unchanged = _unchanged(members, text)
    if note := _note(file, members, text, unchanged):
        page.say(note, "  ", tokens.DIM)
    recorded = {place.line: (n, place) for n, place in members}
    before = 0
    for number in sorted(_shown(members, text)):
        if before and number > before + 1:
            page.add((f"{'⋮':>{pad}}", tokens.DIM))
        before = number
        if number not in recorded:
            page.add((f"{number:>{pad}}  {text[number - 1] if text else ''}", tokens.DIM), anchor=f"{file}:{number}")
            continue
        n, place = recorded[number]
        code = text[number - 1] if text is not None and number in unchanged else place.code
        lines[n] = len(page.growing().lines)
        target = fmt.place_target(file, number)
        message = (code, tokens.NAME) if code else ("(torch recorded no code)", tokens.DIM)
        page.add((f"{number:>{pad}}", tokens.LINK if target else tokens.NUMBER, target), "  ", message, anchor=f"{file}:{number}")


def _same(text: list[str], place: Place) -> bool:
    """Return whether the file still has the recorded code at a place.

    Torch strips blanks and joins no lines.
    """
    code = place.code.split("\n")[0].strip()
    return bool(code) and 0 < place.line <= len(text) and text[place.line - 1].strip() == code


def _around(numbers: Iterable[int], count: int) -> set[int]:
    results: set[int] = set()
    for number in numbers:
        results.update(range(max(number - AROUND, 1), min(number + AROUND, count) + 1))
    return results


def _note(file: str, members: list[tuple[int, Place]], text: list[str] | None, matching: set[int]) -> str:
    """Return a warning about differences between file and trace; '' if there are none."""
    if file.startswith("<"):
        return "generated code, shown as recorded by torch"
    if text is None:
        return ""  # the heading has it
    changed = sum(place.line not in matching and bool(place.code) for _, place in members)
    if not changed:
        return ""
    if not matching:
        return "the file on this machine has changed: shown as recorded by torch"
    return f"the file on this machine has changed at {changed} of {fmt.plural(len(members), 'line')}, shown as recorded"
