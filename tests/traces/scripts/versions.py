"""What each torch writes of a graph break, of recompiles up to the limit, and of training: any torch from 2.4 on runs it.

`f` breaks at its print, and its second half is compiled as a function of its own. `scaled` is compiled for two names; the third
call hits the recompile limit of 2 and runs in eager mode. `step` is compiled by AOTAutograd, forward and backward. Nothing fails.
"""

import json

import torch
import torch._logging._internal as logs

torch._dynamo.config.cache_size_limit = 2  # from torch 2.7 on another name of recompile_limit


def keep(record):
    """All fields of the metrics, but of the configurations only the limit; no timing events. (Whole logs have 400 KB each.)"""
    for event, said in record.metadata.items():
        if event == "chromium_event":
            return False
        for name in said if event.endswith("compilation_metrics") else ():
            if name.endswith("_config") and isinstance(said[name], str):
                config = json.loads(said[name])
                said[name] = json.dumps({key: config[key] for key in ("recompile_limit", "cache_size_limit") if key in config})
    return True


logs.trace_log.addFilter(keep)


@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    print("break", y.shape)
    return y.cos() + 1


class Scale:
    def __init__(self, name):
        self.name = name


@torch.compile(backend="eager")
def scaled(x, scale):
    return x.cos() if scale.name == "one" else x.sin()


@torch.compile(backend="aot_eager")
def step(x, w):
    return (x @ w).relu().sum()


f(torch.ones(8))
for name in ("one", "two", "three"):
    scaled(torch.ones(4), Scale(name))
step(torch.ones(2, 3), torch.ones(3, 2, requires_grad=True)).backward()
