"""A graph layer on sampled neighbors: nodes, edges and the number of targets differ in each batch."""

import torch
from torch import nn

torch.manual_seed(0)
linear = nn.Linear(6, 6)


@torch.compile(backend="aot_eager")
def convolve(x, edges, targets):
    source, target = edges
    total = torch.zeros(targets, x.shape[1]).index_add(0, target, linear(x)[source])
    count = torch.zeros(targets).index_add(0, target, torch.ones(target.shape[0]))
    return total / count.clamp(min=1)[:, None]


generator = torch.Generator().manual_seed(1)
for nodes, edges, targets in ((20, 40, 5), (23, 44, 6), (18, 39, 7), (30, 60, 8)):
    pairs = torch.stack(
        [torch.randint(nodes, (edges,), generator=generator), torch.randint(targets, (edges,), generator=generator)]
    )
    print(f"{nodes} {convolve(torch.ones(nodes, 6), pairs, targets).sum().item():.4f}")
