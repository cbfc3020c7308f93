"""Lightning, examples/fabric/image_classifier/train_fabric.py: a loop of its own with Fabric, compiled before setup()."""
import lightning
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
fabric = lightning.Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
model = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
model, optimizer = fabric.setup(model, optimizer)
data = TensorDataset(torch.linspace(0, 1, 22 * 64).reshape(22, 1, 8, 8), torch.arange(22) % 10)
train, test = fabric.setup_dataloaders(DataLoader(data, batch_size=8), DataLoader(data, batch_size=11))
for epoch in range(2):
    model.train()
    for images, target in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), target)
        fabric.backward(loss)
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")
    model.eval()
    with torch.no_grad():
        for images, target in test:
            print(f"epoch {epoch} test {F.cross_entropy(model(images), target).item():.3f}")
