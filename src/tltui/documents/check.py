"""What `tltui check` prints: each limit, and what there is where there is more."""

from __future__ import annotations

from tltui.analyses.problems.gates import Gates, Outcome
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.status import Status
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.sanitize import sanitize

REASONS_SHOWN = 20


def check_document(found: Gates, title: str, options: Options, unread: int = 0, lacks: str = "") -> Document:
    """The outcome of the gates; `unread` files could not be read. `lacks`: what inputs besides a trace cannot tell."""
    page = Page("@check", f"check of {title}", options)
    over = sum(outcome.exceeded for outcome in found.limits)
    said = f"{fmt.plural(found.compiles, 'compile')} of {title}"
    if over:
        page.add((f"FAILED: {over} of {fmt.plural(len(found.limits), 'limit')} exceeded", tokens.ERROR), f" · {said}")
    else:
        page.add(("passed", tokens.OK), f" · {said}")
    if not found.compiles:
        page.say("There is no compile here: limits on compiles say nothing here.", style=tokens.WARN)
    if lacks:
        page.say(lacks, style=tokens.WARN)
    if unread:
        what = f"{fmt.plural(unread, 'file')} could not be read: the numbers are of the others (tltui damage)"
        page.add((what, tokens.WARN, "@damage"))
    rows: list[list[Piece]] = []
    for outcome in found.limits:
        mark = page.status(Status.ERROR if outcome.exceeded else Status.OK)
        style = tokens.ERROR if outcome.exceeded else ""
        value = (_number(outcome, outcome.value), style, outcome.page)
        rows.append([mark, (outcome.name, tokens.STRONG), value, (_at_most(outcome), tokens.DIM), outcome.title])
    page.table(rows, right=(2,))
    for outcome in found.limits:
        if outcome.exceeded:
            _add_reasons(page, outcome)
    return page.document(found)


def _number(outcome: Outcome, value: float) -> str:
    if outcome.seconds:
        return fmt.seconds(value)
    if outcome.share:
        return f"{round(value, 1):g} %"
    return fmt.count(int(value)) if value == int(value) else f"{value:g}"


def _at_most(outcome: Outcome) -> str:
    text = f"at most {_number(outcome, outcome.at_most)}"
    return text if outcome.baseline is None else f"{text}, before {_number(outcome, outcome.baseline)}"


def _add_reasons(page: Page, outcome: Outcome) -> None:
    page.heading(f"{outcome.name}: {_number(outcome, outcome.value)}, at most {_number(outcome, outcome.at_most)}")
    for reason in outcome.reasons[:REASONS_SHOWN]:
        label = reason.ref if reason.ref.startswith("@") else f"[{reason.ref}]"
        pieces: list[Piece] = ["  ", (label, tokens.LINK, reason.ref), "  "]
        if reason.new:
            pieces.append(("new  ", tokens.WARN))
        used = sum(len(piece_text(piece)) for piece in pieces)
        lines = fmt.wrap(sanitize(reason.text), page.width - used) if page.width - used > 30 else [sanitize(reason.text)]
        for n, line in enumerate(lines):
            page.add(*(pieces if n == 0 else [" " * used]), line)
    more = len(outcome.reasons) - REASONS_SHOWN
    if more > 0:
        page.add("  ", (f"and more; all of them: tltui {outcome.page.removeprefix('@')} PATH", tokens.LINK, outcome.page))
