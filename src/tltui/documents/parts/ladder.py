"""The rungs of a ladder of recompiles, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tltui.analyses.recompiles import causes
from tltui.analyses.recompiles.reasons import Recompile
from tltui.analyses.recompiles.remedies import Variation
from tltui.analyses.recompiles.rungs import Reason, Rung
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.reports import no_reason
from tltui.documents.parts.stacks import add_stack
from tltui.model.ref import parse_ref
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

STORM = 3
"""Recompiles in a row for the same cause, from which on they are one line."""
BRIEF = 200
"""Recompiles of one storm, from which on each of them is one line: its own page says the rest."""
AT_ONCE = 50
"""Recompiles that are written between two moments at which a reader may leave."""
CLASS = 17
"""Columns of the class of a cause."""
TIME = 8
BESIDE = 54
"""Columns that a reason needs to stand beside the compiles that it is about, and not below."""


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


def what_of(source: str, dim: int | None) -> str:
    """`x dim 0`, `module.index`"""
    return source if dim is None else f"{source} dim {dim}"


def change_of(reason: Reason) -> str:
    """`3 → 5`; of a condition that it did not hold, and what it was."""
    if reason.cause == causes.CONDITION:
        return f"{reason.expected} did not hold" + (f": it was {reason.actual}" if reason.actual else "")
    if reason.expected and reason.actual:
        return f"{reason.expected} → {reason.actual}"
    return f"no longer {reason.expected}" if reason.expected else ""


def id_of(ref: str) -> str:
    """`3:0/1` → `[0/1]`: the frame's head names the rank."""
    return f"[{ref.rpartition(':')[2]}]"


def _earlier(reason: Reason) -> Piece:
    """The earlier compile; no link to one that the log does not have."""
    ref = reason.earlier or ""
    return (id_of(ref), tokens.LINK, ref) if reason.there else (id_of(ref), tokens.DIM)


class Rungs:
    """Writes rungs: on a wide page reasons beside the compiles that they are about, on a narrow one below."""

    def __init__(self, page: Page, rungs: Sequence[Rung], indent: str = "  ") -> None:
        self.page = page
        self.indent = indent
        pairs = [len(id_of(r.ref)) + (len(id_of(r.reasons[0].earlier or "")) + 3 if r.reasons else 0) for r in rungs]
        self._pair = max(pairs, default=0)
        lead = self._pair + TIME + 3
        self._beside = page.width - len(indent) - lead >= BESIDE
        self._deep = indent + (" " * lead if self._beside else "    ")
        self._last: Reason | None = None  # whose place was written last

    def add_brief(self, rung: Rung) -> None:
        """Its first reason in a line, and a link to the others."""
        reason, head, more = rung.reasons[0], self._head(rung), len(rung.reasons) - 1
        link: list[Piece] = ["  ", ("guard", tokens.LINK, reason.guard)] if reason.guard else []
        if more:
            link += ["  ", (f"{fmt.count(more)} more", tokens.LINK, str(parse_ref(rung.ref).at("recompiles")))]
        used = sum(len(piece if isinstance(piece, str) else piece[0]) for piece in (*head, *link))
        said = change_of(reason) or _said(reason)
        self.page.add(*head, (fmt.clip(fmt.one_line(sanitize(said)), max(self.page.width - used, 8)), tokens.VALUE), *link)

    def add(self, rung: Rung) -> None:
        """`[0/0] → [0/1]   1.42 s   tensor size   x dim 0   3 → 5   guard`, and what else there is."""
        page, deep = self.page, self._deep
        shown, same = _differing(rung.reasons)
        head = self._head(rung)
        if not shown:
            page.add(*head)
            page.say(page.so_far(no_reason(Recompile((), rung.logged))), deep, tokens.DIM)
        for n, reason in enumerate(shown):
            if n:
                head = self._older(reason)
            if not self._beside:
                page.add(*head)
                head = [deep]
            self._reason(head, reason, rung.record)
        self._same(same, len(shown) > 1)
        for change in rung.became:
            what = what_of(change.source, change.dim)
            page.say(f"{what} became dynamic: {change.symbol} from here on", deep, tokens.VALUE)
        if rung.limit_hit:
            page.say("not compiled: the recompile limit was reached", deep, tokens.ERROR)
        if rung.logged == "metrics":
            page.say("(from the metrics, which keep one reason only)", deep, tokens.DIM)

    def _head(self, rung: Rung) -> list[Piece]:
        pieces: list[Piece] = [self.indent]
        used = len(id_of(rung.ref))
        if rung.reasons and rung.reasons[0].earlier is not None:
            earlier = rung.reasons[0].earlier
            pieces += [_earlier(rung.reasons[0]), " → "]
            used += len(id_of(earlier)) + 3
        took = fmt.seconds(rung.seconds) if rung.seconds is not None and not rung.limit_hit else ""
        pieces += [(id_of(rung.ref), tokens.LINK, rung.ref), " " * (self._pair - used + 1), (f"{took:>{TIME}}  ", tokens.NUMBER)]
        return pieces

    def _older(self, reason: Reason) -> list[Piece]:
        """What stands before a reason against an older compile."""
        ref = reason.earlier or ""
        pad = " " * max(self._pair + TIME + 3 - len(id_of(ref)), 2)
        return [self.indent, _earlier(reason), pad] if ref else [self._deep]

    def _reason(self, head: list[Piece], reason: Reason, record: str | None) -> None:
        """Class, what, change, a link to the guard; then the user's line, unless it is the one that was written last."""
        page, deep = self.page, self._deep
        room = page.width - len(deep)
        link: list[Piece] = ["  ", ("guard", tokens.LINK, reason.guard)] if reason.guard else []
        kind: Piece = (reason.cause, tokens.KEYWORD, record) if record else (reason.cause, tokens.KEYWORD)
        gap = " " * max(CLASS - len(reason.cause), 1)
        said = _said(reason)
        if len(said) <= room - CLASS - (7 if link else 0):
            page.add(*head, kind, gap, (said, tokens.VALUE), *link)
        else:
            page.add(*head, kind, *link)
            for line in fmt.wrap(said, room - 2)[:12]:
                page.add(deep, "  ", (line, tokens.VALUE))
        last = self._last
        if last is None or (last.file, last.line, last.code) != (reason.file, reason.line, reason.code):
            add_where(page, reason, deep)
            self._last = reason

    def _same(self, same: Sequence[Reason], several: bool) -> None:
        """Older compiles that failed for a cause that was already named: folded."""
        if not same:
            return
        what = f"the same against {fmt.plural(len(same), 'older compile')}"
        self.page.open(what, folded=True)
        self.page.add(self._deep, (what, tokens.DIM))
        for reason in same:
            lead: list[Piece] = [self._deep, "  ", _earlier(reason), "  "] if reason.earlier else [self._deep, "  "]
            said = f"{reason.cause}  {_said(reason)}" if several else _said(reason)
            link: list[Piece] = ["  ", ("guard", tokens.LINK, reason.guard)] if reason.guard else []
            room = self.page.width - sum(len(p if isinstance(p, str) else p[0]) for p in [*lead, *link])
            self.page.add(*lead, (fmt.clip(said, room), tokens.VALUE), *link)
        self.page.close()

    def add_storm(self, rungs: Sequence[Rung]) -> Iterator[None]:
        """Many recompiles for one cause as one line; each of them in a folded section. Yields while it writes."""
        page, indent = self.page, self.indent
        first, last = rungs[0], rungs[-1]
        reason, deep = first.reasons[0], indent + "    "
        seconds = sum(rung.seconds or 0.0 for rung in rungs)
        page.add(
            indent, (id_of(first.ref), tokens.LINK, first.ref), " … ", (id_of(last.ref), tokens.LINK, last.ref), "  ",
            (f"{fmt.seconds(seconds)}  ", tokens.NUMBER), (f"{len(rungs)} recompiles for one cause", tokens.RECOMPILE),
        )  # fmt: skip
        values = dict.fromkeys(v for rung in rungs for v in (rung.reasons[0].expected, rung.reasons[0].actual) if v)
        kind: Piece = (reason.cause, tokens.KEYWORD, first.record) if first.record else (reason.cause, tokens.KEYWORD)
        more = f" … {fmt.count(len(values) - 6)} more" if len(values) > 6 else ""
        said = f"{what_of(reason.source, reason.dim)}  {' → '.join(_shown(list(values)[:6], 6, 32))}{more}"
        lines = fmt.wrap(said, page.width - len(deep) - CLASS - 7)
        link: list[Piece] = ["  ", ("guard", tokens.LINK, reason.guard)] if reason.guard else []
        for n, line in enumerate(lines or [""]):
            start: list[Piece] = [kind, " " * max(CLASS - len(reason.cause), 1)] if n == 0 else [" " * CLASS]
            page.add(deep, *start, (line, tokens.VALUE), *(link if n == len(lines) - 1 else []))
        add_where(page, reason, deep)
        if last.limit_hit:
            page.add(deep, ("then the recompile limit was reached", tokens.ERROR))
        what = f"each of the {len(rungs)} recompiles"
        page.open(what, folded=True)
        page.add(deep, (what, tokens.DIM))
        inner = Rungs(page, rungs, deep)
        write = inner.add if len(rungs) < BRIEF else inner.add_brief
        for number, rung in enumerate(rungs, 1):
            write(rung)
            if number % AT_ONCE == 0:
                yield
        page.close()


def _differing(reasons: Sequence[Reason]) -> tuple[list[Reason], list[Reason]]:
    """The reasons that name a cause for the first time, and the others."""
    first: dict[tuple[str, str, int | None], Reason] = {}
    same = [reason for reason in reasons if first.setdefault(reason.key, reason) is not reason]
    return list(first.values()), same


def _said(reason: Reason) -> str:
    """`x dim 0  3 → 5`; torch's own words where they say most."""
    if reason.cause in (causes.OTHER, causes.BACKEND, causes.UNEXPECTED):
        return fmt.one_line(sanitize(reason.text)) or "torch wrote no reason"
    what = "" if reason.cause == causes.CONDITION else what_of(reason.source, reason.dim)
    return "  ".join(fmt.one_line(sanitize(part)) for part in (what, change_of(reason)) if part)


def add_where(page: Page, reason: Reason, indent: str) -> None:
    """The user's line that a guard comes from, and who called it."""
    if reason.file is None:
        return
    place = page.place(reason.file, reason.line)
    pieces: list[Piece] = [indent, ("from ", tokens.DIM), place]
    room = page.width - len(indent) - 5 - len(place[0]) - 2
    if reason.code and room >= min(len(reason.code.strip()), 30):
        page.add(*pieces, "  ", (fmt.clip(sanitize(reason.code.strip()), room), tokens.DIM))
    else:
        page.add(*pieces)
        page.code(reason.code, indent)
    callers = reason.stack[1:]
    if callers:
        what = f"called from {fmt.place(callers[0].file, callers[0].line)}"
        page.open(what, folded=True)
        page.add(indent, (fmt.clip(sanitize(what), page.width - len(indent)), tokens.DIM))
        add_stack(page, callers, indent + "  ")
        page.close()


def _shown(values: Sequence[str], most: int, width: int, total: int = 0) -> list[str]:
    """`3`, `5`, `7`, `and 4 more`"""
    shown = [fmt.clip(fmt.one_line(sanitize(value)), width) for value in values[:most]]
    more = max(total, len(values)) - len(shown)
    return [*shown, f"and {fmt.count(more)} more"] if more > 0 else shown


def add_variations(page: Page, found: Sequence[Variation], recompiles: int, indent: str = "  ") -> None:
    """What varied, in how many recompiles, and the advice; of a single recompile for one cause the advice is all."""
    if recompiles == 1 and len(found) == 1:
        if found[0].advice:
            page.labelled("what helps", _advice(page, found[0]), indent, 12)
        return
    page.add(indent, ("what varied, and what helps", tokens.LABEL))
    for variation in found:
        _variation(page, variation, recompiles, indent + "  ")


def _variation(page: Page, found: Variation, recompiles: int, indent: str) -> None:
    what = what_of(found.source, found.dim)
    name = fmt.clip_middle(sanitize(what), page.width // 2)
    values = fmt.one_line(", ".join(_shown(found.values, 6, max(page.width // 3, 12), found.distinct)))
    beside = len(indent) + CLASS + len(name) + 2 + len(values) <= page.width
    page.add(indent, (f"{found.cause:<{CLASS}}", tokens.KEYWORD), (name, tokens.NAME), f"  {values}" if beside else "")
    if not beside:
        page.say(values, indent + "  ")
    page.say(_share(found, recompiles), indent + "  ", tokens.DIM)
    if found.advice:
        page.say(_advice(page, found), indent + "  ")


def _share(found: Variation, recompiles: int) -> str:
    """Of how many recompiles it was a cause, and of which the only one: those it would spare, as far as torch tells."""
    everything = f"all {recompiles} recompiles" if recompiles > 1 else "the recompile"
    of = everything if found.count == recompiles else f"{found.count} of {recompiles} recompiles"
    if not found.alone:
        return f"one of the causes of {of}"
    if len(found.alone) == found.count:
        return f"the only cause named for {of} ({fmt.seconds(found.alone_seconds)})"
    which = f"[{found.alone[0]}]" if len(found.alone) == 1 else f"{fmt.count(len(found.alone))} of them"
    return f"a cause of {of}, the only one of {which} ({fmt.seconds(found.alone_seconds)})"


def _advice(page: Page, found: Variation) -> str:
    """What helps; what has not happened yet may still happen in a run that goes on."""
    return page.so_far(found.advice) if found.became is None and "did not become" in found.advice else found.advice
