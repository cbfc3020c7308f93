"""Input coverage: the contents that each page can show from inputs other than a trace, and how to record a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tltui.inputs.debug_directory import AUTOTUNE_CACHE, VLLM_CACHE
from tltui.model.nodes import Process
from tltui.text.frozen import frozen

TEXT, DEBUG_DIR = "text", "debug_dir"
TITLES = {TEXT: "TORCH_LOGS text", DEBUG_DIR: "A torch_compile_debug directory"}
HOW = "To record a trace, set TORCH_TRACE=DIR"


@frozen
class Needs:
    """The record kinds that a page is made of, and which of them other inputs contain."""

    lacks: str
    """The missing contents of TORCH_LOGS text, as a verb phrase; '' for none."""
    logs: tuple[str, ...] = ()
    """Names in TORCH_LOGS, each of which has some of what the page shows. Without any the page is not made of text at all."""
    shows: str = ""
    """What those logs have."""
    in_debug_dir: bool = False
    """Whether a torch_compile_debug directory has what the page shows."""
    in_vllm_cache: bool = False
    """Whether the page shows vLLM's compile cache."""
    reads_output: bool = False
    """Whether the page shows contents of output without a compile."""
    reads_engine_log: bool = False
    """Whether the page shows the start-up of an engine from the log of vLLM or SGLang."""
    is_overview: bool = False
    """Whether the page is about all there is: it names what text lacks for a torch_compile_debug directory too."""


GRAPH_LOGS = ("graph_code", "pre_grad_graphs", "aot_graphs", "post_grad_graphs")

EVIDENCE: dict[str, frozenset[str]] = {
    "recompiles": frozenset(("recompile_reasons",)),
    "graph_breaks": frozenset(("dynamo_graph_break_reason",)),
    "guards": frozenset(("dynamo_cpp_guards_str", "guards_text", "guards")),
    "graph_code": frozenset(("dynamo_output_graph", "graph_code")),
    "pre_grad_graphs": frozenset(("before_pre_grad_graph", "pre_grad_graphs")),
    "aot_graphs": frozenset((
        "aot_joint_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph", "aot_metadata", "aot_graphs",
    )),
    "post_grad_graphs": frozenset(("inductor_post_grad_graph", "post_grad_graphs")),
    "output_code": frozenset(("inductor_output_code", "output_code")),
    "dynamic": frozenset((
        "create_symbol", "create_unbacked_symbol", "guard_added_fast", "symbolic_shape_specialization",
        "torch.fx.experimental.symbolic_shapes", "torch/fx/experimental/symbolic_shapes",
    )),
    "+dynamo": frozenset(("dynamo_start",)),
    **{name: frozenset((name,)) for name in ("ir_pre_fusion", "ir_post_fusion", "fusion", "cudagraphs")},
}  # fmt: skip
"""Name in TORCH_LOGS → events and names of records that only it writes."""


def from_elsewhere(processes: Iterable[Process]) -> list[Process]:
    """Return the processes without a trace."""
    return [process for process in processes if not process.is_traced]


def compiling(processes: Sequence[Process]) -> Sequence[Process]:
    """Return the processes that compiled, without torchrun's; all of them where none did."""
    return [process for process in processes if process.tally.compiles] or processes


def is_untold(processes: Sequence[Process], needs: Needs) -> bool:
    """Return whether the opened inputs contain nothing that a page shows."""
    processes = compiling(processes)
    told_of = from_elsewhere(processes)
    if not told_of or len(told_of) < len(processes):
        return False
    if needs.in_vllm_cache and any(process.log.told_by == VLLM_CACHE for process in told_of):
        return False
    has_text = any(TEXT in process.origins for process in told_of)
    return not (needs.logs and has_text) and not needs.in_debug_dir


def heard(processes: Iterable[Process]) -> frozenset[str]:
    """Return the names in TORCH_LOGS that were enabled, judging by the text written."""
    kinds = {name for log in {process.log for process in processes} for kind in log.kinds for name in (kind.event, kind.name)}
    return frozenset(name for name, shown in EVIDENCE.items() if shown & kinds)


def title_of(processes: Iterable[Process]) -> str:
    """Return the sources of the processes, as the beginning of a sentence."""
    processes = list(processes)
    origins = {origin for process in processes for origin in process.origins}
    titles = [title for origin, title in TITLES.items() if origin in origins]
    writers = {process.log.told_by for process in processes}
    if origins == {DEBUG_DIR} and len(writers) == 1 and writers <= {VLLM_CACHE, AUTOTUNE_CACHE}:
        return writers.pop()
    return " or ".join((titles[0], *(title[:1].lower() + title[1:] for title in titles[1:]))) if titles else "The opened input"


def told_less(left: Sequence[Process], right: Sequence[Process]) -> str:
    """Return the side without a trace where the other has one: its missing records are no difference. '' for none."""
    for side, present, other in (("left", left, right), ("right", right, left)):
        if present and not any(process.is_traced for process in present) and any(process.is_traced for process in other):
            return f"{title_of(present)} is the only source of the {side} side. Records missing there are not differences."
    return ""


def untold(processes: Sequence[Process], needs: Needs) -> str:
    """Explain the missing contents of a page for these processes and how to record them; '' where all have a trace."""
    processes = compiling(processes)
    of = from_elsewhere(processes)
    if not of:
        return ""
    title = title_of(of)
    if needs.in_vllm_cache and title == VLLM_CACHE:
        return ""
    has_text = any(TEXT in process.origins for process in of)
    if len(of) < len(processes):
        are = "processes is" if len(of) == 1 else "processes are"
        name = title if title.startswith(TITLES[TEXT]) else title[:1].lower() + title[1:]
        title = f"{len(of)} of {len(processes)} {are} only in {name}, which"
    sentences = []
    if not has_text and needs.shows and not needs.in_debug_dir:
        sentences.append(f"{title} lacks {needs.shows}. {HOW}.")
    elif needs.lacks and (has_text or not needs.in_debug_dir or needs.is_overview):
        sentences.append(f"{title} {needs.lacks}. {HOW}.")
    if has_text and needs.shows and not heard(of) & set(needs.logs):
        names = ",".join(needs.logs)
        who = "The text" if sentences else title
        yet = "" if all(process.log.ended for process in of) else " yet"
        sentences.append(f"{who} lacks {needs.shows}{yet}. To log them as text, set TORCH_LOGS={names}.")
    return " ".join(sentences)
