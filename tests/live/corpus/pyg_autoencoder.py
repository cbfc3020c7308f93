"""PyTorch Geometric, examples/autoencoder.py: a graph autoencoder; encoder and decoder compiled separately."""
import torch
from torch_geometric.nn import GAE, GCNConv
from torch_geometric.utils import to_undirected

torch.manual_seed(0)


class Encoder(torch.nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(in_channels, 2 * out_channels, cached=False), GCNConv(2 * out_channels, out_channels)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


model = GAE(Encoder(4, 3))
encode = torch.compile(model.encode, backend="aot_eager")
decode = torch.compile(model.decoder, backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch, nodes in enumerate((6, 6, 9, 12)):
    edges = to_undirected(torch.stack([torch.arange(nodes), (torch.arange(nodes) + 2) % nodes]))
    x = torch.linspace(0, 1, nodes * 4).reshape(nodes, 4)
    optimizer.zero_grad()
    z = encode(x, edges)
    loss = -torch.log(decode(z, edges, sigmoid=True) + 1e-15).mean()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        score = decode(z, edges[:, : nodes // 2], sigmoid=False).mean()
    print(f"epoch {epoch} loss {loss.item():.5f} score {score.item():.5f}")
