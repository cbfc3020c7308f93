"""Incremental search for anything in a run that has a name."""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from tltui.documents.format import pid, plural
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.record_reader import Reader
from tltui.model.ref import BadAddress, at_line, parse_ref
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, colour, glyph
from tltui.questions.provenance.graph_names import Names
from tltui.questions.records.index_page import pages
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.frozen import frozen, mutable
from tltui.text.torch_names import short
from tltui.tree.outline import NameOf, compile_node, label, own_name

SHOWN = 200
"""Maximum hits that are ranked and shown."""
LOOKED_AT = 2000
"""Maximum hits of one block that are considered."""
BLOCK = 10_000
GAP = "  "
"""Separator between the parts of a row; the first part is the address or the name."""
RECENT = 8
"""Maximum number of recent places."""
SYMBOLS = 20_000
"""Maximum number of symbol records that are read."""
_SYMBOL_EVENTS = ("create_symbol", "create_unbacked_symbol")


@frozen
class Place:
    """A navigation target."""

    ref: str
    text: str
    """Searched and displayed text: address, function, file and line, and a distinguishing detail."""
    mark: str = ""
    """The glyph of its status, '' for none."""
    style: str = ""
    """The style of the mark."""
    also: str = ""
    """Additional searched text: torch's name of a function whose displayed name is shortened."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Return the row of a list."""
        address, gap, remainder = self.text.partition(GAP)
        return ((f"{self.mark or ' '} ", self.style), (address, tokens.STRONG), gap + remainder)


def _joined(*parts: str) -> str:
    return GAP.join(part for part in parts if part)


class _Rows:
    """Builder of the rows of a run's nodes."""

    def __init__(self, run: Run, ascii_: bool, name_of: NameOf) -> None:
        self._ascii = ascii_
        self._name_of = name_of
        self._has_ranks = len(run.ranks) > 1

    def _code(self, frame: Frame) -> tuple[str, str, str]:
        """Return function, `model.py:12`, and the rank if there are several."""
        _, file, line = frame.code
        where = f"{os.path.basename(file)}:{line}" if file and line else os.path.basename(file or "")
        rank = frame.process.rank
        rank_text = ("no rank" if rank is None else f"rank {rank}") if self._has_ranks else ""
        return short(self._name_of(frame) or "", self._ascii), where, rank_text

    def _also(self, frame: Frame) -> str:
        """Return torch's name of a function whose displayed name is shortened."""
        name = self._name_of(frame) or ""
        return name if short(name, self._ascii) != name else ""

    def rank(self, rank: Rank) -> Place:
        return Place(str(rank.ref), _joined(str(rank.ref), rank.title, plural(rank.tally.compiles, "compile")))

    def process(self, process: Process) -> Place:
        text = _joined(f"process {process.number}", pid(process.pid), plural(process.tally.compiles, "compile"))
        return Place(str(process.ref), _joined(str(process.ref), text))

    def frame(self, frame: Frame) -> Place:
        name, where, rank = self._code(frame)
        count = f"frame of {plural(len(frame.compiles), 'compile')}"
        return Place(str(frame.ref), _joined(str(frame.ref), name, where, rank, count), also=self._also(frame))

    def compile(self, compile_: Compile) -> Place:
        status, ref = compile_.status, str(compile_.ref)
        row = label(compile_node(compile_), self._ascii)
        if status is None:
            description = "".join(piece_text(piece) for piece in row.left[2:])
            return Place(ref, _joined(ref, description.strip()), glyph(None, self._ascii), tokens.DIM)
        name, where, rank = self._code(compile_.frame)
        again = (ASCII_RECOMPILE if self._ascii else RECOMPILE_GLYPH) if compile_.is_recompile else ""
        why = "".join(piece_text(piece) for piece in row.detail).strip() if len(compile_.frame.compiles) > 1 else ""
        why = f"{again} {why}".strip()
        also = self._also(compile_.frame)
        return Place(ref, _joined(ref, name, where, rank, why), glyph(status, self._ascii), colour(status), also)

    def artifact(self, artifact: Artifact, units: Mapping[int, str]) -> Place:
        name, where, rank = self._code(artifact.owner.frame)
        ref, unit = str(artifact.ref), "" if artifact.unit is None else units.get(artifact.unit, "")
        title = "" if artifact.kind.title == artifact.name else artifact.kind.title
        return Place(ref, _joined(ref, title, unit, name, where, rank), also=self._also(artifact.owner.frame))

    def artifacts(self, compile_: Compile) -> list[Place]:
        artifacts = artifacts_of(compile_)
        units = {unit.number: unit.name for unit in units_of(artifacts)}
        return [self.artifact(artifact, units) for artifact in artifacts]


def _nodes(run: Run, rows: _Rows, compiles: Iterable[Compile]) -> Iterator[Place]:
    """Yield ranks, processes, frames and compiles."""
    for rank in run.ranks:
        if len(run.ranks) > 1:
            yield rows.rank(rank)
        if len(rank.processes) > 1:
            yield from map(rows.process, rank.processes)
    visited: set[int] = set()
    for compile_ in compiles:
        yield rows.compile(compile_)
        frame = compile_.frame
        if id(frame) not in visited and len(frame.compiles) > 1:
            visited.add(id(frame))
            yield rows.frame(frame)


def views(run: Run) -> list[Place]:
    """Return the pages about the run."""
    return [Place(page.ref, f"{page.ref}{GAP}page: {page.help}") for page in pages(run)]


def recent(run: Run, refs: Iterable[str], ascii_: bool = False, name_of: NameOf = own_name) -> list[Place]:
    """Return the recent places of the given addresses, latest first, without duplicates and without unresolvable ones."""
    rows, pages_ = _Rows(run, ascii_, name_of), {place.ref: place.text for place in views(run)}
    places: dict[str, Place] = {}
    for ref in refs:
        if len(places) == RECENT:
            break
        if ref in places:
            continue
        try:
            place = _place_at(run, rows, ref, pages_)
        except BadAddress:
            continue
        if place is not None:
            places[ref] = place
    return list(places.values())


def _place_at(run: Run, rows: _Rows, ref: str, pages_: Mapping[str, str]) -> Place | None:
    """Return the place at an address; None if nothing is there. Raises BadAddress."""
    if not ref:
        return Place("", _joined("the run", run.title, plural(run.tally.compiles, "compile")))
    if ref.startswith("@"):
        parsed = parse_ref(ref)
        about = str(replace(parsed, view="")) if parsed.id or parsed.rank is not None else ""
        title = f"{parsed.view} of {about}" if about else ""
        if parsed.view == "grep" and parsed.artifact is not None:
            title = f"search for {parsed.artifact}"
        return Place(ref, pages_.get(ref) or _joined(ref, title))
    node = run.resolve(ref)
    if isinstance(node, Artifact):
        return next((place for place in rows.artifacts(node.owner) if place.ref == str(node.ref)), None)
    if isinstance(node, Compile):
        return rows.compile(node)
    if isinstance(node, Frame):
        return rows.frame(node)
    if isinstance(node, Process):
        return rows.process(node)
    return None if node is None else rows.rank(node)


def shown_parts(names: Names | None, ref: str) -> Iterator[Place]:
    """Yield the named parts of the shown document: graph nodes, kernels, functions."""
    if names is None or not ref:
        return
    if names.graph is not None:
        for node in names.graph.nodes:
            if node.name:
                text = f"{node.name}  {node.target or node.kind}{f'  {node.type}' if node.type else ''}  line {node.line + 1}"
                yield Place(at_line(ref, node.line + 1), text)
        return
    for name, lines in names.lines.items():
        yield Place(at_line(ref, lines[0] + 1), f"{name}  line {lines[0] + 1}")


def symbols(compiles: Iterable[Compile]) -> Iterator[Place]:
    """Yield the symbols of dynamic shapes, each with its source."""
    readers: dict[int, Reader] = {}
    visited: set[tuple[str, str]] = set()
    budget = SYMBOLS
    for compile_ in compiles:
        log = compile_.process.log
        for record in compile_.records:
            if log.kind(record).event not in _SYMBOL_EVENTS:
                continue
            budget -= 1
            if budget < 0:
                return
            event = readers.setdefault(id(log), Reader(log)).event(record)
            if isinstance(symbol := event.get("symbol"), str):
                source = event.get("source")
                name = _joined(symbol, source if isinstance(source, str) else "")
                if (ref := f"@shapes:{compile_.ref}", name) not in visited:
                    visited.add((ref, name))
                    yield Place(ref, _joined(name, f"symbol of {compile_.ref}"))


def everything(
    run: Run,
    compiles: list[Compile],
    current: Compile | None,
    names: Names | None = None,
    ref: str = "",
    ascii_: bool = False,
    name_of: NameOf = own_name,
) -> Iterator[Place]:
    """Yield all places: pages, then the current compile's, then all others.

    Reads records at its end; may take a while for a large run. `names` are those of the document at `ref`; `name_of` returns the
    displayed name of a function.
    """
    rows = _Rows(run, ascii_, name_of)
    yield from views(run)
    if current is not None:
        yield from rows.artifacts(current)
    yield from shown_parts(names, ref)
    yield from _nodes(run, rows, compiles)
    for compile_ in compiles:
        if compile_ is not current:
            yield from rows.artifacts(compile_)
    yield from symbols(compiles)


@mutable
class _Block:
    """Places as one text: each line begins with a line end, in small letters."""

    places: list[Place]
    text: str
    starts: array[int] = field(default_factory=lambda: array("Q"))

    @classmethod
    def of(cls, places: list[Place]) -> _Block:
        starts, parts, at = array("Q"), [], 0
        for place in places:
            line = "\n" + f"{place.text} {place.also}".rstrip().replace("\n", " ").lower()
            starts.append(at)
            parts.append(line)
            at += len(line)
        return cls(places, "".join(parts) + "\n", starts)

    def line(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def size(self, line: int) -> int:
        """Return the characters of the address or name at the start of a line; text after it does not lower its rank."""
        start, end = self.starts[line], self.end(line)
        gap = self.text.find(GAP, start, end)
        return (end if gap < 0 else gap) - start

    def end(self, line: int) -> int:
        return self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text) - 1


Scored = tuple[int, int, int, int]
"""(tier, spread, length, order): the smaller the better."""


class Places:
    """Searchable places. `add` is called from one thread at a time; `match` may run at the same time."""

    def __init__(self, first: Iterable[Place] = ()) -> None:
        """Create a collection; `first`: places listed first for an empty query (`recent`), searched only if added too."""
        self._first = list(first)
        self._blocks: list[_Block] = []
        self._count = 0
        self._narrowed: tuple[str, int, list[Place]] = ("", 0, [])
        """The last text, the number of blocks, and all places with its letters, in which the next letter is searched."""

    def __len__(self) -> int:
        return self._count

    def add(self, places: list[Place]) -> None:
        """Append a block."""
        if places:
            self._blocks.append(_Block.of(places))
            self._count += len(places)

    def match(self, query: str) -> list[Place]:
        """Return the best places for a query.

        In this order: exact name, prefix, word prefix, substring, all words, all letters in order.
        """
        low = " ".join(query.lower().split())
        blocks = list(self._blocks)
        if not low:
            near = [place for block in blocks for place in block.places[:SHOWN]]
            first_refs = {place.ref for place in self._first}
            return [*self._first, *(place for place in near if place.ref not in first_refs)][:SHOWN]
        typed, count, candidates = self._narrowed
        if typed and count == len(blocks) and low.startswith(typed) and " " not in low:
            blocks = [_Block.of(candidates)]
        scores: dict[int, Scored] = {}
        _holding(blocks, low, scores)
        if len(scores) < SHOWN and " " in low:
            _with_words(blocks, low, scores)
        needs_more = not scores if " " in low else len(scores) < SHOWN
        if needs_more and _with_letters(blocks, low, scores) and " " not in low:
            # whatever has one more letter is among these
            self._narrowed = (low, len(self._blocks), [self._place(blocks, order) for order in sorted(scores)])
        return [self._place(blocks, scored[3]) for scored in sorted(scores.values())[:SHOWN]]

    @staticmethod
    def _place(blocks: list[_Block], order: int) -> Place:
        for block in blocks:
            if order < len(block.places):
                return block.places[order]
            order -= len(block.places)
        raise IndexError(order)


def _numbered(blocks: list[_Block]) -> Iterator[tuple[int, _Block]]:
    """Yield the blocks, each with the number of places before it."""
    order = 0
    for block in blocks:
        yield order, block
        order += len(block.places)


def _holding(blocks: list[_Block], low: str, scores: dict[int, Scored]) -> None:
    """Add the lines that contain the query.

    Best first: the name after an address, a prefix of the line, a prefix of a word after the address.
    """
    for tier, text in ((0, GAP + low + GAP), (1, "\n" + low), (2, " " + low), (2, ":" + low), (3, low)):
        count = 0
        for order, block in _numbered(blocks):
            at = block.text.find(text)
            while at >= 0 and count < LOOKED_AT:
                line = block.line(at + (tier == 1))
                end = block.end(line)
                scores.setdefault(order + line, (tier, 0, block.size(line), order + line))
                count += 1
                at = block.text.find(text, end)


def _with_words(blocks: list[_Block], low: str, scores: dict[int, Scored]) -> None:
    """Add the lines that contain all words, in any order, searching for the rarest word first."""
    words = low.split(" ")
    count = 0
    for order, block in _numbered(blocks):
        counts = {word: block.text.count(word) for word in words}
        first, *further = sorted(words, key=counts.__getitem__)
        at = block.text.find(first) if counts[first] else -1
        while at >= 0 and count < LOOKED_AT * 4:
            line = block.line(at)
            start, end = block.starts[line], block.end(line)
            if order + line not in scores and all(block.text.find(word, start, end) >= 0 for word in further):
                scores[order + line] = (4, 0, block.size(line), order + line)
            count += 1
            at = block.text.find(first, end)


def _with_letters(blocks: list[_Block], low: str, scores: dict[int, Scored]) -> bool:
    """Add the lines that contain the letters in order, ranked by their spread; return whether the search was complete."""
    letters = [re.escape(letter) for letter in low if letter != " "]
    gaps = "".join(rf"[^{letter}\n]*{letter}" for letter in letters[1:])
    pattern = re.compile(rf"\n[^{letters[0]}\n]*({letters[0]}){gaps}")
    count = 0
    for order, block in _numbered(blocks):
        if not all(letter in block.text for letter in low):
            continue
        for match in pattern.finditer(block.text):
            line = block.line(match.end() - 1)
            scores.setdefault(order + line, (5, match.end() - match.start(1), block.size(line), order + line))
            count += 1
            if count >= LOOKED_AT:
                return False
    return True
