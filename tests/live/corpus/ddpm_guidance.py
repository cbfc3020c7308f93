"""A diffusion sampler of one's own: timesteps are Python numbers, the guidance scale decays, and the last step adds no noise."""

import math

import torch
from torch import nn

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.width = width
        self.embed = nn.Linear(width, width)
        self.net = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.SiLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x, t, label=None):
        half = self.width // 2
        frequencies = torch.exp(-math.log(10000) * torch.arange(half) / half)
        args = t * frequencies
        h = self.embed(torch.cat([args.sin(), args.cos()]))
        if label is not None:
            h = h + label
        return self.net(x) * h.mean()


model = Denoiser()


@torch.compile(backend="aot_eager")
def step(x, t, last, guidance, label):
    eps = model(x, t)
    if guidance != 1.0:
        eps = eps + guidance * (model(x, t, label) - eps)
    alpha = 1 - 0.02 * t / 10
    x = (x - (1 - alpha) * eps) / alpha**0.5
    return x if t == last else x + 0.01 * torch.randn_like(x)


with torch.no_grad():
    x, label = torch.randn(2, 1, 8, 8), torch.randn(16)
    for t in range(8, -1, -1):
        x = step(x, t, 0, 1.0 + 0.5 * (t > 3) * t / 8, label)
        print(f"t {t} mean {x.abs().mean().item():.4f}")
