"""Programs that are compiled again for several causes at once; torch names the first failed guard only.

The trace has what the guard table needs: guards, reasons, symbols and a few metrics.
"""

import hashlib
import json
import time

import torch
import torch._dynamo.config as config
import torch._dynamo.utils as utils
import torch._logging._internal as logs

SETTINGS = ("recompile_limit", "automatic_dynamic_shapes", "allow_unspec_int_on_nn_module", "specialize_float")
utils._get_dynamo_config_for_logging = lambda: json.dumps({name: getattr(config, name) for name in SETTINGS})
KINDS = ("str", "dynamo_start", "compilation_metrics", "dynamo_cpp_guards_str", "create_symbol", "symbolic_shape_specialization",
         "artifact", "chromium_event")  # fmt: skip
METRICS = ("dynamo_config", "compile_id", "co_name", "co_filename", "co_firstlineno", "cache_size", "entire_frame_compile_time_s",
           "start_time", "fail_type", "fail_reason", "pytorch_version", "is_forward", "frame_key")  # fmt: skip


def keep(record):
    said = record.metadata
    if not any(kind in said for kind in KINDS) or said.get("artifact", {}).get("name", "recompile_reasons") != "recompile_reasons":
        return False
    if "chromium_event" in said:
        return '"ph": "i"' in record.payload
    metrics = said.get("compilation_metrics", {})
    for name in [name for name, value in metrics.items() if name not in METRICS or value is None]:
        del metrics[name]
    for event in ("create_symbol", "symbolic_shape_specialization", "dynamo_start"):
        if event in said:
            said[event].pop("stack", None)
    if "dynamo_cpp_guards_str" in said:
        record.payload = "\n".join(line for line in record.payload.split("\n") if "_indices') == False" not in line)
        said["has_payload"] = hashlib.md5(record.payload.encode()).hexdigest()
    return True


logs.trace_log.addFilter(keep)
compiled = torch.compile(backend="eager")
x = torch.ones(2, 4)


class Layer(torch.nn.Module):
    def __init__(self, i):
        super().__init__()
        self.i = i
        self.p = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.p(x) * self.i


def layer_index():
    """Each layer has another index; only the first gets an input without gradient."""
    y = x
    for i in range(6):
        layer = Layer(i)
        layer.compile(backend="eager")
        y = layer(y)


def gradients():
    """The gradient is the only cause of the first, the size of the second; then both and a dtype."""

    @compiled
    def several(x, n):
        return x * n

    several(torch.ones(2, 4), 2)
    several(torch.ones(2, 4, requires_grad=True), 2)
    several(torch.ones(3, 4, requires_grad=True), 2)
    with torch.no_grad():
        several(torch.ones(3, 4), 2)
    several(torch.ones(3, 4, requires_grad=True), 5)
    several(torch.ones(3, 4, dtype=torch.float64), 7)


def keys():
    @compiled
    def dictionary(d, x):
        for name in d:
            x = x + d[name]
        return x

    for names, n in (("a", 2), ("ab", 2), ("abc", 2), ("abcd", 5)):
        dictionary({name: torch.ones(n, 4) for name in names}, torch.ones(n, 4))


def closures():
    def multiply(k):
        return lambda x: x * k

    for k in range(5):
        torch.compile(multiply(k), backend="eager", dynamic=False)(x)


def wrappers():
    """Three modules that share torch's wrapper."""
    modules = [torch.nn.Embedding(10, 4), torch.nn.Linear(4, 4), torch.nn.LayerNorm(4)]
    one, two, three = (torch.compile(module, backend="eager") for module in modules)
    for n in (2, 3, 4):
        three(two(one(torch.arange(n))))


def failures():
    """The second call is wrong."""

    @compiled
    def product(x, y):
        return x @ y

    product(torch.ones(3, 4), torch.ones(4, 5))
    try:
        product(torch.ones(3, 4), torch.ones(5, 5))
    except Exception:
        pass


class Cache:
    def __init__(self):
        self.layers = []


class Attention(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.layer_idx = index
        self.p = torch.nn.Linear(4, 4)

    def forward(self, x, cache):
        y = self.p(x)
        if len(cache.layers) <= self.layer_idx:
            cache.layers.append(y)
        else:
            cache.layers[self.layer_idx] = torch.cat([cache.layers[self.layer_idx], y])
        return y


def caches():
    """A layer index hides behind the length of a cache; the limit is reached."""
    layers, cache = [Attention(i) for i in range(4)], Cache()
    for layer in layers:
        layer.compile(backend="eager")
    for _ in range(3):
        y = torch.ones(2, 4)
        for layer in layers:
            y = layer(y, cache)


def clocks():
    @compiled
    def clock(x):
        started = time.time()
        torch._dynamo.graph_break()
        return x + started

    for _ in range(2):
        clock(x)
        time.sleep(0.01)


def modes():
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    @compiled
    def in_a_mode(x):
        return x * 2

    in_a_mode(torch.ones(3))
    with Mode():
        in_a_mode(torch.ones(3))
    in_a_mode(torch.ones(4))


for program in (layer_index, gradients, keys, closures, wrappers, failures, caches, clocks, modes):
    torch.manual_seed(0)
    program()
