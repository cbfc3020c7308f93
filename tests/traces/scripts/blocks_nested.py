"""Models whose lists of blocks are inside of blocks of other lists; a kind per process.

TORCH_TRACE=DIR python blocks_nested.py KIND [train]
"""

import sys

import torch
from torch.nn import functional


class Layer(torch.nn.Module):
    """A gated perceptron with a residual connection."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(size)
        self.wide, self.narrow = torch.nn.Linear(size, 2 * size), torch.nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.narrow(functional.gelu(self.wide(self.norm(x))))


class Stage(torch.nn.Module):
    """A list of layers, and a projection to the width of the next stage."""

    def __init__(self, size: int, depth: int, wider: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(size) for _ in range(depth)])
        self.merge = torch.nn.Linear(size, wider)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.merge(x)


class Stages(torch.nn.Module):
    """A list of stages and a head."""

    def __init__(self, stages: list[torch.nn.Module], size: int) -> None:
        super().__init__()
        self.stages = torch.nn.ModuleList(stages)
        self.head = torch.nn.Linear(size, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for stage in self.stages:
            x = stage(x)
        return self.head(x)


class Windowed(Layer):
    """A layer that reads its number, and moves its input where its shift is not 0."""

    def __init__(self, size: int, shift: int, number: int = 0) -> None:
        super().__init__(size)
        self.shift, self.number = shift, number

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.number < 0:
            return x
        if self.shift:
            x = torch.roll(x, self.shift, 0)
        return super().forward(x)


class Windows(Stage):
    """A stage whose layers differ: every second one moves its input; they may be numbered."""

    def __init__(self, size: int, depth: int, wider: int, first: int = 0) -> None:
        super().__init__(size, 0, wider)
        self.layers.extend(Windowed(size, n % 2, first + n) for n in range(depth))


class Gate(torch.nn.Module):
    """A gate with a residual connection."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm, self.gate, self.value = torch.nn.LayerNorm(size), torch.nn.Linear(size, size), torch.nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        return x + torch.sigmoid(self.gate(y)) * self.value(y)


class Pairs(torch.nn.Module):
    """A list of lists, each with two modules of different classes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.ModuleList([Gate(8), Layer(8)]) for _ in range(4)])
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for gate, layer in self.layers:
            x = layer(gate(x))
        return self.head(x)


class Residual(torch.nn.Module):
    """Two convolutions and a shortcut, which is a convolution where the width changes."""

    def __init__(self, size: int, wider: int, stride: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(size, wider, 3, stride, 1, bias=False)
        self.second = torch.nn.Conv2d(wider, wider, 3, 1, 1, bias=False)
        self.norms = torch.nn.ModuleList([torch.nn.BatchNorm2d(wider), torch.nn.BatchNorm2d(wider)])
        self.shortcut = torch.nn.Conv2d(size, wider, 1, stride) if size != wider else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norms[1](self.second(functional.relu(self.norms[0](self.first(x)))))
        return functional.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Convolutions(torch.nn.Module):
    """Stages of residual blocks in `Sequential`, the first block of each with another stride."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = torch.nn.Sequential(
            *(torch.nn.Sequential(Residual(size, wider, stride), *(Residual(wider, wider, 1) for _ in range(3)))
              for size, wider, stride in ((3, 8, 1), (8, 16, 2), (16, 32, 2)))
        )  # fmt: skip
        self.head = torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.stages(x).mean((2, 3)))


class Level(torch.nn.Module):
    """Blocks of one resolution, which get a value from another level."""

    def __init__(self, size: int, depth: int) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Layer(size) for _ in range(depth)])

    def forward(self, x: torch.Tensor, other: torch.Tensor | None = None) -> torch.Tensor:
        x = x if other is None else x + other
        for block in self.blocks:
            x = block(x)
        return x


class Unet(torch.nn.Module):
    """Lists of levels down and up, with blocks of equal widths on both ways."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (8, 16, 32)
        self.down = torch.nn.ModuleList([Level(size, 2) for size in sizes])
        self.up = torch.nn.ModuleList([Level(size, 3) for size in reversed(sizes)])
        self.wider = torch.nn.ModuleList([torch.nn.Linear(size, 2 * size) for size in sizes])
        self.narrower = torch.nn.ModuleList([torch.nn.Linear(2 * size, size) for size in reversed(sizes)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        others = []
        for level, wider in zip(self.down, self.wider, strict=True):
            x = level(x)
            others.append(x)
            x = wider(x)
        for level, narrower in zip(self.up, self.narrower, strict=True):
            x = level(narrower(x), others.pop())
        return x


KINDS = {
    "widening": lambda: Stages([Stage(8, 2, 16), Stage(16, 2, 32), Stage(32, 6, 32), Stage(32, 2, 32)], 32),
    "alike": lambda: Stages([Stage(8, 3, 8) for _ in range(4)], 8),
    "shifted": lambda: Stages([Windows(8, 2, 16), Windows(16, 4, 32), Windows(32, 6, 32)], 32),
    "numbered": lambda: Stages([Windows(8, 2, 8, first) for first in (0, 0, 2, 4)], 8),
    "pairs": Pairs,
    "convolutions": Convolutions,
    "unet": Unet,
}

if __name__ == "__main__":
    torch.manual_seed(0)
    kind, *trains = sys.argv[1:]
    model = KINDS[kind]()
    compiled = torch.compile(model, backend="aot_eager")
    x = torch.randn(2, 3, 8, 8) if kind == "convolutions" else torch.randn(3, 8)
    if trains:
        compiled(x).sum().backward()
    else:
        with torch.no_grad():
            compiled(x)
