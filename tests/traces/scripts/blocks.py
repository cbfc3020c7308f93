"""A model of repeated blocks: `layers` has four equal ones and one that differs, `tail` three that read their number.

TORCH_TRACE=DIR python blocks.py
"""

import torch


class Block(torch.nn.Module):
    """A normalized perceptron with a residual connection."""

    def __init__(self, slope: float = 0.1) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.wide = torch.nn.Linear(8, 16)
        self.narrow = torch.nn.Linear(16, 8)
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.nn.functional.leaky_relu(self.wide(self.norm(x)), self.slope)
        return x + self.narrow(h)


class Numbered(torch.nn.Module):
    """A block whose code reads its number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.gate = torch.nn.Linear(8, 8)
        self.number = number

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.number < 0:
            return x
        h = torch.tanh(self.gate(self.norm(x)))
        return x + h


class Model(torch.nn.Module):
    """Two lists of blocks with an embedding before and a projection after them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.layers = torch.nn.ModuleList([Block(), Block(), Block(0.2), Block(), Block()])
        self.tail = torch.nn.ModuleList(Numbered(n) for n in range(3))
        self.head = torch.nn.Linear(8, 16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        for layer in self.tail:
            x = layer(x)
        return self.head(x)


torch.manual_seed(0)
with torch.no_grad():
    torch.compile(Model().eval())(torch.randint(16, (2, 4)))
