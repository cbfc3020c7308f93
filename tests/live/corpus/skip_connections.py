"""A small U-Net with skip connections, on images of several sizes, square and wide."""
import torch

torch.manual_seed(0)


class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.ModuleList([torch.nn.Conv2d(1, 4, 3, 2, 1), torch.nn.Conv2d(4, 8, 3, 2, 1)])
        self.up = torch.nn.ModuleList([torch.nn.Conv2d(12, 4, 3, padding=1), torch.nn.Conv2d(5, 1, 3, padding=1)])

    def forward(self, x):
        skips = []
        for layer in self.down:
            skips.append(x)
            x = layer(x).relu()
        for layer in self.up:
            skip = skips.pop()
            x = torch.nn.functional.interpolate(x, size=skip.shape[-2:])
            x = layer(torch.cat([x, skip], 1))
        return x


model = torch.compile(UNet(), backend="aot_eager")
for high, wide in ((16, 16), (24, 16), (20, 20), (24, 32)):
    print(f"{high} x {wide}: {model(torch.ones(2, 1, high, wide)).mean().item():.5f}")
