"""Attention with a mask and half precision, strides that are not the usual ones, whole numbers that index."""

import os

import torch
from torch.nn import functional as F

backend = os.environ.get("BACKEND", "inductor")


@torch.compile(backend=backend)
def attention(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(2, 6, 8)


@torch.compile(backend=backend)
def indices(x, rows, columns, ids, source):
    x = x.clone()
    x[rows] = 0.5
    picked = torch.gather(x, 1, columns) + torch.index_select(x, 1, columns[0])
    added = torch.zeros(4, 6).scatter_add(0, ids.view(1, 6), source)
    return picked, added, x[rows, rows + 1], F.one_hot(ids, 4), torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]))


@torch.compile(backend=backend)
def strided(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = x @ y
    return z.float().masked_fill(z > 0, float("-inf")).softmax(-1).to(torch.float16), x.permute(1, 0).contiguous()


torch.manual_seed(0)
with torch.no_grad():
    q = torch.randn(2, 6, 2, 4).transpose(1, 2)
    attention(q, q.clone(), q + 1, torch.rand(6, 6) > 0.2)
    indices(torch.randn(5, 7), torch.tensor([0, 4]), torch.randint(0, 7, (5, 5)), torch.randint(0, 4, (6,)), torch.randn(1, 6))
    strided(torch.randn(8, 4).t(), torch.randn(16, 6)[::2])
