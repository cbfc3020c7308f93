"""A forward with a print of the loss between two parts, for batches of several sizes."""
import torch

torch.manual_seed(0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)

    def forward(self, x):
        hidden = self.first(x).relu()
        print(f"hidden {hidden.shape[0]} {hidden.mean().item():.5f}")
        return self.second(hidden).squeeze(-1)


model = torch.compile(Model(), backend="aot_eager")
for batch in (8, 6, 4, 1, 2):
    loss = model(torch.ones(batch, 8) * 0.5).square().mean()
    loss.backward()
    print(f"loss {loss.item():.5f}")
