"""Reinforcement learning: episodes of several lengths, a discount that is annealed, and a bootstrap value or none."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def advantages(rewards, values, discount, last=None):
    following = torch.zeros(1) if last is None else last
    deltas = rewards + discount * torch.cat([values[1:], following]) - values
    weights = discount ** torch.arange(rewards.shape[0])
    return (deltas * weights).flip(0).cumsum(0).flip(0)


for episode, (steps, ended) in enumerate(((6, True), (11, True), (8, False), (8, True), (15, False))):
    discount = 0.9 + 0.02 * episode
    result = advantages(torch.rand(steps), torch.randn(steps), discount, None if ended else torch.randn(1))
    print(f"episode {episode}: {result.mean().item():.5f}")
