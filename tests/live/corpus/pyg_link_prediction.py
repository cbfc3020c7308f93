"""PyTorch Geometric, examples/link_pred.py: a GCN encoder, edges and sampled negative edges as pairs; AUC by an inner product."""
import torch
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import negative_sampling

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.conv1 = SAGEConv(in_channels, hidden_channels)
        self.conv2 = SAGEConv(hidden_channels, out_channels)

    def encode(self, x, edge_index):
        x = self.conv1(x, edge_index).relu()
        return self.conv2(x, edge_index)

    def decode(self, z, edge_label_index):
        return (z[edge_label_index[0]] * z[edge_label_index[1]]).sum(dim=-1)

    def forward(self, x, edge_index, edge_label_index):
        return self.decode(self.encode(x, edge_index), edge_label_index)


model = Net(6, 16, 8)
score = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(30, 6)
edges = torch.randint(0, 30, (2, 90))
train_edges, test_edges = edges[:, :70], edges[:, 70:]
for epoch in range(3):
    model.train()
    negative = negative_sampling(train_edges, num_nodes=30, num_neg_samples=70 - 5 * epoch)
    pairs = torch.cat([train_edges, negative], dim=-1)
    labels = torch.cat([torch.ones(70), torch.zeros(negative.size(1))])
    loss = torch.nn.functional.binary_cross_entropy_with_logits(score(x, train_edges, pairs), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        out = score(x, train_edges, test_edges)
    print(f"epoch {epoch}: {loss.item():.4f} {out.mean().item():.4f}")
