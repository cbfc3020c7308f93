"""Gram matrices and solves of several sizes: square, wide and tall, some with the size one."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def ridge(a, b, weight: float = 0.1):
    gram = a.T @ a + weight * torch.eye(a.shape[1])
    return torch.linalg.solve(gram, a.T @ b)


for rows, columns in ((6, 6), (8, 8), (8, 5), (3, 5), (5, 1), (1, 4)):
    a, b = torch.randn(rows, columns), torch.randn(rows, 2)
    print(f"{rows} x {columns}: {ridge(a, b).abs().sum().item():.4f}")
