"""What varied between the compiles of a frame, and what torch offers against it. Nothing is said without a fact."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tltui.analyses.recompiles import causes
from tltui.analyses.recompiles.rungs import Reason, Rung

VALUES_KEPT = 12
REFS_KEPT = 200


@dataclass(frozen=True, slots=True)
class Settings:
    """Switches of `torch._dynamo.config` that matter here, as the metrics state them. None: not stated."""

    automatic_dynamic: bool | None = None
    unspec_int: bool | None = None
    """`allow_unspec_int_on_nn_module`"""
    specialize_float: bool | None = None

    @classmethod
    def of(cls, config: dict[str, Any]) -> Settings:
        """From the `dynamo_config` of the metrics."""
        def flag(name: str) -> bool | None:
            value = config.get(name)
            return value if isinstance(value, bool) else None

        return cls(flag("automatic_dynamic_shapes"), flag("allow_unspec_int_on_nn_module"), flag("specialize_float"))


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
    """What was seen, in this order; the first ones of very many."""
    distinct: int
    """How many values were seen."""
    became: str | None
    """The compile in which torch made it dynamic by itself."""
    alone: tuple[str, ...]
    """Recompiles for which no other cause is named."""
    alone_seconds: float
    advice: str
    """What torch offers; '' for nothing."""


@dataclass(slots=True)
class _Seen:
    reason: Reason
    refs: list[str] = field(default_factory=list)
    values: dict[str, None] = field(default_factory=dict)
    alone: list[str] = field(default_factory=list)
    seconds: float = 0.0
    became: str | None = None
    sources: dict[str, None] = field(default_factory=dict)
    hints: dict[str, None] = field(default_factory=dict)

    def take(self, reason: Reason) -> None:
        """One more reason for the same cause."""
        if reason.hint:
            self.hints.setdefault(reason.hint)
        for source in reason.source.split(", ") if reason.cause == causes.STATE else (reason.source,):
            self.sources.setdefault(source)
        values = (reason.expected,) if reason.cause == causes.CONDITION else (reason.expected, reason.actual)
        for value in values:
            if value and len(self.values) < REFS_KEPT:
                self.values.setdefault(value)


def variations_of(rungs: Iterable[Rung], settings: Settings) -> tuple[Variation, ...]:
    """What varied: first what stands alone most often, then the most frequent."""
    seen: dict[tuple[str, str, int | None], _Seen] = {}
    about: dict[tuple[str, int | None], list[_Seen]] = {}
    for rung in rungs:
        keys = rung.keys
        for reason in reversed(rung.reasons):  # the oldest compile first: values in the order in which they were met
            found = seen.get(reason.key)
            if found is None:
                found = seen[reason.key] = _Seen(reason)
                about.setdefault(reason.key[1:], []).append(found)
            found.take(reason)
        for key in keys:
            found = seen[key]
            found.refs.append(rung.ref)
            if len(keys) == 1:
                found.alone.append(rung.ref)
                found.seconds += rung.seconds or 0.0
        for change in rung.became:
            for found in about.get((change.source, change.dim), ()):
                found.became = found.became or rung.ref
    ordered = sorted(seen.values(), key=lambda found: (-len(found.alone), -len(found.refs)))
    return tuple(_variation(found, settings) for found in ordered)


def _variation(found: _Seen, settings: Settings) -> Variation:
    reason = found.reason
    plain = Variation(
        reason.cause, ", ".join(found.sources), reason.dim, reason.value, len(found.refs), tuple(found.refs[:REFS_KEPT]),
        tuple(found.values)[:VALUES_KEPT], len(found.values), found.became, tuple(found.alone[:REFS_KEPT]), found.seconds, "",
    )  # fmt: skip
    advice = _ADVICE.get(reason.cause)
    return replace(plain, advice=advice(plain, settings, " ".join(found.hints))) if advice else plain


_OFF = (
    "automatic_dynamic_shapes was off (torch.compile(dynamic=False) does that), so each {what} needs a compile of its own. "
    "Leave dynamic at None, or set it to True"
)
_ONES = "0 and 1 are always compiled separately"


def _size(seen: Variation, settings: Settings, hints: str) -> str:
    if "_parameters[" in seen.source or "_buffers[" in seen.source:
        return "Sizes of parameters and buffers are static: modules that differ in them need a compile each."
    if settings.automatic_dynamic is False:
        return _OFF.format(what="size") + "."
    call = f"torch._dynamo.mark_dynamic({seen.source}, {seen.dim})"
    small = [value for value in seen.values if value in ("0", "1")]
    note = f" Sizes {_ONES}; torch._dynamo.decorators.mark_unbacked({seen.source}, {seen.dim}) avoids that." if small else ""
    if seen.became is not None:
        return f"It became dynamic at [{seen.became}] by itself. {call} before the first call makes it so from the start.{note}"
    return f"{call} before the first call lets one compile serve all sizes.{note}"


def _int(seen: Variation, settings: Settings, hints: str) -> str:
    if seen.became is not None:
        return f"It became dynamic at [{seen.became}] by itself: nothing to do."
    if settings.automatic_dynamic is False:
        return _OFF.format(what="value") + "."
    if any(value in ("0", "1") for value in seen.values):
        return f"An int that varies becomes dynamic by itself, but {_ONES}. A tensor in its place has one compile for all values."
    return "It did not become dynamic in this log. A tensor in its place has one compile for all values."


def _float(seen: Variation, settings: Settings, hints: str) -> str:
    if seen.became is not None:
        return f"It became dynamic at [{seen.became}] by itself: nothing to do."
    if settings.specialize_float:
        return "torch._dynamo.config.specialize_float is on: with False, a float that varies becomes dynamic."
    return "A tensor in its place has one compile for all values."


def _attribute(seen: Variation, settings: Settings, hints: str) -> str:
    if seen.source.endswith(".training"):
        return "model.train() and model.eval() need a compile each. That is two in all; switch rarely."
    if seen.value == causes.INT:
        if settings.unspec_int:
            return ""
        return (
            "Torch takes int attributes of an nn.Module as constants. With "
            "torch._dynamo.config.allow_unspec_int_on_nn_module = True they become dynamic once they vary."
        )
    if seen.value in (causes.BOOL, causes.STR):
        return "It can't be dynamic: each value needs a compile of its own."
    return "Torch takes it as a constant. A buffer (a tensor) in its place has one compile for all values."


def _fixed(what: str) -> Callable[[Variation, Settings, str], str]:
    def advice(seen: Variation, settings: Settings, hints: str) -> str:
        return what

    return advice


def _text(seen: Variation, settings: Settings, hints: str) -> str:
    many = " Keep it out of the compiled function, or reduce it to few values before the call."
    return "A string can't be dynamic: each value needs a compile of its own." + (many if seen.distinct > 3 else "")


def _object(seen: Variation, settings: Settings, hints: str) -> str:
    if seen.source.endswith(".__code__"):
        name = seen.source.removesuffix(".__code__")
        return f"{name} was another function: each needs a compile, as its code is part of the graph."
    return "It must be the very same object. If each call makes a new one (a lambda, a partial, a class), make it once, outside."


def _state(seen: Variation, settings: Settings, hints: str) -> str:
    said = []
    rest = [name for name in seen.source.split(", ") if name not in ("num_threads", "torch function modes")]
    if "num_threads" in seen.source:
        said.append("Set the number of threads once, before the first call.")
    if "torch function modes" in seen.source:
        said.append("A torch function mode (torch.set_default_device is one) was active in some of the calls only.")
    if rest:
        said.append("Each combination of modes needs a compile: call under the same ones, if the difference is not meant.")
    return " ".join(said)


def _condition(seen: Variation, settings: Settings, hints: str) -> str:
    if "mark_unbacked" in hints:
        call = f"torch._dynamo.decorators.mark_unbacked({seen.source}, {'dim' if seen.dim is None else seen.dim})"
        return f"Part of it is no condition of yours: sizes {_ONES}. {call} avoids that part."
    if "use_duck_shape" in hints:
        return (
            "Two sizes were equal at the first compile, and torch took them for one. "
            "With torch.fx.experimental._config.use_duck_shape = False it does not."
        )
    return "A graph holds for one outcome of a condition. Each further outcome needs a compile."


def _backend(seen: Variation, settings: Settings, hints: str) -> str:
    return "Make the backend once and pass the same object to each torch.compile call."


_EACH = "Each needs a compile of its own. Convert before the call, if the mixture is not meant."

_ADVICE: dict[str, Callable[[Variation, Settings, str], str]] = {
    causes.SIZE: _size,
    causes.STRIDE: _fixed("Call .contiguous() on it before the call, if the layout need not vary."),
    causes.RANK: _fixed("The number of dimensions can't be dynamic: reshape before the call, if the mixture is not meant."),
    causes.DTYPE: _fixed(_EACH),
    causes.DEVICE: _fixed(_EACH),
    causes.TENSOR: _fixed("Each kind needs a compile of its own: make the inputs alike, if the difference is not meant."),
    causes.GRAD: _fixed(
        "Inputs with and without a gradient need a compile each: detach(), or requires_grad_() always, if it is not meant."
    ),
    causes.INT: _int,
    causes.FLOAT: _float,
    causes.BOOL: _fixed("A bool can't be dynamic: True and False need a compile each."),
    causes.STR: _text,
    causes.TYPE: _fixed(_EACH),
    causes.OBJECT: _object,
    causes.STATE: _state,
    causes.ATTRIBUTE: _attribute,
    causes.GLOBAL: _fixed("Torch takes globals as constants: pass what varies as an argument."),
    causes.CLOSURE: _fixed("Torch takes variables of enclosing functions as constants: pass what varies as an argument."),
    causes.CONDITION: _condition,
    causes.LENGTH: _fixed("The length of a container is part of the graph: a tensor in its place can have a dynamic size."),
    causes.KEY: _fixed("Which keys and attributes there are is part of the graph: each combination needs a compile."),
    causes.ALIASING: _fixed("Calls in which arguments are one tensor need another compile: pass a clone(), if it is not meant."),
    causes.BACKEND: _backend,
    causes.FREED: _fixed("Keep the object alive as long as the compiled function is used."),
}
