"""Two matrix products of equal sizes in a package of AOTInductor, torch 2.8: its mapping names calls of one kernel together."""

import sys

import torch
import torch._inductor.config
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8, bias=False)

    def forward(self, x, a):
        left = x @ a
        right = self.fc(x)
        return left.relu() - right.sin()


torch._inductor.config.trace.enabled = True
with torch.no_grad():
    exported = torch.export.export(Net(), (torch.randn(8, 8), torch.randn(8, 8)))
    torch._inductor.aoti_compile_and_package(exported, package_path=sys.argv[1])
