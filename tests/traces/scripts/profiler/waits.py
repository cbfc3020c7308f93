"""Two ranks of DistributedDataParallel (gloo) around a compiled module; rank 1 sleeps 20 ms in each step, so rank 0 waits for it."""
import sys
import time

import counting
import torch
import torch.distributed as dist
from torch import nn

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = nn.parallel.DistributedDataParallel(torch.compile(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(64, 64)


def step():
    if rank == 1:
        time.sleep(0.02)
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(2):
    step()
dist.barrier()
with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
    for number in range(4):
        with counting.step(f"step {number}"):
            step()
profiler.export_chrome_trace(f"{sys.argv[1]}/profile_rank{rank}.json")
counting.save(f"{sys.argv[1]}/truth_rank{rank}.json", rank=rank, world_size=dist.get_world_size(), slept_ms=20 * rank)
dist.barrier()
dist.destroy_process_group()
