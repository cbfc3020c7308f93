"""The recompile limit is hit while a checkpointed region is computed again: [0/0] in the forward, [0/1] at the limit in the backward.

The region then runs in eager mode, which saves other tensors than the compiled forward did: CheckpointError reaches the caller.
"""

import torch
import torch._logging._internal as logs
from torch.utils.checkpoint import checkpoint

KEPT = ("dynamo_start", "compilation_metrics", "str")


def keep(record):
    """What the trace is made for, and not more: beginnings, reasons and metrics without configurations."""
    said = record.metadata
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if value in (None, [], 0, "") or name.endswith("_config")]:
        if name != "has_guarded_code":
            del metrics[name]
    is_reason = said.get("artifact", {}).get("name") == "recompile_reasons"
    return is_reason or any(name in said for name in KEPT)


logs.trace_log.addFilter(keep)
torch._dynamo.config.recompile_limit = 1


class Block(torch.nn.Module):
    step = 1

    def forward(self, x):
        return ((x.unsqueeze(0) * x.unsqueeze(1)).sin().sum(0) * x.exp()).tanh() * self.step


block = Block()
block.forward = torch.compile(block.forward, backend="aot_eager_decomp_partition", dynamic=False)
y = checkpoint(lambda x: block.forward(x), torch.randn(4, requires_grad=True), use_reentrant=False)
block.step = 2
y.sum().backward()
