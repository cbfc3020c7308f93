"""Bags of categorical features: ids with offsets, weights that are sometimes there, and a mode that is an argument."""
import torch

torch.manual_seed(0)
table = torch.randn(30, 4)


@torch.compile(backend="aot_eager")
def pooled(ids, offsets, weights=None, mode="sum"):
    bags = torch.nn.functional.embedding_bag(ids, table, offsets, mode=mode, per_sample_weights=weights)
    return torch.cat([bags, bags.norm(dim=1, keepdim=True)], 1)


for lengths, weighted, mode in (((3, 2, 4), False, "sum"), ((1, 5, 2), False, "sum"), ((6, 3), False, "sum"), ((6, 3), True, "sum"),
                                ((2, 2, 2), True, "sum"), ((4, 1, 1, 2), False, "mean"), ((4, 4), False, "mean")):
    ids = torch.randint(0, 30, (sum(lengths),))
    offsets = torch.tensor([0, *lengths[:-1]]).cumsum(0)
    weights = torch.rand(len(ids)) if weighted else None
    print(f"{lengths} {weighted} {mode}: {pooled(ids, offsets, weights, mode).sum().item():.5f}")
