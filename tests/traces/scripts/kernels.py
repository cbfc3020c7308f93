"""One program, compiled with one setting changed: what becomes of its kernels.  kernels.py [VARIANT]

`base` is the default; a second run with the same TORCHINDUCTOR_CACHE_DIR is `warm`. Of the configurations the trace has only the
settings that a variant changes. INDUCTOR_PROVENANCE=1.

* `unfused`: max_fusion_size = 1, so the loops of `normalized` are apart, in one kernel. `apart`: each of these loops is a kernel
  too (Inductor joins loops in a kernel of the CPU up to a number of arguments). `scalar`: cpp.simdlen = 1, other code of the same kernels.
* `renamed`: `sums` is called `totals`, and its two statements have changed places. `dynamic`: dynamic=True.
* `tuned`: max_autotune with freezing and templates alone, so the matrix product of `linear` is a template in C++ with its epilogue.
  `tuned_apart`: the same with epilogue_fusion = False.
"""

import json
import sys

import torch
import torch._inductor.config as inductor
import torch._logging._internal as logs
from torch._inductor.codegen.cpp import CppScheduling

SETTINGS = ("max_fusion_size", "cpp.simdlen", "max_autotune", "max_autotune_gemm_backends", "freezing", "epilogue_fusion")
LEFT_OUT = ("chromium_event", "describe_storage", "describe_tensor", "describe_source")
ARTIFACTS_LEFT_OUT = ("fx_graph_runnable", "_pre_grad_graph", "before_post_grad_graph", "joint", "aot_forward", "runtime_wrapper", "config", "_cache_")


def keep(record):
    """A trace with graphs, code, mappings and guards; of the configurations only the changed settings."""
    said = record.metadata
    for event in ("compilation_metrics", "bwd_compilation_metrics"):
        metrics = said.get(event, {})
        for key in [key for key, value in metrics.items() if value in (None, [], 0, "", False) or key.endswith(("_config", "_provenance"))]:
            config = json.loads(metrics[key]) if key == "inductor_config" else {}
            del metrics[key]
            if config:
                metrics[key] = json.dumps({name: config[name] for name in SETTINGS})
    name = (said.get("artifact") or {}).get("name", "")
    return not any(key in said for key in LEFT_OUT) and not any(part in name for part in ARTIFACTS_LEFT_OUT)


logs.trace_log.addFilter(keep)
torch.set_num_threads(1)
torch.manual_seed(0)
variant = sys.argv[1] if len(sys.argv) > 1 else "base"


def normalized(x, bias):
    h = torch.nn.functional.gelu(x + bias)
    return torch.softmax(h, -1)


def sums(a, b):
    left = torch.tanh(a) * 3
    right = torch.exp(b).sum(-1)
    return left, right


def totals(a, b):
    right = torch.exp(b).sum(-1)
    left = torch.tanh(a) * 3
    return left, right


def linear(x):
    return layer(x).relu()


inductor.max_fusion_size = 1 if variant in ("unfused", "apart") else inductor.max_fusion_size
CppScheduling.MAX_FUSED_KERNEL_ARGS_NUM = 1 if variant == "apart" else CppScheduling.MAX_FUSED_KERNEL_ARGS_NUM
inductor.cpp.simdlen = 1 if variant == "scalar" else inductor.cpp.simdlen
if variant.startswith("tuned"):
    inductor.max_autotune = inductor.freezing = True
    inductor.max_autotune_gemm_backends = "CPP"
    inductor.epilogue_fusion = variant == "tuned"
layer = torch.nn.Linear(64, 32, bias=False)
programs = {
    "normalized": (normalized, torch.randn(128, 96), torch.randn(96)),
    "sums": (totals if variant == "renamed" else sums, torch.randn(40, 24), torch.randn(48, 16)),
    "linear": (linear, torch.randn(128, 64)),
}
if variant.startswith("tuned"):
    programs = {"linear": programs["linear"]}
with torch.no_grad():
    for function, *inputs in programs.values():
        torch.compile(function, dynamic=True if variant == "dynamic" else None)(*inputs)
