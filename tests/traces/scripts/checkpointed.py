"""Layers in a loop that are computed again in the backward (torch.utils.checkpoint), dropout; recorded, with guards.  checkpointed.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down, self.drop = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8), nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(torch.nn.functional.gelu(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.ModuleList([Layer() for _ in range(2)]), nn.Linear(8, 3)

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.head(x)


truth_recorder.with_guards()
torch.compile(Net())(torch.randn(4, 8)).square().mean().backward()
truth_recorder.save(sys.argv[1])
