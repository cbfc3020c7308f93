"""A rotary embedding whose cache grows: the module remembers the longest sequence as a number."""
import torch
from torch import nn

torch.manual_seed(0)


class Rope(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.longest = 0
        self.register_buffer("frequencies", 1.0 / 10000 ** (torch.arange(0, dim, 2) / dim))

    def forward(self, x):
        length = x.shape[1]
        if length > self.longest:
            self.longest = length
        angles = torch.outer(torch.arange(self.longest, dtype=torch.float32), self.frequencies)[:length]
        half = x[..., ::2] * angles.cos() - x[..., 1::2] * angles.sin()
        return half.sum()


rope = torch.compile(Rope(), backend="aot_eager")
for length in (6, 9, 12, 7, 15):
    print(f"{length} {rope(torch.ones(2, length, 8)).item():.4f}")
