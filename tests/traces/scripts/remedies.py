"""The programs of the live proofs (`tests/live/programs/remedies.py`) as they are, each compiled again for one cause.

What the trace is not made for is left out: timing events but the instants, graphs and code, configurations and metrics that do not
matter here, framework stacks, descriptions of tensors, the guards on marks that no tensor has.
"""

import hashlib
import json
import runpy
import sys
from pathlib import Path

import torch
import torch._dynamo.config as config
import torch._dynamo.utils as utils
import torch._logging._internal as logs

SETTINGS = ("recompile_limit", "automatic_dynamic_shapes", "allow_unspec_int_on_nn_module", "force_parameter_static_shapes",
            "force_nn_module_property_static_shapes", "specialize_float")  # fmt: skip
utils._get_dynamo_config_for_logging = lambda: json.dumps({name: getattr(config, name) for name in SETTINGS})
KINDS = ("str", "dynamo_start", "compilation_metrics", "dynamo_cpp_guards_str", "create_symbol", "symbolic_shape_specialization",
         "guard_added_fast", "chromium_event", "artifact")  # fmt: skip
METRICS = (
    "dynamo_config", "compile_id", "co_name", "co_filename", "co_firstlineno", "cache_size", "accumulated_cache_size", "guard_count",
    "graph_op_count", "entire_frame_compile_time_s", "duration_us", "start_time", "start_time_us", "end_time_us", "fail_type",
    "fail_reason", "pytorch_version", "is_forward", "frame_key",
)  # fmt: skip


def keep(record):
    said = record.metadata
    if not any(kind in said for kind in KINDS) or said.get("artifact", {}).get("name", "recompile_reasons") != "recompile_reasons":
        return False
    if "chromium_event" in said:
        return '"ph": "i"' in record.payload
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if name not in METRICS or value is None]:
        del metrics[name]
    for event in ("create_symbol", "guard_added_fast", "symbolic_shape_specialization"):
        if event in said:
            said[event].pop("stack", None)
    if "dynamo_cpp_guards_str" in said:
        record.payload = "\n".join(line for line in record.payload.split("\n") if "_indices') == False" not in line)
        said["has_payload"] = hashlib.md5(record.payload.encode()).hexdigest()
    return True


logs.trace_log.addFilter(keep)
sys.argv = ["remedies.py", "before"]
runpy.run_path(str(Path(__file__).parents[2] / "live" / "programs" / "remedies.py"), run_name="__main__")
