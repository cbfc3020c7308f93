"""An exponential mean of weights in a dict: two models, a decay that warms up, and buffers of ints that are copied."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def blended(mean, weights, decay):
    return {name: torch.lerp(weights[name], value, decay) if value.is_floating_point() else weights[name]
            for name, value in mean.items()}


models = {"dense": torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(6, 2)),
          "conv": torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4))}
means = {name: {key: value.clone() for key, value in model.state_dict().items()} for name, model in models.items()}
for step in range(3):
    for name, model in models.items():
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1
        means[name] = blended(means[name], {**model.state_dict()}, min(0.9, (1 + step) / (10 + step)))
        print(f"{step} {name}: {sum(value.sum().item() for value in means[name].values()):.5f}")
