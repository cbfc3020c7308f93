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
    for sentence in unsure(found, lacks=lacks):
        page.say(sentence, style=tokens.WARN)
    if unread:
        page.add((_unread(unread), tokens.WARN, "@damage"))
    rows: list[list[Piece]] = []
    for outcome in found.limits:
        mark = page.status(Status.ERROR if outcome.exceeded else Status.OK)
        style = tokens.ERROR if outcome.exceeded else ""
        value = (number(outcome, outcome.value), style, outcome.page)
        rows.append([mark, (outcome.name, tokens.STRONG), value, (at_most(outcome), tokens.DIM), outcome.title])
    page.grid(rows, right=(2,))
    for outcome in found.limits:
        if outcome.exceeded:
            _add_reasons(page, outcome)
    return page.document(found)


def unsure(found: Gates, unread: int = 0, lacks: str = "") -> tuple[str, ...]:
    """Why the outcome may say less than it seems to."""
    nothing = "There is no compile here: limits on compiles say nothing here." if not found.compiles else ""
    return tuple(filter(None, (nothing, lacks, _unread(unread) if unread else "")))


def _unread(unread: int) -> str:
    return f"{fmt.plural(unread, 'file')} could not be read: the numbers are of the others (tltui damage)"


def number(outcome: Outcome, value: float) -> str:
    """A value of a limit as pages show it, in its unit."""
    if outcome.seconds:
        return fmt.seconds(value)
    if outcome.share:
        return f"{round(value, 1):g} %"
    return fmt.count(int(value)) if value == int(value) else f"{value:g}"


def headline(outcome: Outcome) -> str:
    """What there is of a thing, and how much may be."""
    return f"{outcome.name}: {number(outcome, outcome.value)}, at most {number(outcome, outcome.at_most)}"


def at_most(outcome: Outcome) -> str:
    """How much may be, and what the baseline has."""
    text = f"at most {number(outcome, outcome.at_most)}"
    return text if outcome.baseline is None else f"{text}, before {number(outcome, outcome.baseline)}"


def _add_reasons(page: Page, outcome: Outcome) -> None:
    page.heading(headline(outcome))
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
