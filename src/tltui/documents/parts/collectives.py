"""What the dumps of the flight recorder show, in words: who has not entered which collective, and calls that do not match."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.hang.collectives import DEFAULT, Call, Collectives, GroupName, Mismatch, Pending
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.where import many_ranks, short, these
from tltui.model.dumps import RefusedDump
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

SHOWN = 4
"""Collectives, mismatches and dumps that could not be read, of each as many."""
NAME_WIDTH = 40


def collectives_answer(found: Collectives, over: bool = False) -> str:
    """The answer in a sentence; '' where no dump names a rank. `over`: the job has ended, so that nobody waits any more."""
    first = next((own for own in found.pending if own.missing), None)
    if first is not None:
        return _not_entered(first, over)
    if found.mismatches:
        return f"{_mismatch(found.mismatches[0])}."
    unknown = next((own for own in found.pending if own.unknown), None)
    if unknown is not None:
        who = _these(_waiting(unknown))
        return (
            f"{who} {_wait(_waiting(unknown), over)} in {_call(unknown)}; no dump of the flight recorder shows whether "
            f"{_these(unknown.unknown).lower()} entered it."
        )
    return ""


def _not_entered(own: Pending, over: bool) -> str:
    """`Rank 1 has not entered barrier, number 2 of the group of all ranks, in which ranks 0, 2 wait since 14:25:02.`"""
    waiting, have = _waiting(own), "had" if over else "have" if many_ranks(own.missing) else "has"
    said = f"{_these(own.missing)} {have} not entered {_call(own)}, in which {_these(waiting).lower()} {_wait(waiting, over)}"
    said += f" since {fmt.clock(own.since)}"
    if len(own.last) == 1:
        last = own.last[0]
        said += f"; the last one that {'they' if many_ranks(own.missing) else 'it'} entered there is {_operation(last)}{_at(last)}"
    return f"{said}."


def _call(own: Pending) -> str:
    return f"{_name(own.operation)}, number {own.sequence} of {_group(own.group)}{_at(own.waiting[-1])}"


def _operation(call: Call) -> str:
    return f"{_name(call.operation)}, number {call.sequence}"


def _at(call: Call) -> str:
    """` (job.py:288 in sync)`"""
    if call.frame is None or not call.frame.file:
        return ""
    return f" ({sanitize(fmt.place(call.frame.file, call.frame.line))} in {_name(call.frame.function)})"


def _group(group: GroupName) -> str:
    if group.description == DEFAULT:
        return "the group of all ranks"
    described = "" if group.description in ("", "undefined") else f" ({_name(group.description)})"
    return f"process group {_name(group.name)}{described}"


def _name(text: str) -> str:
    return fmt.clip_middle(sanitize(text), NAME_WIDTH)


def _waiting(own: Pending) -> str:
    return ", ".join(call.ranks for call in own.waiting)


def _wait(ranks: str, over: bool) -> str:
    return "waited" if over else "wait" if many_ranks(ranks) else "waits"


def _these(ranks: str) -> str:
    return these(short(ranks))


def _mismatch(own: Mismatch) -> str:
    calls = "; ".join(f"{_these(call.ranks).lower()}: {_made(call, own.differs)}{_at(call)}" for call in own.calls[:SHOWN])
    return f"Ranks made different calls as number {own.sequence} of {_group(own.group)}: {calls}"


def _made(call: Call, differs: str) -> str:
    if differs == "operation":
        return _name(call.operation)
    if differs == "dtypes":
        return f"{_name(call.operation)} of {', '.join(map(_name, call.dtypes[:SHOWN]))}"
    return f"{_name(call.operation)} of {_sizes(call.input_sizes)}"


def _sizes(sizes: Sequence[Sequence[int]]) -> str:
    shown = ", ".join(f"[{', '.join(map(str, own))}]" for own in sizes[:SHOWN])
    return shown + (", …" if len(sizes) > SHOWN else "") if sizes else "no tensors"


def add_collectives(page: Page, found: Collectives, refused: Sequence[RefusedDump]) -> None:
    """Every collective in which ranks wait, calls that do not match, and dumps that could not be read."""
    page.heading(f"Flight recorder of {_these(found.ranks).lower()}" if found.ranks else "Flight recorder")
    for own in found.pending[:SHOWN]:
        _add_pending(page, own)
    if (more := len(found.pending) - SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more collective')} in which ranks wait", "  ", tokens.DIM)
    for mismatch in found.mismatches[:SHOWN]:
        page.say(f"{_mismatch(mismatch)}.", "  ", tokens.WARN)
    if found.is_older:
        page.say("All that these dumps have is older than this run: they are of another one.", "  ")
    elif found.ranks and not found.pending and not found.mismatches:
        page.say("Every collective that a dump has was over when it was written.", "  ")
    for dump in refused[:SHOWN]:
        page.say(f"not read: {fmt.home(sanitize(dump.path))}: {dump.reason}", "  ", tokens.WARN)
    if (more := len(refused) - SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more dump')} not read", "  ", tokens.DIM)


def _add_pending(page: Page, own: Pending) -> None:
    number = f"  number {own.sequence} of {_group(own.group)}"
    page.row([(_name(own.operation), tokens.STRONG), number, (f"  {_name(own.backend)}", tokens.DIM)])
    for call in own.waiting:
        pieces: list[Piece] = [f"{_these(call.ranks).lower()}: {_name(call.state)}"]
        if call.input_sizes:
            pieces.append((f"  {_sizes(call.input_sizes)} {', '.join(map(_name, call.dtypes[:SHOWN]))}", tokens.DIM))
        page.row([*pieces, *_frame(page, call)], "    ")
    for call in own.last:
        page.row([f"{_these(call.ranks).lower()}: not entered; last {_operation(call)}", *_frame(page, call)], "    ")
    if own.missing and not own.last:
        page.say(f"{_these(own.missing).lower()}: not entered, nor any other call of this group that the dumps have", "    ")
    if own.unknown:
        page.say(f"{_these(own.unknown).lower()}: no dump, or an older one", "    ", tokens.DIM)


def _frame(page: Page, call: Call) -> list[Piece]:
    if call.frame is None or not call.frame.file:
        return []
    return ["  ", page.place(call.frame.file, call.frame.line), f" {_name(call.frame.function)}"]
