"""A small residual convolution net in training, forward and backward; recorded, with guards.  convnet.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, wider):
        super().__init__()
        self.first, self.norm = nn.Conv2d(width, wider, 3, padding=1, bias=False), nn.BatchNorm2d(wider)
        self.second = nn.Conv2d(wider, wider, 3, padding=1)
        self.down = nn.Sequential(nn.Conv2d(width, wider, 1), nn.ReLU())

    def forward(self, x):
        y = self.second(torch.relu(self.norm(self.first(x))))
        return torch.relu(y + self.down(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU())
        self.blocks = nn.ModuleList([Block(4, 4), Block(4, 8)])
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


truth_recorder.with_guards()
torch.compile(Net())(torch.randn(2, 3, 8, 8)).square().mean().backward()
truth_recorder.save(sys.argv[1])
