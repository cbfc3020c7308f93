"""What the names in a profile mean.

Torch writes them with `record_function`: torch/_dynamo and torch/csrc/dynamo (`TorchDynamo Cache Lookup`, `Torch-Compiled Region:
F/C`, `Pregraph bytecode`), torch/_functorch/_aot_autograd/runtime_wrappers.py (`AOTDispatcher Runtime Wrapper Prologue`),
torch/_inductor/output_code.py (`## Call CompiledFxGraph KEY ##`), Inductor's C++ code (`graph_N_NAME`), the autograd engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tltui.inputs.profile.columns import LAUNCHES, ON_DEVICE, Profile

OTHER, REGION, LOOKUP, CALL, FORWARD, BACKWARD, PRELUDE, OPERATOR, ALLOCATION, ENGINE, ANNOTATION, LAUNCH, COMPILING = range(13)
"""Kinds of events. An allocation is an operator that is no kernel where a graph calls it; engine is what autograd runs around a
compiled backward; compiling is what `dynamo_timed` measures."""
SPANS = frozenset((REGION, LOOKUP, CALL, FORWARD, BACKWARD, PRELUDE))

_REGION = re.compile(r"^Torch-Compiled Region(?:: (\S+))?$")
_CALL = re.compile(r"^## Call CompiledFxGraph (\S+)")
_GRAPH = re.compile(r"^graph_\d+_(?=\w)")
_STEP = re.compile(r"#\d+$")
_OPERATOR = re.compile(r"^(?!autograd::|torch::)\w+::\w")
_ENGINE = "autograd::engine::evaluate_function: "
_TIMED = re.compile(r" \(dynamo_timed\)$|_data: compile_id=|^(?:dynamo|compile_file|entire_(?:frame|backward)_compile)$")
_BACKWARD = re.compile(r"^\w*CompiledFunctionBackward\w*$")
_EXACT = {
    "TorchDynamo Cache Lookup": LOOKUP,
    "CompiledFunction": FORWARD,
    "Pregraph bytecode": PRELUDE,
    "AOTDispatcher Runtime Wrapper Prologue": PRELUDE,
}
_ALLOCATIONS = frozenset(f"aten::{name}" for name in (
    "empty", "empty_strided", "empty_like", "as_strided", "view", "reshape", "_reshape_alias", "alias", "detach", "t", "transpose",
    "permute", "expand", "squeeze", "unsqueeze", "slice", "select", "resize_", "set_", "resolve_conj", "resolve_neg", "lift_fresh",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kinds:
    """What names and categories of a profile mean, by their numbers."""

    of_name: bytes
    of_category: bytes
    """The kind of events of a category whose name says none."""
    is_launch: bytes
    """1: its events are calls of a device's runtime, whatever their names."""
    nests: bytes
    """1: its events nest on the thread."""

def kinds_of(profile: Profile) -> Kinds:
    """What the names and categories of a profile mean."""
    categories = profile.categories
    own = {"user_annotation": ANNOTATION}
    return Kinds(
        bytes(map(kind_of, profile.names)),
        bytes(own.get(category, OTHER) for category in categories),
        bytes(category in LAUNCHES for category in categories),
        bytes(category not in ON_DEVICE for category in categories),
    )


def kind_of(name: str) -> int:
    """The kind of an event of this name."""
    if (exact := _EXACT.get(name)) is not None:
        return exact
    if name in _ALLOCATIONS:
        return ALLOCATION
    if _OPERATOR.match(name):
        return OPERATOR
    if _REGION.match(name):
        return REGION
    if _CALL.match(name):
        return CALL
    if _BACKWARD.match(name):
        return BACKWARD
    if _TIMED.search(name):
        return COMPILING
    if name.startswith(_ENGINE) and _BACKWARD.match(name[len(_ENGINE) :]):
        return ENGINE
    return OTHER


def region_id(name: str) -> str:
    """`2/1` of a region; '' where it says none (torch 2.3 and before)."""
    match = _REGION.match(name)
    return match[1] or "" if match else ""


def graph_key(name: str) -> str | None:
    """The cache key of a call; None where caches are off."""
    match = _CALL.match(name)
    return None if match is None or match[1] == "None" else match[1]


def kernel_name(name: str) -> str:
    """As the code calls it: without the number of the graph before it, or of the step behind it (`name#3`, torch-spyre)."""
    return _STEP.sub("", _GRAPH.sub("", name))


def code_name(name: str) -> str:
    """What the profile calls a kernel of the code: `extern_kernels.mm` and `torch.ops.aten.mm.default` are `aten::mm`."""
    parts = name.split(".")
    if parts[0] == "extern_kernels" and len(parts) > 1:
        return f"aten::{parts[-1]}"
    if parts[:2] == ["torch", "ops"] and len(parts) > 3:
        return f"{parts[2]}::{parts[3]}"
    if parts[0] in ("aten", "inductor_ops") and len(parts) > 1:
        return f"{parts[0]}::{parts[1]}"
    return name
