"""Remedies of torch against recompiles, and the facts for and against each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any

from tltui.model.torch_versions import SETTINGS, TorchVersion, exists_in
from tltui.questions.recompiles import dynamic_sources, guard_grammar
from tltui.questions.recompiles.explanations import Key, Reason, name_of
from tltui.questions.recompiles.failed_guard_text import strip_local
from tltui.questions.recompiles.guard_grammar import (
    DIVISIBLE,
    DUCK,
    EXCLUSION,
    LIBRARY,
    MARKED,
    PROGRAM,
    SPECIAL,
    TORCH,
    ZERO_ONE,
    condition_of,
)
from tltui.text.frozen import frozen, mutable

PROVEN, QUOTED = "proven", "quoted"
REMEDIES: dict[str, str] = {
    "mark dynamic": PROVEN, "dynamic=True": PROVEN, "no mark_static": PROVEN, "dynamic parameters": PROVEN,
    "mark unbacked": PROVEN, "wider mark": PROVEN, "mark first": PROVEN, "no duck sizing": PROVEN, "pad": PROVEN,
    "contiguous": PROVEN, "reshape": PROVEN, "one dtype": PROVEN, "one device": QUOTED, "one value": PROVEN,
    "no inference tensor": PROVEN, "resolve": PROVEN, "dense": PROVEN, "one type": PROVEN, "tensor": PROVEN,
    "specialize_float": PROVEN, "argument": PROVEN, "keep strings out": PROVEN, "stack": PROVEN, "same keys": PROVEN,
    "hooks first": PROVEN, "clone": PROVEN, "one backend": PROVEN, "keep alive": PROVEN, "same mode": PROVEN, "set first": PROVEN,
    "dynamic attribute": PROVEN, "buffer": PROVEN, "nothing to do": PROVEN, "dynamic sources": PROVEN,
    "unbacked sources": PROVEN,
}  # fmt: skip
"""The remedies of docs/recompiles.md, and how each was shown to help: by tests/live, or by torch's own words."""


@frozen
class Settings:
    """Switches of `torch._dynamo.config` that matter here, as the metrics state them. None: not stated."""

    automatic_dynamic: bool | None = None
    unspec_int: bool | None = None
    """`allow_unspec_int_on_nn_module`"""
    specialize_float: bool | None = None
    names: frozenset[str] = frozenset()
    """All that the metrics have: this torch has no others."""
    traced: bool = True
    """Whether the compiles are from a trace: only a trace has all dynamic sizes."""
    version: TorchVersion = TorchVersion()
    """The version of torch, as far as the log shows it."""

    @classmethod
    def of(cls, config: dict[str, Any], version: TorchVersion) -> Settings:
        """Parse the `dynamo_config` of the metrics."""
        def flag(name: str) -> bool | None:
            value = config.get(name)
            return value if isinstance(value, bool) else None

        return cls(
            flag("automatic_dynamic_shapes"), flag("allow_unspec_int_on_nn_module"), flag("specialize_float"), frozenset(config),
            version=version,
        )  # fmt: skip

    def has(self, name: str) -> bool:
        """Return whether this version of torch has a switch, according to the log."""
        return not self.names or name in self.names

    def may_read(self, variable: str) -> bool:
        """Return whether this version of torch may read an environment variable."""
        return exists_in(self.version, variable) is not False


MAYBE_MARK = "torch._dynamo.maybe_mark_dynamic"
REFS_LISTED = 200
REASONS_USED = 20


@mutable
class CauseFacts:
    """A cause with its facts over the recompiles of a frame."""

    cause: str
    source: str
    dim: int | None
    resumed: bool = False
    """Whether it is a resume function: its arguments come from compiled code, or went through it."""
    is_foreign: bool = False
    """Whether the function is of torch or a library."""
    break_line: int | None = None
    """The line of the graph break after which a resume function continues."""
    reasons: list[Reason] = field(default_factory=list)
    refs: list[str] = field(default_factory=list)
    values: dict[str, None] = field(default_factory=dict)
    only: list[str] = field(default_factory=list)
    """Recompiles without another cause."""
    seconds: float = 0.0
    """The time of these."""
    became: str | None = None
    """The compile in which torch made it dynamic by itself."""
    fixed: str | None = None
    """The compile that shows that its value was fixed again."""
    free: set[tuple[str, str]] = field(default_factory=set)
    """The compiles since which it is dynamic, each with its source."""
    needs_number: bool = True
    """Whether code needed the number itself in each compile in which it became dynamic."""
    co_dynamic: tuple[tuple[str, int], ...] = ()
    """The other sizes that became dynamic in the same compile, equal to this one or not; of one that did not, those that always
    equal it."""
    equals_parameter: bool = False
    """Whether it always equals the size of a parameter, which is static."""
    sources: dict[str, None] = field(default_factory=dict)
    """Its source, or several that differ only in an index."""
    arguments_vary: bool = False
    """Whether an argument is absent, or of another type or length, in some calls: a mark may not hold in each of them."""
    failures: list[str] = field(default_factory=list)
    """The exceptions of its recompiles that failed."""
    reported: int = 0
    """Recompiles for which torch named it."""

    @property
    def key(self) -> Key:
        """The identity of the cause."""
        return (self.cause, self.source, self.dim)

    @property
    def mark(self) -> str:
        """The function that marks a size as dynamic: `mark_dynamic` raises where a call needs one size."""
        return MAYBE_MARK if self.arguments_vary else "torch._dynamo.mark_dynamic"

    def add(self, reason: Reason, ref: str, failed: bool = False) -> None:
        """Add a reason of a recompile for this cause; `failed`: it made no code, and is no evidence for a remedy."""
        if len(self.reasons) < REASONS_USED and not (failed and self.reasons):
            self.reasons.append(reason)
        nan = "nan" in (reason.expected, reason.actual)
        is_condition = reason.cause == guard_grammar.CONDITION
        if (reason.earlier, reason.source) in self.free and not is_condition and not nan:
            self.fixed = self.fixed or ref
        has_settings = reason.cause == guard_grammar.STATE and reason.settings
        values = (reason.expected,) if is_condition else () if has_settings else (reason.expected, reason.actual)
        for value in values:
            if guard_grammar.is_value(value) and len(self.values) < REFS_LISTED:
                self.values.setdefault("None" if value == "NoneType" else value)

    @property
    def value(self) -> str:
        """The value of its first reason."""
        return self.reasons[0].value

    @property
    def held(self) -> bool:
        """Whether torch made it dynamic by itself, and it stayed so."""
        return self.became is not None and self.fixed is None

    @property
    def is_constant(self) -> bool:
        """Whether each value is compiled separately, because code needs the number itself: no mark or setting changes that."""
        return self.fixed is not None and self.needs_number

    @property
    def hints(self) -> str:
        """Torch's comments on the guards."""
        return " ".join(dict.fromkeys(reason.note for reason in self.reasons if reason.note))


@frozen
class Advice:
    """Advice against a cause, or the reason why there is none."""

    text: str
    remedy: str = ""
    code: tuple[str, ...] = ()
    environment: str = ""
    """The remedy as the assignment of an environment variable, for a shell."""

    @property
    def proof(self) -> str:
        """Evidence for the remedy."""
        return REMEDIES[self.remedy] if self.remedy else ""


def python_of(source: str) -> str:
    """Convert a source to Python syntax: `m._modules['a'].w` → `m.a.w`, `G['X']` → `X`."""
    return guard_grammar.strip_modules(re.sub(r"^G\['(\w+)'\]", r"\1", source))


BASE = "._base"
"""The tensor behind a view, in a source."""
ONES = "0 and 1 are always compiled separately"


def stays_dynamic(facts: CauseFacts) -> Advice:
    """Return the advice for a source that became and stayed dynamic."""
    return Advice(f"Torch made it dynamic at [{facts.became}] (automatic dynamic): nothing to do.", "nothing to do")


def automatic_off(noun: str) -> Advice:
    """Return the advice for a source that could not become dynamic."""
    return Advice(
        f"automatic_dynamic_shapes was off (torch.compile(dynamic=False) does that), so each {noun} is compiled separately. "
        "Set dynamic=True. (dynamic=None needs one recompilation to see that it varies.)", "dynamic=True",
    )  # fmt: skip


TENSORIFY = "_tensorify_python_scalars"
"""The pass of torch that computes with floats like with tensors, and specializes the expressions where it cannot."""
CALLS_SHOWN = 3
"""Maximum number of calls that are written out."""
SIZES_SHOWN = 4
"""Maximum number of sizes that are listed."""


def size(facts: CauseFacts, settings: Settings) -> Advice:
    """Return the advice for a tensor dimension."""
    where = f"{python_of(facts.source)}, {facts.dim}"
    if "_parameters[" in facts.source or "_buffers[" in facts.source or "force_parameter_static_shapes" in facts.hints:
        return _parameter(facts, settings)
    if facts.equals_parameter:
        return Advice("In this log it always equals the size of a parameter. Those are static: each is compiled separately.")
    if any(reason.value == "static" for reason in facts.reasons):
        return Advice("It is marked static (mark_static). Without the mark, a changing size becomes dynamic.", "no mark_static")
    if settings.automatic_dynamic is False:
        return automatic_off("size")
    if facts.fixed is not None or any(reason.fixed_by for reason in facts.reasons):
        line = next((reason.fixed_by for reason in reversed(facts.reasons) if reason.fixed_by), "a line of the program")
        return Advice(f"It was dynamic, but {line} specialized it to one size. Each such size is compiled separately.")
    if facts.source.startswith(guard_grammar.NUMPY):
        if facts.held:
            return stays_dynamic(facts)
        return Advice("It is a NumPy array. Pass a tensor instead and mark it as dynamic.")
    if not facts.resumed and not dynamic_sources.is_argument(facts.source, facts.is_foreign):
        return _without_edit(facts, settings)
    call = f"{facts.mark}({where})"
    unbacked = f"torch._dynamo.decorators.mark_unbacked({where})"
    if sum(value not in SPECIAL for value in facts.values) <= 1 < len(facts.values):
        if facts.resumed:
            return Advice(f"Sizes {ONES}.")
        return Advice(
            f"Sizes {ONES}. {unbacked} before the first call lets one compiled version serve all sizes, "
            "if no line of the program branches on the size. Where a size of 1 is broadcast, torch then raises an error.",
            "mark unbacked", (unbacked,),
        )  # fmt: skip
    if facts.resumed:
        return _after_a_break(facts)
    has_special = any(value in SPECIAL for value in facts.values)
    note = _sizes_compiled(facts) + (f" Sizes {ONES}; {unbacked} avoids that." if has_special else "")
    if facts.became is not None:
        return _became(facts, call, note)
    text = f"{call} before the first call lets one compiled version serve all sizes{' from 2 on' if has_special else ''}.{note}"
    equal = [(source, dim) for source, dim in facts.co_dynamic if dynamic_sources.is_argument(source, facts.is_foreign)]
    if equal:
        is_one = len(equal) == 1
        names = " and ".join(name_of(source, dim) for source, dim in equal)
        text += f" In this log {names} always equal{'s' if is_one else ''} it: mark {'both' if is_one else 'all of them'}."
    sources = [(source, facts.dim) for source in facts.sources if source != facts.source]
    others = tuple(f"{facts.mark}({python_of(source)}, {dim})" for source, dim in dict.fromkeys((*sources, *equal)))
    text += " The same applies to the other indices." if sources else ""
    return Advice(text + _why_maybe(facts), "mark dynamic", (call, *others))


def _sizes_compiled(facts: CauseFacts) -> str:
    """Return the sizes in the log, and the reason for a mark without bounds.

    The log has the sizes of compiles only. Torch 2.13 raises an error for a marked size outside of min and max, for one of them
    without the other, for 0 and 1, and where the program itself narrows the range. A plain mark raises none of these.
    """
    sizes = sorted({int(value) for value in facts.values if value.isdigit()})
    if not sizes or len(facts.values) >= REFS_LISTED:
        return ""
    shown = ", ".join(map(str, sizes)) if len(sizes) <= SIZES_SHOWN else f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
    reason = "" if facts.arguments_vary else " Do not set min or max: torch raises an error for sizes outside them."
    return f" Sizes compiled: {shown}.{reason}"


def _why_maybe(facts: CauseFacts) -> str:
    """Return the reason against `mark_dynamic`; '' for none."""
    if not facts.arguments_vary:
        return ""
    return " (mark_dynamic raises an error if a call with other arguments needs one size.)"


def _without_edit(facts: CauseFacts, settings: Settings) -> Advice:
    """Advise a setting for a tensor that the program has no name for: an argument of a wrapper, a content of a cache."""
    start = f"Torch made it dynamic at [{facts.became}] (automatic dynamic). " if facts.became is not None else ""
    value = dynamic_sources.value_of({facts.source, *facts.sources, *(source for source, _ in facts.co_dynamic)})
    has_special = any(value in SPECIAL for value in facts.values)
    is_unbacked = has_special and sum(value not in SPECIAL for value in facts.values) <= 1 < len(facts.values)
    variable = dynamic_sources.UNBACKED if is_unbacked else dynamic_sources.VARIABLE
    if not value or BASE in facts.source or not settings.may_read(variable):
        if is_unbacked:
            return Advice(f"Sizes {ONES}.")
        return Advice(f"{start}torch.compile(dynamic=True) makes sizes dynamic from the start.", "dynamic=True")
    since = SETTINGS[variable]
    note = f" Sizes {ONES}." if has_special and not is_unbacked else ""
    effect = (
        "One compiled version then serves all sizes, if no line of the program branches on the size" if is_unbacked else
        "Its sizes are then dynamic from the start"
    )  # fmt: skip
    text = f"{start}Set the variable below ({since}). {effect}.{note}"
    code = dynamic_sources.statement(value, variable)
    remedy = "unbacked sources" if is_unbacked else "dynamic sources"
    return Advice(text, remedy, (code,), dynamic_sources.assignment(value, variable))


def _became(facts: CauseFacts, call: str, note: str) -> Advice:
    """Advise marks for all sizes that became dynamic at once: torch raises if one of two equal sizes is marked."""
    # the tensor behind a view takes part by the view: no variable of the program is it
    others_marked = [(source, dim) for source, dim in facts.co_dynamic if BASE not in source]
    calls = (call, *(f"{facts.mark}({python_of(source)}, {dim})" for source, dim in others_marked))
    start = f"Torch made it dynamic at [{facts.became}] (automatic dynamic)"
    if not others_marked:
        text = f"{start}. {call} before the first call makes it dynamic from the start.{note}"
    elif len(calls) <= CALLS_SHOWN:
        others = " and ".join(name_of(source, dim) for source, dim in others_marked)
        text = (
            f"{start}, together with {others}. {' and '.join(calls)} before "
            f"the first call make them dynamic from the start.{note}"
        )
    else:
        text = (
            f"{start}, together with {len(others_marked)} other sizes. {call} before the first call, and the same for each "
            f"of them, makes them dynamic from the start.{note}"
        )
    return Advice(text + _why_maybe(facts), "mark dynamic", calls)


def _after_a_break(facts: CauseFacts) -> Advice:
    start = f"Torch made it dynamic at [{facts.became}] (automatic dynamic). " if facts.became is not None else ""
    return Advice(
        f"{start}torch.compile(dynamic=True) makes sizes dynamic from the start. After a graph break, mark_dynamic works only on a "
        "tensor that eager code creates and passes in: compiled code cannot call it.", "dynamic=True",
    )  # fmt: skip


def _parameter(facts: CauseFacts, settings: Settings) -> Advice:
    switches = ("force_parameter_static_shapes", "force_nn_module_property_static_shapes")
    code = tuple(f"torch._dynamo.config.{name} = False" for name in switches if settings.has(name))
    if not code:
        return Advice("Sizes of parameters and buffers are static: modules that differ in them are compiled separately.")
    return Advice(
        "Sizes of parameters and buffers are static: modules that differ in them are compiled separately. "
        f"{' and '.join(code)} make{'s' if len(code) == 1 else ''} changing sizes dynamic.", "dynamic parameters", code,
    )  # fmt: skip


def condition(facts: CauseFacts, settings: Settings) -> Advice | None:
    """Return the advice for a condition by the origin of its failed part: decisions of the program have no remedy."""
    by_asker = {reason.origin: reason for reason in reversed(facts.reasons) if reason.origin}
    for who, advise in _ASKED.items():
        if who in by_asker:
            return advise(facts, by_asker[who])
    items = [item for reason in facts.reasons for item in reason.terms]
    if not items:
        return None
    more = f" Sizes {ONES}." if any(item.dim is not None and item.value in SPECIAL for item in items) else ""
    return Advice(f"A graph covers one outcome of a condition. Every other outcome triggers a recompilation.{more}")


def _zero_one(facts: CauseFacts, reason: Reason) -> Advice:
    met = next((item for item in reason.terms if item.term in reason.failed_part), reason.terms[0])
    if met.dim is None:
        return Advice("The minimum of 2 comes from torch: 0 and 1 are compiled separately.")
    if facts.resumed or not dynamic_sources.is_argument(met.source, facts.is_foreign):  # the program has no name for it
        return Advice("The minimum of 2 comes from torch: sizes 0 and 1 are compiled separately.")
    call = f"torch._dynamo.decorators.mark_unbacked({python_of(met.source)}, {met.dim})"
    return Advice(
        f"The minimum of 2 comes from torch: sizes 0 and 1 are compiled separately. {call} before the first call (instead of "
        "mark_dynamic) lets one compiled version serve all "
        "sizes, if no line of the program branches on the size.", "mark unbacked", (call,),
    )  # fmt: skip


def _marked(facts: CauseFacts, reason: Reason) -> Advice:
    name = name_of(facts.source, facts.dim)
    value = reason.terms[0].value if len(reason.terms) == 1 and reason.terms[0].value.isdigit() else ""
    low = bool(value) and reason.bound is not None and int(value) < reason.bound
    if value in SPECIAL:
        return Advice(f"The bound {reason.bound} comes from the mark on {name} (min, max). Sizes {ONES}, whatever min is.")
    change = f"{'lower min' if low else 'raise max'}{f' to {value}' if value else ''}"
    text = f"The bound {reason.bound} comes from the mark on {name} (min, max). If such sizes are intended, {change}."
    parsed = condition_of(strip_local(reason.text))
    bounds = {part.low: part.bound for part in parsed.parts} if parsed is not None and value else {}
    if len(bounds) != 2:
        return Advice(text, "wider mark")
    bounds[low] = int(value)  # torch wants both
    call = f"torch._dynamo.mark_dynamic({python_of(facts.source)}, {facts.dim}, min={bounds[True]}, max={bounds[False]})"
    return Advice(text, "wider mark", (call,))


def _duck(facts: CauseFacts, reason: Reason) -> Advice:
    start = "Two sizes were equal in the first compilation, so torch used one symbol for both (duck sizing). "
    if any(item.value in SPECIAL for item in reason.terms):
        return Advice(f"{start}Now one of them was {_small(reason)}: sizes {ONES}.")
    switch = "torch.fx.experimental._config.use_duck_shape = False"
    text = f"{start}If the program does not depend on their equality, set {switch}."
    return Advice(text, "no duck sizing", ("import torch.fx.experimental._config", switch))


def _small(reason: Reason) -> str:
    return next(item.value for item in reason.terms if item.value in SPECIAL)


def _decides(facts: CauseFacts, reason: Reason) -> Advice:
    why = reason.purpose
    if TENSORIFY in reason.torch_line:
        return Advice(
            "Torch could not compute this expression of a float like one of a tensor, so it compiles each value separately. "
            f"Pass {python_of(facts.source)} as a tensor instead, torch.tensor(…): one compiled version then serves all values.",
            "tensor",
        )  # fmt: skip
    if reason.condition == DIVISIBLE and reason.origin == TORCH:
        return _divides(reason)
    if reason.origin == TORCH:
        start = f"Torch asked ({why or reason.torch_line})" if why or reason.torch_line else "Torch asked"
        text = f"{start}, and a graph covers one answer: every other answer triggers a recompilation."
    else:
        who = "Your line branches" if reason.origin == PROGRAM else "Library code branches"
        text = f"{who} on it, and a graph covers one outcome: every other outcome triggers a recompilation."
    more = f" Sizes {ONES}." if any(other.origin == ZERO_ONE for other in facts.reasons) else ""
    return Advice(text + more)


def _divides(reason: Reason) -> Advice:
    name = name_of(reason.terms[0].source, reason.terms[0].dim, reason.terms[0].term)
    why = f" ({reason.purpose or reason.torch_line})" if reason.purpose or reason.torch_line else ""
    if not isinstance(reason.bound, int):
        return Advice(f"It must be divisible at this line{why}: other values trigger a recompilation, or fail.")
    multiple = f"pad it to a multiple of {reason.bound} before the call"
    return Advice(f"{name} must be divisible by {reason.bound}{why}: {multiple}.", "pad")


def _exclusion(facts: CauseFacts, reason: Reason) -> Advice:
    return Advice("Torch excludes sizes that an older compiled version serves (automatic_dynamic_exclusion_guard).")


_ASKED: dict[str, Callable[[CauseFacts, Reason], Advice]] = {
    MARKED: _marked, PROGRAM: _decides, TORCH: _decides, LIBRARY: _decides, ZERO_ONE: _zero_one, DUCK: _duck, EXCLUSION: _exclusion,
}  # fmt: skip


def advice_for(facts: CauseFacts, settings: Settings) -> Advice | None:
    """Return the advice against a cause; None if there is none."""
    if _STACK_VALUE.match(facts.source) and facts.cause in guard_grammar.VALUES:
        return _from_a_break(facts)
    advice = _ADVICE.get(facts.cause)
    result = advice(facts, settings) if callable(advice) else advice
    if result is not None and result.remedy in _FROM_CODE and len(facts.failures) == len(facts.refs) > 0:
        return _failed(facts)
    return result


_STACK_VALUE = re.compile(r"^___stack\d+$")


def _from_a_break(facts: CauseFacts) -> Advice:
    """Return the advice for a value on Dynamo's stack: no variable of the program has it."""
    line = f"line {facts.break_line}, which" if facts.break_line else "the line that"
    start = f"{facts.source} is a value of {line} broke the graph. Remove that graph break (`tltui problems`)"
    if facts.held:
        return Advice(f"Torch made it dynamic at [{facts.became}] (automatic dynamic). {start}, or do nothing.", "nothing to do")
    return Advice(f"{start}; the value then needs no guard.")


_FROM_CODE = ("mark dynamic", "mark unbacked", "dynamic=True", "dynamic parameters", "nothing to do", "dynamic attribute", "tensor")
"""Remedies that a compile has to show: it finished with the value as a symbol, or did not make it one."""


def _failed(facts: CauseFacts) -> Advice:
    """Return the text for a cause of failed compiles only: none shows that another value can be compiled."""
    failures = ", ".join(dict.fromkeys(facts.failures))
    subject = "This compile" if len(facts.refs) == 1 else "Each of these compiles"
    return Advice(f"{subject} failed ({failures}). The call was wrong, or torch could not compile it: see `tltui problems`.")


def is_default(source: str) -> bool:
    """Return whether a source is the default value of an argument, which is a constant for torch."""
    return ".__defaults__" in source or ".__kwdefaults__" in source


def _default(settings: Settings) -> Advice:
    """Return the advice for a number that is a default value. As an argument it is dynamic only where numbers become so."""
    start = "Torch treats default values of arguments as constants. Pass the value as an argument"
    if settings.automatic_dynamic is False:
        return Advice(
            f"{start}, in a tensor: automatic_dynamic_shapes was off (torch.compile(dynamic=False) does that), so each number "
            "would be compiled separately.", "tensor",
        )  # fmt: skip
    return Advice(f"{start}.", "argument")


def _int(facts: CauseFacts, settings: Settings) -> Advice:
    if facts.held:
        return stays_dynamic(facts)
    if is_default(facts.source):
        return _default(settings)
    if facts.fixed is not None:
        return Advice(_again(facts))
    if settings.automatic_dynamic is False:
        return automatic_off("value")
    start = "It did not become dynamic in this log. " if settings.traced else ""
    return Advice(f"{start}Pass it as a tensor instead: one compiled version then serves all values.", "tensor")


def _again(facts: CauseFacts) -> str:
    """Return the text for a value that became dynamic and was specialized again."""
    last = facts.reasons[-1]
    start = f"Torch made it dynamic at [{facts.became}] and then specialized it to each value"
    if last.torch_line and "evaluate_expr" not in last.torch_line:
        return f"{start}: torch needs the number itself ({last.torch_line}). Each value is compiled separately."
    asker = "your line or a function that it calls" if last.is_of_program else "a line"
    asker = f"code of {last.owner}" if last.owner else asker
    return f"{start}: {asker} needs the number itself. Each value is compiled separately."


def _float(facts: CauseFacts, settings: Settings) -> Advice:
    if "nan" in facts.values:
        return Advice("NaN is compiled separately, once: it equals no number.")
    if facts.held:
        return stays_dynamic(facts)
    if any("remove_tensorify_specialized_graphargs" in reason.torch_line for reason in facts.reasons):
        key = re.search(r"\['(\w+)'\]$", facts.source)
        example = f" ({key[1]}=torch.tensor(…))" if key else ""
        return Advice(
            f"Torch made it dynamic at [{facts.became}] and then specialized "
            "it to each value, because it could not compute with it "
            f"like a tensor. Pass it as a tensor instead{example}: one compiled version then serves all values.", "tensor",
        )  # fmt: skip
    if is_default(facts.source):
        return _default(settings)
    if facts.fixed is not None:
        return Advice(_again(facts))
    if settings.automatic_dynamic is False:
        return automatic_off("value")
    if settings.specialize_float and settings.has("specialize_float"):
        switch = "torch._dynamo.config.specialize_float"
        text = f"{switch} is on. With False, a changing float becomes dynamic."
        return Advice(text, "specialize_float", (f"{switch} = False",))
    return Advice("Pass it as a tensor instead: one compiled version then serves all values.", "tensor")


def _text(facts: CauseFacts, settings: Settings) -> Advice:
    text = "Strings cannot be dynamic: Dynamo guards on the exact value, so every new value triggers a recompilation."
    if 1 < len(facts.values) <= 3:
        return Advice(text)
    return Advice(f"{text} Keep it out of the compiled function, or map it to a few values before the call.", "keep strings out")


_BOOL = Advice("Bools cannot be dynamic: True and False are compiled separately (at most two versions).")


def _attribute(facts: CauseFacts, settings: Settings) -> Advice | None:
    switch = "allow_unspec_int_on_nn_module"
    if facts.source.endswith(".training"):
        return Advice("train and eval mode are compiled separately. Two compilations are expected; avoid switching often.")
    if facts.value == guard_grammar.BOOL:
        return _BOOL
    if facts.value == guard_grammar.STR:
        return Advice("It cannot be dynamic: every new value triggers a recompilation.")
    if facts.value == guard_grammar.VALUE:
        return None
    if facts.held:
        return stays_dynamic(facts)
    if facts.fixed is not None:
        return Advice(_again(facts))
    if facts.value != guard_grammar.INT or not settings.has(switch) or settings.automatic_dynamic is False:
        text = "Torch treats it as a constant. Use a buffer (a tensor) instead: one compiled version then serves all values."
        return Advice(text, "buffer")
    if settings.unspec_int:
        return None
    code = f"torch._dynamo.config.{switch} = True"
    text = f"Torch treats int attributes of an nn.Module as constants. With {code} they become dynamic once they change."
    return Advice(text, "dynamic attribute", (code,))


def _outside(noun: str) -> Callable[[CauseFacts, Settings], Advice]:
    """Return the advice for a global or a closure variable."""

    def advice(facts: CauseFacts, settings: Settings) -> Advice:
        if facts.held:
            return stays_dynamic(facts)
        if facts.value in (guard_grammar.INT, guard_grammar.FLOAT) and facts.fixed is None:
            return Advice(f"Torch treats {noun} as constants. Pass changing values as arguments.", "argument")
        if facts.fixed is not None:
            return Advice(_again(facts))
        if facts.value == guard_grammar.BOOL:
            return _BOOL
        return Advice("It cannot be dynamic: every new value triggers a recompilation.")

    return advice


_SIZE_OF_NONE = "'NoneType' object has no attribute 'size'"
"""The exception of a guard on the size of a tensor that is None in the call."""


def _other(facts: CauseFacts, settings: Settings) -> Advice | None:
    if not any(_SIZE_OF_NONE in reason.text for reason in facts.reasons):
        return None
    return Advice(
        "A guard asks for the size of a tensor that is None in this call, such as the one behind a view (x._base). "
        "If an argument x is a view in some calls only, pass x.clone() in those."
    )


def _object(facts: CauseFacts, settings: Settings) -> Advice:
    if facts.source.endswith(".__code__"):
        name = facts.source.removesuffix(".__code__")
        return Advice(
            f"{name} was a different function. Each function is compiled "
            "separately, because its code is part of the graph."
        )
    if facts.value == "enum":
        return Advice("Each member of an Enum is compiled separately.")
    if facts.value in ("class", "module", "function", "builtin"):
        return Advice(f"It was a different {facts.value}. Each one is compiled separately, because its code is part of the graph.")
    text = "The compiled code is specialized for one object; any other object triggers a recompilation."
    if facts.value in ("torch.Tensor", "torch.nn.parameter.Parameter"):
        call = f"torch._dynamo.mark_static_address({facts.source}, guard=False)"
        return Advice(
            f"{text} Torch compares the identity of a tensor that mark_static_address marked with guard=True, the default of "
            f"older versions. Call {call} instead, or pass the same tensor in each call."
        )
    return Advice(f"{text} Create the object once, and use the same one in each call.")


_CALLS = {
    "num_threads": "torch.set_num_threads", "default_dtype": "torch.set_default_dtype",
    "deterministic_algorithms": "torch.use_deterministic_algorithms",
    "deterministic_algorithms_warn_only": "torch.use_deterministic_algorithms",
    "allow_tf32": "torch.backends.cuda.matmul.allow_tf32", "default device": "torch.set_default_device",
    "allow_fp16_reduce": "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "allow_bf16_reduce": "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
}  # fmt: skip
_MODES = {
    "grad_mode": "Calls under different grad modes (torch.no_grad, torch.inference_mode) are compiled separately. "
                 "If this is unintended, always call it under the same mode.",
    "torch_function": "__torch_function__ was switched off in only some of the calls (DisableTorchFunctionSubclass).",
    "torch function modes": "A torch function mode (torch.set_default_device and `with torch.device` use one) was active in only "
                            "some of the calls. Use it in all calls, from the first on.",
}  # fmt: skip


def _state(facts: CauseFacts, settings: Settings) -> Advice | None:
    """Return the advice for a setting of torch."""
    name = facts.source
    if name in _CALLS:
        verb = "Set" if "backends" in _CALLS[name] else "Call"
        return Advice(f"{verb} {_CALLS[name]} once, before the first call: each value is compiled separately.", "set first")
    if name.startswith("autocast"):
        text = "Calls inside and outside of torch.autocast (or with different dtypes) are compiled separately. Use one setting."
        return Advice(text, "same mode")
    if name in _MODES:
        return Advice(_MODES[name], "same mode")
    return Advice("It is a global setting of torch, and each value of it is compiled separately.") if name else None


def _tensor(facts: CauseFacts, settings: Settings) -> Advice:
    changes = " ".join(f"{reason.expected} {reason.actual}" for reason in facts.reasons)
    if "inference tensor" in changes:
        text = (
            "Tensors made under torch.inference_mode, and calls inside it, are compiled separately. Create and use "
            "them in the same mode (.clone() outside that mode makes an ordinary tensor)."
        )
        return Advice(text, "no inference tensor")
    if "conjugate view" in changes or "negative view" in changes:
        name = "resolve_conj()" if "conjugate view" in changes else "resolve_neg()"
        text = f"It is a lazy view. Call .{name} before the call to make it an ordinary tensor."
        return Advice(text, "resolve")
    if "sparse" in changes:
        return Advice("Each layout is compiled separately. If this is unintended, call .to_dense() before the call.", "dense")
    return Advice("Each kind is compiled separately.")


def _length(facts: CauseFacts, settings: Settings) -> Advice:
    if facts.source.endswith("_hooks"):
        return Advice("Hooks are part of the graph. Register them before the first call.", "hooks first")
    if facts.source.endswith("._modules"):
        return Advice("The set of submodules is part of the graph: each different structure is compiled separately.")
    if facts.source.startswith("G['__import_"):
        return Advice("It is a container of a library, which changed it between the calls. Each length is compiled separately.")
    if any(reason.value == "dict" for reason in facts.reasons):
        text = (
            "The keys of a dict are part of the graph: each set of keys "
            "is compiled separately. Pass the same keys in every call."
        )
        return Advice(text, "same keys")
    if facts.source.startswith("G["):
        return Advice(
            "The length of a container is part of the graph. If the function itself appends to this global one, return the value "
            "and append it outside."
        )
    if facts.is_foreign or "." in facts.source:  # a list that the program does not pass, such as the groups of an optimizer
        return Advice(
            "The length of a container is part of the graph: each length is compiled separately. "
            "If possible, give it its final length before the first call."
        )
    text = (
        "The length of a container is part of the graph. Stack its tensors into one and compute on all of them at once. "
        "A size can be dynamic, but torch unrolls a Python loop over it."
    )
    return Advice(text, "stack")


def _key(facts: CauseFacts, settings: Settings) -> Advice:
    if facts.source.startswith("list("):
        return Advice((
            "The keys and their order are part of the graph. "
            "Pass the same keys in the same order in every call."
        ), "same keys")
    return Advice("The set of keys and attributes is part of the graph: each combination is compiled separately.")


def _aliasing(facts: CauseFacts, settings: Settings) -> Advice:
    if any(reason.actual in ("one tensor", "shared otherwise") for reason in facts.reasons):
        return Advice("Calls whose arguments share memory are compiled separately. If this is unintended, pass a clone().", "clone")
    return Advice("The compiled code assumes that these are one object; calls with different objects are compiled separately.")


def _mark(facts: CauseFacts, settings: Settings) -> Advice:
    marks = (reason.actual.partition(" ")[0] for reason in facts.reasons if reason.actual.startswith(("mark_", "maybe_")))
    name = next(marks, "A mark")
    return Advice(f"{name} belongs before the first call: a later mark triggers a recompilation.", "mark first")


_NUMBERS = ("Tensor", "Parameter", "torch.Tensor", "torch.nn.parameter.Parameter", "int", "float", "bool", "complex", "numpy.")


def _type(facts: CauseFacts, settings: Settings) -> Advice:
    if all(value.startswith(_NUMBERS) for value in facts.values):
        return Advice(_EACH, "one type")
    return _none(facts) if "None" in facts.values else Advice("Each type is compiled separately.")


def _none(facts: CauseFacts) -> Advice:
    """Return the advice for a source that was None in some calls."""
    if any(value.endswith("Tensor") for value in facts.values):
        return Advice(
            "None and a tensor are two code paths, which torch compiles separately. If the program needs only one of them, pass a "
            "tensor in every call, or None in every call."
        )
    return Advice("None and other values are compiled separately. If this is unintended, set or pass it from the first call on.")


def _value(facts: CauseFacts, settings: Settings) -> Advice:
    if "None" in facts.values:
        return _none(facts)
    return Advice("It cannot be dynamic: every new value triggers a recompilation.")


_EACH = "Each is compiled separately. If this is unintended, convert before the call."

_ADVICE: dict[str, Advice | Callable[[CauseFacts, Settings], Advice | None]] = {
    guard_grammar.SIZE: size,
    guard_grammar.STRIDE: Advice("If the layout need not vary, call .contiguous() on it before the call.", "contiguous"),
    guard_grammar.RANK: Advice(
        "The number of dimensions cannot be dynamic. If this is unintended, reshape before the call.", "reshape"
    ),
    guard_grammar.DTYPE: Advice(_EACH, "one dtype"),
    guard_grammar.DEVICE: Advice(_EACH, "one device"),
    guard_grammar.TENSOR: _tensor,
    guard_grammar.MARK: _mark,
    guard_grammar.GRAD: Advice(
        "Inputs with and without requires_grad are compiled separately. "
        "If this is unintended, give it one value: requires_grad_() keeps gradients, detach() stops them.",
        "one value",
    ),
    guard_grammar.INT: _int,
    guard_grammar.FLOAT: _float,
    guard_grammar.BOOL: _BOOL,
    guard_grammar.STR: _text,
    guard_grammar.VALUE: _value,
    guard_grammar.TYPE: _type,
    guard_grammar.OBJECT: _object,
    guard_grammar.STATE: _state,
    guard_grammar.ATTRIBUTE: _attribute,
    guard_grammar.GLOBAL: _outside("globals"),
    guard_grammar.CLOSURE: _outside("variables of enclosing functions"),
    guard_grammar.CONDITION: condition,
    guard_grammar.LENGTH: _length,
    guard_grammar.KEY: _key,
    guard_grammar.ALIASING: _aliasing,
    guard_grammar.OTHER: _other,
    guard_grammar.BACKEND: Advice("Make the backend once and pass the same object to each torch.compile call.", "one backend"),
    guard_grammar.FREED: Advice("Keep the object alive as long as the compiled function is used.", "keep alive"),
}
