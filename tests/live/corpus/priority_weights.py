"""Weights of samples from their losses: a power that is annealed in steps, a cap or none, batches of the same size."""
import torch

torch.manual_seed(0)


class Weights:
    def __init__(self):
        self.power, self.cap, self.calls = 1, None, 0

    @torch.compile(backend="aot_eager")
    def __call__(self, losses):
        weights = losses.abs() ** self.power
        if self.cap is not None:
            weights = weights.clamp(max=self.cap)
        return weights / weights.sum()


weights = Weights()
for power, cap, rows in ((1, None, 8), (2, None, 8), (3, None, 8), (3, 0.5, 8), (3, 0.75, 8), (2, 0.75, 5)):
    weights.power, weights.cap = power, cap
    print(f"{power} {cap}: {weights(torch.randn(rows)).amax().item():.5f}")
