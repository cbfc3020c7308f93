"""A vision transformer with queries, keys and values from one layer, and drop path; not recorded, with guards.  vision_transformer.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn
import torch.nn.functional as F


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = 1 - self.p
        mask = x.new_empty(x.shape[0], 1, 1).bernoulli_(keep)
        return x * mask / keep


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = (q @ k.transpose(-2, -1)) * (C // self.heads) ** -0.5
        a = a.softmax(-1)
        return self.proj((a @ v).transpose(1, 2).reshape(B, N, C))


class MLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, dim * 4)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(dim * 4, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, heads, p):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = MLP(dim)
        self.drop = DropPath(p)
        self.gamma = nn.Parameter(torch.ones(dim) * 0.1)

    def forward(self, x):
        x = x + self.drop(self.gamma * self.attn(self.norm1(x)))
        return x + self.drop(self.mlp(self.norm2(x)))


class ViT(nn.Module):
    def __init__(self, dim=32, depth=3, heads=4):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 8, 8)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, 17, dim))
        self.blocks = nn.ModuleList(Block(dim, heads, 0.1 * i) for i in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 10)

    def forward(self, x, y):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        for block in self.blocks:
            x = block(x)
        x = self.head(self.norm(x)[:, 0])
        return F.cross_entropy(x, y, label_smoothing=0.1)


truth_recorder.with_guards()
model = torch.compile(ViT())
for _ in range(2):
    model(torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))).backward()
truth_recorder.save(sys.argv[1])
