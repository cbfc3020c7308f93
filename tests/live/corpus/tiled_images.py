"""A large image is cut into tiles with overlap: the tiles are views, those at the border are smaller."""
import torch

torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(4, 1, 3, padding=1))
run = torch.compile(network, backend="aot_eager")


@torch.compile(backend="aot_eager")
def blend(canvas, weights, tile, top, left):
    canvas[:, top:top + tile.shape[-2], left:left + tile.shape[-1]] += tile
    weights[:, top:top + tile.shape[-2], left:left + tile.shape[-1]] += 1
    return canvas, weights


with torch.no_grad():
    for high, wide in ((20, 28), (24, 24)):
        image = torch.randn(1, high, wide)
        canvas, weights = torch.zeros_like(image), torch.zeros_like(image)
        for top in range(0, high, 12):
            for left in range(0, wide, 12):
                tile = run(image[:, top:top + 14, left:left + 14])
                canvas, weights = blend(canvas, weights, tile, top, left)
        print(f"{high} x {wide}: {(canvas / weights).sum().item():.4f}")
