"""PyTorch Geometric, examples/proteins_diff_pool.py: dense graphs, pooled in two steps; batches of a DenseDataLoader, masks."""
from math import ceil

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DenseDataLoader
from torch_geometric.nn import DenseSAGEConv, dense_diff_pool
from torch_geometric.transforms import ToDense
from torch_geometric.utils import to_undirected

torch.manual_seed(12345)
MAX_NODES = 24


def graph(number):
    nodes = 8 + number % 12
    edges = to_undirected(torch.randint(0, nodes, (2, nodes * 2)))
    return ToDense(MAX_NODES)(Data(x=torch.randn(nodes, 3), edge_index=edges, y=torch.tensor([number % 2])))


graphs = [graph(number) for number in range(22)]
train_loader = DenseDataLoader(graphs[:14], batch_size=6)
test_loader = DenseDataLoader(graphs[14:], batch_size=8)


class GNN(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, normalize=False, lin=True):
        super().__init__()
        self.conv1 = DenseSAGEConv(in_channels, hidden_channels, normalize)
        self.bn1 = torch.nn.BatchNorm1d(hidden_channels)
        self.conv2 = DenseSAGEConv(hidden_channels, out_channels, normalize)
        self.bn2 = torch.nn.BatchNorm1d(out_channels)
        self.lin = torch.nn.Linear(hidden_channels + out_channels, out_channels) if lin is True else None

    def bn(self, i, x):
        batch_size, num_nodes, num_channels = x.size()
        x = x.view(-1, num_channels)
        x = getattr(self, f"bn{i}")(x)
        return x.view(batch_size, num_nodes, num_channels)

    def forward(self, x, adj, mask=None):
        x1 = self.bn(1, self.conv1(x, adj, mask).relu())
        x2 = self.bn(2, self.conv2(x1, adj, mask).relu())
        x = torch.cat([x1, x2], dim=-1)
        return self.lin(x).relu() if self.lin is not None else x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        num_nodes = ceil(0.25 * MAX_NODES)
        self.gnn1_pool = GNN(3, 16, num_nodes)
        self.gnn1_embed = GNN(3, 16, 16, lin=False)
        self.gnn3_embed = GNN(2 * 16, 16, 16, lin=False)
        self.lin1 = torch.nn.Linear(2 * 16, 16)
        self.lin2 = torch.nn.Linear(16, 2)

    def forward(self, x, adj, mask=None):
        s = self.gnn1_pool(x, adj, mask)
        x = self.gnn1_embed(x, adj, mask)
        x, adj, l1, e1 = dense_diff_pool(x, adj, s, mask)
        x = self.gnn3_embed(x, adj)
        x = self.lin2(self.lin1(x.mean(dim=1)).relu())
        return F.log_softmax(x, dim=-1), l1, e1


model = Net()
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    model.train()
    total = 0.0
    for data in train_loader:
        optimizer.zero_grad()
        output, link, entropy = compiled(data.x, data.adj, data.mask)
        loss = F.nll_loss(output, data.y.view(-1)) + link + entropy
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        right = sum(int((compiled(d.x, d.adj, d.mask)[0].argmax(1) == d.y.view(-1)).sum()) for d in test_loader)
    print(f"epoch {epoch}: loss {total:.4f}, {right} right")
