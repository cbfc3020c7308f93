"""torch: a model with dropout whose compiled step is called in training, evaluation and for a Monte Carlo estimate."""

import torch

torch.manual_seed(0)
blocks = [torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.1)) for _ in range(3)]
model = torch.nn.Sequential(*blocks)


@torch.compile(backend="aot_eager")
def step(batch):
    return model(batch).square().mean()


loss = step(torch.ones(4, 8))
loss.backward()
print(f"loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    print(f"eval {step(torch.ones(4, 8)).item():.4f}")
model.train()
with torch.no_grad():
    print(f"estimate {step(torch.ones(4, 8)).item():.4f}")
