"""Ids begin again, and the first frame of an epoch is a backward of compiled autograd. What is compiled, in order:

epoch 1: forward 0/0
epoch 2: the graph of a backward that ran in eager mode before, !0/0/0, and again with another size, !0/0/1 (or !1/0/0)
epoch 3: other 0/0, forward 1/0

Within an epoch a frame and a number are given once, with an id of compiled autograd or without: 0/0 cannot be in epoch 2.
"""

import torch
import torch._logging._internal as logs


def keep(record):
    """What the trace is made for, and not more: no timing events, no configurations, no graphs."""
    said = record.metadata
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if value in (None, [], 0, "") or name.endswith("_config")]:
        if name != "has_guarded_code":
            del metrics[name]
    return any(name in said for name in ("dynamo_start", "compilation_metrics", "str", "compiled_autograd_graph"))


logs.trace_log.addFilter(keep)


def forward(x):
    return x.sin().sum()


def other(x):
    return x.cos()


compiled = torch.compile(forward, backend="eager")
compiled(torch.randn(3))
torch._dynamo.reset()
for count in (3, 4, 5):
    x = torch.randn(count, requires_grad=True)
    loss = forward(x)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
        loss.backward()
torch._dynamo.reset()
torch.compile(other, backend="eager")(torch.randn(3))
compiled(torch.randn(3))
