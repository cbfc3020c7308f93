"""An encoder called with an Enum, a named tuple and partial functions."""

import enum
import functools
from typing import NamedTuple

import torch
from torch import nn

torch.manual_seed(0)


class Pool(enum.Enum):
    MEAN = "mean"
    MAX = "max"
    CLS = "cls"


class Batch(NamedTuple):
    tokens: torch.Tensor
    mask: torch.Tensor
    name: str


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(50, 8), nn.Linear(8, 8)

    def forward(self, batch, pool=Pool.MEAN, activation=torch.relu):
        h = activation(self.out(self.embed(batch.tokens))) * batch.mask[..., None]
        if pool is Pool.MEAN:
            return h.sum(1) / batch.mask.sum(1, keepdim=True)
        return h.amax(1) if pool is Pool.MAX else h[:, 0]


encoder = torch.compile(Encoder(), backend="aot_eager")
leaky = functools.partial(nn.functional.leaky_relu, negative_slope=0.1)
for n, (name, length, pool, activation) in enumerate([
    ("train", 6, Pool.MEAN, torch.relu), ("train", 9, Pool.MEAN, torch.relu), ("valid", 9, Pool.MEAN, torch.relu),
    ("valid", 7, Pool.MAX, torch.relu), ("test", 5, Pool.CLS, leaky), ("test", 8, Pool.CLS, functools.partial(leaky)),
]):
    batch = Batch(torch.randint(0, 50, (4, length)), torch.ones(4, length), name)
    print(f"{n} {encoder(batch, pool, activation).sum().item():.4f}")
