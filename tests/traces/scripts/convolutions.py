"""Convolutions in channels_last under autocast, forward and a backward that is compiled lazily; not recorded.  convolutions.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 4, 3)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(self.second(x) + x)
        return self.third(x).mean((2, 3))


torch._functorch.config.force_non_lazy_backward_lowering = False
model = torch.compile(Net().to(memory_format=torch.channels_last))
x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
with torch.autocast("cpu", torch.bfloat16):
    loss = model(x).float().square().mean()
loss.backward()
truth_recorder.save(sys.argv[1])
