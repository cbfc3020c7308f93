"""TD3 in one compiled update: the policy is updated in every second step, the noise decays, batches of two buffers."""
import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critics = nn.ModuleList(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2))
target = [p.detach().clone() for p in critics.parameters()]
optimizers = [torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critics.parameters(), 1e-3)]


@torch.compile(backend="aot_eager")
def losses(batch, noise, step, policy_delay=2, clip=0.5):
    state, action, reward = batch["state"], batch["action"], batch["reward"]
    smoothed = (actor(state) + (torch.ones_like(action) * noise).clamp(-clip, clip)).clamp(-1, 1)
    with torch.no_grad():
        value = torch.min(*(critic(torch.cat([state, smoothed], -1)) for critic in critics))
        goal = reward + 0.99 * value
    critic_loss = sum((critic(torch.cat([state, action], -1)) - goal).square().mean() for critic in critics)
    actor_loss = None
    if step % policy_delay == 0:
        actor_loss = -critics[0](torch.cat([state, actor(state)], -1)).mean()
    return critic_loss, actor_loss


noise = 0.4
for step in range(6):
    size = 16 if step < 4 else 32
    batch = {"state": torch.linspace(-1, 1, size * 3).reshape(size, 3), "action": torch.linspace(-1, 1, size)[:, None],
             "reward": torch.linspace(0, 1, size)[:, None]}
    critic_loss, actor_loss = losses(batch, noise, step)
    (critic_loss if actor_loss is None else critic_loss + actor_loss).backward()
    optimizers[1].step()
    if actor_loss is not None:
        optimizers[0].zero_grad()
    optimizers[1].zero_grad()
    noise *= 0.8
    print(f"step {step}: {critic_loss.item():.4f} {0.0 if actor_loss is None else actor_loss.item():.4f}")
