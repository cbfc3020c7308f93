"""Names of parameters in graphs → paths of modules.

Dynamo names an input after its source and makes everything but letters and digits of it one `_`:
`L['self']._modules['layers']._modules['0']._parameters['weight']` is `L_self_modules_layers_modules_0_parameters_weight_`.
A name may hold `_` itself, so only the markers cut. Older torch (up to 2.4) and export write no markers
(`L__self___layers_0_fc`, `p_layers_0_fc_weight`): there only numbers cut, and what lies between stays one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

WRAPPERS = frozenset((
    "_orig_mod", "orig_mod", "_fsdp_wrapped_module", "fsdp_wrapped_module", "_checkpoint_wrapped_module",
    "checkpoint_wrapped_module",
))  # fmt: skip
"""Modules that wrap another one and are not the model's."""
_MARKED = re.compile(r"^[lLgG]_(?P<root>\w+?)_(?P<rest>(?:modules|parameters|buffers)_\w+)$")
_OLD = re.compile(r"^(?:L__self___|l__self___)(?P<rest>\w+)$")
_EXPORTED = re.compile(r"^(?:p|b)_(?P<rest>\w+)$")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or buffer that a graph reads."""

    root: str
    """The variable that holds the outermost module: `self`, `model`; '' where names do not say."""
    path: tuple[str, ...]
    """The module that owns it."""
    name: str
    """`weight`; '' where that cannot be told from the path."""


def parameter_of(name: str, exported: bool = False) -> Parameter | None:
    """The parameter that an input or attribute of a graph stands for, None for anything else."""
    name = name.removeprefix("self.")
    if found := _MARKED.match(name):
        root, rest = found["root"], "_" + found["rest"]
        modules, _, own = _last_cut(rest)
        parts = tuple(part for part in modules.split("_modules_") if part)
        return Parameter(root, unwrapped(parts), own.rstrip("_").removesuffix("__1"))
    if "." in name:  # an attribute of the graph, as export and AOTInductor have them: `layers.0.fc.weight`
        *path, last = name.split(".")
        return Parameter("", unwrapped(tuple(path)), last)
    if found := _OLD.match(name):
        return Parameter("", _by_numbers(found["rest"]), "")
    if exported and (found := _EXPORTED.match(name)):
        return Parameter("", _by_numbers(found["rest"]), "")
    return None


def _last_cut(rest: str) -> tuple[str, str, str]:
    """Modules, marker and name of a parameter: the last marker counts, of a module can hold `_parameters_` too."""
    at = max(rest.rfind("_parameters_"), rest.rfind("_buffers_"))
    if at < 0:
        return rest, "", ""
    marker = "_parameters_" if rest.startswith("_parameters_", at) else "_buffers_"
    return rest[:at], marker, rest[at + len(marker) :]


def _by_numbers(flat: str) -> tuple[str, ...]:
    """`layers_0_self_attn_weight` → `layers`, `0`, `self_attn`: what is behind the last `_` is the parameter."""
    words = flat.strip("_").split("_")[:-1]
    parts: list[str] = []
    for word in words:
        if word.isdecimal() or not parts or parts[-1].isdecimal():
            parts.append(word)
        else:
            parts[-1] += f"_{word}"
    return unwrapped(tuple(parts)) if any(part.isdecimal() for part in parts) else ()


def unwrapped(parts: tuple[str, ...]) -> tuple[str, ...]:
    """A path without modules that only wrap another one."""
    return tuple(part.strip("_") for part in parts if part not in WRAPPERS)


def common(paths: Iterable[str]) -> str:
    """The innermost module that holds all of them."""
    first: list[str] | None = None
    for path in paths:
        parts = path.split(".") if path else []
        if first is None:
            first = parts
        else:
            same = 0
            while same < min(len(first), len(parts)) and first[same] == parts[same]:
                same += 1
            first = first[:same]
    return ".".join(first or ())
