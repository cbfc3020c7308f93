"""Panes of provenance mode: choice, titles, and correspondence between their lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import PurePosixPath

from tltui.documents import format as fmt
from tltui.model.run import Run
from tltui.questions.provenance.graph_names import Names
from tltui.questions.provenance.records import CPP, DERIVED, KERNEL, PANES, POST, PRE, PY, SOURCE, Kernel, UnitProvenance
from tltui.questions.provenance.unit_sections import LayerTree, lines_of_layers
from tltui.questions.runtime.costs import costs_of
from tltui.text import formatting, tokens
from tltui.text.annotations import left_out, without
from tltui.text.document import Document, Piece
from tltui.text.formatting import ELLIPSIS, cells, crop_left
from tltui.text.frozen import frozen
from tltui.text.line_correspondence import LineGroups

LAYERS = -1
"""The tree of layers, at the left of all others. `LineGroups` knows nothing of it: what is in a layer corresponds to it."""
NAMES = (*PANES, "layers")
ALL = (LAYERS, *range(len(PANES)))
CODE = (PY, CPP, KERNEL)
GRAPHS = (PRE, POST)
WORDS = ("source", "pre", "post", "code", "code", "kernels", "layers")
"""What a pane is called, in one word."""
WIDTHS = ((100, 1), (200, 3), (1 << 30, 4))
"""Columns below which so many panes stand side by side."""
WANTED = (SOURCE, POST, PY, CPP, LAYERS, PRE, KERNEL)
"""Which panes are shown where not all of them fit, the first ones first."""
SHARES = {LAYERS: 0.8, **dict.fromkeys(CODE, 1.5)}
"""How much of the width a pane gets beside one of the graphs or of the source, which get 1."""
TRAIL = 200
"""Places that `backspace` knows."""


def fitting(width: int) -> int:
    """Return the number of panes that fit side by side into `width` columns."""
    return next(count for limit, count in WIDTHS if width < limit)


def first_choice(width: int, available: Iterable[int], lines: int = 1) -> tuple[int, ...]:
    """Return the initially visible panes, left to right.

    If only one fits, `tab` cycles through the result. `lines` is the number of known source lines.
    """
    panes = [pane for pane in WANTED if pane in set(available)]
    if not lines and SOURCE in panes:  # an empty pane has no claim to a place
        panes = [*(pane for pane in panes if pane != SOURCE), SOURCE]
    count = fitting(width)
    return tuple(sorted(panes if count == 1 else panes[:count]))


def next_choice(chosen: tuple[int, ...], available: Iterable[int]) -> tuple[int, ...]:
    """Return the next combination of as many panes."""
    choices = list(combinations(sorted(available), len(chosen)))
    return choices[(choices.index(chosen) + 1) % len(choices)] if chosen in choices else chosen


def share(pane: int) -> float:
    """Return the relative width of a pane."""
    return SHARES.get(pane, 1.0)


@frozen
class Spot:
    """A cursor position in the mode."""

    unit: int
    pane: int
    line: int
    column: int = 0


@dataclass(slots=True)
class Trail:
    """The history of cursor positions for `backspace`, one entry per jump."""

    spots: list[Spot] = field(default_factory=list)

    def leave(self, spot: Spot) -> None:
        """Push a position before a jump."""
        if not self.spots or self.spots[-1] != spot:
            self.spots.append(spot)
            del self.spots[:-TRAIL]

    def back(self) -> Spot | None:
        """Pop the previous position; None at the first one."""
        return self.spots.pop() if self.spots else None


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


NOT_MAPPED = "no mapping for this line; . and , go to the next and previous mapped line"


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
        places: Sequence[int] = (),
        files: Mapping[int, str] | None = None,
        tree: LayerTree | None = None,
    ) -> None:
        """Initialize from the texts and groups of a unit.

        `documents`: the untruncated texts. `places`: for each place of the unit its line in the source document, -1 for
        none. `files`: the path of a pane's content if it is one file. `tree`: the content of the pane `LAYERS`.
        """
        self.unit = unit
        self.documents = documents
        self.groups = groups
        self.names = names or {}
        self._places = {line: n for n, line in enumerate(places) if line >= 0}
        self._placed = sorted(self._places)
        self._files = files or {}
        self._kernels: dict[tuple[int, int], list[Kernel]] = {}
        for kernel in unit.kernels:
            for line in kernel.call_lines:
                self._kernels.setdefault((kernel.call_pane, line - 1), []).append(kernel)
        self._nodes = {node.name: node.line - 1 for born in unit.lines for node in born.post_nodes}
        self._tree = tree
        self._in_layers = lines_of_layers(unit, tree, self._places) if tree is not None else {}
        self._derived = self._derived_lines()
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

    def band(self, pane: int, line: int) -> int | None:
        """Return the band number of a line, for its letter and color; None for none."""
        band = self.groups.bands(pane, line, line)[0] if pane != LAYERS else -1
        return None if band < 0 else band

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
        """Return the kernels of a line: called or defined there, else computed from it."""
        if numbers := self._kernels.get((pane, line)):
            return numbers
        defined = [
            kernel for kernel in self.unit.kernels
            if kernel.definition and kernel.definition_pane == pane and kernel.definition[0] <= line + 1 <= kernel.definition[1]
        ]  # fmt: skip
        if defined:
            return defined
        kernels: dict[str, Kernel] = {}
        for code in CODE:
            if pane in CODE and code != pane:
                continue
            for n in self.matches(pane, line, code):
                kernels.update((kernel.key, kernel) for kernel in self._kernels.get((code, n), ()))
        return list(kernels.values())

    # what is derived

    def is_derived(self, pane: int, line: int) -> bool:
        """Return whether a line's links to nodes or kernels were derived, not recorded by torch."""
        return line in self._derived.get(pane, ())

    def _is_derived_between(self, pane: int, line: int, other: int) -> bool:
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
        """Return a pane's title: one word, and the file at the cursor, cut at its left."""
        word, file = WORDS[pane], self._files.get(pane, "")
        if pane == SOURCE and (place := self._place_above(line)):
            file = place
        room = width - cells(word) - 1
        return f"{word} {from_right(file, room)}" if file and room > 4 else word

    def _place_above(self, line: int) -> str:
        """Return `FILE:LINE` of a source line, or at least its file."""
        if line in self._places:
            return str(self.unit.places[self._places[line]])
        if not self._placed:
            return ""
        above = self._placed[max(bisect_right(self._placed, line) - 1, 0)]
        return self.unit.places[self._places[above]].file

    def about(self, pane: int, line: int) -> str:
        """Describe a line: a node's type and readers, or a kernel's operators and run time."""
        texts: list[str] = []
        if line in self.costs.get(pane, ()):
            texts.append(f"{duration(self.costs[pane][line])} {self.cost_of}".rstrip())
        if pane in CODE and self.is_mapped(pane, line) and (kernels := self.kernels_at(pane, line)):
            texts += [_about_kernel(kernel) for kernel in kernels[:1]]
            texts += [f"and {len(kernels) - 1} more calls"] if len(kernels) > 1 else []
        elif pane == LAYERS and self._tree is not None and line in self._tree.below:
            below = self._tree.below[line]
            texts += [below.path, f"{fmt.plural(len(below.post), 'node')} in {fmt.plural(len(below.kernels), 'kernel')}"]
        elif pane == SOURCE and self.is_mapped(pane, line):
            kernels = self.kernels_at(pane, line)
            texts.append(f"became {fmt.plural(len(self.matches(pane, line, POST)), 'node')}")
            if kernels:
                texts.append(f"in {_first_names([kernel.key for kernel in kernels])}")
        elif pane in self.names and (about := self.names[pane].about_line(line)):
            texts.append(about)
        if self.is_derived(pane, line):
            texts.append(f"≈ {'nodes' if pane in CODE else 'kernel'} derived from the code, not recorded by torch")
        if not texts and not self.is_mapped(pane, line):
            return NOT_MAPPED
        return " · ".join(texts)

    def correspondences(self, pane: int, line: int, width: int) -> list[list[Piece]]:
        """Return three lines about matches in hidden panes: source line, node, kernel."""
        code = next((item for item in CODE if item in self.documents and item != pane), None)
        panes = [item for item in (SOURCE, PRE, POST) if item != pane] + ([code] if code is not None and pane not in CODE else [])
        if pane == LAYERS:
            panes.remove(PRE)
        return [self._correspondence(pane, line, other, width) for other in panes[-3:]]

    def _correspondence(self, pane: int, line: int, other: int, width: int) -> list[Piece]:
        lines = self.matches(pane, line, other) if other in self.documents else []
        head: Piece = (f" {WORDS[other]:<8}", tokens.LABEL)
        if not lines:
            return [head, ("nothing" if other in self.documents else "absent", tokens.DIM)]
        place, text, count = f"{lines[0] + 1}", self._text(other, lines[0]), len(lines)
        if other in CODE and (kernels := self.kernels_at(pane, line)):
            place, text, count = f"{kernels[0].call_lines[0]}" if kernels[0].call_lines else place, kernels[0].key, len(kernels)
        elif other == SOURCE and lines[0] in self._places:
            source_place = self.unit.places[self._places[lines[0]]]
            place = f"{PurePosixPath(source_place.file).name}:{source_place.line}"
            text = source_place.code.partition("\n")[0].strip()
        more = f"  and {count - 1} more" if count > 1 else ""
        sign = "≈ " if self._is_derived_between(pane, line, other) else ""
        room = max(width - 9 - cells(sign) - cells(place) - 2 - cells(more) - 1, 8)
        return [head, (sign, tokens.WARN), (f"{place}  ", tokens.DIM), formatting.end(text, room), (more, tokens.DIM)]

    def _text(self, pane: int, line: int) -> str:
        document = self.documents[pane]
        if line >= len(document):
            return ""
        line_text = document.line(line)
        return without(line_text, left_out(document.language, line_text.text)).text.strip()

    # what it costs

    def take_costs(self, costs: UnitCosts) -> None:
        """Set the run times from a profile, to show beside calls, nodes and lines."""
        results: dict[int, dict[int, float]] = {SOURCE: {}, POST: {}}
        for kernel in self.unit.kernels:
            if kernel.key in costs.kernels:
                for line in kernel.call_lines[:1]:
                    results.setdefault(kernel.call_pane, {})[line - 1] = costs.kernels[kernel.key]
        results[POST] = {self._nodes[name]: us for name, us in costs.nodes.items() if name in self._nodes}
        for line, n in self._places.items():
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
