"""The compiles of a run as `tltui ls` has them, each with a link, equal ones of several ranks once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from tltui.analyses.stacks.known_as import shown_name
from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.documents.parts.on_ranks import said_ranks
from tltui.documents.report.equal import Equal
from tltui.documents.titles import process_title
from tltui.documents.tree.outline import Label, compile_node, frame_node, label
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.run import Run
from tltui.model.status import TABLE, glyph
from tltui.text import cut, tokens
from tltui.text.document import Options, Piece, TextDocument, piece_text, with_text
from tltui.text.width import cells

REF = "@compiles"
"""What links call it in a report."""


def compiles_document(run: Run, equal: Equal, worth: Mapping[str, float], shown: int, options: Options) -> TextDocument:
    """A line for each compile, at most `shown`: of more those that are worth most, and how many others there are."""
    page = Page(REF, "compiles", options)
    ordered = [own for own in worth if own not in equal.standing]
    listed = frozenset(ordered[:shown])
    left = len(ordered) - len(listed)
    alike = sum(len(own) - 1 for own in equal.refs.values())
    page.add((plural(len(ordered) + alike, "compile"), tokens.STRONG))
    if alike:
        are = "is" if alike == 1 else "are"
        page.say(f"{plural(alike, 'compile')} of other ranks {are} equal to one here, and not listed again.", "", tokens.DIM)
    if left:
        page.say(f"Those that are worth a look first; {plural(left, 'more compile')}: tltui ls PATH", "", tokens.DIM)
    several = len(list(run.processes())) > 1
    for process, own in groupby(equal.compiles, key=lambda compile_: compile_.process):
        compiles = [compile_ for compile_ in own if not compile_.is_compile or str(compile_.ref) in listed]
        if any(compile_.is_compile for compile_ in compiles):
            _process(page, process, compiles, equal, several)
    page.blank()
    used = {compile_.status for compile_ in equal.compiles}
    for status, row in TABLE.items():
        if status in used:
            page.say(f"{glyph(status, options.ascii)} {row.meaning}", "", tokens.DIM, hang="  ")
    return page.document()


def _process(page: Page, process: Process, compiles: list[Compile], equal: Equal, several: bool) -> None:
    page.blank()
    indent = ""
    if several:
        title = process_title(process) if not process.alone or process.rank is None else f"rank {process.rank}"
        page.add((title, tokens.HEADING))
        indent = "  "
    for frame, group in groupby(compiles, key=lambda compile_: compile_.frame):
        own = list(group)
        deeper = indent
        if len(frame.compiles) > 1 and own[0].is_compile:
            _row(page, label(frame_node(frame), page.ascii, shown_name), indent, frame, "")
            deeper = f"{indent}  "
        for compile_ in own:
            ref = str(compile_.ref)
            ranks = said_ranks(equal.refs.get(ref, ()), page.newest)
            _row(page, label(compile_node(compile_), page.ascii, shown_name), deeper, compile_, ranks)


def _row(page: Page, shown: Label, indent: str, node: Frame | Compile, ranks: str) -> None:
    """A row of the tree; what names the node in it is a link."""
    ref, named = str(node.ref), str(node.key.frame) if isinstance(node, Frame) else node.label
    left: list[Piece] = [indent]
    for piece in shown.left:
        text = piece_text(piece)
        left.append((text, tokens.LINK, ref) if text.strip() == named or text.strip().startswith(f"{named}~") else piece)
    if ranks:
        left.append((f"  {ranks}", tokens.DIM))
    room = page.width - sum(cells(piece_text(piece)) for piece in shown.right) - 1
    row: list[Piece] = []
    for piece in (*left, *shown.detail):
        text = cut.piece(piece_text(piece), room)
        room -= cells(text)
        row.append(with_text(piece, text))
        if room <= 0:
            break
    page.add(*row, " " * (room + 1), *shown.right)
