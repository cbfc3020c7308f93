"""Sequences cut into chunks of a given length, with a remainder that is sometimes there."""
import torch


@torch.compile(backend="aot_eager")
def chunked(x, size):
    whole = x.shape[0] // size * size
    means = x[:whole].view(-1, size).mean(1)
    return torch.cat([means, x[whole:].mean()[None]]) if x.shape[0] % size else means


for length, size in ((12, 4), (16, 4), (18, 4), (20, 5), (21, 5), (30, 10)):
    print(f"{length}/{size}: {chunked(torch.arange(float(length)), size).sum().item():.3f}")
