"""A replay memory as a list that grows, sampled batches of several sizes, and a target that is copied every few steps."""
import torch

torch.manual_seed(0)
online, target = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)


@torch.compile(backend="aot_eager")
def loss_of(states, rewards, following, gamma, final=None):
    value = online(states).max(1).values
    later = target(following).max(1).values.detach()
    if final is not None:
        later = later * ~final
    return torch.nn.functional.smooth_l1_loss(value, rewards + gamma * later)


memory = []
for step in range(8):
    memory += [(torch.randn(4), torch.rand(()), torch.randn(4), step % 3 == 0) for _ in range(2)]
    batch = memory[-min(len(memory), 6):]
    states, rewards, following = (torch.stack(column) for column in list(zip(*batch, strict=True))[:3])
    final = torch.tensor([each[3] for each in batch]) if step % 2 else None
    loss = loss_of(states, rewards, following, 0.9 if step < 5 else 0.95, final)
    loss.backward()
    if step % 4 == 3:
        target.load_state_dict(online.state_dict())
    print(f"{step}: {loss.item():.5f}")
