"""A search whose state is a tuple of tensors of several lengths: sequences, scores and a list of finished hypotheses."""
import torch

torch.manual_seed(0)
table = torch.randn(7, 7).log_softmax(-1)


@torch.compile(backend="aot_eager")
def advance(state, finished, width):
    sequences, scores = state
    following = scores[:, None] + table[sequences[:, -1]]
    best, index = following.flatten().topk(width)
    sequences = torch.cat([sequences[index // 7], (index % 7)[:, None]], 1)
    return (sequences, best), best.amax() - sum(hypothesis.sum() for hypothesis in finished)


state, finished = (torch.zeros(1, 1, dtype=torch.long), torch.zeros(1)), []
for step, width in enumerate((3, 3, 3, 4, 4)):
    state, margin = advance(state, finished, width)
    if step % 2:
        finished = [*finished, state[1][:2]]
    print(f"{step}: {margin.item():.5f}")
