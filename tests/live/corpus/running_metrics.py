"""Metrics that are accumulated over batches: counters of ints and floats, predictions as bools, ints or probabilities."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def update(state, predicted, target, threshold=0.5):
    guess = predicted > threshold if predicted.is_floating_point() else predicted.bool()
    right, positive = (guess == target).sum(), guess.float().mean()
    return {"right": state["right"] + right, "count": state["count"] + target.numel(), "positive": state["positive"] + positive}


state = {"right": torch.tensor(0), "count": 0, "positive": torch.tensor(0.0)}
for rows, kind in ((8, torch.float32), (8, torch.float32), (5, torch.float32), (8, torch.float64), (8, torch.int64),
                   (3, torch.int64), (1, torch.bool)):
    predicted = torch.rand(rows).to(kind) if kind.is_floating_point else torch.randint(0, 2, (rows,)).to(kind)
    state = update(state, predicted, torch.randint(0, 2, (rows,)).bool(), 0.5 if rows > 4 else 0.25)
    print(f"{rows} {kind}: {state['right'].item()} of {state['count']}, {state['positive'].item():.5f}")
