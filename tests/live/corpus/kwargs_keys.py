"""A function called with dictionaries and keyword arguments of different keys."""
import torch


@torch.compile(backend="aot_eager")
def total(batch, **extra):
    out = sum(value.sum() for value in batch.values())
    return out + sum(value.sum() for value in extra.values())


x = torch.ones(4)
for batch, extra in (({"a": x}, {}), ({"a": x, "b": x}, {}), ({"a": x}, {"bias": x}), ({"b": x, "a": x}, {})):
    print(f"{sorted(batch)} {sorted(extra)}: {total(batch, **extra).item():.1f}")
