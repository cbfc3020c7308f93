"""Recompiles of a frame as lines: variations between its compiles, causes and remedies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.ref import parse_ref
from tltui.questions.problems.reason_sections import add_contexts, add_stack, no_reason
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.explanations import Dynamic, Explained, Key, Reason, name_of
from tltui.questions.recompiles.guard_grammar import DUCK, EXCLUSION, MARKED, ZERO_ONE
from tltui.questions.recompiles.recompile_reasons import Recompile
from tltui.questions.recompiles.remedies import REFS_LISTED, Advice, CauseFacts, Settings, advice_for
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

VALUES_SHOWN = 12


@frozen
class Variation:
    """One cause, over all recompiles of a frame."""

    cause: str
    source: str
    dim: int | None
    value: str
    count: int
    """Recompiles in which it was a reason."""
    refs: tuple[str, ...]
    """Their addresses; the first ones of very many."""
    values: tuple[str, ...]
    """The actual values, in this order; the first ones of very many."""
    distinct: int
    """The number of actual values."""
    became: str | None
    """The compile in which torch made it dynamic by itself."""
    fixed_again: str | None
    """The compile that shows that it did not stay dynamic: its value was fixed again."""
    only_cause: tuple[str, ...]
    """Recompiles for which no other cause is named."""
    only_cause_seconds: float
    """Their total time: the possible saving, by torch's reasons."""
    advice: str
    """Advice against it, or the reason why there is none; '' for none."""
    remedy: str
    """The name of the remedy in docs/recompiles.md; '' where none is given."""
    proof: str
    """`proven` by a program that torch ran with it, `quoted` from torch, or ''."""
    code: tuple[str, ...]
    """The remedy as Python, where it is a line to run before the first call."""


def variations_of(recompiles: Iterable[Explained], settings: Settings, resumed: bool = False) -> tuple[Variation, ...]:
    """Return the variations: first by seconds saved as the only cause of recompiles, then by frequency.

    `resumed`: the frame continues after a graph break.
    """
    causes: dict[Key, CauseFacts] = {}
    about: dict[tuple[str, int | None], list[CauseFacts]] = {}
    order: dict[str | None, int] = {}
    for number, recompile in enumerate(recompiles):
        keys = recompile.keys
        # the oldest compile first: values in the order in which they were met (torch lists what was used last first)
        for reason in sorted(recompile.reasons, key=lambda reason: order.get(reason.earlier, -1)):
            for key in recompile.keys_of(reason):
                facts = causes.get(key)
                if facts is None:
                    facts = causes[key] = CauseFacts(*key, resumed)
                    about.setdefault(key[1:], []).append(facts)
                facts.add(reason, recompile.ref)
        for key in keys:
            facts = causes[key]
            facts.refs.append(recompile.ref)
            if len(keys) == 1:
                facts.only.append(recompile.ref)
                facts.seconds += recompile.seconds or 0.0
        sizes = [(change.source, change.dim) for change in recompile.became if change.dim is not None and not change.fixed]
        for change in recompile.became:
            for facts in about.get((change.source, change.dim), ()):
                if facts.became is None:
                    facts.became = recompile.ref
                    facts.co_dynamic = tuple((d, n) for d, n in sizes if (d, n) != (change.source, change.dim))
                if change.fixed:
                    facts.fixed = facts.fixed or recompile.ref
                facts.free.add(recompile.ref)
        order[recompile.ref] = number
    ordered = sorted(causes.values(), key=lambda facts: (-facts.seconds, -len(facts.only), -len(facts.refs)))
    return tuple(_variation(facts, settings) for facts in ordered)


def _variation(facts: CauseFacts, settings: Settings) -> Variation:
    advice = advice_for(facts, settings) or Advice("")
    return Variation(
        facts.cause, facts.source, facts.dim, facts.value, len(facts.refs), tuple(facts.refs[:REFS_LISTED]),
        tuple(facts.values)[:VALUES_SHOWN], len(facts.values), facts.became, facts.fixed, tuple(facts.only[:REFS_LISTED]),
        facts.seconds, advice.text, advice.remedy, advice.proof, advice.code,
    )  # fmt: skip


IN_A_ROW = 3
"""Recompiles in a row for the same cause, from which on they are one line."""
BRIEF = 200
"""Number of consecutive recompiles with one cause from which each is one line; its own page has the details."""
AT_ONCE = 50
"""Recompiles that are written before the page yields."""
CLASS = 17
"""Width in cells of the class of a cause."""
TIME = 8
REASON_WIDTH = 54
"""Width in cells that a reason needs next to its compiles; on narrower pages it goes below."""


def rows_of(recompiles: Sequence[Explained]) -> list[list[Explained]]:
    """Split recompiles into rows: single ones, or runs of at least `IN_A_ROW` with the same cause."""
    runs: list[list[Explained]] = []
    for recompile in recompiles:
        if runs and len(recompile.keys) == 1 and recompile.keys == runs[-1][-1].keys:
            runs[-1].append(recompile)
        else:
            runs.append([recompile])
    rows: list[list[Explained]] = []
    for run in runs:
        rows += [run] if len(run) >= IN_A_ROW else [[recompile] for recompile in run]
    return rows


def change_of(reason: Reason) -> str:
    """Format a change: `3 → 5`; for a condition that it was false, with its values."""
    if reason.cause == guard_grammar.CONDITION:
        return _condition(reason)
    if reason.expected and reason.actual:
        return f"{reason.expected} → {reason.actual}"
    return f"no longer {reason.expected}" if reason.expected else ""


_WHO = {
    ZERO_ONE: "torch's own bound", MARKED: "a bound of the mark", DUCK: "sizes that had been equal",
    EXCLUSION: "kept for an older compile",
}  # fmt: skip


def _condition(reason: Reason) -> str:
    """Format a failed condition: `x.size()[0] <= 64 did not hold (a bound of the mark): x dim 0 was 100`."""
    condition = reason.failed or reason.expected
    who = f" ({_WHO[reason.asked]})" if reason.asked in _WHO else ""
    text = f"{name_of(reason.met[0].source, reason.met[0].dim, reason.met[0].term)} was " if len(reason.met) == 1 else ""
    return f"{condition} did not hold{who}" + (f": {text}{reason.actual}" if reason.actual else "")


def id_of(ref: str) -> str:
    """Format an address without its rank, which the frame's head names: `[0/1]` for `3:0/1`."""
    return f"[{ref.rpartition(':')[2]}]"


def _earlier(reason: Reason) -> Piece:
    """Return the earlier compile, linked only if the log has it."""
    ref = reason.earlier or ""
    return (id_of(ref), tokens.LINK, ref) if reason.there else (id_of(ref), tokens.DIM)


def _guard_link(reason: Reason) -> list[Piece]:
    return ["  ", ("guard", tokens.LINK, reason.guard)] if reason.guard else []


class RecompileLines:
    """Writer of recompiles: reasons next to their compiles on a wide page, below on a narrow one."""

    def __init__(
        self, page: Page, recompiles: Sequence[Explained], variations: Sequence[Variation], alone: bool = False, indent: str = "  "
    ) -> None:
        """Make a writer. `alone`: the page is about one recompile, and has room for every older compile."""
        self.page = page
        self._variations = variations
        self._alone = alone
        self._fixed = {(variation.source, variation.dim): variation.fixed_again for variation in variations}
        self.folded = 0
        """The number of reasons that repeat the cause of another one."""
        self.indent = indent
        pairs = [len(id_of(r.ref)) + (len(id_of(r.reasons[0].earlier or "")) + 3 if r.reasons else 0) for r in recompiles]
        self._pair = max(pairs, default=0)
        lead = self._pair + TIME + 3
        self._is_wide = page.width - len(indent) - lead >= REASON_WIDTH
        self._deep = indent + (" " * lead if self._is_wide else "    ")
        self._last: Reason | None = None  # whose place was written last

    def add_brief(self, recompile: Explained) -> None:
        """Add a recompile in one line: its first reason, and a link to the others."""
        reason, head, more = recompile.reasons[0], self._head(recompile), len(recompile.reasons) - 1
        link = _guard_link(reason)
        if more:
            link += ["  ", (f"{fmt.count(more)} more", tokens.LINK, str(parse_ref(recompile.ref).at("recompiles")))]
        used = sum(len(piece_text(piece)) for piece in (*head, *link))
        text = change_of(reason) or reason_text(reason)
        self.page.add(*head, (self.page.clip(fmt.one_line(sanitize(text)), max(self.page.width - used, 8)), tokens.VALUE), *link)

    def add(self, recompile: Explained) -> None:
        """Add a recompile: `[0/0] → [0/1]   1.42 s   tensor size   x dim 0   3 → 5   guard`, with details."""
        page, deep = self.page, self._deep
        shown, same = differing(recompile)
        head = self._head(recompile)
        if not shown:
            page.add(*head)
            page.say(page.so_far(no_reason(Recompile((), recompile.logged))), deep, tokens.DIM)
        for n, reason in enumerate(shown):
            if n:
                head = self._older(reason)
            if not self._is_wide:
                page.add(*head)
                head = [deep]
            self._reason(head, reason, recompile)
        self._same(same, recompile)
        add_contexts(page, recompile.contexts, deep)
        for change in recompile.became:
            page.say(self._became(change), deep, tokens.VALUE)
        if recompile.limit_hit:
            page.say("not compiled: the recompile limit was reached", deep, tokens.ERROR)
        if recompile.failure:
            page.say(f"this compile failed: {recompile.failure}", deep, tokens.ERROR)
        if recompile.logged == "metrics":
            page.say("(from the metrics, which keep one reason only)", deep, tokens.DIM)

    def _became(self, change: Dynamic) -> str:
        name, again = name_of(change.source, change.dim), self._fixed.get((change.source, change.dim))
        if change.fixed:
            return f"{name} was to be dynamic, and was specialized to {change.fixed} in this compile"
        if again:
            return f"{name} became dynamic: {change.symbol}, but was fixed again: {id_of(again)} is for another value"
        return f"{name} became dynamic: {change.symbol} from here on"

    def _head(self, recompile: Explained) -> list[Piece]:
        pieces: list[Piece] = [self.indent]
        used = len(id_of(recompile.ref))
        if recompile.reasons and recompile.reasons[0].earlier is not None:
            earlier = recompile.reasons[0].earlier
            pieces += [_earlier(recompile.reasons[0]), " → "]
            used += len(id_of(earlier)) + 3
        took = fmt.seconds(recompile.seconds) if recompile.seconds is not None and not recompile.limit_hit else ""
        pieces += [
            (id_of(recompile.ref), tokens.LINK, recompile.ref),
            " " * (self._pair - used + 1),
            (f"{took:>{TIME}}  ", tokens.NUMBER),
        ]
        return pieces

    def _older(self, reason: Reason) -> list[Piece]:
        """Return the prefix of a reason against an older compile."""
        ref = reason.earlier or ""
        pad = " " * max(self._pair + TIME + 3 - len(id_of(ref)), 2)
        return [self.indent, _earlier(reason), pad] if ref else [self._deep]

    def _reason(self, head: list[Piece], reason: Reason, recompile: Explained) -> None:
        """Add class, source, change and guard link of a reason; then the user's line unless just written."""
        page, deep, record = self.page, self._deep, recompile.record or ""
        room = page.width - len(deep)
        link, kind = _guard_link(reason), (reason.cause, tokens.KEYWORD, record)
        gap = " " * max(CLASS - len(reason.cause), 1)
        text = reason_text(reason, recompile)
        if len(text) <= room - CLASS - (7 if link else 0):
            page.add(*head, kind, gap, (text, tokens.VALUE), *link)
        else:
            page.add(*head, kind, *link)
            for line in fmt.wrap(text, room - 2)[:12]:
                page.add(deep, "  ", (line, tokens.VALUE))
        last = self._last
        if last is None or (last.file, last.line, last.code) != (reason.file, reason.line, reason.code):
            add_where(page, reason, deep)
            self._last = reason

    def _same(self, same: Sequence[Reason], recompile: Explained) -> None:
        """List older compiles that failed for the same cause, where the page is about this recompile only."""
        self.folded += len(same)
        if not same or not self._alone:
            return
        with self.page.fold(f"the same against {fmt.plural(len(same), 'older compile')}", self._deep):
            for reason in same:
                lead: list[Piece] = [self._deep, "  ", _earlier(reason), "  "] if reason.earlier else [self._deep, "  "]
                text = f"{reason.cause}  {reason_text(reason)}" if len(recompile.keys) > 1 else reason_text(reason)
                link = _guard_link(reason)
                room = self.page.width - sum(len(piece_text(p)) for p in [*lead, *link])
                self.page.add(*lead, (fmt.clip(text, room), tokens.VALUE), *link)

    def add_folded(self) -> None:
        """Add one line for all recompiles whose older reasons are folded."""
        if self.folded and not self._alone:
            text = "Each of these also failed the guards of every older compile, for the same causes."
            self.page.say(text, self.indent, tokens.DIM)

    def add_row(self, recompiles: Sequence[Explained]) -> Iterator[None]:
        """Add many recompiles for one cause as one line, each of them in a folded section. Yields meanwhile."""
        page, indent = self.page, self.indent
        first, last = recompiles[0], recompiles[-1]
        reason, deep = first.reasons[0], indent + "    "
        seconds = sum(recompile.seconds or 0.0 for recompile in recompiles)
        page.add(
            indent, (id_of(first.ref), tokens.LINK, first.ref), " … ", (id_of(last.ref), tokens.LINK, last.ref), "  ",
            (f"{fmt.seconds(seconds)}  ", tokens.NUMBER), (f"{len(recompiles)} recompiles for one cause", tokens.RECOMPILE),
        )  # fmt: skip
        met = (v for recompile in recompiles for v in (recompile.reasons[0].expected, recompile.reasons[0].actual))
        values = dict.fromkeys(value for value in met if guard_grammar.is_value(value))
        kind = (reason.cause, tokens.KEYWORD, first.record or "")
        more = f" … {fmt.count(len(values) - 6)} more" if len(values) > 6 else ""
        settings = ", ".join(key[1] for key in first.keys_of(reason)) if reason.settings else ""
        title = settings or name_of(reason.source, reason.dim)
        text = f"{title}  {' → '.join(_shown(list(values)[:6], 6, 32))}{more}"
        lines = fmt.wrap(text, page.width - len(deep) - CLASS - 7)
        link = _guard_link(reason)
        for n, line in enumerate(lines or [""]):
            start: list[Piece] = [kind, " " * max(CLASS - len(reason.cause), 1)] if n == 0 else [" " * CLASS]
            page.add(deep, *start, (line, tokens.VALUE), *(link if n == len(lines) - 1 else []))
        add_where(page, reason, deep)
        if last.limit_hit:
            page.add(deep, ("then the recompile limit was reached", tokens.ERROR))
        with page.fold(f"each of the {len(recompiles)} recompiles", deep):
            inner = RecompileLines(page, recompiles, self._variations, False, deep)
            write = inner.add if len(recompiles) < BRIEF else inner.add_brief
            for number, recompile in enumerate(recompiles, 1):
                write(recompile)
                if number % AT_ONCE == 0:
                    yield
            self.folded += inner.folded


def differing(recompile: Explained) -> tuple[list[Reason], list[Reason]]:
    """Separate the reasons that name a new cause from repetitions."""
    first: dict[tuple[Key, ...], Reason] = {}
    same = [reason for reason in recompile.reasons if first.setdefault(recompile.keys_of(reason), reason) is not reason]
    return list(first.values()), same


def reason_text(reason: Reason, recompile: Explained | None = None) -> str:
    """Format a reason: `x dim 0  3 → 5`, or torch's own words; for settings of torch, those changed for this call."""
    if reason.cause in (guard_grammar.OTHER, guard_grammar.BACKEND, guard_grammar.UNEXPECTED) or (
        reason.cause == guard_grammar.STATE and not reason.source
    ):
        return fmt.one_line(sanitize(reason.text)) or "torch wrote no reason"
    name = "" if reason.cause == guard_grammar.CONDITION else name_of(reason.source, reason.dim)
    if recompile is not None and reason.settings:
        name = ", ".join(setting for _, setting, _ in recompile.keys_of(reason))
    return "  ".join(fmt.one_line(sanitize(part)) for part in (name, change_of(reason)) if part)


def add_where(page: Page, reason: Reason, indent: str) -> None:
    """Add the source line of a guard, its owner if not the user, and its caller."""
    if reason.file is None:
        return
    place = page.place(reason.file, reason.line)
    lead = f"from {reason.whose}: " if reason.whose else "from "
    pieces: list[Piece] = [indent, (lead, tokens.DIM), place]
    room = page.width - len(indent) - len(lead) - len(place[0]) - 2
    if reason.code and room >= min(len(reason.code.strip()), 30):
        page.add(*pieces, "  ", (fmt.clip(sanitize(reason.code.strip()), room), tokens.DIM))
    else:
        page.add(*pieces)
        page.code(reason.code, indent)
    callers = reason.stack[1:]
    if callers:
        text = f"called from {fmt.place(callers[0].file, callers[0].line)}"
        page.open(text, folded=True)
        page.add(indent, (fmt.clip(sanitize(text), page.width - len(indent)), tokens.DIM))
        add_stack(page, callers, indent + "  ")
        page.close()


def _shown(values: Sequence[str], most: int, width: int, total: int = 0) -> list[str]:
    """Return the first values, and how many are left: `3`, `5`, `7`, `and 4 more`."""
    shown = [fmt.clip(fmt.one_line(sanitize(value)), width) for value in values[:most]]
    more = max(total, len(values)) - len(shown)
    return [*shown, f"and {fmt.count(more)} more"] if more > 0 else shown


_PROOFS = {"quoted": " (from torch's documentation; not tested by tltui)"}


def add_variations(page: Page, variations: Sequence[Variation], recompiles: int, indent: str = "  ") -> None:
    """Add variations with recompile counts and advice; a single recompile with one cause gets only the advice."""
    if recompiles == 1 and len(variations) == 1:
        if variations[0].advice:
            page.labelled("how to fix", _advice(page, variations[0]), indent, 12)
        return
    page.add(indent, ("changed values, and how to fix it", tokens.LABEL))
    for variation in variations:
        _add_variation(page, variation, recompiles, indent + "  ")


def _add_variation(page: Page, variation: Variation, recompiles: int, indent: str) -> None:
    label = name_of(variation.source, variation.dim)
    name = fmt.clip_middle(sanitize(label), page.width // 2)
    values = fmt.one_line(", ".join(_shown(variation.values, 6, max(page.width // 3, 12), variation.distinct)))
    fits = len(indent) + CLASS + len(name) + 2 + len(values) <= page.width
    page.add(indent, (f"{variation.cause:<{CLASS}}", tokens.KEYWORD), (name, tokens.NAME), f"  {values}" if fits else "")
    if not fits:
        page.say(values, indent + "  ")
    page.say(_share(variation, recompiles), indent + "  ", tokens.DIM)
    if variation.advice:
        page.say(_advice(page, variation), indent + "  ")


def _share(variation: Variation, recompiles: int) -> str:
    """Describe how many recompiles have a cause, and how many have it as their only one."""
    many = "both recompiles" if recompiles == 2 else f"all {recompiles} recompiles"
    everything = many if recompiles > 1 else "the recompile"
    of = everything if variation.count == recompiles else f"{variation.count} of {recompiles} recompiles"
    if not variation.only_cause:
        return f"one of the causes of {of}"
    if len(variation.only_cause) == variation.count:
        return f"the only cause named for {of}{fmt.took(variation.only_cause_seconds, ' (', ')')}"
    refs = f"[{variation.only_cause[0]}]" if len(variation.only_cause) == 1 else f"{fmt.count(len(variation.only_cause))} of them"
    return f"a cause of {of}, the only one of {refs}{fmt.took(variation.only_cause_seconds, ' (', ')')}"


def _advice(page: Page, variation: Variation) -> str:
    """Return the advice; in a live run, absence so far is qualified."""
    text = variation.advice + _PROOFS.get(variation.proof, "")
    return page.so_far(text) if variation.became is None and "did not become" in text else text
