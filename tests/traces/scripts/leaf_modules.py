"""Dropout and activation modules, next to functions that do the same, recorded, with guards.  leaf_modules.py TRUTH"""

import sys
import truth_recorder
import torch
import torch.nn.functional as F
from torch import nn

truth_recorder.with_guards()


class Mlp(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.up, self.down = nn.Linear(wide, 2 * wide), nn.Linear(2 * wide, wide)
        self.relu, self.drop, self.again = nn.ReLU(), nn.Dropout(0.1), nn.Dropout(0.2)

    def forward(self, x):
        y = F.dropout(self.relu(self.up(x)), 0.3, self.training)
        return x + self.again(self.drop(self.down(y)) * 2) + F.relu(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 12), nn.Tanh())
        self.blocks = nn.ModuleList([Mlp(12), Mlp(12)])
        self.act, self.norm, self.head = nn.GELU(), nn.LayerNorm(12), nn.Linear(12, 3)

    def forward(self, x):
        x = F.relu(self.front(x)) + self.front(x.flip(1))
        for block in self.blocks:
            x = block(self.norm(x)) + x
        x = self.act(x).sigmoid()
        return self.head(self.act(x) + torch.tanh(x))


torch.compile(Net())(torch.randn(2, 5, 4)).square().mean().backward()
truth_recorder.save(sys.argv[1])
