"""What torch prints without TORCH_LOGS: `limit`, `accumulated`, `raises`, `item`, `suppressed`, `fullgraph`, `backend`, `flex`, `complex`.

    TORCH_TRACE=printed/torch-2.13/limit python printed.py limit 2> printed/torch-2.13/limit.txt
"""

import sys

import torch
from torch._dynamo import config

NEWEST = hasattr(config, "recompile_limit")
LIMIT = "recompile_limit" if NEWEST else "cache_size_limit"
KINDS = ("limit", "accumulated", "raises", "item", "suppressed", "fullgraph", "backend", "flex", "complex")


class Patch:
    def __init__(self, key):
        self.key = key

    def __call__(self, weight):
        return weight * len(self.key)


class Block(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4, 4))
        self.weight_function = [Patch(f"blocks.{number}")]

    def forward(self, x):
        weight = self.weight
        for function in self.weight_function:
            weight = function(weight)
        return torch.nn.functional.linear(x, weight)


def limit(fullgraph=False):
    x = torch.ones(2, 4)
    for number in range(5):
        block = Block(number)
        block.compile(backend="aot_eager", fullgraph=fullgraph)
        print("block", number)
        block(x)


def branch(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def step(x):
    return branch(x) + 1


def scaled(x):
    return x * x.sum().item()


def failing(graph, inputs):
    raise ValueError("no kernel for this graph")


def run(kind):
    x = torch.ones(3)
    print("starting", kind)
    if kind in ("limit", "raises"):
        setattr(config, LIMIT, 3)
        limit(fullgraph=kind == "raises")
    elif kind == "accumulated":
        setattr(config, f"accumulated_{LIMIT}", 3)
        limit()
    elif kind == "item":
        torch.compile(scaled, backend="aot_eager")(x)
    elif kind == "suppressed":
        config.suppress_errors = True
        torch.compile(step, backend=failing)(x)
    elif kind == "fullgraph":
        torch.compile(step, backend="aot_eager", fullgraph=True)(x)
    elif kind == "backend":
        torch.compile(branch.__get__(x), backend=failing)()
        torch.compile(lambda x: x + 1, backend=failing)(x)
    elif kind == "flex":
        from torch.nn.attention.flex_attention import flex_attention

        q = torch.ones(1, 1, 16, 16)
        flex_attention(q, q, q)
    elif kind == "complex":
        torch.compile(lambda x: (x * 2).sin())(x.to(torch.complex64))
    print("done")


if __name__ == "__main__":
    run(sys.argv[1])
