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
    """How many panes stand side by side in so many columns."""
    return next(count for limit, count in WIDTHS if width < limit)


def first_choice(width: int, there: Iterable[int], lines: int = 1) -> tuple[int, ...]:
    """The panes that are shown at first, from the left; where one alone has the place, all between which `tab` turns. `lines`: how
    many lines of source are known."""
    wanted = [pane for pane in WANTED if pane in set(there)]
    if not lines and SOURCE in wanted:  # an empty pane has no claim to a place
        wanted = [*(pane for pane in wanted if pane != SOURCE), SOURCE]
    count = fitting(width)
    return tuple(sorted(wanted if count == 1 else wanted[:count]))


def next_choice(chosen: tuple[int, ...], there: Iterable[int]) -> tuple[int, ...]:
    """Another choice of as many panes."""
    choices = list(combinations(sorted(there), len(chosen)))
    return choices[(choices.index(chosen) + 1) % len(choices)] if chosen in choices else chosen


def share(pane: int) -> float:
    """How much of the width a pane gets beside others."""
    return SHARES.get(pane, 1.0)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the mode."""

    unit: int
    pane: int
    line: int
    column: int = 0


@dataclass(slots=True)
class Trail:
    """Where one was inside the mode, for `backspace`: each place from which a key led far away."""

    spots: list[Spot] = field(default_factory=list)

    def leave(self, spot: Spot) -> None:
        """Somebody is led away from here."""
        if not self.spots or self.spots[-1] != spot:
            self.spots.append(spot)
            del self.spots[:-TRAIL]

    def back(self) -> Spot | None:
        """The place before; None at the first one."""
        return self.spots.pop() if self.spots else None


def from_right(path: str, width: int) -> str:
    """A path whose directories are left out from the left: `…/llama/modeling_llama.py:311`. Its end is always there."""
    if cells(path) <= width:
        return path
    parts = path.split("/")
    for first in range(1, len(parts)):
        tail = f"{ELLIPSIS}/{'/'.join(parts[first:])}"
        if cells(tail) <= width:
            return tail
    return ELLIPSIS + crop_left(parts[-1], max(width - 1, 0))


NOT_MAPPED = "this line maps to nothing: . and , go to the next and previous one that does"


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """What the kernels of a unit took, in µs."""

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
    """What a profile tells of a unit; None where none does."""
    costs = costs_of(run)
    if costs is None:
        return None
    kernels = {key: costs.scaled(ref, own.time.us) for key, own in costs.of_kernels(ref, unit).items()}
    return UnitCosts(kernels, costs.of_nodes(ref, unit), costs.of_lines(ref, unit), costs.heat, costs.of)


class Panes:
    """The texts of one unit, and what corresponds in them."""

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
        """`documents`: the whole texts. `places`: the line of each place of the unit in that of the source, -1 for none. `files`:
        the path of what a pane shows, where it is one file. `tree`: what the pane `LAYERS` shows."""
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
        self._nodes = {node.name: node.line - 1 for born in unit.lines for node in born.post}
        self._tree = tree
        self._in_layers = lines_of_layers(unit, tree, self._places) if tree is not None else {}
        self._derived = self._derived_lines()
        self.costs: dict[int, dict[int, float]] = {}
        """Pane → line → µs, as far as a profile tells."""
        self.heat: Callable[[float], float] = lambda us: 0.0
        self.cost_of = ""

    # what corresponds

    def matches(self, pane: int, line: int, other: int) -> list[int]:
        """The lines of the pane `other` that correspond to a line."""
        if pane == LAYERS:
            return [line] if other == LAYERS and line in self._in_layers else list(self._in_layers.get(line, {}).get(other, ()))
        if other == LAYERS:
            return self._innermost(pane, line)
        return [n for first, last in self.groups.matches(pane, line, other) for n in range(first, last + 1)]

    def _innermost(self, pane: int, line: int) -> list[int]:
        """The lines of the innermost layers that a line belongs to; of what belongs to several alike all of them."""
        within = [n for n, found in self._in_layers.items() if line in found.get(pane, ())]
        if self._tree is None or not self.is_mapped(pane, line):
            return []
        paths = [self._tree.below[n].path for n in within]
        return [n for n, path in zip(within, paths, strict=True) if not any(own.startswith(f"{path}.") for own in paths)]

    def best(self, pane: int, lines: Sequence[int]) -> Sequence[int]:
        """Of lines that correspond to something those that the cursor should go to: calls of kernels, not the comments above."""
        return [line for line in lines if (pane, line) in self._kernels] or lines

    def is_mapped(self, pane: int, line: int) -> bool:
        """Whether anything corresponds to a line."""
        return line in self._in_layers if pane == LAYERS else bool(self.groups.groups(pane, line))

    def band(self, pane: int, line: int) -> int | None:
        """The number of what a line belongs to, for its letter and colour; None for none."""
        band = self.groups.bands(pane, line, line)[0] if pane != LAYERS else -1
        return None if band < 0 else band

    def next_mapped(self, pane: int, line: int, back: bool = False) -> int | None:
        """The next (`back`: previous) line of a pane that corresponds to something."""
        if pane != LAYERS:
            return self.groups.next_line(pane, line, back)
        return max((n for n in self._in_layers if n < line), default=None) if back else min(
            (n for n in self._in_layers if n > line), default=None
        )

    def next_match(self, pane: int, line: int, back: bool = False) -> int | None:
        """The next (`back`: previous) place in the same pane that belongs to the same."""
        starts = [first for first, _ in self.groups.matches(pane, line, pane)] if pane != LAYERS else []
        found = [start for start in starts if (start < line if back else start > line)]
        return (found[-1] if back else found[0]) if found else None

    def kernels_at(self, pane: int, line: int) -> list[Kernel]:
        """The kernels that a line is: the one that it calls or defines, else those that compute what it says."""
        if own := self._kernels.get((pane, line)):
            return own
        defined = [
            kernel for kernel in self.unit.kernels
            if kernel.definition and kernel.definition_pane == pane and kernel.definition[0] <= line + 1 <= kernel.definition[1]
        ]  # fmt: skip
        if defined:
            return defined
        found: dict[str, Kernel] = {}
        for code in CODE:
            if pane in CODE and code != pane:
                continue
            for n in self.matches(pane, line, code):
                found.update((kernel.key, kernel) for kernel in self._kernels.get((code, n), ()))
        return list(found.values())

    # what is derived

    def is_derived(self, pane: int, line: int) -> bool:
        """Whether what leads from a line to nodes or kernels was derived, and not recorded by torch."""
        return line in self._derived.get(pane, ())

    def _is_derived_between(self, pane: int, line: int, other: int) -> bool:
        """Whether what a line leads to in another pane was derived."""
        if not {pane, other} & {*CODE}:
            return False
        kernels = self.kernels_at(pane, line)
        told = [own.lines_from if SOURCE in (pane, other) else own.nodes_from for own in kernels]
        return bool(told) and all(source in DERIVED for source in told)

    def _derived_lines(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        recorded: set[str] = set()
        derived: set[str] = set()
        for kernel in self.unit.kernels:
            if kernel.nodes_from in DERIVED:
                derived.update(kernel.post_nodes)
                found.setdefault(kernel.call_pane, set()).update(line - 1 for line in kernel.call_lines)
            else:
                recorded.update(kernel.post_nodes)
        found[POST] = {self._nodes[name] for name in derived - recorded if name in self._nodes}
        return found

    # where keys lead

    def follow(self, pane: int, line: int, shown: Sequence[int]) -> tuple[int, Sequence[int]] | None:
        """What `enter` on a line leads to, among the panes `shown` (from the left): one step back towards the source, from code to
        the node, from a node to the line that was written; from there, and from a layer, to the code that runs. The pane, and the
        lines there."""
        order = [own for own in shown if own != LAYERS]
        at = order.index(pane) if pane in order else len(order)
        for other in (*reversed(order[:at]), *reversed(order[at + 1 :])):
            if lines := self.matches(pane, line, other):
                return other, self.best(other, lines)
        return None

    def definition(self, pane: int, line: int, name: str, shown: Sequence[int]) -> tuple[int, int] | None:
        """Where a name is defined: a kernel where its code is, others in their own text or as a node of a graph that is shown. None
        where it is nowhere, or here."""
        kernel = next((own for own in self.unit.kernels if own.name == name and own.definition), None) if pane in CODE else None
        if kernel is not None and kernel.definition is not None:
            at = kernel.definition_pane, kernel.definition[0] - 1
            return None if at == (pane, line) else at
        own = self.names[pane].definition(name, line) if pane in self.names else None
        if own is not None:
            return None if own == line else (pane, own)
        for other in GRAPHS:
            names = self.names.get(other)
            if pane in CODE and other in shown and names is not None and names.graph is not None:
                node = names.graph.find(name, 0)
                if node is not None:
                    return other, node.line
        return None

    def is_defined(self, pane: int, line: int, name: str) -> bool:
        """Whether a line is where a name is defined."""
        return pane in self.names and self.names[pane].definition(name, line) == line

    # what is said

    def title(self, pane: int, line: int, width: int) -> str:
        """What stands over a pane: one word, and the file that is under the cursor, cut at its left."""
        word, file = WORDS[pane], self._files.get(pane, "")
        if pane == SOURCE and (place := self._place_above(line)):
            file = place
        room = width - cells(word) - 1
        return f"{word} {from_right(file, room)}" if file and room > 4 else word

    def _place_above(self, line: int) -> str:
        """`FILE:LINE` of a line of the source, of its file at least."""
        if line in self._places:
            return str(self.unit.places[self._places[line]])
        if not self._placed:
            return ""
        above = self._placed[max(bisect_right(self._placed, line) - 1, 0)]
        return self.unit.places[self._places[above]].file

    def about(self, pane: int, line: int) -> str:
        """What is known of a line: of a node its type and who reads it, of a kernel what it computes and what it took."""
        said: list[str] = []
        if line in self.costs.get(pane, ()):
            said.append(f"{duration(self.costs[pane][line])} {self.cost_of}".rstrip())
        if pane in CODE and self.is_mapped(pane, line) and (kernels := self.kernels_at(pane, line)):
            said += [_about_kernel(kernel) for kernel in kernels[:1]]
            said += [f"and {len(kernels) - 1} more calls"] if len(kernels) > 1 else []
        elif pane == LAYERS and self._tree is not None and line in self._tree.below:
            below = self._tree.below[line]
            said += [below.path, f"{fmt.plural(len(below.post), 'node')} in {fmt.plural(len(below.kernels), 'kernel')}"]
        elif pane == SOURCE and self.is_mapped(pane, line):
            kernels = self.kernels_at(pane, line)
            said.append(f"became {fmt.plural(len(self.matches(pane, line, POST)), 'node')}")
            if kernels:
                said.append(f"in {_some([kernel.key for kernel in kernels])}")
        elif pane in self.names and (about := self.names[pane].about_line(line)):
            said.append(about)
        if self.is_derived(pane, line):
            said.append(f"≈ {'nodes' if pane in CODE else 'kernel'} derived from the code, not recorded by torch")
        if not said and not self.is_mapped(pane, line):
            return NOT_MAPPED
        return " · ".join(said)

    def elsewhere(self, pane: int, line: int, width: int) -> list[list[Piece]]:
        """Three lines on what corresponds to a line in the panes that are not in sight: line, node, kernel."""
        code = next((own for own in CODE if own in self.documents and own != pane), None)
        others = [own for own in (SOURCE, PRE, POST) if own != pane] + ([code] if code is not None and pane not in CODE else [])
        if pane == LAYERS:
            others.remove(PRE)
        return [self._elsewhere(pane, line, other, width) for other in others[-3:]]

    def _elsewhere(self, pane: int, line: int, other: int, width: int) -> list[Piece]:
        lines = self.matches(pane, line, other) if other in self.documents else []
        head: Piece = (f" {WORDS[other]:<8}", tokens.LABEL)
        if not lines:
            return [head, ("nothing" if other in self.documents else "is not there", tokens.DIM)]
        place, text, count = f"{lines[0] + 1}", self._text(other, lines[0]), len(lines)
        if other in CODE and (kernels := self.kernels_at(pane, line)):
            place, text, count = f"{kernels[0].call_lines[0]}" if kernels[0].call_lines else place, kernels[0].key, len(kernels)
        elif other == SOURCE and lines[0] in self._places:
            own = self.unit.places[self._places[lines[0]]]
            place, text = f"{PurePosixPath(own.file).name}:{own.line}", own.code.partition("\n")[0].strip()
        more = f"  and {count - 1} more" if count > 1 else ""
        sign = "≈ " if self._is_derived_between(pane, line, other) else ""
        room = max(width - 9 - cells(sign) - cells(place) - 2 - cells(more) - 1, 8)
        return [head, (sign, tokens.WARN), (f"{place}  ", tokens.DIM), formatting.end(text, room), (more, tokens.DIM)]

    def _text(self, pane: int, line: int) -> str:
        document = self.documents[pane]
        if line >= len(document):
            return ""
        whole = document.line(line)
        return without(whole, left_out(document.language, whole.text)).text.strip()

    # what it costs

    def take_costs(self, costs: UnitCosts) -> None:
        """A profile was read: what it says stands beside calls, nodes and lines."""
        found: dict[int, dict[int, float]] = {SOURCE: {}, POST: {}}
        for kernel in self.unit.kernels:
            if kernel.key in costs.kernels:
                for line in kernel.call_lines[:1]:
                    found.setdefault(kernel.call_pane, {})[line - 1] = costs.kernels[kernel.key]
        found[POST] = {self._nodes[name]: us for name, us in costs.nodes.items() if name in self._nodes}
        for line, n in self._places.items():
            if str(self.unit.places[n]) in costs.lines:
                found[SOURCE][line] = costs.lines[str(self.unit.places[n])]
        for line, below in self._tree.below.items() if self._tree is not None else ():
            if of := [costs.kernels[key] for key in below.kernels if key in costs.kernels]:
                found.setdefault(LAYERS, {})[line] = sum(of)
        self.costs = {pane: own for pane, own in found.items() if own}
        self.heat, self.cost_of = costs.heat, costs.of

    def hot(self, pane: int) -> list[int]:
        """The lines of a pane that took time, the dearest first."""
        own = self.costs.get(pane, {})
        return sorted(own, key=lambda line: (-own[line], line))


def duration(us: float) -> str:
    """A time in five characters at most, but for its unit: `812 µs`, `1.25 ms`."""
    if us < 1000:
        return f"{us:.1f} µs" if us < 10 else f"{us:.0f} µs"
    return f"{us / 1000:.3g} ms" if us < 1e6 else f"{us / 1e6:.3g} s"


def _about_kernel(kernel: Kernel) -> str:
    nodes, lines = len(kernel.post_nodes), len(kernel.user_lines)
    parts = [kernel.key, f"computes {_some(kernel.post_nodes)}" if nodes else "of which nodes is not known"]
    if lines:
        parts.append(f"from {_some([f'{PurePosixPath(own).name}' for own in kernel.user_lines])}")
    return " ".join(parts)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
