"""Blocks of one class with several widths, compiled one by one, as in region-wise compilation of a convolutional net."""
import torch

torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(before, after, 3, stride, 1), torch.nn.BatchNorm2d(after)
        self.short = torch.nn.Conv2d(before, after, 1, stride) if before != after or stride > 1 else None

    def forward(self, x):
        y = self.norm(self.conv(x)).relu()
        return y + (x if self.short is None else self.short(x))


blocks = [Block(3, 8, 1), Block(8, 8, 1), Block(8, 16, 2), Block(16, 16, 1), Block(16, 32, 2)]
for block in blocks:
    block.compile(backend="aot_eager")
for batch in (4, 2):
    x = torch.linspace(-1, 1, batch * 3 * 16 * 16).reshape(batch, 3, 16, 16)
    for block in blocks:
        x = block(x)
    print(f"{batch}: {x.mean().item():.5f}")
