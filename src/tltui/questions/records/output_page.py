"""The page `@output`: live output and exit status of a job that tltui started."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Sequence

from tltui.documents.format import clip, clock, plural, seconds, size_of
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.sources.job_output import JobState, is_recorded_job, read_state
from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument, links
from tltui.text.document import Document, Hit, Line, Options, Section, Span
from tltui.text.payload import LineIndex, Payload, decode
from tltui.text.sanitize import sanitize
from tltui.text.search.child_process import in_lines
from tltui.text.terminal_lines import TerminalLines
from tltui.trace.files import FileBytes

REF = "@output"
NO_OUTPUT = "Nothing has been printed yet."
CUT = "The file was truncated after it was read. The text shown here no longer exists."


def output_document(run: Run, options: Options) -> Document:
    """Return the output of the newest job with an output file beside the logs. Raises `BadAddress`."""
    if not run.discovered.outputs:
        raise BadAddress("no job output in this directory; tltui run --view keeps the output of a job")
    return OutputDocument(run.discovered.outputs[-1], raw=options.raw)


class OutputDocument(BytesDocument):
    """The text of a file that grows, and a last line with the state of the job. `refresh` adds new text."""

    is_live = True

    def __init__(self, path: str, raw: bool = False) -> None:
        self._is_raw = raw
        self._source = FileBytes(path)
        self.state = read_state(path)
        """State of the job at the last `refresh`."""
        self._status: tuple[Line, ...] = ()
        super().__init__(Payload(self._source, 0, self._source.size()), "text", ref=REF, title=_title(path, self.state))
        self._update_status()

    def _indexed(self, payload: Payload) -> LineIndex:
        return TerminalLines(payload, self._is_raw)

    # growing

    def refresh(self) -> bool:
        """Read the new size of the file and the state of the job; return whether either is new. `advance` finds the lines."""
        size, state = self._source.size(), read_state(self._source.path) or self.state
        with self._lock:
            assert isinstance(self._index, TerminalLines)
            before = (self._index.payload.size, self.state, self._status)
            self._index.grow(size)
            self.payload = self._index.payload
            self.complete, self.state = self._index.complete, state
            self._update_status(size < self.payload.size)
            is_new = before != (self.payload.size, self.state, self._status)
            self.version += is_new
        return is_new

    def _update_status(self, is_cut: bool = False) -> None:
        """Set the badge, and the line behind the last one."""
        badge, text, style = job_status(self.state)
        if is_cut:
            text, style = CUT, tokens.WARN
        elif not self.payload.size and not text:
            text, style = NO_OUTPUT, tokens.DIM
        self.badge = badge
        self._status = (Line(text, (Span(0, len(text), style),)),) if text else ()

    @property
    def _printed(self) -> int:
        """Lines of the file, not in the middle of a step that finds more."""
        with self._lock:
            return len(self._index) if self.payload.size else 0

    # the protocol

    def __len__(self) -> int:
        return self._printed + len(self._status)

    def sections(self) -> Sequence[Section]:
        return ()

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        with self._lock:
            printed, status = self._printed, self._status
        if n < printed:
            return super().line(n, lo, hi)
        line = status[n - printed] if n - printed < len(status) else Line("")  # the status line has just become shorter
        return line if lo == 0 and (hi is None or hi >= len(line.text)) else Line(line.text[lo:hi], line.spans, (), lo)

    def length(self, n: int) -> int:
        return super().length(n) if n < self._printed else len(self.line(n).text)

    def width(self) -> int:
        return max(super().width(), *(len(line.text) for line in self._status), 0)

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit | None]:
        if back:
            yield from self._find_status(pattern, start, back)
            if self._printed:
                yield from super().find(pattern, min(start, self._printed - 1), back)
            return
        if self._printed:
            yield from super().find(pattern, start)
        yield from self._find_status(pattern, start, back)

    def _find_status(self, pattern: re.Pattern[str], start: int, back: bool) -> Iterator[Hit | None]:
        lines = [(self._printed + n, line.text) for n, line in enumerate(self._status)]
        candidates = [(n, text) for n, text in lines if (n <= start if back else n >= start)]
        for match in in_lines(pattern, reversed(candidates) if back else candidates, back):
            yield None if match is None else Hit(*match)

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        if self._printed:
            yield from super().text(lo, hi)
        first = self._printed
        yield from (line.text for n, line in enumerate(self._status, first) if lo <= n and (hi is None or n < hi))

    # the last line may still be written

    def _is_last(self, n: int) -> bool:
        return n >= len(self._index) - 1

    def _read(self, n: int) -> Line:
        if not self._is_last(n):
            return super()._read(n)
        text = decode(self._index.stored(n))
        self._widest = max(self._widest, len(text))
        return Line(text, (), links(text))

    def _is_plain(self, n: int) -> bool:
        return not self._is_last(n) and super()._is_plain(n)

    def _long_text(self, n: int) -> str:
        return decode(self._index.stored(n)) if self._is_last(n) else super()._long_text(n)


def job_status(state: JobState | None) -> tuple[str, str, str]:
    """Return the state of a job: a word for the frame, and if it has ended a sentence with its style."""
    if state is None:
        return "", "", ""
    lost = ""
    if state.missing:
        lost = f" {size_of(state.missing)} of its output is missing: {sanitize(state.why)}."
    if state.ended is None:
        if is_recorded_job(state) is False:
            text = f"The job's exit status is unknown: the process that kept its output ended first (the job was pid {state.pid})."
            return "exit status unknown", text + lost, tokens.WARN
        host = "" if is_recorded_job(state) else f" on {sanitize(state.host)}, probably"
        return f"runs, pid {state.pid}{host}{' - output is missing' * bool(lost)}", lost.strip(), tokens.WARN
    how = how_it_ended(state)
    if state.keeper and not state.pid:  # who stored only the end of an output does not know the number of the job
        return how, f"The job could not be started: {sanitize(state.why)}.", tokens.ERROR
    last = " Processes that it started are still running and may print." if state.held else ""
    took = seconds(max(state.ended - state.began, 0.0))
    text = f"The job ended with {how} at {clock(state.ended * 1e6)}, after {took}.{last}{lost}"
    return how, text, tokens.OK if not state.code and not lost else tokens.ERROR if state.code else tokens.WARN


def how_it_ended(state: JobState) -> str:
    """`exit code 3`, `SIGKILL (exit code 137)`."""
    code = state.code or 0
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{name} (exit code {state.exit_code})"


def _title(path: str, state: JobState | None) -> str:
    if state is None or not state.command:
        return sanitize(os.path.basename(path))
    program, *words = state.command
    return f"output of {clip(sanitize(' '.join((os.path.basename(program), *words))), 40)}"


def many_outputs(run: Run) -> str:
    """Return a note about the outputs of earlier jobs among the inputs; '' for none."""
    others = len(run.discovered.outputs) - 1
    if others < 1:
        return ""
    return f"the output of the newest job; {plural(others, 'file')} of earlier jobs in {os.path.dirname(run.discovered.outputs[0])}"
