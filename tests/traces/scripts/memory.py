"""Programs in training, with the truth of their memory: saved tensors, and the peak of each compiled graph.  memory.py TRUTH [PROGRAM …]

Each program is one compile. Programs that share code have other sizes, so each is compiled. It runs once for the trace, once with `saved_tensors_hooks`, which
counts each saved storage once, and once line by line. In the last run, the storages of the wrapper's variables are added up before
each of its lines, and the events of torch's CPU allocator are collected. The trace of the later runs is left out.
"""

import contextlib
import functools
import json
import sys

import truth_recorder
import torch
import torch._functorch.config as functorch_config
import torch.nn.functional as F
from torch import nn
from torch._C._profiler import _EventType
from torch._inductor.output_code import CompiledFxGraph
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

truth_recorder.with_guards()
recording, compiles = True, []
torch._dynamo.config.recompile_limit = 64


def recorded(record):
    """Leave the later runs out of the trace, and remember the compiles of the first."""
    if recording and record.metadata.get("frame_id") is not None:
        autograd = record.metadata.get("compiled_autograd_id")
        compiles.append(f"{'' if autograd is None else f'a{autograd}/'}{record.metadata['frame_id']}/{record.metadata['frame_compile_id']}")
    return recording


truth_recorder.logs.trace_log.addFilter(recorded)


class Mlp(nn.Module):
    def __init__(self, width=32, hidden=128):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(width), Mlp(width)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Blocks(nn.Module):
    def __init__(self, context_fn=None, checkpointed=True):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.checkpointed, self.options = checkpointed, {} if context_fn is None else {"context_fn": context_fn}

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, **self.options) if self.checkpointed else block(x)
        return x


class Attention(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.norm, self.qkv, self.out, self.heads = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(rows, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(rows, length, width))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.attention, self.block, self.head = nn.Embedding(64, 32), Attention(), Block(), nn.Linear(32, 64)

    def forward(self, tokens):
        logits = self.head(self.block(self.attention(self.embed(tokens))))
        return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 4, 3, stride=2)

    def forward(self, x):
        return self.second(F.max_pool2d(F.relu(self.norm(self.first(x))), 2)).mean((2, 3))


class Views(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(32, 96)

    def forward(self, x):
        a, b, c = self.inner(x).sin().chunk(3, 1)
        return (a * b).exp() * c.t().contiguous().t()


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(32, 32)
        self.register_buffer("steps", torch.zeros(32))

    def forward(self, x):
        y = self.inner(x)
        y.mul_(2)
        y[:, :8].add_(1)
        self.steps.add_(1)
        return y.tanh() * y


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        return self.second(F.dropout(F.silu(self.first(x)), 0.2))


def policy(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op == torch.ops.aten.addmm.default else CheckpointPolicy.PREFER_RECOMPUTE


def both(x, weight):
    hidden = torch.relu(x @ weight)
    return hidden, (hidden * hidden).sum()


def rows(*sizes, **options):
    return lambda: (torch.randn(*sizes, **options),)


def autocast(module):
    def run(x):
        with torch.autocast("cpu", torch.bfloat16):
            return module(x)
    return run


selective = functools.partial(create_selective_checkpoint_contexts, policy)
PROGRAMS = {
    "mlp": (lambda: Mlp(), rows(64, 32), {}),
    "checkpoint": (lambda: Blocks(), rows(64, 32), {}),
    "selective": (lambda: Blocks(selective), rows(56, 32), {}),
    "budget_0.1": (lambda: Blocks(checkpointed=False), rows(64, 32), {"budget": 0.1}),
    "budget_0.5": (lambda: Blocks(checkpointed=False), rows(72, 32), {"budget": 0.5}),
    "budget_1": (lambda: Blocks(checkpointed=False), rows(80, 32), {"budget": 1.0}),
    "bf16": (lambda: Mlp().bfloat16(), rows(64, 32, dtype=torch.bfloat16), {}),
    "autocast": (lambda: autocast(Mlp()), rows(64, 32), {}),
    "in_place": (lambda: InPlace(), rows(64, 32), {}),
    "views": (lambda: Views(), rows(32, 32), {}),
    "transformer": (lambda: Transformer(), lambda: (torch.randint(64, (4, 16)),), {}),
    "convolutions": (lambda: Convolutions(), rows(4, 3, 16, 16), {}),
    "dropout": (lambda: Dropped(), rows(64, 32), {}),
    "outputs": (lambda: both, lambda: (torch.randn(64, 32), torch.randn(32, 48, requires_grad=True)), {}),
    "dynamic": (lambda: Blocks(checkpointed=False), rows(48, 32), {"dynamic": True}),
    "no_grad": (lambda: Blocks(checkpointed=False), rows(88, 32), {"grad": False}),
    "compiled_autograd": (lambda: Mlp(), rows(48, 32), {"autograd": True}),
}  # fmt: skip


def key(tensor):
    storage = tensor.untyped_storage()
    return storage._cdata, storage.nbytes()


def loss(result):
    return sum(part.float().square().mean() for part in (result if isinstance(result, tuple) else (result,)) if part.requires_grad)


def settings(options):
    """The settings of a program while it compiles and runs."""
    stack = contextlib.ExitStack()
    stack.enter_context(torch.set_grad_enabled(options.get("grad", True)))
    stack.enter_context(functorch_config.patch(activation_memory_budget=options.get("budget", 1.0)))
    if options.get("autograd"):
        stack.enter_context(torch._dynamo.compiled_autograd._enable(torch.compile(backend="inductor")))
    return stack


def storages_of(result):
    """The storages of a program's results."""
    return {key(part)[0]: "outputs" for part in (result if isinstance(result, tuple) else (result,))}


def run(function, arguments, options, between=lambda result: None):
    """Call it, and its backward, which finds no gradients yet."""
    for parameter in function.parameters() if isinstance(function, nn.Module) else ():
        parameter.grad = None
    result = function(*arguments)
    between(result)
    if options.get("grad", True):
        loss(result).backward()


def outside(module, arguments):
    """Storages of parameters and of inputs."""
    parameters = [*module.parameters(), *module.buffers()] if isinstance(module, nn.Module) else []
    if not parameters and getattr(module, "__closure__", None):
        parameters = [*module.__closure__[0].cell_contents.parameters()]
    return {key(tensor)[0]: "parameters" for tensor in parameters} | {key(tensor)[0]: "inputs" for tensor in arguments}


def saved_bytes(function, module, arguments, options):
    """Bytes that autograd saves in the compiled call, each storage once, by what they are."""
    saved = {}

    def pack(tensor):
        saved[key(tensor)[0]] = tensor
        return tensor

    names = outside(module, arguments)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = function(*arguments)
    names |= storages_of(result)
    sums = dict.fromkeys(("activations", "outputs", "inputs", "parameters"), 0)
    for number, tensor in saved.items():
        sums[names.get(number, "activations")] += key(tensor)[1]
    return sums


class Watched:
    """Storages of a wrapper's variables, before each of its lines."""

    def __init__(self, held):
        self.held, self.peak, self.line = held, 0, 0

    def __call__(self, frame, event, argument):
        if frame.f_code.co_name != "call":
            return None
        if event in ("line", "return"):
            alive = {}
            for value in frame.f_locals.values():
                for part in value if isinstance(value, (tuple, list)) else (value,):
                    if isinstance(part, torch.Tensor):
                        number, size = key(part)
                        alive[number] = size
            total = sum(size for number, size in alive.items() if number not in self.held)
            if total > self.peak:
                self.peak, self.line = total, frame.f_lineno
        return self


def peaks(function, module, arguments, options):
    """The peak of each compiled graph in the order of the calls: of its variables, and of the allocator from its start."""
    graphs, held = [], outside(module, arguments)
    tangents = []  # held, or another storage gets the address of one
    real = CompiledFxGraph.__call__

    def watched(self, inputs):
        backward = len(graphs) > 0
        own = dict(held)
        if not backward:
            own |= {key(value)[0]: "inputs" for value in inputs if isinstance(value, torch.Tensor)}
        else:
            passed = set() if options.get("autograd") else {number for number, _ in graphs[0]["all"]}
            tangents.extend(value for value in inputs if isinstance(value, torch.Tensor) and key(value)[0] not in passed)
            own |= graphs[0]["outputs"] | {key(value)[0]: "tangents" for value in tangents}
        watch = Watched(own)
        sys.settrace(watch)
        try:
            outputs = real(self, inputs)
        finally:
            sys.settrace(None)
        graphs.append({"peak": watch.peak, "line": watch.line, "outputs": {}})
        if not backward:
            graphs[0]["all"] = [key(value) for value in outputs if isinstance(value, torch.Tensor)]
        return outputs

    CompiledFxGraph.__call__ = watched
    try:
        run(function, arguments, options, lambda result: graphs[0].update(outputs=storages_of(result)))
    finally:
        CompiledFxGraph.__call__ = real
    return [graph["peak"] for graph in graphs]


def allocator_peaks(function, arguments, options):
    """The same from the events of torch's CPU allocator, which include memory inside of library calls."""
    real, spans = CompiledFxGraph.__call__, []

    def watched(self, inputs):
        with torch.profiler.record_function(f"graph {len(spans)}"):
            spans.append(0)
            return real(self, inputs)

    CompiledFxGraph.__call__ = watched
    try:
        with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            run(function, arguments, options)
    finally:
        CompiledFxGraph.__call__ = real
    found = {}

    def visit(event, graph):
        if event.tag == _EventType.Allocation and graph:
            found.setdefault(graph, []).append((event.start_time_ns, event.extra_fields.alloc_size))
        if event.name.startswith("graph "):
            graph = event.name
        for child in event.children:
            visit(child, graph)

    for event in profile.profiler.kineto_results.experimental_event_tree():
        visit(event, "")
    results = []
    for graph in sorted(found):
        level = peak = 0
        for _, size in sorted(found[graph]):
            level += size
            peak = max(peak, level)
        results.append(peak)
    return results


def main(path, only):
    global recording
    truth = {}
    for name, (make, arguments_of, options) in PROGRAMS.items():
        if only and name not in only:
            continue
        torch.manual_seed(0)
        module = make()
        compiled = torch.compile(module, dynamic=options.get("dynamic", False))
        arguments = arguments_of()
        with settings(options):
            compiles.clear()
            recording = True
            run(compiled, arguments, options)
            recording = False
            entry = {"compiles": list(dict.fromkeys(compiles)), "saved": saved_bytes(compiled, module, arguments, options)}
            entry["peaks"] = peaks(compiled, module, arguments, options)
            entry["allocator"] = allocator_peaks(compiled, arguments, options)
        truth[name] = entry
        print(name, entry, file=sys.stderr, flush=True)
    with open(path, "w") as file:
        json.dump(truth, file, indent=1)


main(sys.argv[1], sys.argv[2:])
