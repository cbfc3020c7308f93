"""Nearest neighbors in point clouds of several sizes: k is an int that is cut to the number of points, features are optional."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def edge_features(points, k, features=None):
    k = min(k, points.shape[0] - 1)
    x = points if features is None else torch.cat([points, features], 1)
    index = torch.cdist(points, points).topk(k + 1, largest=False).indices[:, 1:]
    return torch.cat([x[:, None].expand(-1, k, -1), x[index] - x[:, None]], -1).amax(1)


for count, k, wide in ((20, 4, 0), (32, 4, 0), (32, 6, 0), (5, 6, 0), (20, 4, 3), (26, 4, 3)):
    features = torch.randn(count, wide) if wide else None
    print(f"{count} points, k {k}, {wide} features: {edge_features(torch.randn(count, 3), k, features).sum().item():.4f}")
