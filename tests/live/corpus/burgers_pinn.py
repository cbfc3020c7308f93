"""torch.func: a physics-informed network for Burgers' equation; derivatives by vmap of grad, new points, less viscosity."""
import torch
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def u(params, t, x):
    return functional_call(net, params, (torch.stack([t, x]),)).squeeze()


def residual(params, t, x, viscosity):
    u_t = grad(u, argnums=1)(params, t, x)
    u_x = grad(u, argnums=2)(params, t, x)
    u_xx = grad(grad(u, argnums=2), argnums=2)(params, t, x)
    return u_t + u(params, t, x) * u_x - viscosity * u_xx


@torch.compile(backend="aot_eager")
def loss_of(params, inside, start, viscosity, weight=1.0):
    physics = vmap(residual, (None, 0, 0, None))(params, inside[:, 0], inside[:, 1], viscosity).square().mean()
    initial = vmap(u, (None, 0, 0))(params, start[:, 0], start[:, 1]) + torch.sin(torch.pi * start[:, 1])
    return physics + weight * initial.square().mean()


optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
viscosity = 0.1
for epoch, (points, border) in enumerate(((64, 16), (64, 16), (96, 16), (128, 32))):
    inside = torch.rand(points, 2)
    start = torch.stack([torch.zeros(border), torch.linspace(-1, 1, border)], 1)
    loss = loss_of(dict(net.named_parameters()), inside, start, viscosity, weight=1.0 if epoch < 3 else 2.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    viscosity = max(0.01, viscosity / 2)
    print(f"epoch {epoch}: {loss.item():.4f}")
