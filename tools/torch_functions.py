#!/usr/bin/env python3
"""Collect the names of torch's functions, tensor methods and operators, which `tltui repro` lets into a script.

    torch_functions.py -o src/tltui/analyses/repro/torch_functions.txt

Needs the torch whose names are wanted; names that the file has already are kept, so that it can be run with several of them.
What reads or writes files, takes code, or hands out memory or Python objects is left out: the graph of a trace is a stranger's
text, and what a script calls must be nothing but arithmetic on tensors.
"""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

_DENIED = (
    "from_file save load open frombuffer from_numpy from_dlpack to_dlpack numpy tolist map_ map2_ apply_ data_ptr storage "
    "untyped_storage share_memory_ set_ record_stream module_load backward register_hook reinforce "
    "register_post_accumulate_grad_hook boolean_dispatch handle_torch_function compiled_with_cxx11_abi import_ir_module "
    "set_vital read_vitals assert_int_or_pair has_torch_function has_torch_function_unary has_torch_function_variadic "
    "as_subclass warn format print"
)
DENIED = frozenset(_DENIED.split())
"""Names that are never collected: files, code, memory, Python objects."""


def collected() -> dict[str, set[str]]:
    """Section → the names that the installed torch has."""
    import torch
    import torch._inductor.inductor_prims
    import torch.nn.functional as nn_functional

    def plain(names: object) -> set[str]:
        return {name for name in names if not name.startswith("__")}  # type: ignore[attr-defined]

    own = {
        name
        for name in dir(nn_functional)
        if callable(found := getattr(nn_functional, name))
        and not inspect.isclass(found)
        and (not inspect.isfunction(found) or found.__module__ == "torch.nn.functional")
    }
    functions = plain(dir(torch._C._VariableFunctions)) | set(torch.functional.__all__) | plain(own)
    for module in ("_nn", "_fft", "_linalg", "_special", "_sparse", "_nested"):
        functions |= plain(dir(getattr(torch._C, module)))
    for module in ("fft", "linalg", "special"):
        functions |= {name for name in getattr(getattr(torch, module), "__all__", ()) if name[0].islower()}
    functions |= {name for name in dir(torch) if name.startswith(("sym_", "_sym_", "_check"))}
    methods = plain(name for name in dir(torch.Tensor) if callable(getattr(torch.Tensor, name)))
    methods = {name for name in methods if not name.startswith(("_make", "_view_func", "_rev_view", "_reduce", "_typed", "_fix"))}
    spaces: dict[str, set[str]] = {"aten": set(), "prims": set(), "inductor": set()}
    for operator in torch._C._dispatch_get_all_op_names():
        space, _, name = operator.partition("::")
        if space in spaces:
            spaces[space].add(name.partition(".")[0])
    sections = {"functions": functions, "methods": methods, **spaces}
    return {section: names - DENIED for section, names in sections.items()}


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    output: Path = parser.parse_args().output
    sections = collected()
    for line in output.read_text().splitlines() if output.exists() else ():
        section, _, names = line.partition(": ")
        sections[section] |= set(names.split()) - DENIED
    output.write_text("".join(f"{section}: {' '.join(sorted(names))}\n" for section, names in sections.items()))


if __name__ == "__main__":
    main()
