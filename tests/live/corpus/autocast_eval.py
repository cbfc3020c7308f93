"""Training under autocast, validation without, a last pass in float64 under another default dtype."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1))
compiled = torch.compile(net, backend="aot_eager")
x = torch.ones(4, 6)
for epoch in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = compiled(x).float().mean()
    loss.backward()
    with torch.no_grad():
        print(f"epoch {epoch} {loss.item():.3f} {compiled(x).mean().item():.4f}")
torch.set_num_threads(1)
with torch.inference_mode():
    print(f"last {compiled(x).mean().item():.4f}")
net.double()
torch.set_default_dtype(torch.float64)
with torch.no_grad():
    print(f"double {compiled(x.double()).mean().item():.4f}")
