"""torch.distributions in a compiled policy: actions of several environments, entropy that decays, and validation of arguments."""

import torch
from torch import nn
from torch.distributions import Categorical, Independent, Normal

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, observations=6, actions=3, continuous=False):
        super().__init__()
        self.continuous = continuous
        self.body = nn.Sequential(nn.Linear(observations, 16), nn.Tanh())
        self.head = nn.Linear(16, actions)
        self.log_std = nn.Parameter(torch.zeros(actions))

    def forward(self, x):
        h = self.head(self.body(x))
        if self.continuous:
            return Independent(Normal(h, self.log_std.exp()), 1)
        return Categorical(logits=h)


@torch.compile(backend="aot_eager")
def loss_of(policy, x, action, advantage, entropy_weight):
    distribution = policy(x)
    return -(distribution.log_prob(action) * advantage).mean() - entropy_weight * distribution.entropy().mean()


policies = [Policy(), Policy(continuous=True)]
for episode in range(4):
    for policy in policies:
        steps = 5 + 3 * episode
        x = torch.randn(steps, 6)
        action = torch.randn(steps, 3) if policy.continuous else torch.randint(0, 3, (steps,))
        loss = loss_of(policy, x, action, torch.randn(steps), 0.01 * 0.9**episode)
        loss.backward()
        print(f"episode {episode} {type(policy).__name__} {policy.continuous} {loss.item():.4f}")
