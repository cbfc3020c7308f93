"""A convolution with batch norm and dropout, an embedding with cross entropy: forward and backward, and an optimizer's step."""

import os

import torch
from torch.nn import functional as F


class Images(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 5)

    def forward(self, x, target):
        x = F.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        x = F.dropout(x.mean((2, 3)), 0.25, self.training)
        return F.cross_entropy(self.head(x), target)


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(50, 8)
        self.places = torch.nn.Embedding(6, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        logits = self.norm(x) @ self.words.weight.t()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)


torch.manual_seed(0)
backend = os.environ.get("BACKEND", "inductor")
images, words = Images(), Words()
torch.compile(images, backend=backend)(torch.randn(2, 3, 8, 8), torch.tensor([1, 4])).backward()
torch.compile(words, backend=backend)(torch.randint(1, 50, (3, 6))).backward()


@torch.compile(backend=backend)
@torch.no_grad()
def step(weight, gradient, squares):
    squares.mul_(0.9).addcmul_(gradient, gradient, value=0.1)
    weight.addcdiv_(gradient, squares.sqrt().add_(1e-8), value=-0.01)


step(words.words.weight, words.words.weight.grad, torch.rand(50, 8))
