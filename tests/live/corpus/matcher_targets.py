"""A detection loss with a Hungarian matcher of scipy: another number of targets in each image."""

import torch
from scipy.optimize import linear_sum_assignment
from torch import nn

torch.manual_seed(0)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.boxes = nn.Linear(8, 4)
        self.classes = nn.Linear(8, 5)

    def forward(self, image):
        h = self.backbone(image).flatten(2).transpose(1, 2)
        return self.classes(h), self.boxes(h).sigmoid()


class Criterion(nn.Module):
    @torch.no_grad()
    def match(self, logits, boxes, labels, target):
        cost = torch.cdist(boxes, target, p=1) - logits.softmax(-1)[:, labels]
        rows, columns = linear_sum_assignment(cost.numpy())
        return torch.as_tensor(rows), torch.as_tensor(columns)

    def forward(self, logits, boxes, labels, target):
        rows, columns = self.match(logits, boxes, labels, target)
        return nn.functional.cross_entropy(logits[rows], labels[columns]) + (boxes[rows] - target[columns]).abs().mean()


model, criterion = torch.compile(Detector(), backend="aot_eager"), torch.compile(Criterion(), backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, count in enumerate([3, 5, 2, 1, 7]):
    logits, boxes = model(torch.randn(1, 3, 32, 32))
    loss = criterion(logits[0], boxes[0], torch.randint(0, 5, (count,)), torch.rand(count, 4))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
