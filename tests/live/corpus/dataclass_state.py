"""A dataclass as the state of a loop, with a counter and an optional tensor."""
import dataclasses

import torch


@dataclasses.dataclass
class State:
    x: torch.Tensor
    step: int = 0
    mask: torch.Tensor | None = None


@torch.compile(backend="aot_eager")
def advance(state):
    x = state.x + state.step
    if state.mask is not None:
        x = x * state.mask
    return State(x, state.step + 1, state.mask)


state = State(torch.ones(4))
for n in range(6):
    if n == 3:
        state.mask = torch.zeros(4)
    state = advance(state)
    print(f"step {state.step}: {state.x.sum().item():.3f}")
