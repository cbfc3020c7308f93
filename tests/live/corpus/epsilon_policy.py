"""A policy in a loop over episodes: exploration rate as a float that decays, episodes of different lengths in one tensor."""
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, states, epsilon):
        logits = self.body(states)
        probabilities = logits.softmax(-1)
        return (1 - epsilon) * probabilities + epsilon / probabilities.shape[-1]


policy = torch.compile(Policy(), backend="aot_eager")
epsilon = 1.0
for episode in range(6):
    states = torch.ones(5 + 3 * episode, 4)
    print(f"episode {episode} {policy(states, epsilon).sum().item():.4f}")
    epsilon *= 0.9
