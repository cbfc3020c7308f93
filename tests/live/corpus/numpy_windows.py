"""Functions of numpy in torch.compile: arrays of several lengths and dtypes, and a scalar that is a numpy number."""
import numpy as np
import torch


@torch.compile(backend="eager")
def energy(signal, gain):
    spectrum = np.abs(signal - signal.mean()) * gain
    return (spectrum ** 2).sum() / signal.shape[0]


generator = np.random.default_rng(0)
for length, kind, gain in ((16, np.float64, 1.0), (20, np.float64, 1.0), (31, np.float64, 2.0), (31, np.float32, 2.0),
                           (12, np.float32, np.float64(0.5)), (16, np.float64, 3.0)):
    print(f"{length} {np.dtype(kind).name}: {float(energy(generator.random(length).astype(kind), gain)):.5f}")
