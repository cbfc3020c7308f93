"""A siamese encoder with attention between two sentences, which have different lengths in most pairs and equal ones in some."""
import torch

torch.manual_seed(0)


class Pairs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(30, 8), torch.nn.Linear(16, 2)

    def forward(self, one, other):
        a, b = self.embed(one), self.embed(other)
        scores = a @ b.mT
        left, right = scores.softmax(-1) @ b, scores.mT.softmax(-1) @ a
        return self.head(torch.cat([(a * left).mean(1), (b * right).mean(1)], -1))


pairs = torch.compile(Pairs(), backend="aot_eager")
for rows, first, second in ((4, 6, 6), (4, 6, 9), (4, 7, 5), (2, 8, 8), (1, 4, 7)):
    one, other = torch.randint(0, 30, (rows, first)), torch.randint(0, 30, (rows, second))
    print(f"{rows}: {first} {second}: {pairs(one, other).sum().item():.5f}")
