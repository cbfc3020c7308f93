"""Symbolic expressions and what each was made of, as `TORCH_DTRACE` writes them (`expression_created`)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from tltui.analyses.records import Reader, list_in, named, text_in
from tltui.analyses.stacks import StackFrame, frames_of, user_frames
from tltui.model.nodes import Compile, Process

CREATED, SYMBOL = "expression_created", "create_unbacked_symbol"
DEPTH = 400
NODES = 2_000
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


class Expressions:
    """The expressions of a process by id."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._reader = Reader(process.log)
        self._records: dict[int, list[int]] = {}
        self._symbols: set[int] = set()
        self.count = 0
        """`expression_created` records."""

    def index(self, compiles: Iterable[Compile]) -> Generator[None, None, None]:
        """Find out which record made which id: the id is searched in the bytes, nothing is parsed. Yields in between."""
        found = sorted((record, name) for c in compiles for record, name in named(c, (CREATED, SYMBOL)))
        for number, (record, name) in enumerate(found):
            if match := _ID.search(self._reader.line(record)):
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
        while waiting and len(found) < NODES:
            node, before, depth, text = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            record = self._made(node, before)
            if record is None:
                if text:
                    found.append(Expression(depth, text, source=sources.get(text)))
                continue
            fields = self._reader.event(record)
            frames = user_frames(frames_of(self._process, list_in(fields, "user_stack")))
            where = frames[0] if frames else None
            if record in self._symbols:
                name = text_in(fields, "symbol") or text or "?"
                bounds = text_in(fields, "vr")
                source = f"depends on data, range {bounds}" if bounds not in (None, ANY) else "depends on data"
                found.append(Expression(depth, name, source=source, where=where))
                continue
            arguments = tuple(str(argument) for argument in list_in(fields, "arguments"))
            name = text_in(fields, "result") or text or "?"
            found.append(Expression(depth, name, text_in(fields, "method") or "?", arguments, where=where))
            waiting += reversed(_parts(fields, arguments, record, min(depth + 1, DEPTH)))
        return tuple(found)


def _parts(
    fields: dict[str, object], arguments: tuple[str, ...], record: int, depth: int
) -> list[tuple[int, int, int, str]]:
    """The arguments that have an id, as `tree` wants them. Numbers have none, so texts and ids need not be as many."""
    ids = [value for value in list_in(fields, "argument_ids") if isinstance(value, int) and not isinstance(value, bool)]
    texts = list(arguments) if len(arguments) == len(ids) else [a for a in arguments if not _NUMBER.match(a)]
    if len(texts) != len(ids):
        texts = [""] * len(ids)
    return [(node, record, depth, text) for node, text in zip(ids, texts, strict=True)]
