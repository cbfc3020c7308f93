"""A beam search with Python lists, a list that grows, and a penalty per length."""
import torch

torch.manual_seed(0)
table = torch.randn(12, 12)


@torch.compile(backend="aot_eager")
def scores(history, last, penalty):
    logits = table[last] / penalty
    for tokens in history:
        logits = logits - torch.nn.functional.one_hot(tokens, 12) * 0.5
    return logits.log_softmax(-1)


history, last = [], torch.tensor([0, 1, 2])
for step in range(6):
    out = scores(history, last, 1.0 + 0.1 * step)
    last = out.argmax(-1)
    history.append(last)
    if len(history) > 3:
        history.pop(0)
    print(f"step {step} best {out.max().item():.5f} tokens {last.sum().item()}")
