"""A region in which another function is compiled: `inner` is first called, by a frame that runs compiled, in the second step."""
import sys

import torch

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)


@torch.compile
def inner(x):
    return x.sin().softmax(-1)


is_deep = [False]


@torch._dynamo.disable
def between(x):
    return inner(x) if is_deep[0] else x


@torch.compile
def outer(x):
    return between(x.cos() + 1) * 2


x = torch.randn(64, 64)
outer(x)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    for number in range(4):
        is_deep[0] = number > 0
        with torch.profiler.record_function(f"step {number}"):
            outer(x)
profiler.export_chrome_trace(f"{sys.argv[1]}/profile.json")
