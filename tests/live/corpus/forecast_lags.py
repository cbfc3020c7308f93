"""A forecast from a dict of series: a tuple of lags, a horizon, and covariates; one of them is missing at times."""
import torch

torch.manual_seed(0)
weight = torch.randn(8)


@torch.compile(backend="aot_eager")
def forecast(batch, lags, horizon):
    target = batch["target"]
    columns = [target[:, -lag - horizon:-lag] for lag in lags]
    columns += [batch[name][:, -horizon:] for name in sorted(batch) if name != "target"]
    return sum(w * column for w, column in zip(weight, columns, strict=False)).mean(0)


def batch(rows, length, *names):
    return {name: torch.randn(rows, length) for name in ("target", *names)}


for rows, length, names, lags, horizon in (
    (4, 30, ("price",), (1, 7), 5), (6, 30, ("price",), (1, 7), 5), (6, 40, ("price",), (1, 7), 5),
    (6, 40, ("price", "holiday"), (1, 7), 5), (6, 40, ("price",), (1, 2, 7), 5), (6, 40, ("price",), (1, 7), 8),
    (6, 40, ("price",), (1, 14), 10),
):
    print(f"{rows} x {length} {names} {lags} {horizon}: {forecast(batch(rows, length, *names), lags, horizon).sum().item():.5f}")
