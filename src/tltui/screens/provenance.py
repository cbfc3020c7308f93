"""Provenance mode: source, graphs and generated code in linked panes; the cursor line is lit up in the other panes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import DescendantFocus

from tltui.commands import FOOTER_PROVENANCE, Situation, Where
from tltui.documents.format import graph_title
from tltui.documents.scope import called
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.provenance import pane_layout as layouts
from tltui.questions.provenance.graph_names import Names, names_of
from tltui.questions.provenance.pane_layout import ALL, CODE, LAYERS, NAMES, Label, Layout, Spot, Trail
from tltui.questions.provenance.pane_sections import STRIP_LINES, TITLES, Panes, UnitCosts, costs_of_unit, duration, strip_lines
from tltui.questions.provenance.provenance import POST, PRE, SOURCE, Provenance, UnitProvenance, provenance_of
from tltui.questions.provenance.records import correspondence
from tltui.questions.provenance.unit_sections import coverage_lines, layer_tree, selection_document, source_lines
from tltui.questions.stacks.tracebacks import display_name
from tltui.screens.workbench import AppContext, Output, PanesScreen, fault_document
from tltui.text import tokens
from tltui.text.annotations import Unannotated
from tltui.text.document import Builder, Document, Options, Piece
from tltui.text.formatting import cells
from tltui.text.frozen import frozen
from tltui.text.safe_files import safe_name
from tltui.text.sanitize import sanitize
from tltui.widgets.bars import CorrespondingLines
from tltui.widgets.document_view import DocumentView
from tltui.widgets.key_input import bindings
from tltui.widgets.linked_views import Heat, ProvenanceView
from tltui.work.scheduler import Place, Steps


@frozen
class ReadUnit:
    """The texts of a unit, read and parsed."""

    number: int
    provenance: Provenance
    documents: dict[int, Document]
    panes: Panes | None
    """None where there is no unit."""
    function: str = ""


def read_unit(
    run: Run, compile_: Compile, provenance: Provenance | None, wanted: Callable[[Provenance], int], options: Options,
    done: Callable[[ReadUnit], object],
) -> Steps:  # fmt: skip
    """Analyse the compile, and read the documents and names of one unit.

    `provenance`: an earlier analysis; `wanted`: chooses the unit; `done` gets the result, on the thread of the work.
    """
    provenance = provenance or provenance_of(compile_)
    yield None
    if not provenance.units:
        done(ReadUnit(0, provenance, {}, None))
        return
    number = wanted(provenance)
    unit = provenance.units[number]
    source = source_lines(f"@source:{compile_.ref}", "your source", unit.places, options)
    documents: dict[int, Document] = {SOURCE: source.document}
    for pane in (PRE, POST, *CODE):
        if unit.panes[pane].ref:
            yield None
            documents[pane] = build(run, unit.panes[pane].ref, options)
    yield None
    files, costs = _files(compile_, unit), costs_of_unit(run, provenance.ref, unit.unit)
    yield None
    layers = layers_of(compile_, provenance).unit(unit.unit)
    tree = layer_tree(f"@layers:{compile_.ref}", layers) if layers is not None else None
    yield Place.LONG
    groups = correspondence(unit, source.lines)
    yield Place.LONG
    names: dict[int, Names] = {}
    for pane, document in documents.items():
        pane_names = names_of(document)
        if pane_names is not None:
            names[pane] = pane_names
    if tree is not None:
        documents[LAYERS] = tree.document
    panes = Panes(unit, documents, groups, names, source, files, tree)
    if costs is not None:
        panes.take_costs(costs)
    done(ReadUnit(number, provenance, documents, panes, display_name(compile_.frame) or ""))


def read_costs(run: Run, provenance: Provenance, number: int, done: Callable[[UnitCosts | None], object]) -> Steps:
    """Ask what profiles tell of a unit that is shown already; `done` as for `reading`."""
    yield None
    done(costs_of_unit(run, provenance.ref, provenance.units[number].unit))


def _files(compile_: Compile, unit: UnitProvenance) -> dict[int, str]:
    """Return the file that generated code was written to, for the title of its pane."""
    artifacts = {str(artifact.ref): artifact for artifact in artifacts_of(compile_)}
    files: dict[int, str] = {}
    for pane in CODE:
        artifact = artifacts.get(unit.panes[pane].ref)
        record = artifact.log.event(artifact.record) if artifact is not None else None
        name = record.get("filename") if isinstance(record, dict) else None
        if isinstance(name, str):
            files[pane] = sanitize(name)
    return files


ROOMY = 90
"""Columns of a pane from which annotations are shown at first."""


class PanesOfUnit(PanesScreen[None]):
    """The panes of one unit. What happens in them is up to the screen."""

    def __init__(self, around: AppContext) -> None:
        super().__init__(around)
        self._provenance: Provenance | None = None
        self._number = 0
        self._chosen: tuple[int, ...] = ()
        """The panes that are visible where no pane has the screen."""
        self._arranged: tuple[tuple[int, ...], bool, bool, bool] | None = None
        """The chosen panes, and whether one has the screen, they are stacked, and a strip is below, as arranged last."""
        self._is_zoomed = False
        self._documents: dict[int, Document] = {}
        self._bare: dict[int, Unannotated] = {}
        self._is_bare: bool | None = None
        """Whether annotations are left out; None: where panes are narrow."""
        self._panes: Panes | None = None
        self._function = ""

    # what the screen does

    @abstractmethod
    def _moved(self, pane: int, moved: DocumentView.Moved) -> None:
        """Handle a cursor movement in a pane."""

    @abstractmethod
    def _hovered(self, pane: int, line: int) -> None:
        """Handle the mouse over a line of a pane, -1 for none."""

    @abstractmethod
    def _came_to(self, pane: int, moves: bool = False) -> None:
        """Handle the cursor's arrival in a pane."""

    @abstractmethod
    def _bring_matches(self, pane: int) -> None:
        """Bring the matches of a pane's line into sight once new panes are laid out."""

    # what there is

    def compose_panes(self) -> Iterator[DocumentView]:
        """Yield a pane for each text, of which some are shown."""
        for pane in ALL:
            view = ProvenanceView(mouse=self.mouse, ascii_only=self.ascii_only, id=f"pane-{NAMES[pane]}")
            view.display = False
            view.on_position = partial(self._moved, pane)
            view.on_hover = partial(self._hovered, pane)
            view.titled = partial(self._titled, pane)
            yield view

    def below_panes(self) -> ComposeResult:
        """Yield the lines on panes that are out of sight."""
        yield CorrespondingLines(STRIP_LINES, ascii_only=self.ascii_only)

    @property
    def linked(self) -> tuple[int, ...]:
        """The panes between which `tab` goes: the visible ones, or all where one has the screen."""
        return tuple(sorted(self._documents)) if self.is_single and self._documents else self._chosen or (PRE,)

    @property
    def shown_panes(self) -> list[DocumentView]:
        """The widgets of the linked panes, from the left."""
        return [self.view(pane) for pane in self.linked]

    def view(self, pane: int) -> ProvenanceView:
        """Return the widget of a pane."""
        return self.query_one(f"#pane-{NAMES[pane]}", ProvenanceView)

    @property
    def unit(self) -> UnitProvenance | None:
        """The unit that is shown."""
        return self._provenance.units[self._number] if self._provenance and self._provenance.units else None

    @property
    def pane(self) -> int:
        """The pane that has the focus."""
        return next((pane for pane in ALL if self.view(pane).has_focus), self._chosen[0] if self._chosen else PRE)

    @property
    def fitting(self) -> Layout:
        """The layout for the size of the screen."""
        return layouts.layout(self.size.width, self.size.height)

    @property
    def is_single(self) -> bool:
        """Whether one pane has the screen."""
        return self._is_zoomed or self.fitting.count == 1

    @property
    def is_stacked(self) -> bool:
        """Whether panes are above each other."""
        return not self.is_single and self.fitting.is_stacked

    @property
    def has_strip(self) -> bool:
        """Whether lines below the panes list what corresponds in hidden ones."""
        return self._panes is not None and (self._is_zoomed or self.fitting.has_strip)

    def _titled(self, pane: int, line: int, room: int) -> str:
        return self._panes.title(pane, line, room) if self._panes else self.view(pane).document.title

    def _label(self, pane: int, line: int) -> Label | None:
        return self._panes.label(pane, line) if self._panes is not None else None

    # panes

    def _first_choice(self) -> tuple[int, ...]:
        unit = self.unit
        return layouts.first_choice(self.fitting.count, self._documents, len(unit.places) if unit else 0)

    def _arrange(self, focused: int) -> None:
        """Show the chosen panes, of which one gets the focus: that one alone where it has the screen."""
        shown = (focused,) if self.is_single else self._chosen
        for pane in ALL:
            view, share = self.view(pane), f"{layouts.share(pane)}fr"
            view.styles.width, view.styles.height = ("1fr", share) if self.is_stacked else (share, "1fr")
            view.display = pane in shown
        self.set_class(self.is_stacked, "-stacked")
        self.set_class(self.has_strip, "-strip")
        self._arranged = self._chosen, self.is_single, self.is_stacked, self.has_strip
        self._lay_bare()
        self.view(focused).focus()
        self._came_to(focused)

    def on_resize(self) -> None:
        """Show as many panes as fit, the one with the focus among them."""
        if self._documents:
            focused, arranged = self.pane, (self._chosen, self.is_single, self.is_stacked, self.has_strip)
            if len(self._chosen) != len(self._first_choice()):
                self._chosen = layouts.with_pane(self._first_choice(), focused)
            if arranged != self._arranged or arranged[0] != self._chosen:
                self._arrange(focused)
                self._bring_matches(focused)

    def action_choose_panes(self) -> None:
        """Show the next choice of panes."""
        self._chosen = layouts.next_choice(self._chosen, self._documents)
        focused = self.pane if self.pane in self._chosen else self._chosen[0]
        self._arrange(focused)
        self._bring_matches(focused)
        self.show_message(f"panes: {' · '.join(TITLES[pane] for pane in self._chosen)}")

    def action_next_pane(self) -> None:
        """Go to the pane to the right."""
        self._turn(1)

    def action_previous_pane(self) -> None:
        """Go to the pane to the left."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        if self.is_single:
            linked = self.linked
            self._arrange(linked[(linked.index(self.pane) + by) % len(linked)])
        else:
            self.go_to_pane(by)

    def action_zoom(self) -> None:
        """Give one pane the whole width, or show all again."""
        self._is_zoomed = not self._is_zoomed
        focused = self.pane
        self._chosen = layouts.with_pane(self._chosen, focused)
        self._arrange(focused)
        self._bring_matches(focused)
        if self._is_zoomed and self.fitting.count == 1:
            self.show_message("one pane already has the whole screen: tab shows the other pane")

    # what is left out

    def _as_shown(self, pane: int, document: Document) -> Document:
        columns = 1 if self.is_single or self.is_stacked else len(self._chosen)
        is_narrow = self.size.width // columns < ROOMY
        return self._bare.get(pane, document) if (is_narrow if self._is_bare is None else self._is_bare) else document

    def _lay_bare(self) -> None:
        for pane, document in self._documents.items():
            view = self.view(pane)
            if view.document is not (shown := self._as_shown(pane, document)):
                view.show(shown)

    def action_annotations(self) -> None:
        """Leave types, frees and checks out, or show them."""
        shown = self._as_shown(PRE, bare) if (bare := next(iter(self._bare.values()), None)) else None
        is_shown = shown is not None and any(self.view(pane).document is document for pane, document in self._bare.items())
        self._is_bare = not is_shown
        self._lay_bare()
        remark = "types, frees and checks are hidden; i shows them" if self._is_bare else "showing the text as torch wrote it"
        self.show_message(remark)


LAYOUTS = 10
"""Refreshes of the screen after which panes that have come have their heights; one on a screen too small for it never has."""


class ProvenanceScreen(PanesOfUnit):
    """The mode, for one compile."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.PROVENANCE)
    WHERE = Where.PROVENANCE
    FOOTER = FOOTER_PROVENANCE

    def __init__(self, around: AppContext, compile_: Compile, start: Artifact | None, line: int | None = None) -> None:
        """Create the screen; `start`: the artifact to start from; `line`: its line under the cursor, from 0."""
        super().__init__(around)
        self.compile_ = compile_
        self._start = start
        self._start_line = line
        self._line = (PRE, 0)
        self._cursors: dict[int, int] = {}
        """The line that the cursor of each pane was on last."""
        self._trail = Trail()
        self._hot = (PRE, -1)
        """The line that the last key for hot lines led to."""

    def on_mount(self) -> None:
        """Read the compile off the UI thread."""
        self.say_above([(f" {called(self.compile_)} ", tokens.TITLE), ("reading graphs and code …", tokens.DIM)])
        self._load(0, self._start.unit if self._start is not None else None)

    # loading

    def _load(self, number: int, wanted: int | None = None, spot: Spot | None = None) -> None:
        options = Options(width=max(self.size.width // self.fitting.columns - 8, 40))

        def chosen(provenance: Provenance) -> int:
            return next((n for n, unit in enumerate(provenance.units) if unit.number == wanted), number)

        def done(read: ReadUnit) -> None:
            self.answer(partial(self._show, read, spot))

        self.scheduler.drop(self)
        work = read_unit(self.trace, self.compile_, self._provenance, chosen, options, done)
        self.scheduler.do(work, owner=self, fault=self._failed)

    def on_unmount(self) -> None:
        """Drop all work."""
        self.scheduler.drop(self)

    def _failed(self, error: BaseException) -> None:
        ref = str(self.compile_.ref)
        provenance = self._provenance or Provenance(ref, ())
        document = fault_document("", "provenance", f"the provenance of {ref}", error)
        self.answer(partial(self._show, ReadUnit(0, provenance, {PRE: document}, None)))

    def _show(self, read: ReadUnit, spot: Spot | None = None) -> None:
        """Show what was read; with the cursor at a place that one comes back to."""
        is_first = self._provenance is None
        self._provenance, self._number = read.provenance, read.number
        self._documents, self._panes = read.documents or {PRE: self._empty_document()}, read.panes
        self._function = read.function
        texts = (pane for pane in self._documents if pane not in (SOURCE, LAYERS))
        self._bare = {pane: Unannotated(self._documents[pane]) for pane in texts}
        if not set(self._chosen) <= self._documents.keys() or not self._chosen:
            self._chosen = self._first_choice()
            start = next((pane for pane in self._documents if self._is_start(pane)), self._chosen[0])
            self._chosen = layouts.with_pane(self._chosen, start)
        with self.following():
            for pane, document in self._documents.items():
                view = self.view(pane)
                view.label_of = partial(self._label, pane)
                view.label_width = self._panes.letters.width if self._panes and pane != LAYERS else 0
                view.is_around_call = partial(self._panes.is_around_call, pane) if self._panes else lambda line: False
                view.is_derived = partial(self._panes.is_derived, pane) if self._panes else lambda line: False
                view.set_heat(self._heat_of(pane))
                view.set_pinned(())
                view.show(self._as_shown(pane, document), at=self._start_line if self._is_start(pane) else None)
        first = self._first_pane() if is_first else self.pane
        if spot is not None:
            self._go(spot.pane, spot.line, spot.column)
            first = spot.pane
        elif not self._start_line and self._panes and not self._panes.is_mapped(first, self.view(first).current_line()):
            self._step(False, first)
        self._start_line = None
        self._arrange(first)
        if spot is None:
            self._bring_matches(first)
        self._say_unit()
        self.show_footer()

    def _bring_matches(self, pane: int, tries: int = LAYOUTS) -> None:
        """Bring the matches of a pane's line into sight once new panes are laid out."""
        if not self.query(ProvenanceView):
            return  # the mode was left before that
        if tries and not all(self.view(other).is_laid_out for other in self._chosen if self.view(other).display):
            self.call_after_refresh(self._bring_matches, pane, tries - 1)
        else:
            self._came_to(pane, moves=True)

    def _empty_document(self) -> Document:
        builder = Builder(f"@provenance:{self.compile_.ref}", "provenance")
        builder.add(f"{self.compile_.ref} has no lowered graph, so it has no code")
        return builder.document()

    def _first_pane(self) -> int:
        first = SOURCE if SOURCE in self._chosen and self.unit and self.unit.places else self._chosen[0]
        return next((pane for pane in self._chosen if self._is_start(pane)), first)

    def _is_start(self, pane: int) -> bool:
        """Return whether a pane shows the text that one comes from."""
        return self._start is not None and self._documents[pane].ref == str(self._start.ref)

    # following

    def _moved(self, pane: int, moved: DocumentView.Moved) -> None:
        """Show the matches of the current line in the other panes."""
        is_new, self._cursors[pane] = self._cursors.get(pane) != moved.line, moved.line
        if self.is_following:
            self.view(pane).renew_title()
        elif self.view(pane).has_focus:
            self._came_to(pane, moves=is_new)  # a pane that only got another size leads nobody

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Light up the matches of the newly focused pane; nothing moves."""
        pane = next((other for other in self.linked if self.view(other) is event.widget), None)
        if pane is not None and not self.is_helping:
            self._came_to(pane)

    def _came_to(self, pane: int, moves: bool = False) -> None:
        """Light up the matches of the current line of a pane; with `moves` the other panes go there."""
        line = self.view(pane).current_line()
        self._line = (pane, line)
        self._follow(pane, line, moves)
        self.view(pane).renew_title()
        self._say_line(pane, line)
        self.say_place(self.view(pane).whereabouts())

    def _hovered(self, pane: int, line: int) -> None:
        """Light up the matches of the line under the mouse, -1 for none; nothing moves."""
        if line < 0:
            pane, line = self._line
        if not self.is_following:
            self._follow(pane, line, moves=False)
            self._say_line(pane, line)

    def _follow(self, pane: int, line: int, moves: bool = True) -> None:
        with self.following():
            for other in self.linked:
                lines = self._panes.matches(pane, line, other) if self._panes else []
                goes = self._panes.best(other, lines) if self._panes and moves and other != pane else ()
                self.view(other).set_matches(lines, goes)

    def action_pin(self) -> None:
        """Keep what is lit now while the cursor moves on; again lets it go."""
        pane, line = self._line
        pinned = any(self.view(other).has_pinned for other in ALL)
        if not pinned and (self._panes is None or not self._panes.is_mapped(pane, line)):
            self.show_message("cannot pin: this line has no mapping")
            return
        for other in ALL:
            self.view(other).set_pinned(() if pinned or not self._panes else self._panes.matches(pane, line, other))
        self.show_message("unpinned" if pinned else f"pinned; {self.key_of('provenance.pin')} releases it")

    # keys that lead somewhere

    def _go(self, pane: int, line: int, column: int = 0) -> None:
        view = self.view(pane)
        view.reveal(line)
        view.move_to(line, column)

    def _lead(self, pane: int, line: int) -> None:
        """Go to a line of another pane, or far away in this one: `backspace` comes back."""
        here, view = self.pane, self.focused_pane
        self._trail.leave(Spot(self._number, here, *view.cursor))
        self._chosen = layouts.with_pane(self._chosen, pane)
        if pane != here:
            self._go(pane, line)
            self._arrange(pane)
        else:
            self._go(pane, line)

    @on(ProvenanceView.LineFollowed)
    def _line_followed(self, message: ProvenanceView.LineFollowed) -> None:
        """Enter on a line: one step back towards the source, in a hidden pane if no visible one corresponds."""
        choices = (self.linked, tuple(sorted(self._documents))) if self._panes else ()
        targets = (self._panes.follow(self.pane, message.line, linked) for linked in choices if self._panes)
        target = next(filter(None, targets), None)
        if target is None:
            message.view.follow_link()
            return
        pane, lines = target
        line = self.view(pane).current_line()
        self._lead(pane, line if line in lines else lines[0])

    @on(DocumentView.NameFollowed)
    def _name_followed(self, message: DocumentView.NameFollowed) -> None:
        """Enter on a name: to where it is defined; where that is here, as on the line."""
        definition = self._panes.definition(self.pane, message.line, message.name, self.linked) if self._panes else None
        if definition is not None and definition[0] in self._documents:
            self._lead(*definition)
        elif self._panes is not None and self._panes.is_defined(self.pane, message.line, message.name):
            self.post_message(ProvenanceView.LineFollowed(self.view(self.pane), message.line))
        else:
            message.view.action_search_word()

    @on(DocumentView.Followed)
    def _followed(self, message: DocumentView.Followed) -> None:
        self.show_message(message.target.removeprefix("file:"))

    def action_follow(self) -> None:
        """Follow the caret's link or name, or the line."""
        self.focused_pane.action_follow()

    def action_back(self) -> None:
        """Go back to the previous place; from the first one leave the mode."""
        if self.closes_innermost():
            return
        spot = self._trail.back()
        if spot is None:
            self.dismiss(None)
        elif spot.unit != self._number:
            self._load(spot.unit, spot=spot)
        else:
            self._chosen = layouts.with_pane(self._chosen, spot.pane)
            self._go(spot.pane, spot.line, spot.column)
            self._arrange(spot.pane)

    def action_next_match(self) -> None:
        """Go to the next match in this pane."""
        self._match(False)

    def action_previous_match(self) -> None:
        """Go to the previous match in this pane."""
        self._match(True)

    def _match(self, back: bool) -> None:
        view = self.view(self.pane)
        line = self._panes.next_match(self.pane, view.current_line(), back) if self._panes else None
        if line is None:
            self.show_message(f"no {'earlier' if back else 'later'} match in this pane")
        else:
            view.move_to(line, 0)

    def action_next_mapped(self) -> None:
        """Go to the next mapped line."""
        self._step(False, self.pane)

    def action_previous_mapped(self) -> None:
        """Go to the previous mapped line."""
        self._step(True, self.pane)

    def _step(self, back: bool, pane: int) -> None:
        line = self.view(pane).current_line()
        target = self._panes.next_mapped(pane, line, back) if self._panes else None
        if target is None:
            self.show_message(f"no {'earlier' if back else 'later'} mapped line in this pane")
        else:
            self.view(pane).move_to(target, 0)

    def action_next_unit(self) -> None:
        """Show the next unit: forward, backward …"""
        if self._provenance is None or len(self._provenance.units) < 2:
            self.show_message("this compile has only one unit")
        else:
            self._trail.leave(Spot(self._number, self.pane, *self.focused_pane.cursor))
            self._load((self._number + 1) % len(self._provenance.units))

    # what things cost

    def _heat_of(self, pane: int) -> Callable[[int], Heat | None] | None:
        """Return the function from a line to its cost; None without a profile."""
        if self._panes is None or pane not in self._panes.costs:
            return None
        costs, part = self._panes.costs[pane], self._panes.heat

        def heat(line: int) -> Heat | None:
            us = costs.get(line)
            return None if us is None else Heat(duration(us), part(us))

        return heat

    def profiles_read(self) -> None:
        """Show the costs of this unit beside its lines."""
        if self._panes is not None and self._provenance is not None:
            shown = self._panes

            def done(costs: UnitCosts | None) -> None:
                self.answer(partial(self._take_costs, shown, costs))

            self.scheduler.do(read_costs(self.trace, self._provenance, self._number, done), owner=self)

    def _take_costs(self, shown: Panes, costs: UnitCosts | None) -> None:
        if costs is not None and shown is self._panes:  # else another unit was read since, and its costs with it
            shown.take_costs(costs)
            for pane in self._documents:
                self.view(pane).set_heat(self._heat_of(pane))
            self.show_message("profile read; times appear next to the lines", tokens.DIM)

    def action_hottest(self) -> None:
        """Go to the most expensive line of this pane; again to the next one."""
        self._cool(1)

    def action_hotter(self) -> None:
        """Go to the next more expensive line."""
        self._cool(-1)

    def _cool(self, by: int) -> None:
        pane, view = self.pane, self.view(self.pane)
        order = self._panes.hot(pane) if self._panes is not None else []
        if not order:
            self.show_message("This pane has no times. To open a profile: tltui DIR --profile FILE")
            return
        is_on = self._hot == (pane, view.current_line()) and self._hot[1] in order
        place = order.index(self._hot[1]) + by if is_on else 0
        if not 0 <= place < len(order):
            self.show_message("no line in this pane took less time" if by > 0 else "no line in this pane took more time")
            return
        self._hot = (pane, order[place])
        self._go(pane, order[place])

    def situation(self) -> Situation:
        """Return the state that commands depend on."""
        view = self.focused_pane
        has_units = self._provenance is not None and len(self._provenance.units) > 1
        return Situation(
            Where.PROVENANCE, has_compile=True, has_sections=view.has_sections, has_hits=bool(view.hits), has_units=has_units
        )

    # what the bars say

    def on_resize(self) -> None:
        """Fit the line above; Textual calls the handler of the layout by itself."""
        if self._documents:
            self._say_unit()

    def _say_unit(self) -> None:
        unit = self.unit
        if unit is None or self._provenance is None:
            self.say_above([(f" {called(self.compile_)} ", tokens.TITLE)])
            return
        compiled = f" {called(self.compile_)} "
        count = len(self._provenance.units)
        unit_label = f"{graph_title(unit.unit)} {self._number + 1}/{count}  " if count > 1 else f"{graph_title(unit.unit)}  "
        forms, mapped = coverage_lines(unit)
        room = self.size.width - cells(compiled + unit_label) - 1
        coverage = next((form for form in forms if cells(form) <= room), forms[-1])
        function = f"{self._function}  " if self._function else ""
        if cells(function + coverage) > room:
            function = ""  # not at the cost of the counts
        left: list[Piece] = [(compiled, tokens.TITLE), (function, tokens.TITLE), unit_label]
        self.say_above([*left, (coverage, tokens.DIM if mapped else tokens.WARN)])

    def _say_line(self, pane: int, line: int) -> None:
        if self._panes is None:
            self.describe("")
            return
        has_strip = self.has_strip
        self.describe(self._panes.about(pane, line, has_strip))
        if has_strip:
            shown = [other for other in self.linked if self.view(other).display]
            self.query_one(CorrespondingLines).say(strip_lines(self._panes, pane, line, shown, self.size.width))

    # out

    def action_export(self) -> None:
        """Export the line and all that it maps to, to a file."""
        pane, line = self._line
        unit = self.unit
        if unit is None or self._panes is None:
            self.show_message("nothing to export")
            return
        chosen = selection_document(unit, self._panes.groups, self._documents, pane, line)
        name = safe_name(f"{self.compile_.ref}_{unit.unit}_{NAMES[pane]}_{line + 1}", ".txt")
        self.ask_where("write this line and its mappings to", Output(lambda: chosen), name)

    def action_close(self) -> None:
        """Close what is in front, else leave the mode."""
        if not self.closes_innermost():
            self.dismiss(None)

    def action_leave(self) -> None:
        """Go back to the browser; from help to the panes."""
        if self.is_helping:
            self.action_help()
        else:
            self.dismiss(None)
