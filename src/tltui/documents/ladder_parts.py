"""The rungs of a ladder of recompiles, as lines."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses import causes
from tltui.analyses.reasons import Recompile
from tltui.analyses.remedies import Variation
from tltui.analyses.rungs import Reason, Rung
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.reports import add_called_from, no_reason
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

STORM = 3
"""Recompiles in a row for the same cause, from which on they are one line."""
CLASS = 16
"""Columns of the class of a cause."""
DEEP = "      "


def storms_of(rungs: Sequence[Rung]) -> list[list[Rung]]:
    """Runs of recompiles that belong together: alone, or at least `STORM` for one and the same cause."""
    runs: list[list[Rung]] = []
    for rung in rungs:
        if runs and len(rung.keys) == 1 and rung.keys == runs[-1][-1].keys:
            runs[-1].append(rung)
        else:
            runs.append([rung])
    found: list[list[Rung]] = []
    for run in runs:
        found += [run] if len(run) >= STORM else [[rung] for rung in run]
    return found


def what_of(cause: str, source: str, dim: int | None) -> str:
    """`x dim 0`, `module.index`"""
    return source if dim is None else f"{source} dim {dim}"


def change_of(reason: Reason) -> str:
    """`3 → 5`; for a condition what did not hold, and what it was."""
    if reason.cause == causes.CONDITION:
        return f"not {reason.expected}" + (f": it was {reason.actual}" if reason.actual else "")
    if reason.expected and reason.actual:
        return f"{reason.expected} → {reason.actual}"
    return f"no longer {reason.expected}" if reason.expected else ""


def add_rung(page: Page, rung: Rung, indent: str = "  ") -> None:
    """`[0/0] → [0/1]   1.42 s`, and below it each reason."""
    pieces: list[Piece] = [indent]
    first = rung.reasons[0].earlier if rung.reasons else None
    if first is not None:
        pieces += [(f"[{first}]", tokens.LINK, first), " → "]
    pieces += [(f"[{rung.ref}]", tokens.LINK, rung.ref)]
    if rung.limit_hit:
        pieces.append(("  not compiled: the limit was reached", tokens.ERROR))
    elif rung.seconds is not None:
        pieces.append((f"  {fmt.seconds(rung.seconds)}", tokens.NUMBER))
    if rung.record is not None:
        pieces += ["  ", ("reasons", tokens.LINK, rung.record)]
    page.add(*pieces)
    if not rung.reasons:
        page.say(no_reason(Recompile((), rung.logged)), indent + "    ", tokens.DIM)
    _reasons(page, rung, indent + "    ")
    for change in rung.became:
        what = what_of("", change.source, change.dim)
        page.say(f"became dynamic: {what} is {change.symbol} from here on", indent + "    ", tokens.VALUE)
    if rung.logged == "metrics":
        page.say("(from the metrics, which keep one reason only)", indent + "    ", tokens.DIM)


def _reasons(page: Page, rung: Rung, indent: str) -> None:
    """The reason against the newest compile; those against older ones where they differ; the same ones folded."""
    shown: list[Reason] = []
    same: list[Reason] = []
    for reason in rung.reasons:
        (same if any(reason.key == other.key for other in shown) else shown).append(reason)
    for n, reason in enumerate(shown):
        before = shown[n - 1] if n else None
        add_reason(page, reason, indent, None if n == 0 else reason.earlier, before)
    if not same:
        return
    what = f"for {'one of these causes' if len(shown) > 1 else 'the same cause'} not {fmt.plural(len(same), 'older compile')}"
    page.open(what, folded=True)
    page.add(indent, (what, tokens.DIM))
    for reason in same:
        add_reason(page, reason, indent + "  ", reason.earlier, reason)
    page.close()


def add_reason(page: Page, reason: Reason, indent: str, earlier: str | None, before: Reason | None = None) -> None:
    """One reason: class, what, change, a link to the guard; then the user's line, unless it is that of the one before."""
    lead: list[Piece] = [indent]
    used = len(indent)
    if earlier is not None:
        lead += [(f"[{earlier}]", tokens.LINK, earlier), " "]
        used += len(earlier) + 3
    lead.append((f"{reason.cause:<{CLASS}} ", tokens.KEYWORD))
    used += CLASS + 1
    if reason.cause in (causes.OTHER, causes.BACKEND, causes.UNEXPECTED):
        page.add(*lead, *_link(reason))
        page.say(reason.text or "torch wrote no reason", indent + "  ")
        return
    what = what_of(reason.cause, reason.source, reason.dim) if reason.cause != causes.CONDITION else ""
    said = "  ".join(part for part in (what, change_of(reason)) if part)
    link = _link(reason)
    room = page.width - used - (7 if link else 0)
    lines = fmt.wrap(sanitize(said), room) or [""]
    if len(lines) > 1 and page.width - len(indent) - 4 > room:  # a long one goes below
        page.add(*lead, *link)
        for line in fmt.wrap(sanitize(said), page.width - len(indent) - 4)[:4]:
            page.add(indent, "    ", (line, tokens.VALUE))
    else:
        page.add(*lead, (lines[0], tokens.VALUE), *link)
    if before is None or (before.file, before.line, before.code) != (reason.file, reason.line, reason.code):
        _where(page, reason, indent + "  ")


def _link(reason: Reason) -> list[Piece]:
    return ["  ", ("guard", tokens.LINK, reason.guard)] if reason.guard else []


def _where(page: Page, reason: Reason, indent: str) -> None:
    """The user's line that the guard comes from."""
    if reason.file is None:
        return
    place = page.place(reason.file, reason.line)
    pieces: list[Piece] = [indent, ("from ", tokens.DIM), place]
    room = page.width - len(indent) - 5 - len(place[0]) - 2
    if reason.code and room >= min(len(reason.code.strip()), 30):
        pieces += ["  ", (fmt.clip(sanitize(reason.code.strip()), room), tokens.DIM)]
        page.add(*pieces)
    else:
        page.add(*pieces)
        page.code(reason.code, indent + "  ")
    if len(reason.stack) > 1:
        what = f"called from {fmt.place(reason.stack[1].file, reason.stack[1].line)} …"
        page.open(what, folded=True)
        page.add(indent, (fmt.clip(sanitize(what), page.width - len(indent)), tokens.DIM))
        add_called_from(page, reason.stack[1:][::-1], indent + "  ")
        page.close()


def add_storm(page: Page, rungs: Sequence[Rung], indent: str = "  ") -> None:
    """Many recompiles for one cause as one line; each of them in a folded section."""
    first, last = rungs[0], rungs[-1]
    reason = first.reasons[0]
    seconds = sum(rung.seconds or 0.0 for rung in rungs)
    head = f"{fmt.plural(len(rungs), 'recompile')} for one cause, {fmt.seconds(seconds)}"
    page.open(head, folded=True)
    page.add(
        indent, (f"[{first.ref}]", tokens.LINK, first.ref), " … ", (f"[{last.ref}]", tokens.LINK, last.ref), "  ",
        (head, tokens.RECOMPILE),
    )  # fmt: skip
    for rung in rungs:
        add_rung(page, rung, indent + "    ")
    page.close()
    add_reason(page, reason, indent + "    ", None)
    values = list(dict.fromkeys(value for rung in rungs for value in (rung.reasons[0].expected, rung.reasons[0].actual) if value))
    if len(values) > 2:
        page.say(f"in turn {_listed(values)}", indent + "      ", tokens.DIM)
    if last.limit_hit:
        page.add(indent, "    ", (f"at [{last.ref}] the limit was reached", tokens.ERROR))


def _listed(values: Sequence[str], most: int = 8, width: int = 40, total: int = 0) -> str:
    """`3, 5, 7 and 4 more`"""
    shown = [fmt.clip(fmt.one_line(sanitize(value)), width) for value in values[:most]]
    more = max(total, len(values)) - len(shown)
    return ", ".join(shown) + (f" and {fmt.count(more)} more" if more > 0 else "")


def add_variation(page: Page, found: Variation, recompiles: int, indent: str = "  ") -> None:
    """What varied, in how many recompiles, and the advice."""
    what = what_of(found.cause, found.source, found.dim)
    pieces: list[Piece] = [(f"{found.cause:<{CLASS}} ", tokens.KEYWORD)]
    if what:
        pieces.append((fmt.clip_middle(sanitize(what), page.width // 2), tokens.NAME))
    if found.values:
        pieces.append(f"  {_listed(found.values, 6, max(page.width // 5, 12), found.distinct)}")
    page.row(pieces, indent)
    if recompiles > 1 or not found.alone:
        page.say(_share(found, recompiles), indent + "  ", tokens.DIM)
    if found.advice:
        page.say(found.advice, indent + "  ")


def _share(found: Variation, recompiles: int) -> str:
    """In how many recompiles it was named, and alone: those it would spare, as far as torch tells."""
    named = f"named in {'all' if found.count == recompiles and recompiles > 1 else fmt.count(found.count)} of {recompiles} recompiles"
    if not found.alone:
        return f"{named}, in none of them alone"
    if len(found.alone) == found.count:
        return f"{named}, alone ({fmt.seconds(found.alone_seconds)})"
    which = f"[{found.alone[0]}]" if len(found.alone) == 1 else fmt.count(len(found.alone))
    return f"{named}, alone in {which} ({fmt.seconds(found.alone_seconds)})"
