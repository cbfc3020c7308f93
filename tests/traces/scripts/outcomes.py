"""What becomes of a compile, and of the call that asked for it.

- [0/0] [0/1] `stopped`: KeyboardInterrupt in the backend. It reaches the caller; torch logs no failure. [0/1] is no recompile.
- [1/0] `picky` is compiled. [1/1] has a graph break in a loop: torch skips the function. From then on all calls run in eager mode, also
  those that [1/0] fits.
- [2/0] `limited` breaks its graph. [3/0] [3/1] its rest, twice: the limit. [3/2] hits it. Later calls are in no log.
- [4/0] [4/1] `limited_full`; [4/2] [4/3] hit the limit with fullgraph=True: FailOnRecompileLimitHit reaches the caller, each time.
- [5/0] `strict`; [5/1] error_on_recompile is set: RecompileError reaches the caller.
- [6/0] `toggled` breaks its graph. [7/0] its rest breaks it under error_on_graph_break(True): Unsupported reaches the caller.
- [8/0] `suppressed`: the backend raises, suppress_errors is set: the call runs in eager mode and returns.
- [9/0] `full`: fullgraph=True with a graph break, suppress_errors is set: Unsupported reaches the caller all the same.
- [10/0] `retried` fails with an error, [10/1] with good sizes is compiled. No guard failed: it is no recompile. [10/2] is one.
- [11/0] `empty` has no operations: torch skips it for good; the second call, which has some, runs in eager mode.

Reached the caller: 8 (0/0 0/1 4/2 4/3 5/1 7/0 9/0 10/0). Eager: 3 (1/1 3/2 8/0). Recompiles: 8 (1/1 3/1 3/2 4/1 4/2 4/3 5/1 10/2).
"""

import functools

import torch
import torch._logging._internal as logs
from torch._dynamo import config


def keep(record):
    """What the trace is made for, and not more: no timing events, no configurations, no framework stacks."""
    said = record.metadata
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if value in (None, [], 0, "") or name.endswith("_config")]:
        if name != "has_guarded_code":
            del metrics[name]
    metrics.pop("exception_stack_trace", None)
    return not any(name in said for name in ("chromium_event", "describe_storage", "describe_tensor", "describe_source"))


logs.trace_log.addFilter(keep)


def interrupted(graph, inputs):
    raise KeyboardInterrupt


def refuses(graph, inputs):
    raise RuntimeError("this backend refuses")


compiled = functools.partial(torch.compile, backend="eager", dynamic=False)


@torch.compile(backend=interrupted)
def stopped(x):
    return x.sin()


@compiled
def picky(x, loop):
    if loop:
        for _ in range(2):
            x = x.sin()
            torch._dynamo.graph_break()
    return x.cos()


@compiled
def limited(x):
    torch._dynamo.graph_break()
    return x.sin()


@compiled(fullgraph=True)
def limited_full(x):
    return x.tan()


@compiled
def strict(x):
    return x.exp()


@compiled
def toggled(x):
    x = x.sin()
    torch._dynamo.graph_break()
    x = x.cos()
    with torch._dynamo.error_on_graph_break(True):
        torch._dynamo.graph_break()
    return x.exp()


@torch.compile(backend=refuses)
def suppressed(x):
    return x.log()


@compiled(fullgraph=True)
def full(x):
    torch._dynamo.graph_break()
    return x.log()


@compiled
def retried(x, y):
    return x @ y


@compiled
def empty(x, on):
    return x.sin() if on else x


def attempt(function, *inputs):
    try:
        function(*inputs)
        print(function.__name__, "returned")
    except BaseException as error:
        print(function.__name__, "raised", type(error).__name__)


one = torch.ones
attempt(stopped, one(3))
attempt(stopped, one(3))
attempt(picky, one(3), False)
attempt(picky, one(3), True)
attempt(picky, one(3), False)
with config.patch(recompile_limit=2):
    for size in range(3, 7):
        attempt(limited, one(size))
    for size in range(3, 7):
        attempt(limited_full, one(size))
attempt(strict, one(3))
with config.patch(error_on_recompile=True):
    attempt(strict, one(4))
attempt(toggled, one(3))
with config.patch(suppress_errors=True):
    attempt(suppressed, one(3))
    attempt(full, one(3))
attempt(retried, one(2, 3), one(2, 3))
attempt(retried, one(2, 3), one(3, 2))
attempt(retried, one(4, 3), one(3, 2))
attempt(empty, one(3), False)
attempt(empty, one(3), True)
