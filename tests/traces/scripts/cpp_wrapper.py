"""A convolution net with C++ wrappers that record each kernel's stack, forward and backward; recorded.  cpp_wrapper.py TRUTH"""

import sys

import truth_recorder
import torch
import torch._inductor.config as config
from torch import nn

config.cpp_wrapper = True
config.cpp.enable_kernel_profile = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.up, self.head = nn.Linear(8, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x)) + x
        return self.head(torch.nn.functional.gelu(self.up(x.mean((2, 3)))))


torch.compile(Net())(torch.randn(2, 3, 8, 8)).square().mean().backward()
truth_recorder.save(sys.argv[1])
