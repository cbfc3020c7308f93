"""Message passing by index_add over batches of graphs: the number of nodes and edges changes, the number of graphs is an int."""
import torch

torch.manual_seed(0)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)

    def forward(self, x, edges, graph, count):
        for _ in range(2):
            x = x + torch.zeros_like(x).index_add(0, edges[1], self.inner(x[edges[0]]).relu())
        return self.outer(torch.zeros(count, 8).index_add(0, graph, x))


network = torch.compile(Network(), backend="aot_eager")
for sizes in ((4, 6, 5), (7, 3, 5), (5, 8), (9, 4, 4, 6)):
    nodes = sum(sizes)
    graph = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    edges = torch.randint(0, nodes, (2, 3 * nodes))
    print(f"{sizes}: {network(torch.randn(nodes, 8), edges, graph, len(sizes)).sum().item():.4f}")
