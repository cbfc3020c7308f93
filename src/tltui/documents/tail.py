"""News as lines: what `tltui tail` prints."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tltui.analyses.news import News, What
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.news import compile_of, process_of, time_of, told
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, Status, colour, glyph
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.sanitize import sanitize
from tltui.text.width import cells, fit

SCHEMA = 1
NAME = 28
"""Columns of the name of a function, at most."""
LEAST = 32
"""Columns for a sentence and a place, below which the place is left out."""


@dataclass(frozen=True, slots=True)
class TailLine:
    """A line of `tltui tail`: one thing that happened."""

    schema: int
    kind: What
    time: str | None
    """`MM-DD HH:MM:SS.micros`, local time of the job; null where no record tells."""
    rank: int | None
    pid: int | None
    ref: str
    """The address of the compile or the process, as it was when the line was printed; "" of a log without records."""
    function: str | None
    status: Status | None
    """What became of a compile that ended."""
    seconds: float | None
    text: str
    file: str | None
    """The line of the program that it is about; else a library's, else torch's."""
    line: int | None
    log: str
    """The file of the log."""


Timed = tuple[str, News]
"""A piece of news, and the time of its record."""


def in_order(run: Run, streams: Iterable[Sequence[News]]) -> Iterator[Timed]:
    """News of several logs by time; those of one log stay in the order of its records, whatever its clock says."""
    return heapq.merge(*(_timed(run, stream) for stream in streams), key=lambda timed: timed[0])


def _timed(run: Run, stream: Sequence[News]) -> Iterator[Timed]:
    last = ""
    for news in stream:
        last = time_of(run, news) or last
        yield last, news


def line_of(run: Run, news: News) -> TailLine:
    """Read what a piece of news says. Addresses are those of now: others may have come since it was found."""
    found, process, compile_ = told(run, news), process_of(run, news), compile_of(run, news)
    node = compile_ or process
    return TailLine(
        SCHEMA, found.what or news.what, time_of(run, news), process.rank if process is not None else None,
        process.pid if process is not None else None, str(node.ref) if node is not None else "", news.name,
        found.status, news.seconds, found.text, found.file, found.line, run.models[news.log].log.path,
    )  # fmt: skip


class Layout:
    """Lays out lines below each other: columns are as wide as what they have had to hold so far."""

    def __init__(self, options: Options, width: int, name: int = NAME) -> None:
        """Lines of at most `width` columns, of which the name of a function takes at most `name`."""
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
        text, place = _fitted(sanitize(line.text), sanitize(fmt.place(line.file, line.line)) if line.file is not None else "", room)
        pieces.append((text, style) if line.kind not in (What.BEGUN, What.ENDED) else text)
        return [*pieces, "  ", (place, tokens.DIM)] if place else pieces


def _fitted(text: str, place: str, room: int) -> tuple[str, str]:
    """Both in so many columns: where they do not fit the place has half of them; where that is too little it is left out."""
    if cells(text) + 2 + cells(place) > room:
        place = fmt.clip_middle(place, max(room // 2, room - 2 - cells(text))) if room >= LEAST else ""
    return fit(text, max(room - (cells(place) + 2 if place else 0), 1)), place


def _columns(run: Run, news: News, line: TailLine, width: int) -> tuple[str, str, str]:
    """Rank, id, and function in so many columns."""
    process, compile_ = process_of(run, news), compile_of(run, news)
    number = "" if process is None or process.alone else f".{process.number}"
    place = f"rank {line.rank}{number}" if line.rank is not None else f"norank{number}" if number else ""
    label = compile_.label if compile_ is not None else ""
    return place, label, fmt.clip_middle(fmt.one_line(sanitize(line.function or "")), width)


def _mark(news: News, line: TailLine, ascii_: bool) -> tuple[str, str]:
    """The glyph of a line, and its style."""
    if line.status is not None:
        return glyph(line.status, ascii_), colour(line.status)
    status = {What.BEGUN: Status.RUNNING, What.BREAK: Status.BREAK}.get(line.kind)
    if status is not None:
        return glyph(status, ascii_), colour(status)
    if line.kind is What.RECOMPILE:
        return ASCII_RECOMPILE if ascii_ else RECOMPILE_GLYPH, tokens.RECOMPILE
    return " ", tokens.WARN if news.is_trouble or news.what is What.OVER else ""
