"""A function of numpy arrays, compiled: lengths, dtypes and an axis that vary."""

import numpy as np
import torch

rng = np.random.default_rng(0)


@torch.compile(backend="aot_eager")
def normalized(x, axis=-1, eps=1e-6):
    mean, std = x.mean(axis=axis, keepdims=True), x.std(axis=axis, keepdims=True)
    return (x - mean) / (std + eps)


CALLS = [
    ((4, 8), "float32", -1), ((4, 12), "float32", -1), ((4, 12), "float64", -1), ((6, 12), "float64", 0), ((5, 9), "float64", 0),
]  # fmt: skip
for n, (shape, dtype, axis) in enumerate(CALLS):
    x = rng.standard_normal(shape).astype(dtype)
    print(f"{n} {np.abs(normalized(x, axis)).sum():.3f}")
for eps in (1e-5, 1e-4, 1e-3):
    print(f"eps {np.abs(normalized(x, 0, eps)).sum():.3f}")
