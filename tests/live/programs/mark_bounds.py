"""Calls of a function with a mark on the size of its argument, with and without bounds: the compiles, or the exception."""

import json

import torch


def plain(x):
    return x * 2


def branching(x):
    return x * 2 if x.shape[0] > 3 else x


def outcome(function, sizes, **bounds):
    """Call a function with each size, each one marked; return the number of compiles, or the exception's type."""
    torch._dynamo.reset()
    compiles = []
    compiled = torch.compile(function, backend=lambda graph, _: compiles.append(graph) or graph.forward)
    try:
        for size in sizes:
            x = torch.ones(size, 4)
            torch._dynamo.mark_dynamic(x, 0, **bounds)
            compiled(x)
    except Exception as error:
        return type(error).__name__
    return len(compiles)


print(json.dumps({
    "no bounds": outcome(plain, (4, 8, 32)),
    "no bounds, 0 and 1": outcome(plain, (4, 0, 1, 8)),
    "no bounds, a branch": outcome(branching, (8, 4, 2)),
    "bounds": outcome(plain, (4, 8, 32), min=4, max=32),
    "min alone": outcome(plain, (4, 8, 32), min=4),
    "max alone": outcome(plain, (4, 8, 32), max=32),
    "a larger size": outcome(plain, (4, 8, 32), min=4, max=8),
    "a smaller size": outcome(plain, (8, 4), min=8, max=32),
    "size 1": outcome(plain, (4, 1), min=1, max=32),
    "bounds, a branch": outcome(branching, (8, 4), min=2, max=32),
}))  # fmt: skip
