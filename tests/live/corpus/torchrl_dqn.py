"""TorchRL, tutorials/sphinx-tutorials/coding_dqn.py: DQN loss with a target network; loss and policy compiled."""
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.data import OneHot
from torchrl.modules import QValueModule
from torchrl.objectives import DQNLoss, SoftUpdate

torch.manual_seed(0)
layers = nn.Sequential(nn.Linear(4, 16), nn.ELU(), nn.Linear(16, 3))
net = TensorDictModule(layers, in_keys=["observation"], out_keys=["action_value"])
policy = TensorDictSequential(net, QValueModule(spec=OneHot(3), action_space="one_hot"))
loss_module = DQNLoss(policy, action_space="one_hot", delay_value=True)
loss_module.make_value_estimator(gamma=0.9)
updater = SoftUpdate(loss_module, eps=0.9)
optimizer = torch.optim.Adam(loss_module.parameters(), lr=1e-2)
act, loss_of = torch.compile(policy, backend="aot_eager"), torch.compile(loss_module, backend="aot_eager")
for step, batch in enumerate((6, 6, 4, 10)):
    with torch.no_grad():
        actions = act(TensorDict({"observation": torch.linspace(0, 1, batch * 4).reshape(batch, 4)}, [batch]))["action"]
    done = torch.zeros(batch, 1, dtype=torch.bool)
    following = TensorDict({"observation": torch.ones(batch, 4), "reward": torch.ones(batch, 1), "done": done,
                            "terminated": done.clone()}, [batch])
    data = TensorDict({"observation": torch.ones(batch, 4), "action": actions, "next": following}, [batch])
    loss = loss_of(data)["loss"]
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    updater.step()
    print(f"step {step} loss {loss.item():.5f} actions {actions.float().mean().item():.4f}")
