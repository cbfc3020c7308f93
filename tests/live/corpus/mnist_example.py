"""PyTorch examples, mnist/main.py: training and test batches of a small convolutional net, with smaller last batches."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, 1), nn.Conv2d(4, 8, 3, 1)
        self.dropout = nn.Dropout(0.0)
        self.fc1, self.fc2 = nn.Linear(8 * 25, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = self.dropout(F.max_pool2d(x, 2))
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return F.log_softmax(self.fc2(x), dim=1)


def loader(count, batch):
    data, target = torch.arange(count * 196.0).reshape(count, 1, 14, 14).cos(), torch.arange(count) % 10
    return list(zip(data.split(batch), target.split(batch), strict=True))


model = torch.compile(Net(), backend="aot_eager")
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
for epoch in range(2):
    model.train()
    for data, target in loader(20, 8):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.5f}")
    model.eval()
    with torch.no_grad():
        total = sum(F.nll_loss(model(data), target, reduction="sum").item() for data, target in loader(25, 10))
    print(f"epoch {epoch} test {total / 25:.5f}")
    scheduler.step()
