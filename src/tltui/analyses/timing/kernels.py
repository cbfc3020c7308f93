"""What compiling kernels took: Triton's by kernel, C++ by file, and the time that compiles waited for workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tltui.analyses.parts import part
from tltui.analyses.records import Reader, addresses, named, number_in, text_in, whole_in
from tltui.analyses.timing.results import Kernels, KernelTime, Tuning
from tltui.analyses.timing.spans import record_page
from tltui.analyses.timing.sums import NameSum
from tltui.model.nodes import Compile, Process
from tltui.trace.grammar import number, parse_json

INFO = "triton_kernel_info"
FILE, WAIT = "compile_file", "async_compile.wait"
KEPT = 200
Names = dict[str, NameSum]
TUNING = (
    ("triton_compile_time_us", "of compiling kernels or waiting for them, as the metrics state it"),
    ("compile_time_autotune_time_us", "of autotuning at compile time"),
    ("runtime_triton_autotune_time_us", "of autotuning at the first call"),
    ("runtime_cudagraphify_time_us", "of recording CUDA graphs at run time"),
)


def kernels_of(
    triton: list[KernelTime], processes: Iterable[tuple[Process, Names, Names]], single: Compile | None
) -> Kernels:
    """The kernels of some compiles, from what their artifacts state and from the sums of the events of each process (its own,
    and those of threads beside it); of a single compile its metrics are read too."""
    tuning: tuple[Tuning, ...] = ()
    if single is not None:
        tuning, listed = _from_metrics(single)
        triton = triton or list(listed)
    file, files_of = NameSum(0), None
    wait = 0.0
    for process, names, beside in processes:
        for found in (names, beside):
            if FILE in found:
                if found[FILE].longest > file.longest:
                    files_of = process
                file.add(found[FILE])
        if WAIT in names:
            wait += names[WAIT].total
    triton = sorted(triton, key=lambda kernel: -kernel.seconds)
    return Kernels(
        tuple(triton[:KEPT]), sum(kernel.seconds for kernel in triton), file.count, file.work / 1e6,
        max(file.longest, 0.0) / 1e6, record_page(files_of, file.record) if files_of is not None else None,
        wait / 1e6, tuning,
    )  # fmt: skip


def stated_by(compile_: Compile, reader: Reader) -> list[KernelTime]:
    """From the artifacts `triton_kernel_info`: `{kernel: {autotune_cache_state, num_configs, compile_time_us}}`."""
    found: list[KernelTime] = []
    refs: dict[int, str] = {}
    for record, name in named(compile_, (INFO,)):
        refs = refs or addresses(compile_, (INFO,))
        value = reader.json(record)
        ref = refs.get(record, f"{compile_.ref}:{name}")
        for kernel, fields in value.items() if isinstance(value, dict) else ():
            micros = number_in(fields, "compile_time_us")
            if micros is not None:
                cache, configs = text_in(fields, "autotune_cache_state"), whole_in(fields, "num_configs")
                found.append(KernelTime(str(kernel), max(micros, 0.0) / 1e6, ref, cache, configs))
    return found


@part
def _from_metrics(compile_: Compile, reader: Reader) -> tuple[tuple[Tuning, ...], tuple[KernelTime, ...]]:
    """Tuning, and the kernels that the metrics list."""
    tuning: list[Tuning] = []
    kernels: list[KernelTime] = []
    for metrics in compile_.metrics:
        fields = reader.event(metrics.record)
        ref = f"@metrics:{compile_.ref}"
        for key, what in TUNING:
            micros = number_in(fields, key)
            if micros:
                tuning.append(Tuning(what, micros / 1e6, ref))
        kernels += _listed(fields, ref)
    return tuple(tuning), tuple(kernels)


def _listed(fields: dict[str, Any], ref: str) -> list[KernelTime]:
    """`triton_kernel_compile_times_us`: a JSON string of `[[kernel, microseconds], …]`."""
    text = text_in(fields, "triton_kernel_compile_times_us")
    try:
        value = parse_json(text.encode("utf-8", "surrogatepass")) if text else None
    except ValueError:
        return []
    found = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and (micros := number(item[1])) is not None:
            found.append(KernelTime(item[0], max(micros, 0.0) / 1e6, ref))
    return found
