"""Predictions: the recompilations of a frame that remain if causes are removed, computed from its guard table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.explanations import Key
from tltui.questions.recompiles.guard_comparison import Comparison, Difference
from tltui.questions.recompiles.guard_grammar import SPECIAL
from tltui.questions.recompiles.guard_table import Call
from tltui.text.frozen import frozen

MOST_EXACT = 12
"""Candidates up to which every set of them is computed; of more, those without which as few recompilations remain are dropped."""
MOST_STEPS = 400_000
"""Comparisons of one search for the best set."""

REMOVED, DYNAMIC, AUTOMATIC = "removed", "dynamic", "automatic"
"""Effects of a remedy on a value: it no longer differs; dynamic from the first compile on; dynamic once it has changed."""
_DYNAMIC = ("mark dynamic", "dynamic=True", "dynamic sources")
_AUTOMATIC = ("no mark_static", "specialize_float", "dynamic attribute", "dynamic parameters", "argument", "stack")
_WITHOUT_EFFECT = ("", "nothing to do")

_INDEX = re.compile(r"(?<=[\w\]])\[\d+\]|\._(?:modules|parameters|buffers)\['\d+'\]|(?<=\w)\.\d+(?=\.|$)")
_TOP = re.compile(r"^(?:args|kwargs|\w+\.__defaults__|list\(.*\))\[[^\]]*\](?:\[[^\]]*\])*")


def without_index(source: str) -> str:
    """Return a source with `*` in place of its indices: `layers[0].i` and `layers[1].i` are one cause. Arguments are not."""
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
    """A comparison, reduced to what a prediction needs."""

    version: int
    differences: tuple[Difference, ...]
    unknown: frozenset[Key]
    is_complete: bool


class Simulation:
    """The recompilations of a frame, played again without some causes."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.before = sum(call.is_recompile for call in calls)
        self._pairs: list[tuple[_Pair, ...]] = [tuple(_reduced(call.comparisons)) for call in calls]
        self.steps = sum(map(len, self._pairs)) or 1

    def remaining(self, effects: Mapping[Key, str], is_certain: bool) -> int:
        """Return how many recompilations remain. With `is_certain`, an unknown value counts as a different one."""
        compiled: dict[int, set[Key]] = {}  # the version → what is dynamic in it
        count = 0
        for n, (call, pairs) in enumerate(zip(self._calls, self._pairs, strict=True)):
            if call.is_recompile and any(
                pair.version in compiled and _fits(pair, compiled[pair.version], effects, is_certain) for pair in pairs
            ):
                continue
            compiled[n] = _dynamic_in(pairs, compiled, effects)
            count += call.is_recompile
        return count

    def predict(self, candidates: Sequence[Candidate]) -> Prediction:
        """Return the prediction for a set of remedies."""
        effects = {key: candidate.effect for candidate in candidates for key in candidate.keys}
        doubtful = {key for candidate in candidates for key in candidate.doubtful}
        certain = {key: effect for key, effect in effects.items() if key not in doubtful}
        fewest, most = self.remaining(effects, False), self.remaining(certain, True)
        names, remedies = tuple(c.name for c in candidates), tuple(c.remedy for c in candidates)
        return Prediction(names, remedies, self.before, fewest, max(fewest, most))


def _reduced(comparisons: Iterable[Comparison]) -> Iterable[_Pair]:
    for comparison in comparisons:
        yield _Pair(*comparison)


def _fits(pair: _Pair, dynamic: set[Key], effects: Mapping[Key, str], is_certain: bool) -> bool:
    """Return whether a call matches a version once the effects hold."""
    for difference in pair.differences:
        key = difference.key
        effect = effects.get(key)
        if effect is None:
            return False
        if effect == REMOVED:
            continue
        if _is_special(difference, effect) or (effect == AUTOMATIC and key not in dynamic):
            return False
    if not is_certain:
        return True
    return bool(pair.differences) and all(key in effects for key in pair.unknown) and (pair.is_complete or bool(pair.unknown))


def _is_special(difference: Difference, effect: str) -> bool:
    """Return whether torch compiles one of the values for itself: the sizes 0 and 1, but no ints."""
    if difference.cause != guard_grammar.SIZE:
        return False
    return difference.actual in SPECIAL or (effect == DYNAMIC and difference.expected in SPECIAL)


def _dynamic_in(pairs: Iterable[_Pair], compiled: Mapping[int, set[Key]], effects: Mapping[Key, str]) -> set[Key]:
    """Return the values that become dynamic in a compile because they differ from those of an older one."""
    return {
        difference.key
        for pair in pairs if pair.version in compiled
        for difference in pair.differences
        if effects.get(difference.key) == AUTOMATIC and not _is_special(difference, AUTOMATIC)
    }  # fmt: skip


def predictions_of(calls: Sequence[Call], candidates: Sequence[Candidate]) -> tuple[list[Prediction], Prediction | None]:
    """Return the prediction of each candidate alone, and the smallest set that leaves the fewest recompilations.

    The set is None if one candidate alone does as much.
    """
    simulation = Simulation(calls)
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
