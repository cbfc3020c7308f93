"""A dataclass of options as an argument: flags, widths and a mode."""
import dataclasses

import torch


@dataclasses.dataclass
class Options:
    scale: float = 1.0
    window: int = 3
    causal: bool = False
    mode: str = "mean"


@torch.compile(backend="aot_eager")
def smooth(x, options):
    pad = (options.window - 1, 0) if options.causal else ((options.window - 1) // 2, options.window // 2)
    parts = torch.nn.functional.pad(x, pad).unfold(-1, options.window, 1)
    y = parts.mean(-1) if options.mode == "mean" else parts.amax(-1)
    return y * options.scale


x = torch.linspace(0, 1, 24).reshape(2, 12)
for changes in ({}, {"window": 5}, {"window": 7}, {"causal": True, "window": 7}, {"mode": "max"}, {"scale": 0.5}, {"scale": 0.25}):
    print(f"{changes}: {smooth(x, dataclasses.replace(Options(), **changes)).sum().item():.5f}")
