"""PyTorch tutorials, regional_compilation.py: layers of one class compiled one by one, and a whole model with other sizes."""
import torch
from torch import nn

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1, self.relu1, self.linear2, self.relu2 = nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 10), nn.ReLU()

    def forward(self, x):
        return self.relu2(self.linear2(self.relu1(self.linear1(x))))


class Model(nn.Module):
    def __init__(self, apply_regional_compilation):
        super().__init__()
        self.linear = nn.Linear(10, 10)
        layers = [Layer() for _ in range(8)]
        if apply_regional_compilation:
            layers = [torch.compile(layer, backend="aot_eager") for layer in layers]
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        x = self.linear(x)
        for layer in self.layers:
            x = layer(x)
        return x


regional, full = Model(True), torch.compile(Model(False), backend="aot_eager")
with torch.no_grad():
    for batch in (10, 10, 6):
        x = torch.ones(batch, 10)
        print(f"batch {batch} regional {regional(x).sum().item():.4f} full {full(x).sum().item():.4f}")
print(f"with grad {regional(torch.ones(6, 10)).sum().item():.4f}")
