"""PyTorch Geometric, tutorial heterogeneous graphs: a HeteroConv of users and items; some batches have no ratings."""
import torch
from torch_geometric.data import HeteroData
from torch_geometric.nn import HeteroConv, SAGEConv

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = HeteroConv({
            ("user", "rates", "item"): SAGEConv((4, 6), 8), ("item", "rev", "user"): SAGEConv((6, 4), 8),
        }, aggr="sum")
        self.out = torch.nn.Linear(8, 2)

    def forward(self, x_dict, edge_index_dict):
        x_dict = {key: x.relu() for key, x in self.conv(x_dict, edge_index_dict).items()}
        return {key: self.out(x) for key, x in x_dict.items()}


def batch_of(users, items, edges):
    data = HeteroData()
    data["user"].x, data["item"].x = torch.ones(users, 4), torch.ones(items, 6)
    pairs = torch.stack([torch.arange(edges) % users, torch.arange(edges) % items])
    if edges:
        data["user", "rates", "item"].edge_index = pairs
    data["item", "rev", "user"].edge_index = torch.stack([torch.arange(items), torch.arange(items) % users])
    return data


net = Net()
compiled = torch.compile(net, backend="aot_eager")
for users, items, edges in ((5, 4, 7), (5, 4, 9), (6, 3, 8), (4, 5, 0), (7, 6, 12)):
    data = batch_of(users, items, edges)
    out = compiled(data.x_dict, data.edge_index_dict)
    print(f"{users} {items} {edges}: {sum(value.sum() for value in out.values()).item():.4f}")
