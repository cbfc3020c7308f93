"""Functions that torch skips, as torch 2.8 logs it: no version, no record of a break that is an `Unsupported` failure.

- [0/0] `loop`: a graph break in a loop. Torch skips the function: it runs in eager mode. No failure is logged, only the break.
- [1/0] `branch`: a data-dependent branch breaks the graph, [2/0] is what follows.
- [3/0] `within`: a break inside a context manager that torch can't resume in: the function is skipped and runs in eager mode.
- [4/0] `full`: fullgraph=True with a break: Unsupported reaches the caller. The log does not tell [3/0] and [4/0] apart.
- [5/0] `empty`: no operations: skipped.
- [6/0] `stopped`: KeyboardInterrupt in the backend, which reaches the caller. No failure is logged.
"""

import torch
import torch._dynamo
import torch._logging._internal as logs


def keep(record):
    """What the trace is made for, and not more: no timing events, no configurations."""
    said = record.metadata
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if value in (None, [], 0, "") or name.endswith("_config")]:
        if name != "has_guarded_code":
            del metrics[name]
    return not any(name in said for name in ("chromium_event", "describe_storage", "describe_tensor", "describe_source"))


logs.trace_log.addFilter(keep)


class Odd:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


@torch.compile(backend="eager")
def loop(x):
    x = x.sin()
    for _ in range(2):
        x = x.sin()
        torch._dynamo.graph_break()
    return x


@torch.compile(backend="eager")
def branch(x):
    x = x.sin()
    if x.sum() > 0:
        return x.cos()
    return x


@torch.compile(backend="eager")
def within(x):
    with Odd():
        x = x.sin()
        torch._dynamo.graph_break()
        x = x.cos()
    return x


@torch.compile(backend="eager", fullgraph=True)
def full(x):
    x = x.sin()
    torch._dynamo.graph_break()
    return x


@torch.compile(backend="eager")
def empty(x):
    return x


def interrupted(graph, inputs):
    raise KeyboardInterrupt


@torch.compile(backend=interrupted)
def stopped(x):
    return x.sin()


for function in (loop, branch, within, full, empty, stopped):
    try:
        function(torch.ones(3))
    except BaseException as error:
        print(function.__name__, "raised", type(error).__name__)
