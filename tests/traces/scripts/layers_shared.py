"""What layers could be told wrongly of: `python layers_shared.py TRUTH`. As `layers.py`, which has the recorder.

Cases: a module called twice in a row, and again later; parameters of modules that are never called (read by a helper function, or through
their module); a `ModuleDict` and a `ModuleList` that a loop indexes; a cell in a loop; modules in `Sequential` in `Sequential`; two models
that are global variables of the compiled function, one in a wrapper.
"""

import json
import sys

import torch
import torch._inductor.graph as lowering
import torch.nn.functional as F
from torch import nn

NODES = []
RUN = lowering.GraphLowering.run


def module_of(node):
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    return str(list(stack.values())[-1][0]) if stack else None


def run(self, *args):
    unit = "backward" if self.is_backward else "inference" if self.is_inference else "forward"
    for node in self.module.graph.nodes:
        if node.op not in ("placeholder", "output", "get_attr"):
            NODES.append({"unit": unit, "node": node.name, "module": module_of(node)})
    return RUN(self, *args)


lowering.GraphLowering.run = run


def helper(x, w, b):
    y = F.linear(x, w, b)
    return y.relu() * 2


class Leaf(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight, self.b = nn.Parameter(torch.randn(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        y = x * self.weight
        y = y.sin()
        return y + self.b


class Twice(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.leaf, self.lin, self.gate = Leaf(d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        x = self.leaf(x)
        x = x.cos()
        x = self.leaf(x)
        z = F.linear(x, self.lin.weight, self.gate.bias)
        return helper(z, self.gate.weight, self.gate.bias).tanh()


class Router(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.experts = nn.ModuleDict({"a": Twice(d), "b": Twice(d)})
        self.norms = nn.ModuleList([nn.LayerNorm(d), nn.LayerNorm(d)])

    def forward(self, x):
        out = 0
        for i, name in enumerate(["a", "b", "a"]):
            h = self.norms[i % 2](x)
            h = self.experts[name](h)
            out = out + h * 0.5
        return out.exp()


class Net(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.router, self.cell = Router(d), nn.GRUCell(d, d)
        self.proj = nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Sequential(nn.Linear(d, d), nn.Tanh()))

    def forward(self, x):
        h = torch.zeros_like(x)
        for _ in range(2):
            h = self.cell(x, h)
            h = h * 0.5
        x = self.router(x + h)
        x = x.clamp(-1, 1)
        return self.proj(x)


class Wrap(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)


net, disc = Wrap(Net()), nn.Sequential(nn.Linear(8, 4), nn.GELU(), nn.Linear(4, 1))


def step(x):
    y = net(x)
    loss = disc(y).mean() + y.pow(2).sum()
    return loss * 0.1


torch.compile(step)(torch.randn(4, 8)).backward()
with open(sys.argv[1], "w") as file:
    file.writelines(json.dumps(node) + "\n" for node in NODES)
