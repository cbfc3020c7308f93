"""Limits as tests write them: `@pytest.mark.torch_compile(recompiles=1)`, `--tltui-limits error,recompiles=1`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tltui.analyses.problems.gates import BadLimit, Limit, needing_a_profile, parse_limits
from tltui.analyses.problems.measures import MEASURES

NONE = "error,eager,break,recompiles"
"""What a marker without limits allows none of."""
ALIASES = {"errors": ("error", "eager"), "breaks": ("break",), "graph_breaks": ("break",)}
"""Names in a marker besides those of `tltui check`: `break` is a word of Python."""


def limits_from(text: str) -> tuple[Limit, ...]:
    """Limits in the grammar of `tltui check --fail-on`. Raises `BadLimit`."""
    limits = parse_limits(text)
    if measured := needing_a_profile(limits):
        raise BadLimit(f"{', '.join(measured)}: needs a profile, which a test does not record")
    return limits


def marked(arguments: Iterable[object], named: Mapping[str, object]) -> tuple[Limit, ...]:
    """The limits of a marker: texts, and names with numbers. Raises `BadLimit`."""
    parts = [str(argument) for argument in arguments]
    for name, number in named.items():
        if name not in MEASURES and name not in ALIASES:
            raise BadLimit(f"there is no {name!r}. There are: {', '.join((*MEASURES, *ALIASES))}")
        parts += [f"{own}={number}" for own in ALIASES.get(name, (name,))]
    return limits_from(",".join(parts) or NONE)


def merged(*several: Iterable[Limit]) -> tuple[Limit, ...]:
    """Of two limits on one thing the later counts."""
    return tuple({limit.name: limit for limits in several for limit in limits}.values())
