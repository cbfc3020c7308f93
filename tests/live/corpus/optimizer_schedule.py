"""A compiled optimizer step with a learning rate schedule and gradient clipping."""
import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


@torch.compile(backend="aot_eager", fullgraph=False)
def update(limit):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()


for step in range(6):
    loss = model(torch.ones(2, 8)).square().mean()
    loss.backward()
    update(1.0 + step)
    schedule.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.6f}")
