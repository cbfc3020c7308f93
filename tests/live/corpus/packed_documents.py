"""Sequence packing: documents are concatenated, boundaries are given as cumulative lengths, the loss is a mean per document."""
import torch

torch.manual_seed(0)
table = torch.randn(40, 8)


@torch.compile(backend="aot_eager")
def packed_loss(tokens, boundaries):
    document = torch.bucketize(torch.arange(tokens.shape[0]), boundaries[1:-1], right=True)
    x = table[tokens]
    errors = (x[1:] - x[:-1]).pow(2).mean(-1) * (document[1:] == document[:-1])
    sums = torch.zeros(boundaries.shape[0] - 1).scatter_add(0, document[1:], errors)
    return (sums / (boundaries[1:] - boundaries[:-1])).mean()


for lengths in ([5, 3, 4], [6, 6], [2, 9, 3, 4], [12], [4, 4, 4]):
    boundaries = torch.tensor([0, *lengths]).cumsum(0)
    print(f"{lengths}: {packed_loss(torch.randint(0, 40, (sum(lengths),)), boundaries).item():.5f}")
