"""The main screen: the tree of the run on the left, the document of the highlighted node on the right."""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.timer import Timer

from tltui.commands import BY_ID, FOOTER, Where
from tltui.config import Config
from tltui.documents.format import clip, plural, seconds, size_of
from tltui.documents.tree.listing import torch_version
from tltui.documents.tree.outline import Node, path_to, root
from tltui.documents.tree.rows import OutlineRows
from tltui.messages import DocumentGrown, DocumentReady, NamesReady, Scanned
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, parse_ref, split_line
from tltui.model.run import Node as TreeNode
from tltui.model.run import Run, settle
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, Status, glyph
from tltui.model.walk import interesting
from tltui.screens.browser_commands import BrowserCommands
from tltui.screens.loading import Loader, Scan
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.widgets.bars import RunBar, StatusBar
from tltui.widgets.bindings import bindings
from tltui.widgets.document_view import DocumentView
from tltui.widgets.trace_tree import TraceTree

if TYPE_CHECKING:
    from tltui.documents.names import Names

NARROW = 100
"""Columns below which one pane is shown at a time."""
SETTLE = 0.04
"""Seconds that the cursor of the tree must rest before the document follows: flicking through stays cheap."""
REDRAW = 0.5
"""Seconds between two redraws of counts while the scan runs."""


class Browser(BrowserCommands):
    """Owns the selection; hands the run to whoever needs it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.EVERYWHERE)

    def __init__(self, run: Run, config: Config, *, ascii_only: bool, mouse: bool) -> None:
        super().__init__()
        self.trace = run
        self.config = config
        self.ascii_only = ascii_only
        self.mouse = mouse
        self.shown_ref = ""
        self.raw = False
        self.sort = ""
        self._reading = threading.Lock()  # held while a document is made: the run must not change under it
        self._waiting: deque[Scanned] = deque()
        self._scan: Scan | None = None
        self._loader: Loader | None = None
        self._ticket = 0
        self._at_line: int | None = None
        self._top: str | None = None
        self._rest: Timer | None = None
        self._wanted = ""
        self._steered = False  # the user has pressed a key: the cursor is his
        self._redrawn = 0.0
        self._is_new = False
        self._version = ""
        self.names: Names | None = None
        """What the names of the document mean; None until that is known."""

    def compose(self) -> ComposeResult:
        """A line above, two panes, a line below."""
        hints = [(BY_ID[name].keys_shown(self.config.keys.get(name, BY_ID[name].keys)[:1]), BY_ID[name].hint) for name in FOOTER]
        yield RunBar(ascii_only=self.ascii_only, id="run-bar")
        with Horizontal(id="panes"):
            yield TraceTree(
                OutlineRows(root(self.trace)), mouse=self.mouse, ascii_only=self.ascii_only, id="tree"
            )
            yield DocumentView(mouse=self.mouse, ascii_only=self.ascii_only, id="document")
        yield StatusBar(hints, ascii_only=self.ascii_only, id="status-bar")

    @property
    def tree_view(self) -> TraceTree:
        """The tree."""
        return self.query_one(TraceTree)

    @property
    def document_view(self) -> DocumentView:
        """The document."""
        return self.query_one(DocumentView)

    @property
    def status(self) -> StatusBar:
        """The line below."""
        return self.query_one(StatusBar)

    def on_mount(self) -> None:
        """Everything is in its place: draw it once, then begin to read."""
        self.document_view.on_position = self._moved
        self._loader = Loader(self.trace, self._reading, self.post_message, self.ascii_only)
        self._scan = Scan(self.trace.scanners(), self.post_message)
        self.tree_view.focus()
        self._say_run()
        for problem in self.config.problems:
            self.tell(problem, tokens.WARN)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The first frame is up."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        if not self.shown_ref:
            self.show_ref("", by_user=False)
        if self._scan:
            self._scan.start()

    def on_unmount(self) -> None:
        """The app ends: so does the work."""
        if self._scan:
            self._scan.stop()
        if self._loader:
            self._loader.stop()
        self.finish_writing()

    # the scan

    def on_scanned(self, message: Scanned) -> None:
        """A batch arrived. It waits while a document is being made from the run."""
        self._waiting.append(message)
        self._take_over()

    def _take_over(self) -> None:
        while self._waiting:
            if not self._reading.acquire(blocking=False):
                self.set_timer(0.01, self._take_over)
                return
            try:
                message = self._waiting.popleft()
                if message.batch is not None:
                    self._is_new |= self.trace.apply(message.log, message.batch).new
                elif message.error is not None:
                    self.trace.fail(message.log, message.error)
                if self.trace.finished:
                    settle(self.trace)
            finally:
                self._reading.release()
            if self._scan:
                self._scan.applied()
            now = time.monotonic()
            if self.trace.finished or now - self._redrawn >= REDRAW:
                self._redrawn = now
                self._run_changed()

    def _run_changed(self) -> None:
        """The run has grown: counts, new nodes, and until the first key the cursor on the most interesting place."""
        self.tree_view.run_changed(self._is_new)
        self._is_new = False
        self._say_run()
        if not self._steered:
            best = interesting(self.trace)
            if best is not None:
                keys = path_to(self.trace, best)
                if self.tree_view.node.key != keys[-1] or self.trace.finished:
                    self.tree_view.reveal(keys, by_user=False)
        elif self._is_overview():
            self.reload()

    def _is_overview(self) -> bool:
        return not self.document_view.document.language

    def user_acts(self) -> None:
        """A key was pressed or the mouse was used."""
        self._steered = True
        self.status.quiet()

    # what the bars say

    def _say_run(self) -> None:
        run = self.trace
        tally = run.tally
        if not self._version:
            self._version = next((v for process in run.processes() if (v := torch_version(process))), "")
        left: list[Piece] = [(f" {clip(run.title, 40)}", tokens.TITLE)]
        if self._version:
            left.append((f"  torch {clip(self._version, 24)}", tokens.DIM))
        if len(run.ranks) > 1:
            left.append(f"  {plural(len(run.ranks), 'rank')}")
        left.append(f"  {plural(tally.compiles, 'compile')}")
        for count, mark, word, style in (
            (tally.errors, glyph(Status.ERROR, self.ascii_only), "error", tokens.ERROR),
            (tally.breaks, glyph(Status.BREAK, self.ascii_only), "break", tokens.BREAK),
            (tally.recompiles, ASCII_RECOMPILE if self.ascii_only else RECOMPILE_GLYPH, "recompile", tokens.RECOMPILE),
        ):
            if count:
                left.append((f"  {mark} {plural(count, word)}", style))
        if run.damaged:
            left.append((f"  {run.damaged} damaged", tokens.WARN))
        skipped = len(run.found.skipped) + len(run.failures)
        if skipped:
            left.append((f"  {skipped} not opened", tokens.WARN))
        right: list[Piece] = []
        if not run.finished:
            right = [(f"reading {100 * run.scanned // run.size}% of {size_of(run.size)} ", tokens.DIM)]
        elif tally.seconds:
            right = [(f"{seconds(tally.seconds)} compiling ", tokens.DIM)]
        self.query_one(RunBar).set(left, right)

    def _moved(self, moved: DocumentView.Moved) -> None:
        parts: list[Piece] = []
        left, compiles = self.tree_view.outline.filter_counts
        if compiles:
            parts.append((f"{left:,} of {plural(compiles, 'compile')} shown  ", tokens.WARN))
        if moved.selected:
            parts.append((f"{plural(moved.selected, 'line')} selected  ", tokens.STRONG))
        if moved.hits:
            parts.append((f"{moved.hits}  ", tokens.BREAK))
        parts.append((f"{moved.position} ", tokens.DIM))
        self._say_name(moved.line)
        self.status.place(parts)

    def _say_name(self, line: int) -> None:
        """What is known of the name under the caret, else of the node that the line defines."""
        if self.names is None or not self.document_view.has_focus:
            return
        stop = self.document_view.stop_at_caret()
        said = self.names.about(stop.text, line) if stop is not None else ""
        said = said or self.names.about_line(line)
        if said:
            self.tell(said, tokens.DIM)

    def tell(self, text: str, style: str = "") -> None:
        """A remark in the line below."""
        self.status.tell(f" {text}", style)

    # selection

    @property
    def options(self) -> Options:
        """How documents are laid out now."""
        view = self.document_view
        # a hidden pane has no width yet: what it will have is the screen's without gutter and scroll bar
        width = view.text_width if view.size.width else self.size.width - 4
        return Options(width=max(width, 40), sort=self.sort, raw=self.raw, ascii=self.ascii_only)

    def show_ref(self, ref: str, *, by_user: bool = True, at: int | None = None, top: str | None = None) -> None:
        """Ask for the document at an address."""
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        if ref == "@marks":
            self.show_document(self.marks_page(), by_user=by_user)
            return
        if by_user and ref != self.shown_ref:
            self.remember()
            self.raw = False
        self.shown_ref = ref
        self._at_line, self._top = at, top
        if self._loader:
            self._ticket = self._loader.load(ref, self.options)

    def show_document(self, document: Document, *, by_user: bool = True) -> None:
        """Show a document that was made elsewhere, and give it the focus."""
        if by_user and document.ref != self.shown_ref:
            self.remember()
        self.shown_ref = document.ref
        self._ticket = -1  # what the loader still makes is not wanted any more
        self.names = None
        self.document_view.show(document)
        self.document_view.focus()

    def reload(self) -> None:
        """Make the document that is shown again: the run or the width changed."""
        if self._loader:
            self._ticket = self._loader.load(self.shown_ref, self.options)

    def copier(self) -> Callable[[Document], Document]:
        """What gives another thread a copy of a document of its own."""
        loader, options = self._loader, self.options
        return lambda document: document if loader is None else loader.own_copy(document, options)

    def go(self, ref: str, *, at: int | None = None) -> None:
        """Go to an address: tree and document, and the line that it names. A wrong one is told."""
        ref, line = split_line(ref)
        if line is not None:
            at = line - 1
        try:
            parsed = parse_ref(ref)
            node = None if parsed.view else self.trace.resolve(replace(parsed, attempt=None) if parsed.id else parsed)
        except BadAddress as bad:
            self.tell(str(bad), tokens.WARN)
            return
        self.show_ref(ref, at=at)
        if node is not None:
            self.reveal(node)

    def reveal(self, node: TreeNode | None) -> None:
        """Put the cursor of the tree on a node, None for the run. A filter that hides it gives way."""
        keys = ["@run"] if node is None else path_to(self.trace, node)
        tree = self.tree_view
        if not tree.reveal(keys, by_user=False) and tree.outline.filter:
            tree.set_filter("")
            tree.reveal(keys, by_user=False)

    @on(TraceTree.Highlighted)
    def _highlighted(self, message: TraceTree.Highlighted) -> None:
        """The cursor of the tree moved: the document follows when it rests."""
        self._wanted = message.node.ref
        if not message.by_user and self._steered:
            return
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE, self.follow)

    def follow(self) -> None:
        """Show the document of the node under the cursor of the tree, if it moved there."""
        if self._rest is None:
            return
        self._rest = None
        if self._wanted != self.shown_ref:
            self.show_ref(self._wanted, by_user=False)

    def on_document_ready(self, message: DocumentReady) -> None:
        """The document is there, unless another one is wanted by now."""
        if message.ticket != self._ticket:
            return
        self.document_view.show(message.document, at=self._at_line, top=self._top)
        self._at_line = self._top = None
        if self._loader:
            self._loader.check(message.ticket, message.document)
            self.names = None
            self._loader.names(message.ticket, message.document, self.options)

    def on_names_ready(self, message: NamesReady) -> None:
        """The line below may now say what the name under the caret is."""
        if message.ticket == self._ticket:
            self.names = message.names

    def on_document_grown(self, message: DocumentGrown) -> None:
        """The md5 of a large payload has been compared."""
        if message.ticket == self._ticket and message.document is self.document_view.document:
            self.document_view.document_grown()

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

    # layout

    def on_resize(self) -> None:
        """One pane at a time on a narrow screen."""
        self.set_class(self.size.width < NARROW, "-narrow")
        if self.is_mounted and self._loader and self._is_overview():
            self.call_after_refresh(self.reload)

    def on_descendant_focus(self) -> None:
        """The pane with the focus is the one that a narrow or zoomed screen shows."""
        self.set_class(self.document_view.has_focus, "-on-document")
