"""The main screen as its parts see it: tree on the left, document on the right, what is shown, and the way back.

Charts show a part of the time: they zoom in and out, and move earlier and later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from tltui.commands import FOOTERS, HINTS
from tltui.config import TREE_PANE, read_share, write_share
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, Ref, named_in, parse_ref, split_line
from tltui.model.run import Node as TreeNode
from tltui.questions.runtime.costs import computed_costs
from tltui.screens.details import WIDE, DetailsView, FindingDetails
from tltui.screens.requests import OF_RUN, Addresses, Make, Renderer, Request, document_at, has_grown
from tltui.screens.workbench import AppContext, Workbench
from tltui.sources.discovery_results import FoundLog
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options
from tltui.tree.header import trail
from tltui.tree.outline import Node, path_to, root, time_heads
from tltui.tree.rows import OutlineRows
from tltui.widgets.bars import STEP, Asking, Divider, RunBar, StatusBar
from tltui.widgets.document_view import DocumentView
from tltui.widgets.trace_tree import TraceTree
from tltui.work.scheduler import Steps

if TYPE_CHECKING:
    from tltui.questions.provenance.graph_names import Names

Window = tuple[float, float]
"""Begin and end, as shares of the whole time."""
WHOLE: Window = (0.0, 1.0)
SHORTEST = 1 / 4096
"""Share of the time that is shown at least."""
FACTOR, PAN_STEP = 2.0, 0.5
"""By how much a press of a key zooms, and the part of the window by which one moves it."""

NARROW = 100
"""Columns below which one pane is shown at a time."""
SETTLE = 0.04
"""Seconds that the cursor of the tree must rest before the document follows: flicking through stays cheap."""
PAUSE = 3.0
"""How many times as long as it took to make a page it stays as it is while the run is read."""
HELP = "@help"
MADE_ONCE = ("@grep", "@output", HELP)
"""Pages that are not made again when the run has grown: what was found stays, and what a job prints grows by itself."""
LEAST = (20, 40)
"""Columns of the tree and of the document, at least, while both are shown."""
FIRST_PAGE = 0.5
"""Seconds that the first page waits for the run to be read: one that is made before that is made again."""
PAST = 200
"""Places that one can go back to."""


def zoomed(window: Window, inward: bool) -> Window:
    """Return half of a window, or twice its time, around its middle."""
    low, high = window
    span = min(max((high - low) / FACTOR if inward else (high - low) * FACTOR, SHORTEST), 1.0)
    return _within((low + high - span) / 2, span)


def moved(window: Window, later: bool) -> Window:
    """Return a window moved by half of its time, as far as there is time."""
    low, high = window
    return _within(low + (high - low) * (PAN_STEP if later else -PAN_STEP), high - low)


def _within(low: float, span: float) -> Window:
    low = min(max(low, 0.0), 1.0 - span)
    return (low, low + span) if span < 1.0 else WHOLE


class MainScreen(Workbench[None]):
    """Owns the selection."""

    def __init__(self, around: AppContext, faulted: Callable[[BaseException], object]) -> None:
        super().__init__(around)
        self.shown = document_at("")
        """What is shown, or wanted."""
        self.raw = False
        self.sort = ""
        self.window = WHOLE
        """The part of the time that the charts of the page show."""
        self.own_pages: dict[str, Make] = {}
        """Addresses of pages that are made from more than the run."""
        self.names: Names | None = None
        """What the names of the document mean; None until that is known."""
        self._maker = Renderer(self.trace, self.scheduler, self.answer, faulted, self.ascii_only)
        self.details = FindingDetails(self, self._maker)
        self._addresses = Addresses(self.trace)
        self._wishes = 0
        self._is_making = False
        self._asked_at: tuple[int | None, str | None] = (None, None)  # line and anchor that are to be in sight when it is made
        self._is_awaited = False  # what is being made is not what is shown already, made again
        self._is_outdated = False  # the run has grown since the last wish
        self._past: list[Request] = []
        self._future: list[Request] = []
        self._wished = 0.0  # when the page was asked for that is made now, or was made last
        self._renew_from = 0.0
        self._later: Timer | None = None
        self._first: Timer | None = None
        self._rest: Timer | None = None
        self._wanted = ""
        self._steered = False  # the user has pressed a key: the cursor is his

    def compose(self) -> ComposeResult:
        """Yield the line above, two panes, the line below."""
        yield RunBar(ascii_only=self.ascii_only, id="run-bar")
        with Horizontal(id="panes"):
            yield TraceTree(OutlineRows(root(self.trace)), mouse=self.mouse, ascii_only=self.ascii_only, id="tree")
            yield Divider(least=LEAST, share=read_share(TREE_PANE), mouse=self.mouse, ascii_only=self.ascii_only, id="divider")
            yield DocumentView(mouse=self.mouse, ascii_only=self.ascii_only, id="document")
            yield DetailsView(mouse=self.mouse, ascii_only=self.ascii_only, id="details")
        yield StatusBar((), ascii_only=self.ascii_only, id="status-bar")
        yield Asking(ascii_only=self.ascii_only)

    @property
    def tree_view(self) -> TraceTree:
        """The tree."""
        return self.query_one(TraceTree)

    @property
    def document_view(self) -> DocumentView:
        """The document."""
        return self.query_one("#document", DocumentView)

    @property
    def details_view(self) -> DetailsView:
        """The panel with the page of a finding."""
        return self.query_one(DetailsView)

    @property
    def pane_for_keys(self) -> Widget:
        """The pane that is in sight, else the tree."""
        return self.document_view if self.document_view.display and not self.tree_view.display else self.tree_view

    @property
    def shown_ref(self) -> str:
        """The address of what is shown, or wanted."""
        return self.shown.ref

    @property
    def is_first_page(self) -> bool:
        """Whether the summary of the run is shown, or wanted."""
        return self.shown_ref in OF_RUN

    @property
    def is_at_rest(self) -> bool:
        """Whether what is shown is what was asked for last, whole, and of the run as it is now."""
        return not (self._is_making or self._is_outdated or self.document_view.is_at_work)

    @property
    def awaits_document(self) -> bool:
        """Whether keys are meant for a document that is still being made."""
        return self._is_making and self._is_awaited and self.document_view.has_focus

    # layout

    @property
    def divider(self) -> Divider:
        """The line between the panes."""
        return self.query_one(Divider)

    def on_resize(self) -> None:
        """Adapt to the new size."""
        if self.is_mounted:
            self.divider.fit()
            self.details.lay_out(self.beside_tree)

    def action_narrower(self) -> None:
        """Make the tree narrower."""
        self._move_divider(-STEP)

    def action_wider(self) -> None:
        """Make the tree wider."""
        self._move_divider(STEP)

    def _move_divider(self, cells: int) -> None:
        if self.divider.display:
            self.divider.move(cells)
        else:
            self.show_message("one pane has the whole screen")

    @on(Divider.Rested)
    def _divided(self, message: Divider.Rested) -> None:
        """Render pages for the new width, and save the share of the tree."""
        self.details.lay_out(self.beside_tree)
        if not self.document_view.document.language:
            self.lay_out_again()
        try:
            write_share(TREE_PANE, message.share)
        except OSError as error:
            self.show_message(f"could not save the width: {error.strerror or error}", tokens.WARN)

    def trail_of(self, document: Document) -> tuple[str, ...]:
        """Return the parts of the title of a page; help and search results have one."""
        if document.ref in self.own_pages:
            return (document.title,)
        return trail(self.trace, document.ref, document.title)

    @property
    def has_one_pane(self) -> bool:
        """Whether tree and document share the screen one at a time."""
        return self.has_class("-narrow") or self.has_class("-zoomed")

    def name_panes(self) -> None:
        """Show in the title of a pane that has the whole screen the key that leads to the other one."""
        key = self.key_of("app.other_pane") if self.has_one_pane else ""
        self.document_view.set_lead(f"{key}: tree" if key else "")
        costs = computed_costs(self.trace)
        other = self.document_view.joined("tree", f"{key}: document") if key else ""
        title = Content("  ".join(part for part in (other, time_heads(costs) if costs else "") if part))
        self.tree_view.set_class(costs is not None, "-has-times")
        if self.tree_view.border_title != title.markup:
            self.tree_view.border_title = title

    def say_keys(self) -> None:
        """Show the keys of this place in the line below, without those that would do nothing in this run."""
        tally = self.trace.tally
        has_output = self.around.job is not None or bool(self.trace.discovered.outputs)
        works = {
            "app.back": self.has_past, "app.output": has_output, "app.next_error": tally.errors + tally.eager > 0,
            "app.next_break": tally.with_breaks > 0, "app.next_recompile": tally.recompiles > 0,
            "document.next_hit": bool(self.document_view.hits),
            "app.zoom_in": bool(getattr(self.document_view.document, "chart_seconds", ())),
        }  # fmt: skip
        names = [name for name in FOOTERS[self._place] if works.get(name, True)]
        self.status.show_hints(self.hints([*names[: HINTS - 1], names[-1]] if len(names) > HINTS else names))

    @property
    def _place(self) -> str:
        """Return which of the footers belongs to the focused pane and its page."""
        if self.shown_ref == HELP:
            return "help"
        if self.tree_view.has_focus:
            return "tree"
        if self.shown_ref.startswith("@grep"):
            return "search"
        return "code" if self.document_view.document.language and not self.shown_ref.startswith("@") else "page"

    # selection

    @property
    def options(self) -> Options:
        """How documents are laid out now."""
        view = self.document_view
        # a hidden pane has no width yet: what it will have is the screen's without gutter and scroll bar
        width = view.text_width if view.size.width else self.size.width - 4
        if view.size.width and self.size.width >= WIDE and not self.has_one_pane:
            # the panel of the page that is left, or its absence, does not count
            width += self.beside_tree - self.details.columns(self.beside_tree) - view.outer_size.width
        return Options(width=max(width, 40), sort=self.sort, raw=self.raw, window=self.window, key_of=self.key_of)

    @property
    def beside_tree(self) -> int:
        """The columns right of the tree and the line beside it."""
        return self.size.width - self.tree_view.outer_size.width - 1

    def request(self, ref: str) -> Request:
        """Return the request for an address."""
        make = self.own_pages.get(ref)
        return document_at(ref) if make is None else Request(ref, make, is_of_run=False)

    def show_ref(self, ref: str, *, by_user: bool = True, at: int | None = None, top: str | None = None) -> None:
        """Ask for the document at an address."""
        self.show(self.request(ref), by_user=by_user, at=at, top=top)

    def show(self, request: Request, *, by_user: bool = True, at: int | None = None, top: str | None = None) -> None:
        """Ask for a document; line `at`, or the line of anchor `top`, is to be in sight."""
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        if by_user and request != self.shown:
            self._past.append(self._left())
            self._future.clear()
            del self._past[:-PAST]
            self.raw = False
        if request != self.shown:
            self.window = WHOLE
        self.shown = request
        self.details.lay_out(self.beside_tree)
        self._addresses.note(request.ref)
        self._wish(at, top)

    def await_first_page(self) -> None:
        """Ask for the overview when the run is read, or soon; keys wait for it."""
        self._is_making = self._is_awaited = True
        self._first = self.set_timer(FIRST_PAGE, self.show_first_page)

    def show_first_page(self) -> None:
        """Ask for the overview now, unless something else was asked for."""
        if self._first is not None:
            self._first.stop()
            self._first = None
            if not self._wishes:
                self.show_ref("", by_user=False)

    def _left(self) -> Request:
        """Return the current request, to come back to."""
        return replace(self.shown, is_in_front=self.document_view.has_focus)

    def reload(self) -> None:
        """Make what is shown again, in another order; what was asked for and is not there yet comes to where it was asked for."""
        self._wish(*self._asked_at)

    def lay_out_again(self) -> None:
        """Make what is shown again, for another width. Nothing on it moves, and what was selected or filtered stays so."""
        if self._first is not None:
            return
        if (self._is_making and self._is_awaited) or self.document_view.is_at_work:
            self.reload()
        else:
            self._wish(renews=True)

    def renew(self) -> None:
        """Render the page again after the run has grown. Nothing on it moves; pending work is finished first."""
        if self._later is not None:
            self._later.stop()
            self._later = None
        self._readdress()
        if self._is_making or self.document_view.is_at_work or self._may_wait():
            self._is_outdated = True
        elif self._is_of_now():
            self._wish(renews=True)
        elif has_grown(self.document_view.document):
            self.document_view.document_grown()
        else:
            self._is_outdated = False

    def _may_wait(self) -> bool:
        """Delay rendering a page again while the run is read, which would take twice as long; return whether it was delayed."""
        left = self._renew_from - time.monotonic()
        if self.trace.is_read or left <= 0:
            return False
        self._later = self.set_timer(left, self.renew)
        return True

    def _readdress(self) -> None:
        """Update the addresses of current, past and future pages."""
        def again(request: Request) -> Request:
            ref = self._addresses.now(request.ref)
            return request if ref == request.ref else replace(self.request(ref), is_in_front=request.is_in_front)

        self.shown = again(self.shown)
        self._past[:], self._future[:] = map(again, self._past), map(again, self._future)

    def _is_of_now(self) -> bool:
        """Return whether the page depends on the growing run: not a search, nor a page that was stopped."""
        document = self.document_view.document
        is_stopped = isinstance(document, GrowingDocument) and document.is_stopped
        return not (document.language or is_stopped or self.shown_ref.startswith(MADE_ONCE))

    def _rested(self) -> None:
        """Show the keys of the complete page, and render it again if the run has grown meanwhile."""
        self.say_keys()
        now = time.monotonic()
        self._renew_from, self._wished = now + PAUSE * (now - self._wished), now
        if self._is_outdated:
            self.renew()

    def _wish(self, at: int | None = None, top: str | None = None, renews: bool = False) -> None:
        self._wishes += 1
        self._wished = time.monotonic()
        self._is_making, self._is_awaited, self._is_outdated = True, not renews, False
        self._asked_at = at, top
        self._maker.wish(self.shown, self.options, partial(self._ready, self._wishes, at, top, renews))

    def _ready(self, wish: int, at: int | None, top: str | None, renews: bool, document: Document) -> None:
        """Show the finished document, unless another one has been requested."""
        if wish != self._wishes:
            return
        self._is_making, self._asked_at = False, (None, None)
        if renews:
            if document is self.document_view.document:
                self._rested()
            else:
                self.document_view.renew(document)
            return
        self.document_view.show(document, at=at, top=top)
        self.say_keys()
        self.names = None
        self._maker.check(document, partial(self._checked, document))
        self._maker.names(document, partial(self._set_names, document))
        if not self.document_view.is_at_work:
            self._rested()

    def _set_names(self, document: Document, names: Names) -> None:
        """Store the names of the document."""
        if document is self.document_view.document:
            self.names = names

    def _checked(self, document: Document) -> None:
        """Show the result of an md5 check."""
        if document is self.document_view.document:
            self.document_view.document_grown()

    def keep_cursor(self) -> None:
        """Leave the cursor to the user: nothing moves it to the worst problem any more."""
        self._steered = True

    def run_changed(self, is_new: bool, is_read: bool) -> None:
        """Update after the run has grown."""

    def reads_first(self, ref: Ref, then: Callable[[], object]) -> bool:
        """Read the unread ranks of an address, then call `then`; return whether there are any."""
        unread = self.trace.unread(named_in(ref))
        if unread:
            ranks = ", ".join(sorted({f"rank {log.rank}" for log in unread}))
            self.show_message(f"reading {ranks}; so far only a rank with the same compiles was read")
            self.read_also(unread, then)
        return bool(unread)

    def read_also(self, logs: Sequence[FoundLog], then: Callable[[], object]) -> None:
        """Read logs that were left out; then do something."""

    def stop_profiles(self) -> None:
        """Read no profiles any more that nobody waits for."""

    def exit_without_log(self, reason: str) -> None:
        """Exit because there is no log."""

    def say_run(self) -> None:
        """Say in the line above what there is to say now."""

    def job_changed(self, remark: str) -> None:
        """Show a remark on the state of the job."""

    def go(self, ref: str, *, at: int | None = None) -> None:
        """Go to an address in tree and document, and to the line that it names; show a message if it is wrong.

        Where one pane has the screen, the document gets it.
        """
        if self.arrive(ref, at=at):
            self.bring_document()

    def bring_document(self) -> None:
        """Show the document, if the tree has the whole screen."""
        if not self.document_view.display:
            self.document_view.focus()

    def arrive(self, ref: str, *, at: int | None = None) -> bool:
        """Go to an address as `go` does, without changing panes; return whether it exists."""
        ref, line = split_line(ref)
        if line is not None:
            at = line - 1
        try:
            parsed = parse_ref(ref)
            if self.reads_first(parsed, partial(self.go, ref, at=at)):
                return False
            node = None if parsed.view else self.trace.resolve(replace(parsed, attempt=None) if parsed.id else parsed)
        except BadAddress as bad:
            self.show_message(str(bad), tokens.WARN)
            return False
        if str(parsed) in OF_RUN:
            ref = ""
        self.show_ref(ref, at=at)
        if node is not None or not ref:
            self.reveal(node)
        if note := self.trace.other_epochs(parsed):
            self.show_message(note, tokens.WARN)
        return True

    def reveal(self, node: TreeNode | None) -> None:
        """Put the cursor of the tree on a node, None for the run. A filter that hides it gives way."""
        keys = ["@run"] if node is None else path_to(self.trace, node)
        tree = self.tree_view
        if isinstance(compile_ := node.owner if isinstance(node, Artifact) else node, Compile):
            tree.outline.keep_in_sight(compile_)
        if not tree.reveal(keys, by_user=False) and tree.outline.filter:
            tree.set_filter("")
            tree.reveal(keys, by_user=False)

    @on(TraceTree.Highlighted)
    def _highlighted(self, message: TraceTree.Highlighted) -> None:
        """Show the document of the tree's node, when its cursor rests."""
        self._wanted = message.node.ref
        if not message.by_user and self._steered:
            return
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE, self.follow)

    @on(TraceTree.Unnamed)
    def _unnamed(self, message: TraceTree.Unnamed) -> None:
        """Find out what the functions in sight are known by."""
        self.scheduler.do(self._naming(message.tree), owner=message.tree)

    def _naming(self, tree: TraceTree) -> Steps:
        news = False
        for is_news in tree.names.read():
            news = news or is_news
            yield None
        if news:
            self.answer(tree.repaint_changed)

    def follow(self) -> None:
        """Show the document of the node under the cursor of the tree, if it moved there."""
        if self._rest is None:
            return
        self._rest = None
        if self._wanted != self.shown_ref:
            self.show_ref(self._wanted, by_user=False)

    # the way back

    @property
    def has_past(self) -> bool:
        """Whether there is somewhere to go back to: an earlier page, or the list of runs."""
        return bool(self._past) or self.around.is_of_list

    def action_back(self) -> None:
        """Go back; from the first page to the list of runs that the run was opened from."""
        if self._past or not self.around.is_of_list:
            self._travel(self._past, self._future, "no earlier page")
        else:
            self.app.exit()

    def step_back(self) -> None:
        """Show the previous page; the tree stays as it is."""
        if self._past:
            self.show(self._past.pop(), by_user=False)

    def action_forward(self) -> None:
        """Go forward again."""
        self._travel(self._future, self._past, "no later page")

    def _travel(self, source: list[Request], target: list[Request], none: str) -> None:
        if not source:
            self.show_message(none)
            return
        target.append(self._left())
        request = source.pop()
        self.show(request, by_user=False)
        if self.has_one_pane:
            (self.document_view if request.is_in_front else self.tree_view).focus()
        try:
            parsed = parse_ref(request.ref)
            if not parsed.view:
                self.reveal(self.trace.resolve(parsed))
        except BadAddress:
            return

    # what the keys are about

    @property
    def current_compile(self) -> Compile | None:
        """The compile that the tree's cursor is on or in."""
        target = self.tree_view.node.target
        if isinstance(target, Compile):
            return target
        owner = getattr(target, "owner", None)
        return owner if isinstance(owner, Compile) else None

    @property
    def current_artifact(self) -> Artifact | None:
        """The artifact that is shown."""
        target = self.tree_view.node.target
        return target if isinstance(target, Artifact) else None

    @property
    def current_node(self) -> Node:
        """The node under the cursor of the tree."""
        return self.tree_view.node

    @property
    def current_document(self) -> Document:
        """What is shown."""
        return self.document_view.document
