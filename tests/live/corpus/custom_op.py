"""A custom operator with a fake kernel, called with lists, flags and sizes that change."""
import torch


@torch.library.custom_op("corpus::gather_rows", mutates_args=())
def gather_rows(x: torch.Tensor, rows: list[int], scale: float) -> torch.Tensor:
    return x[rows] * scale


@gather_rows.register_fake
def _(x, rows, scale):
    return x.new_empty(len(rows), *x.shape[1:])


@torch.compile(backend="aot_eager")
def pick(x, rows, scale=1.0, normalize=False):
    out = gather_rows(x, rows, scale)
    return torch.nn.functional.normalize(out, dim=-1) if normalize else out


for n in range(6):
    x = torch.arange(float((4 + n) * 3)).reshape(4 + n, 3)
    rows = [0, n % 4] if n < 4 else [0, 1, 2]
    print(f"call {n}: {pick(x, rows, 1.0 + n // 2, normalize=n == 5).sum().item():.4f}")
