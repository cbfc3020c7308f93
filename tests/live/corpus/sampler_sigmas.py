"""A diffusion sampler: sigmas as floats, guidance that is None first, and the number of the step in the module."""
import torch
from torch import nn

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.step_index = nn.Linear(5, 4), 0

    def forward(self, x, sigma, guidance=None):
        self.step_index += 1
        level = torch.full((x.shape[0], 1), sigma)
        noise = self.net(torch.cat([x, level], -1))
        if guidance is not None:
            noise = noise * guidance
        return x - noise * sigma


model = torch.compile(Denoiser(), backend="aot_eager")
x = torch.ones(3, 4)
with torch.no_grad():
    for number, sigma in enumerate((1.0, 0.7, 0.4, 0.2, 0.05)):
        x = model(x, sigma, None if number < 2 else 1.5 + number)
        print(f"{sigma} {x.sum().item():.4f}")
