"""Models whose blocks are equal only at first sight, or equal although they do not look so; a kind per process.

TORCH_TRACE=DIR python blocks_kinds.py KIND
"""

import sys

import torch
from torch.nn import functional


class Block(torch.nn.Module):
    """A gated perceptron with a residual connection and a buffer."""

    def __init__(self, size: int = 4) -> None:
        super().__init__()
        self.wide = torch.nn.Linear(8, 16)
        self.narrow = torch.nn.Linear(16, 8)
        self.register_buffer("shift", torch.randn(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = functional.gelu(self.wide(x))
        return x + self.narrow(h) + self.shift.sum()


class Constant(Block):
    """A block that adds a tensor, which is no buffer, after the code of its base class."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.offset = torch.full((8,), float(number))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return y + self.offset


class Indexed(Block):
    """A block that adds its number after the code of its base class."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return y + self.number


class Optional(torch.nn.Module):
    """A block whose arguments choose its operations."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, plain: bool = False) -> torch.Tensor:
        y = torch.tanh(self.gate(x))
        if mask is not None:
            y = y * mask
        return functional.gelu(y) if plain else functional.gelu(y) * 1.5


class Model(torch.nn.Module):
    """A list of blocks and a projection; the list may run several times."""

    def __init__(self, blocks: list[torch.nn.Module], times: int = 1) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(blocks)
        self.head = torch.nn.Linear(8, 4)
        self.times = times

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.times):
            for block in self.layers:
                x = block(x)
        return self.head(x)


class OptionalModel(Model):
    """Calls its blocks with other arguments each."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(8)
        for n, block in enumerate(self.layers):
            x = block(x, mask=mask if n < 3 else None, plain=n == 0)
        return self.head(x)


class Dictionaries(torch.nn.Module):
    """Lists of blocks in a dictionary, and a dictionary of blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = torch.nn.ModuleDict({name: torch.nn.ModuleList([Block(), Block()]) for name in ("a", "b")})
        self.heads = torch.nn.ModuleDict({"x": Block(), "y": Block()})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for stage in self.stages.values():
            for block in stage:
                x = block(x)
        for block in self.heads.values():
            x = block(x)
        return x


def frozen() -> Model:
    """Return a model that trains no parameter of its first block, and of the second one not all."""
    model = Model([Block() for _ in range(4)])
    model.layers[0].requires_grad_(False)
    model.layers[1].wide.requires_grad_(False)
    return model


def shared() -> Model:
    """Return a model whose third block has a layer of the first one."""
    model = Model([Block() for _ in range(4)])
    model.layers[2].wide = model.layers[0].wide
    return model


KINDS = {
    "buffers": lambda: Model([Block(size) for size in (4, 4, 8, 8)]),
    "frozen": frozen,
    "arguments": lambda: OptionalModel([Optional() for _ in range(5)]),
    "shared": shared,
    "same": lambda: Model([Block()] * 4),
    "twice": lambda: Model([Block(), Block(), Block()], 2),
    "constant": lambda: Model([Constant(n) for n in range(4)]),
    "indexed": lambda: Model([Indexed(n) for n in range(4)]),
    "dictionaries": Dictionaries,
}

torch.manual_seed(0)
kind = sys.argv[1]
model = KINDS[kind]()
compiled = torch.compile(model, backend="aot_eager")
if kind in ("buffers", "frozen"):
    compiled(torch.randn(3, 8)).sum().backward()
else:
    with torch.no_grad():
        compiled(torch.randn(3, 8))
