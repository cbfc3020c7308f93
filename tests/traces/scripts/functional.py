"""torch.func: gradients of each sample, a jacobian, a hessian; not recorded, with guards.  functional.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(6, 12)
        self.down = nn.Linear(12, 3)

    def forward(self, x):
        h = torch.tanh(self.up(x))
        return self.down(h)


net = MLP()
params = {k: v.detach() for k, v in net.named_parameters()}


def loss(p, x, y):
    out = functional_call(net, p, (x,))
    return ((out - y) ** 2).sum()


@torch.compile
def per_sample(p, x, y):
    g = vmap(grad(loss), (None, 0, 0))(p, x, y)
    norms = sum(v.flatten(1).square().sum(1) for v in g.values()).sqrt()
    scale = (1.0 / norms).clamp(max=1.0)
    return {k: torch.einsum("b...,b->...", v, scale) for k, v in g.items()}


@torch.compile
def jacobian(p, x):
    j = vmap(jacrev(lambda one: functional_call(net, p, (one,))))(x)
    return torch.linalg.vector_norm(j, dim=(1, 2))


@torch.compile
def hessian(p, x, y):
    return vmap(jacrev(grad(lambda one, t: loss(p, one, t))))(x, y)


truth_recorder.with_guards()
x, y = torch.randn(5, 6), torch.randn(5, 3)
per_sample(params, x, y)
jacobian(params, x)
hessian(params, x, y)
truth_recorder.save(sys.argv[1])
