"""Low-rank adapters: the base is frozen or not, the scale changes, the adapter is switched off, evaluation has another batch."""
import torch

torch.manual_seed(0)


class Adapted(torch.nn.Module):
    def __init__(self, rank=2):
        super().__init__()
        self.base = torch.nn.Linear(8, 8)
        self.a, self.b = torch.nn.Parameter(torch.randn(rank, 8)), torch.nn.Parameter(torch.randn(8, rank))
        self.scale, self.active = 1.0, True

    def forward(self, x):
        y = self.base(x)
        return y + self.scale * (x @ self.a.T @ self.b.T) if self.active else y


model = Adapted()
run = torch.compile(model, backend="aot_eager")
for frozen, scale in ((True, 1.0), (True, 0.5), (True, 0.25), (False, 0.25)):
    model.base.requires_grad_(not frozen)
    model.scale = scale
    model.zero_grad()
    loss = run(torch.randn(6, 8)).pow(2).mean()
    loss.backward()
    print(f"{frozen} {scale}: {loss.item():.5f}")
model.eval()
with torch.no_grad():
    for active in (True, False):
        model.active = active
        print(f"active {active}: {run(torch.randn(3, 8)).sum().item():.5f}")
