"""PyTorch Geometric, examples/mutag_gin.py: graph classification with GIN over batches of graphs, training and test."""
import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MLP, GINConv, global_add_pool

torch.manual_seed(0)


def graph(n):
    nodes = 4 + n % 5
    edges = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    return Data(x=torch.ones(nodes, 3) * n / 10, edge_index=edges, y=torch.tensor([n % 2]))


class GIN(torch.nn.Module):
    def __init__(self, in_channels, hidden, out_channels, layers):
        super().__init__()
        self.convs = torch.nn.ModuleList()
        for _ in range(layers):
            self.convs.append(GINConv(MLP([in_channels, hidden, hidden]), train_eps=False))
            in_channels = hidden
        self.mlp = MLP([hidden, hidden, out_channels], norm=None, dropout=0.0)

    def forward(self, x, edge_index, batch, batch_size):
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.mlp(global_add_pool(x, batch, batch_size))


model = torch.compile(GIN(3, 8, 2, 2), backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
graphs = [graph(n) for n in range(14)]
for epoch in range(2):
    model.train()
    for data in DataLoader(graphs[:10], batch_size=4):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data.x, data.edge_index, data.batch, data.batch_size), data.y)
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.5f}")
    model.eval()
    with torch.no_grad():
        for data in DataLoader(graphs[10:], batch_size=4):
            out = model(data.x, data.edge_index, data.batch, data.batch_size)
            print(f"epoch {epoch} test {out.mean().item():.5f}")
