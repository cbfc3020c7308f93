"""What torch offers against recompiles for a size, and for a condition on sizes and numbers."""

from __future__ import annotations

from collections.abc import Callable

from tltui.analyses.recompiles.advice import ONES, Advice, Seen, Settings, nothing, off, python_of
from tltui.analyses.recompiles.asked import DUCK, EXCLUSION, LIBRARY, MARKED, PROGRAM, SPECIAL, TORCH, ZERO_ONE
from tltui.analyses.recompiles.conditions import DIVISIBLE, condition_of
from tltui.analyses.recompiles.explained import Reason, name_of
from tltui.analyses.recompiles.words import strip_local

CALLS_SAID = 3
"""More calls than these are not written out."""


def size(seen: Seen, settings: Settings) -> Advice:
    """A dimension of a tensor."""
    where = f"{python_of(seen.source)}, {seen.dim}"
    if "_parameters[" in seen.source or "_buffers[" in seen.source or "force_parameter_static_shapes" in seen.hints:
        return _parameter(seen, settings)
    if any(reason.value == "static" for reason in seen.reasons):
        return Advice("It is marked static (mark_static): without the mark a size that varies becomes dynamic.", "no mark_static")
    if settings.automatic_dynamic is False:
        return off("size")
    if seen.fixed is not None or any(reason.fixed_by for reason in seen.reasons):
        line = next((reason.fixed_by for reason in reversed(seen.reasons) if reason.fixed_by), "a line of the program")
        return Advice(f"It was dynamic, but {line} needs one size and fixed it: each such size needs a compile.")
    if seen.source.startswith("___from_numpy("):
        return nothing(seen) if seen.held else Advice("It is a NumPy array: a tensor in its place can be marked as dynamic.")
    call = f"torch._dynamo.mark_dynamic({where})"
    unbacked = f"torch._dynamo.decorators.mark_unbacked({where})"
    if sum(value not in SPECIAL for value in seen.values) <= 1 < len(seen.values):
        if seen.resumed:
            return Advice(f"Sizes {ONES}.")
        return Advice(
            f"Sizes {ONES}. {unbacked} before the first call lets one compile serve all sizes, "
            "if no line of the program decides by the size.", "mark unbacked", (unbacked,),
        )  # fmt: skip
    note = f" Sizes {ONES}; {unbacked} avoids that." if any(value in SPECIAL for value in seen.values) else ""
    if seen.resumed:
        return _after_a_break(seen)
    if seen.became is not None:
        return _became(seen, call, note)
    text = f"{call} before the first call lets one compile serve all sizes{' from 2 on' if note else ''}.{note}"
    return Advice(text, "mark dynamic", (call,))


def _became(seen: Seen, call: str, note: str) -> Advice:
    """All that became dynamic at once: to mark one of two sizes that have to be equal is an error for torch."""
    calls = (call, *(f"torch._dynamo.mark_dynamic({python_of(source)}, {dim})" for source, dim in seen.beside))
    start = f"It became dynamic at [{seen.became}] by itself"
    if not seen.beside:
        text = f"{start}. {call} before the first call makes it so from the start.{note}"
    elif len(calls) <= CALLS_SAID:
        others = " and ".join(name_of(source, dim) for source, dim in seen.beside)
        text = f"{start}, and so did {others}. {' and '.join(calls)} before the first call make them so from the start.{note}"
    else:
        text = (
            f"{start}, and so did {len(seen.beside)} other sizes. {call} before the first call, and the same for each of them, "
            f"makes them so from the start.{note}"
        )
    return Advice(text, "mark dynamic", calls)


def _after_a_break(seen: Seen) -> Advice:
    start = f"It became dynamic at [{seen.became}] by itself. " if seen.became is not None else ""
    return Advice(
        f"{start}torch.compile(dynamic=True) makes sizes dynamic from the start. After a graph break mark_dynamic helps only for a "
        "tensor that the program made itself and passed in: compiled code can't call it.", "dynamic=True",
    )  # fmt: skip


def _parameter(seen: Seen, settings: Settings) -> Advice:
    switches = ("force_parameter_static_shapes", "force_nn_module_property_static_shapes")
    code = tuple(f"torch._dynamo.config.{name} = False" for name in switches if settings.has(name))
    if not code:
        return Advice("Sizes of parameters and buffers are static: modules that differ in them need a compile each.")
    return Advice(
        "Sizes of parameters and buffers are static: modules that differ in them need a compile each. "
        f"{' and '.join(code)} make{'s' if len(code) == 1 else ''} those that vary dynamic.", "dynamic parameters", code,
    )  # fmt: skip


def condition(seen: Seen, settings: Settings) -> Advice | None:
    """By who asked for the part that did not hold: what the program decides by it can't be helped."""
    found = {reason.asked: reason for reason in reversed(seen.reasons) if reason.asked}
    for who, advise in _ASKED.items():
        if who in found:
            return advise(seen, found[who])
    known = [item for reason in seen.reasons for item in reason.met]
    if not known:
        return None
    more = f" Sizes {ONES}." if any(item.dim is not None and item.value in SPECIAL for item in known) else ""
    return Advice(f"A graph holds for one outcome of a condition. Each further outcome needs a compile.{more}")


def _zero_one(seen: Seen, reason: Reason) -> Advice:
    met = next((item for item in reason.met if item.term in reason.failed), reason.met[0])
    if met.dim is None:
        return Advice("The bound 2 ≤ comes from torch: 0 and 1 are compiled separately.")
    call = f"torch._dynamo.decorators.mark_unbacked({python_of(met.source)}, {met.dim})"
    return Advice(
        f"The bound 2 ≤ comes from torch: sizes 0 and 1 are compiled separately. {call} before the first call (in place of "
        "mark_dynamic) lets one compile serve all sizes, if no line of the program decides by the size.", "mark unbacked", (call,),
    )  # fmt: skip


def _marked(seen: Seen, reason: Reason) -> Advice:
    what = name_of(seen.source, seen.dim)
    value = reason.met[0].value if len(reason.met) == 1 and reason.met[0].value.isdigit() else ""
    low = bool(value) and reason.bound is not None and int(value) < reason.bound
    change = f"{'lower min' if low else 'raise max'}{f' to {value}' if value else ''}"
    text = f"The bound {reason.bound} is that of the mark on {what} (min, max): {change}, if such sizes are meant."
    found = condition_of(strip_local(reason.text))
    bounds = {part.low: part.bound for part in found.parts} if found is not None and value else {}
    if len(bounds) != 2:
        return Advice(text, "wider mark")
    bounds[low] = int(value)  # torch wants both
    call = f"torch._dynamo.mark_dynamic({python_of(seen.source)}, {seen.dim}, min={bounds[True]}, max={bounds[False]})"
    return Advice(text, "wider mark", (call,))


def _duck(seen: Seen, reason: Reason) -> Advice:
    start = "Two sizes were equal at the first compile, and torch took them for one. "
    if any(item.value in SPECIAL for item in reason.met):
        return Advice(f"{start}Now one of them was {_small(reason)}: sizes {ONES}.")
    switch = "torch.fx.experimental._config.use_duck_shape = False"
    text = f"{start}With {switch} it does not, if nothing in the program depends on their being equal."
    return Advice(text, "no duck sizing", ("import torch.fx.experimental._config", switch))


def _small(reason: Reason) -> str:
    return next(item.value for item in reason.met if item.value in SPECIAL)


def _decides(seen: Seen, reason: Reason) -> Advice:
    why = reason.why
    if reason.condition == DIVISIBLE and reason.asked == TORCH:
        return _divides(reason)
    if reason.asked == TORCH:
        start = f"Torch asked ({why or reason.by})" if why or reason.by else "Torch asked"
        text = f"{start}, and a graph holds for one answer: each answer needs a compile."
    else:
        who = "Your line decides" if reason.asked == PROGRAM else "Code of a library decides"
        text = f"{who} by it, and a graph holds for one outcome: each outcome needs a compile."
    more = f" Sizes {ONES}." if any(other.asked == ZERO_ONE for other in seen.reasons) else ""
    return Advice(text + more)


def _divides(reason: Reason) -> Advice:
    what = name_of(reason.met[0].source, reason.met[0].dim, reason.met[0].term)
    why = f" ({reason.why or reason.by})" if reason.why or reason.by else ""
    if not isinstance(reason.bound, int):
        return Advice(f"It has to be divisible there{why}: what is not needs another compile, or fails.")
    multiple = f"make it a multiple of {reason.bound} before the call (pad it)"
    return Advice(f"{what} has to be divisible by {reason.bound}{why}: {multiple}.", "pad")


def _exclusion(seen: Seen, reason: Reason) -> Advice:
    return Advice("Torch keeps the size of an older compile for that one (automatic_dynamic_exclusion_guard).")


_ASKED: dict[str, Callable[[Seen, Reason], Advice]] = {
    MARKED: _marked, PROGRAM: _decides, TORCH: _decides, LIBRARY: _decides, ZERO_ONE: _zero_one, DUCK: _duck, EXCLUSION: _exclusion,
}  # fmt: skip
