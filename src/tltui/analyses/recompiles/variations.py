"""What varied between the compiles of a frame: one entry a cause, over all its recompiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tltui.analyses.recompiles import causes
from tltui.analyses.recompiles.advice import Advice, Seen, Settings
from tltui.analyses.recompiles.causes import is_value
from tltui.analyses.recompiles.explained import Explained, Key, Reason
from tltui.analyses.recompiles.remedies import advice_for

VALUES_KEPT = 12
REFS_KEPT = 200
REASONS_KEPT = 20


@dataclass(frozen=True, slots=True)
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
    """What was met, in this order; the first ones of very many."""
    distinct: int
    """How many values were met."""
    became: str | None
    """The compile in which torch made it dynamic by itself."""
    fixed_again: str | None
    """The compile that shows that it did not stay dynamic: its value was fixed again."""
    only_cause: tuple[str, ...]
    """Recompiles for which no other cause is named."""
    only_cause_seconds: float
    """What those took: what it would have saved, as far as torch tells."""
    advice: str
    """What helps, or why nothing does; '' for nothing to say."""
    remedy: str
    """The name of the remedy in docs/recompiles.md; '' where none is given."""
    proof: str
    """`proven` by a program that torch ran with it, `quoted` from torch, or ''."""
    code: tuple[str, ...]
    """The remedy as Python, where it is a line to run before the first call."""


@dataclass(slots=True)
class _Seen:
    reasons: list[Reason] = field(default_factory=list)
    refs: list[str] = field(default_factory=list)
    values: dict[str, None] = field(default_factory=dict)
    only: list[str] = field(default_factory=list)
    seconds: float = 0.0
    became: str | None = None
    fixed: str | None = None
    free: set[str] = field(default_factory=set)
    """The compiles since which it is dynamic."""
    beside: tuple[tuple[str, int], ...] = ()
    """The other sizes that became dynamic in the same compile as this one."""

    def take(self, reason: Reason, ref: str) -> None:
        """One more reason for the same cause."""
        if len(self.reasons) < REASONS_KEPT:
            self.reasons.append(reason)
        nan = "nan" in (reason.expected, reason.actual)
        if reason.earlier in self.free and reason.cause != causes.CONDITION and not nan:
            self.fixed = self.fixed or ref
        if reason.cause == causes.CONDITION:
            values: Sequence[str] = (reason.expected,)
        else:
            values = () if reason.cause == causes.STATE and reason.settings else (reason.expected, reason.actual)
        for value in values:
            if is_value(value) and len(self.values) < REFS_KEPT:
                self.values.setdefault(value)


def variations_of(recompiles: Iterable[Explained], settings: Settings, resumed: bool = False) -> tuple[Variation, ...]:
    """What varied: first what would have saved most seconds, as the only cause of recompiles; then the most frequent.

    `resumed`: the frame goes on after a graph break.
    """
    seen: dict[Key, _Seen] = {}
    about: dict[tuple[str, int | None], list[_Seen]] = {}
    order: dict[str | None, int] = {}
    for number, found in enumerate(recompiles):
        keys = found.keys
        # the oldest compile first: values in the order in which they were met (torch lists what was used last first)
        for reason in sorted(found.reasons, key=lambda reason: order.get(reason.earlier, -1)):
            for key in found.keys_of(reason):
                one = seen.get(key)
                if one is None:
                    one = seen[key] = _Seen()
                    about.setdefault(key[1:], []).append(one)
                one.take(reason, found.ref)
        for key in keys:
            one = seen[key]
            one.refs.append(found.ref)
            if len(keys) == 1:
                one.only.append(found.ref)
                one.seconds += found.seconds or 0.0
        sizes = [(change.source, change.dim) for change in found.became if change.dim is not None and not change.fixed]
        for change in found.became:
            for one in about.get((change.source, change.dim), ()):
                if one.became is None:
                    one.became = found.ref
                    one.beside = tuple((d, n) for d, n in sizes if (d, n) != (change.source, change.dim))
                if change.fixed:
                    one.fixed = one.fixed or found.ref
                one.free.add(found.ref)
        order[found.ref] = number
    ordered = sorted(seen.items(), key=lambda item: (-item[1].seconds, -len(item[1].only), -len(item[1].refs)))
    return tuple(_variation(key, one, settings, resumed) for key, one in ordered)


def _variation(key: Key, found: _Seen, settings: Settings, resumed: bool) -> Variation:
    cause, source, dim = key
    reason = found.reasons[0]
    plain = Variation(
        cause, source, dim, reason.value, len(found.refs), tuple(found.refs[:REFS_KEPT]),
        tuple(found.values)[:VALUES_KEPT], len(found.values), found.became, found.fixed, tuple(found.only[:REFS_KEPT]),
        found.seconds, "", "", "", (),
    )  # fmt: skip
    seen = Seen(
        cause, source, dim, reason.value, tuple(found.values), found.became, found.fixed, tuple(found.reasons),
        found.beside, resumed,
    )  # fmt: skip
    advice = advice_for(seen, settings) or Advice("")
    return replace(plain, advice=advice.text, remedy=advice.remedy, proof=advice.proof, code=advice.code)
