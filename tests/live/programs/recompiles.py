"""Two sizes, the second of which turns dynamic, and a dtype: three compiles of one frame."""
import os

import torch


@torch.compile(backend=os.environ["BACKEND"])
def scale(x):
    return x * 2 + 1


for x in (torch.randn(3), torch.randn(5), torch.randn(7), torch.randn(5).double()):
    scale(x)
