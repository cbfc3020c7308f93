"""Functions of a module, a method, a closure at the top of the module, and a closure that no script can call."""

import torch


@torch.compile
def scores(query, key, scale, mask=None):
    product = query @ key.transpose(-1, -2) * scale
    return torch.softmax(product if mask is None else product + mask, -1)


@torch.compile
def broken(x, offset=None, factor=1.0):
    y = x.sin()
    torch._dynamo.graph_break()
    return y * factor if offset is None else y * factor + offset


def loss(output, target):
    return torch.nn.functional.cross_entropy(output, target)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))

    def forward(self, x, factor=1.0):
        return self.layers(x) * factor


def scaled_by(number):
    def scaled(x):
        return torch.sin(x) * number

    return scaled


torch.manual_seed(0)
model = Model()
fast_model, fast_loss, fast_scaled = torch.compile(model), torch.compile(loss), torch.compile(scaled_by(3))


def main():
    for rows in (6, 10):
        target = torch.zeros(rows, dtype=torch.int64)
        fast_loss(fast_model(torch.ones(rows, 8), factor=2.0), target).backward()
    marked = torch.ones(5, 7)
    torch._dynamo.mark_dynamic(marked, 0)
    fast_scaled(marked)
    with torch.no_grad():
        scores(torch.ones(2, 4, 8), torch.ones(4, 2, 8).transpose(0, 1), 0.5)
        scores(torch.ones(2, 4, 8), torch.ones(4, 2, 8).transpose(0, 1), 0.5, torch.zeros(4, 4, dtype=torch.float32))
        broken(torch.ones(4), factor=2.0)
        broken(torch.ones(4), torch.ones(1), factor=2.0)
    torch.compile(lambda x: x.cos() + 1)(torch.ones(3))


if __name__ == "__main__":
    main()
