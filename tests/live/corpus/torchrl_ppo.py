"""TorchRL, tutorials/sphinx-tutorials/coding_ppo.py: GAE and the clipped PPO loss, compiled, over minibatches."""
import torch
from tensordict import TensorDict
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.modules import ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

torch.manual_seed(0)
actor_net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2), NormalParamExtractor())
actor = TensorDictModule(actor_net, in_keys=["observation"], out_keys=["loc", "scale"])
policy = ProbabilisticActor(actor, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True)
value = ValueOperator(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), in_keys=["observation"])
advantage = GAE(gamma=0.99, lmbda=0.95, value_network=value, average_gae=True)
loss_module = ClipPPOLoss(actor_network=policy, critic_network=value, entropy_bonus=False)
optimizer = torch.optim.Adam(loss_module.parameters(), 3e-3)


@torch.compile(backend="aot_eager")
def update(batch):
    losses = loss_module(batch)
    return losses["loss_objective"] + losses["loss_critic"]


for frames in (12, 12, 20):
    observation = torch.linspace(-1, 1, frames * 3).reshape(1, frames, 3)
    done = torch.zeros(1, frames, 1, dtype=torch.bool)
    following = {"observation": observation.flip(1), "reward": torch.ones(1, frames, 1), "done": done, "terminated": done}
    data = TensorDict({"observation": observation, "action": torch.full((1, frames, 1), 0.1), "next": following,
                       "action_log_prob": torch.full((1, frames), -0.5), "done": done, "terminated": done}, [1, frames])
    with torch.no_grad():
        advantage(data)
    for start in range(0, frames, 8):
        loss = update(data.reshape(-1)[start : start + 8])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"frames {frames} start {start} loss {loss.item():.4f}")
