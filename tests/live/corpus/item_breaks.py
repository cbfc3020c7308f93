"""A model that asks a tensor for a number, and a shape that depends on data."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def scaled(x):
    factor = x.max().item()
    return x / factor


@torch.compile(backend="aot_eager")
def positive(x):
    return x[x > 0].sum()


for n in (4, 6, 9):
    x = torch.arange(float(n)) - 1
    print(f"n {n}: {scaled(x).sum().item():.5f} {positive(x).item():.3f}")
