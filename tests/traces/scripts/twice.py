import torch


class Scale:
    by = 2.0


scale = Scale()


@torch.compile
def f(x, w, n):
    for key in ("a", "b"):
        x = x * w[key] + n
    return (x.sin() * scale.by).sum()


w = {"a": torch.randn(1), "b": torch.randn(1)}
x = torch.randn(5)
torch._dynamo.mark_dynamic(x, 0)
f(x, w, 2)
