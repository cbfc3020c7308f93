"""C++ wrappers without recorded provenance: attention, equal products, cat, index_put, sort, dropout, symbolic sizes.  cpp_flow.py TRUTH"""

import sys

import truth_recorder
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16, bias=False) for _ in range(4))
        self.norm, self.drop = nn.LayerNorm(16), nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = (layer(self.norm(x)).view(2, 4, 2, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1)
        return x + self.drop(self.out((weights @ v).transpose(1, 2).reshape(2, 4, 16)))


def pieces(x, index, table):
    values, order = torch.sort(x, dim=-1)
    rows = F.embedding(index, table)
    joined = torch.cat([values * 2, rows @ rows.T, order.float()], -1)
    table = table.index_put((index,), rows, accumulate=True)
    return joined.cumsum(-1), table.sin(), torch.topk(x, 2).values + 1


def products(x, a, b):
    left = x @ a
    right = x @ b
    return left.relu() @ right.T, (left * right).sum(-1)


options = {"cpp_wrapper": True}
torch.compile(Attention(), options=options)(torch.randn(2, 4, 16)).square().mean().backward()
torch.compile(pieces, options=options)(torch.randn(5, 6), torch.tensor([0, 2, 1, 3, 2]), torch.randn(6, 8))
torch.compile(products, options=options, dynamic=True)(torch.randn(5, 6), torch.randn(6, 7), torch.randn(6, 7))
truth_recorder.save(sys.argv[1])
