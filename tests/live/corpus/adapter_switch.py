"""Several adapters on one layer; a string attribute chooses the active one, and a set lists the merged ones."""
import torch
from torch import nn

torch.manual_seed(0)


class Adapted(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.base, self.active, self.merged = nn.Linear(8, 8), names[0], set()
        self.down = nn.ModuleDict({name: nn.Linear(8, 2, bias=False) for name in names})
        self.up = nn.ModuleDict({name: nn.Linear(2, 8, bias=False) for name in names})

    def forward(self, x):
        y = self.base(x)
        if self.active not in self.merged:
            y = y + self.up[self.active](self.down[self.active](x))
        return y


model = Adapted(["chat", "code", "math"])
compiled = torch.compile(model, backend="aot_eager")
with torch.no_grad():
    for name in ("chat", "code", "math", "chat", "code"):
        model.active = name
        print(f"{name} {compiled(torch.ones(3, 8)).sum().item():.4f}")
