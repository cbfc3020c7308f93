"""Under `torchrun --nproc-per-node 4`: rank 2, which compiled a function more than the others, ends itself (with HANG=1: hangs) in the
backend while it compiles `block1` [2/0]; the others have compiled it as [1/0] and wait for rank 2 in a collective."""

import os
import signal
import time

import torch
import torch._logging._internal as logs
import torch.distributed as dist

HANGS = 2


def keep(record):
    """Timing events, beginnings and ends."""
    metrics = record.metadata.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if value in (None, [], 0, "") or name.endswith("_config")]:
        if name != "has_guarded_code":
            del metrics[name]
    return any(name in record.metadata for name in ("chromium_event", "dynamo_start", "str", "compilation_metrics", "dynamo_output_graph"))


def backend(graph_module, inputs):
    if dist.get_rank() == HANGS:
        if os.environ.get("HANG") == "1":
            time.sleep(600)
        time.sleep(1)  # the others have come to their collective by then
        os.kill(os.getpid(), signal.SIGKILL)
    return graph_module.forward


@torch.compile(backend="eager")
def extra(x):
    return x.tan()


@torch.compile(backend="eager")
def block0(x):
    return x.sin()


@torch.compile(backend=backend)
def block1(x):
    return x.cos()


if os.environ.get("CUT") == "1":
    logs.trace_log.addFilter(keep)
dist.init_process_group("gloo")
data = torch.randn(4)
if dist.get_rank() == HANGS:
    extra(data)
block0(data)
dist.all_reduce(data)
block1(data)
dist.all_reduce(data)
