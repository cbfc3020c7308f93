"""A causal convolution over a stream: each chunk comes with the last samples of the one before, and chunks differ in length."""
import torch

torch.manual_seed(0)


class Stream(torch.nn.Module):
    def __init__(self, wide=5):
        super().__init__()
        self.conv, self.keep = torch.nn.Conv1d(2, 4, wide), wide - 1

    def forward(self, chunk, state):
        x = torch.cat([state, chunk], -1)
        return self.conv(x).relu(), x[..., -self.keep:]


stream = torch.compile(Stream(), backend="aot_eager")
for batch, lengths in ((1, (10, 10, 10, 3)), (3, (10, 6))):
    state = torch.zeros(batch, 2, 4)
    for length in lengths:
        y, state = stream(torch.randn(batch, 2, length), state)
        print(f"{batch} x {length}: {y.sum().item():.5f}")
