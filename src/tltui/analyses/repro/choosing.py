"""Which graph of a compile a script is made of: the one that is worth the most, of those that can be."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.analyses.parts import reader_of
from tltui.analyses.problems.failures import INTERRUPTED
from tltui.analyses.repro.allowed import Refused
from tltui.analyses.repro.checking import LONGEST
from tltui.analyses.repro.facts import ReproFacts, repro_facts
from tltui.analyses.repro.reading import GraphCode, read_graph
from tltui.analyses.repro.runnable import read_runnable
from tltui.analyses.repro.script import Parts, input_bytes, script_of
from tltui.analyses.repro.sizes import MAX_BYTES
from tltui.analyses.torch_version import version_of
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Compile
from tltui.model.status import Status
from tltui.trace.log import Check

RUNNABLE = "fx_graph_runnable"
WORTH = {
    "dynamo_output_graph": "your function as Dynamo saw it, before autograd and the backend",
    "before_pre_grad_graph": "the Dynamo graph as Inductor got it",
    "inductor_pre_grad_graph": "the Dynamo graph as Inductor got it",
    "after_pre_grad_graph": "the graph after Inductor's pre-grad passes",
    "aot_joint_graph": "forward and backward in one graph of ATen operations: its gradients are outputs",
    "aot_forward_graph": "the forward in ATen operations; what it saves for the backward is among its outputs",
    "aot_inference_graph": "the graph in ATen operations",
    "before_post_grad_graph": "the ATen graph before Inductor's post-grad passes",
    "inductor_post_grad_graph": "the graph that Inductor lowers to kernels",
    "after_post_grad_graph": "the graph that Inductor lowers to kernels",
    RUNNABLE: "the graph that Inductor lowers to kernels, with the inputs that torch wrote down",
    "aot_backward_graph": "the backward in ATen operations",
}
"""Graphs that a script can be made of, the best first, and what they are."""
BEFORE_AUTOGRAD = frozenset(("dynamo_output_graph", "before_pre_grad_graph", "inductor_pre_grad_graph", "after_pre_grad_graph"))


@dataclass(frozen=True, slots=True)
class Tried:
    """A graph that no script can be made of."""

    ref: str
    why: str


@dataclass(frozen=True, slots=True)
class Repro:
    """The script of a compile, or why there is none."""

    ref: str
    """The address of the compile."""
    graph: str
    """The address of the graph that it was made of; '' without a script."""
    script: str
    refused: str
    """A sentence; '' with a script."""
    tried: tuple[Tried, ...]
    """The graphs that would be worth more, or all of them, and why they can't be."""


def repro_of(
    compile_: Compile, only: str | None = None, artifact: Artifact | None = None, max_bytes: int = MAX_BYTES
) -> Repro:
    """Make the script of a compile, from the graphs that are called `only` or from one `artifact` if that is asked for."""
    ref = str(compile_.ref)
    graphs = _graphs(compile_, only) if artifact is None else [artifact] if artifact.name in WORTH else []
    if not graphs:
        return Repro(ref, "", "", _without_graph(compile_, only or (artifact.name if artifact else None)), ())
    facts = repro_facts(compile_)
    tried: list[Tried] = []
    for graph in graphs:
        try:
            script = _script(graph, facts, tuple(tried), max_bytes)
        except Refused as refused:
            tried.append(Tried(str(graph.ref), str(refused)))
            continue
        return Repro(ref, str(graph.ref), script, "", tuple(tried))
    return Repro(ref, "", "", _sentence(ref, tried), tuple(tried))


def _graphs(compile_: Compile, only: str | None) -> list[Artifact]:
    """The graphs of the last attempt that has any, the best first."""
    order = list(WORTH)
    found = [each for each in artifacts_of(compile_) if each.name in WORTH and only in (None, each.name)]
    last = max((each.attempt for each in found), default=0)
    return sorted((each for each in found if each.attempt == last), key=lambda each: (order.index(each.name), each.n))


def _script(graph: Artifact, facts: ReproFacts, tried: tuple[Tried, ...], max_bytes: int) -> str:
    checked = graph.log.check(graph.record)
    if checked is not None and checked.check is Check.BAD:
        raise Refused("its text is damaged")
    text = reader_of(graph.owner).text(graph.record, LONGEST + 1)
    if graph.log.columns.size[graph.record] > LONGEST:
        raise Refused(f"its text is longer than {LONGEST >> 20} MB")
    code = read_runnable(text) if graph.name == RUNNABLE else read_graph(text)
    differentiates = graph.name in BEFORE_AUTOGRAD
    if differentiates:
        _refuse_subclasses(code, facts)
    return script_of(Parts(_header(graph, facts, tried, code), code, facts, differentiates, max_bytes))


def _refuse_subclasses(code: GraphCode, facts: ReproFacts) -> None:
    for name in code.whole.parameters:
        tensor = facts.tensor(name)
        if tensor is not None and any(word in tensor.note for word in ("subclass", "nested", "sparse", "functorch")):
            raise Refused(f"it takes {tensor.source[:80]}, which is no plain tensor ({tensor.note})")


def _header(graph: Artifact, facts: ReproFacts, tried: tuple[Tried, ...], code: GraphCode) -> tuple[str, ...]:
    owner = graph.owner
    name, file, line = owner.frame.code
    called = f"{name or 'a function'}" + (f" ({file}:{line})" if file else "")
    version = version_of(owner.process)
    torch = version.stated or f"{version}"
    rank = "" if owner.process.rank is None else f", rank {owner.process.rank}"
    backend = facts.other_backend or facts.backend
    expected = "it agrees with eager mode, and the exit code is 0"
    if facts.failure == INTERRUPTED:
        expected += "; the job was interrupted while it compiled this"
    elif facts.failure:
        expected = f"the job failed with {facts.failure}: {' '.join(facts.failure_reason.split())[:200]}"
    lines = [
        "From a trace: read before running.",
        "",
        f"What:    {called}, compile {owner.ref}{rank}, torch {torch}",
        f"Graph:   {graph.ref}: {WORTH[graph.name]}",
        f"Backend: {backend or 'the trace does not tell; inductor is used'}",
        "Run:     python repro.py [--device cpu] [--backend aot_eager] [--eager]",
        f"Expect:  {expected}",
        f"Inputs:  the layouts of the trace, random values, at most {max(input_bytes(code, facts) >> 20, 1)} MB",
    ]
    if facts.other_backend:
        lines.append(f"         backend {facts.other_backend} is not in the trace: import it and name it with --backend")
    lines += [f"Not of {each.ref}: {each.why}" for each in tried]
    return (*lines, "", "Written by tltui repro.")


def _without_graph(compile_: Compile, only: str | None) -> str:
    ref = compile_.ref
    if only is not None:
        names = sorted({each.name for each in artifacts_of(compile_)} & WORTH.keys())
        return f"{ref} has no graph {only}. It has: {', '.join(names) or 'none'}."
    failures = repro_facts(compile_).failure
    if failures:
        return f"{ref} has no graph: torch failed before there was one ({failures})."
    words: dict[Status | None, str] = {
        Status.BREAK: "Dynamo met a graph break before there was anything to compile",
        Status.EMPTY: "no torch operation was captured",
        Status.EAGER: "it was not compiled, and runs in eager mode",
        Status.MISSING: "the log ends before there was one",
        Status.RUNNING: "torch has not got to one so far",
    }
    return f"{ref} has no graph: {words.get(compile_.status, 'the log has none of it')}."


def _sentence(ref: str, tried: list[Tried]) -> str:
    """Why none of the graphs will do: the reason of the best one, which is mostly that of all."""
    more = ", and none of its other graphs can either" if len(tried) > 1 else ""
    return f"{ref} can't be made a script: {tried[0].why}{more}."
