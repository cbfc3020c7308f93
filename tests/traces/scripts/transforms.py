"""Soft failures before Dynamo traces a function: it meets the function inside of a transform that runs in eager mode.

- [0/0] `gradient` breaks its graph inside of `torch.func.grad`. [1/0] torch's wrapper of it breaks as well. [2/0] `loss` fails with
  "Unsupported functorch tracing attempt": it runs in eager mode, and the program goes on.
- [3/0] `strict` is compiled with fullgraph=True and called by `torch.func.grad`: the same failure reaches the caller.

The two failures are alike in the trace, but for names and times.
"""

import torch
import torch._logging._internal as logs


def keep(record):
    """What the trace is made for, and not more: no timing events, no configurations."""
    said = record.metadata
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if value in (None, [], 0, "") or name.endswith("_config")]:
        if name != "has_guarded_code":
            del metrics[name]
    artifact = said.get("artifact", {}).get("name", "")
    kinds = ("chromium_event", "describe_storage", "describe_tensor", "describe_source", "aot_joint_graph", "dynamo_cpp_guards_str")
    return not any(name in said for name in kinds) and not artifact.startswith(("aotautograd", "dynamo_side"))


logs.trace_log.addFilter(keep)


def loss(x):
    torch._dynamo.graph_break()
    return x.sin().sum()


@torch.compile(backend="aot_eager")
def gradient(x):
    return torch.func.grad(loss)(x)


@torch.compile(backend="aot_eager", fullgraph=True)
def strict(x):
    return x.sin().sum()


x = torch.randn(3)
assert torch.equal(gradient(x), x.cos())
try:
    torch.func.grad(strict)(x)
except torch._dynamo.exc.Unsupported:
    pass
else:
    raise AssertionError("reaches the caller")
