"""A mixture of experts with a capacity computed from the number of tokens; experts in a list, the top-k in the config."""
import math
from types import SimpleNamespace

import torch
from torch import nn

torch.manual_seed(0)


class Experts(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.router = nn.Linear(8, config.experts)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(config.experts))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        capacity = math.ceil(tokens.shape[0] * self.config.factor / self.config.experts)
        weights, chosen = self.router(tokens).softmax(-1).topk(self.config.top_k)
        out = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            score = (weights * (chosen == index)).sum(-1)
            best, rows = score.topk(min(capacity, tokens.shape[0]))
            out = out.index_add(0, rows, best[:, None] * expert(tokens[rows]))
        return out.view_as(x)


config = SimpleNamespace(experts=4, top_k=2, factor=1.25)
layer = torch.compile(Experts(config), backend="aot_eager")
with torch.no_grad():
    for batch, length, factor in ((2, 8, 1.25), (2, 12, 1.25), (3, 12, 1.25), (3, 12, 2.0)):
        config.factor = factor
        print(f"{batch} x {length} {layer(torch.ones(batch, length, 8)).sum().item():.4f}")
