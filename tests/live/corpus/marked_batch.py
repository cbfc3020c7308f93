"""The program marks the batch of both inputs itself; the length changes too, and is sometimes the batch."""
import torch

torch.manual_seed(0)
linear = torch.nn.Linear(8, 8)


@torch.compile(backend="aot_eager")
def score(x, weights):
    y = linear(x).mean((1, 2))
    return y @ weights


for batch, length in ((4, 6), (5, 6), (7, 9), (9, 9), (6, 12)):
    x, weights = torch.ones(batch, length, 8), torch.arange(float(batch))
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.mark_dynamic(weights, 0)
    print(f"{batch} {length}: {score(x, weights).item():.4f}")
