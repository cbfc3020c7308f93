"""A hook names the step of a recompilation: [0/0] at step 0, [0/1] at step 3 (another dtype), [0/2] at step 7 (requires_grad)."""

import torch
import torch._logging._internal as logs


def keep(record):
    """What the trace is made for, and not more: beginnings, reasons and metrics without configurations."""
    said = record.metadata
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if value in (None, [], 0, "") or name.endswith("_config")]:
        if name != "has_guarded_code":
            del metrics[name]
    is_reason = said.get("artifact", {}).get("name") == "recompile_reasons"
    return is_reason or any(name in said for name in ("dynamo_start", "compilation_metrics", "str"))


logs.trace_log.addFilter(keep)
step = 0
torch._dynamo.register_hook_for_recompile_user_context(lambda: f"step {step} of warm-up")


@torch.compile(backend="eager")
def scale(x):
    return x * 2


for step in range(9):
    scale(torch.ones(3, dtype=torch.float64 if step == 3 else torch.float32, requires_grad=step == 7))
