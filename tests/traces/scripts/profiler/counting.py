"""What a program counts and times itself while the profiler is on, to compare the profile with. Import it before torch.compile.

`window(profiler)` opens the profiled part, `step(name)` is one step of it, `save(path, **facts)` writes `truth.json`.
"""

import collections
import contextlib
import json
import os
import time

import torch
from torch._inductor.output_code import CompiledFxGraph

graphs = collections.defaultdict(list)
steps = []
window_us = []
counted = [False]
called = CompiledFxGraph.__call__


def timed(self, inputs):
    began = time.perf_counter_ns()
    try:
        return called(self, inputs)
    finally:
        if counted[0]:
            graphs[str(self._fx_graph_cache_key)].append((time.perf_counter_ns() - began) / 1e3)


CompiledFxGraph.__call__ = timed


@contextlib.contextmanager
def window(profiler):
    with profiler:
        counting(True)
        yield profiler
        counting(False)


def counting(on):
    """Begin or end to count: for a profiler with a schedule."""
    if counted[0] != on:
        counted[0] = on
        window_us.append(time.time_ns() / 1e3)


@contextlib.contextmanager
def step(name):
    began = time.perf_counter_ns()
    with torch.profiler.record_function(name):
        yield
    steps.append({"name": name, "us": (time.perf_counter_ns() - began) / 1e3})


def save(path, **facts):
    told = {
        "torch": torch.__version__, "pid": os.getpid(), "window_us": window_us, "steps": steps,
        "graphs": {key: {"calls": len(times), "us": sum(times)} for key, times in graphs.items()}, **facts,
    }
    with open(path, "w") as file:
        json.dump(told, file, indent=1)
        file.write("\n")
