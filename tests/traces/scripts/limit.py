"""The recompile limit as it is set by default: `g` is compiled for 8 names, the ninth call and all later ones run in eager mode.

Torch 2.4 writes nothing of these: it says so on stderr only.
"""

import torch


class Scale:
    def __init__(self, name):
        self.name = name


@torch.compile(backend="eager")
def g(x, scale):
    return x.cos() if scale.name == "one" else x.sin()


for number in range(10):
    g(torch.randn(8), Scale(f"s{number}"))
