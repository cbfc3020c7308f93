"""The base of all screens: run, config and scheduler, status line, prompts, clipboard, files; and the base of those with panes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from textual import on
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.events import MouseDown
from textual.screen import Screen
from textual.widget import Widget

from tltui.commands import BY_ID, COMMANDS, FOOTER_HELP, Command, Situation, Where, commands_for, key_label
from tltui.config import Config, cache_path
from tltui.documents.format import plural
from tltui.messages import Answer
from tltui.model.run import Run
from tltui.running.job import Job
from tltui.screens.prompts import Prompting, Question, SearchQuestion, TargetQuestion, confirm
from tltui.terminal.frames import Frames
from tltui.text import tokens
from tltui.text.composite_documents import DocumentPart, GrowingDocument
from tltui.text.document import Document
from tltui.text.frozen import frozen
from tltui.text.safe_files import replacing
from tltui.trace import scan_workers
from tltui.widgets.bars import Hint, Remark, StatusBar
from tltui.widgets.document_view import DocumentView
from tltui.work.scheduler import Place, Scheduler, Steps, Task

if TYPE_CHECKING:
    from tltui.export import WouldOverwrite

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal

from tltui.text.document import Options, Piece, error_document
from tltui.widgets.bars import LEAST_COLUMNS, LEAST_ROWS, STEP, Asking, RunBar, widen


@dataclass(frozen=True)
class AppContext:
    """What every screen works with."""

    run: Run
    config: Config
    scheduler: Scheduler
    ascii_only: bool
    mouse: bool
    writing: list[Task] = field(default_factory=list)
    """Files that are being written."""
    typed: dict[str, list[str]] = field(default_factory=dict)
    """What was answered to questions of one kind, the latest last."""
    job: Job | None = None
    """What tltui started, where it did."""
    is_of_list: bool = False
    """Whether the run was opened from a list of runs, which leaving leads back to."""


LIMIT = 74_000
"""Bytes that terminals take in one OSC 52 sequence."""


def copy(text: str, osc52: Callable[[str], None], file: Path) -> str:
    """Copy `text`; a sentence that says where it went.

    Inside tmux its own buffer is filled first (`load-buffer -w` hands it on to the outer terminal; with tmux's default
    settings a plain OSC 52 of a program inside would be dropped). `osc52` sends the sequence. The file is private; failing
    to write it is no error.
    """
    lines = text.count("\n") + 1
    amount = f"{lines:,} lines" if lines > 1 else f"{len(text)} characters"
    sent = []
    data = text.encode("utf-8", "backslashreplace")
    if _to_tmux(data):
        sent.append("to tmux")
    elif len(data) <= LIMIT:
        osc52(text)
        sent.append("to the terminal (if it allows that)")
    where = _to_file(data, file)
    if where:
        sent.append(f"in {where}")
    return f"copied {amount}: {', '.join(sent)}" if sent else f"could not copy {amount}"


def _to_tmux(data: bytes) -> bool:
    if not os.environ.get("TMUX") or shutil.which("tmux") is None:
        return False
    try:
        done = subprocess.run(["tmux", "load-buffer", "-w", "-"], input=data, timeout=2, capture_output=True, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _to_file(data: bytes, file: Path) -> str:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(file, private=True) as out:
            out.write(data)
    except OSError:
        return ""
    home = str(Path.home())
    return str(file).replace(home, "~", 1) if str(file).startswith(home) else str(file)


T = TypeVar("T")


@frozen
class Output:
    """What is to be written: a document, made off the UI thread; of it lines `lo` to `hi`, or `lines` alone."""

    make: Callable[[], Document]
    lo: int = 0
    hi: int | None = None
    lines: Sequence[int] | None = None


RIGHT_BUTTON = 3
LAST_SLICE = 0.3
"""Seconds that leaving waits for what is being read at that moment."""
LAST_WRITE = 10.0
"""Seconds that leaving waits for a file that is being written."""


class Workbench(Screen[T]):
    """A screen with documents."""

    def __init__(self, around: AppContext) -> None:
        super().__init__()
        self.around = around
        self.trace = around.run
        self.config = around.config
        self.scheduler = around.scheduler
        self.ascii_only = around.ascii_only
        self.mouse = around.mouse
        self.prompt = Prompting(self, around.typed, self.answer)

    def on_unmount(self) -> None:
        """Close the prompt."""
        self.prompt.leave()

    def end_work(self) -> None:
        """Stop all work of the app, after the pending writes."""
        for task in self.around.writing:
            task.ended.wait(LAST_WRITE)
        self.scheduler.stop()
        self.scheduler.join(LAST_SLICE)
        from tltui.text.search.child_process import end_all  # not before the first frame

        end_all()
        scan_workers.end_all()

    def on_mouse_down(self, event: MouseDown) -> None:
        """Pass a mouse press to the prompt; without one the right button goes back."""
        if event.button == RIGHT_BUTTON and self.is_whole and not self.prompt.is_open:
            self.perform(BY_ID[self.back_command])
        self.prompt.pressed(event)

    @on(Remark.Pressed)
    def _hint_pressed(self, message: Remark.Pressed) -> None:
        """Run a command of the footer as its key does."""
        if self.is_whole:
            self.perform(BY_ID[message.command])

    @property
    def back_command(self) -> str:
        """The command of the right mouse button."""
        return "app.back"

    @property
    def is_whole(self) -> bool:
        """Whether its parts are there: not before it is laid out, and no more while it goes."""
        return self.is_mounted and any(isinstance(child, StatusBar) for child in self.children)  # asked at every key

    def watch_focused(self, focused: Widget | None) -> None:
        """Restore the focus when Textual takes it from a hidden widget: without it no key of a pane would work."""
        if focused is None and self.is_whole:
            self.call_after_refresh(self._refocus)

    def _refocus(self) -> None:
        if self.focused is None and self.is_whole:
            with suppress(NoMatches):  # Textual removes the panes of a screen that goes before its status bar
                self.pane_for_keys.focus()

    @property
    def pane_for_keys(self) -> Widget:
        """Which pane gets the focus where none has it."""
        raise NotImplementedError

    # what is said

    @property
    def status(self) -> StatusBar:
        """The line below."""
        return self.query_one(StatusBar)

    def show_message(self, text: str, style: str = "") -> None:
        """Show a message in the line below."""
        self.status.show_message(f" {text}", style)

    def describe(self, text: str) -> None:
        """Describe what is under the cursor in the line below, '' for nothing."""
        self.status.describe(f" {text}" if text else "")

    def hints(self, names: Sequence[str]) -> list[Hint]:
        """Return keys and words of the footer, without commands that have no key."""
        return [Hint(key, BY_ID[name].hint, name) for name in names if (key := self.key_of(name))]

    def key_without_command(self, key: str) -> None:
        """Show that a key has no command here."""
        keys = self.config.keys
        place = " here" if any(key in keys.get(command.id, command.keys) for command in COMMANDS) else ""
        help_key = self.key_of("app.help")
        self.show_message(f"No command on {key_label(key)}{place}.{f' {help_key} lists the keys.' if help_key else ''}")

    @property
    def awaits_document(self) -> bool:
        """Whether keys are meant for a document that is still being made."""
        return False

    def key_of(self, name: str) -> str:
        """Return the label of a command's key, '' for one without."""
        keys = self.config.keys.get(name, BY_ID[name].keys)
        return key_label(keys[0]) if keys else ""

    # what comes from elsewhere

    def answer(self, apply: Callable[[], object]) -> None:
        """Run `apply` on the UI thread, if the screen still exists. Thread-safe."""
        try:
            self.post_message(Answer(apply))
        except RuntimeError:  # the app is ending: nobody is left to be told
            return

    def on_answer(self, message: Answer) -> None:
        """Apply a requested result."""
        message.apply()

    # prompts

    def ask(self, question: str, answered: Callable[[str], object], value: str = "", hint: str = "", history: str = "") -> None:
        """Ask for a text; nothing happens after esc. `history`: under which name the answers are kept."""
        self.prompt.open(Question(question, answered, value, hint, history=history))

    def situation(self) -> Situation:
        """Return the state that commands depend on."""
        raise NotImplementedError

    def owner(self, command: Command) -> DOMNode:
        """Return the widget that has the method of a command."""
        return self

    def perform(self, command: Command) -> None:
        """Run a command where it belongs, unless an earlier one has closed the screen until then."""
        self.app.call_later(self._run_command, command.action, self.owner(command))

    async def _run_command(self, action: str, owner: DOMNode) -> None:
        if self.is_whole:
            await self.app.run_action(action, owner)

    def action_command_palette(self) -> None:
        """Open the palette of the commands that work here and now."""
        from tltui.screens.palette import Palette

        self.prompt.open(Palette(self.situation(), self.config.keys, self.perform))

    def action_redraw(self) -> None:
        """Redraw the whole screen."""
        if isinstance(self.app, Frames):
            self.app.redraw()

    @on(DocumentView.Notified)
    def _notified(self, message: DocumentView.Notified) -> None:
        self.show_message(message.text)

    @on(DocumentView.AskSearch)
    def _ask_search(self, message: DocumentView.AskSearch) -> None:
        self.prompt.open(SearchQuestion(message.view))

    @on(DocumentView.AskFilter)
    def _ask_filter(self, message: DocumentView.AskFilter) -> None:
        self.ask("show only lines with", message.view.set_filter, message.view.filter_text, "empty: all", "filter")

    @on(DocumentView.AskLine)
    def _ask_line(self, message: DocumentView.AskLine) -> None:
        def answered(text: str) -> None:
            if text.strip().isdigit():
                message.view.goto_line(int(text))
            elif text:
                self.show_message(f"{text!r} is not a line number")

        self.ask("line", answered, history="line")

    # out

    def copy(self, text: str) -> None:
        """Go to the clipboard."""
        self.show_message(copy(text, self.app.copy_to_clipboard, cache_path() / "yank.txt"))

    def copy_lines(self, view: DocumentView) -> None:
        """Copy the selected lines of a view, or the line."""
        selected = view.selection()
        lines = range(view.current_line(), view.current_line() + 1) if selected is None else selected
        self.copy("\n".join(DocumentPart(view.document, lines).text()))

    def export_lines(self, view: DocumentView) -> None:
        """Export the selected lines of a view, else its filtered lines, to a file."""
        from tltui.export import proposed_name  # not before the first frame

        document = view.document
        (lo, hi), selected, lines = view.selected_lines() or (0, None), view.selection(), view.filtered_lines
        if lines is not None and selected is not None:
            lines = selected
        selected_count = "" if selected is None else f" ({plural(len(selected), 'line')})"
        self.ask_where(f"write{selected_count} to", Output(lambda: document, lo, hi, lines), proposed_name(document))

    def ask_where(self, question: str, output: Output, name: str) -> None:
        """Ask for a path, `name` being proposed, and write."""

        def chosen(path: str) -> None:
            path = path.strip()
            if path and os.path.isdir(os.path.expanduser(path)):
                asks(f"{path} is a directory, {question}", os.path.join(path, os.path.basename(name)))
            elif path:
                self.write(output, path)

        def asks(asked: str, proposed: str) -> None:
            self.prompt.open(TargetQuestion(asked, chosen, proposed, self.around.typed.get(TargetQuestion.HISTORY, ())))

        asks(question, name)

    def write(self, output: Output, path: str, force: bool = False) -> None:
        """Write a file off the UI thread: 100 MB take seconds, and a key always answers at once."""
        app = self.app

        def answer(apply: Callable[[], object]) -> None:  # the screen may be left by then
            app.post_message(Answer(apply))

        def failed(error: BaseException) -> None:
            reason = f"{error.strerror or error}" if isinstance(error, OSError) else f"{type(error).__name__} in tltui"
            answer(partial(say, app, f"could not write {path}: {reason}", tokens.ERROR))

        def asks(exists: WouldOverwrite) -> None:
            answer(partial(self._ask_to_replace, app, str(exists), output, path))

        def written(count: int) -> None:
            answer(partial(say, app, f"wrote {count:,} lines to {path}"))

        self.show_message(f"writing {path} …")
        writing = _writing(output, path, force, self.trace.title, written, asks)
        task = self.scheduler.do(writing, place=Place.LONG, fault=failed)
        unfinished = [other for other in self.around.writing if not other.ended.is_set()]
        self.around.writing[:] = [*unfinished, task]

    def _ask_to_replace(self, app: Any, target: str, output: Output, path: str) -> None:
        def answered(yes: bool) -> None:
            if yes:
                self.write(output, path, force=True)
            else:
                say(app, "no file was written")

        bench = front(app)
        if bench is not None:
            bench.status.quiet()
            bench.prompt.open(confirm(f"replace {target}?", answered))


def front(app: Any) -> Workbench[Any] | None:
    """Return the front screen."""
    bench = next((screen for screen in reversed(app.screen_stack) if isinstance(screen, Workbench)), None)
    return bench if bench is not None and bench.is_whole else None


def say(app: Any, text: str, style: str = "") -> None:
    """Show a message in the line below of the front screen."""
    bench = front(app)
    if bench is not None:
        bench.show_message(text, style)


def _writing(
    output: Output, path: str, force: bool, run: str, written: Callable[[int], object], asks: Callable[[WouldOverwrite], object]
) -> Steps:
    from tltui.export import WouldOverwrite, write  # not before the first frame

    document = output.make()
    if isinstance(document, GrowingDocument):
        yield Place.NODES
        while not document.advance():
            yield None
        yield Place.LONG
    try:
        if output.lines is None:
            written(write(document, path, lo=output.lo, hi=output.hi, force=force, run=run))
        else:
            written(write(DocumentPart(document, output.lines), path, force=force, run=run))
    except WouldOverwrite as exists:
        asks(exists)


WHILE_HELPING = ("help", "leave", "close", "copy", "redraw")
"""Actions that help does not keep from anybody."""


class PanesScreen(Workbench[T]):
    """A row of panes between a line above and a line below."""

    WHERE: ClassVar[Where]
    """Whose commands it has."""
    FOOTER: ClassVar[tuple[str, ...]]
    """Which of them the line below names."""

    def __init__(self, around: AppContext) -> None:
        super().__init__(around)
        self.is_following = False
        """Whether panes are moved because another one was."""

    # what each use says

    @abstractmethod
    def compose_panes(self) -> Iterator[DocumentView]:
        """Yield the panes, from the left."""

    def below_panes(self) -> ComposeResult:
        """Yield widgets between the panes and the line below."""
        return iter(())

    @property
    @abstractmethod
    def shown_panes(self) -> Sequence[DocumentView]:
        """The panes between which `tab` goes, from the left."""

    # layout

    def compose(self) -> ComposeResult:
        """Yield the line above, the panes, the line below."""
        yield RunBar(ascii_only=self.ascii_only)
        with Horizontal(id="row"):
            yield from self.compose_panes()
        yield from self.below_panes()
        yield DocumentView(mouse=self.mouse, ascii_only=self.ascii_only, id="help")
        yield StatusBar(self.hints(self.FOOTER), ascii_only=self.ascii_only, id="status-bar")
        yield Asking(ascii_only=self.ascii_only)

    @property
    def pane_for_keys(self) -> Widget:
        """Help where it has the place, else a pane that is in sight."""
        shown = [view for view in self.shown_panes if view.display]
        return self.query_one("#help", DocumentView) if self.is_helping or not shown else shown[0]

    @property
    def focused_pane(self) -> DocumentView:
        """The pane that has the focus, else the first one."""
        panes = self.shown_panes
        return next((view for view in panes if view.has_focus), panes[0])

    def go_to_pane(self, by: int) -> DocumentView:
        """Give the focus to the pane so many to the right."""
        panes = self.shown_panes
        view = panes[(panes.index(self.focused_pane) + by) % len(panes)]
        view.focus()
        return view

    def action_wider(self) -> None:
        """Make the focused pane wider."""
        self._widen(1)

    def action_narrower(self) -> None:
        """Make the focused pane narrower."""
        self._widen(-1)

    @property
    def is_stacked(self) -> bool:
        """Whether panes are above each other."""
        return False

    def _widen(self, by: int) -> None:
        is_stacked = self.is_stacked
        step, least, unit = (1, LEAST_ROWS, "rows") if is_stacked else (STEP, LEAST_COLUMNS, "columns")
        if not widen(self.shown_panes, self.focused_pane, by * step, least, is_stacked):
            self.show_message(f"cannot resize further: each pane needs at least {least} {unit}")

    @contextmanager
    def following(self) -> Iterator[None]:
        """Keep panes from following each other while the block runs."""
        self.is_following = True
        try:
            yield
        finally:
            self.is_following = False

    # what the lines say

    def profiles_read(self) -> None:
        """Handle profiles that were read while this screen is open."""

    def say_above(self, pieces: Sequence[Piece]) -> None:
        """Show pieces in the line above."""
        self.query_one(RunBar).set(pieces)

    def say_place(self, moved: DocumentView.Moved, where: str = "") -> None:
        """Show the position in a pane, at the right of the line below."""
        hits = f"{moved.hits}  " if moved.hits else ""
        self.status.place([(hits, tokens.BREAK), (f"{where}{moved.position} ", tokens.DIM)])

    # commands

    def owner(self, command: Command) -> DOMNode:
        """Return the widget that has the method of a command."""
        view = self.query_one("#help", DocumentView) if self.is_helping else self.focused_pane
        return view if command.where is Where.DOCUMENT else self

    # help

    @property
    def back_command(self) -> str:
        """The command that its footer begins with; with help open the one that closes help."""
        return f"{self.WHERE.name.lower()}.help" if self.is_helping else self.FOOTER[0]

    @property
    def is_helping(self) -> bool:
        """Whether help has the place of the panes."""
        return self.has_class("-help")

    def action_help(self) -> None:
        """Show all keys and marks; again, or esc, goes back."""
        if self.is_helping:
            self._leave_help()
            return
        from tltui.screens.palette import help_document

        view = self.query_one("#help", DocumentView)
        self._before_help = self.focused_pane
        width = max(self.size.width - view.gutter_width - 1, 40)
        view.show(help_document(self.ascii_only, self.config, width, self.situation(), self.WHERE.value))
        self.add_class("-help")
        closing = f"{self.WHERE.name.lower()}.help"
        self.status.show_hints([Hint(self.key_of(closing), "back", closing), *self.hints(FOOTER_HELP)])
        view.focus()

    @on(DocumentView.Followed)
    def _followed_in_help(self, message: DocumentView.Followed) -> None:
        """Show pages of the guide in place of help; esc leads back to the panes."""
        if not self.is_helping:
            return
        from tltui.documents.manual import manual_document

        view = self.query_one("#help", DocumentView)
        width = max(self.size.width - view.gutter_width - 1, 40)
        page = manual_document(message.target, Options(width=width, ascii=self.ascii_only))
        if page is not None:
            view.show(page)

    def _leave_help(self) -> None:
        self.remove_class("-help")
        self.show_footer()
        self._before_help.focus()

    def show_footer(self) -> None:
        """Show the commands of the footer that have an effect now."""
        available = {command.id for command in commands_for(self.situation())}
        self.status.show_hints(self.hints([name for name in self.FOOTER if name in available]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible: help hides the panes and most of their actions."""
        return not self.is_helping or action in WHILE_HELPING

    # out

    def action_copy(self) -> None:
        """Copy the selected lines, or the line."""
        self.copy_lines(self.query_one("#help", DocumentView) if self.is_helping else self.focused_pane)

    def closes_innermost(self) -> bool:
        """Close help, or what is to be closed first in the pane. False where there is nothing."""
        if not self.is_helping:
            return self.focused_pane.close_innermost()
        if not self.query_one("#help", DocumentView).close_innermost():
            self._leave_help()
        return True


def fault_document(ref: str, title: str, subject: str, error: BaseException) -> Document:
    """Return the document in place of one that could not be made."""
    return error_document(ref, title, subject, error if isinstance(error, Exception) else RuntimeError(repr(error)))
