"""Fine-tuning with a compiled AdamW step: layers are unfrozen one after the other, a OneCycle schedule, weight decay per group."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
for layer in (net[0], net[2]):
    layer.requires_grad_(False)
optimizer = torch.optim.AdamW(net[4].parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=12)


@torch.compile(backend="aot_eager", fullgraph=False)
def update():
    optimizer.step()


x, y = torch.randn(12, 8), torch.arange(12) % 2
for step in range(9):
    if step in (3, 6):
        layer = net[2] if step == 3 else net[0]
        layer.requires_grad_(True)
        optimizer.add_param_group({"params": list(layer.parameters()), "lr": 0.001, "weight_decay": 0.1})
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    update()
    optimizer.zero_grad(set_to_none=step % 2 == 0)
    if len(optimizer.param_groups) == 1:
        scheduler.step()
    print(f"step {step}: {loss.item():.4f}")
