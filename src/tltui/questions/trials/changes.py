"""Changes that `tltui try` makes to a job without an edit of its code, derived from the remedies of an unchanged run.

Nothing that a trace contains becomes a variable or an argument, except names of sources that match torch's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from tltui.questions.problems.problem_list import Problems
from tltui.questions.recompiles.guard_grammar import INT, SIZE
from tltui.text.frozen import frozen
from tltui.text.torch_names import is_framework

DYNAMIC_SOURCES = "TORCH_COMPILE_DYNAMIC_SOURCES"
"""Variable of torch 2.7 and later: sources whose sizes are dynamic from the first compile on."""
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

    def __add__(self, other: Change) -> Change:
        """Return both changes as one."""
        title = " + ".join(filter(None, (self.title, other.title)))
        return Change(title, "", self.environment + other.environment, self.arguments + other.arguments, self.config + other.config)


class Cause(Protocol):
    """A cause of recompilations, with the code against it."""

    @property
    def cause(self) -> str:
        """Return its class, as in `guard_grammar`."""

    @property
    def source(self) -> str:
        """Return the guarded source without `L[…]` around a name."""

    @property
    def code(self) -> tuple[str, ...]:
        """Return the lines of its remedy."""


def changes(causes: Sequence[Cause], listed: Problems) -> tuple[Change, ...]:
    """Return the changes worth a trial, for the causes of most recompilations first."""
    return (*_dynamic(causes), *_options(causes, listed), *_limit(listed))


def _dynamic(causes: Sequence[Cause]) -> Iterator[Change]:
    """Yield changes that make sizes and numbers dynamic from the start."""
    varying = [cause for cause in causes if cause.cause in (SIZE, INT) and not cause.source.startswith("___")]
    if not varying:
        return
    names = ", ".join(dict.fromkeys(cause.source for cause in varying[:3]))
    reason = f"changing sizes or ints: {names}{' …' if len(varying) > 3 else ''}"
    sources = list(dict.fromkeys(f"L['{name}']" if name.isidentifier() else name for name in (cause.source for cause in varying)))
    entries = [entry for source in sources[:MAX_SOURCES] if (entry := dynamic_source(source))]
    if entries:
        value = ",".join(entries)
        yield Change(f'{DYNAMIC_SOURCES}="{value}"', reason, environment=((DYNAMIC_SOURCES, value),))
    yield Change("torch.compile(dynamic=True)", reason, arguments=(("dynamic", True),))


def dynamic_source(source: str) -> str:
    """Return the entry of `TORCH_COMPILE_DYNAMIC_SOURCES` that matches exactly this source, '' for a name torch would not make.

    Torch splits the variable at commas, removes blanks and compiles each entry as a regular expression.
    """
    if _SOURCE.fullmatch(source) is None:
        return ""
    return re.escape(source).replace("\\ ", r"\s").replace(",", r"\x2c") + "$"


def _options(causes: Sequence[Cause], listed: Problems) -> Iterator[Change]:
    """Yield options that a remedy or a hint of torch names."""
    texts = [(line, f"{cause.cause} {cause.source}") for cause in causes for line in cause.code]
    texts += [(hint, graph_break.found.headline) for graph_break in listed.breaks for hint in graph_break.found.hints]
    reasons: dict[str, str] = {}
    for text, reason in texts:
        for name, (module, value) in OPTIONS.items():
            if f"{module}.{name} = {value}" in text:
                reasons.setdefault(name, reason)
    for name, reason in reasons.items():
        module, value = OPTIONS[name]
        yield Change(f"{module}.{name} = {value}", reason, config=((f"{module}.{name}", value),))


def _limit(listed: Problems) -> Iterator[Change]:
    """Yield a larger recompile limit where a function reached it, one limit per call where that is code of torch."""
    if listed.limits:
        names = ", ".join(str(group.code.name) for group in listed.limits[:3])
        name = "torch._dynamo.config.recompile_limit"
        yield Change(f"{name} = {LARGER_LIMIT}", f"recompile limit reached: {names}", config=((name, LARGER_LIMIT),))
    if shared := [group for group in listed.limits if is_framework(group.code.file or "")]:
        reason = f"recompile limit shared by all calls through {shared[0].code.name}"
        yield Change("torch.compile(isolate_recompiles=True)", reason, arguments=(("isolate_recompiles", True),))
