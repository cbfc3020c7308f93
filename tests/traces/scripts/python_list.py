"""Modules in a Python list beside a `ModuleList`: their parameters are not registered, but they run like others."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return x + torch.relu(self.fc(self.norm(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block()])
        self.heads = [nn.Linear(8, 8), nn.Linear(8, 8)]
        self.tails = [Block()]

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        for head in self.heads:
            x = head(x)
        return self.tails[0](x).sum(-1)


torch.compile(Net(), backend="aot_eager")(torch.randn(4, 8))
