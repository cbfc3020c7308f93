"""Provenance mode: source, graphs and generated code side by side; the cursor in one pane lights up what it became in the
others.

What belongs together is a `Correspondence` (`analyses/provenance/`); this screen lays out panes, follows the cursor and
says what is known of the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import ClassVar

from textual import on
from textual.binding import BindingType

from tltui.analyses.provenance.provenance import (
    CPP,
    KERNEL,
    PANES,
    POST,
    PRE,
    PY,
    SOURCE,
    Provenance,
    UnitProvenance,
    provenance_of,
)  # fmt: skip
from tltui.analyses.provenance.result import correspondence
from tltui.commands import FOOTER_PROVENANCE, Where
from tltui.documents.build import build
from tltui.documents.names import Names, names_of
from tltui.documents.parts.provenance import coverage_line, selection_document
from tltui.documents.parts.source_lines import source_lines
from tltui.documents.titles import called
from tltui.finding_commands import Situation
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile
from tltui.screens.panes import PanesScreen, fault_document
from tltui.screens.surroundings import Surroundings
from tltui.screens.workbench import Output
from tltui.text import tokens
from tltui.text.correspondence import LineGroups
from tltui.text.document import Builder, Document, Options, Piece
from tltui.text.filename import safe_name
from tltui.widgets.bindings import bindings
from tltui.widgets.document_view import DocumentView
from tltui.widgets.marked_view import MarkedView
from tltui.work.scheduler import Place, Steps

WIDTHS = ((100, 2), (180, 3), (10_000, 4))
"""Columns below which so many panes are shown."""
FIRST_CHOICE = {2: (SOURCE, PY, CPP), 3: (PRE, POST, PY, CPP), 4: (SOURCE, PRE, POST, PY, CPP)}
CODE = (PY, CPP, KERNEL)


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """The texts of a unit, read and parsed."""

    number: int
    provenance: Provenance
    documents: dict[int, Document]
    names: dict[int, Names]
    groups: LineGroups | None


class ProvenanceScreen(PanesScreen[None]):
    """The mode, for one compile."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.PROVENANCE)
    WHERE = Where.PROVENANCE
    FOOTER = FOOTER_PROVENANCE

    def __init__(self, around: Surroundings, compile_: Compile, start: Artifact | None, line: int | None = None) -> None:
        """`start`: the text that one comes from, `line`: the one of it that is under the cursor, from 0."""
        super().__init__(around)
        self.compile_ = compile_
        self._start = start
        self._start_line = line
        self._found: Provenance | None = None
        self._number = 0
        self._chosen: tuple[int, ...] = ()
        self._documents: dict[int, Document] = {}
        self._names: dict[int, Names] = {}
        self._groups: LineGroups | None = None
        self._line = (PRE, 0)

    # layout

    def made_panes(self) -> Iterator[DocumentView]:
        """A pane for each text, of which some are shown."""
        for pane, name in enumerate(PANES):
            view = MarkedView(mouse=self.mouse, ascii_only=self.ascii_only, id=f"pane-{name}")
            view.display = False
            view.on_position = partial(self._moved, pane)
            view.on_hover = partial(self._hovered, pane)
            view.title_of = self._title_of
            yield view

    @property
    def shown_panes(self) -> list[DocumentView]:
        """The chosen panes, from the left."""
        return [self.view(pane) for pane in self._chosen or (PRE,)]

    def on_mount(self) -> None:
        """Read the compile off the UI thread."""
        self.say_above([(f" {called(self.compile_)} ", tokens.TITLE), ("reading graphs and code …", tokens.DIM)])
        self._load(0, self._start.unit if self._start is not None else None)

    def view(self, pane: int) -> MarkedView:
        """The widget of a pane."""
        return self.query_one(f"#pane-{PANES[pane]}", MarkedView)

    @property
    def unit(self) -> UnitProvenance | None:
        """The unit that is shown."""
        return self._found.units[self._number] if self._found and self._found.units else None

    @property
    def pane(self) -> int:
        """The pane that has the focus."""
        return next((pane for pane in self._chosen if self.view(pane).has_focus), self._chosen[0] if self._chosen else PRE)

    # loading

    def _load(self, number: int, wanted: int | None = None) -> None:
        options = Options(width=max(self.size.width // max(self._count(), 1) - 8, 40))
        self.scheduler.drop(self)
        self.scheduler.do(self._read(number, wanted, self._found, options), owner=self, fault=self._failed)

    def on_unmount(self) -> None:
        """Nobody waits any more."""
        self.scheduler.drop(self)

    def _failed(self, error: BaseException) -> None:
        ref = str(self.compile_.ref)
        found = self._found or Provenance(1, ref, ())
        said = fault_document("", "provenance", f"the provenance of {ref}", error)
        self.answer(partial(self._show, ReadUnit(0, found, {PRE: said}, {}, None)))

    def _read(self, number: int, wanted: int | None, found: Provenance | None, options: Options) -> Steps:
        """Analyse the compile, make the documents of one unit, and find out what their names mean."""
        documents: dict[int, Document] = {}
        groups = None
        found = found or provenance_of(self.compile_)
        yield None
        if wanted is not None:
            number = next((n for n, unit in enumerate(found.units) if unit.number == wanted), number)
        if found.units:
            unit = found.units[number]
            source = source_lines(f"@source:{self.compile_.ref}", "your source", unit.places, options)
            documents[SOURCE] = source.document
            for pane in (PRE, POST, *CODE):
                if unit.panes[pane].ref:
                    yield None
                    documents[pane] = build(self.trace, unit.panes[pane].ref, options)
            yield Place.LONG
            groups = correspondence(unit, source.lines)
        yield Place.LONG
        names = {pane: known for pane, document in documents.items() if (known := names_of(document)) is not None}
        self.answer(partial(self._show, ReadUnit(number, found, documents, names, groups)))

    def _show(self, read: ReadUnit) -> None:
        """Show what was read."""
        is_first = self._found is None
        self._found, self._number = read.provenance, read.number
        self._documents, self._names, self._groups = read.documents, read.names, read.groups
        if not read.documents:
            said = Builder(f"@provenance:{self.compile_.ref}", "provenance")
            said.add(f"{self.compile_.ref} has no lowered graph: nothing became code")
            self._documents = {PRE: said.document()}
        if not set(self._chosen) <= self._documents.keys() or not self._chosen:
            self._chosen = self._default()
        for pane, document in self._documents.items():
            view = self.view(pane)
            view.group_of = partial(self._band, pane)
            view.set_pinned(())
            view.show(document, at=self._start_line if self._is_start(pane) else None)
        self._arrange(self._chosen)
        first = self._first_pane() if is_first else self.pane
        if not self._start_line and self._groups is not None and not self._groups.groups(first, self.view(first).current_line()):
            self._step(False, first)
        self._start_line = None
        self.view(first).focus()
        self._say_unit()

    def _first_pane(self) -> int:
        return next((pane for pane in self._chosen if self._is_start(pane)), self._chosen[0])

    def _is_start(self, pane: int) -> bool:
        """Whether a pane shows the text that one comes from."""
        return self._start is not None and self._documents[pane].ref == str(self._start.ref)

    def _title_of(self, document: Document) -> str:
        """Its title without what the line above says."""
        unit = self.unit
        title = document.title.removeprefix(f"{called(self.compile_)} ")
        return title.removesuffix(f" · {unit.unit}") if unit is not None else title

    def _band(self, pane: int, line: int) -> int | None:
        if self._groups is None:
            return None
        band = self._groups.bands(pane, line, line)[0]
        return None if band < 0 else band

    # panes

    def _count(self) -> int:
        return next(count for width, count in WIDTHS if self.size.width < width)

    def _default(self) -> tuple[int, ...]:
        """The panes of the first choice that there are; others fill their places."""
        count = self._count()
        there = sorted(self._documents)
        chosen = [pane for pane in FIRST_CHOICE[count] if pane in there][:count]
        chosen += [pane for pane in reversed(there) if pane not in chosen][: count - len(chosen)]
        return tuple(sorted(chosen))

    def _arrange(self, shown: tuple[int, ...]) -> None:
        for pane in range(len(PANES)):
            self.view(pane).display = pane in shown

    def on_resize(self) -> None:
        """More or fewer panes fit."""
        if self._documents and len(self._chosen) != min(self._count(), len(self._documents)):
            focused = self.pane
            self._chosen = self._default()
            self._arrange(self._chosen)
            (self.view(focused) if focused in self._chosen else self.view(self._chosen[0])).focus()

    def action_choose_panes(self) -> None:
        """The next choice of panes."""
        there = sorted(self._documents)
        choices = list(combinations(there, min(self._count(), len(there))))
        place = choices.index(self._chosen) if self._chosen in choices else -1
        self._chosen = choices[(place + 1) % len(choices)]
        self._arrange(self._chosen)
        self.view(self._chosen[0]).focus()
        self.tell(f"panes: {' · '.join(PANES[pane] for pane in self._chosen)}")

    def action_next_pane(self) -> None:
        """The pane to the right."""
        self.go_to_pane(1)

    def action_previous_pane(self) -> None:
        """The pane to the left."""
        self.go_to_pane(-1)

    def action_zoom(self) -> None:
        """One pane over the whole width, or all again."""
        shown = [pane for pane in range(len(PANES)) if self.view(pane).display]
        focused = self.pane
        self._arrange((focused,) if len(shown) > 1 else self._chosen)
        self.view(focused).focus()

    # following

    def _moved(self, pane: int, moved: DocumentView.Moved) -> None:
        """The cursor of a pane moved: the others show what the line became, or came from."""
        if self.is_following or not self.view(pane).has_focus:
            return
        self._line = (pane, moved.line)
        self._follow(pane, moved.line)
        self._say_line(pane, moved.line)
        self.say_place(moved)

    def _hovered(self, pane: int, line: int) -> None:
        """The mouse is over a line, -1 for none any more: what it became lights up, and nothing moves."""
        if line < 0:
            pane, line = self._line
        if not self.is_following:
            self._follow(pane, line, moves=False)
            self._say_line(pane, line)

    def _follow(self, pane: int, line: int, moves: bool = True) -> None:
        with self.following():
            for other in self._chosen:
                lines = self._lines(pane, line, other)
                self.view(other).set_matches(lines, follow=moves and other != pane)

    def _lines(self, pane: int, line: int, other: int) -> list[int]:
        if self._groups is None:
            return []
        return [n for first, last in self._groups.matches(pane, line, other) for n in range(first, last + 1)]

    def action_pin(self) -> None:
        """Keep what is lit now while the cursor moves on; again lets it go."""
        pane, line = self._line
        pinned = any(self.view(other).has_pinned for other in self._chosen)
        for other in range(len(PANES)):
            self.view(other).set_pinned(() if pinned else self._lines(pane, line, other))
        self.tell("unpinned" if pinned else " pinned: P lets it go")

    def action_next_match(self) -> None:
        """The next line of this pane that belongs to the same."""
        self._match(False)

    def action_previous_match(self) -> None:
        """The line of this pane before that belongs to the same."""
        self._match(True)

    def _match(self, back: bool) -> None:
        pane = self.pane
        line = self.view(pane).current_line()
        starts = [first for first, _ in self._groups.matches(pane, line, pane)] if self._groups else []
        later = [start for start in starts if start < line] if back else [start for start in starts if start > line]
        if not later:
            self.tell(f"no {'earlier' if back else 'further'} match in this pane")
        else:
            self.view(pane).move_to(later[-1] if back else later[0], 0)

    def action_next_mapped(self) -> None:
        """The next line that is mapped."""
        self._step(False, self.pane)

    def action_previous_mapped(self) -> None:
        """The mapped line before."""
        self._step(True, self.pane)

    def _step(self, back: bool, pane: int) -> None:
        line = self.view(pane).current_line()
        found = self._groups.next_line(pane, line, back) if self._groups else None
        if found is None:
            self.tell(f"no {'earlier' if back else 'further'} line of this pane is mapped")
        else:
            self.view(pane).move_to(found, 0)

    def action_next_unit(self) -> None:
        """The next unit: forward, backward …"""
        if self._found is None or len(self._found.units) < 2:
            self.tell("this compile has one unit only")
        else:
            self._load((self._number + 1) % len(self._found.units))

    def situation(self) -> Situation:
        """What there is now, as far as commands depend on it."""
        view = self.focused_pane
        has_units = self._found is not None and len(self._found.units) > 1
        return Situation(
            Where.PROVENANCE, has_compile=True, has_sections=view.has_sections, has_hits=bool(view.hits), has_units=has_units
        )

    # what the bars say

    def _say_unit(self) -> None:
        unit = self.unit
        if unit is None or self._found is None:
            self.say_above([(f" {called(self.compile_)} ", tokens.TITLE)])
            return
        name, _, _ = self.compile_.frame.code
        units = f"unit {self._number + 1}/{len(self._found.units)}" if len(self._found.units) > 1 else ""
        compiled = f" {called(self.compile_)} {name or ''}  "
        left: list[Piece] = [(compiled, tokens.TITLE), f"{unit.unit}  ", (f"{units}  ", tokens.DIM)]
        said, mapped = coverage_line(unit)
        self.say_above([*left, (said, tokens.DIM if mapped else tokens.WARN)])

    def _say_line(self, pane: int, line: int) -> None:
        names = self._names.get(pane)
        said = names.about_line(line) if names is not None else ""
        if not said and self._groups is not None and not self._groups.groups(pane, line):
            said = "this line is not mapped: . and , go to the next and previous one that is"
        if said:
            self.tell(said, tokens.DIM)
        else:
            self.status.quiet()

    # out

    def action_export(self) -> None:
        """The line and all that it maps to, to a file."""
        pane, line = self._line
        unit = self.unit
        if unit is None or self._groups is None:
            self.tell("there is nothing to export")
            return
        chosen = selection_document(unit, self._groups, self._documents, pane, line)
        name = safe_name(f"{self.compile_.ref}_{unit.unit}_{PANES[pane]}_{line + 1}", ".txt")
        self.ask_where("write this line and what it maps to", Output(lambda: chosen), name)

    def action_leave(self) -> None:
        """Back to the browser, unless something is to be closed first."""
        if not self.closes_innermost():
            self.dismiss(None)

    # what the panes ask

    @on(DocumentView.NameFollowed)
    def _name_followed(self, message: DocumentView.NameFollowed) -> None:
        names = self._names.get(self.pane)
        line = names.definition(message.name, message.line) if names is not None else None
        if line is None or line == message.line:
            message.view.action_search_word()
        else:
            message.view.move_to(line, 0)

    @on(DocumentView.Followed)
    def _followed(self, message: DocumentView.Followed) -> None:
        self.tell(message.target.removeprefix("file:"))
