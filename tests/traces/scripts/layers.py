"""A model of two blocks, forward and backward, with provenance; `python layers.py TRUTH` writes which module each post-grad node came from.

The truth is what Inductor knew in the process: `nn_module_stack` of the nodes, of a backward that of the forward node it is the
gradient of. No text of a trace has it. Cases: a parameter of the outermost module, a loop with an operation between two calls, modules
without parameters (dropout, an activation in the user's file), a norm that is written out, weights that are tied.
"""

import json
import sys

import torch
import torch._inductor.graph as lowering
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


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.out, self.drop = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        w = torch.softmax(q @ k.transpose(-1, -2) / 4.0, -1)
        return self.out(self.drop(w) @ v)


class Squash(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 0.5


class Mlp(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net, self.act = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)), Squash()

    def forward(self, x):
        return self.act(self.net(x))


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * (x * scale)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.attn, self.n2, self.mlp = Norm(d), Attention(d), nn.LayerNorm(d), Mlp(d)

    def forward(self, x):
        h = self.attn(self.n1(x))
        x = x + h
        h = self.mlp(self.n2(x))
        return x + h


class Model(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.emb, self.pos = nn.Embedding(32, d), nn.Parameter(torch.zeros(4, d))
        self.layers, self.norm = nn.ModuleList([Block(d), Block(d)]), Norm(d)
        self.head = nn.Linear(d, 32, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, i):
        x = self.emb(i) + self.pos
        for layer in self.layers:
            x = layer(x)
            x = x * 1.01
        return torch.tanh(self.head(self.norm(x))).mean()


torch.compile(Model())(torch.randint(32, (2, 4))).backward()
with open(sys.argv[1], "w") as file:
    file.writelines(json.dumps(node) + "\n" for node in NODES)
