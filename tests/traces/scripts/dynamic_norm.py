"""A convolution, a group norm and a masked mean with sizes that are symbols, forward and backward; not recorded.  dynamic_norm.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 6, 3, padding=1)
        self.norm = nn.GroupNorm(2, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        batch, _, time = x.shape
        hidden = self.norm(self.conv(x)).tanh().transpose(1, 2)
        mask = (torch.arange(time) < time - 1).to(hidden.dtype)
        hidden = (hidden * mask[:, None]).sum(1) / mask.sum()
        return self.head(hidden).log_softmax(-1) * batch


torch.compile(Net(), dynamic=True)(torch.randn(3, 4, 9)).sum().backward()
truth_recorder.save(sys.argv[1])
