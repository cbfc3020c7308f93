"""Boxes of several images: IoU of predictions with one target, several or none, and a threshold per call."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def matched(boxes, targets, threshold):
    low = torch.maximum(boxes[:, None, :2], targets[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], targets[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)[:, None] + (targets[:, 2:] - targets[:, :2]).prod(-1)[None] - shared
    best = (shared / area).amax(1)
    return (best > threshold).float().mean(), best.sum()


for count, wanted, threshold in ((8, 3, 0.5), (8, 5, 0.5), (6, 5, 0.5), (5, 5, 0.3), (7, 1, 0.3), (4, 2, 0.3)):
    boxes, targets = (torch.rand(n, 2).repeat(1, 2) + torch.tensor([0, 0, 0.5, 0.5]) for n in (count, wanted))
    share, total = matched(boxes, targets, threshold)
    print(f"{count} {wanted} {threshold}: {share.item():.3f} {total.item():.5f}")
