"""A function that breaks its graph at one that Dynamo may not look into, and one that is called with more sizes than may be compiled:
3 rounds, then 4 with the profiler. Caches off: graphs have no keys."""
import sys

import counting
import torch

torch._inductor.config.cpp.enable_kernel_profile = True
torch._dynamo.config.recompile_limit = 2
torch._dynamo.config.automatic_dynamic_shapes = False
torch.set_num_threads(1)


@torch._dynamo.disable
def host(x):
    return x.sort(-1).values.cumsum(-1)


@torch.compile
def split(x, w):
    x = host((x @ w).relu() * 2)
    return (x @ w).sigmoid().sum(-1)


@torch.compile
def limited(x):
    return (x.sin() + x.cos()).softmax(-1)


weights = torch.randn(256, 256)
sizes = [torch.randn(size, 256) for size in (64, 96, 128)]  # the third is over the limit


def everything():
    split(torch.ones(128, 256), weights)
    for x in sizes:
        limited(x)


with torch.no_grad():
    for _ in range(3):
        everything()
    with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
        for number in range(4):
            with counting.step(f"round {number}"):
                everything()
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json", regions=16, lookups=20, fallbacks=4)
