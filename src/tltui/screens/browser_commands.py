"""What the commands of the main screen do. The screen itself (`browser.py`) owns layout, selection and scan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from textual import on

from tltui.commands import BY_ID
from tltui.documents.pages.table import BY_NAME
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.status import Status
from tltui.model.walk import has_break, has_error, next_artifact, next_compile, next_in_frame, on_next_rank
from tltui.screens.browser_compare import BrowserCompare
from tltui.screens.prompt import Prompt
from tltui.widgets.document_view import DocumentView
from tltui.widgets.trace_tree import TraceTree

if TYPE_CHECKING:
    from tltui.screens.palette import Performer


class BrowserCommands(BrowserCompare):
    """The `action_…` methods of `Where.EVERYWHERE`."""

    def __init__(self) -> None:
        super().__init__()
        self._past: list[str] = []
        self._future: list[str] = []

    # panes

    def action_other_pane(self) -> None:
        """Between tree and document."""
        own = self.own
        (own.tree_view if own.document_view.has_focus else own.document_view).focus()

    def action_other_down(self) -> None:
        """A line down in the other pane."""
        self._other().action_cursor_down()

    def action_other_up(self) -> None:
        """A line up in the other pane."""
        self._other().action_cursor_up()

    def _other(self) -> TraceTree | DocumentView:
        own = self.own
        return own.tree_view if own.document_view.has_focus else own.document_view

    def action_zoom(self) -> None:
        """One pane over the whole screen."""
        self.toggle_class("-zoomed")

    def action_close(self) -> None:
        """The innermost of selection, filter, search; then back to the tree."""
        own = self.own
        if own.document_view.has_focus and own.document_view.close_innermost():
            return
        if own.tree_view.outline.filter:
            own.tree_view.set_filter("")
        elif self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif own.document_view.has_focus:
            own.tree_view.focus()

    # walking

    def action_next_error(self) -> None:
        """To the next error."""
        self._walk(has_error, False, "error", own_status=Status.ERROR)

    def action_previous_error(self) -> None:
        """To the error before."""
        self._walk(has_error, True, "error", own_status=Status.ERROR)

    def action_next_break(self) -> None:
        """To the next graph break."""
        self._walk(has_break, False, "graph break")

    def action_previous_break(self) -> None:
        """To the graph break before."""
        self._walk(has_break, True, "graph break")

    def _walk(self, wanted: Any, back: bool, word: str, own_status: Status | None = None) -> None:
        own = self.own
        found = next_compile(own.trace, own.current_compile, wanted, back)
        if found is not None:
            self._go_compile(found)
            return
        reading = " so far: the log is still being read" if not own.trace.finished else ""
        if next_compile(own.trace, None, wanted) is None:
            own.tell(f"no {word} in this run{reading}")
        else:
            own.tell(f"no {'earlier' if back else 'further'} {word}{reading}")

    def _go_compile(self, compile_: Compile) -> None:
        own = self.own
        own.show_ref(str(compile_.ref))
        own.reveal(compile_)

    def action_next_recompile(self) -> None:
        """To the next compile of this frame."""
        self._recompile(False)

    def action_previous_recompile(self) -> None:
        """To the compile of this frame before."""
        self._recompile(True)

    def _recompile(self, back: bool) -> None:
        own = self.own
        current = own.current_compile
        if current is None or not current.is_compile:
            found = next_compile(own.trace, None, lambda compile_: compile_.is_recompile, back)
            if found is None:
                own.tell("no frame was compiled again in this run")
            else:
                self._go_compile(found)
            return
        found = next_in_frame(current, back)
        if found is not None:
            self._go_compile(found)
            return
        name = current.frame.code[0] or "the frame"
        if len(current.frame.compiles) == 1:
            own.tell(f"{name} was compiled only once")
        else:
            own.tell(f"{current.id.bracketed} is the {'first' if back else 'last'} compile of {name}")

    def action_next_rank(self) -> None:
        """To the same code on the next rank."""
        self._rank(False)

    def action_previous_rank(self) -> None:
        """To the same code on the rank before."""
        self._rank(True)

    def _rank(self, back: bool) -> None:
        own = self.own
        current = own.current_compile
        if current is None or not current.is_compile:
            own.tell("go to a compile first: this key finds the same code on another rank")
            return
        found, remark = on_next_rank(own.trace, current, back)
        if found is not None:
            self._go_compile(found)
        if remark:
            own.tell(remark)

    def action_next_artifact(self) -> None:
        """To the next artifact of the compile."""
        self._artifact(False)

    def action_previous_artifact(self) -> None:
        """To the artifact of the compile before."""
        self._artifact(True)

    def _artifact(self, back: bool) -> None:
        own = self.own
        compile_ = own.current_compile
        if compile_ is None:
            own.tell("go to a compile first")
            return
        found = next_artifact(compile_, own.current_artifact, back)
        if found is None:
            own.tell(f"no {'earlier' if back else 'further'} artifact in {compile_.id.bracketed}")
        else:
            own.go(str(found.ref))

    # pages

    def action_view(self, name: str) -> None:
        """A page about the whole run; the same key again: about what the tree's cursor is on."""
        own = self.own
        here = parse_ref(own.current_node.ref)
        part = str(replace(here, attempt=None, artifact=None, n=None, view=""))
        if own.shown_ref == f"@{name}" and part:
            own.show_ref(f"@{name}:{part}")
        elif name == "summary":
            own.show_ref("")
            own.reveal(None)
        else:
            own.show_ref(f"@{name}")
            if part:
                key = BY_ID[f"app.view_{name}"].keys_shown()
                own.tell(f"{key} again: {name} of {part} only" if key else "")

    def action_sort(self) -> None:
        """The next order of the tables of this page."""
        own = self.own
        view = BY_NAME.get(parse_ref(own.shown_ref).view)
        if view is None or not view.sorts:
            own.tell("this page has one order only")
            return
        place = view.sorts.index(own.sort) if own.sort in view.sorts else 0
        own.sort = view.sorts[(place + 1) % len(view.sorts)]
        own.reload()
        own.tell(f"sorted by {own.sort}")

    def action_damage(self) -> None:
        """What is damaged."""
        self.own.show_ref("@damage")

    def action_records(self) -> None:
        """The records of what is selected."""
        ref = parse_ref(self.own.current_node.ref)
        self.own.show_ref(str(Ref(ref.rank, ref.process, ref.id, view="records")))

    def action_all_views(self) -> None:
        """The list of pages."""
        self.own.show_ref("@pages")

    def action_raw(self) -> None:
        """As stored, or laid out."""
        own = self.own
        own.raw = not own.raw
        own.reload()
        own.tell("as it was stored" if own.raw else "laid out")

    def action_help(self) -> None:
        """Keys and marks."""
        from tltui.screens.help import Help

        self.app.push_screen(Help(self.own.ascii_only, self.own.config))

    def action_command_palette(self) -> None:
        """All commands."""
        self.app.action_command_palette()

    def action_go_to(self) -> None:
        """Type where to go."""
        from tltui.screens.goto import COMMAND, GoTo

        own = self.own

        def chosen(ref: str | None) -> None:
            if ref is not None and ref.startswith(COMMAND):
                cast("Performer", self.app).perform(BY_ID[ref.removeprefix(COMMAND)])
            elif ref is not None:
                own.go(ref)

        self.app.push_screen(GoTo(own.trace, own.current_compile, own.names, own.shown_ref, own.ascii_only), chosen)

    def action_search(self) -> None:
        """Everywhere."""
        own = self.own

        def answered(text: str | None) -> None:
            if text:
                own.show_ref(str(Ref(view="grep", artifact=text)))
                own.document_view.focus()

        self.app.push_screen(Prompt("search everywhere", "", "a regular expression"), answered)

    # history

    def remember(self) -> None:
        """The place that is being left is one to come back to."""
        self._past.append(self.own.shown_ref)
        self._future.clear()
        del self._past[:-200]

    def action_back(self) -> None:
        """To where one was."""
        self._travel(self._past, self._future, "nothing to go back to")

    def action_forward(self) -> None:
        """Forward again."""
        self._travel(self._future, self._past, "nothing to go forward to")

    def _travel(self, source: list[str], target: list[str], none: str) -> None:
        own = self.own
        if not source:
            own.tell(none)
            return
        target.append(own.shown_ref)
        ref = source.pop()
        own.show_ref(ref, by_user=False)
        try:
            parsed = parse_ref(ref)
            if not parsed.view:
                own.reveal(own.trace.resolve(parsed))
        except BadAddress:
            return

    # what the panes ask

    @on(TraceTree.Entered)
    def _entered(self) -> None:
        self.own.follow()
        self.own.document_view.focus()

    @on(TraceTree.Told)
    def _tree_told(self, message: TraceTree.Told) -> None:
        self.own.tell(message.text)

    @on(TraceTree.AskFilter)
    def _tree_filter(self) -> None:
        tree = self.own.tree_view

        def answered(text: str | None) -> None:
            if text is not None:
                tree.set_filter(text.strip())

        hint = "error, break … or a name, file, reason; ! in front: not; empty: all"
        self.app.push_screen(Prompt("show only", tree.outline.filter, hint), answered)

    @on(DocumentView.Told)
    def _told(self, message: DocumentView.Told) -> None:
        self.own.tell(message.text)

    @on(DocumentView.Followed)
    def _followed(self, message: DocumentView.Followed) -> None:
        target = message.target
        if target.startswith("file:"):
            # a line of somebody's source: all that was born of it
            self.own.go(str(Ref(view="source", artifact=target.removeprefix("file:"))))
        elif target.startswith("@diff:"):
            self.open_comparison(target)
        else:
            self.own.go(target)

    @on(DocumentView.NameFollowed)
    def _name_followed(self, message: DocumentView.NameFollowed) -> None:
        """To the definition of a name; on the definition itself, and where there is none, to its next use."""
        names = self.own.names
        line = names.definition(message.name, message.line) if names is not None else None
        if line is None or line == message.line:
            message.view.action_search_word()
        else:
            message.view.goto_line(line + 1)
            message.view.move_to(line, max(self._column_of(message.name, line), 0))

    def _column_of(self, name: str, line: int) -> int:
        return self.own.current_document.line(line).text.find(name)

    @on(DocumentView.AskLine)
    def _ask_line(self, message: DocumentView.AskLine) -> None:
        def answered(text: str | None) -> None:
            if text and text.strip().isdigit():
                message.view.goto_line(int(text))
            elif text:
                self.own.tell(f"{text!r} is no line number")

        self.app.push_screen(Prompt("line"), answered)

    @on(DocumentView.AskSearch)
    def _ask_search(self, message: DocumentView.AskSearch) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                message.view.search(text)

        self.app.push_screen(Prompt("/"), answered)

    @on(DocumentView.AskFilter)
    def _ask_filter(self, message: DocumentView.AskFilter) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                message.view.set_filter(text)

        self.app.push_screen(Prompt("show only lines with", message.view.filter_text, "empty: all"), answered)
