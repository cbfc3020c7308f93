"""A contrastive loss: two views of a batch, a temperature that is learned or a number, and a queue of negatives that fills up."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def info_nce(a, b, temperature, queue=None):
    a, b = torch.nn.functional.normalize(a), torch.nn.functional.normalize(b)
    scores = a @ b.T
    if queue is not None:
        scores = torch.cat([scores, a @ queue.T], 1)
    return torch.nn.functional.cross_entropy(scores / temperature, torch.arange(len(a)))


learned = torch.nn.Parameter(torch.tensor(0.2))
queue = None
for rows, temperature in ((6, 0.1), (6, 0.1), (6, 0.2), (4, 0.2), (4, learned), (4, learned)):
    a, b = torch.randn(rows, 8), torch.randn(rows, 8)
    print(f"{rows} {float(temperature):.1f} {0 if queue is None else len(queue)}: {info_nce(a, b, temperature, queue).item():.5f}")
    queue = b if queue is None else torch.cat([queue, b])[-12:]
