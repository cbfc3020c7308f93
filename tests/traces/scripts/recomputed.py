"""Layers of attention with dropout that are computed again in the backward, without recorded provenance.  recomputed.py TRUTH"""

import sys

import truth_recorder
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out, self.up, self.down = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 16)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.qkv(self.first(x)).view(2, 4, 3, 2, 8).permute(2, 0, 3, 1, 4)
        weights = self.drop(torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1))
        x = x + self.out((weights @ v).transpose(1, 2).reshape(2, 4, 16))
        return x + self.drop(self.down(F.silu(self.up(self.second(x)))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.layers, self.head = nn.Linear(3, 16), nn.ModuleList([Layer() for _ in range(2)]), nn.Linear(16, 3)

    def forward(self, x):
        x = checkpoint(lambda y: F.relu(self.stem(y)), x, use_reentrant=False)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.head(x.mean(1))


torch.compile(Net())(torch.randn(2, 4, 3)).square().mean().backward()
truth_recorder.save(sys.argv[1])
