"""A torch.while_loop, and a torch.cond inside of a torch.cond; not recorded, with guards.  loops.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)

    def forward(self, x, n):
        x = x.sin() * 3

        def more(k, y):
            return (k < n) & (y.sum() < 1000)

        def step(k, y):
            return k + 1, torch.tanh(self.a(y)) + y.cos()

        k, y = torch.while_loop(more, step, (torch.zeros((), dtype=torch.int64), x))
        scaled = y.exp() - k

        def yes(scaled):
            def inner_yes(scaled):
                return torch.relu(scaled).softmax(-1)

            def inner_no(scaled):
                return self.a(scaled) * 2

            return torch.cond(scaled.mean() > 2, inner_yes, inner_no, (scaled,)) + scaled.sqrt()

        def no(scaled):
            return scaled.abs() + 1

        chosen = torch.cond(scaled.sum() > 0, yes, no, (scaled,))
        return (chosen.log() * y).sum(0)


truth_recorder.with_guards()
with torch.no_grad():
    torch.compile(Loops())(torch.randn(4, 8), torch.tensor(3))
truth_recorder.save(sys.argv[1])
