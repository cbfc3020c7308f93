"""Features of a time series over windows whose sizes are arguments, by keyword, with a default."""
import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def features(series, window=5, *, stride=1, normalize=False):
    parts = series.unfold(-1, window, stride)
    result = torch.cat([parts.mean(-1), parts.amax(-1)], -1)
    return (result - result.mean()) if normalize else result


series = torch.arange(40.0).repeat(2, 1)
for window, stride, normalize in ((5, 1, False), (7, 1, False), (7, 2, False), (9, 3, True), (5, 1, True)):
    print(f"{window} {stride} {features(series, window, stride=stride, normalize=normalize).sum().item():.3f}")
