"""Self-distillation: one module as student and, under no_grad and in eval mode, as teacher; the momentum follows a cosine."""
import copy
import math

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(6, 12), nn.Dropout(0.0), nn.GELU(), nn.Linear(12, 4))
teacher = copy.deepcopy(student).eval()
run = torch.compile(lambda model, x: model(x).log_softmax(-1), backend="aot_eager")
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)


@torch.compile(backend="aot_eager")
def update(old, new, momentum):
    for a, b in zip(old, new, strict=True):
        a.mul_(momentum).add_(b, alpha=1 - momentum)


for step in range(5):
    x = torch.ones(4, 6) * (step + 1)
    with torch.no_grad():
        goal = run(teacher, x)
    loss = -(goal.exp() * run(student, x)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        update(list(teacher.parameters()), list(student.parameters()), 1 - 0.1 * (math.cos(math.pi * step / 5) + 1) / 2)
    print(f"step {step} {loss.item():.4f}")
