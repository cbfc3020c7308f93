"""Python stacks of processes in words: who is where, the odd one first, and the full stacks below, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.hang.sampled_stacks import ELSEWHERE, IN_BACKWARD, IN_COLLECTIVE, StackFrame, StackGroup, StackVariant
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

SHOWN = 8
"""Groups that are listed."""
NAMED = 3
"""Groups that the answer names, and processes without a rank that are named by their numbers."""
DEEPEST = 4
"""Frames of the user's code that are shown of a group."""
LIST_WIDTH = 40


def stacks_answer(groups: Sequence[StackGroup]) -> str:
    """The answer in a sentence; '' where there are no stacks, or only one process."""
    if sum(group.count for group in groups) < 2:
        return ""
    waiting = [group for group in groups if group.state == IN_COLLECTIVE]
    absent = [group for group in groups if group.state == ELSEWHERE]
    if waiting and absent:
        return _not_come(absent, waiting)
    text = "; ".join(f"{_who(group)} {_are(group)} {_doing(group)}" for group in groups[:NAMED])
    if more := sum(group.count for group in groups[NAMED:]):
        text += f"; {fmt.plural(more, 'more process', 'more processes')} elsewhere"
    if len(waiting) > 1:
        text += ". These are different calls: where they use the same process group, none of them can end"
    elif len(groups) > 1 and any(group.state == IN_BACKWARD for group in groups):
        text += ". A backward may wait in a collective, which Python's stacks do not show"
    return f"{text[:1].upper()}{text[1:]}."


def _not_come(absent: Sequence[StackGroup], waiting: Sequence[StackGroup]) -> str:
    """`Rank 1 has not come to the barrier at job.py:288, in which ranks 0, 2 wait; it is at job.py:287 in sync.`"""
    largest = max(waiting, key=lambda group: group.count)
    first = absent[0]
    have, it = ("has", "it") if first.count == 1 else ("have", "they")
    wait = "waits" if largest.count == 1 else "wait"
    text = f"{_who(first)} {have} not come to the {_call(largest)}, in which {_who(largest)} {wait}"
    text += f"; {it} {_are(first)} {_doing(first)}"
    others = [*absent[1:], *(group for group in waiting if group is not largest)]
    text += "".join(f"; {_who(group)} {_are(group)} {_doing(group)}" for group in others[: NAMED - 1])
    if more := sum(group.count for group in others[NAMED - 1 :]):
        text += f"; {fmt.plural(more, 'more process', 'more processes')} elsewhere"
    return f"{text[:1].upper()}{text[1:]}."


def _are(group: StackGroup) -> str:
    return "is" if group.count == 1 else "are"


def _who(group: StackGroup | StackVariant) -> str:
    """`rank 1`, `ranks 0, 2`, `process 1234`"""
    many = len(group.pids) > 1
    if group.ranks:
        shown = group.ranks if len(group.ranks) <= LIST_WIDTH else f"{group.ranks[: group.ranks.rindex(',', 0, LIST_WIDTH)]} …"
        return f"{'ranks' if many else 'rank'} {shown}"
    numbers = ", ".join(map(str, group.pids[:NAMED])) + (" …" if len(group.pids) > NAMED else "")
    return f"{'processes' if many else 'process'} {numbers}"


def _call(group: StackGroup) -> str:
    """`barrier at job.py:288`"""
    whose = "compiler's own " if group.compilers_own else ""
    return f"{whose}{sanitize(group.collective)} at {_place(group.frames[0])}"


def _doing(group: StackGroup) -> str:
    """`in the barrier at job.py:288`, `at job.py:287 in sync, inside of torch.compile`"""
    if group.state == IN_COLLECTIVE:
        text = f"in the {_call(group)}"
    elif group.state == IN_BACKWARD:
        text = f"in the backward at {_place(group.frames[0])}"
    else:
        text = f"at {_place(group.frames[0])} in {_function(group.frames[0])}"
    return f"{text}, inside of torch.compile" if group.compiling and not group.compilers_own else text


def _place(frame: StackFrame) -> str:
    return sanitize(fmt.place(frame.file, frame.line))


def _function(frame: StackFrame) -> str:
    return fmt.clip_middle(sanitize(frame.function), 60)


def add_stacks(page: Page, groups: Sequence[StackGroup], heading: str) -> None:
    """A line for each group, the odd one first, then the full stacks, folded: one of each kind of a group."""
    if not groups:
        return
    page.heading(heading)
    depth = _depth(groups)
    for group in groups[:SHOWN]:
        page.row([(_who(group), tokens.STRONG), ": ", *_trail(page, group, depth)])
    if (more := len(groups) - SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more place')}", "  ", tokens.DIM)
    for group in groups[:SHOWN]:
        for variant in group.variants:
            page.open(f"Stack of {_who(variant)}", folded=True, aside=True)
            page.add("  ", (f"Stack of {_who(variant)}", tokens.LABEL), (f"  pid {variant.pids[0]}", tokens.DIM))
            for line in variant.lines:
                page.add("    ", (line, tokens.DIM))
            page.close()


def _trail(page: Page, group: StackGroup, depth: int) -> list[Piece]:
    """`job.py:288 sync ▸ barrier`: the last frames of the user's code and what they called."""
    pieces: list[Piece] = []
    for frame in reversed(group.frames[:depth]):
        pieces += [" ▸ "] * bool(pieces) + [page.place(frame.file, frame.line), f" {_function(frame)}"]
    called = "backward" if group.state == IN_BACKWARD else group.collective or ("" if group.compiling else group.callee)
    if called:
        pieces.append((f" ▸ {fmt.clip_middle(sanitize(called), 60)}", tokens.WARN if group.state == IN_COLLECTIVE else ""))
    if group.compiling:
        pieces.append(("  inside of torch.compile", tokens.DIM))
    return pieces


def _depth(groups: Sequence[StackGroup]) -> int:
    """How many frames it takes until no two groups look alike."""
    for depth in range(1, DEEPEST):
        shown = [(group.frames[:depth], group.state, group.collective) for group in groups]
        if len(set(shown)) == len(shown):
            return depth
    return DEEPEST
