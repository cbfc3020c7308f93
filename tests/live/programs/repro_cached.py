"""The same functions compiled twice: the second time they come from the caches."""

import os

import torch

backend = os.environ.get("BACKEND", "inductor")


def trained(x, weight):
    return torch.nn.functional.gelu(x @ weight).sum(-1)


def plain(x):
    return torch.relu(x) + 1


torch.manual_seed(0)
for _ in range(2):
    torch._dynamo.reset()
    torch.compile(trained, backend=backend)(torch.randn(4, 8), torch.randn(8, 8, requires_grad=True)).sum().backward()
    torch.compile(plain, backend=backend)(torch.randn(16))
