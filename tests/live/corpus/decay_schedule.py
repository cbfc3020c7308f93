"""An exponential mean with a decay that depends on the step: the step and the decay are numbers of Python."""
import torch


@torch.compile(backend="aot_eager")
def update(mean, value, decay, step):
    mean = mean * decay + value * (1 - decay)
    return mean, mean / (1 - decay ** (step + 1))


mean = torch.zeros(4)
for step in range(6):
    decay = min(0.9, (1 + step) / (10 + step))
    mean, corrected = update(mean, torch.full((4,), float(step)), decay, step)
    print(f"step {step}: {mean.sum().item():.5f} {corrected.sum().item():.5f}")
