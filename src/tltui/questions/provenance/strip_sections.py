"""Strip below the panes of provenance mode: nodes and kernels of the cursor's line that no visible pane shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from tltui.documents import format as fmt
from tltui.questions.provenance.pane_layout import CODE
from tltui.questions.provenance.pane_sections import NOT_MAPPED, Panes, duration
from tltui.questions.provenance.records import POST, PRE, SOURCE, Kernel
from tltui.text import formatting, tokens
from tltui.text.annotations import left_out, without
from tltui.text.document import Piece
from tltui.text.formatting import cells

LINES = 3
WORDS = {SOURCE: "source", PRE: "pre", POST: "post"}
RUNS = "runs"
LABEL = 8
"""Cells of a word with its blanks."""
NAMED = 8
"""Nodes and kernels that a line names at most."""
LONGEST, AGAIN = 60, 15
"""Cells of the name of the first kernel at most, and those that it leaves for a further call: ` · ab :123 · …`."""
MORE = " · …"
"""The sign of further kernels."""


def strip_lines(panes: Panes, pane: int, line: int, shown: Collection[int], width: int) -> list[list[Piece]]:
    """Return at most three lines about a line of a pane: source line, pre-grad and post-grad nodes, kernels.

    `shown`: the visible panes, which have their own matches highlighted. With four lines to show, kernels are left out for a
    cursor in code, and pre-grad nodes elsewhere.
    """
    if not panes.is_mapped(pane, line):
        return [[(f" {NOT_MAPPED}", tokens.DIM)]]
    hidden = [other for other in (SOURCE, PRE, POST) if other not in shown]
    if len(hidden) == LINES and pane not in CODE:
        hidden.remove(PRE)
    lines = [_matches(panes, pane, line, other, width) for other in hidden]
    return lines if len(lines) == LINES else [*lines, _kernels(panes, pane, line, width)]


def _head(word: str) -> Piece:
    return f" {word:<{LABEL - 1}}", tokens.LABEL


def _matches(panes: Panes, pane: int, line: int, other: int, width: int) -> list[Piece]:
    """Show the first corresponding line of a hidden pane, the names of further nodes, and the number of all."""
    head = _head(WORDS[other])
    lines = panes.matches(pane, line, other) if other in panes.documents else []
    if not lines:
        return [head, ("nothing" if other in panes.documents else "absent", tokens.DIM)]
    place, text, names = f"{lines[0] + 1}", _text(panes, other, lines[0]), ""
    if other == SOURCE:
        if lines[0] in panes.places:
            source_place = panes.unit.places[panes.places[lines[0]]]
            place = f"{PurePosixPath(source_place.file).name}:{source_place.line}"
            text = source_place.code.partition("\n")[0].strip()
        count = f"  and {len(lines) - 1} more" if len(lines) > 1 else ""
    else:
        names = "".join(f" · {_text(panes, other, n).partition(' = ')[0]}" for n in lines[1 : NAMED + 1])
        count = f"  {fmt.plural(len(lines), 'node')}" if len(lines) > 1 else ""
    sign = "≈ " if panes.is_derived_between(pane, line, other) else ""
    room = max(width - LABEL - cells(sign) - cells(place) - 2 - cells(count) - 1, LABEL)
    text = formatting.end(text, max(room - cells(names), room * 3 // 5))
    names = formatting.end(names, room - cells(text))
    return [head, (sign, tokens.WARN), (f"{place}  ", tokens.DIM), text, (names, tokens.DIM), (count, tokens.DIM)]


def _text(panes: Panes, pane: int, line: int) -> str:
    document = panes.documents[pane]
    if line >= len(document):
        return ""
    line_text = document.line(line)
    return without(line_text, left_out(document.language, line_text.text)).text.strip()


def _kernels(panes: Panes, pane: int, line: int, width: int) -> list[Piece]:
    """Show the kernels of a line with their letters, how many of the unit they are, and the time that they took."""
    head, kernels = _head(RUNS), panes.kernels_at(pane, line)
    if not kernels:
        return [head, ("nothing" if any(code in panes.documents for code in CODE) else "absent", tokens.DIM)]
    sign = "≈ " if panes.is_derived_between(pane, line, kernels[0].call_pane) else ""
    count = f"  {len(kernels)} of {fmt.plural(len(panes.unit.kernels), 'kernel')}{_time(panes, kernels)}"
    room = max(width - LABEL - cells(sign) - cells(count) - 1, LABEL)
    return [head, (sign, tokens.WARN), *_kernel_names(panes, kernels, room), (count, tokens.DIM)]


def _kernel_names(panes: Panes, kernels: Sequence[Kernel], room: int) -> list[Piece]:
    """List kernels by letter and name as far as there is room; a further call of a kernel has its handle alone: `:23`."""
    pieces: list[Piece] = []
    for number, kernel in enumerate(kernels[:NAMED]):
        is_again = number > 0 and kernels[number - 1].name == kernel.name
        letter = panes.letters.letter(kernel)
        separator = " · " if number else ""
        name = kernel.key.removeprefix(kernel.name) if is_again else kernel.key
        left = room - cells(separator) - len(letter) - 1
        if not number:
            is_next_again = len(kernels) > 1 and kernels[1].name == kernel.name
            reserved = AGAIN if is_next_again else len(MORE) if len(kernels) > 1 else 0
            name = formatting.middle(name, max(min(left - reserved, LONGEST), 1))
        elif cells(name) > left - (len(MORE) if number < len(kernels) - 1 else 0):
            pieces.append((MORE, tokens.DIM))
            break
        pieces += [separator, (f"{letter} ", tokens.STRONG), name]
        room = left - cells(name)
    else:
        if len(kernels) > NAMED:
            pieces.append((MORE, tokens.DIM))
    return pieces


def _time(panes: Panes, kernels: Sequence[Kernel]) -> str:
    """Return the time of kernels in a profile; '' without one."""
    times = [panes.costs.get(kernel.call_pane, {}).get(line - 1) for kernel in kernels for line in kernel.call_lines[:1]]
    measured = [us for us in times if us is not None]
    return f" · {duration(sum(measured))} {panes.cost_of}".rstrip() if measured else ""


