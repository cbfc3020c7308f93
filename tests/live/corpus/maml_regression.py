"""functorch examples, maml_regression/evjang_transforms.py: meta-learning of sine waves with grad and vmap."""
import torch
from torch.func import grad, vmap
from torch.nn import functional as F

torch.manual_seed(0)


def net(x, params):
    x = F.relu(F.linear(x, params[0], params[1]))
    return F.linear(x, params[2], params[3])


params = [torch.randn(8, 1) * 0.3, torch.zeros(8), torch.randn(1, 8) * 0.3, torch.zeros(1)]
params = [p.requires_grad_() for p in params]
optimizer = torch.optim.Adam(params, lr=1e-2)


@torch.compile(backend="aot_eager")
def get_loss_for_task(x1, y1, x2, y2, alpha):
    def inner_loss(params, x1, y1):
        return ((net(x1, params) - y1) ** 2).mean()

    grads = grad(inner_loss)(tuple(params), x1, y1)
    new_params = [params[i] - alpha * grads[i] for i in range(len(params))]
    return ((net(x2, new_params) - y2) ** 2).mean()


for step in range(5):
    tasks, shots = 4, (10, 10, 5, 8, 5)[step]
    x = torch.linspace(-3, 3, shots).reshape(1, shots, 1).expand(tasks, shots, 1)
    phases = torch.arange(float(tasks)).reshape(tasks, 1, 1)
    y = (x + phases).sin()
    losses = vmap(get_loss_for_task, in_dims=(0, 0, 0, 0, None))(x, y, x, y, 0.1 if step < 4 else 0.05)
    optimizer.zero_grad()
    losses.mean().backward()
    optimizer.step()
    print(f"step {step} shots {shots} loss {losses.mean().item():.5f}")
