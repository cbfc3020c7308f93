"""Images are resized to a given size, or by a factor; a normalization with constants of the module follows."""
import torch


class Resize(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.4, 0.5, 0.6])[:, None, None])

    def forward(self, image, size=None, scale=None, antialias=False):
        mode = "bilinear"
        y = torch.nn.functional.interpolate(image, size=size, scale_factor=scale, mode=mode, antialias=antialias)
        return (y - self.mean).clamp(-1, 1)


resize = torch.compile(Resize(), backend="aot_eager")
image = torch.linspace(0, 1, 3 * 20 * 24).reshape(1, 3, 20, 24)
for size in ((10, 10), (12, 10), (14, 14), (16, 18)):
    print(f"{size}: {resize(image, size).mean().item():.5f}")
for scale in (0.5, 2.0, 1.5):
    print(f"by {scale}: {resize(image, scale=scale).mean().item():.5f}")
print(f"antialias: {resize(image, (10, 10), antialias=True).mean().item():.5f}")
