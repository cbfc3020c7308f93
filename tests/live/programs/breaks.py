"""A graph break on print: two frames, the first of which restarts."""
import os

import torch


@torch.compile(backend=os.environ["BACKEND"])
def step(x):
    y = x.sin()
    print("half way")
    return y.cos()


step(torch.randn(8))
