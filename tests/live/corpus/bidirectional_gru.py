"""A GRU over sentences of several lengths, with packed batches of one and a state that is passed on."""
import torch

torch.manual_seed(0)


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = torch.nn.GRUCell(8, 12), torch.nn.Linear(12, 3)

    def forward(self, x, state):
        outputs = []
        for t in range(x.shape[0]):
            state = self.cell(x[t], state)
            outputs.append(self.head(state))
        return torch.stack(outputs), state


model = torch.compile(Tagger(), backend="aot_eager")
state = torch.zeros(2, 12)
for length in (3, 4, 3, 5):
    out, state = model(torch.ones(length, 2, 8), state.detach())
    print(f"length {length}: {out.sum().item():.5f}")
