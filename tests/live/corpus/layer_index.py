"""Layers compiled one by one; forward() uses the number of the layer."""
import torch

torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number, self.linear = number, torch.nn.Linear(16, 16)

    def forward(self, x):
        return x + self.linear(x) / (self.number + 1)


blocks = [Block(number) for number in range(12)]
for block in blocks:
    block.compile(backend="aot_eager")
for _ in range(2):
    x = torch.ones(2, 16)
    for block in blocks:
        x = block(x)
    x.mean().backward()
    print(f"mean {x.mean().item():.5f}")
