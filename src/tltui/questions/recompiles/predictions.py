"""Predictions: the recompilations of a frame that remain if causes are removed, computed from its guard table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.equal_sizes import EqualSizes
from tltui.questions.recompiles.explanations import Key
from tltui.questions.recompiles.guard_comparison import Comparison
from tltui.questions.recompiles.guard_grammar import SPECIAL
from tltui.questions.recompiles.guard_table import Call
from tltui.text.frozen import frozen

MOST_EXACT = 12
"""Candidates up to which every set of them is computed; of more, those without which as few recompilations remain are dropped."""
MOST_STEPS = 400_000
"""Comparisons of one search for the best set."""

NONE_EQUAL: EqualSizes = MappingProxyType({})
REMOVED, DYNAMIC, AUTOMATIC = "removed", "dynamic", "automatic"
"""Effects of a remedy on a value: it no longer differs; dynamic from the first compile on; dynamic once it has changed."""
_DYNAMIC = ("mark dynamic", "dynamic=True", "dynamic sources")
_AUTOMATIC = ("no mark_static", "specialize_float", "dynamic attribute", "dynamic parameters", "argument", "stack")
_WITHOUT_EFFECT = ("", "nothing to do")

_INDEX = re.compile(r"(?<=[\w\]])\[\d+\]|\._(?:modules|parameters|buffers)\['\d+'\]|(?<=\w)\.\d+(?=\.|$)")
_SUBMODULES = re.compile(r"\._modules\[.*(?=\.training\Z)", re.DOTALL)
"""The path of a submodule: train() and eval() set the mode of all of them at once."""
_TOP = re.compile(r"^(?:args|kwargs|\w+\.__defaults__|list\(.*\))\[[^\]]*\](?:\[[^\]]*\])*")


def without_index(source: str) -> str:
    """Return a source with `*` in place of its indices: `layers[0].i` and `layers[1].i` are one cause. Arguments are not.

    The training mode of a submodule is that of its module.
    """
    source = _SUBMODULES.sub("", source)
    top = _TOP.match(source)
    start = top.end() if top is not None else 0
    return source[:start] + _INDEX.sub("[*]", source[start:]) if start < len(source) else source


def effect_of(remedy: str) -> str:
    """Return the effect of a remedy; '' for none."""
    if remedy in _WITHOUT_EFFECT:
        return ""
    return DYNAMIC if remedy in _DYNAMIC else AUTOMATIC if remedy in _AUTOMATIC else REMOVED


BRANCHES, SPECIALIZED, OTHER_CALLS, UNBACKED = "branches", "specialized", "other calls", "unbacked"
SHARED, UNRECORDED, LAYOUT, STRIDES, SKIPPED = "shared", "unrecorded", "layout", "strides", "skipped"
ALIASED, LIMIT, BRANCHED, AFTER_LIMIT = "aliased", "limit", "branched", "after the limit"
VIEWS, OTHER_VIEWS, RESHAPED, REFUSED = "views", "other views", "reshaped", "refused"
RESPECIALIZED = "respecialized"
DOUBTS: dict[str, str] = {
    BRANCHES: "your code or torch branches on the value",
    SPECIALIZED: "a line specializes it again",
    RESPECIALIZED: "no line specializes it then",
    OTHER_CALLS: "calls with other arguments need one size",
    UNBACKED: "your code or torch branches on the size",
    SHARED: "sizes that were equal differ in a call",
    UNRECORDED: "guarded values that the log lacks differ",
    LAYOUT: "sizes explain the layout in memory",
    ALIASED: "the list or dict has one tensor twice in each call",
    LIMIT: "a call without guards has an older value",
    BRANCHED: "the code for one value serves the others",
    VIEWS: "a tensor is a view in each call or in none",
    OTHER_VIEWS: "a tensor is a view in some calls only",
    RESHAPED: "reshaped tensors have equal sizes",
    AFTER_LIMIT: "calls after the limit are like earlier ones",
    REFUSED: "calls after the limit need versions too",
    STRIDES: "a stride does not follow from the sizes",
    SKIPPED: "torch does not skip the function",
}
"""Facts that guards may not decide → the condition under which the number of recompilations is not the expected one."""
EXPECTED = (RESPECIALIZED, LAYOUT, ALIASED, LIMIT, BRANCHED, AFTER_LIMIT, VIEWS, RESHAPED)
"""The doubts that are taken for true: the log shows a sign of each, as in the programs of docs/advice-corpus.md."""
_WORST = tuple(doubt for doubt in DOUBTS if doubt != REFUSED)
_NEVER_SEEN = (UNBACKED, BRANCHES)
"""Doubts about remedies that no compile of the log had: a symbol in the call is no proof against them."""


@frozen
class Candidate:
    """A remedy with the causes that it removes."""

    name: str
    """The source that it is about."""
    remedy: str
    keys: frozenset[Key]
    effect: str
    doubts: tuple[tuple[Key, str], ...] = ()
    """Causes that it may not remove, each with the reason: a key of `DOUBTS`."""


@frozen
class Prediction:
    """The recompilations that remain with a set of remedies."""

    names: tuple[str, ...]
    """The sources that they are about."""
    remedies: tuple[str, ...]
    """The remedy for each of them."""
    before: int
    """Recompilations of the frame in the log."""
    fewest: int
    """Recompilations that remain, if all that the guards do not show is equal."""
    most: int
    """Recompilations that remain, if it differs in each call."""
    expected: int
    """The probable number of them; `fewest` and `most` where the guards decide all."""
    condition: str = ""
    """The condition under which the number is another one (`if …`), as a key of `DOUBTS`; '' for none."""

    @property
    def is_exact(self) -> bool:
        """Whether the guards decide each comparison."""
        return self.fewest == self.most

    @property
    def may_help(self) -> bool:
        """Whether the remedies may remove a recompilation; that a graph break ends the function early does not count."""
        return (self.expected if self.condition in (UNBACKED, LIMIT, AFTER_LIMIT) else self.fewest) < self.before


def other_outcomes(fewest: int, most: int, expected: int, condition: str = "") -> str:
    """Format the other possible numbers: ` (up to 8 if sizes that were equal differ in a call)`, without it ` (up to 8)`."""
    if fewest == most:
        return ""
    if expected == fewest:
        others = f"up to {most:,}"
    elif fewest < most - 1:
        others = f"{fewest:,} to {expected - 1 if expected == most else most:,}"
    else:
        others = f"{fewest:,}" if condition else f"or {fewest:,}"
    return f" ({others} if {condition})" if condition else f" ({others})"


_NUMBERS = (guard_grammar.INT, guard_grammar.FLOAT, guard_grammar.CONDITION)
"""Causes that are a number: each call may have another one."""


OFFSET = ".storage_offset()"
"""A number that has a symbol, and conditions, only in versions for tensors that start behind the start of their memory."""
MOST_DIMS = 8
"""Dimensions of a reshaped tensor whose remedies count."""


class _Pair(NamedTuple):
    """A comparison as sets of causes: bit n is the nth cause."""

    version: int
    differing: int
    special_actual: int
    """Sizes that torch compiles for themselves, as 0 and 1, in the call."""
    special: int
    """The same, in the call or in the older version."""
    unknown: int
    is_decided: bool
    """Whether the guards decide the comparison once the unknown causes are removed."""
    conditions: int
    """Conditions of the older version that do not hold."""
    branches: tuple[int, ...]
    """The sizes and numbers of each condition of the call that is false for the older version."""
    divided: int
    """Sizes that share a symbol in the older version, if all are dynamic, and differ in the call."""
    apart: int
    """Sizes that share a symbol, and may differ in calls that the log does not have."""
    fresh: int
    """Those of `divided` that no earlier version has."""
    laid: int
    """Strides that do not follow from the sizes."""
    relaid: int
    """Those that probably do not."""
    loose: int
    """Those that no sizes explain in both."""
    specialized: tuple[tuple[int, int], ...]
    """Sizes and numbers that differ, and that the compile of one of the two specialized, each with constants that equal it."""
    free: int
    """Sizes and numbers that differ and are symbols in the compile of the call."""
    needed: int
    """Sizes and numbers that differ, and that code needs as numbers."""
    aliased: int
    """Keys of dicts, by which one of the two has a tensor twice."""
    reshaped: tuple[tuple[int, int], ...]
    """Tensors with another number of dimensions and of elements, each with its sizes."""
    likely: int
    """Values that probably differ, of a call without guards."""
    is_branched: bool
    """Whether the two traced different code, although only numbers differ."""


class _Masks(NamedTuple):
    """The effects of remedies as sets of causes."""

    dynamic: int
    """Dynamic from the start."""
    automatic: int
    """Dynamic once they have changed."""
    fixed: int
    """All causes without a remedy."""
    removed: int
    """They no longer differ."""
    blocked: int
    """Causes that a remedy removes only where the compile of the call shows that they stay symbols."""
    shares: bool
    """Whether equal sizes share a symbol: with `dynamic=True`."""
    worst: Collection[str]
    """The doubts that are taken for true."""


class Simulation:
    """The recompilations of a frame, played again without some causes."""

    def __init__(self, calls: Sequence[Call], equal: EqualSizes = NONE_EQUAL) -> None:
        self._equal = equal
        self._bits: dict[Key, int] = {}
        self._is_complete = [call.is_complete for call in calls]
        self._recompiles = [call.is_recompile for call in calls]
        self._views = [bool(call.views) for call in calls]
        self._both = _with_both(calls)
        self._at_limit = {n: self._numbers(call) for n, call in enumerate(calls) if call.is_at_limit}
        self.before = sum(self._recompiles)
        self._pairs = [[self._reduced(call.ref, comparison) for comparison in call.comparisons] for call in calls]
        self.steps = sum(map(len, self._pairs)) or 1
        self._open = self._open_doubts()
        self._counts: dict[tuple[Hashable, ...], int] = {}

    def _open_doubts(self) -> frozenset[str]:
        """Return the doubts that make a difference in these calls, whatever the remedies are."""
        pairs = [pair for pairs in self._pairs for pair in pairs]
        facts = {
            UNRECORDED: any(pair.unknown or not pair.is_decided or pair.branches for pair in pairs),
            RESHAPED: any(pair.reshaped for pair in pairs), ALIASED: any(pair.aliased for pair in pairs),
            LIMIT: any(pair.likely for pair in pairs), SHARED: any(pair.divided or pair.apart for pair in pairs),
            LAYOUT: any(pair.relaid for pair in pairs), STRIDES: any(pair.loose for pair in pairs),
            RESPECIALIZED: any(pair.specialized for pair in pairs), BRANCHED: any(pair.is_branched for pair in pairs),
            VIEWS: bool(self._both), OTHER_VIEWS: any(self._views),
            REFUSED: bool(self._at_limit), AFTER_LIMIT: bool(self._at_limit),
        }  # fmt: skip
        return frozenset(doubt for doubt, is_open in facts.items() if is_open)

    def _reduced(self, ref: str, comparison: Comparison) -> _Pair:
        differing = special = special_actual = conditions = 0
        for difference in comparison.differences:
            bit = self._bit(difference.key)
            differing |= bit
            if difference.cause == guard_grammar.CONDITION:
                conditions |= bit if OFFSET not in difference.expected else 0
            elif difference.cause == guard_grammar.SIZE:
                if difference.actual in SPECIAL:
                    special_actual |= bit
                    special |= bit
                elif difference.expected in SPECIAL:
                    special |= bit
        unknown = 0
        for key in comparison.unknown:
            unknown |= self._bit(key)
        is_decided = bool(differing) and (comparison.is_complete or bool(unknown))
        branches = tuple(self._union(keys) for keys in comparison.branches)
        sizes = self._equal.get((ref, comparison.version))
        reshaped = tuple((self._bit(key), self._union((guard_grammar.SIZE, key[1], dim) for dim in range(MOST_DIMS)))
                         for key in comparison.reshaped)  # fmt: skip
        divided, apart, fresh = map(self._union, sizes) if sizes is not None else (0, 0, 0)
        strides = self._union(comparison.laid), self._union(comparison.relaid), self._union(comparison.loose)
        return _Pair(comparison.version, differing, special_actual, special, unknown, is_decided, conditions, branches, divided,
                     apart, fresh, *strides,
                     tuple((self._bit(key), self._union(equal)) for key, equal in comparison.specialized),
                     self._union(comparison.free), self._union(comparison.needed),
                     self._union(comparison.aliased), reshaped, self._union(comparison.likely),
                     comparison.is_branched)  # fmt: skip

    def _numbers(self, call: Call) -> int:
        """Return the numbers, other than sizes, that differ in a call."""
        differences = (difference for comparison in call.comparisons for difference in comparison.differences)
        return self._union(d.key for d in differences if d.dim is None and (d.cause in _NUMBERS or (
            d.cause in guard_grammar.NAMED and guard_grammar.value_kind(d.expected) in guard_grammar.NUMBERS
        )))  # fmt: skip

    def _union(self, keys: Iterable[Key]) -> int:
        bits = 0
        for key in keys:
            bits |= self._bit(key)
        return bits

    def _bit(self, key: Key) -> int:
        return self._bits.setdefault(key, 1 << len(self._bits))

    def remaining(
        self, effects: Mapping[Key, str], doubts: Mapping[Key, str] = MappingProxyType({}), worst: Collection[str] = (),
        shares: bool = False,
    ) -> int:  # fmt: skip
        """Return how many recompilations remain, with the doubts in `worst` taken for true.

        `doubts`: causes that a remedy may not remove; `shares`: equal sizes share a symbol.
        """
        worst = self._open.union(doubts.values()).intersection(worst)
        key = frozenset(effects.items()), frozenset(doubts.items()), shares, worst
        if key not in self._counts:
            self._counts[key] = self._count(effects, doubts, worst, shares)
        return self._counts[key]

    def _count(self, effects: Mapping[Key, str], doubts: Mapping[Key, str], worst: frozenset[str], shares: bool) -> int:
        """Play the calls again and count the recompilations."""
        masks = self._masks(effects, {key for key, doubt in doubts.items() if doubt in worst}, doubts, shares, worst)
        compiled: dict[int, int] = {}  # the version → what is dynamic in it, because it differed from an older one
        served: dict[int, int] = {}  # a call that needs no version of its own → the version that serves it
        count = 0
        for n, pairs in enumerate(self._pairs):
            tested = () if self._is_complete[n] else {pair.version for pair in pairs}
            if self._recompiles[n]:
                version = _serving(pairs, tested, compiled, served, masks)
                if version is not None:
                    served[n] = version
                    continue
                count += 1
                if n in self._at_limit and (
                    REFUSED in worst or (AFTER_LIMIT in worst and self._at_limit[n] & masks.fixed)
                ):  # each version less leaves room for a call after it, which has another number if this one needs the number
                    return self.before
            # a version for a view guards on the tensor that it is a view of, so a tensor that is none needs another version
            if shares and ((n in self._both and VIEWS in worst) or (self._views[n] and OTHER_VIEWS in worst)):
                count += 1
            became = 0
            if masks.automatic:
                for pair in pairs:
                    if pair.version in compiled:
                        became |= pair.differing & ~pair.special_actual
            compiled[n] = became & masks.automatic
        return count

    def _masks(
        self, effects: Mapping[Key, str], blocked: Collection[Key], doubts: Mapping[Key, str], shares: bool, worst: Collection[str]
    ) -> _Masks:
        """Return the effects of remedies as sets of causes."""
        dynamic = automatic = every = held = removed = 0
        for key, effect in effects.items():
            bit = self._bits.get(key, 0)
            if key in blocked:
                if doubts[key] in _NEVER_SEEN:
                    continue
                held |= bit
            every |= bit
            if effect == DYNAMIC:
                dynamic |= bit
            elif effect == AUTOMATIC:
                automatic |= bit
            elif doubts.get(key) != STRIDES:
                removed |= bit
        return _Masks(dynamic, automatic, ~every, removed, held, shares, worst)

    def predict(self, candidates: Sequence[Candidate], skipped: bool = False) -> Prediction:
        """Return the prediction for a set of remedies. `skipped`: torch may skip the function at another graph break."""
        effects, doubts, shares = _together(candidates)
        names, remedies = tuple(c.name for c in candidates), tuple(c.remedy for c in candidates)
        return Prediction(names, remedies, self.before, *self.outcome(effects, doubts, shares, skipped))

    def bounds(self, candidates: Sequence[Candidate]) -> tuple[int, int]:
        """Return how many recompilations remain with a set of remedies, at least and at most."""
        return self._range(*_together(candidates))

    def _range(self, effects: Mapping[Key, str], doubts: Mapping[Key, str], shares: bool) -> tuple[int, int]:
        """Return the fewest and the most recompilations that remain.

        A size that is specialized again shares no symbol, so with uncertain effects equal sizes may be apart.
        """
        fewest, most = self.remaining(effects, doubts, (), shares), self.remaining(effects, doubts, _WORST, shares)
        if self._at_limit:  # where the refused call is served, those after it are taken to be
            most = max(most, self.remaining(effects, doubts, (*EXPECTED, REFUSED), shares))
        if shares and doubts:
            fewest = min(fewest, self.remaining(effects, doubts))
        return fewest, max(fewest, most)

    def outcome(
        self, effects: Mapping[Key, str], doubts: Mapping[Key, str], shares: bool, skipped: bool = False
    ) -> tuple[int, int, int, str]:
        """Return the fewest, the most and the expected recompilations that remain, and the doubt (a key of `DOUBTS`)."""
        self._counts.clear()  # they serve one set of remedies
        fewest, most = self._range(effects, doubts, shares)
        expected = 0 if skipped else min(max(self.remaining(effects, doubts, EXPECTED, shares), fewest), most)
        may_break = UNBACKED in doubts.values()  # a branch on an unbacked size breaks the graph: the rest is another function
        fewest = 0 if skipped or may_break else fewest
        if fewest == most:
            return fewest, most, fewest, ""
        changed = {
            doubt: self.remaining(effects, doubts, [*EXPECTED, doubt] if doubt not in EXPECTED else
                                  [other for other in EXPECTED if other != doubt], shares)
            for doubt in DOUBTS if doubt != SKIPPED
        }  # fmt: skip
        doubt = max(changed, key=lambda each: abs(changed[each] - expected))
        if skipped:
            doubt = SKIPPED
        elif may_break and changed[doubt] == expected:
            doubt = UNBACKED
        elif changed[doubt] == expected:  # only several together make a difference
            doubt = UNRECORDED
        return fewest, most, expected, doubt


def _with_both(calls: Sequence[Call]) -> frozenset[int]:
    """Return the versions for a view that would serve a later call without one, if only sizes and numbers counted."""
    return frozenset(
        pair.version for call in calls for pair in call.comparisons
        if not calls[pair.version].views <= call.views and _may_serve(pair)
    )  # fmt: skip


def _may_serve(pair: Comparison) -> bool:
    """Return whether two calls differ in dynamic sizes and in numbers only."""
    is_other = any(
        each.cause == guard_grammar.CONDITION
        or (each.cause == guard_grammar.SIZE and (each.expected in SPECIAL or each.actual in SPECIAL))
        for each in pair.differences
    )  # fmt: skip
    return pair.is_same_code and not (pair.laid or pair.relaid or pair.loose or is_other)


def _together(candidates: Iterable[Candidate]) -> tuple[dict[Key, str], dict[Key, str], bool]:
    """Return the effects and the doubts of several remedies, and whether equal sizes share a symbol.

    A size that is marked dynamic and unbacked is unbacked (torch/_dynamo/variables/builder.py).
    """
    effects: dict[Key, str] = {}
    doubts: dict[Key, str] = {}
    shares = False
    for candidate in candidates:
        for key in candidate.keys:
            if effects.get(key) != REMOVED:
                effects[key] = candidate.effect
        doubts.update(candidate.doubts)
        shares |= candidate.remedy == "dynamic=True"
    return effects, doubts, shares


def _serving(
    pairs: Sequence[_Pair], tested: Collection[int], compiled: Mapping[int, int], served: Mapping[int, int], masks: _Masks
) -> int | None:
    """Return the version that serves a call once the remedies hold; None for none.

    A call that was compared with some older versions only: what serves one of them serves it too.
    """
    merged: dict[int, int] = defaultdict(int)  # the conditions of versions that another one serves now, which fail
    for pair in pairs:
        if pair.version in served:
            merged[served[pair.version]] |= pair.conditions & masks.fixed
    is_unrecorded = UNRECORDED in masks.worst
    for pair in pairs:
        if pair.differing & (masks.fixed | (masks.blocked & ~pair.free)) or pair.needed & (masks.dynamic | masks.automatic):
            continue
        if _is_relaid(pair, masks) or (RESPECIALIZED in masks.worst and _is_specialized(pair, masks.dynamic | masks.automatic)):
            continue
        if is_unrecorded and (pair.unknown & masks.fixed or not pair.is_decided):
            continue
        if pair.special & masks.dynamic or pair.special_actual & masks.automatic:
            continue
        if RESHAPED in masks.worst and any(rank & ~masks.fixed and not sizes & ~masks.fixed for rank, sizes in pair.reshaped):
            continue
        if (ALIASED in masks.worst and pair.aliased & ~masks.fixed) or (LIMIT in masks.worst and pair.likely & masks.fixed):
            continue
        version = pair.version
        if version not in compiled and tested:
            version = served.get(version, version)
            if version in tested:
                continue
        if version not in compiled or pair.differing & masks.automatic & ~compiled[version] or merged.get(version):
            continue
        if not _takes_another_branch(pair, masks, next(iter(compiled)) == pair.version):
            return version
    return None


def _is_relaid(pair: _Pair, masks: _Masks) -> bool:
    """Return whether a tensor of the call has another layout in memory than the older version requires."""
    strides = pair.laid | (pair.relaid if LAYOUT in masks.worst else 0) | (pair.loose if STRIDES in masks.worst else 0)
    return bool(strides & ~masks.removed)


def _is_specialized(pair: _Pair, free: int) -> bool:
    """Return whether a size or number that a remedy makes dynamic is expected to be specialized again, by no equal constant."""
    return any(number & free and not equal & free for number, equal in pair.specialized)


def _takes_another_branch(pair: _Pair, masks: _Masks, is_first: bool) -> bool:
    """Return whether the older version, with dynamic sizes, would have a condition that does not hold in the call.

    `is_first`: no size had changed before. From then on, a size that changed has a symbol of its own.
    """
    free = masks.dynamic | masks.automatic
    if not pair.differing & free:
        return False
    is_shared = SHARED in masks.worst
    divided = pair.divided if is_first or is_shared else pair.fresh
    if masks.shares and (divided & masks.dynamic or (is_shared and pair.apart)):
        return True
    if BRANCHED in masks.worst and pair.is_branched:
        return True
    is_proven = UNRECORDED in masks.worst or not pair.differing & ~free
    return is_proven and any(sizes & free for sizes in pair.branches)


def has_unseen_floats(keys: Collection[Key], constants: int) -> bool:
    """Return whether calls can have floats that the log does not show, if they are dynamic from the start.

    Eager code may compute a float that a graph break returns anew for each call. In a function of numpy arrays torch specializes a
    float, depending on the dtype of the array (torch/_numpy/_dtypes_impl.py): values that one version served need one each.

    `constants`: the floats that guards fix. With dynamic=True they are symbols too, and torch specializes those that it cannot
    make tensors. It remembers them by name for later compiles (TensorifyState in torch/_dynamo/symbolic_convert.py), and names are
    hashes modulo 100: of many, one may be the name of a float that would stay dynamic.
    """
    floats = [source for cause, source, _ in keys if cause == guard_grammar.FLOAT]
    return any(source.startswith("___stack") for source in floats) or (
        bool(floats) and (constants >= MANY_FLOATS or any(source.startswith(guard_grammar.NUMPY) for _, source, _ in keys))
    )


MANY_FLOATS = 10
"""Floats fixed by guards from which on one of them may share its name with another float in a later compile."""


def predictions_of(
    calls: Sequence[Call], candidates: Sequence[Candidate], equal: EqualSizes = NONE_EQUAL, may_end: bool = False
) -> tuple[list[Prediction], Prediction | None]:
    """Return the prediction of each candidate alone, and the smallest set that leaves the fewest recompilations.

    The set is None if one candidate alone does as much. `may_end`: torch may skip the function at another graph break.
    """
    simulation = Simulation(calls, equal)
    alone = [simulation.predict([candidate], may_end and candidate.remedy == "dynamic=True") for candidate in candidates]
    if len(candidates) < 2:
        return alone, None
    everything = simulation.bounds(candidates)
    if everything[0] >= min(simulation.bounds([candidate])[0] for candidate in candidates):
        return alone, None
    return alone, simulation.predict(_smallest(simulation, candidates, everything))


def _smallest(simulation: Simulation, candidates: Sequence[Candidate], everything: tuple[int, int]) -> Sequence[Candidate]:
    sets = 2 ** len(candidates)
    if len(candidates) <= MOST_EXACT and sets * simulation.steps <= MOST_STEPS:
        for size in range(2, len(candidates)):
            for chosen in combinations(candidates, size):
                if _is_as_good(simulation.bounds(chosen), everything):
                    return chosen
        return candidates
    return _greedy(simulation, list(candidates), everything)


def _is_as_good(bounds: tuple[int, int], everything: tuple[int, int]) -> bool:
    return bounds[0] <= everything[0] and bounds[1] <= everything[1]


def _greedy(simulation: Simulation, candidates: list[Candidate], everything: tuple[int, int]) -> Sequence[Candidate]:
    """Drop each candidate without which as few recompilations remain."""
    chosen = candidates[: MOST_STEPS // simulation.steps + 1]
    if len(chosen) < len(candidates):
        return candidates
    for candidate in candidates:
        others = [other for other in chosen if other is not candidate]
        if others and _is_as_good(simulation.bounds(others), everything):
            chosen = others
    return chosen


def causes_together(keys: Iterable[Key]) -> dict[Key, tuple[Key, ...]]:
    """Group causes whose sources differ only in an index: the first of each group → all of them."""
    groups: dict[Key, list[Key]] = defaultdict(list)
    for cause, source, dim in dict.fromkeys(keys):
        name = source if cause == guard_grammar.STATE else without_index(source)
        groups[(cause, name, dim)].append((cause, source, dim))
    return {members[0]: tuple(members) for members in groups.values()}
