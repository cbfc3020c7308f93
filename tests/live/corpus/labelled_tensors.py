"""A tensor subclass that carries a unit, and plain tensors, in one function; the batch changes."""
import torch

torch.manual_seed(0)


class Meters(torch.Tensor):
    pass


@torch.compile(backend="eager")
def smooth(x):
    return (x[1:] + x[:-1]).mean(0).square() / 2


for rows, kind in ((4, torch.Tensor), (7, torch.Tensor), (7, Meters), (5, Meters), (3, torch.Tensor), (9, Meters)):
    x = torch.randn(rows, 3).as_subclass(kind)
    print(f"{rows} {kind.__name__}: {smooth(x).sum().item():.5f}")
