"""A detection head over a list of feature maps: three levels, then four, of several image sizes, some not square."""
import torch

torch.manual_seed(0)


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 6, 3, padding=1)

    def forward(self, levels):
        scores = [self.conv(level).flatten(2).transpose(1, 2) for level in levels]
        return torch.cat(scores, 1).softmax(-1).amax(1)


head = torch.compile(Head(), backend="aot_eager")
for high, wide, count in ((32, 32, 3), (48, 48, 3), (48, 64, 3), (32, 32, 4), (64, 96, 4)):
    levels = [torch.ones(2, 4, high // 2 ** n, wide // 2 ** n) for n in range(2, 2 + count)]
    print(f"{high} x {wide}, {count}: {head(levels).sum().item():.5f}")
