"""The job that tltui started, on the main screen: what it prints, how it ended, and what becomes of it when tltui is left.

Of a directory that is opened later there is its output alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from textual.timer import Timer

from tltui.documents.output import REF, OutputDocument, how_it_ended, many_outputs
from tltui.model.run import Run
from tltui.screens.asking.question import KeyQuestion
from tltui.screens.live.growing_log import has_outputs
from tltui.screens.main_screen import MainScreen
from tltui.screens.workbench import front
from tltui.sources.discover import awaited
from tltui.sources.kept import JobState
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.work.watch import Watch

PATIENCE = 10.0
"""Seconds that a job has to end after ctrl+c before one is asked again."""
GUTTER = 9
"""Columns left of the output, with numbers for a million lines: its width is not to change when it grows."""
STEP = 1 << 20
"""Bytes of output that are looked at while the lock of the document is held."""


class Attending:
    """What of the main screen is about the job."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        self._job = bench.around.job
        self._documents: dict[bool, OutputDocument] = {}
        self._watch: Watch | None = None
        self._told: tuple[JobState | None, bool] = (None, False)
        """What was known of the job last, and whether no word will come on how it ended."""
        self._is_asking = False
        self._is_leaving = False  # the job was told to end, and then tltui is left
        self._is_deaf = False
        self._timer: Timer | None = None
        self._trouble = ""
        bench.own_pages[REF] = self._make

    # the screen

    def begin(self) -> None:
        """The first frame is up: of a job that was just started one wants to see what it prints, and where there is no log too."""
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
        found = self._bench.trace.found
        if not all(log.is_output for log in found.logs):
            return ""
        return REF if found.outputs else "@log" if found.logs else ""

    def end(self) -> None:
        """The screen is left."""
        if self._watch is not None:
            self._watch.stop()

    def resized(self) -> None:
        """The job is told how wide its output is shown."""
        view = self._bench.document_view
        if self._job is not None and view.size.height:
            self._job.resize(max(view.scrollable_content_region.width - GUTTER, 20), max(view.size.height, 5))

    def _remark(self) -> str:
        """What the line above says of the job."""
        state, is_lost = self._told
        if is_lost:
            return "not known how the job ended"
        if state is None or state.ended is None:
            return "job runs"
        return f"job: {how_it_ended(state)}"

    # what it prints

    def show(self) -> None:
        """The output, at its end if that is where one was."""
        bench = self._bench
        if self._job is None and not bench.trace.found.outputs and has_outputs(bench.trace):
            bench.show_ref("@log")
            bench.document_view.focus()
            return
        if self._job is None and not bench.trace.found.outputs:
            bench.tell("there is no output here: tltui run --view keeps what a job prints")
            return
        bench.show_ref(REF)
        bench.document_view.focus()
        if said := many_outputs(bench.trace):
            bench.tell(said)

    def _make(self, run: Run, options: Options) -> Document:
        """Runs off the UI thread."""
        if options.raw not in self._documents:
            path = self._job.output if self._job is not None else (run.found.outputs or ("",))[-1]
            self._documents[options.raw] = OutputDocument(path, options.raw)
            self._bench.answer(self._watched)
        return self._documents[options.raw]

    def _watched(self) -> None:
        """From now on it is looked whether anything was added."""
        if self._watch is None:
            self._watch = Watch(self._look, self._faulted)
            self._watch.start()

    def _look(self) -> Iterator[None]:
        """On the thread that watches."""
        for document in list(self._documents.values()):
            try:
                is_new = document.look()
                while not document.advance(STEP):
                    yield
                if is_new:
                    self._bench.answer(partial(self._grown, document))
            except OSError as error:
                self._bench.answer(partial(self._say_trouble, f"{error.filename or 'the output'}: {error.strerror or error}"))
        if (told := self._known()) != self._told:
            has_ended = told[1] or (told[0] is not None and told[0].ended is not None)
            is_awaited = not has_ended or bool(awaited(self._bench.trace.found.paths).logs)
            self._bench.answer(partial(self._became, *told, is_awaited))
        elif self._watch is not None and self._is_over():
            self._watch.stop()
        yield

    def _known(self) -> tuple[JobState | None, bool]:
        """What is known of the job, and whether no word will come on how it ended. Of one that was not started here that matters
        only as long as it left no log."""
        if self._job is not None:
            return self._job.state, self._job.is_lost
        documents = list(self._documents.values())
        return (documents[0].state, False) if documents and self._bench.trace.is_awaited else self._told

    def _is_over(self) -> bool:
        """Whether nothing will be added any more."""
        states = [document.state for document in self._documents.values()]
        return bool(states) and all(state is not None and state.ended is not None and not state.held for state in states)

    def _faulted(self, error: BaseException) -> None:
        self._bench.answer(partial(self._say_trouble, f"the output is not followed any more: {type(error).__name__}"))

    def _say_trouble(self, text: str) -> None:
        if text != self._trouble:
            self._trouble = text
            self._bench.tell(text, tokens.WARN)

    def _grown(self, document: OutputDocument) -> None:
        if document is self._bench.document_view.document:
            self._bench.document_view.document_grown()

    # its end

    def _became(self, state: JobState | None, is_lost: bool, is_awaited: bool) -> None:
        """The job began, ended, or what it left behind did. `is_awaited`: a log may come, or is there and will be read."""
        bench, before = self._bench, self._told[0]
        self._told = state, is_lost
        if not is_awaited and bench.trace.is_awaited:
            bench.trace.found = replace(bench.trace.found, is_over=True)
            bench.trace.version += 1
        bench.job_changed(self._remark())
        if state is None or state.ended is None or (before is not None and before.ended is not None):
            return
        if self._is_leaving:
            bench.app.exit()
        else:
            where = "" if bench.shown_ref == REF else ": O shows what it printed"
            bench.tell(f"the job ended with {how_it_ended(state)}{where}", tokens.ERROR if state.code else tokens.OK)

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
            second, still = ("k kill it", "runs after ctrl+c") if self._is_deaf else ("s stop it", "is still running")
            keys = {"l": "leave", "k": "kill"} if self._is_deaf else {"l": "leave", "s": "stop"}
            question = f"l leave it running  {second}  esc stay   the job {still} (pid {job.pid})"
            bench = front(self._bench.app) or self._bench
            bench.prompt.open(KeyQuestion(question, keys | dict.fromkeys("qn", ""), self._answered, partial(self._answered, "")))

    def tell_ctrl_c(self) -> None:
        """ctrl+c was pressed: it ends neither tltui nor the job."""
        runs = self._job is not None and self._job.runs
        self._bench.tell("ctrl+c does not reach the job: q asks whether to stop it" if runs else "q leaves tltui; y copies")

    def stays(self) -> bool:
        """Whether that tltui is left when the job has ended was taken back now."""
        was_leaving, self._is_leaving = self._is_leaving, False
        if was_leaving:
            self._bench.tell("tltui stays; ctrl+c was sent to the job")
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
            bench.tell("ctrl+c was sent to the job: waiting for its end, esc stays", tokens.WARN)
            self._timer = self._timer or bench.set_timer(PATIENCE, self._waited)
        elif answer == "kill":
            job.kill()
            self._is_leaving = True
            bench.tell("the job and what it started were killed: waiting for its end", tokens.WARN)

    def _waited(self) -> None:
        """The job did not end after ctrl+c."""
        self._timer = None
        self._is_deaf = self._job is not None and self._job.runs
        if self._is_leaving:
            self.leave()
