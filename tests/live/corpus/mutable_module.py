"""A module whose attributes are set from outside: an int, a float, a bool, a string and None."""
import torch

torch.manual_seed(0)


class Pool(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.window, self.temperature, self.normalize, self.kind, self.limit = 2, 1.0, False, "mean", None

    def forward(self, x):
        parts = x.unfold(1, self.window, self.window) / self.temperature
        y = parts.mean(-1) if self.kind == "mean" else parts.logsumexp(-1)
        if self.limit is not None:
            y = y.clamp(max=self.limit)
        return torch.nn.functional.normalize(y) if self.normalize else y


module = Pool()
pool = torch.compile(module, backend="aot_eager")
x = torch.randn(3, 12)
for name, value in (("window", 3), ("window", 4), ("temperature", 0.5), ("temperature", 0.25), ("normalize", True), ("kind", "max"),
                    ("limit", 0.5), ("limit", 0.75), ("window", 6)):
    setattr(module, name, value)
    print(f"{name} {value}: {pool(x).sum().item():.5f}")
