"""A frozen dataclass as the plan of a small network: sizes, a tuple of flags, a nested plan; plans are compared by value."""
import dataclasses

import torch

torch.manual_seed(0)


@dataclasses.dataclass(frozen=True)
class Noise:
    scale: float
    seed: int


@dataclasses.dataclass(frozen=True)
class Plan:
    heads: int
    flags: tuple[bool, ...]
    noise: Noise | None = None


@torch.compile(backend="aot_eager")
def run(x, plan):
    y = x.unflatten(-1, (plan.heads, -1)).softmax(-1)
    for flag in plan.flags:
        y = y.relu() - 0.1 if flag else y * 2
    y = y.flatten(-2)
    return y if plan.noise is None else y + plan.noise.scale * x.roll(plan.noise.seed, -1)


x = torch.randn(3, 12)
for plan in (Plan(2, (True, False)), Plan(3, (True, False)), Plan(4, (True, False)), Plan(4, (True, True, False)),
             Plan(4, (True, False), Noise(0.1, 3)), Plan(4, (True, False), Noise(0.2, 3)), Plan(6, (True, False), Noise(0.2, 4))):
    print(f"{plan}: {run(x, plan).sum().item():.5f}")
