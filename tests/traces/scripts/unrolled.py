"""A GRU cell called once a step, unrolled, forward and backward; not recorded, with guards.  unrolled.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.read, self.keep = nn.Linear(6, 24), nn.Linear(8, 24)
        self.head = nn.Linear(8, 3)

    def step(self, x, h):
        reset, update, new = self.read(x).chunk(3, -1)
        old_reset, old_update, old_new = self.keep(h).chunk(3, -1)
        reset, update = torch.sigmoid(reset + old_reset), torch.sigmoid(update + old_update)
        new = torch.tanh(new + reset * old_new)
        return new + update * (h - new)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 8)
        results = []
        for t in range(x.shape[1]):
            h = self.step(x[:, t], h)
            results.append(h)
        return self.head(torch.stack(results, 1))


truth_recorder.with_guards()
torch.compile(Unrolled())(torch.randn(2, 4, 6)).square().mean().backward()
truth_recorder.save(sys.argv[1])
