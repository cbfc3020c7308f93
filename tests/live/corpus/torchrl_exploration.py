"""TorchRL: a ProbabilisticActor, explored at random while collecting and deterministic in evaluation; SAC-like critic update."""
import torch
from tensordict import TensorDict
from tensordict.nn import InteractionType, TensorDictModule, set_interaction_type
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal, ValueOperator

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2), NormalParamExtractor())
policy = ProbabilisticActor(
    TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]), in_keys=["loc", "scale"],
    distribution_class=TanhNormal, distribution_kwargs={"low": -1.0, "high": 1.0}, return_log_prob=True)
critic = ValueOperator(torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)),
                       in_keys=["observation_action"], out_keys=["q"])
act = torch.compile(policy, backend="aot_eager")
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=1e-3)


@torch.compile(backend="aot_eager")
def update(batch, alpha):
    td = policy(batch.select("observation"))
    td["observation_action"] = torch.cat([td["observation"], td["action"]], -1)
    value = critic(td)["q"]
    return (alpha * td["action_log_prob"].unsqueeze(-1) - value).mean()


alpha = 0.2
for episode, (envs, size) in enumerate(((4, 16), (4, 16), (8, 24))):
    observation = torch.linspace(-1, 1, envs * 3).reshape(envs, 3)
    with torch.no_grad(), set_interaction_type(InteractionType.RANDOM):
        torch.manual_seed(episode)
        for _ in range(2):
            action = act(TensorDict({"observation": observation}, [envs]))["action"]
            observation = observation + 0.1 * action
    loss = update(TensorDict({"observation": torch.linspace(-1, 1, size * 3).reshape(size, 3)}, [size]), alpha)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    alpha *= 0.9
    with torch.no_grad(), set_interaction_type(InteractionType.DETERMINISTIC):
        best = act(TensorDict({"observation": observation[:1]}, [1]))["action"]
    print(f"episode {episode}: {loss.item():.3f}, action {best.mean().item():.3f}")
