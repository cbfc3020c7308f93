"""A training loop with `torch.profiler.schedule` (wait 1, warmup 1, active 3, twice) and `tensorboard_trace_handler(use_gzip=True)`."""
import sys

import counting
import torch
from torch import nn

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.LayerNorm(96), nn.Linear(96, 8))
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 48), torch.randint(0, 8, (32,))
with torch.profiler.profile(
    activities=[torch.profiler.ProfilerActivity.CPU],
    schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=2),
    on_trace_ready=torch.profiler.tensorboard_trace_handler(sys.argv[1], use_gzip=True),
) as profiler:
    for number in range(10):
        nn.functional.cross_entropy(compiled(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        profiler.step()
counting.save(sys.argv[1] + "/truth.json", active=[[2, 3, 4], [7, 8, 9]])
