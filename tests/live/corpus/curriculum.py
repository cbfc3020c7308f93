"""A curriculum: image size and batch size grow by steps, and a warm-up flag and a schedule are plain attributes."""
import torch

torch.manual_seed(0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(8, 4)
        self.step, self.warm = 0, True

    def forward(self, x):
        x = self.conv(x).relu().mean((2, 3))
        x = self.head(x)
        return x * 0.1 if self.warm else x / (1 + self.step)


model = Model()
compiled = torch.compile(model, backend="aot_eager")
for step in range(8):
    model.step, model.warm = step, step < 2
    size, batch = 8 * (1 + step // 3), 4 if step < 5 else 2
    loss = compiled(torch.ones(batch, 3, size, size)).square().mean()
    loss.backward()
    print(f"step {step} size {size} loss {loss.item():.6f}")
