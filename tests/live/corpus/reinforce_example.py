"""PyTorch examples, reinforcement_learning/reinforce.py: a policy on episodes of different lengths, its loss compiled too."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.affine2 = nn.Linear(4, 16), nn.Linear(16, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=1)


policy = Policy()
compiled = torch.compile(policy, backend="aot_eager")
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


@torch.compile(backend="aot_eager")
def episode_loss(log_probs, rewards, gamma):
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    return (-torch.stack(log_probs) * returns).sum()


for episode, steps in enumerate((3, 4, 6)):
    for step in range(steps):
        state = torch.full((1, 4), step / 10 + episode)
        probs = compiled(state)
        action = probs.argmax(1)
        policy.saved_log_probs.append(probs.log()[0, action])
        policy.rewards.append(1.0 + step % 3)
    optimizer.zero_grad()
    loss = episode_loss(policy.saved_log_probs, policy.rewards, 0.99)
    loss.backward()
    optimizer.step()
    policy.saved_log_probs, policy.rewards = [], []
    print(f"episode {episode} loss {loss.item():.5f}")
