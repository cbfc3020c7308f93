"""The records of vLLM, written by torch's own `trace_structured` while Inductor compiles a small model in pieces.

Order and names of the fields as in vLLM's public sources of early 2026; vLLM itself is not needed.
"""
import copy, json, torch
from unittest.mock import patch
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx
from torch._logging._internal import trace_structured
from torch.fx.passes.split_module import split_module

PASSES = ("NoOpEliminationPass", "RMSNormQuantFusionPass", "PostCleanupPass")

@torch.library.custom_op("demo::attention", mutates_args=())
def attention(x: torch.Tensor) -> torch.Tensor: return x.softmax(-1)
@attention.register_fake
def _(x): return torch.empty_like(x)

def is_attention(node): return "demo.attention" in str(node.target)

def artifact(name, fields):
    trace_structured("artifact", metadata_fn=lambda: {"name": name, "encoding": "json"}, payload_fn=lambda: json.dumps(fields))
def dump(name, text):
    trace_structured("graph_dump", metadata_fn=lambda: {"name": name}, payload_fn=lambda: text)

def without_timing():
    """The pieces' timing events would be more than half of the trace."""
    write = torch._logging.trace_structured
    return patch.object(torch._logging, "trace_structured", lambda name, *a, **k: None if name == "chromium_event" else write(name, *a, **k))

class Passes:
    def __call__(self, graph):
        for number, name in enumerate(PASSES):
            if name == "NoOpEliminationPass":
                for node in list(graph.nodes):
                    if node.target is torch.ops.aten.add.Tensor and node.args[1] == 0:
                        node.replace_all_uses_with(node.args[0])
                        graph.erase_node(node)
            dump(f"vllm_post_grad.{number}.{name}", graph.owning_module.print_readable(print_output=False, include_stride=True, include_device=True))
    def uuid(self): return "passes"

def pieces(gm):
    """As vLLM cuts a graph: each attention is a piece of its own."""
    part, number = {}, 0
    for node in gm.graph.nodes:
        if is_attention(node):
            part[node], number = number + 1, number + 2
        else:
            part[node] = number
    return split_module(gm, None, lambda node: part[node], keep_original_order=True)

class Compiler(torch.fx.Interpreter):
    """Compiles each piece but the attentions when it is reached, once for each range."""
    def __init__(self, split, ranges):
        super().__init__(split)
        self.ranges, self.total = ranges, sum(1 for n in split.graph.nodes if n.op == "call_module")
        self.done = 0
    def call_module(self, target, args, kwargs):
        result, piece = super().call_module(target, args, kwargs), getattr(self.module, target)
        if any(map(is_attention, piece.graph.nodes)): return result
        for low, high in self.ranges:
            artifact("vllm_piecewise_compile_start", {
                "piecewise_index": self.done, "submod_name": target, "total_piecewise_compiles": (self.total + 1) // 2,
                "compile_range_start": low, "compile_range_end": high, "is_single_size": low == high, "is_cudagraph_capture_size": low == high})
            if (low, high) == self.ranges[0]: dump(f"vllm_{target}", piece.print_readable(print_output=False))
            with config.patch(post_grad_custom_post_pass=Passes()), without_timing():
                compile_fx(copy.deepcopy(piece), list(args))
        self.done += 1
        return result

def backend(prefix, ranges):
    def compile_(gm, inputs):
        artifact("vllm_compilation_config", {
            "model": "demo/tiny-1b", "prefix": prefix, "mode": "CompilationMode.VLLM_COMPILE", "backend": "inductor", "custom_ops": "none",
            "splitting_ops": "demo::attention", "cudagraph_mode": "CUDAGraphMode.PIECEWISE", "compile_sizes": ", ".join(str(a) for a, b in ranges if a == b),
            "compile_ranges_split_points": ", ".join(str(b) for a, b in ranges if a != b), "use_inductor_graph_partition": False,
            "inductor_passes": "post_grad_custom_post_pass", "enabled_passes": "fuse_norm_quant, eliminate_noops",
            "dynamic_shapes_type": "DynamicShapesType.BACKED", "dynamic_shapes_evaluate_guards": False})
        dump("vllm_patterns.RMSNormQuantFusionPass", "# Patterns for op: torch.ops.aten.mul.Tensor\ndef pattern_0():\n    x = KeywordArg('x')\n    return CallFunction(torch.ops.aten.mul.Tensor, x, x)\n")
        split = pieces(gm)
        dump("vllm_piecewise_split_graph", split.print_readable(print_output=False))
        Compiler(split, ranges).run(*inputs)
        return gm.forward
    return compile_

class Layer(torch.nn.Module):
    def forward(self, x): return torch.ops.demo.attention(x * 2 + 0) + x

class Model(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(count))
    def forward(self, x):
        for layer in self.layers: x = layer(x)
        return x.relu()

with torch.no_grad():
    artifact("vllm_compile_event", {"type": "fresh_compile"})
    torch.compile(Model(3), dynamic=False, backend=backend("model", [(1, 8192), (4, 4)]))(torch.randn(4, 16))
    torch._dynamo.reset()
    artifact("vllm_compile_event", {"type": "fresh_compile"})
    torch.compile(Model(0), dynamic=False, backend=backend("draft", [(1, 8192)]))(torch.randn(4, 16))
