"""A module with attributes that a training loop changes: a dropout rate, a temperature and a counter."""
import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.rate, self.temperature, self.seen = torch.nn.Linear(8, 8), 0.0, 1.0, 0

    def forward(self, x):
        self.seen += 1
        y = self.linear(x) / self.temperature
        return torch.nn.functional.dropout(y, self.rate, training=False).softmax(-1)


net = Net()
compiled = torch.compile(net, backend="aot_eager")
for epoch in range(5):
    net.rate, net.temperature = 0.1 * epoch, 1.0 + 0.5 * epoch
    print(f"{epoch}: {compiled(torch.linspace(-1, 1, 8)[None]).amax().item():.5f} {net.seen}")
