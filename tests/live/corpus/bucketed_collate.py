"""Text in buckets: a batch is a NamedTuple with lengths as a list of ints, padded to the longest."""
from typing import NamedTuple

import torch
from torch import nn

torch.manual_seed(0)


class Batch(NamedTuple):
    tokens: torch.Tensor
    lengths: list
    name: str


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.mix = nn.Embedding(50, 8), nn.Linear(8, 8)

    def forward(self, batch):
        x = self.mix(self.embed(batch.tokens))
        means = [x[row, :length].mean(0) for row, length in enumerate(batch.lengths)]
        return torch.stack(means)


encoder = torch.compile(Encoder(), backend="aot_eager")
with torch.no_grad():
    for name, lengths in (("a", [4, 6]), ("b", [5, 6]), ("c", [3, 9]), ("d", [2, 7, 7])):
        batch = Batch(torch.ones(len(lengths), max(lengths), dtype=torch.long), lengths, name)
        print(f"{name} {encoder(batch).sum().item():.4f}")
