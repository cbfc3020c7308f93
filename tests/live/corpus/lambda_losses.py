"""A weighted sum of losses from a dict of functions: lambdas, partials and functions of torch; the weights are changed."""
import functools

import torch
import torch.nn.functional as F

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def total(x, y, losses, weights):
    return sum(weights[name] * loss(x, y) for name, loss in losses.items())


def focal(x, y, gamma):
    return ((x - y).abs() ** gamma * (x - y) ** 2).mean()


x, y = torch.randn(6, 3), torch.randn(6, 3)
base = {"mse": F.mse_loss}
sets = (
    (base, {"mse": 1.0}),
    (base, {"mse": 0.5}),
    (base | {"l1": F.l1_loss}, {"mse": 0.5, "l1": 0.5}),
    (base | {"sign": lambda a, b: (a.sign() - b.sign()).abs().mean()}, {"mse": 0.5, "sign": 0.1}),
    (base | {"focal": functools.partial(focal, gamma=2.0)}, {"mse": 0.5, "focal": 0.1}),
    (base | {"focal": functools.partial(focal, gamma=3.0)}, {"mse": 0.5, "focal": 0.1}),
)
for losses, weights in sets:
    print(f"{sorted(losses)}: {total(x, y, losses, weights).item():.5f}")
