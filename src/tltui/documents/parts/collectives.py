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


def collectives_answer(recorded: Collectives, over: bool = False) -> str:
    """The answer in a sentence; '' where no dump names a rank. `over`: the job has ended, so that nobody waits any more."""
    first = next((item for item in recorded.pending if item.missing), None)
    if first is not None:
        return _not_entered(first, over)
    if recorded.mismatches:
        return f"{_mismatch(recorded.mismatches[0])}."
    unknown = next((item for item in recorded.pending if item.unknown), None)
    if unknown is not None:
        who = _these(_waiting(unknown))
        return (
            f"{who} {_wait(_waiting(unknown), over)} in {_call(unknown)}; no dump of the flight recorder shows whether "
            f"{_these(unknown.unknown).lower()} entered it."
        )
    return ""


def _not_entered(item: Pending, over: bool) -> str:
    """`Rank 1 has not entered barrier, number 2 of the group of all ranks, in which ranks 0, 2 wait since 14:25:02.`"""
    waiting, have = _waiting(item), "had" if over else "have" if many_ranks(item.missing) else "has"
    text = f"{_these(item.missing)} {have} not entered {_call(item)}, in which {_these(waiting).lower()} {_wait(waiting, over)}"
    text += f" since {fmt.clock(item.since)}"
    if len(item.last) == 1:
        last = item.last[0]
        text += f"; the last one that {'they' if many_ranks(item.missing) else 'it'} entered there is {_operation(last)}{_at(last)}"
    return f"{text}."


def _call(item: Pending) -> str:
    return f"{_name(item.operation)}, number {item.sequence} of {_group(item.group)}{_at(item.waiting[-1])}"


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


def _waiting(item: Pending) -> str:
    return ", ".join(call.ranks for call in item.waiting)


def _wait(ranks: str, over: bool) -> str:
    return "waited" if over else "wait" if many_ranks(ranks) else "waits"


def _these(ranks: str) -> str:
    return these(short(ranks))


def _mismatch(item: Mismatch) -> str:
    calls = "; ".join(f"{_these(call.ranks).lower()}: {_made(call, item.differs)}{_at(call)}" for call in item.calls[:SHOWN])
    return f"Ranks made different calls as number {item.sequence} of {_group(item.group)}: {calls}"


def _made(call: Call, differs: str) -> str:
    if differs == "operation":
        return _name(call.operation)
    if differs == "dtypes":
        return f"{_name(call.operation)} of {', '.join(map(_name, call.dtypes[:SHOWN]))}"
    return f"{_name(call.operation)} of {_sizes(call.input_sizes)}"


def _sizes(sizes: Sequence[Sequence[int]]) -> str:
    shown = ", ".join(f"[{', '.join(map(str, item))}]" for item in sizes[:SHOWN])
    return shown + (", …" if len(sizes) > SHOWN else "") if sizes else "no tensors"


def add_collectives(page: Page, recorded: Collectives, refused: Sequence[RefusedDump]) -> None:
    """Every collective in which ranks wait, calls that do not match, and dumps that could not be read."""
    page.heading(f"Flight recorder of {_these(recorded.ranks).lower()}" if recorded.ranks else "Flight recorder")
    for item in recorded.pending[:SHOWN]:
        _add_pending(page, item)
    if (more := len(recorded.pending) - SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more collective')} in which ranks wait", "  ", tokens.DIM)
    for mismatch in recorded.mismatches[:SHOWN]:
        page.say(f"{_mismatch(mismatch)}.", "  ", tokens.WARN)
    if recorded.is_older:
        page.say("All that these dumps have is older than this run: they are of another one.", "  ")
    elif recorded.ranks and not recorded.pending and not recorded.mismatches:
        page.say("Every collective that a dump has was over when it was written.", "  ")
    for dump in refused[:SHOWN]:
        page.say(f"not read: {fmt.home(sanitize(dump.path))}: {dump.reason}", "  ", tokens.WARN)
    if (more := len(refused) - SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more dump')} not read", "  ", tokens.DIM)


def _add_pending(page: Page, item: Pending) -> None:
    number = f"  number {item.sequence} of {_group(item.group)}"
    page.row([(_name(item.operation), tokens.STRONG), number, (f"  {_name(item.backend)}", tokens.DIM)])
    for call in item.waiting:
        pieces: list[Piece] = [f"{_these(call.ranks).lower()}: {_name(call.state)}"]
        if call.input_sizes:
            pieces.append((f"  {_sizes(call.input_sizes)} {', '.join(map(_name, call.dtypes[:SHOWN]))}", tokens.DIM))
        page.row([*pieces, *_frame(page, call)], "    ")
    for call in item.last:
        page.row([f"{_these(call.ranks).lower()}: not entered; last {_operation(call)}", *_frame(page, call)], "    ")
    if item.missing and not item.last:
        page.say(f"{_these(item.missing).lower()}: not entered, nor any other call of this group that the dumps have", "    ")
    if item.unknown:
        page.say(f"{_these(item.unknown).lower()}: no dump, or an older one", "    ", tokens.DIM)


def _frame(page: Page, call: Call) -> list[Piece]:
    if call.frame is None or not call.frame.file:
        return []
    return ["  ", page.place(call.frame.file, call.frame.line), f" {_name(call.frame.function)}"]
