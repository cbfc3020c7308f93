"""Pieces that are joined in one memory, views that a matrix product reads too, values seen through as_strided; not recorded, caches
off.  joined.py TRUTH"""

import sys

import truth_recorder
import torch
import torch.nn.functional as F
from torch import nn


def pieces(x, w):
    s = (x @ w).unflatten(-1, (2, 4))
    both = torch.cat((s[..., 2:].flip(-1), s[..., :2].roll(1, -1), s.tril()), -1)
    y = torch.stack([part.sin() for part in both.unbind(1)], 1).exp()
    return y.diagonal(0, -2, -1).prod() + y.sum()


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.cross = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x, memory):
        x = self.norm(x + self.layer(x, x, x, need_weights=False)[0])
        return (x + self.cross(x, memory, memory, need_weights=False)[0]).square().mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(1, 8, 3, padding=1), nn.ConvTranspose2d(8, 4, 2, 2)
        self.norm, self.act = nn.GroupNorm(2, 8), nn.PReLU()

    def forward(self, x):
        y = self.act(self.norm(self.down(F.avg_pool2d(x, 2))))
        grown = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)[:, :4]
        return (self.up(y) * torch.sigmoid(grown)).mean()


torch.compile(pieces)(torch.randn(6, 16), torch.randn(16, 8, requires_grad=True)).backward()
torch.compile(Decoder())(torch.randn(3, 5, 16), torch.randn(3, 7, 16)).backward()
torch.compile(Net())(torch.randn(2, 1, 8, 8)).backward()
truth_recorder.save(sys.argv[1])
