"""Checks of what torch compiles in a user's test: its log, its limits and its failure message (the plugin is `tltui.pytest`).

Torch writes its trace by a handler of the logger `torch.__trace`, which it makes once, when it is imported, from `TORCH_TRACE`.
Nothing of that is changed here: while a test runs the logger has one handler more, as torch's own tests do it
(`torch/_dynamo/test_case.py`), and it does not matter who imported torch first. What torch writes once per process (the table of
strings, its version) each log gets at its head. All that is relied upon (read in torch 2.13) is the name of the logger, the
formatter of traces and the table of strings; where one of them is gone `Unrecordable` says so.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TextIO

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.check.limits import (
    MEASURES,
    BadLimit,
    Gates,
    Limit,
    Outcome,
    gates,
    needing_a_profile,
    parse_limits,
    unknown_limit,
)
from tltui.sources.discover import discover
from tltui.text.document import Document, Options
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.writers.check_reports import headline, reasons

VARIABLES = ("TORCH_TRACE", "TORCH_DTRACE")
PREFIX = "dedicated_log_torch_trace_"


class Unrecordable(Exception):
    """A torch that cannot be recorded; the text has the reason and the alternative."""


class Recording(logging.Handler):
    """Handler that writes torch's trace into a directory, from `begin` to `end`; so do processes that the test starts."""

    def __init__(self, directory: str) -> None:
        super().__init__(logging.DEBUG)
        torch = import_module("torch")
        self._version = str(getattr(torch, "__version__", ""))
        try:
            internal = import_module("torch._logging._internal")
            structured = import_module("torch._logging.structured")
            self._logger: logging.Logger = internal.trace_log
            self._strings: dict[str, int] = structured.INTERN_TABLE
            self._writer = str(structured.__file__)
            self.setFormatter(internal.TorchLogsFormatter(trace=True))
        except (ImportError, AttributeError, TypeError) as error:
            raise Unrecordable(
                f"torch {self._version} logs differently from torch 2.13 ({error}), so the plugin cannot record its tests. "
                "Run `tltui run -- pytest`, or set TORCH_TRACE, then run `tltui check` on the trace"
            ) from None
        self._distributed = torch.distributed
        self._directory = directory
        self._stream: TextIO | None = None
        self._pid = 0
        self._set: str | None = None
        """The variable that this has set."""
        self.records = 0
        """Records of torch's that were written by this process."""

    def begin(self) -> None:
        """Reset Dynamo as in a new process, so that the test compiles all that it calls, and start writing."""
        dynamo = sys.modules.get("torch._dynamo")
        if dynamo is not None:
            dynamo.reset()
        if not any(map(os.environ.get, VARIABLES)):
            self._set = VARIABLES[0]
            os.environ[self._set] = self._directory
        # in front: torch's own goes at its first record where there is no TORCH_TRACE, and logging then leaves out the next one
        self._logger.handlers = [self, *self._logger.handlers]
        self.mute()

    def mute(self) -> None:
        """Keep pytest from showing each record: since 9.2 it listens to loggers that do not propagate, anew in each phase."""
        self._logger.handlers = [handler for handler in self._logger.handlers if type(handler).__module__ != "_pytest.logging"]

    def end(self) -> None:
        """Stop writing. Raises `Unrecordable` if torch compiled something without a record."""
        self._logger.handlers = [handler for handler in self._logger.handlers if handler is not self]
        if self._set and os.environ.get(self._set) == self._directory:
            del os.environ[self._set]
        self._close()
        self.close()
        convert = sys.modules.get("torch._dynamo.convert_frame")
        compiled = sum(getattr(convert, "FRAME_COMPILE_COUNTER", {}).values())
        if compiled and not self.records:
            why = "the logger torch.__trace is disabled" if self._logger.disabled else "other code changed its logging"
            raise Unrecordable(f"torch compiled {compiled} time{'s' * (compiled != 1)} without logging it: {why}")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record of torch."""
        try:
            if self._stream is None or self._pid != os.getpid():
                self._open()
            self._write(record)
            self.records += 1
        except Exception:
            self.handleError(record)

    def _open(self) -> None:
        """Open a log; a forked process gets its own. Writes are flushed, so that a fork does not repeat them."""
        group = self._distributed
        rank = f"rank_{group.get_rank()}_" if group.is_available() and group.is_initialized() else ""
        os.makedirs(self._directory, exist_ok=True)
        descriptor, _ = tempfile.mkstemp(".log", PREFIX + rank, self._directory)
        self._stream = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace")
        self._pid = os.getpid()
        for string, number in list(self._strings.items()):
            self._write(self._make_record({"str": [string, number]}, None))
        version = json.dumps({"pytorch_version": self._version}, indent=0)
        digest = hashlib.md5(version.encode(), usedforsecurity=False).hexdigest()
        artifact = {"name": "torch_version", "encoding": "json"}
        self._write(self._make_record({"artifact": artifact, "has_payload": digest}, version))

    def _make_record(self, metadata: dict[str, Any], payload: str | None) -> logging.LogRecord:
        """Return a record in torch's form."""
        extra = {"metadata": metadata, "payload": payload}
        return self._logger.makeRecord(self._logger.name, logging.DEBUG, self._writer, 0, "", (), None, extra=extra)

    def _write(self, record: logging.LogRecord) -> None:
        if self._stream is not None:
            self._stream.write(self.format(record) + "\n")
            self._stream.flush()

    def _close(self) -> None:
        self.acquire()
        try:
            if self._stream is not None:
                self._stream.close()
                self._stream = None
        finally:
            self.release()


NONE = "error,eager,break,recompiles"
"""Measures that a marker without limits forbids."""
ALIASES = {"errors": ("error", "eager"), "breaks": ("break",), "graph_breaks": ("break",)}
"""Names in a marker besides those of `tltui check`: `break` is a Python keyword."""


def limits_from(text: str) -> tuple[Limit, ...]:
    """Parse limits in the grammar of `tltui check --fail-on`. Raises `BadLimit`."""
    limits = parse_limits(text)
    if measured := needing_a_profile(limits):
        raise BadLimit(f"{', '.join(measured)}: needs a profile, but tests record none")
    return limits


def marker_limits(arguments: Iterable[object], keywords: Mapping[str, object]) -> tuple[Limit, ...]:
    """Return the limits of a marker: texts, and names with numbers. Raises `BadLimit`."""
    parts = [str(argument) for argument in arguments]
    for name, number in keywords.items():
        if name not in MEASURES and name not in ALIASES:
            raise unknown_limit(name, (*MEASURES, *ALIASES))
        parts += [f"{measure}={number}" for measure in ALIASES.get(name, (name,))]
    return limits_from(",".join(parts) or NONE)


def merge_limits(*several: Iterable[Limit]) -> tuple[Limit, ...]:
    """Merge limits; the later limit of a measure wins."""
    return tuple({limit.name: limit for limits in several for limit in limits}.values())


WIDTH = 100
LINES = 80
"""Maximum lines of a page in a failure message."""
PAGES = ("@recompiles", "@problems")
"""Pages with reasons and remedies."""


def run_in(directory: str) -> Run | None:
    """Open the recording in a directory; None if it is empty."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        names = []
    return open_run(discover([directory])) if names else None


def check_limits(run: Run, limits: Sequence[Limit]) -> Gates:
    """Measure a run against limits."""
    return gates(run, limits)


def failure_message(run: Run, result: Gates, test: str, directory: str) -> str:
    """Return why a test fails; '' if no limit is exceeded."""
    over = [outcome for outcome in result.limits if outcome.exceeded]
    return "\n".join(_lines(run, over, test, directory)) if over else ""


def _lines(run: Run, over: Sequence[Outcome], test: str, directory: str) -> Iterator[str]:
    yield f"torch.compile: {'; '.join(map(headline, over))}"
    yield f"in {sanitize(test)}"
    for outcome in over:
        if outcome.page not in PAGES:
            yield ""
            yield outcome.title
            yield from (f"  {line}" for line in reasons(outcome))
    for page in PAGES:
        if any(outcome.page == page for outcome in over):
            yield ""
            yield from _page(run, page, directory)
    yield ""
    yield f"full trace: tltui {quoted(directory)}"


def _page(run: Run, page: str, directory: str) -> Iterator[str]:
    lines = list(_open_lines(build(run, page, Options(width=WIDTH))))
    yield from lines[:LINES]
    if len(lines) > LINES:
        yield f"… {len(lines) - LINES} more lines: tltui {page.removeprefix('@')} {quoted(directory)}"


def _open_lines(document: Document) -> Iterator[str]:
    """Yield the lines that a page shows at first, without those of folded sections."""
    while not document.advance():
        pass
    closed: set[int] = set()
    for section in document.sections():
        if section.folded or section.aside:
            closed.update(range(section.first + 1, section.last + 1))
    for number in range(len(document)):
        if number not in closed:
            yield from document.text(number, number + 1)
