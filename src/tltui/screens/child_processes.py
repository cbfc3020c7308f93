"""Programs beside the UI: the job that tltui started and its processes, $PAGER and $EDITOR."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.timer import Timer

from tltui.model.run import Run
from tltui.questions.records.output_page import REF, OutputDocument, how_it_ended, many_outputs
from tltui.screens.main_screen import MainScreen
from tltui.screens.prompts import KeyQuestion
from tltui.screens.requests import has_outputs
from tltui.screens.workbench import front
from tltui.sources.discover import awaited
from tltui.sources.job_output import JobState
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options
from tltui.trace.files import Identity
from tltui.work.reader_threads import Watch
from tltui.work.scheduler import Place, Steps
from tltui.work.signals import ignore_signal

if TYPE_CHECKING:
    from tltui.questions.hang.process_sections import Here

_running: set[subprocess.Popen[str]] = set()
"""The program that has the terminal now."""


def has_terminal() -> bool:
    """Return whether another program has the terminal."""
    return bool(_running)


def terminate_programs() -> None:
    """End it: for a program that is told to go while another one has the terminal."""
    for process in tuple(_running):
        process.terminate()


class ExternalPrograms:
    """Show the page in $PAGER or $EDITOR."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench

    def _when_whole(self, then: Callable[[], None]) -> None:
        """Begin when the page that is shown is complete: it is made by the scheduler, whoever wants it."""
        bench = self._bench
        document = bench.current_document
        if document.complete or not isinstance(document, GrowingDocument):
            then()
            return

        def completing() -> Steps:
            while not document.advance():
                yield None
            bench.answer(lambda: then() if document is bench.current_document else None)

        bench.show_message("completing the page first …")
        bench.document_view.work(completing(), Place.NODES)

    def pager(self) -> None:
        """Show the page in $PAGER."""
        from tltui.export import lines_of  # not before the first frame

        pager = self._command("PAGER", os.environ.get("PAGER", ""), "less -R")
        if pager:
            is_less = Path(pager[0]).name == "less"
            pager += ["-R"] * (is_less and "-R" not in pager)  # without it less shows the escapes of colours
            style = "ansi" if is_less else "text"
            self._when_whole(lambda: self._run(pager, lines_of(self._bench.current_document, style)))

    def editor(self) -> None:
        """Open a copy of the page in $EDITOR, since a trace is not to be changed."""
        name = "VISUAL" if os.environ.get("VISUAL", "").strip() else "EDITOR"
        if editor := self._command(name, os.environ.get(name, ""), "vi"):
            self._when_whole(lambda: self._edit(editor))

    def _command(self, name: str, text: str, default: str) -> list[str]:
        """Return the words of a command in an environment variable; [] after a message if they cannot be parsed."""
        try:
            return shlex.split(text) or shlex.split(default)
        except ValueError as error:
            self._bench.show_message(f"${name} is not a valid command: {error}", tokens.ERROR)
            return []

    def _edit(self, editor: list[str]) -> None:
        from tltui.export import lines_of, proposed_name

        bench = self._bench
        with tempfile.TemporaryDirectory(prefix="tltui-") as directory:
            file = Path(directory) / proposed_name(bench.current_document)
            with file.open("w", encoding="utf-8", errors="backslashreplace") as out:
                out.writelines(f"{line}\n" for line in lines_of(bench.current_document))
            self._run([*editor, f"+{bench.document_view.current_line() + 1}", str(file)], None)

    def _run(self, command: list[str], lines: Iterator[str] | None) -> None:
        try:
            with self._bench.app.suspend(), _deaf_to_keys():
                _feed(command, lines)
        except Exception as error:
            self._bench.show_message(f"could not run {command[0]}: {error}", tokens.ERROR)


@contextmanager
def _deaf_to_keys() -> Iterator[None]:
    """Ignore SIGINT and SIGQUIT while another program has the terminal, which sends them here too."""
    before = {number: signal.signal(number, ignore_signal) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _feed(command: list[str], lines: Iterator[str] | None) -> None:
    """Run a program, a pager on lines; it may be left before it has seen them all."""
    read = None if lines is None else subprocess.PIPE
    with subprocess.Popen(command, stdin=read, text=True, encoding="utf-8", errors="backslashreplace") as process:
        _running.add(process)
        try:
            if process.stdin is not None:
                for line in lines or ():
                    process.stdin.write(line + "\n")
                process.stdin.close()
            process.wait()
        except BrokenPipeError:
            pass
        finally:
            _running.discard(process)


PAGE = "@where::now"
"""An address like all others: keys read it, and on the command line it is the page without the processes."""


class Processes:
    """The page that says where the job is, with what its processes do now."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        self._here: Here | None = None
        bench.own_pages[PAGE] = self._page

    def show(self) -> None:
        """Ask; on the page itself ask for the Python stacks too."""
        from tltui.questions.hang.process_sections import files_of

        stacks = self._bench.shown_ref == PAGE
        self._bench.show_message("reading the stacks of its processes with py-spy …" if stacks else "reading its processes …")
        self._bench.scheduler.do(self._asking(files_of(self._bench.trace), stacks), place=Place.LONG, owner=self)

    def _asking(self, files: dict[str, Identity], stacks: bool) -> Steps:
        from tltui.questions.hang.process_sections import sample_processes

        here = sample_processes(files, stacks)
        self._bench.answer(lambda: self._show_page(here))
        yield None

    def _show_page(self, here: Here) -> None:
        self._here = here
        if self._bench.shown_ref == PAGE:
            self._bench.reload()
        else:
            self._bench.show_ref(PAGE)
            self._bench.document_view.focus()
        has_processes = any(log.processes for log in here.logs)
        can_ask = has_processes and not here.stacks
        self._bench.show_message("Press P again for their Python stacks (needs py-spy)" if can_ask else "")

    def _page(self, run: Run, options: Options) -> Document:
        from tltui.documents.scope import scope_of
        from tltui.questions.hang.page import where_document

        return where_document(run, scope_of(run), options, self._here, PAGE)


PATIENCE = 10.0
"""Seconds that a job has to end after ctrl+c before one is asked again."""
GUTTER = 9
"""Columns left of the output, with numbers for a million lines: its width is not to change when it grows."""
STEP = 1 << 20
"""Bytes of output that are looked at while the lock of the document is held."""


class JobControl:
    """What of the main screen is about the job."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        self._job = bench.around.job
        self._documents: dict[bool, OutputDocument] = {}
        self._watch: Watch | None = None
        self._last_state: tuple[JobState | None, bool] = (None, False)
        """What was known of the job last, and whether no word will come on how it ended."""
        self._is_asking = False
        self._is_leaving = False  # the job was told to end, and then tltui is left
        self._is_deaf = False
        self._timer: Timer | None = None
        self._trouble = ""
        bench.own_pages[REF] = self._make

    # the screen

    def begin(self) -> None:
        """Show the output of a job that was just started, or of one without logs, after the first frame."""
        bench, ref = self._bench, REF
        if self._job is not None:
            self.resized()
            self._watched()
            bench.job_changed(self._remark())
        elif not (page := self._only_output()):
            return
        else:
            ref = page
        bench.keep_cursor()
        bench.show_ref(ref, by_user=False)
        bench.document_view.focus()

    def _only_output(self) -> str:
        """Return the page of what a job printed where there is nothing else; '' where there are logs, or nothing."""
        discovered = self._bench.trace.discovered
        if not all(log.is_output for log in discovered.logs):
            return ""
        return REF if discovered.outputs else "@log" if discovered.logs else ""

    def end(self) -> None:
        """Stop watching the output."""
        if self._watch is not None:
            self._watch.stop()

    def resized(self) -> None:
        """Set the terminal size of the job to the width of its output."""
        view = self._bench.document_view
        if self._job is not None and view.size.height:
            self._job.resize(max(view.scrollable_content_region.width - GUTTER, 20), max(view.size.height, 5))

    def _remark(self) -> str:
        """Return the state of the job for the line above."""
        state, is_lost = self._last_state
        if is_lost:
            return "job: outcome unknown"
        if state is None or state.ended is None:
            return "job runs"
        return f"job: {how_it_ended(state)}"

    # what it prints

    def show(self) -> None:
        """Show the output, where it was left."""
        bench = self._bench
        if self._job is None and not bench.trace.discovered.outputs and has_outputs(bench.trace):
            bench.show_ref("@log")
            bench.document_view.focus()
            return
        if self._job is None and not bench.trace.discovered.outputs:
            bench.show_message("no job output. To record it: tltui run --view")
            return
        bench.show_ref(REF)
        bench.document_view.focus()
        if remark := many_outputs(bench.trace):
            bench.show_message(remark)

    def _make(self, run: Run, options: Options) -> Document:
        """Return the document of the output; runs off the UI thread."""
        if options.raw not in self._documents:
            path = self._job.output if self._job is not None else (run.discovered.outputs or ("",))[-1]
            self._documents[options.raw] = OutputDocument(path, options.raw)
            self._bench.answer(self._watched)
        return self._documents[options.raw]

    def _watched(self) -> None:
        """Start to watch the output for additions."""
        if self._watch is None:
            self._watch = Watch(self._poll, self._faulted)
            self._watch.start()

    def _poll(self) -> Iterator[None]:
        """Read additions to the output; runs on the watching thread."""
        for document in list(self._documents.values()):
            try:
                is_new = document.refresh()
                while not document.advance(STEP):
                    yield
                if is_new:
                    self._bench.answer(partial(self._grown, document))
            except OSError as error:
                self._bench.answer(partial(self._say_trouble, f"{error.filename or 'the output'}: {error.strerror or error}"))
        if (state := self._current_state()) != self._last_state:
            has_ended = state[1] or (state[0] is not None and state[0].ended is not None)
            is_awaited = not has_ended or bool(awaited(self._bench.trace.discovered.paths).logs)
            self._bench.answer(partial(self._became, *state, is_awaited))
        elif self._watch is not None and self._is_over():
            self._watch.stop()
        yield

    def _current_state(self) -> tuple[JobState | None, bool]:
        """Return the state of the job, and whether its end will stay unknown.

        The state of a job that was started elsewhere matters only while it has left no log.
        """
        if self._job is not None:
            return self._job.state, self._job.is_lost
        documents = list(self._documents.values())
        return (documents[0].state, False) if documents and self._bench.trace.is_awaited else self._last_state

    def _is_over(self) -> bool:
        """Return whether the output is complete."""
        states = [document.state for document in self._documents.values()]
        return bool(states) and all(state is not None and state.ended is not None and not state.held for state in states)

    def _faulted(self, error: BaseException) -> None:
        self._bench.answer(partial(self._say_trouble, f"stopped following the output: {type(error).__name__}"))

    def _say_trouble(self, text: str) -> None:
        if text != self._trouble:
            self._trouble = text
            self._bench.show_message(text, tokens.WARN)

    def _grown(self, document: OutputDocument) -> None:
        if document is self._bench.document_view.document:
            self._bench.document_view.document_grown()

    # its end

    def _became(self, state: JobState | None, is_lost: bool, is_awaited: bool) -> None:
        """Show a new state of the job. `is_awaited`: a log may appear, or is there and will be read."""
        bench, before = self._bench, self._last_state[0]
        self._last_state = state, is_lost
        if not is_awaited and bench.trace.is_awaited:
            bench.trace.discovered = replace(bench.trace.discovered, is_over=True)
            bench.trace.version += 1
        bench.job_changed(self._remark())
        if state is None or state.ended is None or (before is not None and before.ended is not None):
            return
        if self._is_leaving:
            bench.app.exit()
        else:
            where = "" if bench.shown_ref == REF else "; O shows its output"
            bench.show_message(f"the job ended with {how_it_ended(state)}{where}", tokens.ERROR if state.code else tokens.OK)

    # leaving

    @property
    def is_asking(self) -> bool:
        """Whether the question what becomes of the job is open."""
        return self._is_asking

    def leave(self) -> None:
        """Leave tltui; a job that runs is not ended by the way."""
        job = self._job
        if job is None or not job.runs:
            self._bench.app.exit()
        elif not self._is_asking:
            self._is_asking = True
            second, still = ("k kill it", "still runs after ctrl+c") if self._is_deaf else ("s stop it", "is still running")
            keys = {"l": "leave", "k": "kill"} if self._is_deaf else {"l": "leave", "s": "stop"}
            question = f"l or q leave it running  {second}  esc stay   the job {still} (pid {job.pid})"
            bench = front(self._bench.app) or self._bench
            bench.prompt.open(KeyQuestion(question, keys | {"q": "leave", "n": ""}, self._answered, partial(self._answered, "")))

    def explain_ctrl_c(self) -> None:
        """Show that ctrl+c ends neither tltui nor the job."""
        runs = self._job is not None and self._job.runs
        self._bench.show_message("ctrl+c does not reach the job; press q to stop it" if runs else "q quits tltui; y copies")

    def stays(self) -> bool:
        """Cancel leaving after the end of the job; return whether that was pending."""
        was_leaving, self._is_leaving = self._is_leaving, False
        if was_leaving:
            self._bench.show_message("tltui stays open; it sent ctrl+c to the job")
        return was_leaving

    def _answered(self, answer: str) -> None:
        self._is_asking = False
        bench, job = self._bench, self._job
        assert job is not None
        if answer == "leave" or (answer and not job.runs):
            bench.app.exit()
        elif answer == "stop":
            job.interrupt()
            self._is_leaving = True
            bench.show_message("sent ctrl+c to the job, waiting for its end (esc: stay in tltui)", tokens.WARN)
            self._timer = self._timer or bench.set_timer(PATIENCE, self._waited)
        elif answer == "kill":
            job.kill()
            self._is_leaving = True
            bench.show_message("killed the job and its child processes, waiting for its end", tokens.WARN)

    def _waited(self) -> None:
        """Ask again if the job did not end after ctrl+c."""
        self._timer = None
        self._is_deaf = self._job is not None and self._job.runs
        if self._is_leaving:
            self.leave()
