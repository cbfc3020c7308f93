"""Custom operators, and a detach that is left out between them; recorded.  elided.py TRUTH"""

import sys

import truth_recorder
import torch


@torch.library.custom_op("my::scan", mutates_args=())
def scan(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(-1)


@torch.library.custom_op("my::addto", mutates_args=("out",))
def addto(out: torch.Tensor, x: torch.Tensor) -> None:
    out += x


@scan.register_fake
def _(x):
    return torch.empty_like(x)


scan.register_autograd(lambda ctx, grad: grad.flip(-1).cumsum(-1).flip(-1))


def run(x, out):
    y = torch.ops.my.scan(x.sin() * 2)
    z = y * y.cos()
    addto(out, z.detach().exp())
    w = torch.ops.my.scan(z.detach())
    flat = w.detach().view(-1)
    return flat.view(4, 6) * 3 + z


torch.compile(run)(torch.randn(4, 6, requires_grad=True), torch.zeros(4, 6)).sum().backward()
truth_recorder.save(sys.argv[1])
