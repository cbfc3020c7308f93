"""torch: a compiled step that gets its activation from a factory; the number is in the closure, and dynamic=False is set."""

import torch


def leaky(slope):
    return lambda hidden: torch.where(hidden > 0, hidden, hidden * slope)


@torch.compile(backend="aot_eager", dynamic=False)
def step(hidden, activation):
    return activation(hidden).sum()


torch.manual_seed(0)
hidden = torch.randn(8, 4)
for divisor in (10, 20, 40):
    print(f"divisor {divisor}: {step(hidden, leaky(1 / divisor)).item():.4f}")
for power in (2, 3, 5):
    print(f"power {power}: {step(hidden, lambda h, power=power: h**2 + power).item():.4f}")
for shift in (2, 3, 5):
    print(f"shift {shift}: {step(hidden, (lambda s: lambda h: h * s)(shift)).item():.4f}")
