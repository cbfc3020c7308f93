"""Without `enable_kernel_profile`: graphs and extern kernels are in the profile, C++ kernels are not. A step each time round a loop
without annotations."""
import sys

import counting
import torch

torch.set_num_threads(1)


@torch.compile
def scores(q, k, v):
    return ((q @ k.mT) * 0.125).softmax(-1) @ v


def everything():
    q, k, v = (torch.rand(4, 64, 64, requires_grad=True) for _ in range(3))
    scores(q, k, v).sum().backward()


for _ in range(2):
    everything()
with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
    for _ in range(4):
        everything()
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json")
