"""PyTorch tutorials, per_sample_grads.py: gradients per sample with vmap(grad()), for batches of several sizes."""
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
params = {name: p.detach() for name, p in model.named_parameters()}
buffers = {name: b.detach() for name, b in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
    return nn.functional.cross_entropy(predictions, target.unsqueeze(0))


per_sample = torch.compile(vmap(grad(compute_loss), in_dims=(None, None, 0, 0)), backend="aot_eager")


@torch.compile(backend="aot_eager")
def clipped(grads, limit):
    norm = sum(g.flatten(1).square().sum(1) for g in grads.values()).sqrt()
    factor = (limit / (norm + 1e-6)).clamp(max=1.0)
    return {name: (g * factor.view(-1, *[1] * (g.dim() - 1))).sum(0) for name, g in grads.items()}


for step, size in enumerate((4, 4, 9, 2)):
    data = torch.arange(size * 64.0).reshape(size, 1, 8, 8).sin()
    grads = per_sample(params, buffers, data, torch.arange(size) % 10)
    total = clipped(grads, 1.0 + step)
    print(f"step {step} {sum(g.abs().sum() for g in total.values()).item():.4f}")
