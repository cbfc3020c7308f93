"""tensordict: an actor and a value network as TensorDictModules, compiled one by one."""
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule

torch.manual_seed(0)
actor = torch.compile(TensorDictModule(torch.nn.Linear(4, 2), in_keys=["observation"], out_keys=["action"]), backend="aot_eager")
value = torch.compile(TensorDictModule(torch.nn.Linear(4, 1), in_keys=["observation"], out_keys=["value"]), backend="aot_eager")
for batch in (3, 3, 5, 8):
    data = TensorDict({"observation": torch.ones(batch, 4)}, [batch])
    if batch == 5:
        data["extra"] = torch.zeros(batch, 1)
    print(f"batch {batch}: {actor(data)['action'].mean().item():.5f} {value(data)['value'].mean().item():.5f}")
