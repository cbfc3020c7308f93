"""Two equal layers of attention and MLP, forward and backward: 3 steps, then 4 with the profiler."""
import sys

import counting
import torch
from torch import nn
from torch.nn import functional

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)
WIDTH, HEADS = 64, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def attend(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.norm(x))
        return x + self.down(functional.gelu(self.up(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.head = nn.Linear(WIDTH, 10, bias=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x).tanh().mean()


model = Model()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(8, 32, WIDTH)


def step():
    compiled(x).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    step()
with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
    for number in range(4):
        with counting.step(f"step {number}"):
            step()
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json")
