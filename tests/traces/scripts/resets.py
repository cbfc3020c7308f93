"""Ids begin again: three epochs, with torch._dynamo.reset() between them. What is compiled, in order:

epoch 1: f 0/0, g 1/0
epoch 2: g 0/0; the backward of epoch 1's f (also 0/0), of epoch 2's g, of epoch 1's g (1/0, before epoch 2 has one); f 1/0 and its
         backward; f 1/1 (dtype: the only recompile), whose backward is never called
epoch 3: h 0/0, which breaks, and what resumes after it, 1/0

Seven compiles, four of five backwards, one graph break, one recompile.
"""

import json

import torch
import torch._logging._internal as logs


def keep(record):
    """Of the timing events only the outermost, of the metrics no configuration: a whole log of these compiles has 1.4 MB."""
    said = record.metadata
    if "chromium_event" in said:
        event = json.loads(record.payload)
        return event["name"] in ("dynamo", "entire_frame_compile", "entire_backward_compile", "inductor_compile")
    for name in ("compilation_metrics", "bwd_compilation_metrics"):
        metrics = said.get(name)
        for key in [key for key, value in (metrics or {}).items() if value in (None, [], 0, "") or key.endswith("_config")]:
            del metrics[key]
    if said.get("artifact", {}).get("name") in ("fx_graph_runnable", "torch._functorch.config"):
        return False
    return not any(name in said for name in ("describe_storage", "dump_file"))


logs.trace_log.addFilter(keep)


@torch.compile
def f(x, w):
    return (x @ w).relu().sum()


@torch.compile
def g(x, w):
    return (x @ w).sin().sum()


@torch.compile
def h(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


def data(dtype=torch.float32):
    return [torch.randn(4, 4, dtype=dtype, requires_grad=True) for _ in range(2)]


first = f(*data())
second = g(*data())
torch._dynamo.reset()
third = g(*data())
first.backward()
third.backward()
second.backward()
f(*data()).backward()
f(*data(torch.float64))
torch._dynamo.reset()
h(torch.randn(4))
