"""News as lines of text, for the screen and for `tltui tail`."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.envelope import SCHEMA_VERSION
from tltui.documents.page import Page
from tltui.model.kinds import kind_of
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, BREAK, RECOMPILE_GLYPH, Eager, Status, colour, glyph, status_of, without_backward
from tltui.model.torch_version import version_by_metrics
from tltui.questions.news.run_news import News, NewsKind
from tltui.questions.problems.compile_problems import (
    LIMIT,
    Failure,
    GraphBreak,
    cached_breaks,
    cached_failures,
    from_restart,
    headline_of,
    parsed_break,
)
from tltui.questions.problems.problem_list import limit_stated
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.recompile_sections import differing, reason_text
from tltui.questions.stacks.tracebacks import METHODS, last_raised, method_name, read_traceback
from tltui.text import formatting, tokens
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.formatting import cells, fit
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.trace.grammar import is_entry

LONGEST = 400
"""Characters of a sentence."""


@frozen
class Sentence:
    """Formatted piece of news."""

    text: str
    """One line; not sanitised."""
    file: str | None = None
    """The line of the program that it is about; else a library's, else torch's."""
    line: int | None = None
    status: Status | None = None
    """The status of a compile that ended."""
    kind: NewsKind | None = None
    """The kind of news, where reading the content shows another one than the record."""


def sentence_of(run: Run, news: News) -> Sentence:
    """Format a piece of news. Content that is gone from the file is replaced by what the index has."""
    compile_ = compile_of(run, news)
    try:
        sentence = _of_log(run, news) if compile_ is None else _of_compile(compile_, news)
    except OSError:
        sentence = Sentence(news.text, status=news.status)
    return replace(sentence, text=formatting.end(fmt.one_line(sentence.text[: 4 * LONGEST]), LONGEST)[:LONGEST])


def time_of(run: Run, news: News) -> str | None:
    """Return `MM-DD HH:MM:SS.micros` in local time of the job, from the record of the news; None without one."""
    if news.record is None:
        return None
    try:
        prefix = run.models[news.log].log.prefix(news.record)
    except OSError:
        return None
    return f"{prefix.month:02}-{prefix.day:02} {prefix.time}" if prefix is not None else None


def compile_of(run: Run, news: News) -> Compile | None:
    """Return the compile of a piece of news."""
    process = process_of(run, news) if news.key is not None else None
    return process.compiles.get(news.key.id) if process is not None and news.key is not None else None


def process_of(run: Run, news: News) -> Process | None:
    """Return the process of a piece of news."""
    return next((process for process in run.models[news.log].processes if process.key == news.process), None)


def _of_log(run: Run, news: News) -> Sentence:
    name = fmt.file_name(run.models[news.log].log.path)
    if news.kind is NewsKind.PROCESS:
        return Sentence(f"{news.text}: {name}")
    if news.kind is NewsKind.MOVED:
        return Sentence(f"log renamed to {fmt.file_name(news.text)}")
    return Sentence(news.text if news.kind in (NewsKind.EPOCH, NewsKind.FAILURE) else f"{name}: {news.text}")


def _of_compile(compile_: Compile, news: News) -> Sentence:
    sentence = Sentence(news.text, status=news.status)
    if news.kind is NewsKind.BEGUN:
        file, line = _definition(compile_)
        return replace(sentence, file=file, line=line)
    if news.kind is NewsKind.BREAK and news.record is not None:
        return _break(parsed_break(compile_, reader_of(compile_).payload(news.record, LIMIT)))
    if news.kind is NewsKind.RESTART:
        reason = from_restart(news.text).headline
        broke = _breaks_by_restart(compile_)
        return Sentence(f"graph break: {reason}", kind=NewsKind.BREAK) if broke else Sentence(f"restarted analysis: {reason}")
    if news.kind is NewsKind.RECOMPILE:
        return _recompile(compile_)
    if news.kind is NewsKind.ERROR:
        return _error(compile_, news)
    if news.kind is NewsKind.EAGER:
        return _eager(compile_, news)
    if news.kind is NewsKind.LIMIT:
        return replace(sentence, text=_limit(compile_))
    if news.kind is NewsKind.BACKWARD:
        return _backward(compile_, news)
    return _ended(compile_, news) if news.kind is NewsKind.ENDED else sentence


def _definition(compile_: Compile) -> tuple[str | None, int | None]:
    """Return file and line of the function, as the log shows them from the begin of the compile on."""
    started = compile_.started
    file = compile_.process.string(started.filename) if started is not None else None
    if started is None or file is None or file.startswith("‹") or is_entry(file):
        return None, None
    return file, started.line


def _ended(compile_: Compile, news: News) -> Sentence:
    status = news.status
    if status is None:
        broke = bool(compile_.facts.restarts) and _breaks_by_restart(compile_)
        status = status_of(replace(without_backward(compile_.facts), breaks=int(broke)))
    text = _after(news.text, news.seconds, "  ")
    if status is Status.EMPTY:
        text += ", no operations were captured"
    elif news.cached == "hit":
        text += ", from the cache"
    return Sentence(text, status=status)


def _breaks_by_restart(compile_: Compile) -> bool:
    """Return whether its torch writes graph breaks as restarts only."""
    span = kind_of("artifact", BREAK).span
    return version_by_metrics(compile_, reader_of(compile_)).has(span) is False


def _break(graph_break: GraphBreak) -> Sentence:
    text = f"graph break: {graph_break.headline}"
    if graph_break.skips_frame:
        text += "; the whole function runs in eager mode"
    elif graph_break.is_unresumable:
        text += "; the code after it runs in eager mode"
    lead = graph_break.lead
    return Sentence(text, lead.file, lead.line) if lead is not None else Sentence(text)


def _recompile(compile_: Compile) -> Sentence:
    recompile = explained_of(compile_, with_guards=False)
    shown, _ = differing(recompile)
    if not shown:
        return Sentence("recompile: no reason logged")
    reason = shown[0]
    frame = next(iter(reason.stack), None) if reason.owner else None
    place = (frame.file, frame.line) if frame is not None else (reason.file, reason.line)
    text, kind = (
        reason_text(reason, recompile).replace("  ", ": ", 1),
        "" if reason.cause == guard_grammar.OTHER else f"{reason.cause}, ",
    )
    return Sentence(f"recompile: {kind}{text}", *place)


def _failure(compile_: Compile, backward: bool) -> Failure | None:
    return next((failure for failure in cached_failures(compile_) if failure.is_backward is backward), None)


def _error(compile_: Compile, news: News) -> Sentence:
    backward = any(metrics.record == news.record and not metrics.ends_compile for metrics in compile_.metrics)
    event = _after("backward failed" if backward else "failed", news.seconds, " after ")
    failure = _failure(compile_, backward)
    if failure is None or (compile_.facts.interrupted and not backward):
        return Sentence(news.text, status=news.status)
    return Sentence(f"{event}: {_error_text(failure)}", failure.file, failure.line, news.status)


def _eager(compile_: Compile, news: News) -> Sentence:
    text = f"{_after('fell back to eager mode', news.seconds, ' after ')}"
    failure = _failure(compile_, False)
    if failure is not None:
        return Sentence(f"{text}: {_error_text(failure)}", failure.file, failure.line, news.status)
    breaks = cached_breaks(compile_) if compile_.facts.eager_reason is Eager.SKIPPED else ()
    if not breaks:
        return Sentence(text, status=news.status)
    lead = breaks[-1].lead
    file, line = (lead.file, lead.line) if lead is not None else (None, None)
    return Sentence(f"{text}: {breaks[-1].headline}", file, line, news.status)


def _limit(compile_: Compile) -> str:
    limit = limit_stated(compile_)
    text = f"recompile limit{f' ({limit})' if limit is not None else ''} reached"
    if compile_.facts.eager_reason is Eager.LIMIT:
        return f"{text}: calls that match no compiled version run in eager mode"
    return f"{text}: calls that match no compiled version raise an error"


def _backward(compile_: Compile, news: News) -> Sentence:
    if news.status is not None or news.record is None:
        return Sentence(_after(news.text, news.seconds, "  "), status=news.status)
    raised = last_raised(read_traceback(reader_of(compile_).text(news.record, LIMIT)))
    return Sentence(f"{news.text}: {raised.type}: {raised.message}" if raised is not None else news.text)


def _error_text(failure: Failure) -> str:
    """Format an error: `TypeError: its first line`; a graph break as its reason, a backend error with the next line."""
    headline = headline_of(failure.reason)
    return f"{failure.type}: {headline}" if headline else failure.type


def _after(event: str, seconds: float | None, separator: str) -> str:
    return event if seconds is None else f"{event}{separator}{fmt.seconds(seconds)}"


NAME = 28
"""Columns of the name of a function, at most."""
LEAST = 32
"""Columns for a sentence and a place, below which the place is left out."""


@frozen
class TailLine:
    """A line of `tltui tail`: an event."""

    schema_version: int
    kind: NewsKind
    time: str | None
    """`MM-DD HH:MM:SS.micros`, local time of the job; null where no record tells."""
    rank: int | None
    pid: int | None
    ref: str
    """The address of the compile or the process, as it was when the line was printed; "" of a log without records."""
    function: str | None
    status: Status | None
    """What became of a compile that ended."""
    duration_s: float | None
    text: str
    file: str | None
    """The line of the program that it is about; else a library's, else torch's."""
    line: int | None
    log: str
    """The file of the log."""


Timed = tuple[str, News]
"""A piece of news, and the time of its record."""


def in_order(run: Run, streams: Iterable[Sequence[News]]) -> Iterator[Timed]:
    """Merge news of several logs by time; news of one log keep their record order, whatever the clock."""
    return heapq.merge(*(_timed(run, stream) for stream in streams), key=lambda timed: timed[0])


def _timed(run: Run, stream: Sequence[News]) -> Iterator[Timed]:
    last = ""
    for news in stream:
        last = time_of(run, news) or last
        yield last, news


def line_of(run: Run, news: News) -> TailLine:
    """Read the line of a piece of news. Addresses are current: others may have come since it was found."""
    sentence, process, compile_ = sentence_of(run, news), process_of(run, news), compile_of(run, news)
    node = compile_ or process
    return TailLine(
        SCHEMA_VERSION, sentence.kind or news.kind, time_of(run, news), process.rank if process is not None else None,
        process.pid if process is not None else None, str(node.ref) if node is not None else "", _function(compile_, news),
        sentence.status, news.seconds, sentence.text, sentence.file, sentence.line, run.models[news.log].log.path,
    )  # fmt: skip


def _function(compile_: Compile | None, news: News) -> str | None:
    """Return the name of the function as far as the log showed it then."""
    if compile_ is None or news.record is None:
        return news.name
    try:
        return method_name(compile_, news.name, news.record)
    except OSError:
        return news.name


class Layout:
    """Column layout of successive lines: a column is as wide as its widest text so far."""

    def __init__(self, options: Options, width: int, name: int = NAME) -> None:
        """Create a layout of at most `width` columns, with at most `name` columns for a function name."""
        self._options, self._name = replace(options, width=width), name
        self._widths = [0, 0, 0]

    def document(self, run: Run, lines: Sequence[tuple[News, TailLine]]) -> Document:
        """`19:41:03  rank 3  [2/0]  block2  ✓ ended  12.3 s`"""
        page = Page("@tail", "tail", self._options)
        rows = [(_columns(run, news, line, self._name), news, line) for news, line in lines]
        for columns, _, _ in rows:
            self._widths = [max(width, cells(text)) for width, text in zip(self._widths, columns, strict=True)]
        for columns, news, line in rows:
            page.add(*self._row(page, columns, news, line))
        return page.document(lines)

    def _row(self, page: Page, columns: Sequence[str], news: News, line: TailLine) -> list[Piece]:
        time = line.time[6:14] if line.time is not None else ""
        pieces: list[Piece] = [(f"{time:8}", tokens.DIM), "  "]
        for text, width, style in zip(columns, self._widths, (tokens.LABEL, tokens.LINK, tokens.FUNCTION), strict=True):
            if width:
                pieces += [(text, style), " " * (width - cells(text) + 2)]
        mark, style = _mark(news, line, page.ascii)
        pieces += [(mark, style), " "]
        room = page.width - sum(cells(piece_text(piece)) for piece in pieces)
        place = sanitize(fmt.place(line.file, line.line)) if line.file is not None else ""
        if line.kind is NewsKind.BEGUN and line.function in METHODS and columns[2] != line.function:
            place = ""  # the name has it
        text, place = _fitted(sanitize(line.text), place, room)
        pieces.append((text, style) if line.kind not in (NewsKind.BEGUN, NewsKind.ENDED) else text)
        return [*pieces, "  ", (place, tokens.DIM)] if place else pieces


def _fitted(text: str, place: str, room: int) -> tuple[str, str]:
    """Fit a text and a place into `room` columns; the place has at most half of them, and is left out if that is too little."""
    if cells(text) + 2 + cells(place) > room:
        place = fmt.clip_middle(place, max(room // 2, room - 2 - cells(text))) if room >= LEAST else ""
    return fit(text, max(room - (cells(place) + 2 if place else 0), 1)), place


def _columns(run: Run, news: News, line: TailLine, width: int) -> tuple[str, str, str]:
    """Return the rank, the id, and the function in `width` columns."""
    process, compile_ = process_of(run, news), compile_of(run, news)
    number = "" if process is None or process.alone else f".{process.number}"
    place = f"rank {line.rank}{number}" if line.rank is not None else f"norank{number}" if number else ""
    label = compile_.label if compile_ is not None else ""
    name = line.function or ""
    if compile_ is not None and name in METHODS:  # the log does not show its class yet
        file, first_line = _definition(compile_)
        placed = f"{name} ({fmt.file_name(file)}:{first_line})" if file is not None else name
        name = placed if cells(placed) <= width else name
    return place, label, fmt.clip_middle(fmt.one_line(sanitize(name)), width)


def _mark(news: News, line: TailLine, ascii_: bool) -> tuple[str, str]:
    """Return the glyph of a line and its style."""
    if line.status is not None:
        return glyph(line.status, ascii_), colour(line.status)
    status = {NewsKind.BEGUN: Status.RUNNING, NewsKind.BREAK: Status.BREAK}.get(line.kind)
    if status is not None:
        return glyph(status, ascii_), colour(status)
    if line.kind is NewsKind.RECOMPILE:
        return ASCII_RECOMPILE if ascii_ else RECOMPILE_GLYPH, tokens.RECOMPILE
    return " ", tokens.WARN if news.is_trouble or news.kind is NewsKind.OVER else ""
