"""Rows are selected by a boolean mask in the program; the compiled update gets as many as there are, sometimes one or none."""
import torch

torch.manual_seed(0)
weight = torch.randn(5, 5)


@torch.compile(backend="aot_eager")
def update(rows, targets):
    return (rows + 0.1 * (targets - rows @ weight)).tanh()


state, goal = torch.randn(12, 5), torch.randn(12, 5)
for threshold in (-0.5, 0.0, 0.5, 1.2, 5.0, 0.2):
    chosen = state[:, 0] > threshold
    state[chosen] = update(state[chosen], goal[chosen])
    print(f"{threshold}: {chosen.sum().item()} rows, {state.sum().item():.5f}")
