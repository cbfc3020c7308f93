"""Compiled autograd: the backward is captured as a whole, its compile is `[!0/1/0]`."""
import sys

import counting
import torch
from torch import nn

torch._inductor.config.cpp.enable_kernel_profile = True
torch._dynamo.config.compiled_autograd = True
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8))


@torch.compile
def train(x):
    loss = model(x).square().mean()
    loss.backward()
    return loss


x = torch.randn(16, 32)


def step():
    train(x)
    model.zero_grad()


for _ in range(3):
    step()
with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
    for number in range(3):
        with counting.step(f"step {number}"):
            step()
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json")
