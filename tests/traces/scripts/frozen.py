"""A convolution net with frozen weights (TORCHINDUCTOR_FREEZING=1): mkldnn; not recorded, with guards.  frozen.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.left, self.right = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.stem(x)))
        y = torch.relu(self.left(x))
        y = self.right(y) + x
        return self.head(y.mean((2, 3)))


truth_recorder.with_guards()
with torch.no_grad():
    torch.compile(Net().eval())(torch.randn(2, 3, 8, 8))
truth_recorder.save(sys.argv[1])
