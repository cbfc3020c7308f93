"""torch.func: Jacobians and gradients of a small model for single rows by vmap, batches of several sizes, with two activations."""
import torch
from torch.func import grad, jacrev, vmap

torch.manual_seed(0)
weight = torch.randn(3, 4)


@torch.compile(backend="aot_eager")
def divergence(x, activation):
    def field(row):
        return activation(weight @ row)

    jacobians = vmap(jacrev(field))(x)
    slopes = vmap(grad(lambda row: field(row).sum()))(x)
    return jacobians.pow(2).sum((1, 2)) + slopes.sum(1)


for rows, activation in ((4, torch.tanh), (6, torch.tanh), (9, torch.tanh), (9, torch.sin), (4, torch.sin), (1, torch.tanh)):
    print(f"{rows} rows, {activation.__name__}: {divergence(torch.randn(rows, 4), activation).sum().item():.5f}")
