"""Fake quantization: the number of bits is an argument, observers run in training only, autocast in evaluation only."""
import torch

torch.manual_seed(0)


class Quantized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.register_buffer("most", torch.zeros(()))

    def forward(self, x, bits=8):
        if self.training:
            self.most.copy_(torch.maximum(self.most, x.detach().abs().amax()))
        step = self.most / (2 ** (bits - 1) - 1)
        return self.linear(x + ((x / step).round() * step - x).detach())


model = Quantized()
run = torch.compile(model, backend="aot_eager")
for bits, rows in ((8, 4), (8, 4), (4, 4), (2, 6)):
    loss = run(torch.randn(rows, 8), bits).pow(2).mean()
    loss.backward()
    print(f"{bits} bits: {loss.item():.5f}")
model.eval()
with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
    print(f"evaluation: {run(torch.randn(6, 8)).float().sum().item():.3f}")
print(f"last: {run(torch.randn(6, 8), 2).sum().item():.5f}")
