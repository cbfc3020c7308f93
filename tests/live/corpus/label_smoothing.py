"""A loss with label smoothing and class weights or none, over flat and sequence targets; smoothing is raised once."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def smoothed(scores, target, smoothing, weight=None):
    losses = -scores.log_softmax(-1)
    right = losses.gather(-1, target[..., None])[..., 0]
    if weight is not None:
        right = right * weight[target]
    return ((1 - smoothing) * right + smoothing * losses.mean(-1)).mean()


for shape, smoothing, weighted in (((6,), 0.0, False), ((9,), 0.0, False), ((4, 5), 0.0, False), ((4, 7), 0.1, False),
                                   ((4, 7), 0.1, True), ((3, 7), 0.2, True)):
    weight = torch.rand(4) if weighted else None
    scores, target = torch.randn(*shape, 4), torch.randint(0, 4, shape)
    print(f"{shape} {smoothing} {weighted}: {smoothed(scores, target, smoothing, weight).item():.5f}")
