"""What the commands of the main screen do. The screen itself (`browser.py`) owns layout, selection and scan."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on
from textual.screen import Screen

from tltui.config import cache_path
from tltui.export import WouldOverwrite, lines_of, proposed_name, write
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.status import Status
from tltui.model.walk import has_break, has_error, next_artifact, next_compile, next_in_frame, on_next_rank
from tltui.screens.clipboard import copy
from tltui.screens.goto import GoTo
from tltui.screens.help import Help
from tltui.screens.prompt import Confirm, Prompt
from tltui.text import tokens
from tltui.text.document import Builder, Document
from tltui.widgets.document_view import DocumentView
from tltui.widgets.trace_tree import TraceTree

if TYPE_CHECKING:
    from tltui.screens.browser import Browser


class BrowserCommands(Screen[None]):
    """The `action_…` methods of `Where.EVERYWHERE`."""

    def __init__(self) -> None:
        super().__init__()
        self._past: list[str] = []
        self._future: list[str] = []
        self._marks: dict[str, str] = {}

    @property
    def own(self) -> Browser:
        """The screen itself, with what `browser.py` adds."""
        from tltui.screens.browser import Browser

        assert isinstance(self, Browser)
        return self

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
        """A page about the whole run."""
        if name == "summary":
            self.own.show_ref("")
            self.own.reveal(None)
        else:
            self.own.show_ref(f"@{name}")

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
        self.app.push_screen(Help(self.own.ascii_only, self.own.config))

    def action_command_palette(self) -> None:
        """All commands."""
        self.app.action_command_palette()

    def action_go_to(self) -> None:
        """Type where to go."""
        own = self.own

        def chosen(ref: str | None) -> None:
            if ref is not None:
                own.go(ref)

        self.app.push_screen(GoTo(own.trace, own.current_compile), chosen)

    def action_search(self) -> None:
        """Everywhere."""
        own = self.own

        def answered(text: str | None) -> None:
            if text:
                own.show_ref(str(Ref(view="grep", artifact=text)))
                own.document_view.focus()

        self.app.push_screen(Prompt("search everywhere", "", "a regular expression"), answered)

    # history and marks

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

    def action_mark(self) -> None:
        """Remember this place."""
        own = self.own
        line = own.document_view.current_line()
        self._marks[f"{own.shown_ref}"] = f"{own.current_document.title}, line {line + 1}"
        own.tell(f"marked {own.current_document.title} (' lists the marks)")

    def action_marks(self) -> None:
        """The list of marks."""
        if not self._marks:
            self.own.tell("nothing is marked: m marks a place")
            return
        builder = Builder("@marks", "marks")
        for ref, title in self._marks.items():
            builder.add((title, tokens.LINK, ref or "@run"))
        self.own.remember()
        self.own.document_view.show(builder.document())
        self.own.document_view.focus()

    # out of the program

    def action_copy(self) -> None:
        """Selection or line; in the tree the address."""
        own = self.own
        if own.tree_view.has_focus:
            text = own.current_node.ref or own.trace.found.paths[0]
        else:
            view = own.document_view
            lo, hi = view.selected_lines() or (view.current_line(), view.current_line() + 1)
            text = "\n".join(own.current_document.text(lo, hi))
        self._copy(text)

    def action_copy_address(self) -> None:
        """Address and file."""
        own = self.own
        compile_ = own.current_compile
        path = compile_.process.log.path if compile_ else own.trace.found.paths[0]
        self._copy(f"{path} {own.shown_ref}".strip())

    def _copy(self, text: str) -> None:
        self.own.tell(copy(text, self.app.copy_to_clipboard, cache_path() / "yank.txt"))

    def action_export(self) -> None:
        """To a file."""
        own = self.own
        document = own.current_document
        selected = own.document_view.selected_lines()
        lines = f" ({selected[1] - selected[0]} lines)" if selected else ""

        def named(path: str | None) -> None:
            if path and path.strip():
                self._write(document, path.strip(), selected, force=False)

        self.app.push_screen(Prompt(f"write{lines} to", proposed_name(document), ".txt .ansi .md"), named)

    def _write(self, document: Document, path: str, selected: tuple[int, int] | None, force: bool) -> None:
        own = self.own
        lo, hi = selected or (0, None)
        try:
            count = write(document, path, lo=lo, hi=hi, force=force)
        except WouldOverwrite as exists:
            def answered(yes: bool | None) -> None:
                if yes:
                    self._write(document, path, selected, force=True)
                else:
                    own.tell("nothing was written")

            self.app.push_screen(Confirm(f"replace {exists}?"), answered)
        except OSError as error:
            own.tell(f"could not write {path}: {error.strerror or error}", tokens.ERROR)
        else:
            own.tell(f"wrote {count:,} lines to {path}")

    def action_pager(self) -> None:
        """In $PAGER."""
        pager = shlex.split(os.environ.get("PAGER") or "less -R")
        self._outside(pager, lines_of(self.own.current_document, "ansi" if "less" in pager[0] else "text"))

    def action_editor(self) -> None:
        """In $EDITOR: a copy, since a trace is not to be changed."""
        own = self.own
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with tempfile.TemporaryDirectory(prefix="tltui-") as directory:
            file = Path(directory) / proposed_name(own.current_document)
            file.write_text("".join(f"{line}\n" for line in lines_of(own.current_document)), "utf-8", "backslashreplace")
            self._outside([*editor, f"+{own.document_view.current_line() + 1}", str(file)], None)

    def _outside(self, command: list[str], lines: Any) -> None:
        try:
            with self.app.suspend():
                if lines is None:
                    subprocess.run(command, check=False)
                else:
                    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8") as process:
                        assert process.stdin is not None
                        try:
                            for line in lines:
                                process.stdin.write(line + "\n")
                            process.stdin.close()
                        except BrokenPipeError:
                            pass
        except Exception as error:
            self.own.tell(f"could not run {command[0]}: {error}", tokens.ERROR)

    def action_suspend(self) -> None:
        """To the shell."""
        self.app.action_suspend_process()

    def action_leave(self) -> None:
        """Leave tltui."""
        self.app.exit()

    # what the panes ask

    @on(TraceTree.Entered)
    def _entered(self) -> None:
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

        self.app.push_screen(Prompt("show only", tree.outline.filter, "name, file, status, reason; empty: all"), answered)

    @on(DocumentView.Told)
    def _told(self, message: DocumentView.Told) -> None:
        self.own.tell(message.text)

    @on(DocumentView.Followed)
    def _followed(self, message: DocumentView.Followed) -> None:
        target = message.target
        if target.startswith("file:"):
            self.own.tell(f"{target[5:]} (not part of the trace)")
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
