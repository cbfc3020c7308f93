"""Two equal functions and one of their own; run it twice with one TORCHINDUCTOR_CACHE_DIR: in the second process all graphs come from
the cache, and the graphs of `first` and `second` have one key in both."""
import sys

import counting
import torch

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)


@torch.compile
def first(x):
    return (x.sin() * 2 + x.exp()).sum(-1)


@torch.compile
def second(x):
    return (x.sin() * 2 + x.exp()).sum(-1)


@torch.compile
def third(x):
    return (x @ x).relu().softmax(-1)


x = torch.rand(192, 192)


def everything():
    first(x)
    second(x)
    second(x)
    third(x)


with torch.no_grad():
    everything()
    with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
        for number in range(3):
            with counting.step(f"round {number}"):
                everything()
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json", calls={"0/0": 3, "1/0": 6, "2/0": 3})
