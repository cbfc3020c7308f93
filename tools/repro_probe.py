#!/usr/bin/env python3
"""Call torch's operators with arguments that do not match, and report those that touch memory outside of their tensors.

    cc -O2 -shared -fPIC -o /tmp/fence.so tools/repro_fence.c
    repro_probe.py collect SAMPLES                                            valid calls, from torch's own OpInfo
    LD_PRELOAD=/tmp/fence.so repro_probe.py call SAMPLES FENCE SEED SECONDS   of all operators that scripts may call
    … call SAMPLES FENCE SEED SECONDS --all                                   of all operators that have a sample

Prints a JSON line for each fault: what happened (`fence`: a read or write next to a tensor; `wild`, `null`, `signal N`, `slow`),
the operator, the arguments. The names belong into repro_faults.txt. Needs torch, numpy and expecttest; Linux, glibc.
"""

from __future__ import annotations

import argparse
import ctypes
import io
import json
import os
import random
import select
import struct
import sys
import time
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

REPRO = Path(__file__).resolve().parents[1] / "src" / "tltui" / "analyses" / "repro"
ENDS = {101: "null", 102: "fence", 103: "wild", 110: "out of addresses"}
NUMBERS = (0, -1, 1, 2, 3, 5, 64, 1000, -1000, 10**6, -(10**6), 2**31 - 1, 2**31, 2**40, -(2**40), 2**62, -(2**63), 2**63 - 1)
REALS = (float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.0, 1e10, -1.0, 0.5)
TEXTS = ("sum", "mean", "none", "max", "amax", "linear", "bilinear", "reflect", "constant", "", "prod", "trunc", "floor")
_TYPES = "float32 float64 int64 int32 bool uint8 float16 bfloat16 complex64"
TYPES = tuple(getattr(torch, name) for name in _TYPES.split())
FORMS = {
    "checked_attention": "_scaled_dot_product_flash_attention_for_cpu",
    "checked_attention_backward": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "checked_as_strided": "as_strided",
    "checked_convolution_backward": "convolution_backward",
}
"""Function of script_helpers.txt → the operator whose samples it is called with."""
SAMPLES_EACH, LARGEST, CALLS_EACH = 14, 20_000, 400
Samples = dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]]


class Recording(TorchDispatchMode):
    """Keeps the arguments of each operator that is called."""

    def __init__(self) -> None:
        super().__init__()
        self.samples: Samples = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.keep(str(func), args, kwargs or {})
        return func(*args, **(kwargs or {}))

    def keep(self, name: str, args: Any, kwargs: Any) -> None:
        """Record a call of small, dense tensors."""
        calls = self.samples.setdefault(name, [])
        tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
        if len(calls) < SAMPLES_EACH and all(each.layout == torch.strided and each.numel() <= LARGEST for each in tensors):
            calls.append(tree_map(lambda each: each.detach().clone() if isinstance(each, torch.Tensor) else each, (args, kwargs)))


def collect(target: Path) -> None:
    """Write the arguments of all operators that torch's own samples call, forward and backward."""
    from torch.testing._internal.common_methods_invocations import op_db

    mode = Recording()
    for operator in op_db:
        for dtype in (torch.float32, torch.int64, torch.complex64):
            gradient = dtype == torch.float32 and operator.supports_autograd
            with suppress(Exception):
                for sample in list(operator.sample_inputs("cpu", dtype, requires_grad=gradient))[:40]:
                    args = (sample.input, *sample.args)
                    with suppress(Exception), mode:
                        results = tree_flatten(operator.op(*args, **sample.kwargs))[0]
                        inputs = [each for each in tree_flatten((args, sample.kwargs))[0] if getattr(each, "requires_grad", False)]
                        ends = [each.sum() for each in results if getattr(each, "requires_grad", False)]
                        torch.autograd.grad(ends, inputs, allow_unused=True)
    samples = {name: [each for each in calls if _is_saved(each)] for name, calls in mode.samples.items()}
    torch.save({name: calls for name, calls in samples.items() if calls}, target)


def _is_saved(given: Any) -> bool:
    """Return whether a call can be written to a file: some hold modules or functions."""
    try:
        torch.save(given, io.BytesIO())
    except Exception:
        return False
    return True


def changed_tensor(chance: random.Random, tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of another shape, type or content."""
    if tensor.dim() and tensor.numel():
        dim = chance.randrange(tensor.dim())
        repeats = [1] * tensor.dim()
        repeats[dim] = chance.choice((2, 16, 200))
        shapes = (
            lambda: tensor.narrow(dim, 0, tensor.size(dim) // 2).clone(), lambda: tensor.narrow(dim, 0, 1).clone(),
            lambda: tensor.repeat(repeats), lambda: tensor.reshape(-1)[: chance.choice((0, 1, 2, 4))],
            lambda: tensor.select(dim, 0).clone(), lambda: tensor.transpose(0, -1), lambda: tensor.unsqueeze(dim),
            lambda: tensor.expand(64, *tensor.shape),
            lambda: tensor.new_zeros([chance.choice((0, 1, 3, 7, 64)) for _ in range(chance.randrange(5))]),
            lambda: tensor.to(chance.choice(TYPES)),
        )  # fmt: skip
        if chance.random() < 0.75:
            return chance.choice(shapes)()
    filled = tensor.clone()
    if filled.dtype == torch.bool:  # any byte, as uninitialized memory has it
        return torch.randint(0, 256, filled.shape, dtype=torch.uint8).view(torch.bool)
    value: Any = chance.choice(REALS)
    if not filled.is_floating_point() and not filled.is_complex():
        limits = torch.iinfo(filled.dtype)
        value = max(limits.min, min(limits.max, chance.choice((*NUMBERS, filled.numel()))))
    if chance.random() < 0.5 or not filled.numel():
        return filled.fill_(value)
    filled.view(-1)[chance.randrange(filled.numel())] = value
    return filled


def changed(chance: random.Random, leaf: Any) -> Any:
    """Return an argument of the same kind, or none."""
    if isinstance(leaf, torch.Tensor):
        return changed_tensor(chance, leaf) if chance.random() < 0.95 else None
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return chance.choice(NUMBERS) if chance.random() < 0.7 else leaf + chance.choice((-2, -1, 1, 2, 8))
    if isinstance(leaf, (float, str)):
        return chance.choice(REALS if isinstance(leaf, float) else TEXTS)
    if isinstance(leaf, torch.dtype):
        return chance.choice(TYPES)
    return chance.choice((None, 0, 2**40, torch.zeros(3), torch.zeros(4, dtype=torch.int64))) if leaf is None else leaf


class Caller:
    """The calls of one seed: call number N is the same each time."""

    def __init__(self, samples: Samples, seed: int, every: bool) -> None:
        self.samples, self.seed = samples, seed
        sys.path.insert(0, str(REPRO.parents[2]))
        from tltui.writers.repro.checking import refusal

        helpers: dict[str, Any] = {"torch": torch, "FLOATS": TYPES[:2]}
        exec((REPRO / "script_helpers.txt").read_text("ascii"), helpers)
        operators = [name for name in samples if name.startswith(("aten.", "prims."))]
        self.functions = {name: _operator(name) for name in operators if every or not refusal(f"torch.ops.{name}")}
        for name, operator in FORMS.items():
            self.functions[name] = helpers[name]
            self.samples[name] = self.samples[f"aten.{operator}.default"]
        self.names = sorted(self.functions)

    def call(self, number: int) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """Return the name and the arguments of a call."""
        chance = random.Random(self.seed * 10**9 + number)
        torch.manual_seed(number)
        name = chance.choice(self.names)
        leaves, spec = tree_flatten(chance.choice(self.samples[name]))
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
            if leaves:
                place = chance.randrange(len(leaves))
                leaves[place] = changed(chance, leaves[place])
        args, kwargs = tree_unflatten(leaves, spec)
        return name, args, kwargs

    def run(self, fence: Any, from_start: bool, first: int, pipe: int) -> None:
        """Make some calls with the fence, each number written to a pipe first."""
        for number in range(first, first + CALLS_EACH):
            os.write(pipe, struct.pack("q", number))
            with suppress(Exception):
                name, *given = self.call(number)
                fence.fence_on(int(from_start))
                with suppress(BaseException), torch.no_grad():  # made again, between the pages of the fence
                    args, kwargs = tree_map(lambda each: each.clone() if isinstance(each, torch.Tensor) else each, tuple(given))
                    self.functions[name](*args, **kwargs)
            fence.fence_off()


def _operator(name: str) -> Any:
    space, operator, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), operator), overload)


def call(options: argparse.Namespace) -> None:
    """Make calls until the time is over; a process for some hundred of them."""
    caller = Caller(torch.load(options.samples, weights_only=False), options.seed, options.all)
    fence = ctypes.CDLL(os.path.abspath(options.fence))
    faults: Counter[str] = Counter()
    number, end = 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            with open(os.devnull, "w") as null, redirect_stdout(null), redirect_stderr(null):
                caller.run(fence, options.seed % 2 == 1, number, writing)
            os._exit(0)
        os.close(writing)
        last, why = _last(reading, child, number)
        if why:
            name, args, kwargs = caller.call(last)
            print(json.dumps([why, name, f"{_plain(args)} {_plain(kwargs)}"[:700]]), flush=True)
            faults[name] += 1
            if faults[name] == 4:
                caller.names.remove(name)
        number = last + 1
    print(json.dumps(["done", f"{number} calls of {len(caller.names)} operators"]))


def _last(reading: int, child: int, number: int) -> tuple[int, str]:
    """Return the last call that a process began, and why the process ended; '' after all calls."""
    why = ""
    while True:
        if not select.select([reading], [], [], 8)[0]:
            os.kill(child, 9)
            why = "slow"
            break
        data = os.read(reading, 8)
        if not data:
            break
        (number,) = struct.unpack("q", data)
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return number, why or f"signal {os.WTERMSIG(status)}"
    code = os.WEXITSTATUS(status)
    return number, why or (ENDS.get(code, f"exit code {code}") if code else "")


def _plain(given: Any) -> str:
    return str(tree_map(lambda each: f"{list(each.shape)} {each.dtype}" if isinstance(each, torch.Tensor) else each, given))


def main() -> None:
    """Collect samples, or call with them."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("collect").add_argument("samples", type=Path)
    calling = commands.add_parser("call")
    calling.add_argument("samples", type=Path)
    calling.add_argument("fence")
    calling.add_argument("seed", type=int, help="an odd one fences the beginnings of tensors, an even one their ends")
    calling.add_argument("seconds", type=float)
    calling.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if options.command == "collect":
        collect(options.samples)
    else:
        call(options)


if __name__ == "__main__":
    main()
