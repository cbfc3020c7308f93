"""More strings than the recompile limit allows."""
import os

import torch

torch._dynamo.config.recompile_limit = 3


@torch.compile(backend="eager")
def sample(x, name):
    return x + 1 if name == "greedy" else x - 1


for number in range(5):
    sample(torch.randn(3), f"request {number}")
