"""tensordict: a rollout in a tensorclass with optional fields; returns are computed by a compiled function, in chunks."""
from __future__ import annotations

import torch
from tensordict import tensorclass
from torch import nn

torch.manual_seed(0)


@tensorclass
class Step:
    observation: torch.Tensor
    reward: torch.Tensor
    done: torch.Tensor
    weight: torch.Tensor | None = None


critic = nn.Linear(4, 1)


@torch.compile(backend="aot_eager")
def advantages(steps, gamma, horizon):
    values = critic(steps.observation).squeeze(-1)
    returns = steps.reward.clone()
    for _ in range(horizon):
        following = torch.cat([returns[1:], returns[-1:] * 0])
        returns = steps.reward + gamma * following * (~steps.done)
    error = returns - values
    if steps.weight is not None:
        error = error * steps.weight
    return error


def rollout(length, weighted=False):
    return Step(
        observation=torch.linspace(-1, 1, length * 4).reshape(length, 4), reward=torch.ones(length),
        done=torch.arange(length) % 5 == 4, weight=torch.full((length,), 0.5) if weighted else None, batch_size=[length],
    )


for number, (length, gamma, horizon) in enumerate(((8, 0.9, 2), (12, 0.9, 2), (10, 0.95, 2), (10, 0.97, 3), (6, 0.99, 3))):
    print(f"{number} {advantages(rollout(length), gamma, horizon).square().mean().item():.4f}")
print(f"weighted {advantages(rollout(9, True), 0.99, 3).square().mean().item():.4f}")
