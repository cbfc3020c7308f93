"""What else the trace tells of a compile that a script of it needs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tltui.analyses.parts import reader_of
from tltui.analyses.problems.failures import INTERRUPTED, known_failures
from tltui.analyses.records import Reader, json_in, metrics_fields
from tltui.analyses.repro.inputs import SYMBOL_NAME
from tltui.analyses.shapes.inputs import TensorInput, inputs_of
from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile

AUTOGRAD = frozenset(("aot_joint_graph", "aot_forward_graph", "aot_backward_graph"))
INDUCTOR = frozenset(
    ("fx_graph_runnable", "inductor_output_code", "inductor_post_grad_graph", "fx_graph_cache_hit", "fx_graph_cache_miss",
     "fx_graph_cache_bypass", "fx_graph_cache_hash", "before_pre_grad_graph", "fx_graph_bundled_cache_hit")
)  # fmt: skip
AOT = AUTOGRAD | {"aot_inference_graph", "aotautograd_cache_hit", "aotautograd_cache_miss", "aotautograd_cache_bypass"}
SWITCHES = (
    "max_autotune", "max_autotune_pointwise", "max_autotune_gemm", "coordinate_descent_tuning", "triton.cudagraphs",
    "triton.cudagraph_trees", "freezing", "cpp_wrapper", "epilogue_fusion", "shape_padding", "force_same_precision",
    "emulate_precision_casts", "layout_optimization", "combo_kernels", "group_fusion", "batch_fusion",
)  # fmt: skip
"""Settings of Inductor that are on or off and change what a compile does: the script has those that the job had set otherwise."""
ON = frozenset(("epilogue_fusion", "shape_padding", "layout_optimization", "triton.cudagraph_trees", "batch_fusion"))
"""Those that are on if nobody sets them."""
_BACKEND = re.compile(r"backend='([A-Za-z_]\w{0,60})' raised")
_RAISED = re.compile(r"backend='inductor' raised:\s*([A-Za-z_]\w{0,80})", re.ASCII)
_PARTS = re.compile(r"[A-Za-z0-9]+")
_INNER = frozenset(("modules", "parameters", "buffers"))


@dataclass(frozen=True, slots=True)
class ReproFacts:
    """What is known of the compile beside its graphs."""

    values: tuple[tuple[str, int | float], ...]
    """What symbols were in the job."""
    sources: tuple[tuple[str, str], ...]
    """Symbol → the expression of the program that it stands for."""
    tensors: tuple[TensorInput, ...]
    has_backward: bool
    backend: str
    """`inductor`, `aot_eager`, or `` where nothing tells."""
    other_backend: str
    """The name of a backend that torch does not have."""
    switches: tuple[tuple[str, bool], ...]
    failure: str
    """The name of the exception that the compile failed with, '' for none."""
    failure_reason: str
    expected: str
    """The exception that a script of the graph has to raise, '' for none: in a backend that raised one the one that it raised."""

    def tensor(self, name: str) -> TensorInput | None:
        """The input of the program that a parameter of the graph stands for: `L_x_` for `L['x']`."""
        wanted = words_of(name)
        return next((each for each in self.tensors if words_of(each.source) == wanted), None)


def words_of(name: str) -> tuple[str, ...]:
    """`L_s_modules_e_parameters_weight_` and `L['s'].e.weight` are the same to those who made them: L, s, e, weight."""
    found = [word for text in _PARTS.findall(name) for word in text.lower().split("_")]
    return tuple(word for word in found if word and word not in _INNER)


def repro_facts(compile_: Compile) -> ReproFacts:
    """The facts of a compile."""
    reader = reader_of(compile_)
    found = inputs_of(compile_, reader)
    names = {artifact.name for artifact in artifacts_of(compile_)}
    failures = known_failures(compile_)
    values = {}
    for symbol in found.symbols:
        value = _number(symbol.specialized or symbol.hint)
        if value is not None and SYMBOL_NAME.fullmatch(symbol.name):
            values[symbol.name] = value
    failure = failures[0] if failures else None
    reason = failure.reason if failure is not None else ""
    other = _BACKEND.search(reason)
    own = other is not None and other[1] not in ("inductor", "aot_eager", "eager", "aot_eager_decomp_partition")
    return ReproFacts(
        tuple(values.items()),
        tuple((symbol.name, symbol.source) for symbol in found.symbols if symbol.source),
        found.tensors,
        bool(names & AUTOGRAD),
        "inductor" if names & INDUCTOR else "aot_eager" if names & AOT else "",
        other[1] if own and other is not None else "",
        _switches(compile_, reader),
        failure.type if failure is not None else "",
        reason,
        "" if own or failure is None else _expected(failure.type, reason),
    )


def _expected(kind: str, reason: str) -> str:
    raised = _RAISED.search(reason)
    name = raised[1] if raised else kind
    return name if kind != INTERRUPTED and re.fullmatch(r"[A-Za-z_]\w{0,80}", name, re.ASCII) else ""


def _switches(compile_: Compile, reader: Reader) -> tuple[tuple[str, bool], ...]:
    for _, fields in metrics_fields(compile_, reader):
        config = json_in(fields, "inductor_config")
        if config:
            known = ((key, config.get(key)) for key in SWITCHES)
            return tuple((key, value) for key, value in known if isinstance(value, bool) and value != (key in ON))
    return ()


def _number(text: str | None) -> int | float | None:
    if text is None or len(text) > 30:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) < 1e300 else None

