"""A small state space model: a scan over the sequence in chunks, the chunk is an attribute, the state is passed on or new."""
import torch

torch.manual_seed(0)


class Scan(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.decay, self.mix = torch.nn.Parameter(torch.rand(6)), torch.nn.Linear(6, 6)
        self.chunk = 4

    def forward(self, x, state=None):
        state = x.new_zeros(x.shape[0], 6) if state is None else state
        parts = []
        for part in x.split(self.chunk, 1):
            powers = self.decay.sigmoid() ** torch.arange(part.shape[1], 0, -1)[:, None]
            parts.append(part * powers + state[:, None])
            state = (part * powers).sum(1) + state * powers[0]
        return self.mix(torch.cat(parts, 1)), state


scan = Scan()
run = torch.compile(scan, backend="aot_eager")
with torch.no_grad():
    state = None
    for rows, length in ((2, 8), (2, 8), (3, 8), (3, 12)):
        state = None if state is not None and len(state) != rows else state
        y, state = run(torch.randn(rows, length, 6), state)
        print(f"{rows} x {length}: {y.sum().item():.5f}")
    scan.chunk = 6
    print(f"chunk 6: {run(torch.randn(3, 12, 6))[0].sum().item():.5f}")
