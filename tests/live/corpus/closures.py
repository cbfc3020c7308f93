"""Functions with numbers and strings in closures, defaults and globals."""
import torch

SCALE = 1


def scaled(factor):
    return torch.compile(lambda x: x * factor, backend="aot_eager")


@torch.compile(backend="aot_eager")
def by_global(x):
    return x * SCALE


@torch.compile(backend="aot_eager")
def by_name(x, mode="mean"):
    return x.mean() if mode == "mean" else x.sum() if mode == "sum" else x.amax()


for n in range(5):
    SCALE = n
    print(f"n {n}: {scaled(n)(torch.ones(4)).sum().item():.3f} {by_global(torch.ones(4)).sum().item():.3f}")
for mode in ("mean", "sum", "max"):
    print(f"{mode}: {by_name(torch.arange(4.0), mode).item():.3f}")
