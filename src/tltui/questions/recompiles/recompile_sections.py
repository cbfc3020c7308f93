"""Recompiles of a frame as lines: variations between its compiles, causes and remedies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.questions.problems.reason_sections import add_contexts, add_stack, no_reason
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.explanations import Dynamic, Explained, Key, Reason, name_of
from tltui.questions.recompiles.guard_comparison import Difference
from tltui.questions.recompiles.guard_grammar import DUCK, EXCLUSION, MARKED, ZERO_ONE
from tltui.questions.recompiles.guard_table import FrameGuards
from tltui.questions.recompiles.predictions import DOUBTS, Prediction, other_outcomes, without_index
from tltui.questions.recompiles.recompile_reasons import Recompile
from tltui.questions.recompiles.variations import Variation
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.sanitize import sanitize

IN_A_ROW = 3
"""Recompiles in a row for the same cause, from which on they are one line."""
BRIEF = 200
"""Number of consecutive recompiles with one cause from which each is one line; its own page has the details."""
AT_ONCE = 50
"""Recompiles that are written before the page yields."""
CLASS = 17
"""Width in cells of the class of a cause."""
ALSO_SHOWN = 3
"""Differing values next to the one that torch named."""


def rows_of(recompiles: Sequence[Explained]) -> list[list[Explained]]:
    """Split recompiles into rows: single ones, or runs of at least `IN_A_ROW` with the same cause."""
    runs: list[list[Explained]] = []
    last: frozenset[Key] | None = None  # the causes of the last run, if a recompile can continue it
    for recompile in recompiles:
        keys = recompile.keys
        if keys == last:
            runs[-1].append(recompile)
        else:
            runs.append([recompile])
        last = keys if len(keys) == 1 else None
    rows: list[list[Explained]] = []
    for run in runs:
        rows += [run] if len(run) >= IN_A_ROW else [[recompile] for recompile in run]
    return rows


NO_LONGER = "no longer"


def change_of(reason: Reason) -> str:
    """Format a change: `3 → 5`; for a condition that it was false, with its values."""
    if reason.cause == guard_grammar.CONDITION:
        return _condition(reason)
    if reason.expected and reason.actual:
        return f"{reason.expected} → {reason.actual}"
    return f"{NO_LONGER} {reason.expected}" if reason.expected else ""


_WHO = {
    ZERO_ONE: "torch's own bound", MARKED: "a bound of the mark", DUCK: "sizes that had been equal",
    EXCLUSION: "kept for an older compile",
}  # fmt: skip


def _condition(reason: Reason) -> str:
    """Format a failed condition: `x.size()[0] <= 64 did not hold (a bound of the mark): x dim 0 was 100`."""
    condition = guard_grammar.without_numpy(reason.failed_part or reason.expected)
    who = f" ({_WHO[reason.origin]})" if reason.origin in _WHO else ""
    text = f"{name_of(reason.terms[0].source, reason.terms[0].dim, reason.terms[0].term)} was " if len(reason.terms) == 1 else ""
    return f"{condition} did not hold{who}" + (f": {text}{reason.actual}" if reason.actual else "")


def id_of(ref: str) -> str:
    """Format an address without its rank, which the frame's head names: `[0/1]` for `3:0/1`."""
    return f"[{ref.rpartition(':')[2]}]"


def _earlier(reason: Reason) -> Piece:
    """Return the earlier compile, linked only if the log has it."""
    ref = reason.earlier or ""
    return (id_of(ref), tokens.LINK, ref) if reason.earlier_is_logged else (id_of(ref), tokens.DIM)


def _guard_link(reason: Reason) -> list[Piece]:
    return ["  ", ("→ guard", tokens.LINK, reason.guard)] if reason.guard else []


def _width(page: Page, pieces: Iterable[Piece]) -> int:
    """Return the columns of pieces with at most one arrow, which has two letters with `--ascii`."""
    return sum(len(piece_text(piece)) for piece in pieces) + page.ascii


FEWER_REASONS = {
    "metrics": "from the metrics, which have only one reason",
    "warning": "from torch's warning, which has only the last reason: TORCH_LOGS=recompiles logs all",
}
"""`Recompile.reasons_from` → a note where that has fewer reasons than torch knew."""


class RecompileLines:
    """Writer of recompiles: `[0/2] recompiled 541 ms`, below it a line for each older version with its failed guard."""

    def __init__(
        self, page: Page, recompiles: Sequence[Explained], variations: Sequence[Variation], alone: bool = False, indent: str = "  ",
        guards: FrameGuards | None = None,
    ) -> None:  # fmt: skip
        """Make a writer. `alone`: the page is about one recompile, and has room for every older version."""
        self.page = page
        self._variations = variations
        self._alone = alone
        self._fixed = {(variation.source, variation.dim): variation.fixed_again_in for variation in variations}
        self.folded = 0
        """The number of reasons that repeat the cause of another one."""
        self.indent = indent
        earlier = [len(id_of(reason.earlier)) for r in recompiles for reason in r.reasons[:1] if reason.earlier]
        self._versus = indent + "  vs "
        self._deep = indent + " " * (max(earlier, default=0) + 7)
        self._guards = guards
        self._calls = {call.ref: call for call in guards.calls} if guards is not None else {}
        self._last: Reason | None = None  # whose place was written last

    def add_brief(self, recompile: Explained) -> None:
        """Add a recompile in one line: its first reason, and a link to the others."""
        reason, head = recompile.reasons[0], self._head(recompile)
        more = len(recompile.reasons) - 1 + recompile.other_reasons
        link = _guard_link(reason)
        if more:
            link += ["  ", (f"{fmt.count(more)} more", tokens.LINK, f"@recompiles:{recompile.ref}")]
        used = _width(self.page, (*head, *link)) + 2
        text = fmt.one_line(sanitize(change_of(reason) or reason_text(reason)))
        self.page.add(*head, "  ", (self.page.clip(text, max(self.page.width - used, 8)), tokens.VALUE), *link)

    def add(self, recompile: Explained) -> None:
        """Add a recompile: `[0/1] recompiled 1.42 s`, then `vs [0/0]: tensor size x dim 0: 3 → 5  → guard`, with details."""
        page, deep = self.page, self._deep
        shown, same = differing(recompile)
        page.add(*self._head(recompile))
        if not shown:
            page.say(page.so_far(no_reason(Recompile((), recompile.reasons_from))), deep, tokens.DIM)
        for reason in shown:
            self._reason(reason, recompile)
        self._same(same, recompile)
        add_contexts(page, recompile.contexts, deep)
        for change in recompile.became_dynamic:
            page.say(self._became(change), deep, tokens.VALUE)
        if recompile.failure:
            page.say(f"this compile failed: {recompile.failure}", deep, tokens.ERROR)
        if note := FEWER_REASONS.get(recompile.reasons_from):
            page.say(f"({note})", deep, tokens.DIM)

    def _became(self, change: Dynamic) -> str:
        name, again = name_of(change.source, change.dim), self._fixed.get((change.source, change.dim))
        if change.fixed is not None:
            return f"{name} was about to become dynamic, but was specialized to {change.fixed} in this compile"
        if again:
            return f"{name} became dynamic: {change.symbol}, but specialized again, because {id_of(again)} has a different value"
        return f"{name} became dynamic: {change.symbol} from here on"

    def _head(self, recompile: Explained) -> list[Piece]:
        pieces: list[Piece] = [self.indent, (id_of(recompile.ref), tokens.LINK, recompile.ref)]
        if recompile.limit_hit:
            return [*pieces, " ", ("not compiled: the recompile limit was reached", tokens.ERROR)]
        pieces += [" ", ("recompiled", tokens.RECOMPILE)]
        if recompile.duration_s is not None:
            pieces += [" ", (fmt.seconds(recompile.duration_s), tokens.NUMBER)]
        return pieces

    def _reason(self, reason: Reason, recompile: Explained) -> None:
        """Add older version, class, source, change and guard link of a reason; then the user's line unless just written."""
        page, deep, record = self.page, self._deep, recompile.record or ""
        head: list[Piece] = [self._versus, _earlier(reason), ": "] if reason.earlier else [deep]
        link, kind = _guard_link(reason), (reason.cause, tokens.KEYWORD, record)
        text = reason_text(reason, recompile)
        used = _width(page, (*head, kind, *link)) + 1
        if used + len(text) <= page.width:
            page.add(*head, kind, " ", (text, tokens.VALUE), *link)
        else:
            page.add(*head, kind, *link)
            for line in fmt.wrap(text, page.width - len(deep) - 2)[:12]:
                page.add(deep, "  ", (line, tokens.VALUE))
        last = self._last
        if last is None or (last.file, last.line, last.code) != (reason.file, reason.line, reason.code):
            add_where(page, reason, deep)
            self._last = reason
        self._also(reason, recompile)

    def _also(self, reason: Reason, recompile: Explained) -> None:
        """Add the other guarded values that differ from this older version: torch names the first failed guard only."""
        call = self._calls.get(recompile.ref)
        if call is None or self._guards is None:
            return
        reported = {*recompile.keys_of(reason), *reason.keys}
        for comparison in call.comparisons:
            if self._guards.calls[comparison.version].ref == reason.earlier:
                others = [difference for difference in comparison.differences if difference.key not in reported]
                lines = [_difference(difference, count) for difference, count in _alike(others)]
                texts = lines[:ALSO_SHOWN]
                keys = [key for difference in comparison.differences if difference.key in reported for key in difference.keys]
                if keys:
                    self.page.say(f"keys: {', '.join(fmt.clip(fmt.one_line(sanitize(key)), 40) for key in keys)}", self._deep)
                if len(lines) > ALSO_SHOWN:
                    texts.append(f"{fmt.count(len(lines) - ALSO_SHOWN)} more")
                if texts:
                    self.page.say(f"also {', '.join(texts)}", self._deep, tokens.VALUE)
                return

    def _others(self, recompiles: Sequence[Explained]) -> list[str]:
        """Return the values that differ in some recompiles next to the one that torch named."""
        sources: dict[Key, dict[str, None]] = defaultdict(dict)
        for recompile in recompiles:
            call, reported = self._calls.get(recompile.ref), recompile.keys
            for comparison in call.comparisons if call is not None else ():
                for difference in comparison.differences:
                    if difference.key not in reported:
                        sources[(difference.cause, without_index(difference.source), difference.dim)][difference.source] = None
        names = [
            (cause, name_of(alike if len(members) > 1 else next(iter(members)), dim))
            for (cause, alike, dim), members in sources.items()
        ]
        texts = [f"{cause} {fmt.clip_middle(fmt.one_line(sanitize(name)), NAME_WIDTH)}" for cause, name in names[:ALSO_SHOWN]]
        return [*texts, f"{fmt.count(len(names) - ALSO_SHOWN)} more"] if len(names) > ALSO_SHOWN else texts

    def _same(self, same: Sequence[Reason], recompile: Explained) -> None:
        """List older compiles that failed for the same cause, where the page is about this recompile only."""
        count = len(same) + recompile.other_reasons
        self.folded += count
        if not same or not self._alone:
            return
        with self.page.fold(f"the same cause against {fmt.plural(count, 'older compile')}", self._deep):
            for reason in same:
                lead: list[Piece] = [self._deep, "  ", _earlier(reason), "  "] if reason.earlier else [self._deep, "  "]
                text = f"{reason.cause}  {reason_text(reason)}" if len(recompile.keys) > 1 else reason_text(reason)
                link = _guard_link(reason)
                room = self.page.width - _width(self.page, (*lead, *link))
                self.page.add(*lead, (fmt.clip(text, room), tokens.VALUE), *link)
            if recompile.other_reasons:
                text = f"and {fmt.plural(recompile.other_reasons, 'more older compile')}"
                self.page.add(self._deep, "  ", (text, tokens.LINK, recompile.record or recompile.ref))

    def add_folded(self) -> None:
        """Add one line for all recompiles whose older reasons are folded."""
        if self.folded and not self._alone:
            text = "The calls that triggered these recompiles also failed the guards of every older compile, for the same causes."
            self.page.say(text, self.indent, tokens.DIM)

    def add_row(self, recompiles: Sequence[Explained]) -> Iterator[None]:
        """Add many recompiles for one cause as one line, each of them in a folded section. Yields meanwhile."""
        page, indent = self.page, self.indent
        first, last = recompiles[0], recompiles[-1]
        reason, deep = first.reasons[0], indent + "    "
        seconds = sum(recompile.duration_s or 0.0 for recompile in recompiles)
        page.add(
            indent, (id_of(first.ref), tokens.LINK, first.ref), " … ", (id_of(last.ref), tokens.LINK, last.ref), "  ",
            (fmt.took(seconds, "", "  "), tokens.NUMBER), (f"{len(recompiles)} recompiles, same guard", tokens.RECOMPILE),
        )  # fmt: skip
        met = (v for recompile in recompiles for v in (recompile.reasons[0].expected, recompile.reasons[0].actual))
        values = dict.fromkeys(value for value in met if guard_grammar.is_value(value))
        kind = (reason.cause, tokens.KEYWORD, first.record or "")
        more = f" … {fmt.count(len(values) - 6)} more" if len(values) > 6 else ""
        settings = ", ".join(key[1] for key in first.keys_of(reason)) if reason.settings else ""
        title = settings or name_of(reason.source, reason.dim)
        text = f"{title}  {' → '.join(_shown(list(values)[:6], 6, 32))}{more}"
        link = _guard_link(reason)
        lines = fmt.wrap(text, page.width - len(deep) - CLASS - _width(page, link))
        for n, line in enumerate(lines or [""]):
            start: list[Piece] = [kind, " " * max(CLASS - len(reason.cause), 1)] if n == 0 else [" " * CLASS]
            page.add(deep, *start, (line, tokens.VALUE), *(link if n == len(lines) - 1 else []))
        add_where(page, reason, deep)
        if others := self._others(recompiles):
            page.say(f"also different: {', '.join(others)}", deep, tokens.VALUE)
        if last.limit_hit:
            page.add(deep, ("then the recompile limit was reached", tokens.ERROR))
        with page.fold(f"{len(recompiles)} recompiles one by one", deep):
            inner = RecompileLines(page, recompiles, self._variations, False, deep, self._guards)
            write = inner.add if len(recompiles) < BRIEF else inner.add_brief
            for number, recompile in enumerate(recompiles, 1):
                write(recompile)
                if number % AT_ONCE == 0:
                    yield
            self.folded += inner.folded


NAME_WIDTH, CONDITION_WIDTH = 45, 60
"""Cells of a source and of a condition: the last part of a long source is the one that matters, so its middle is left out."""


def _alike(differences: Iterable[Difference]) -> list[tuple[Difference, int]]:
    """Group equal differences whose sources differ only in an index: the first of each group and how many there are."""
    groups: dict[tuple[object, ...], list[Difference]] = defaultdict(list)
    for difference in differences:
        text = difference.text if difference.cause == guard_grammar.CONDITION else ""
        source = without_index(difference.source)
        groups[(difference.cause, source, difference.dim, difference.expected, difference.actual, text)].append(difference)
    return [(members[0], len(members)) for members in groups.values()]


def _difference(difference: Difference, count: int) -> str:
    """Format a difference: `module attribute self.i 0 → 1`; of several sources with the name that they share."""
    name = name_of(without_index(difference.source) if count > 1 else difference.source, difference.dim)
    change = " → ".join(fmt.clip(value, 40) for value in (difference.expected, difference.actual) if value)
    if difference.cause == guard_grammar.CONDITION:
        condition = guard_grammar.without_numpy(difference.text.partition("  # ")[0])
        change = f"{fmt.clip_middle(condition, CONDITION_WIDTH)} did not hold"
        name = ""
    number = f"({count} guards)" if count > 1 else ""
    return fmt.one_line(sanitize(" ".join(part for part in (difference.cause, name, change, number) if part)))


def differing(recompile: Explained) -> tuple[list[Reason], list[Reason]]:
    """Separate the reasons that name a new cause from repetitions."""
    first: dict[tuple[Key, ...], Reason] = {}
    same = [reason for reason in recompile.reasons if first.setdefault(recompile.keys_of(reason), reason) is not reason]
    return list(first.values()), same


def reason_text(reason: Reason, recompile: Explained | None = None) -> str:
    """Format a reason: `x dim 0: 3 → 5`, or torch's own words; for settings of torch, those changed for this call."""
    if reason.cause in (guard_grammar.OTHER, guard_grammar.BACKEND, guard_grammar.UNEXPECTED) or (
        reason.cause == guard_grammar.STATE and not reason.source
    ):
        return fmt.one_line(sanitize(reason.text)) or "torch wrote no reason"
    name = "" if reason.cause == guard_grammar.CONDITION else name_of(reason.source, reason.dim)
    if recompile is not None and reason.settings:
        name = ", ".join(setting for _, setting, _ in recompile.keys_of(reason))
    change = change_of(reason)
    joint = " " if change.startswith(NO_LONGER) else ": "
    return joint.join(fmt.one_line(sanitize(part)) for part in (name, change) if part)


def add_where(page: Page, reason: Reason, indent: str) -> None:
    """Add the source line of a guard, its owner if not the user, and its caller."""
    if reason.file is None:
        return
    place = page.place(reason.file, reason.line)
    lead = f"from {reason.owner}: " if reason.owner else "from "
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


def add_variations(
    page: Page, variations: Sequence[Variation], recompiles: int, indent: str = "  ", together: Prediction | None = None,
    all_dynamic: Prediction | None = None,
) -> None:
    """Add variations with recompile counts, advice and predictions; a single recompile with one cause gets only the advice."""
    if recompiles == 1 and len(variations) == 1:
        if variations[0].advice:
            page.labelled("how to fix", _advice(page, variations[0]), indent, 12)
            _assignment(page, variations[0], indent + " " * 12)
        if effect := _effect(variations[0]):
            page.say(effect, indent + " " * 12, tokens.DIM)
        return
    page.add(indent, ("Changed values and fixes", tokens.LABEL))
    for variation in variations:
        _add_variation(page, variation, recompiles, indent + "  ")
    if together is not None:
        text = f"Predicted effect of {fmt.joined(names_of_remedies(together))} together: {remaining_text(together)}"
        page.say(text, indent + "  ", tokens.STRONG)
    if all_dynamic is not None:
        text = f"{ALL_DYNAMIC} makes sizes and numbers dynamic from the start"
        page.say(f"{text}. Predicted effect: {remaining_text(all_dynamic)}", indent + "  ", tokens.STRONG)


ALL_DYNAMIC = "torch.compile(dynamic=True)"


def _add_variation(page: Page, variation: Variation, recompiles: int, indent: str) -> None:
    label = name_of(variation.source, variation.dim)
    name = fmt.clip_middle(sanitize(label), page.width // 2)
    plain = [guard_grammar.without_numpy(value) for value in variation.values]
    values = fmt.one_line(", ".join(_shown(plain, 6, max(page.width // 3, 12), variation.value_count)))
    fits = len(indent) + CLASS + len(name) + 2 + len(values) <= page.width
    page.add(indent, (f"{variation.cause:<{CLASS}}", tokens.KEYWORD), (name, tokens.NAME), f"  {values}" if fits else "")
    if not fits:
        page.say(values, indent + "  ")
    if variation.sources:
        count = len(variation.sources)
        text = f"of {count} submodules" if variation.source.endswith(".training") else f"guards on {count} indices"
        page.say(text, indent + "  ", tokens.DIM)
    page.say(share_text(variation, recompiles), indent + "  ", tokens.DIM)
    if variation.covered_by:
        page.say(f"The fix for {variation.covered_by} covers it.", indent + "  ")
        return
    if variation.advice:
        page.say(_advice(page, variation), indent + "  ")
        _assignment(page, variation, indent + "  ")
    if effect := _effect(variation):
        page.say(effect, indent + "  ", tokens.STRONG)


def _assignment(page: Page, variation: Variation, indent: str) -> None:
    """Add the assignment of a variable: on one line of any width, so that it can be copied."""
    if variation.environment:
        page.add(indent, (sanitize(variation.environment), tokens.VALUE))


def remaining_text(prediction: Prediction, is_brief: bool = False) -> str:
    """Format `8 → 0 recompilations`; where the guards do not decide it, the expected number with the others.

    `is_brief`: without the condition of the others.
    """
    condition = "" if is_brief else DOUBTS.get(prediction.condition, "")
    others = other_outcomes(prediction.fewest, prediction.most, prediction.expected, condition)
    return f"{fmt.count(prediction.before)} → {fmt.plural(prediction.expected, 'recompilation')}{others}"


def _effect(variation: Variation) -> str:
    """Return the predicted effect of a remedy alone; '' without one."""
    prediction = variation.prediction
    if prediction is None:
        return ""
    if not prediction.may_help:
        number = f" ({remaining_text(prediction)})" if prediction.is_exact else ""
        return f"Alone, this has no effect{number}. Combine it with the other fixes."
    return f"Predicted effect: {remaining_text(prediction)}"


def names_of_remedies(prediction: Prediction) -> tuple[str, ...]:
    """Return the causes and remedies of the best set: `x dim 0 (mark dynamic)`, `self.i (dynamic attribute)`."""
    fixes = zip(prediction.names, prediction.remedies, strict=True)
    return tuple(f"{fmt.clip_middle(fmt.one_line(sanitize(name)), 40)} ({remedy})" for name, remedy in fixes)


def share_text(variation: Variation, recompiles: int) -> str:
    """Describe how many recompiles have a cause, and how many have it as their only one."""
    many = "both recompiles" if recompiles == 2 else f"all {recompiles} recompiles"
    everything = many if recompiles > 1 else "the recompile"
    of = everything if variation.count == recompiles else f"{variation.count} of {recompiles} recompiles"
    if not variation.only_cause_refs:
        if variation.reported == variation.count:
            return f"a cause of {of}"
        share = f"torch names it for {fmt.count(variation.reported)} of them" if variation.reported else "torch never names it"
        return f"a cause of {of}; {share}"
    if variation.only_cause_count == variation.count:
        cause = f"the only cause {'of' if variation.is_proven else 'that torch named for'}"
        return f"{cause} {of}{fmt.took(variation.only_cause_s, ' (', ')')}"
    count = variation.only_cause_count
    refs = f"[{variation.only_cause_refs[0]}]" if count == 1 else f"{fmt.count(count)} of them"
    cause = f"the only cause {'of' if variation.is_proven else 'named for'}"
    return f"a cause of {of}, {cause} {refs}{fmt.took(variation.only_cause_s, ' (', ')')}"


def _advice(page: Page, variation: Variation) -> str:
    """Return the advice; in a live run, absence so far is qualified."""
    text = variation.advice + _PROOFS.get(variation.proof, "")
    is_static = variation.dynamic_in is None and "did not become" in text
    return page.so_far(text) if is_static or "removes no recompilation" in text else text
