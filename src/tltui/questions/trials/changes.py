"""Changes that `tltui try` makes to a job without an edit of its code, derived from the remedies of an unchanged run.

Nothing that a trace contains becomes a variable or an argument, except names of sources that match torch's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tltui.questions.problems.problem_list import Problems
from tltui.questions.recompiles.dynamic_sources import VARIABLE, assignment, entry_of, full_source
from tltui.questions.recompiles.equal_sizes import EqualSizes
from tltui.questions.recompiles.explanations import Key
from tltui.questions.recompiles.guard_grammar import ATTRIBUTE, FLOAT, INT, NAMED, SIZE, STRIDE, is_parameter
from tltui.questions.recompiles.guard_table import Call
from tltui.questions.recompiles.predictions import (
    BRANCHES,
    DYNAMIC,
    SPECIALIZED,
    STRIDES,
    Simulation,
    effect_of,
    has_unseen_floats,
)
from tltui.text.frozen import frozen
from tltui.text.torch_names import is_framework

MAX_SOURCES = 50
OPTIONS: dict[str, tuple[str, Any]] = {
    "allow_unspec_int_on_nn_module": ("torch._dynamo.config", True),
    "capture_scalar_outputs": ("torch._dynamo.config", True),
    "capture_dynamic_output_shape_ops": ("torch._dynamo.config", True),
    "specialize_float": ("torch._dynamo.config", False),
    "force_parameter_static_shapes": ("torch._dynamo.config", False),
    "force_nn_module_property_static_shapes": ("torch._dynamo.config", False),
    "use_duck_shape": ("torch.fx.experimental._config", False),
}
"""Options of torch that a remedy may set → the module that has them, and their value."""
LARGER_LIMIT = 64
"""`recompile_limit` of a trial, eight times torch's default."""
_SOURCE = re.compile(r"L\['[A-Za-z_]\w*'\](?:\.[A-Za-z_]\w*|\['[\w. -]{1,100}'\]|\[\d{1,6}\])*", re.ASCII)


@frozen
class Change:
    """A change of a job that needs no edit of its code."""

    title: str
    """As a user would write it: `dynamic=True`, `TORCH_COMPILE_DYNAMIC_SOURCES=…`."""
    reason: str = ""
    """The finding of the unchanged run that it is for."""
    environment: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, Any], ...] = ()
    """Arguments of `torch.compile`, for calls that do not give them."""
    config: tuple[tuple[str, Any], ...] = ()
    """Dotted names of torch's options, with their values."""
    predicted: tuple[int, int] | None = None
    """The fewest and the most recompilations that remain, from the guards of the unchanged run; None where these do not show it."""
    expected: int | None = None
    """The probable number of them; None without a prediction."""
    condition: str = ""
    """The condition under which the number is another one, as a key of `DOUBTS`; '' for none, or several."""
    effects: tuple[tuple[str, str, str], ...] = ()
    """(class of cause, source or '' for all, effect), which the prediction is made of."""

    def __add__(self, other: Change) -> Change:
        """Return both changes as one, without a prediction."""
        title = " + ".join(filter(None, (self.title, other.title)))
        return Change(
            title, "", self.environment + other.environment, self.arguments + other.arguments, self.config + other.config,
            effects=self.effects + other.effects,
        )  # fmt: skip


class Cause(Protocol):
    """A cause of recompilations, with the code against it."""

    @property
    def cause(self) -> str:
        """Return its class, as in `guard_grammar`."""

    @property
    def source(self) -> str:
        """Return the guarded source without `L[…]` around a name; with `[*]` for several that differ in an index."""

    @property
    def dim(self) -> int | None:
        """Return the dimension, of a size or stride."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Return these sources."""

    @property
    def dynamic_in(self) -> str | None:
        """Return the compile in which torch made it dynamic; None if it did not."""

    @property
    def fixed_again_in(self) -> str | None:
        """Return the compile in which it was specialized again after torch had made it dynamic; None if it stayed dynamic."""

    @property
    def is_constant(self) -> bool:
        """Return whether code needs the number itself, so that it never stays dynamic."""

    @property
    def remedy(self) -> str:
        """Return the name of its remedy."""

    @property
    def code(self) -> tuple[str, ...]:
        """Return the lines of its remedy."""


@dataclass(frozen=True)
class FrameCauses:
    """A frame with the causes of its recompilations."""

    causes: Sequence[Cause]
    calls: Sequence[Call] | None
    """None without guards in the log."""
    equal: EqualSizes = field(default_factory=dict)
    """The sizes of each comparison that share a symbol with another one if all sizes are dynamic."""
    is_static: bool = False
    """Whether automatic_dynamic_shapes was off: the program sets it, or gives `dynamic=False`, and its own arguments win."""
    may_end: bool = False
    """Whether it continues after a graph break, and torch skipped a function of its process."""
    constant_floats: int = 0
    """Floats that its guards fix."""
    parameters: frozenset[str] = frozenset()
    """Its arguments that are parameters."""


def changes(frames: Sequence[FrameCauses], listed: Problems, predictor: Predictor) -> tuple[Change, ...]:
    """Return the changes worth a trial: first those that leave the fewest recompilations, none without a predicted effect."""
    causes = [cause for frame in frames for cause in frame.causes]
    is_static = any(frame.is_static for frame in frames)
    against_recompiles = [predictor.predicted(change) for change in (*_dynamic(causes, is_static), *_options(causes))]
    useful = [change for change in against_recompiles if change.predicted is None or change.predicted[0] < predictor.before]
    useful.sort(key=lambda change: (0, *change.predicted) if change.predicted is not None else (1, 0, 0))
    return (*useful, *_hinted(listed, {change.title for change in useful}), *_limit(listed))


class Predictor:
    """The recompilations that remain with a change, over all frames of an unchanged run."""

    def __init__(self, frames: Sequence[FrameCauses]) -> None:
        self._simulations = [
            (Simulation(frame.calls, frame.equal), *_keys(frame), frame.may_end, frame.parameters)
            for frame in frames if frame.calls is not None
        ]
        self._constant_floats = max((frame.constant_floats for frame in frames), default=0)
        self._is_complete = len(self._simulations) == len(frames)
        self.before = sum(simulation.before for simulation, *_ in self._simulations)

    def predicted(self, change: Change) -> Change:
        """Return a change with its prediction."""
        if not self._is_complete or not change.effects or self._is_open(change):
            return change
        low = high = expected = 0
        uncertain: set[str] = set()
        everything = (SIZE, "", DYNAMIC) in change.effects
        for simulation, keys, doubtful, may_end, parameters in self._simulations:
            effects = {
                key: effect for key in keys for kind, source, effect in change.effects
                if kind == key[0] and source in ("", key[1]) and not (everything and (is_parameter(key[1]) or key[1] in parameters))
            }  # fmt: skip
            doubts = {key: doubt for key, doubt in doubtful.items() if key in effects}
            doubts |= {key: BRANCHES for key in effects if change.environment and key[0] in NAMED}
            resized = {key[1] for key in effects if key[0] == SIZE}
            strides = {key for key in keys if key[0] == STRIDE and key[1] in resized}
            effects |= dict.fromkeys(strides, DYNAMIC)
            doubts |= dict.fromkeys(strides, STRIDES)
            # with other breaks, torch may skip the function before it compiles what comes after them
            fewest, most, probable, doubt = simulation.outcome(effects, doubts, everything, everything and may_end)
            low, high, expected = low + fewest, high + most, expected + probable
            uncertain.update(filter(None, (doubt,)))
        return replace(change, predicted=(low, high), expected=expected, condition=uncertain.pop() if len(uncertain) == 1 else "")

    def _is_open(self, change: Change) -> bool:
        """Return whether a change compiles other functions, as it captures what broke the graph, or has floats that are unknown."""
        if any(name.rpartition(".")[2].startswith("capture_") for name, _ in change.config):
            return True
        unseen = (has_unseen_floats(keys, self._constant_floats) for _, keys, *_ in self._simulations)
        return (FLOAT, "", DYNAMIC) in change.effects and any(unseen)


def _keys(frame: FrameCauses) -> tuple[frozenset[Key], dict[Key, str]]:
    """Return the values that differ and may become dynamic, and those of them that may need further versions, with the reason.

    Torch may specialize again what it specialized before. The conditions on a number are unknown that was always a constant,
    such as torch's own bound of 2 on one that was 1.
    """
    doubts: dict[Key, str] = {}
    constant: set[Key] = set()
    for cause in frame.causes:
        for source in cause.sources or (cause.source,):
            key = (cause.cause, source, cause.dim)
            if cause.is_constant:
                constant.add(key)
            elif cause.fixed_again_in:
                doubts[key] = SPECIALIZED
            elif cause.cause in (ATTRIBUTE, INT) and cause.dynamic_in is None:
                doubts[key] = BRANCHES
    pairs = (pair for call in frame.calls or () for pair in call.comparisons)
    return frozenset(each.key for pair in pairs for each in pair.differences) - constant, doubts


def _dynamic(causes: Sequence[Cause], is_static: bool) -> Iterator[Change]:
    """Yield changes that make sizes and numbers dynamic from the start; without a prediction where the program may forbid it."""
    varying = [cause for cause in causes if cause.cause in (SIZE, INT) and not cause.source.startswith("___")]
    if not varying:
        return
    names = list(dict.fromkeys(cause.source for cause in varying))
    reason = f"changing sizes or ints: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    sources = list(dict.fromkeys(source for cause in varying for source in cause.sources or (cause.source,)))[:MAX_SOURCES]
    entries = {source: entry for source in sources if (entry := dynamic_source(source))}
    if entries:
        value = ",".join(dict.fromkeys(entries.values()))
        effects = tuple((kind, source, DYNAMIC) for source in entries for kind in (SIZE, INT, *sorted(NAMED)))
        yield Change(assignment(value), reason, environment=((VARIABLE, value),), effects=effects)
    effects = () if is_static else tuple((kind, "", DYNAMIC) for kind in (SIZE, INT, FLOAT))
    yield Change("torch.compile(dynamic=True)", reason, arguments=(("dynamic", True),), effects=effects)


def dynamic_source(source: str) -> str:
    """Return the entry of `TORCH_COMPILE_DYNAMIC_SOURCES` for a source, '' for a name that torch would not make."""
    name = source if source.startswith("L[") else full_source(source)
    return entry_of(name) if name is not None and _SOURCE.fullmatch(name) else ""


def _options(causes: Sequence[Cause]) -> Iterator[Change]:
    """Yield options that the remedies of recompilations set: those of one remedy together."""
    lines = {f"{module}.{name} = {value}": (f"{module}.{name}", value) for name, (module, value) in OPTIONS.items()}
    by_code: dict[tuple[str, ...], list[Cause]] = {}
    for cause in causes:
        code = tuple(line for line in cause.code if line in lines)
        if code:
            by_code.setdefault(code, []).append(cause)
    for code, meant in by_code.items():
        effects = tuple(
            (cause.cause, source, effect_of(cause.remedy)) for cause in meant for source in cause.sources or (cause.source,)
        )
        config = tuple(lines[line] for line in code)
        yield Change("; ".join(code), f"{meant[0].cause} {meant[0].source}", config=config, effects=effects)


def _hinted(listed: Problems, present: set[str]) -> Iterator[Change]:
    """Yield options that torch's hints about graph breaks name."""
    for name, (module, value) in OPTIONS.items():
        line = f"{module}.{name} = {value}"
        headlines = [each.graph_break.headline for each in listed.breaks if any(line in hint for hint in each.graph_break.hints)]
        if headlines and line not in present:
            yield Change(line, headlines[0], config=((f"{module}.{name}", value),))


def _limit(listed: Problems) -> Iterator[Change]:
    """Yield a larger recompile limit where a function reached it, one limit per call where that is code of torch."""
    if listed.limits:
        names = ", ".join(str(group.code.name) for group in listed.limits[:3])
        name = "torch._dynamo.config.recompile_limit"
        yield Change(f"{name} = {LARGER_LIMIT}", f"recompile limit reached: {names}", config=((name, LARGER_LIMIT),))
    if shared := [group for group in listed.limits if is_framework(group.code.file or "")]:
        reason = f"recompile limit shared by all calls through {shared[0].code.name}"
        yield Change("torch.compile(isolate_recompiles=True)", reason, arguments=(("isolate_recompiles", True),))
