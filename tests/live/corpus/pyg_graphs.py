"""torch_geometric: a graph network over graphs of different sizes."""
import torch
from torch_geometric.nn import GCNConv

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(4, 8), GCNConv(8, 2)

    def forward(self, x, edges):
        return self.second(self.first(x, edges).relu(), edges)


model = torch.compile(Net(), backend="aot_eager")
for nodes in (5, 8, 11, 6):
    edges = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    print(f"nodes {nodes}: {model(torch.ones(nodes, 4), edges).mean().item():.5f}")
