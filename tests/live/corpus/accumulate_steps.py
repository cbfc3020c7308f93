"""Gradient accumulation with a warm-up: flags per micro-batch, a loss scale that is a Python number, and validation."""

import contextlib

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.norm = nn.BatchNorm1d(8)
        self.calls = 0

    def forward(self, x, y, scale=1.0, is_last=True):
        self.calls += 1
        for layer in self.layers:
            x = layer(x).relu() + x
        loss = nn.functional.mse_loss(self.norm(x), y) * scale
        return loss if is_last else loss / 4


model = Net()
model.compile(backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    model.train()
    for n in range(8):
        scale = min(1.0, (epoch * 8 + n + 1) / 10)
        with contextlib.nullcontext() if n % 4 == 3 else torch.autograd.set_multithreading_enabled(True):
            loss = model(torch.randn(6 if n < 7 else 3, 8), torch.randn(6 if n < 7 else 3, 8), scale, n % 4 == 3)
        loss.backward()
        if n % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
        print(f"epoch {epoch} step {n} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        print(f"valid {model(torch.randn(5, 8), torch.randn(5, 8)).item():.4f}")
