"""Symbolic expressions and what each was made of, as `TORCH_DTRACE` writes them (`expression_created`)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace

from tltui.analyses.records import Reader, list_in, named, text_in
from tltui.analyses.stacks.stacks import StackFrame, frames_of, user_frames
from tltui.model.nodes import Compile, Process

CREATED, SYMBOL = "expression_created", "create_unbacked_symbol"
DEPTH = 400
NODES = 300
"""Parts of one expression that are followed."""
KEPT = 4_000
SLICE = 500
ANY = "[-int_oo, int_oo]"
_ID = re.compile(rb'"(?:result_id|node_id)": (-?\d{1,24})[,}]')
_NUMBER = re.compile(r"^(?:-?[\d.]+(?:e[-+]?\d+)?|True|False|None|-?int_oo)$")


@dataclass(frozen=True, slots=True)
class Expression:
    """A part of an expression, in the order of a walk from the whole down to the symbols."""

    depth: int
    text: str
    method: str | None = None
    """How it was made of its arguments; None for a symbol."""
    arguments: tuple[str, ...] = ()
    source: str | None = None
    """Of a symbol: what it stands for, or its range where it depends on data."""
    where: StackFrame | None = None
    """The user's line that made it."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A record: the expression, and (id, text) of what it was made of."""

    expression: Expression
    parts: tuple[tuple[int, str], ...] = ()


class Expressions:
    """The expressions of a process by id."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._reader = Reader(process.log)
        self._records: dict[int, list[int]] = {}
        self._symbols: set[int] = set()
        self._known: dict[int, _Made] = {}
        self.count = 0
        """`expression_created` records."""

    def index(self, compiles: Iterable[Compile]) -> Generator[None, None, None]:
        """Find out which record made which id: the id is searched in the bytes, nothing is parsed. Yields in between."""
        found = sorted((record, name) for c in compiles for record, name in named(c, (CREATED, SYMBOL)))
        for number, (record, name) in enumerate(found):
            if match := _ID.search(self._reader.head(record)):
                self._records.setdefault(int(match[1]), []).append(record)
            if name == SYMBOL:
                self._symbols.add(record)
            else:
                self.count += 1
            if number % SLICE == SLICE - 1:
                yield

    def _made(self, node: int, before: int) -> int | None:
        """The newest record before another one that made this id."""
        records = self._records.get(node, [])
        place = bisect_left(records, before)
        return records[place - 1] if place else None

    def tree(self, node: int, before: int, sources: dict[str, str]) -> tuple[Expression, ...]:
        """What an expression was made of, each part once, down to the symbols; `sources` says what symbols stand for."""
        found: list[Expression] = []
        seen: set[int] = set()
        waiting = [(node, before, 0, "")]
        while waiting:
            node, before, depth, text = waiting.pop()
            if node in seen:
                continue
            if len(found) == NODES:
                found.append(Expression(depth, "…", source="further parts are left out"))
                break
            seen.add(node)
            record = self._made(node, before)
            if record is None:
                if text:
                    found.append(Expression(depth, text, source=sources.get(text)))
                continue
            made = self._read(record)
            found.append(replace(made.expression, depth=depth, text=made.expression.text or text or "?"))
            waiting += [(part, record, min(depth + 1, DEPTH), name) for part, name in reversed(made.parts)]
        return tuple(found)

    def _read(self, record: int) -> _Made:
        """A record; failures that follow each other have most of their parts in common."""
        known = self._known.get(record)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[record] = self._parsed(record)
        return known

    def _parsed(self, record: int) -> _Made:
        fields = self._reader.event(record)
        frames = user_frames(frames_of(self._process, list_in(fields, "user_stack")))
        where = frames[0] if frames else None
        if record in self._symbols:
            bounds = text_in(fields, "vr")
            source = f"depends on data, range {bounds}" if bounds not in (None, ANY) else "depends on data"
            return _Made(Expression(0, text_in(fields, "symbol") or "", source=source, where=where))
        arguments = tuple(str(argument) for argument in list_in(fields, "arguments"))
        method = text_in(fields, "method") or "?"
        expression = Expression(0, text_in(fields, "result") or "", method, arguments, where=where)
        return _Made(expression, _parts(fields, arguments))


def _parts(fields: dict[str, object], arguments: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """(id, text) of the arguments that have an id. Numbers have none, so texts and ids need not be as many."""
    ids = [value for value in list_in(fields, "argument_ids") if isinstance(value, int) and not isinstance(value, bool)]
    texts = list(arguments) if len(arguments) == len(ids) else [a for a in arguments if not _NUMBER.match(a)]
    return tuple(zip(ids, texts if len(texts) == len(ids) else [""] * len(ids), strict=True))
