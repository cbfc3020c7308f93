"""A data-dependent split between two parts of a function: how many rows are positive decides the size of the second."""
import torch


@torch.compile(backend="aot_eager")
def positives(x, factor):
    y = x * factor
    chosen = y[y[:, 0] > 0]
    return chosen.sum(0) / (chosen.shape[0] + 1)


for rows, factor in ((6, 1.0), (8, 1.0), (8, -1.0), (10, 2.0), (3, 0.5)):
    x = torch.linspace(-1, 1, rows * 2).reshape(rows, 2)
    print(f"{rows} {factor}: {positives(x, factor).sum().item():.4f}")
