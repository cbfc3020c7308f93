"""TensorDict: a value loss over transitions of several batch sizes, the compiled function reads keys."""
import torch
from tensordict import TensorDict

torch.manual_seed(0)
value = torch.nn.Linear(3, 1)


@torch.compile(backend="aot_eager")
def td_loss(batch):
    with torch.no_grad():
        target = batch["reward"] + 0.9 * value(batch["next", "state"]) * (1 - batch["done"])
    return (value(batch["state"]) - target).square().mean()


for size in (8, 8, 6, 3, 10):
    states = torch.linspace(-1, 1, size * 3).reshape(size, 3)
    data = {"state": states, "reward": states.sum(1, keepdim=True), "done": torch.zeros(size, 1), "next": {"state": states * 0.5}}
    loss = td_loss(TensorDict(data, batch_size=[size]))
    loss.backward()
    print(f"{size}: {loss.item():.5f}")
