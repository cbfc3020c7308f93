"""Everything in a run that has a name, and the search for one of them while somebody types.

The names of a large run are many (100,000 artifacts are nothing special). So they are collected piece by piece, and searched as
blocks of text: `str.find` and one regular expression over a whole block, then only the best few hundred hits are ranked.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tltui.analyses.records import Reader
from tltui.documents.names import Names
from tltui.documents.pages.listed import pages
from tltui.documents.tree.outline import compile_node, label
from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile, Frame
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.text.resume_names import short

SHOWN = 200
"""Hits that are ranked and shown."""
LOOKED_AT = 2000
"""Hits of one block that are looked at for them."""
BLOCK = 10_000
SYMBOLS = 20_000
"""Records of symbols that are read."""
_SYMBOL_EVENTS = ("create_symbol", "create_unbacked_symbol")


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere to go."""

    ref: str
    text: str
    also: str = ""
    """What else it is found by: torch's name of a function that is called in short."""


def nodes(run: Run, compiles: Iterable[Compile], ascii_: bool = False) -> Iterator[Place]:
    """Ranks, frames and compiles."""
    if len(run.ranks) > 1:
        for rank in run.ranks:
            yield Place(str(rank.ref), f"{rank.title}  {len(rank.processes)} process{'es' * (len(rank.processes) != 1)}")
    seen: set[int] = set()
    for compile_ in compiles:
        said = label(compile_node(compile_), ascii_)
        text = "".join(p if isinstance(p, str) else p[0] for p in (*said.left, *said.detail))
        frame = compile_.frame
        own = frame.code[0] or ""
        name = "" if len(frame.compiles) == 1 else f"  {short(own, ascii_)}"
        yield Place(str(compile_.ref), f"{compile_.ref}  {text}{name}", own if short(own) != own else "")
        if id(frame) not in seen and len(frame.compiles) > 1:
            seen.add(id(frame))
            yield _frame(frame)


def _frame(frame: Frame) -> Place:
    name, file, line = frame.code
    return Place(str(frame.ref), f"{frame.ref}  frame {name or ''}  {file or ''}{f':{line}' if line else ''}")


def artifacts(compile_: Compile) -> list[Place]:
    """The artifacts of one compile."""
    return [Place(str(a.ref), f"{a.ref}  {a.kind.title}") for a in artifacts_of(compile_)]


def views(run: Run) -> list[Place]:
    """The pages about the run."""
    return [Place(page.ref, f"{page.ref}  {page.help}") for page in pages(run)]


def named(names: Names | None, ref: str) -> Iterator[Place]:
    """What has a name in the document that is shown: nodes of a graph, kernels, functions."""
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
    """The symbols of dynamic shapes, each with where it came from."""
    readers: dict[int, Reader] = {}
    left = SYMBOLS
    for compile_ in compiles:
        log = compile_.process.log
        for record in compile_.records:
            if log.kind(record).event not in _SYMBOL_EVENTS:
                continue
            left -= 1
            if left < 0:
                return
            event = readers.setdefault(id(log), Reader(log)).event(record)
            if isinstance(symbol := event.get("symbol"), str):
                source = event.get("source")
                said = f"  {source}" if isinstance(source, str) and source else ""
                yield Place(f"@shapes:{compile_.ref}", f"{symbol}{said}  symbol of {compile_.ref}")


def everything(
    run: Run, compiles: list[Compile], current: Compile | None, names: Names | None = None, ref: str = "", ascii_: bool = False
) -> Iterator[Place]:
    """All of them, those that are near first. Reads records at its end; may take a while for a large run."""
    if current is not None:
        yield from artifacts(current)
    yield from named(names, ref)
    yield from views(run)
    yield from nodes(run, compiles, ascii_)
    for compile_ in compiles:
        if compile_ is not current:
            yield from artifacts(compile_)
    yield from symbols(compiles)


@dataclass(slots=True)
class _Block:
    """Some places as one text: each line begins with a line end, in small letters."""

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

    def end(self, line: int) -> int:
        return self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text) - 1


Scored = tuple[int, int, int, int]
"""(tier, spread, length, order): the smaller the better."""


class Places:
    """Places that can be searched. Grows by `add`, from one thread at a time; `match` may run at the same time."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._count = 0
        self._narrowed: tuple[str, int, list[Place]] = ("", 0, [])
        """What was typed, of how many blocks, and all places that have its letters: where the next letter is looked for."""

    def __len__(self) -> int:
        return self._count

    def add(self, places: list[Place]) -> None:
        """Append a block."""
        if places:
            self._blocks.append(_Block.of(places))
            self._count += len(places)

    def match(self, query: str) -> list[Place]:
        """The best places for what was typed: those that begin with it, then those where a word does, then those that hold it,
        hold its words, or hold its letters in this order."""
        low = " ".join(query.lower().split())
        blocks = list(self._blocks)
        if not low:
            return [place for block in blocks for place in block.places[:SHOWN]][:SHOWN]
        typed, count, left = self._narrowed
        if typed and count == len(blocks) and low.startswith(typed) and " " not in low:
            blocks = [_Block.of(left)]
        found: dict[int, Scored] = {}
        _holding(blocks, low, found)
        if len(found) < SHOWN and " " in low:
            _with_words(blocks, low, found)
        wanted = not found if " " in low else len(found) < SHOWN
        if wanted and _with_letters(blocks, low, found) and " " not in low:
            # whatever has one more letter is among these
            self._narrowed = (low, len(self._blocks), [self._place(blocks, order) for order in sorted(found)])
        return [self._place(blocks, scored[3]) for scored in sorted(found.values())[:SHOWN]]

    @staticmethod
    def _place(blocks: list[_Block], order: int) -> Place:
        for block in blocks:
            if order < len(block.places):
                return block.places[order]
            order -= len(block.places)
        raise IndexError(order)


def _numbered(blocks: list[_Block]) -> Iterator[tuple[int, _Block]]:
    """Blocks, each with the number of the places before it."""
    order = 0
    for block in blocks:
        yield order, block
        order += len(block.places)


def _holding(blocks: list[_Block], low: str, found: dict[int, Scored]) -> None:
    """Lines that hold what was typed. First those that begin with it, or where the word behind an address does."""
    for tier, text in ((0, "\n" + low), (1, " " + low), (1, ":" + low), (2, low)):
        seen = 0
        for order, block in _numbered(blocks):
            at = block.text.find(text)
            while at >= 0 and seen < LOOKED_AT:
                line = block.line(at + (tier == 0))
                end = block.end(line)
                found.setdefault(order + line, (tier, 0, end - block.starts[line], order + line))
                seen += 1
                at = block.text.find(text, end)


def _with_words(blocks: list[_Block], low: str, found: dict[int, Scored]) -> None:
    """Lines that hold all words, in any order. The rarest word leads."""
    words = low.split(" ")
    seen = 0
    for order, block in _numbered(blocks):
        counts = {word: block.text.count(word) for word in words}
        first, *rest = sorted(words, key=counts.__getitem__)
        at = block.text.find(first) if counts[first] else -1
        while at >= 0 and seen < LOOKED_AT * 4:
            line = block.line(at)
            start, end = block.starts[line], block.end(line)
            if order + line not in found and all(block.text.find(word, start, end) >= 0 for word in rest):
                found[order + line] = (3, 0, end - start, order + line)
            seen += 1
            at = block.text.find(first, end)


def _with_letters(blocks: list[_Block], low: str, found: dict[int, Scored]) -> bool:
    """Lines that hold the letters in this order, the closer together the better. Whether all of them were found."""
    letters = [re.escape(letter) for letter in low if letter != " "]
    gaps = "".join(rf"[^{letter}\n]*{letter}" for letter in letters[1:])
    pattern = re.compile(rf"\n[^{letters[0]}\n]*({letters[0]}){gaps}")
    seen = 0
    for order, block in _numbered(blocks):
        if not all(letter in block.text for letter in low):
            continue
        for match in pattern.finditer(block.text):
            line = block.line(match.end() - 1)
            size = block.end(line) - block.starts[line]
            found.setdefault(order + line, (4, match.end() - match.start(1), size, order + line))
            seen += 1
            if seen >= LOOKED_AT:
                return False
    return True
