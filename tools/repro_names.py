#!/usr/bin/env python3
"""Make the list of names that a script of `tltui repro` may call: src/tltui/writers/repro/allowed_names.py.

    repro_names.py TRACE...             write the module (names of earlier versions stay if they still pass the rules)
    repro_names.py --print TRACE...     print the names that would be new, and those that would go

Needs torch. A name is allowed if a graph of the traces calls it, or if torch documents it as a function on tensors. A name is
never allowed if it takes or returns an address, a storage, a file, code or a process, if it changes the state of the process, or if
it skips a bounds check: see `DENIED`, and `repro_faults.txt`, whose names `repro_probe.py` finds by calls with wrong arguments.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src" / "tltui" / "writers" / "repro" / "allowed_names.py"
FAULTS = Path(__file__).with_name("repro_faults.txt")
MODULES = ("torch.nn.functional", "torch._C._nn", "torch.linalg", "torch.fft", "torch.special", "torch.functional", "torch")
sys.path.insert(0, str(ROOT / "src"))

DENIED = re.compile(
    # addresses, storages, memory of other owners, sizes behind torch's back
    r"data_ptr|blob|unsafe|reinterpret|alloc_from_pool|storage|set_|resize|as_strided|buffer|share_memory|is_shared|record_stream|"
    r"pin_memory|is_pinned|set_data|^data$|^view_of_dtype$|^copy_strided$|^copy_to$|"
    # files, code, Python objects, callables
    r"from_file|^save|^load|compile|import|parse|fork|wait|hook|numpy|dlpack|tolist|map|apply|module_load|as_subclass|asarray|"
    r"dispatch|^Optional$|get_group|^tree_|lobpcg|torch_function|typename|type_list|type_from|reinforce|^cond$|^while_loop$|backward|retain_grad|^warn|format|print|"
    # state of the process
    r"seed|rng_state|generator|deterministic|_threads|default|precision|flush_denormal|^(?:is|set)_.*_enabled|device_module|abi$|"
    r"vital|docstr|debug|test_|"
    # layouts whose invariants nobody checks: sparse, nested, quantized, those of libraries
    r"sparse|cs[rc]|bs[rc]|coalesce|nested|jagged|padded|quantiz|^q_|qscheme|int_repr|fake_quant|mkl|fbgemm|cudnn|miopen|onednn|"
    r"vulkan|hspmm|sspaddmm|^smm$|^(?:c?col|crow|row)_indices|^indices|^values|^to_dense|(?:dense|sparse)_dim|"
    # indices, offsets, pivots or saved values that are used without a check, in the kernel or in Inductor's lowering of it
    r"embedding_bag|embedding_renorm|max_unpool|fractional_max_pool|segment_reduce|ctc_loss|masked_scatter|lu_unpack|lu_solve|"
    r"ldl_solve|col2im|^upsample_|grid_sampler|grouped_mm|scaled_mm|linear_cross_entropy|^native_|_cell$|slow_conv|thnn|"
    r"flash_attention|with_offsets|offsets_to|_helper$|_foreach|_out$|cufft|cuda_|"
    # distributed tensors, names of dimensions
    r"dtensor|dist_|^is_owner|rename|names|align_"
)
"""Parts of names that are refused even if a trace has them."""
_SAFE = "storage_offset sym_storage_offset gru_cell threshold_backward inductor_lookup_seed inductor_random inductor_randint"
SAFE = frozenset((*_SAFE.split(), "inductor_seed", "inductor_seeds"))
"""Names that `DENIED` matches and that graphs need: a number, and kernels that check. What has a checked form is in no list."""
_LOWERED = (
    "alias clamp_max clamp_min constant_pad_nd convolution copy fill hardswish_ hardsigmoid_ im2col lift_fresh "
    "lift_fresh_copy reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d "
    "rsub scalar_tensor silu_ slice split_with_sizes sym_numel sym_size sym_stride dropout_ log_sigmoid gelu_ mish_ relu6_ "
    "clamp_max_ clamp_min_ sym_constrain_range sym_constrain_range_for_size frobenius_norm linalg_vector_norm pad_sequence "
    "cross_entropy_loss zero _softmax _log_softmax _to_copy _local_scalar_dense _assert_scalar _assert_tensor_metadata"
)
LOWERED = frozenset(_LOWERED.split())
"""Public operators that torch does not document, but lowers documented functions to, and the private ones that most graphs have."""
_PRIMS = (
    "device_put empty empty_permuted empty_strided svd item fft_c2c fft_c2r fft_r2c normal uniform "
    "inductor_force_stride_order inductor_reduction_rng inductor_rand_eager_offset inductor_rand_eager_offsets"
)
UNNEEDED_PRIMS = frozenset(_PRIMS.split())
"""Operators of `prims` that graphs do not need."""
_PYTHON = "_check _check_is_size _check_index sym_float sym_int sym_ite sym_max sym_min sym_not sym_sum unravel_index unique"
PYTHON = frozenset(_PYTHON.split())
"""Functions of the module `torch` that are written in Python."""


def denied(name: str) -> bool:
    """Return whether no graph may call a name."""
    return name not in SAFE and bool(DENIED.search(name))


def faulty() -> frozenset[str]:
    """Return the operators that access memory outside of their tensors when their arguments do not match."""
    lines = FAULTS.read_text("ascii").splitlines()
    return frozenset(line.split()[0] for line in lines if line and not line.startswith("#"))


def in_traces(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Collect the names that graphs call: section → names."""
    from tltui.model.artifacts import artifacts_of
    from tltui.model.follow import open_run
    from tltui.model.node_answers import reader_of
    from tltui.model.run import in_order
    from tltui.sources.discover import discover
    from tltui.writers.repro.checking import Refused, parsed
    from tltui.writers.repro.script import WORTH

    names: dict[str, set[str]] = {"FUNCTIONS": set(), "METHODS": set(), "ATEN": set(), "PRIMS": set(), "OVERLOADS": set()}
    texts = set()
    for path in paths:
        for compile_ in in_order(open_run(discover([str(path)]))):
            texts |= {reader_of(each.owner).text(each.record, 16 << 20) for each in artifacts_of(compile_) if each.name in WORTH}
    for text in texts:
        try:
            tree = parsed(text)
        except Refused:
            continue
        for section, name in _called(tree):
            names[section].add(name)
    return names


def _called(tree: ast.Module) -> Iterator[tuple[str, str]]:
    from tltui.writers.repro.checking import dotted

    forwards = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "forward")
    for call in (node for forward in forwards for node in ast.walk(forward) if isinstance(node, ast.Call)):
        path = dotted(call.func)
        module, _, name = path.rpartition(".")
        if path.startswith("torch.ops."):
            space, name, *overload = path.split(".")[2:]
            if space in ("aten", "prims"):
                yield space.upper(), name
                yield from (("OVERLOADS", each) for each in overload)
        elif module in MODULES:
            yield "FUNCTIONS", name
        elif isinstance(call.func, ast.Attribute) and not path.startswith(("torch.", "self.", "operator.", "math.", "reader.")):
            yield "METHODS", call.func.attr


def in_torch() -> dict[str, set[str]]:
    """Collect the names that torch documents, and the operators behind them: section → names."""
    import torch
    import torch._inductor.inductor_prims
    from torch.nn import functional

    functions = set(PYTHON)
    for module in (torch, functional, torch.functional, torch.linalg, torch.fft, torch.special):
        functions |= _documented(module)
    methods = _documented(torch.Tensor)
    schemas = torch._C._jit_get_all_schemas()
    operators = {schema.name.removeprefix("aten::") for schema in schemas if schema.name.startswith("aten::")}
    spelled = {f"{module}_{name}" for module in ("linalg", "fft", "special") for name in _documented(getattr(torch, module))}
    aten = operators & (functions | methods | spelled | LOWERED)
    registered = (name.partition("::") for name in torch._C._dispatch_get_all_op_names())
    prims = {name.partition(".")[0] for space, _, name in registered if space == "prims" and not name.startswith("_")}
    return {"FUNCTIONS": functions, "METHODS": methods, "ATEN": aten, "PRIMS": prims - UNNEEDED_PRIMS}


def overloads(operators: set[str]) -> set[str]:
    """Collect the overloads of the dispatcher that write into no argument, except the first one of an operator in place."""
    import torch

    registered = set(torch._C._dispatch_get_all_op_names())
    names = {"default"}
    for schema in torch._C._jit_get_all_schemas():
        writes = any(each.alias_info is not None and each.alias_info.is_write for each in schema.arguments)
        is_known = f"{schema.name}.{schema.overload_name}" in registered
        if schema.name in operators and is_known and (not writes or schema.name.endswith("_")):
            names.add(schema.overload_name)
    return names


def _documented(owner: object) -> set[str]:
    names = (name for name in dir(owner) if not name.startswith("_"))
    values = ((name, getattr(owner, name)) for name in names)
    return {name for name, value in values if callable(value) and not inspect.isclass(value) and (value.__doc__ or "").strip()}


def collected(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Collect all names that are allowed: section → names in order."""
    called, public, faults = in_traces(paths), in_torch(), faulty()
    allowed = {
        section: sorted(name for name in names | called[section] if allows(name, faults)) for section, names in public.items()
    }
    operators = {f"{space.lower()}::{name}" for space in ("ATEN", "PRIMS") for name in allowed[space]}
    return {**allowed, "OVERLOADS": sorted(called["OVERLOADS"] | overloads(operators))}


def allows(name: str, faults: frozenset[str]) -> bool:
    """Return whether the rules allow a name."""
    return not denied(name) and name not in faults and not name.startswith("__")


def module_of(sections: dict[str, list[str]]) -> str:
    """Write the names as a Python module."""
    lines = ['"""Names that a graph may call. Made by tools/repro_names.py: do not edit."""']
    for section, names in sections.items():
        rows = textwrap.wrap(" ".join(names), 124, break_long_words=False, break_on_hyphens=False)
        lines += ["", f"_{section} = (", *(f'    "{row} "' for row in rows), ")", f"{section} = frozenset(_{section}.split())"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the module, or print what would change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, nargs="+", metavar="TRACE", help="a log, or a directory with logs")
    parser.add_argument("--print", action="store_true", dest="only_print")
    options = parser.parse_args()
    sections = collected(options.traces)
    if not options.only_print:
        TARGET.write_text(module_of(sections), "ascii")
        return
    from tltui.writers.repro import allowed_names

    for section, names in sections.items():
        before = getattr(allowed_names, section)
        print(f"{section} new:", *sorted(set(names) - before))
        print(f"{section} gone:", *sorted(before - set(names)))


if __name__ == "__main__":
    main()
