"""Predictions: the recompilations of a frame that remain if causes are removed, computed from its guard table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
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


@frozen
class Candidate:
    """A remedy with the causes that it removes."""

    name: str
    """The source that it is about."""
    remedy: str
    keys: frozenset[Key]
    effect: str
    doubtful: frozenset[Key] = frozenset()
    """Causes that it may not remove."""


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

    @property
    def is_exact(self) -> bool:
        """Whether the guards decide each comparison."""
        return self.fewest == self.most


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
    is_relaid: bool
    """Whether a resized tensor also has another layout."""


class _Masks(NamedTuple):
    """The effects of remedies as sets of causes."""

    dynamic: int
    """Dynamic from the start."""
    automatic: int
    """Dynamic once they have changed."""
    fixed: int
    """All causes without a remedy."""
    shares: bool
    """Whether equal sizes share a symbol: with `dynamic=True`."""


class Simulation:
    """The recompilations of a frame, played again without some causes."""

    def __init__(self, calls: Sequence[Call], equal: EqualSizes = NONE_EQUAL) -> None:
        self._equal = equal
        self._bits: dict[Key, int] = {}
        self._is_complete = [call.is_complete for call in calls]
        self._recompiles = [call.is_recompile for call in calls]
        self.before = sum(self._recompiles)
        self._pairs = [[self._reduced(call.ref, comparison) for comparison in call.comparisons] for call in calls]
        self.steps = sum(map(len, self._pairs)) or 1

    def _reduced(self, ref: str, comparison: Comparison) -> _Pair:
        differing = special = special_actual = conditions = 0
        for difference in comparison.differences:
            bit = self._bit(difference.key)
            differing |= bit
            if difference.cause == guard_grammar.CONDITION:
                conditions |= bit
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
        divided, apart = map(self._union, sizes) if sizes is not None else (0, 0)
        return _Pair(comparison.version, differing, special_actual, special, unknown, is_decided, conditions, branches, divided,
                     apart, comparison.is_relaid)  # fmt: skip

    def _union(self, keys: Iterable[Key]) -> int:
        bits = 0
        for key in keys:
            bits |= self._bit(key)
        return bits

    def _bit(self, key: Key) -> int:
        return self._bits.setdefault(key, 1 << len(self._bits))

    def remaining(self, effects: Mapping[Key, str], is_certain: bool, shares: bool = False) -> int:
        """Return how many recompilations remain. With `is_certain`, an unknown value counts as a different one.

        `shares`: equal sizes share a symbol.
        """
        masks = self._masks(effects, shares)
        compiled: dict[int, int] = {}  # the version → what is dynamic in it, because it differed from an older one
        served: dict[int, int] = {}  # a call that needs no version of its own → the version that serves it
        count = 0
        for n, pairs in enumerate(self._pairs):
            tested = () if self._is_complete[n] else {pair.version for pair in pairs}
            if self._recompiles[n]:
                version = _serving(pairs, tested, compiled, served, masks, is_certain)
                if version is not None:
                    served[n] = version
                    continue
                count += 1
            became = 0
            if masks.automatic:
                for pair in pairs:
                    if pair.version in compiled:
                        became |= pair.differing & ~pair.special_actual
            compiled[n] = became & masks.automatic
        return count

    def _masks(self, effects: Mapping[Key, str], shares: bool) -> _Masks:
        """Return the effects of remedies as sets of causes."""
        dynamic = automatic = every = 0
        for key, effect in effects.items():
            bit = self._bits.get(key, 0)
            every |= bit
            if effect == DYNAMIC:
                dynamic |= bit
            elif effect == AUTOMATIC:
                automatic |= bit
        return _Masks(dynamic, automatic, ~every, shares)

    def predict(self, candidates: Sequence[Candidate]) -> Prediction:
        """Return the prediction for a set of remedies."""
        effects = {key: candidate.effect for candidate in candidates for key in candidate.keys}
        doubtful = {key for candidate in candidates for key in candidate.doubtful}
        certain = {key: effect for key, effect in effects.items() if key not in doubtful}
        shares = any(candidate.remedy == "dynamic=True" for candidate in candidates)
        fewest, most = self.range_of(effects, certain, shares)
        names, remedies = tuple(c.name for c in candidates), tuple(c.remedy for c in candidates)
        return Prediction(names, remedies, self.before, fewest, most)

    def range_of(self, effects: Mapping[Key, str], certain: Mapping[Key, str], shares: bool) -> tuple[int, int]:
        """Return how many recompilations remain at least and at most, if only the `certain` effects are sure.

        A size that is specialized again shares no symbol, so with uncertain effects equal sizes may be apart.
        """
        fewest, most = self.remaining(effects, False, shares), self.remaining(certain, True, shares)
        if shares and len(certain) < len(effects):
            fewest = min(fewest, self.remaining(effects, False, False))
        return fewest, max(fewest, most)


def _serving(
    pairs: Sequence[_Pair], tested: Collection[int], compiled: Mapping[int, int], served: Mapping[int, int], masks: _Masks,
    is_certain: bool,
) -> int | None:  # fmt: skip
    """Return the version that serves a call once the remedies hold; None for none.

    A call that was compared with some older versions only: what serves one of them serves it too.
    """
    merged: dict[int, int] = defaultdict(int)  # the conditions of versions that another one serves now, which fail
    for pair in pairs:
        if pair.version in served:
            merged[served[pair.version]] |= pair.conditions & masks.fixed
    for pair in pairs:
        if pair.differing & masks.fixed or (is_certain and (pair.unknown & masks.fixed or not pair.is_decided)):
            continue
        if pair.special & masks.dynamic or pair.special_actual & masks.automatic:
            continue
        version = pair.version
        if version not in compiled and tested:
            version = served.get(version, version)
            if version in tested:
                continue
        if version not in compiled or pair.differing & masks.automatic & ~compiled[version] or merged.get(version):
            continue
        if not _takes_another_branch(pair, masks, next(iter(compiled)) == pair.version, is_certain):
            return version
    return None


def _takes_another_branch(pair: _Pair, masks: _Masks, is_first: bool, is_certain: bool) -> bool:
    """Return whether the older version, with dynamic sizes, would have a condition that does not hold in the call.

    `is_first`: no size had changed before. From then on, a size that changed has a symbol of its own.
    """
    free = masks.dynamic | masks.automatic
    if not pair.differing & free:
        return False
    if masks.shares and ((pair.divided & masks.dynamic and (is_first or is_certain)) or (is_certain and pair.apart)):
        return True
    if is_certain and pair.is_relaid:
        return True
    is_proven = is_certain or not pair.differing & ~free
    return is_proven and any(sizes & free for sizes in pair.branches)


def has_unseen_floats(keys: Collection[Key]) -> bool:
    """Return whether calls can have floats that the log does not show, if they are dynamic from the start.

    Eager code may compute a float that a graph break returns anew for each call. In a function of numpy arrays torch specializes a
    float, depending on the dtype of the array (torch/_numpy/_dtypes_impl.py): values that one version served need one each.
    """
    floats = [source for cause, source, _ in keys if cause == guard_grammar.FLOAT]
    return any(source.startswith("___stack") for source in floats) or (
        bool(floats) and any(source.startswith("___from_numpy(") for _, source, _ in keys)
    )


def predictions_of(
    calls: Sequence[Call], candidates: Sequence[Candidate], equal: EqualSizes = NONE_EQUAL
) -> tuple[list[Prediction], Prediction | None]:
    """Return the prediction of each candidate alone, and the smallest set that leaves the fewest recompilations.

    The set is None if one candidate alone does as much.
    """
    simulation = Simulation(calls, equal)
    alone = [simulation.predict([candidate]) for candidate in candidates]
    if len(candidates) < 2:
        return alone, None
    everything = simulation.predict(candidates)
    if everything.fewest >= min(prediction.fewest for prediction in alone):
        return alone, None
    return alone, _smallest(simulation, candidates, everything)


def _smallest(simulation: Simulation, candidates: Sequence[Candidate], everything: Prediction) -> Prediction:
    sets = 2 ** len(candidates)
    if len(candidates) <= MOST_EXACT and sets * simulation.steps <= MOST_STEPS:
        for size in range(2, len(candidates)):
            for chosen in combinations(candidates, size):
                prediction = simulation.predict(chosen)
                if prediction.fewest <= everything.fewest and prediction.most <= everything.most:
                    return prediction
        return everything
    return _greedy(simulation, list(candidates), everything)


def _greedy(simulation: Simulation, candidates: list[Candidate], everything: Prediction) -> Prediction:
    """Drop each candidate without which as few recompilations remain."""
    chosen = candidates[: MOST_STEPS // simulation.steps + 1]
    if len(chosen) < len(candidates):
        return everything
    for candidate in candidates:
        others = [other for other in chosen if other is not candidate]
        prediction = simulation.predict(others) if others else None
        if prediction is not None and prediction.fewest <= everything.fewest and prediction.most <= everything.most:
            chosen = others
    return simulation.predict(chosen)


def causes_together(keys: Iterable[Key]) -> dict[Key, tuple[Key, ...]]:
    """Group causes whose sources differ only in an index: the first of each group → all of them."""
    groups: dict[Key, list[Key]] = defaultdict(list)
    for cause, source, dim in dict.fromkeys(keys):
        name = source if cause == guard_grammar.STATE else without_index(source)
        groups[(cause, name, dim)].append((cause, source, dim))
    return {members[0]: tuple(members) for members in groups.values()}
