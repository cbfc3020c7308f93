"""`tltui tail`: events while the job runs, a line each."""

from __future__ import annotations

import argparse
import math
import os
import select
import sys
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error
from tltui.cli.loading import discover_logs, limits_of, load_other, no_path
from tltui.cli.options import add_json, add_paths, add_text, baseline, count, fail_on
from tltui.cli.parser import Command, argument, defaults
from tltui.cli.printing import as_text, layout

if TYPE_CHECKING:
    from tltui.model.run import Event, Run
    from tltui.questions.check.limits import Limit
    from tltui.questions.news.run_news import News
    from tltui.sources.discover import Discovery, Found

EXAMPLES = """\
tail starts with the last 10 lines, or waits for the first log, so it can be started before the job. It ends when the logs are
complete and prints the reason on stderr. With --json each line is a JSON object.
Exit code: 0, 1 if a limit of --fail-on is exceeded at the end (limits: tltui check --help), 2 for an error.

examples:
  tltui tail /tmp/tracedir
  tltui tail /tmp/tracedir -n all --until-idle 60 --fail-on error,eager
  tltui tail /tmp/tracedir --json | jq -r 'select(.kind == "error") | .text'
"""
EVERY = 0.5
"""Seconds between two polls of the files."""
PART = 20
"""Ratio of the pause after a directory scan to its duration, while there is no log."""
ROWS = 2
"""Maximum terminal rows of a line."""
WIDE = 400
"""Columns of a line if the output is no terminal."""
NO_LOG = 1024
"""Bytes after which a file without a record is not a log."""


def _lines(text: str) -> int | None:
    if text == "all":
        return None
    return count(text, " or all")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise Failure(f"invalid number of seconds: {text!r}", "use a number, such as 60 or 0.5")
    return value


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield lines as events happen, flushed after each poll."""
    from tltui.model.run import Run

    limits = _limits(options)
    if not options.paths:
        no_path(options.command, options.hint)
    tail = _Tail(options)
    logs = tail.first()
    if logs is None:
        return
    followed = Run(logs)
    yield from tail.follow(followed)
    if limits:
        _check(followed, limits, options)


def _limits(options: argparse.Namespace) -> tuple[Limit, ...]:
    if not options.fail_on:
        if options.baseline is not None:
            raise Failure("--baseline needs limits", "add --fail-on LIMITS, for example --fail-on error,break")
        return ()
    return limits_of(options.fail_on, options.baseline is not None)


def _check(run: Run, limits: tuple[Limit, ...], options: argparse.Namespace) -> None:
    """Print the outcome of the limits on stderr; stdout has the lines."""
    from tltui.questions.check.limits import gates
    from tltui.writers.check_reports import check_document

    before = load_other(options.baseline, options.latest) if options.baseline is not None else None
    result = gates(run, limits, before)
    options.exit_code = result.exit_code
    print_error("\n".join(check_document(result, run.title, layout(options), len(run.failures)).text()))


class _Tail:
    """State of the command, with the time of the last write."""

    def __init__(self, options: argparse.Namespace) -> None:
        from tltui.questions.news.news_sections import NAME, Layout
        from tltui.sources.discover import Discovery

        self._options = options
        self._idle_after: float | None = options.until_idle
        self._discovery: Discovery | None = None if options.demo else Discovery(options.paths, options.latest)
        shown = layout(options)
        on_screen = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
        self._layout = Layout(shown, ROWS * shown.width, min(NAME, shown.width // 5)) if on_screen else Layout(shown, WIDE)
        self._written = time.monotonic()
        self._waited = False  # for the first log: then all of it is news
        self._out = _reader()

    def first(self) -> Found | None:
        """Return the logs, after waiting for the first one; None if the reader of our output is gone."""
        from tltui.sources.discover import NothingFound

        if self._discovery is None:
            return discover_logs(self._options.paths, self._options.latest)
        while True:
            began = time.monotonic()
            try:
                return self._discovery.discover()
            except NothingFound as nothing:
                if all(map(_is_no_log, self._options.paths)):
                    raise Failure(str(nothing)) from None
            where = ", ".join(self._options.paths)
            if self._is_idle():
                raise Failure(f"no TORCH_TRACE log was written within {self._options.until_idle:g} s: '{where}'")
            if not self._waited:
                print_error(f"tltui: waiting for the first log in {where}")
            self._waited = True
            if self._pause(max(EVERY, PART * (time.monotonic() - began))):
                return None

    def follow(self, run: Run) -> Iterator[bytes]:
        """Yield the lines until the logs end, nothing is written for long, or the reader is gone."""
        from tltui.model.follow import Follower
        from tltui.model.run import settle
        from tltui.questions.news.run_news import NewsKind, Numbered, Once, Watch

        most: int | None = None if self._waited else self._options.lines
        watch, follower = Watch(run, most == 0, reads_outputs=True), Follower(run, self._discovery)
        once, is_first = Once(run), True
        while True:
            streams: dict[int, deque[Numbered]] = {}
            over, is_new = [], False
            # before it ends everything is looked at: a file that has been quiet for long has its turn now and then only
            for event in follower.read() if is_first or self._is_idle() else follower.poll():
                delta = run.update(event)
                is_new |= delta.new
                self._note(event)
                for news in watch.read_event(event, delta):
                    if news.kind is NewsKind.OVER:
                        over.append(news)
                    else:
                        streams.setdefault(news.log, deque(maxlen=most if is_first else None)).append(once.number(news))
            if is_new:
                settle(run)
            for news in () if run.finished else over:  # of all of them it is said once
                streams.setdefault(news.log, deque()).append(once.number(news))
            queues: dict[int, deque[News]] = {}
            for news in once.new(item for stream in streams.values() for item in stream):
                queues.setdefault(news.log, deque()).append(news)
            yield from self._print(run, list(queues.values()), most if is_first else None)
            is_first = False
            if why := self._why_ended(run):
                print_error(f"tltui: {why}")
                return
            if self._pause():
                return

    def _print(self, run: Run, streams: list[deque[News]], most: int | None) -> Iterator[bytes]:
        """Yield the news of one poll; output is flushed before the next one."""
        from tltui.export import to_json
        from tltui.questions.news.news_sections import in_order, line_of

        ordered: list[News] | deque[News] = deque((news for _, news in in_order(run, streams)), maxlen=most)
        if not ordered:
            return
        lines = [(news, line_of(run, news)) for news in ordered]
        if self._options.json:
            yield from (to_json(line, indent=False) + b"\n" for _, line in lines)
        else:
            yield from as_text(self._layout.document(run, lines), self._options)
        sys.stdout.buffer.flush()

    def _note(self, event: Event) -> None:
        """Record the time of a write."""
        from tltui.model.run import Added, Lost, Read

        if isinstance(event, Added | Lost) or (isinstance(event, Read) and not event.batch.finished):
            self._written = time.monotonic()

    def _is_idle(self) -> bool:
        return self._idle_after is not None and time.monotonic() - self._written >= self._idle_after

    def _why_ended(self, run: Run) -> str:
        """Return why waiting ends; '' if it goes on."""
        if run.finished:
            if len(run.failures) == len(run.models):
                raise Failure("\n".join(f"{why}: '{path}'" for path, why in run.failures.items()))
            return "the log is complete" if len(run.models) == 1 else f"all {len(run.models):,} logs are complete"
        if not self._is_idle():
            return ""
        return f"nothing was written for {self._idle_after:g} s"

    def _pause(self, wait: float = EVERY) -> bool:
        """Wait for the next poll; return whether the reader of our output is gone."""
        if self._idle_after is not None:
            wait = min(wait, max(self._written + self._idle_after - time.monotonic(), 0.01))
        if self._out is not None:
            return bool(self._out.poll(wait * 1000))
        time.sleep(wait)
        return False


def _reader() -> select.poll | None:
    """Return a poll object for the closing of our output, as by `| head -1`; None if unsupported."""
    try:
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no file
        return None
    return poller


def _is_no_log(path: str) -> bool:
    """Return whether a path is a file that will not become a log."""
    path = os.path.expanduser(path)
    return os.path.isfile(path) and os.path.getsize(path) >= NO_LOG


COMMANDS = {
    "tail": Command(run, (
        partial(add_paths, profile=False),
        argument("-n", "--lines", metavar="N", type=_lines, default=10,
                 help="start with the last N lines, or with all of them (default: 10)"),
        argument("--until-idle", metavar="SECONDS", type=_seconds,
                 help="end if nothing was written for this long, even without a log"),
        fail_on("limits to check at the end, as in tltui check"),
        baseline("compare with the trace OLD: a limit without a number is the count of OLD"),
        partial(add_text, folds=False), add_json,
        defaults(waits_for_paths=True),
    ), EXAMPLES),
}  # fmt: skip
