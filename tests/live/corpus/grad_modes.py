"""Training and evaluation of one compiled model, with autocast in between."""
import torch

torch.manual_seed(0)
model = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.0), torch.nn.Linear(8, 2)), backend="aot_eager")
x = torch.ones(4, 8)
for epoch in range(2):
    model.train()
    model(x).sum().backward()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch}: {model(x).sum().item():.5f}")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print(f"epoch {epoch} bfloat16: {model(x).float().sum().item():.3f}")
