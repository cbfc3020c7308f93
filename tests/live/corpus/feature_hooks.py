"""Features gathered by forward hooks that are registered late, and a module list that grows."""
import torch

torch.manual_seed(0)


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8)])
        self.gain = 1.0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu() * self.gain
        return x


model = Stack()
compiled = torch.compile(model, backend="aot_eager")
features = []
for step in range(6):
    if step == 2:
        model.layers[0].register_forward_hook(lambda module, args, output: features.append(output.detach().mean()))
    if step == 3:
        model.layers.append(torch.nn.Linear(8, 8))
    model.gain = 1.0 + step / 4
    print(f"step {step}: {compiled(torch.ones(3, 8)).sum().item():.5f}")
print(f"features {len(features)}")
