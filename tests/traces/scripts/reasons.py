"""Recompiles for as many reasons as torch has words for: each function below is compiled again for one."""

import functools
import json

import torch
import torch._dynamo.config as config
import torch._dynamo.utils as utils
import torch._logging._internal as logs

SETTINGS = ("recompile_limit", "accumulated_recompile_limit", "automatic_dynamic_shapes", "assume_static_by_default",
            "allow_unspec_int_on_nn_module", "force_parameter_static_shapes", "specialize_float")  # fmt: skip
utils._get_dynamo_config_for_logging = lambda: json.dumps({name: getattr(config, name) for name in SETTINGS})


def keep(record):
    """What the trace is made for, and not more: of the timing events only the instants, of the metrics what is set and no
    other configuration, no framework stacks. (A whole log of these compiles has 4 MB.)"""
    said = record.metadata
    if "chromium_event" in said:
        return '"ph": "i"' in record.payload
    if "compilation_metrics" in said:
        metrics = said["compilation_metrics"]
        for name in [name for name, value in metrics.items() if value in (None, [], 0, "", False) or name.endswith("_config")]:
            if name != "dynamo_config":
                del metrics[name]
    for event in ("create_symbol", "guard_added_fast", "symbolic_shape_specialization"):
        if event in said:
            said[event].pop("stack", None)
    return not any(name in said for name in ("describe_storage", "dynamo_error"))


logs.trace_log.addFilter(keep)

compiled = functools.partial(torch.compile, backend="eager")
LIMIT = 4
FACTOR = 2


def report(fn, *calls):
    for args in calls:
        try:
            fn(*args)
        except Exception as error:  # some of them are meant to fail
            print(fn, type(error).__name__, str(error)[:200])


@compiled
def size(x):
    return x.sin()


report(size, [torch.randn(3)], [torch.randn(5)])


@functools.partial(compiled, dynamic=False)
def sizes(x):
    return x.cos()


report(sizes, *([torch.randn(2, n)] for n in (3, 4, 5, 6)))


@compiled
def stride(x):
    return x + 1


report(stride, [torch.randn(4, 6)], [torch.randn(6, 4).t()])


@compiled
def kind(x):
    return x * 2


report(kind, [torch.randn(4)], [torch.randn(4, 4)], [torch.randn(4).double()], [torch.randn(4, device="meta")],
       [torch.randn(4, requires_grad=True)], [torch.randn(4, dtype=torch.cfloat).conj()],
       [torch.nn.Parameter(torch.randn(4))])  # fmt: skip


@compiled
def number(x, n):
    return x * n


report(number, [torch.ones(2), 7], [torch.ones(2), 9], [torch.ones(2), 1], [torch.ones(2), 1.5], [torch.ones(2), 2.5],
       [torch.ones(2), True])  # fmt: skip


@compiled
def flag(x, up):
    return x + 1 if up else x - 1


report(flag, [torch.ones(2), True], [torch.ones(2), False])


@compiled
def mode(x, name):
    return x + 1 if name == "train" else x - 1


report(mode, [torch.ones(2), "train"], [torch.ones(2), "eval"])


@compiled
def listed(x, items):
    return x + len(items) + items[0]


report(listed, [torch.ones(2), [1, 2]], [torch.ones(2), [1, 2, 3]], [torch.ones(2), (1, 2)])


@compiled
def keyed(x, options):
    return x * options["scale"] if "scale" in options else x + options["shift"]


report(keyed, [torch.ones(2), {"scale": 2.0}], [torch.ones(2), {"shift": 3.0}])


class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
        self.scale = 0.5

    def forward(self, x):
        return (x + self.index) * self.scale if self.training else x - self.index


@compiled
def layer(module, x):
    return module(x)


report(layer, *([Layer(n), torch.ones(2)] for n in (3, 4)), [Layer(3).eval(), torch.ones(2)])


def double(x):
    return x * 2


def triple(x):
    return x * 3


@compiled
def apply(fn, x):
    return fn(x)


report(apply, [double, torch.ones(2)], [triple, torch.ones(2)])


@compiled
def in_state(x):
    return x.sin()


report(in_state, [torch.ones(2)])
with torch.no_grad():
    report(in_state, [torch.ones(2)])
with torch.autocast("cpu"):
    report(in_state, [torch.ones(2)])
threads = torch.get_num_threads()
torch.set_num_threads(threads + 1)
report(in_state, [torch.ones(2)])
torch.set_num_threads(threads)


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@compiled
def in_mode(x):
    return x.tan()


report(in_mode, [torch.ones(2)])
with Mode():
    report(in_mode, [torch.ones(2)])


@compiled
def of_global(x):
    return x * FACTOR


report(of_global, [torch.ones(2)])
FACTOR = 5
report(of_global, [torch.ones(2)])


def make(scale, other):
    @compiled
    def closed(x):
        return other(x) * scale

    def change(value, fn):
        nonlocal scale, other
        scale, other = value, fn

    return closed, change


closed, change = make(3, double)
report(closed, [torch.ones(2)])
change(4, double)
report(closed, [torch.ones(2)])
change(4, triple)
report(closed, [torch.ones(2)])


@compiled
def twice(x, y):
    return x.add_(1) + y


one = torch.ones(2)
report(twice, [torch.ones(2), torch.ones(2)], [one, one], [torch.ones(2), torch.ones(2)])


@functools.partial(compiled, dynamic=True)
def equal(x, y):
    if x.shape[0] == y.shape[0]:
        return x.sum() + y.sum()
    return x.sum()


report(equal, [torch.ones(4), torch.ones(4)], [torch.ones(4), torch.ones(5)])


@functools.partial(compiled, dynamic=True)
def small_size(x):
    return x + 1 if x.shape[0] < 9 else x - 1


report(small_size, [torch.ones(4)], [torch.ones(12)], [torch.ones(1)])


class Options:
    pass


@compiled
def optional(x, options):
    return x * options.scale if hasattr(options, "scale") else x + 1


plain, scaled = Options(), Options()
scaled.scale = 3
report(optional, [torch.ones(2), plain], [torch.ones(2), scaled])


def twice_compiled(x):
    return x + 3


def backend_a(gm, inputs):
    return gm.forward


def backend_b(gm, inputs):
    return gm.forward


report(torch.compile(twice_compiled, backend=backend_a), [torch.ones(2)])
report(torch.compile(twice_compiled, backend=backend_b), [torch.ones(2)])


with config.patch(recompile_limit=LIMIT):

    @compiled
    def stormy(x, name):
        return x + len(name)

    report(stormy, *([torch.ones(2), f"request {n}"] for n in range(LIMIT + 2)))
