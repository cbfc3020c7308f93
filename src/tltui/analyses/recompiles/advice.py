"""What is known of a cause, and what is said against it: the parts that all remedies are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tltui.analyses.recompiles.explained import Reason

PROVEN, QUOTED = "proven", "quoted"
REMEDIES: dict[str, str] = {
    "mark dynamic": PROVEN, "dynamic=True": PROVEN, "no mark_static": PROVEN, "dynamic parameters": PROVEN,
    "mark unbacked": PROVEN, "wider mark": PROVEN, "mark first": PROVEN, "no duck sizing": PROVEN, "pad": PROVEN,
    "contiguous": PROVEN, "reshape": PROVEN, "one dtype": PROVEN, "one device": QUOTED, "detach": PROVEN,
    "no inference tensor": PROVEN, "resolve": PROVEN, "dense": PROVEN, "one type": PROVEN, "tensor": PROVEN,
    "specialize_float": PROVEN, "argument": PROVEN, "keep strings out": PROVEN, "stack": PROVEN, "same keys": PROVEN,
    "hooks first": PROVEN, "clone": PROVEN, "one backend": PROVEN, "keep alive": PROVEN, "same mode": PROVEN, "set first": PROVEN,
    "dynamic attribute": PROVEN, "buffer": PROVEN, "nothing to do": PROVEN,
}  # fmt: skip
"""The remedies of docs/recompiles.md, and how each was shown to help: by tests/live, or by torch's own words."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Switches of `torch._dynamo.config` that matter here, as the metrics state them. None: not stated."""

    automatic_dynamic: bool | None = None
    unspec_int: bool | None = None
    """`allow_unspec_int_on_nn_module`"""
    specialize_float: bool | None = None
    names: frozenset[str] = frozenset()
    """All that are stated: what is not among them this torch does not have."""
    traced: bool = True
    """Whether a trace tells of the compiles: only that says of everything whether it became dynamic."""

    @classmethod
    def of(cls, config: dict[str, Any]) -> Settings:
        """From the `dynamo_config` of the metrics."""
        def flag(name: str) -> bool | None:
            value = config.get(name)
            return value if isinstance(value, bool) else None

        return cls(
            flag("automatic_dynamic_shapes"), flag("allow_unspec_int_on_nn_module"), flag("specialize_float"), frozenset(config)
        )

    def has(self, name: str) -> bool:
        """Whether this torch has a switch, as far as the log tells."""
        return not self.names or name in self.names


@dataclass(frozen=True, slots=True)
class Seen:
    """A cause, and what is known of it over all recompiles of a frame."""

    cause: str
    source: str
    dim: int | None
    value: str
    values: tuple[str, ...]
    became: str | None
    fixed: str | None
    reasons: tuple[Reason, ...]
    beside: tuple[tuple[str, int], ...] = ()
    """The other sizes that became dynamic in the same compile: equal to this one, or not."""
    resumed: bool = False
    """The function goes on after a graph break: what it is called with was made inside of compiled code, or went through it."""

    @property
    def held(self) -> bool:
        """Torch made it dynamic by itself, and it stayed so."""
        return self.became is not None and self.fixed is None

    @property
    def hints(self) -> str:
        """What torch says about the guards."""
        return " ".join(dict.fromkeys(reason.hint for reason in self.reasons if reason.hint))


@dataclass(frozen=True, slots=True)
class Advice:
    """What helps, or why nothing does."""

    text: str
    remedy: str = ""
    code: tuple[str, ...] = ()

    @property
    def proof(self) -> str:
        """How the remedy was shown to help."""
        return REMEDIES[self.remedy] if self.remedy else ""


_PART = re.compile(r"\._(?:modules|parameters|buffers)\['([^'\]]+)'\]")


def python_of(source: str) -> str:
    """A source as the program writes it: `m._modules['a'].w` → `m.a.w`, `G['X']` → `X`."""
    return _PART.sub(r".\1", re.sub(r"^G\['(\w+)'\]", r"\1", source))


ONES = "0 and 1 are always compiled separately"


def nothing(seen: Seen) -> Advice:
    """Of what became dynamic and stayed so."""
    return Advice(f"It became dynamic at [{seen.became}] by itself: nothing to do.", "nothing to do")


def off(what: str) -> Advice:
    """Of what could not become dynamic."""
    return Advice(
        f"automatic_dynamic_shapes was off (torch.compile(dynamic=False) does that), so each {what} needs a compile of its own. "
        "Leave dynamic at None, or set it to True.", "dynamic=True",
    )  # fmt: skip
