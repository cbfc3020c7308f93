"""Variations of a frame: the causes of its recompilations with their values, the remedy, and its predicted effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.equal_sizes import EqualSizes
from tltui.questions.recompiles.explanations import Explained, Key, Reason
from tltui.questions.recompiles.guard_comparison import Difference
from tltui.questions.recompiles.guard_grammar import is_parameter
from tltui.questions.recompiles.guard_table import FrameGuards
from tltui.questions.recompiles.predictions import (
    AUTOMATIC,
    BRANCHES,
    MOST_DIMS,
    NONE_EQUAL,
    OTHER_CALLS,
    REMOVED,
    SPECIALIZED,
    STRIDES,
    UNBACKED,
    Candidate,
    Prediction,
    Simulation,
    causes_together,
    effect_of,
    has_unseen_floats,
    predictions_of,
    without_index,
)
from tltui.questions.recompiles.remedies import (
    MAYBE_MARK,
    REASONS_USED,
    REFS_LISTED,
    Advice,
    CauseFacts,
    Settings,
    advice_for,
    is_default,
)
from tltui.text.frozen import frozen

VALUES_SHOWN = 12


@frozen
class Variation:
    """One cause, over all recompiles of a frame."""

    cause: str
    source: str
    """Of several sources that differ only in an index: with `[*]`."""
    dim: int | None
    value: str
    count: int
    """Recompiles in which it was a reason, or differed in the guards."""
    refs: tuple[str, ...]
    """Their addresses; the first ones of very many."""
    values: tuple[str, ...]
    """The actual values, in this order; the first ones of very many."""
    value_count: int
    """The number of actual values."""
    dynamic_in: str | None
    """The compile in which torch made it dynamic by itself."""
    fixed_again_in: str | None
    """The compile that shows that it did not stay dynamic: its value was fixed again."""
    only_cause_refs: tuple[str, ...]
    """Recompiles for which it is the only cause: their guards and those of all older versions show no other; without guards in
    the log, those for which torch named no other. Of very many the first ones."""
    only_cause_s: float
    """Their total time: the possible saving."""
    advice: str
    """Advice against it, or the reason why there is none; '' for none."""
    remedy: str
    """The name of the remedy in docs/recompiles.md; '' where none is given."""
    proof: str
    """`proven` by a program that torch ran with it, `quoted` from torch, or ''."""
    code: tuple[str, ...]
    """The remedy as Python, where it is a line to run before the first call."""
    reported: int = 0
    """Recompiles for which torch named it."""
    sources: tuple[str, ...] = ()
    """The sources, of several that differ only in an index."""
    prediction: Prediction | None = None
    """The recompilations that remain with the remedy alone; None without a remedy or without guards."""
    is_proven: bool = False
    """Whether `only_cause` is from the guards."""
    environment: str = ""
    """The remedy as the assignment of an environment variable, for a shell."""
    covered_by: str = ""
    """The source of another variation with the same fix."""
    only_cause_count: int = 0
    """The number of recompiles for which it is the only cause."""
    is_constant: bool = False
    """Whether each value is compiled separately, because code needs the number itself: it never stays dynamic."""


class CauseKey(NamedTuple):
    """The identity of a cause."""

    cause: str
    source: str
    dim: int | None


@frozen
class RecompileCauses:
    """All causes of a recompilation that torch's reasons and the guards show."""

    ref: str
    causes: tuple[CauseKey, ...]
    """Every value that differs from an older version."""
    is_complete: bool
    """Whether the guards of the call and of each older version were compared in full."""


@frozen
class Variations:
    """The variations of a frame, and the best set of remedies."""

    variations: tuple[Variation, ...] = ()
    together: Prediction | None = None
    """The smallest set of remedies that leaves the fewest recompilations; None if one remedy alone does as much."""
    causes: tuple[RecompileCauses, ...] = ()
    all_dynamic: Prediction | None = None
    """The recompilations that remain with torch.compile(dynamic=True); None where another remedy does as much."""
    candidates: tuple[Candidate | None, ...] = ()
    """The remedy of each variation with all causes that it removes; None without a remedy or without guards."""


ReasonOf = Callable[[str, str, Difference], Reason | None]
"""The reason for a difference that torch did not name: recompile, older version, difference."""


def variations_of(
    recompiles: Sequence[Explained], settings: Settings, resumed: bool = False, is_foreign: bool = False,
    break_line: int | None = None, guards: FrameGuards | None = None,
    reason_of: ReasonOf | None = None, equal: EqualSizes = NONE_EQUAL,
    may_end: bool = False,
) -> Variations:  # fmt: skip
    """Return the variations: those whose remedy removes most recompilations first, then by seconds as the only cause.

    `resumed`: the frame continues after a graph break; `is_foreign`: its function is of torch or a library;
    `break_line`: the line of that break; `equal`: of each comparison, the sizes that share a symbol with another one if all are
    dynamic; `may_end`: see there.
    """
    every = causes_of(recompiles, guards)
    groups = _with_absent(causes_together(key for item in every for key in item.causes), _none_sources(recompiles, guards))
    heads = {key: head for head, members in groups.items() for key in members}
    gathering = _Gathering((resumed, is_foreign, break_line), heads, guards is not None)
    differences = _differences(guards)
    for number, (recompile, causes) in enumerate(zip(recompiles, every, strict=True)):
        gathering.add(number, recompile, causes, differences.get(recompile.ref, ()), reason_of)
    facts = list(gathering.causes.values())
    _add_equal_sizes(facts, guards.parameters if guards is not None else frozenset())
    arguments_vary = any(map(_is_other_argument, facts))
    for each in facts:
        each.arguments_vary = arguments_vary
    advice = _of_floats(facts, [advice_for(each, settings) or Advice("") for each in facts])
    candidates = _candidates(facts, advice, groups, guards)
    predictions, together = _predicted(candidates, guards, equal, may_end)
    together = _marked_once(together, facts, candidates, groups) if together is not None else None
    others = [each for each in (*predictions, together) if each is not None]
    all_dynamic = _all_dynamic(facts, advice, groups, guards, equal, may_end, others)
    variations = [
        _variation(each, given, groups[each.key], prediction, together, every, guards is not None)
        for each, given, prediction in zip(facts, advice, predictions, strict=True)
    ]
    order = sorted(range(len(facts)), key=lambda n: (
        *_removed_by(variations[n].prediction), -facts[n].seconds, -len(facts[n].only), -len(facts[n].refs),
    ))  # fmt: skip
    covered = _covered(variations, order)
    ordered = tuple(replace(variations[n], covered_by=covered.get(n, "")) for n in order)
    return Variations(
        ordered, together, tuple(every) if guards is not None else (), all_dynamic, tuple(candidates[n] for n in order)
    )


def _add_equal_sizes(facts: Sequence[CauseFacts], parameters: frozenset[str]) -> None:
    """Add to each size that did not become dynamic those with equal values: torch raises if one of two equal sizes is marked.

    `parameters`: arguments that are parameters.
    """
    alike: dict[tuple[tuple[str, ...], ...], list[CauseFacts]] = {}
    for each in facts:
        if each.cause == guard_grammar.SIZE and each.became is None:
            alike.setdefault((tuple(each.values), tuple(each.refs)), []).append(each)
    for members in alike.values():
        of_tensors = [each for each in members if not is_parameter(each.source) and each.source not in parameters]
        for each in of_tensors:
            each.equals_parameter = len(of_tensors) < len(members)
            others = (other for other in of_tensors if other is not each)
            each.co_dynamic = tuple((other.source, other.dim) for other in others if other.dim is not None)


def _none_sources(recompiles: Iterable[Explained], guards: FrameGuards | None) -> frozenset[str]:
    """Return the sources that were None in some calls, and for which torch compares the type in others."""
    values: dict[str, set[str]] = {guard_grammar.VALUE: set(), guard_grammar.TYPE: set()}
    changes: list[Reason | Difference] = [reason for recompile in recompiles for reason in recompile.reasons]
    for call in guards.calls if guards is not None else ():
        changes += [difference for comparison in call.comparisons for difference in comparison.differences]
    for change in changes:
        if change.cause in values and {change.expected, change.actual} & {"None", "NoneType"}:
            values[change.cause].add(without_index(change.source))
    return frozenset(values[guard_grammar.VALUE] & values[guard_grammar.TYPE])


def _with_absent(groups: Mapping[Key, tuple[Key, ...]], sources: frozenset[str]) -> Mapping[Key, tuple[Key, ...]]:
    """Join the value and the type of each source into one cause: versions for None guard the value, the others the type."""
    results: dict[Key, tuple[Key, ...]] = {}
    heads: dict[str, Key] = {}
    for head, members in groups.items():
        name = without_index(head[1])
        if head[0] not in (guard_grammar.VALUE, guard_grammar.TYPE) or name not in sources:
            results[head] = members
            continue
        first = heads.setdefault(name, (guard_grammar.TYPE, *head[1:]))
        results[first] = (*results.get(first, ()), *members)
    return results


def _sources_of(members: Sequence[Key]) -> tuple[str, ...]:
    """Return the different sources of a group of causes."""
    return tuple(dict.fromkeys(key[1] for key in members))


def _removed_by(prediction: Prediction | None) -> tuple[int, int]:
    """Return minus the recompilations that a remedy removes, as expected and at best."""
    return (0, 0) if prediction is None else (prediction.expected - prediction.before, prediction.fewest - prediction.before)


_STRUCTURE = (guard_grammar.VALUE, guard_grammar.TYPE, guard_grammar.LENGTH, guard_grammar.KEY)


def _is_other_argument(facts: CauseFacts) -> bool:
    """Return whether a cause is that an argument is absent in some calls, or of another type or length."""
    return facts.cause in _STRUCTURE and bool(_ARGUMENT.match(facts.source))


_ARGUMENT = re.compile(r"^(?!self\b|G\b|___)[a-zA-Z_]\w*(?:\[|$)")


def _covered(variations: Sequence[Variation], order: Sequence[int]) -> dict[int, str]:
    """Return the variations whose fix is also that of one before: the number → the name of that one."""
    firsts: dict[tuple[str, frozenset[str]], str] = {}
    results: dict[int, str] = {}
    for n in order:
        variation = variations[n]
        if variation.prediction is not None and (variation.code or variation.remedy == "dynamic=True"):
            name = name_of_cause(variation.cause, variation.source, variation.dim)
            first = firsts.setdefault((variation.remedy, frozenset(variation.code)), name)
            if first != name:
                results[n] = first
    return results


def causes_of(recompiles: Iterable[Explained], guards: FrameGuards | None) -> list[RecompileCauses]:
    """Return all causes of each recompile: those that torch named, and those that the guards show."""
    calls = {call.ref: call for call in guards.calls} if guards is not None else {}
    results: list[RecompileCauses] = []
    for recompile in recompiles:
        call = calls.get(recompile.ref)
        keys = dict.fromkeys(key for reason in recompile.reasons for key in recompile.keys_of(reason))
        for comparison in call.comparisons if call is not None else ():
            for difference in comparison.differences:
                if difference.cause != guard_grammar.STATE or not recompile.settings:
                    keys.setdefault(difference.key)
        compared = call.comparisons if call is not None and call.is_complete else ()
        is_complete = bool(compared) and all(comparison.is_complete for comparison in compared)
        results.append(RecompileCauses(recompile.ref, tuple(CauseKey(*key) for key in keys), is_complete))
    return results


def _differences(guards: FrameGuards | None) -> Mapping[str, Sequence[tuple[str, Difference]]]:
    """Return the differences of each recompile with the older version."""
    if guards is None:
        return {}
    refs = [call.ref for call in guards.calls]
    return {
        call.ref: [(refs[comparison.version], d) for comparison in call.comparisons for d in comparison.differences]
        for call in guards.calls if call.is_recompile
    }  # fmt: skip


class _Gathering:
    """The facts about each cause, gathered from recompiles in order."""

    def __init__(self, frame: tuple[bool, bool, int | None], heads: Mapping[Key, Key], has_guards: bool) -> None:
        self.causes: dict[Key, CauseFacts] = {}
        self._heads = heads
        self._has_guards = has_guards
        self._frame = frame
        self._about: dict[tuple[str, int | None], list[CauseFacts]] = {}
        self._order: dict[str | None, int] = {}

    def _facts(self, key: Key) -> CauseFacts:
        head = self._heads[key]
        facts = self.causes.get(head)
        if facts is None:
            facts = self.causes[head] = CauseFacts(*head, *self._frame)
        facts.sources.setdefault(key[1])
        about = self._about.setdefault(key[1:], [])
        if facts not in about:
            about.append(facts)
        return facts

    def add(
        self, number: int, recompile: Explained, causes: RecompileCauses, differences: Sequence[tuple[str, Difference]],
        reason_of: ReasonOf | None,
    ) -> None:  # fmt: skip
        """Add a recompile."""
        failed = bool(recompile.failure)
        # the oldest compile first: values in the order in which they were met (torch lists what was used last first)
        for reason in sorted(recompile.reasons, key=lambda reason: self._order.get(reason.earlier, -1)):
            for key in recompile.keys_of(reason):
                self._facts(key).add(reason, recompile.ref, failed)
        reported = recompile.keys
        wanted = set(causes.causes) - reported
        for earlier, difference in reversed(differences):
            if difference.key in wanted:
                facts = self._facts(difference.key)
                more = len(facts.reasons) < REASONS_USED
                other = reason_of(recompile.ref, earlier, difference) if reason_of is not None and more else None
                if other is not None:
                    facts.add(other, recompile.ref, failed)
        reported_heads, heads = ({self._heads[key] for key in keys} for keys in (reported, causes.causes))
        is_only = len(heads) == 1 and (causes.is_complete or not self._has_guards)
        for facts in {id(facts): facts for facts in map(self._facts, causes.causes)}.values():
            facts.refs.append(recompile.ref)
            if failed:
                facts.failures.append(recompile.failure)
            facts.reported += facts.key in reported_heads
            if is_only:
                facts.only.append(recompile.ref)
                facts.seconds += recompile.duration_s or 0.0
        if not failed:
            self._became(recompile)
        self._order[recompile.ref] = number

    def _became(self, recompile: Explained) -> None:
        changes = recompile.became_dynamic
        sizes = [(change.source, change.dim) for change in changes if change.dim is not None and change.fixed is None]
        for change in recompile.became_dynamic:
            for facts in self._about.get((change.source, change.dim), ()):
                if facts.became is None:
                    facts.became = recompile.ref
                    facts.co_dynamic = tuple((d, n) for d, n in sizes if (d, n) != (change.source, change.dim))
                if change.fixed is not None:
                    facts.fixed = facts.fixed or recompile.ref
                facts.needs_number &= change.needs_number
                facts.free.add((recompile.ref, change.source))


def _of_floats(facts: Sequence[CauseFacts], advice: list[Advice]) -> list[Advice]:
    """Return the advice with that of a condition for the float that it is about: being dynamic does not suffice then."""
    tensors = {
        each.source: given for each, given in zip(facts, advice, strict=True)
        if each.cause == guard_grammar.CONDITION and given.remedy == "tensor"
    }  # fmt: skip
    return [
        tensors.get(each.source, given) if each.cause == guard_grammar.FLOAT else given
        for each, given in zip(facts, advice, strict=True)
    ]


def _candidates(
    facts: Sequence[CauseFacts], advice: Sequence[Advice], groups: Mapping[Key, tuple[Key, ...]], guards: FrameGuards | None
) -> list[Candidate | None]:
    """Return the remedy of each cause with all causes that it removes: one for causes with the same effect."""
    results: list[Candidate | None] = [None] * len(facts)
    if guards is None or not guards.table.versions:
        return results
    fixed = dict.fromkeys((key for each in facts if each.fixed is not None for key in groups[each.key]), SPECIALIZED)
    constant = _constant(facts, groups)
    every = frozenset(key for members in groups.values() for key in members)
    candidates: dict[tuple[str, frozenset[Key]], Candidate] = {}
    for n, (each, given) in enumerate(zip(facts, advice, strict=True)):
        effect = effect_of(given.remedy)
        if not effect:
            continue
        keys = _removed(each, given.remedy, frozenset(groups[each.key]), every)
        if given.remedy == "dynamic parameters":  # a size that was specialized to that of a parameter is no longer
            keys |= {key for key in fixed if key[0] == guard_grammar.SIZE}
        if given.remedy in _MARKS:
            keys = keys.union(*(guards.returned.get(key, ()) for key in keys))
        if "unbacked" not in given.remedy and given.remedy != "tensor":
            keys -= constant
        if (given.remedy, keys) not in candidates:
            name = name_of_cause(each.cause, each.source, each.dim, groups[each.key])
            strides = _strides(keys, every)
            doubt = _doubt(each, given, keys, guards)
            if doubt:
                doubts = dict.fromkeys(keys, doubt)
            else:
                doubts = {key: doubt for key, doubt in fixed.items() if key in keys and effect != REMOVED}
            doubts |= dict.fromkeys(strides, STRIDES)
            candidates[(given.remedy, keys)] = Candidate(name, given.remedy, keys | strides, effect, tuple(doubts.items()))
        results[n] = candidates[(given.remedy, keys)]
    return results


def _predicted(
    candidates: Sequence[Candidate | None], guards: FrameGuards | None, equal: EqualSizes, may_end: bool
) -> tuple[list[Prediction | None], Prediction | None]:
    """Return the prediction for the remedy of each cause, and for the best set."""
    different = list(dict.fromkeys(candidate for candidate in candidates if candidate is not None))
    if guards is None or not guards.table.versions:
        return [None] * len(candidates), None
    alone, together = predictions_of(guards.calls, different, equal, may_end)
    predictions = dict(zip(different, alone, strict=True))
    return [predictions[candidate] if candidate is not None else None for candidate in candidates], together


def _marked_once(
    together: Prediction, facts: Sequence[CauseFacts], candidates: Sequence[Candidate | None], groups: Mapping[Key, tuple[Key, ...]]
) -> Prediction:
    """Return a set of remedies with each size named for one mark only.

    If one remedy marks several sizes as dynamic, and another marks some of them as unbacked, the first names only the others.
    """
    chosen = tuple(zip(together.names, together.remedies, strict=True))
    meant = [
        (each, candidate) for each, candidate in zip(facts, candidates, strict=True)
        if candidate is not None and (candidate.name, candidate.remedy) in chosen
    ]  # fmt: skip
    unbacked = {(each.source, each.dim) for each, candidate in meant if candidate.remedy == "mark unbacked"}
    pairs: list[tuple[str, str]] = []
    for name, remedy in chosen:
        is_mark = remedy == "mark dynamic"
        marked = [each for each, candidate in meant if is_mark and (candidate.name, candidate.remedy) == (name, remedy)]
        others = [each for each in marked if (each.source, each.dim) not in unbacked]
        if others and len(others) < len(marked):
            pairs += [(name_of_cause(each.cause, each.source, each.dim, groups[each.key]), remedy) for each in others]
        else:
            pairs.append((name, remedy))
    names, remedies = zip(*pairs, strict=True)
    return replace(together, names=names, remedies=remedies)


def _doubt(facts: CauseFacts, advice: Advice, keys: frozenset[Key], guards: FrameGuards) -> str:
    """Return the doubt about the effect of a remedy; '' for none."""
    if advice.code and MAYBE_MARK in advice.code[0]:
        return OTHER_CALLS
    if advice.remedy == "unbacked sources" or (advice.remedy == "mark unbacked" and not guards.related.isdisjoint(keys)):
        return UNBACKED
    if advice.remedy == "mark unbacked" and facts.cause == guard_grammar.SIZE and facts.became is None:
        return UNBACKED  # no version shows the conditions on a size that was a constant in all of them
    if advice.remedy in NEVER_DYNAMIC and facts.became is None:
        return BRANCHES  # no version shows the conditions on a number that was a constant in all of them
    return ""


def _constant(facts: Sequence[CauseFacts], groups: Mapping[Key, tuple[Key, ...]]) -> frozenset[Key]:
    """Return the sizes and numbers that no mark and no setting makes dynamic, because code needs the number itself."""
    return frozenset(key for each in facts if each.is_constant for key in groups[each.key])


_MARKS = ("mark dynamic", "mark unbacked", "dynamic sources", "unbacked sources")
"""Remedies that make single sizes dynamic."""
_STATIC = ("no mark_static", "dynamic parameters")
"""Remedies of sizes that are static also with dynamic=True."""


def _all_dynamic(
    facts: Sequence[CauseFacts], advice: Sequence[Advice], groups: Mapping[Key, tuple[Key, ...]], guards: FrameGuards | None,
    equal: EqualSizes, may_end: bool, others: Sequence[Prediction],
) -> Prediction | None:  # fmt: skip
    """Return the prediction for torch.compile(dynamic=True), if it leaves fewer recompilations than every other remedy.

    It is about the sizes and numbers that torch made dynamic in this log. Sizes that were specialized may become dynamic too.
    """
    every = frozenset(key for members in groups.values() for key in members)
    became = [each for each in facts if each.cause in _DYNAMIC and each.became is not None and each.fixed is None]
    free = [each for each in became if "nan" not in each.values]  # NaN equals no number
    if guards is None or not free or has_unseen_floats(every, guards.constant_floats):
        return None
    proven = frozenset(key for each in free for key in groups[each.key])
    possible = frozenset(
        key for each, given in zip(facts, advice, strict=True) if each.cause == guard_grammar.SIZE and given.remedy not in _STATIC
        for key in groups[each.key] if not is_parameter(key[1]) and key[1] not in guards.parameters
    ) - proven - _constant(facts, groups)  # fmt: skip
    keys = proven | possible
    strides = _strides(keys, every)
    doubts = dict.fromkeys(possible, SPECIALIZED) | dict.fromkeys(strides, STRIDES)
    candidate = Candidate("", "dynamic=True", keys | strides, effect_of("dynamic=True"), tuple(doubts.items()))
    prediction = Simulation(guards.calls, equal).predict([candidate], may_end)
    best = min(((each.fewest, each.most) for each in others), default=(prediction.before, prediction.before))
    return prediction if prediction.fewest < prediction.before and (prediction.fewest, prediction.most) < best else None


NEVER_DYNAMIC = ("dynamic attribute", "argument", "specialize_float")
"""Remedies with which torch traces a number as a symbol that it took for a constant before."""


def _strides(keys: frozenset[Key], every: frozenset[Key]) -> frozenset[Key]:
    """Return the strides of tensors whose sizes a remedy makes dynamic: torch may compute them from these sizes."""
    resized = {source for cause, source, _ in keys if cause == guard_grammar.SIZE}
    return frozenset(key for key in every - keys if key[0] == guard_grammar.STRIDE and key[1] in resized)


def _removed(facts: CauseFacts, remedy: str, keys: frozenset[Key], every: frozenset[Key]) -> frozenset[Key]:
    """Return the causes that a remedy against one cause removes with it."""
    sources = {source for _, source, _ in keys}
    if remedy in ("mark dynamic", "dynamic sources", "wider mark"):
        keys |= {(guard_grammar.SIZE, *size) for size in facts.co_dynamic if remedy != "wider mark"}
        sources = {source for _, source, _ in keys}
        others = (guard_grammar.SIZE, guard_grammar.INT) if remedy == "dynamic sources" else (guard_grammar.MARK,)
        return keys | {key for key in every if key[1] in sources and key[0] in others}
    if remedy == "unbacked sources":  # an entry names a tensor, with all of its sizes
        sources |= {source for source, _ in facts.co_dynamic}
        about_sizes = (guard_grammar.SIZE, guard_grammar.INT, guard_grammar.CONDITION)
        return keys | {key for key in every if key[1] in sources and key[0] in about_sizes}
    if remedy == "mark unbacked":
        return keys | {(kind, *key[1:]) for key in keys for kind in (guard_grammar.SIZE, guard_grammar.CONDITION)}
    if remedy == "dynamic=True":
        return keys | {key for key in every if key[0] in _DYNAMIC and not is_default(key[1])}
    if remedy == "dynamic parameters":
        return keys | {key for key in every if key[0] == guard_grammar.SIZE and is_parameter(key[1])}
    if remedy == "contiguous":
        return keys | {(guard_grammar.STRIDE, source, dim) for source in sources for dim in range(MOST_DIMS)}
    if remedy == "mark first":
        return keys | {key for key in every if key[0] == guard_grammar.MARK}
    if remedy == "tensor":
        return keys | {key for key in every if key[1] in sources and key[0] in _NUMBERS}
    if remedy == "same keys":
        containers, kinds = {guard_grammar.container(source) for source in sources}, (guard_grammar.KEY, guard_grammar.LENGTH)
        return keys | {key for key in every if key[0] in kinds and guard_grammar.container(key[1]) in containers}
    return keys


_NUMBERS = (guard_grammar.INT, guard_grammar.FLOAT, guard_grammar.CONDITION)
"""Causes of a number that a tensor has not."""


_DYNAMIC = (guard_grammar.SIZE, guard_grammar.INT, guard_grammar.FLOAT)
"""Causes that torch.compile(dynamic=True) removes."""


def name_of_cause(cause: str, source: str, dim: int | None, members: Sequence[Key] = ()) -> str:
    """Return `x dim 0`, `self.i`, `cache[*] dim 0`; for a setting of torch its name."""
    name = without_index(source) if len(_sources_of(members)) > 1 else source
    name = f"{name} dim {dim}" if dim is not None else name or cause
    return guard_grammar.without_numpy(f"{cause} of {name}" if cause in _PROPERTIES else name)


_PROPERTIES = (
    guard_grammar.GRAD, guard_grammar.DTYPE, guard_grammar.DEVICE, guard_grammar.RANK, guard_grammar.STRIDE, guard_grammar.LENGTH,
    guard_grammar.TYPE, guard_grammar.ALIASING,
)  # fmt: skip
"""Causes that are a property of their source."""


def _variation(
    facts: CauseFacts, advice: Advice, members: tuple[Key, ...], prediction: Prediction | None, together: Prediction | None,
    every: Sequence[RecompileCauses], is_proven: bool,
) -> Variation:  # fmt: skip
    sources = _sources_of(members) if len(_sources_of(members)) > 1 else ()
    source = without_index(facts.source) if sources else facts.source
    advice = _effective(facts, advice, members, prediction, together, every)
    return Variation(
        facts.cause, source, facts.dim, facts.value, len(facts.refs), tuple(facts.refs[:REFS_LISTED]),
        tuple(facts.values)[:VALUES_SHOWN], len(facts.values), facts.became, facts.fixed, tuple(facts.only[:REFS_LISTED]),
        facts.seconds, advice.text, advice.remedy, advice.proof, advice.code, facts.reported,
        sources, prediction if advice.remedy else None, is_proven,
        advice.environment, only_cause_count=len(facts.only), is_constant=facts.is_constant,
    )  # fmt: skip


def _others(members: Sequence[Key], every: Sequence[RecompileCauses]) -> list[str]:
    """Return the other causes that all recompiles with a cause have."""
    common: set[Key] | None = None
    for item in every:
        if not set(members).isdisjoint(item.causes):
            common = set(item.causes) if common is None else common.intersection(item.causes)
    common = (common or set()).difference(members)
    groups = causes_together(sorted(common, key=str))
    return list(dict.fromkeys(name_of_cause(*head, members) for head, members in groups.items()))


def _change_together(members: Sequence[Key], every: Sequence[RecompileCauses]) -> bool:
    """Return whether several sources of a cause differ in one recompile: their values change, and not only the index."""
    return any(len({key[1] for key in set(members).intersection(item.causes)}) > 1 for item in every)


def _effective(
    facts: CauseFacts, advice: Advice, members: tuple[Key, ...], prediction: Prediction | None, together: Prediction | None,
    every: Sequence[RecompileCauses],
) -> Advice:  # fmt: skip
    """Return the advice without a remedy that would remove no recompilation."""
    is_indexed = len(_sources_of(members)) > 1 and not _change_together(members, every)
    if is_indexed and not advice.remedy and facts.cause in guard_grammar.VALUES | guard_grammar.NAMED:
        return Advice("The guards name each index, so each index has a compiled version of its own.")
    if prediction is None or prediction.may_help:
        return advice
    if together is not None and name_of_cause(facts.cause, facts.source, facts.dim, members) in together.names:
        return advice
    others = _others(members, every)
    if effect_of(advice.remedy) == AUTOMATIC and not others:
        text = f"{advice.text} In this log that removes no recompilation, because each recompilation is the first with a new value."
        return Advice(text)
    more = f"{', '.join(others[:3])} differ{'s' if len(others) == 1 else ''} too" if others else "other guarded values differ too"
    return Advice(f"Fixing this alone removes no recompilation, because {more}.")
