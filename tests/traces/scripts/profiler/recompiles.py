"""Compiles inside the window: the first compile of one function, recompiles of another for sizes and for a flag, and calls that hit."""
import sys

import counting
import torch

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)


@torch.compile(dynamic=False)
def sized(x, flag):
    x = x.cos() + 1 if flag else x.sin() - 1
    return (x * x).mean(-1)


@torch.compile
def late(x):
    return x.tanh().cumsum(0)


with torch.no_grad():
    sized(torch.rand(64, 64), True)
    with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
        for number, (size, flag) in enumerate([(64, True), (80, True), (80, False), (64, True), (80, True), (80, False)]):
            with counting.step(f"step {number}"):
                sized(torch.rand(size, 64), flag)
                if number > 1:
                    late(torch.rand(96, 32))
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json", calls={"0/0": 2, "0/1": 2, "0/2": 2, "1/0": 4}, compiled_inside=["0/1", "0/2", "1/0"])
