"""Dynamic sizes, numbers as inputs, graph breaks with what follows them, data that becomes a size."""

import os

import torch

backend = os.environ.get("BACKEND", "inductor")


@torch.compile(backend=backend)
def rows(x, y):
    return torch.cat((x, y), 0).view(-1, x.shape[1] // 2, 2).sum(1) * x.shape[0]


@torch.compile(backend=backend, dynamic=True)
def numbers(x, n, scale):
    return x[:n].reshape(n, -1) * scale + torch.arange(n).unsqueeze(1)


@torch.compile(backend=backend)
def broken(x):
    y = x.sin()
    print("here")
    if y.sum() > 0:
        y = y + 1
    return y * x.size(0)


@torch.compile(backend=backend, fullgraph=True)
def counted(x, n):
    size = n.item()
    torch._check(size >= 1)
    torch._check(size <= 100)
    return torch.ones(size) + x.sum()


@torch.compile(backend=backend)
def branch(x):
    return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos() + 1, (x,))


torch.manual_seed(0)
for size in (4, 6, 10):
    rows(torch.randn(size, 4), torch.randn(3, 4))
numbers(torch.randn(8, 3), 5, 2.5)
numbers(torch.randn(9, 4), 6, 1.5)
broken(torch.randn(5))
with torch._dynamo.config.patch(capture_scalar_outputs=True):
    counted(torch.randn(4), torch.tensor(3))
branch(torch.randn(4, 4).t())
