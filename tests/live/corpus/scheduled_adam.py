"""A compiled step of Adam with cosine annealing, after a warm-up; gradients are clipped to a norm that is changed once."""
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 2)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, cosine], [2])


@torch.compile(backend="eager")
def step(most):
    torch.nn.utils.clip_grad_norm_(model.parameters(), most)
    optimizer.step()
    scheduler.step()


x = torch.randn(16, 4)
for n in range(6):
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    step(1.0 if n < 4 else 0.5)
    print(f"{n}: {loss.item():.5f}")
