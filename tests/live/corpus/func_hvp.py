"""torch.func: Hessian-vector products with jvp over grad and functional_call, a conjugate gradient step, batches of two sizes."""
import torch
from torch.func import functional_call, grad, jvp, vmap

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
params = {name: value.detach() for name, value in model.named_parameters()}


def loss_of(params, x, y, weight_decay=0.0):
    error = (functional_call(model, params, (x,)) - y).square().mean()
    return error + weight_decay * sum(value.square().sum() for value in params.values())


@torch.compile(backend="aot_eager")
def hvp(params, vector, x, y, damping):
    product = jvp(lambda p: grad(loss_of)(p, x, y), (params,), (vector,))[1]
    return {name: product[name] + damping * vector[name] for name in product}


@torch.compile(backend="aot_eager")
def losses_along(params, direction, x, y, steps):
    def at(step):
        return loss_of({name: params[name] - step * direction[name] for name in params}, x, y)
    return vmap(at)(steps)


def dot(a, b):
    return sum((a[name] * b[name]).sum() for name in a)


def solve(params, gradient, x, y, damping, iterations):
    solution = {name: torch.zeros_like(value) for name, value in gradient.items()}
    residual = direction = gradient
    for _ in range(iterations):
        curved = hvp(params, direction, x, y, damping)
        rate = dot(residual, residual) / dot(direction, curved)
        solution = {name: solution[name] + rate * direction[name] for name in solution}
        new = {name: residual[name] - rate * curved[name] for name in residual}
        ratio = dot(new, new) / dot(residual, residual)
        direction = {name: new[name] + ratio * direction[name] for name in new}
        residual = new
    return solution


damping = 1.0
for epoch, size in enumerate((16, 16, 10, 7)):
    x = torch.linspace(-1, 1, size * 4).reshape(size, 4)
    y = x.sin().sum(1, keepdim=True)
    step = solve(params, grad(loss_of)(params, x, y), x, y, damping, 2)
    rates = torch.linspace(0, 1, 5 if epoch < 3 else 9)
    line = losses_along(params, step, x, y, rates)
    best = line.argmin()
    params = {name: params[name] - rates[best] * step[name] for name in params}
    damping = damping * 0.5 if best > 0 else damping * 2
    print(f"epoch {epoch}: {line.min().item():.5f} damping {damping}")
