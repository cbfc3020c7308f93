"""Panes of provenance mode: titles, correspondence between their lines, remarks on a line, and the strip below the panes.

The strip has the nodes and kernels of the cursor's line that no visible pane shows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePosixPath

from tltui.documents import format as fmt
from tltui.model.run import Run
from tltui.questions.provenance.graph_names import Names
from tltui.questions.provenance.pane_layout import CODE, GRAPHS, LAYERS, KernelLetters, Label
from tltui.questions.provenance.records import DERIVED, PANES, POST, PRE, SOURCE, Kernel, UnitProvenance
from tltui.questions.provenance.unit_sections import PANE_TITLES, LayerTree, SourceLines, file_tails, lines_of_layers
from tltui.questions.runtime.costs import costs_of
from tltui.text import formatting, tokens
from tltui.text.annotations import left_out, without
from tltui.text.document import Document, Piece
from tltui.text.formatting import ELLIPSIS, cells, crop_left
from tltui.text.frozen import frozen
from tltui.text.line_correspondence import LineGroups

TITLES = ("source", *(PANE_TITLES[name] for name in PANES[1:]), "layers")
HASH_TAIL = 7
"""Last characters of the name of a generated file, whose name is a hash."""
NOT_MAPPED = "no mapping for this line; . and , go to the next and previous mapped line"

STRIP_LINES = 3
STRIP_HEADS = {SOURCE: "source", PRE: "pre", POST: "post"}
RUNS = "runs"
LABEL = 8
"""Cells of a word with its blanks."""
NAMED = 8
"""Nodes and kernels that a line names at most."""
LONGEST, AGAIN = 60, 15
"""Cells of the name of the first kernel at most, and those that it leaves for a further call: ` · ab :123 · …`."""
MORE = " · …"
"""The sign of further kernels."""


@frozen
class UnitCosts:
    """Run times of a unit's kernels, in µs."""

    kernels: Mapping[str, float]
    """By `Kernel.key`."""
    nodes: Mapping[str, float]
    lines: Mapping[str, float]
    """By `FILE:LINE`. A node and a line have the whole time of the kernels that they are in."""
    heat: Callable[[float], float]
    """How much that is beside the dearest kernel of the run: 0…1."""
    of: str = ""
    """`a step`, `in all`."""


def from_right(path: str, width: int) -> str:
    """Shorten a path from the left, keeping its end: `…/llama/modeling_llama.py:311`."""
    if cells(path) <= width:
        return path
    parts = path.split("/")
    for first in range(1, len(parts)):
        tail = f"{ELLIPSIS}/{'/'.join(parts[first:])}"
        if cells(tail) <= width:
            return tail
    return ELLIPSIS + crop_left(parts[-1], max(width - 1, 0))


def costs_of_unit(run: Run, ref: str, unit: str) -> UnitCosts | None:
    """Return the run times of a unit from a profile; None without one."""
    costs = costs_of(run)
    if costs is None:
        return None
    kernels = {key: costs.scaled(ref, kernel_time.time.us) for key, kernel_time in costs.of_kernels(ref, unit).items()}
    return UnitCosts(kernels, costs.of_nodes(ref, unit), costs.of_lines(ref, unit), costs.heat, costs.of)


class Panes:
    """The texts of one unit and the correspondence between their lines."""

    def __init__(
        self,
        unit: UnitProvenance,
        documents: Mapping[int, Document],
        groups: LineGroups,
        names: Mapping[int, Names] | None = None,
        source: SourceLines | None = None,
        files: Mapping[int, str] | None = None,
        tree: LayerTree | None = None,
    ) -> None:
        """Initialize from the texts and groups of a unit.

        `documents`: the untruncated texts. `source`: the lines of the pane `SOURCE`. `files`: the path of a pane's content if it
        is one file. `tree`: the content of the pane `LAYERS`.
        """
        self.unit = unit
        self.documents = documents
        self.groups = groups
        self.names = names or {}
        self.places = source.places if source is not None else {}
        """Line of the source document → number of the place."""
        self._placed = sorted(self.places)
        self._headings = source.headings if source is not None else {}
        self._tails = file_tails({place.file for place in unit.places})
        self._files = files or {}
        self._kernels: dict[tuple[int, int], list[Kernel]] = {}
        for kernel in unit.kernels:
            for line in kernel.call_lines:
                self._kernels.setdefault((kernel.call_pane, line - 1), []).append(kernel)
        self._nodes = {node.name: node.line - 1 for born in unit.lines for node in born.post_nodes}
        self._tree = tree
        self._in_layers = lines_of_layers(unit, tree, self.places) if tree is not None else {}
        self._derived = self._derived_lines()
        self.letters = KernelLetters(unit.kernels, groups)
        self.costs: dict[int, dict[int, float]] = {}
        """Pane → line → µs, as far as a profile tells."""
        self.heat: Callable[[float], float] = lambda us: 0.0
        self.cost_of = ""

    # what corresponds

    def matches(self, pane: int, line: int, other: int) -> list[int]:
        """Return the lines of the pane `other` that correspond to a line."""
        if pane == LAYERS:
            return [line] if other == LAYERS and line in self._in_layers else list(self._in_layers.get(line, {}).get(other, ()))
        if other == LAYERS:
            return self._innermost(pane, line)
        return [n for first, last in self.groups.matches(pane, line, other) for n in range(first, last + 1)]

    def _innermost(self, pane: int, line: int) -> list[int]:
        """Return the lines of the innermost layers of a line; all of them on a tie."""
        within = [n for n, lines_by_pane in self._in_layers.items() if line in lines_by_pane.get(pane, ())]
        if self._tree is None or not self.is_mapped(pane, line):
            return []
        paths = [self._tree.below[n].path for n in within]
        return [n for n, path in zip(within, paths, strict=True) if not any(other.startswith(f"{path}.") for other in paths)]

    def best(self, pane: int, lines: Sequence[int]) -> Sequence[int]:
        """Return the preferred cursor targets among matching lines: kernel calls, not comments."""
        return [line for line in lines if (pane, line) in self._kernels] or lines

    def is_mapped(self, pane: int, line: int) -> bool:
        """Return whether a line has matches in any pane."""
        return line in self._in_layers if pane == LAYERS else bool(self.groups.groups(pane, line))

    def label(self, pane: int, line: int) -> Label | None:
        """Return the letter of a line's kernel; None for a line without a mapping, and for layers."""
        return self.letters.label(pane, line) if pane != LAYERS else None

    def is_around_call(self, pane: int, line: int) -> bool:
        """Return whether a line of code is part of a comment above a call, or of a definition: the gutter alone marks it."""
        return pane in CODE and (pane, line) not in self._kernels and bool(self.letters.kernels(pane, line))

    def next_mapped(self, pane: int, line: int, back: bool = False) -> int | None:
        """Return the next (`back`: previous) line of a pane with matches."""
        if pane != LAYERS:
            return self.groups.next_line(pane, line, back)
        return max((n for n in self._in_layers if n < line), default=None) if back else min(
            (n for n in self._in_layers if n > line), default=None
        )

    def next_match(self, pane: int, line: int, back: bool = False) -> int | None:
        """Return the next (`back`: previous) line of the same group in the pane."""
        starts = [first for first, _ in self.groups.matches(pane, line, pane)] if pane != LAYERS else []
        candidates = [start for start in starts if (start < line if back else start > line)]
        return (candidates[-1] if back else candidates[0]) if candidates else None

    def kernels_at(self, pane: int, line: int) -> list[Kernel]:
        """Return the kernels of a line: called or defined there, otherwise those that compute it or that are in its layer."""
        if pane != LAYERS:
            return self.letters.kernels(pane, line)
        calls = ((code, n) for code in CODE for n in self.matches(pane, line, code))
        return list({kernel.key: kernel for call in calls for kernel in self._kernels.get(call, ())}.values())

    # what is derived

    def is_derived(self, pane: int, line: int) -> bool:
        """Return whether a line's links to nodes or kernels were derived, not recorded by torch."""
        return line in self._derived.get(pane, ())

    def is_derived_between(self, pane: int, line: int, other: int) -> bool:
        """Return whether a line's links into another pane were derived."""
        if not {pane, other} & {*CODE}:
            return False
        kernels = self.kernels_at(pane, line)
        sources = [kernel.lines_from if SOURCE in (pane, other) else kernel.nodes_from for kernel in kernels]
        return bool(sources) and all(source in DERIVED for source in sources)

    def _derived_lines(self) -> dict[int, set[int]]:
        lines: dict[int, set[int]] = {}
        recorded: set[str] = set()
        derived: set[str] = set()
        for kernel in self.unit.kernels:
            if kernel.nodes_from in DERIVED:
                derived.update(kernel.post_nodes)
                lines.setdefault(kernel.call_pane, set()).update(line - 1 for line in kernel.call_lines)
            else:
                recorded.update(kernel.post_nodes)
        lines[POST] = {self._nodes[name] for name in derived - recorded if name in self._nodes}
        return lines

    # where keys lead

    def follow(self, pane: int, line: int, shown: Sequence[int]) -> tuple[int, Sequence[int]] | None:
        """Return the target of `enter` as (pane, lines), among the panes `shown` from the left.

        One step towards the source: from code to the node, from a node to its source line. From the source and from
        layers: to the generated code.
        """
        order = [item for item in shown if item != LAYERS]
        at = order.index(pane) if pane in order else len(order)
        for other in (*reversed(order[:at]), *reversed(order[at + 1 :])):
            if lines := self.matches(pane, line, other):
                return other, self.best(other, lines)
        return None

    def definition(self, pane: int, line: int, name: str, shown: Sequence[int]) -> tuple[int, int] | None:
        """Return (pane, line) of a name's definition.

        A kernel is defined in the code, other names in their own text or as a node of a visible graph. None without a
        definition, or if it is this line.
        """
        kernels = self.unit.kernels if pane in CODE else ()
        kernel = next((kernel for kernel in kernels if kernel.name == name and kernel.definition), None)
        if kernel is not None and kernel.definition is not None:
            at = kernel.definition_pane, kernel.definition[0] - 1
            return None if at == (pane, line) else at
        definition_line = self.names[pane].definition(name, line) if pane in self.names else None
        if definition_line is not None:
            return None if definition_line == line else (pane, definition_line)
        for other in GRAPHS:
            names = self.names.get(other)
            if pane in CODE and other in shown and names is not None and names.graph is not None:
                node = names.graph.find(name, 0)
                if node is not None:
                    return other, node.line
        return None

    def is_defined(self, pane: int, line: int, name: str) -> bool:
        """Return whether a line defines a name."""
        return pane in self.names and self.names[pane].definition(name, line) == line

    # what is said

    def title(self, pane: int, line: int, width: int) -> str:
        """Return a pane's title: its name, and the end of the path of the file at the cursor."""
        word, file = TITLES[pane], self._files.get(pane, "")
        if file:
            name = PurePosixPath(file).name
            file = ELLIPSIS + crop_left(name, HASH_TAIL) if cells(name) > HASH_TAIL else name
        if pane == SOURCE:
            file = self._place_above(line)
        room = width - cells(word) - 1
        return f"{word} {from_right(file, room)}" if file and room > 4 else word

    def _place_above(self, line: int) -> str:
        """Return `…/FILE:LINE` of a source line, or at least its file."""
        if line in self.places:
            place = self.unit.places[self.places[line]]
            return f"{self._tails[place.file]}:{place.line}"
        if not self._placed:
            return ""
        if line in self._headings:
            line = next((place for place in self._placed if place > line), line)
        above = self._placed[max(bisect_right(self._placed, line) - 1, 0)]
        return self._tails[self.unit.places[self.places[above]].file]

    def about(self, pane: int, line: int, has_strip: bool = False) -> str:
        """Describe a line: a node's type and readers, or a kernel's operators and run time.

        With `has_strip` without the contents of the strip: run time, nodes and kernels of a source line or call, `NOT_MAPPED`.
        """
        texts: list[str] = []
        is_mapped = self.is_mapped(pane, line)
        if line in self.costs.get(pane, ()) and not has_strip:
            texts.append(f"{duration(self.costs[pane][line])} {self.cost_of}".rstrip())
        if pane == LAYERS and self._tree is not None and line in self._tree.below:
            below = self._tree.below[line]
            texts += [below.path, f"{fmt.plural(len(below.post), 'node')} in {fmt.plural(len(below.kernels), 'kernel')}"]
        elif pane == SOURCE and line in self._headings:
            return self._headings[line]
        elif is_mapped and pane in (SOURCE, *CODE):
            texts += [] if has_strip else self._about_mapped(pane, line)
        elif pane in self.names and (about := self.names[pane].about_line(line)):
            texts.append(about)
        if self.is_derived(pane, line):
            texts.append(f"≈ {'nodes' if pane in CODE else 'kernel'} derived from the code, not recorded by torch")
        if not texts and not is_mapped and not has_strip:
            return NOT_MAPPED
        return " · ".join(texts)

    def _about_mapped(self, pane: int, line: int) -> list[str]:
        """Describe a source line or a line of a call."""
        kernels = self.kernels_at(pane, line)
        if pane == SOURCE:
            texts = [f"became {fmt.plural(len(self.matches(pane, line, POST)), 'node')}"]
            return [*texts, f"in {_first_names([kernel.key for kernel in kernels])}"] if kernels else texts
        if kernels:
            return [_about_kernel(kernels[0]), *([f"and {len(kernels) - 1} more calls"] if len(kernels) > 1 else [])]
        about = self.names[pane].about_line(line) if pane in self.names else ""
        return [about] if about else []

    # what it costs

    def take_costs(self, costs: UnitCosts) -> None:
        """Set the run times from a profile, to show beside calls, nodes and lines."""
        results: dict[int, dict[int, float]] = {SOURCE: {}, POST: {}}
        for kernel in self.unit.kernels:
            if kernel.key in costs.kernels:
                for line in kernel.call_lines[:1]:
                    results.setdefault(kernel.call_pane, {})[line - 1] = costs.kernels[kernel.key]
        results[POST] = {self._nodes[name]: us for name, us in costs.nodes.items() if name in self._nodes}
        for line, n in self.places.items():
            if str(self.unit.places[n]) in costs.lines:
                results[SOURCE][line] = costs.lines[str(self.unit.places[n])]
        for line, below in self._tree.below.items() if self._tree is not None else ():
            if of := [costs.kernels[key] for key in below.kernels if key in costs.kernels]:
                results.setdefault(LAYERS, {})[line] = sum(of)
        self.costs = {pane: item for pane, item in results.items() if item}
        self.heat, self.cost_of = costs.heat, costs.of

    def hot(self, pane: int) -> list[int]:
        """Return the lines of a pane with run time, longest first."""
        cost = self.costs.get(pane, {})
        return sorted(cost, key=lambda line: (-cost[line], line))


def duration(us: float) -> str:
    """Format a time in at most five characters plus unit: `812 µs`, `1.25 ms`."""
    if us < 1000:
        return f"{us:.1f} µs" if us < 10 else f"{us:.0f} µs"
    return f"{us / 1000:.3g} ms" if us < 1e6 else f"{us / 1e6:.3g} s"


def _about_kernel(kernel: Kernel) -> str:
    nodes, lines = len(kernel.post_nodes), len(kernel.user_lines)
    parts = [kernel.key, f"computes {_first_names(kernel.post_nodes)}" if nodes else "nodes unknown"]
    if lines:
        parts.append(f"from {_first_names([f'{PurePosixPath(user_line).name}' for user_line in kernel.user_lines])}")
    return " ".join(parts)


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def strip_lines(panes: Panes, pane: int, line: int, shown: Collection[int], width: int) -> list[list[Piece]]:
    """Return at most three lines about a line of a pane: source line, pre-grad and post-grad nodes, kernels.

    `shown`: the visible panes, which have their own matches highlighted. With four lines to show, kernels are left out for a
    cursor in code, and pre-grad nodes elsewhere.
    """
    if not panes.is_mapped(pane, line):
        return [[(f" {NOT_MAPPED}", tokens.DIM)]]
    hidden = [other for other in (SOURCE, PRE, POST) if other not in shown]
    if len(hidden) == STRIP_LINES and pane not in CODE:
        hidden.remove(PRE)
    lines = [_strip_matches(panes, pane, line, other, width) for other in hidden]
    return lines if len(lines) == STRIP_LINES else [*lines, _strip_kernels(panes, pane, line, width)]


def _strip_head(word: str) -> Piece:
    return f" {word:<{LABEL - 1}}", tokens.LABEL


def _strip_matches(panes: Panes, pane: int, line: int, other: int, width: int) -> list[Piece]:
    """Show the first corresponding line of a hidden pane, the names of further nodes, and the number of all."""
    head = _strip_head(STRIP_HEADS[other])
    lines = panes.matches(pane, line, other) if other in panes.documents else []
    if not lines:
        return [head, ("nothing" if other in panes.documents else "absent", tokens.DIM)]
    place, text, names = f"{lines[0] + 1}", _text(panes, other, lines[0]), ""
    if other == SOURCE:
        if lines[0] in panes.places:
            source_place = panes.unit.places[panes.places[lines[0]]]
            place = f"{PurePosixPath(source_place.file).name}:{source_place.line}"
            text = source_place.code.partition("\n")[0].strip()
        count = f"  and {len(lines) - 1} more" if len(lines) > 1 else ""
    else:
        names = "".join(f" · {_text(panes, other, n).partition(' = ')[0]}" for n in lines[1 : NAMED + 1])
        count = f"  {fmt.plural(len(lines), 'node')}" if len(lines) > 1 else ""
    sign = "≈ " if panes.is_derived_between(pane, line, other) else ""
    room = max(width - LABEL - cells(sign) - cells(place) - 2 - cells(count) - 1, LABEL)
    text = formatting.end(text, max(room - cells(names), room * 3 // 5))
    names = formatting.end(names, room - cells(text))
    return [head, (sign, tokens.WARN), (f"{place}  ", tokens.DIM), text, (names, tokens.DIM), (count, tokens.DIM)]


def _text(panes: Panes, pane: int, line: int) -> str:
    document = panes.documents[pane]
    if line >= len(document):
        return ""
    line_text = document.line(line)
    return without(line_text, left_out(document.language, line_text.text)).text.strip()


def _strip_kernels(panes: Panes, pane: int, line: int, width: int) -> list[Piece]:
    """Show the kernels of a line with their letters, how many of the unit they are, and the time that they took."""
    head, kernels = _strip_head(RUNS), panes.kernels_at(pane, line)
    if not kernels:
        return [head, ("nothing" if any(code in panes.documents for code in CODE) else "absent", tokens.DIM)]
    sign = "≈ " if panes.is_derived_between(pane, line, kernels[0].call_pane) else ""
    count = f"  {len(kernels)} of {fmt.plural(len(panes.unit.kernels), 'kernel')}{_time(panes, kernels)}"
    room = max(width - LABEL - cells(sign) - cells(count) - 1, LABEL)
    return [head, (sign, tokens.WARN), *_kernel_names(panes, kernels, room), (count, tokens.DIM)]


def _kernel_names(panes: Panes, kernels: Sequence[Kernel], room: int) -> list[Piece]:
    """List kernels by letter and name as far as there is room; a further call of a kernel has its handle alone: `:23`."""
    pieces: list[Piece] = []
    for number, kernel in enumerate(kernels[:NAMED]):
        is_again = number > 0 and kernels[number - 1].name == kernel.name
        letter = panes.letters.letter(kernel)
        separator = " · " if number else ""
        name = kernel.key.removeprefix(kernel.name) if is_again else kernel.key
        left = room - cells(separator) - len(letter) - 1
        if not number:
            is_next_again = len(kernels) > 1 and kernels[1].name == kernel.name
            reserved = AGAIN if is_next_again else len(MORE) if len(kernels) > 1 else 0
            name = formatting.middle(name, max(min(left - reserved, LONGEST), 1))
        elif cells(name) > left - (len(MORE) if number < len(kernels) - 1 else 0):
            pieces.append((MORE, tokens.DIM))
            break
        pieces += [separator, (f"{letter} ", tokens.STRONG), name]
        room = left - cells(name)
    else:
        if len(kernels) > NAMED:
            pieces.append((MORE, tokens.DIM))
    return pieces


def _time(panes: Panes, kernels: Sequence[Kernel]) -> str:
    """Return the time of kernels in a profile; '' without one."""
    times = [panes.costs.get(kernel.call_pane, {}).get(line - 1) for kernel in kernels for line in kernel.call_lines[:1]]
    measured = [us for us in times if us is not None]
    return f" · {duration(sum(measured))} {panes.cost_of}".rstrip() if measured else ""
