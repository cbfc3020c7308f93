"""A linear layer before a torch.cond and one in each of its branches, forward and backward; recorded.  cond.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Pick(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 8)

    def forward(self, x):
        hidden = self.a(x).relu()

        def yes(hidden):
            return hidden.sin() * 2 + self.b(hidden)

        def no(hidden):
            return hidden.cos() - self.a(hidden)

        chosen = torch.cond(hidden.sum() > 0, yes, no, (hidden,))
        return chosen.softmax(-1) * x


torch.compile(Pick())(torch.randn(4, 8)).sum().backward()
truth_recorder.save(sys.argv[1])
