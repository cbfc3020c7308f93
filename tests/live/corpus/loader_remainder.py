"""A training loop over a DataLoader whose last batch is smaller, with an evaluation at the end of each epoch."""
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(22, 6), torch.randint(0, 3, (22,)))
model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
forward = torch.compile(model, backend="aot_eager")

for epoch in range(2):
    model.train()
    for x, y in DataLoader(data, batch_size=8):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((forward(x).argmax(1) == y).sum().item() for x, y in DataLoader(data, batch_size=10))
    print(f"epoch {epoch}: loss {loss.item():.5f}, {right} right")
