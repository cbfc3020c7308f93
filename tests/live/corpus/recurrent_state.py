"""An agent whose state is None in the first step, a dict of tensors afterwards, and reset after each episode."""
import torch
from torch import nn

torch.manual_seed(0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(4, 6), nn.Linear(6, 2)

    def forward(self, observation, state=None):
        hidden = observation.new_zeros(observation.shape[0], 6) if state is None else state["hidden"]
        steps = 0 if state is None else state["steps"]
        hidden = self.cell(observation, hidden)
        return self.head(hidden), {"hidden": hidden, "steps": steps + 1}


agent = torch.compile(Agent(), backend="aot_eager")
for episode, length in enumerate((4, 3)):
    state = None
    for _ in range(length):
        action, state = agent(torch.ones(2, 4), state)
    print(f"{episode} {action.sum().item():.4f} {state['steps']}")
