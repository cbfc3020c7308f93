"""Graphs for wrong lowerings and decompositions: a function per fault of `faults.py`, in the same order."""

import os

import torch
from torch.nn import functional as F

FUNCTIONS = []


def compiled(function):
    FUNCTIONS.append(torch.compile(function, backend=os.environ.get("BACKEND", "inductor")))
    return function


@compiled
def pointwise(x, y, w):
    return (torch.relu(x + y) * torch.sin(x) - y.abs() + torch.cos(y)).sum(-1)


@compiled
def decomposed(x, y, w):
    scores = (x @ w) / 4
    weights = F.softmax(scores, -1)
    return (weights @ y).tanh() + x


@compiled
def reduced(x, y, w):
    return F.layer_norm(x + y, (16,)) * w.sum(0) + x.exp()


@compiled
def backward_only(x, y, w):
    return ((x @ w).sigmoid() * torch.tanh(x + y)).mean()


@compiled
def not_a_number(x, y, w):
    return (x * x + 1).sqrt() + (y * y + 0.5).log() * x


@compiled
def whole_numbers(x, y, w):
    numbers = (x * 10).long().abs() + 3
    return (numbers * 1_000_003) * (numbers + 4099) - 7, numbers.sum()


@compiled
def type_of_result(x, y, w):
    return (x + y).square(), (x - y).to(torch.float64), y.neg()


@compiled
def shape_of_result(x, y, w):
    return x.exp().sum(), torch.flip(y * 2, (1,))


@compiled
def two_results(x, y, w):
    values, at = torch.max(x + y, 1)
    return values * 2, at + 1, x.cos()


@compiled
def in_place(x, y, w):
    z = x.clone()
    z.mul_(2)
    z.lerp_(y, 0.25)
    return z.sum(0), z.abs()


@compiled
def random(x, y, w):
    z = F.dropout(x * y, 0.5)
    return F.gelu(z + torch.rand_like(z)) * w.sum()


@compiled
def together(x, y, w):
    return (torch.erf(x * 2 + y) + 1) * x.cos()


@compiled
def two_faults(x, y, w):
    return torch.cos(F.silu(x) + y).sum(0) * torch.sin(y).mean()


@compiled
def half_precision(x, y, w):
    a, b = x.to(torch.bfloat16), y.to(torch.bfloat16)
    return (a @ w.to(torch.bfloat16)).float().tanh() + F.softplus(a + b)


@compiled
def autocast(x, y, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = F.linear(x, w).relu() @ w
    with torch.no_grad():
        return torch.atan(z.float()) + y.sin()


@compiled
def failing(x, y, w):
    return x.exp().sum(), torch.roll(x + y, 1, 1) * w[:8]


if __name__ == "__main__":
    torch.manual_seed(0)
    for function in FUNCTIONS:
        x, y, w = torch.randn(8, 16, requires_grad=True), torch.randn(16, 16), torch.randn(16, 16)
        function(x, y[:8] if function is not FUNCTIONS[1] else y, w)
