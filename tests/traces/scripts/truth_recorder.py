"""Writes down what Inductor itself knows of each kernel while it generates code, beside the trace of the same process.

Import it before anything is compiled. `save(FILE)` at the end writes JSON lines: of each call of a kernel the nodes that Inductor
counts to it and the stacks of the lines they come from, and of each node its stack and its module. It asks the arguments of
`torch._inductor.debug.set_kernel_post_grad_provenance_tracing`, which is called for every kernel also where nothing is recorded.
"""

import json
import re
import sys
import traceback

import torch
import torch._inductor.compile_fx
import torch._inductor.codegen.cpp
import torch._inductor.codegen.simd
import torch._inductor.debug as debug
import torch._inductor.graph
import torch._logging._internal as logs
from torch._guards import CompileContext
from torch._inductor.codegen.simd_kernel_features import DisableReduction, EnableReduction
from torch._inductor.virtualized import V

FRAME = re.compile(r'File "([^"]+)", line (\d+), in ')
LEFT_OUT = ("chromium_event", "describe_storage", "describe_tensor", "describe_source", "dynamo_cpp_guards_str")
ARTIFACTS_LEFT_OUT = ("guards", "fx_graph_cache", "aotautograd_cache", "config", "fx_graph_runnable", "after_pre_grad_graph", "before_post_grad_graph",
                      "dynamo_side_effects")  # fmt: skip
kernels: list[dict] = []
nodes: dict[tuple, dict] = {}
subgraphs: dict[int, str | None] = {}
"""Graph of torch.fx → name of the subgraph that it is, None for the outermost one."""


def keep(record):
    """A trace with what provenance reads and who it belongs to: no timing events, guards, descriptions, configurations."""
    said = record.metadata
    name = (said.get("artifact") or {}).get("name", "")
    for event in ("compilation_metrics", "bwd_compilation_metrics"):
        metrics = said.get(event, {})
        for key in [key for key, value in metrics.items() if value in (None, [], 0, "", False) or key.endswith(("_config", "_provenance"))]:
            del metrics[key]
    return not any(key in said for key in LEFT_OUT) and not any(part in name for part in ARTIFACTS_LEFT_OUT)


def frames(text):
    """A stack as Inductor keeps it, outermost first: `FILE:LINE`."""
    return [f"{file}:{line}" for file, line in FRAME.findall(text)]


def stack_of(node):
    return frames(node.meta.get("stack_trace") or node.stack_trace or "")


def module_of(node):
    """The path of the innermost module: of a gradient that of the forward node. Equal constants are one node of many modules: of none."""
    if not node.all_input_nodes:
        return None
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    return str(list(stack.values())[-1][0]) if stack else None


def callers():
    """The frames that call the compiled function, outermost first; none in a backward that is compiled lazily."""
    stack = [(frame.filename, frame.lineno) for frame in traceback.extract_stack()]
    entry = next((n for n, (file, _) in enumerate(stack) if file.endswith("torch/_dynamo/convert_frame.py")), 0)
    return [f"{file}:{line}" for file, line in stack[:entry]]


def origins_of(schedule, is_extern):
    """The nodes of a kernel as Inductor counts them, all nodes that had a part in it, and the stacks."""
    if is_extern:
        parts = [schedule]
        exact = [schedule.origin_node] if schedule.origin_node is not None else list(schedule.origins)
    else:
        parts = [part.node for part in schedule if part not in (EnableReduction, DisableReduction) and part.node is not None]
        exact = [node for part in parts for node in part.origins]
    every = {node.name: node for part in parts for node in part.origins} | {node.name: node for node in exact}
    stacks = dict.fromkeys(text for part in parts for text in part.get_stack_traces())
    return {node.name for node in exact}, every, [found for text in stacks if (found := frames(text))]


def record(schedule, kernel_name, is_extern=False):
    graph = V.graph
    exact, every, stacks = origins_of(schedule, is_extern)
    unit = "backward" if graph.is_backward else "inference" if graph.is_inference else "forward"
    where = str(CompileContext.current_compile_id()), unit
    nth = sum((row["compile"], row["unit"], row["kernel"]) == (*where, kernel_name) for row in kernels)
    kernels.append({
        "kind": "kernel", "compile": where[0], "unit": unit, "graph": graph.graph_id, "subgraph": graph.name, "kernel": kernel_name,
        "nth": nth, "nodes": sorted(exact), "allowed": sorted(every), "stacks": stacks,
        "callers": callers(),
    })  # fmt: skip
    subgraphs[id(graph.module.graph)] = graph.name
    for name, node in every.items():
        nodes[(*where, id(node.graph), name)] = {"stack": stack_of(node), "module": module_of(node)}
    return real(schedule, kernel_name, is_extern)


def save(path):
    with open(path, "w") as file:
        for row in kernels:
            file.write(json.dumps(row) + "\n")
        for (compile_, unit, graph, name), row in nodes.items():
            where = {"compile": compile_, "unit": unit, "subgraph": subgraphs.get(graph), "node": name}
            file.write(json.dumps({"kind": "node", **where, **row}) + "\n")


def with_guards():
    """Leave the guards in the trace: layers are told by them too."""
    global LEFT_OUT
    LEFT_OUT = tuple(key for key in LEFT_OUT if key != "dynamo_cpp_guards_str")


logs.trace_log.addFilter(keep)
real = debug.set_kernel_post_grad_provenance_tracing
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").startswith("torch._inductor") and getattr(module, real.__name__, None) is real:
        setattr(module, real.__name__, record)
torch.set_num_threads(1)
torch.manual_seed(0)
