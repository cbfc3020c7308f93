"""torch.func: vmap, jacrev and hessian of two functions."""
import torch
from torch.func import hessian, jacrev, vmap

torch.manual_seed(0)


def f(x):
    return (x.sin() * x).sum()


jacobian = torch.compile(jacrev(f), backend="aot_eager")
curvature = torch.compile(hessian(f), backend="aot_eager")
batched = torch.compile(vmap(f), backend="aot_eager")
for n in (3, 4, 5):
    x = torch.arange(float(n))
    print(f"n {n}: {jacobian(x).sum().item():.5f} {curvature(x).sum().item():.5f} {batched(torch.ones(n, 3)).sum().item():.5f}")
