"""functorch examples, ensembling/parallel_train.py: several models trained at once with vmap and functional_call."""
import torch
from torch import nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

torch.manual_seed(0)
models = [nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2)) for _ in range(3)]
params, buffers = stack_module_state(models)
params = {name: value.detach() for name, value in params.items()}
base = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2)).to("meta")


def train_step(params, batch, targets, lr):
    def compute_loss(params):
        output = functional_call(base, params, (batch,))
        return nn.functional.cross_entropy(output, targets)

    grads, loss = grad_and_value(compute_loss)(params)
    return loss, {name: params[name] - lr * grads[name] for name in params}


step_all = torch.compile(vmap(train_step, in_dims=(0, None, None, None)), backend="aot_eager")
for epoch, size in enumerate((12, 12, 7, 20)):
    points = torch.linspace(-1, 1, size * 2).reshape(size, 2)
    losses, params = step_all(params, points, (points[:, 0] > 0).long(), 0.2 / (epoch + 1))
    print(f"epoch {epoch} losses {losses.sum().item():.5f} weights {sum(p.abs().sum() for p in params.values()).item():.4f}")
