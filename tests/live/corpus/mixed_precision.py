"""One function for float32 and bfloat16, with and without a bias, contiguous and transposed."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def project(x, weight, bias=None):
    y = x @ weight
    return y if bias is None else y + bias


weight, bias = torch.linspace(-1, 1, 64).reshape(8, 8), torch.ones(8)
for kind in (torch.float32, torch.bfloat16):
    for batch in (4, 6):
        x = torch.ones(batch, 8, dtype=kind)
        print(f"{kind} {batch}: {project(x, weight.to(kind)).float().sum().item():.2f}")
print(f"bias: {project(torch.ones(4, 8), weight, bias).sum().item():.2f}")
print(f"transposed: {project(torch.ones(4, 8), weight.T).sum().item():.2f}")
