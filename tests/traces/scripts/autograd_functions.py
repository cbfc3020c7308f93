"""Own autograd functions in a list of modules; not recorded, with guards.  autograd_functions.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return torch.round(x / scale) * scale

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1), None


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(32, 16)
        self.gate = nn.Linear(16, 16)

    def forward(self, x):
        w = Round.apply(self.b.weight, 0.05)
        h = Swish.apply(self.a(x))
        y = nn.functional.linear(h, w, self.b.bias)
        return y * torch.sigmoid(self.gate(x)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(Quantized() for _ in range(2)))
        self.norm = nn.RMSNorm(16)

    def forward(self, x):
        return self.norm(self.layers(x)).square().mean()


truth_recorder.with_guards()
model = torch.compile(Net())
model(torch.randn(8, 16, requires_grad=True)).backward()
truth_recorder.save(sys.argv[1])
