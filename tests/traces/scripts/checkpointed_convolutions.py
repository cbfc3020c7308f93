"""Checkpointed blocks of convolutions, recorded, with guards.  checkpointed_convolutions.py TRUTH"""

import sys

import truth_recorder
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.first, self.norm = nn.Conv2d(wide, wide, 3, padding=1), nn.GroupNorm(2, wide)
        self.act, self.second, self.drop = nn.SiLU(), nn.Conv2d(wide, wide, 1), nn.Dropout(0.1)

    def forward(self, x):
        y = self.act(self.norm(self.first(x)))
        return F.relu(x + self.drop(self.second(y)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.blocks, self.head = nn.ModuleList([Block(8) for _ in range(3)]), nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x.mean((2, 3)))


truth_recorder.with_guards()
torch.compile(Net())(torch.randn(2, 3, 8, 8)).square().mean().backward()
truth_recorder.save(sys.argv[1])
