"""What compiling kernels took: Triton's by kernel, C++ by file, and the time that compiles waited for workers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from tltui.analyses.records import Reader, address, named, number_in, text_in, whole_in
from tltui.analyses.timing.results import Kernels, KernelTime
from tltui.analyses.timing.spans import record_page
from tltui.analyses.timing.sums import NameSum, Sums
from tltui.model.nodes import Compile
from tltui.trace.grammar import number, parse_json

INFO = "triton_kernel_info"
FILE, WAIT = "compile_file", "async_compile.wait"
KEPT = 200
TUNING = (
    ("triton_compile_time_us", "of compiling kernels or waiting for them, as the metrics state it"),
    ("compile_time_autotune_time_us", "of autotuning at compile time"),
    ("runtime_triton_autotune_time_us", "of autotuning at the first call"),
    ("runtime_cudagraphify_time_us", "of recording CUDA graphs at run time"),
)


def kernels_of(compiles: Sequence[Compile], sums: Sums, single: Compile | None) -> Generator[None, None, Kernels]:
    """The kernels of some compiles; for a single one its metrics are read too."""
    triton: list[KernelTime] = []
    for compile_ in compiles:
        found = _stated(compile_)
        if found:
            triton += found
            yield
    tuning: list[tuple[str, float, str]] = []
    if single is not None:
        tuning, listed = _from_metrics(single)
        triton = triton or listed
    file, files_of = NameSum(0), None
    wait = 0.0
    for process in sums.processes.values():
        for names in (process.names, process.beside):
            if FILE in names:
                if names[FILE].longest > file.longest:
                    files_of = process.process
                file.add(names[FILE])
        if WAIT in process.names:
            wait += process.names[WAIT].total
    triton.sort(key=lambda kernel: -kernel.seconds)
    return Kernels(
        tuple(triton[:KEPT]), sum(kernel.seconds for kernel in triton), file.count, file.work / 1e6,
        max(file.longest, 0.0) / 1e6, record_page(files_of, file.record) if files_of is not None else None,
        wait / 1e6, tuple(tuning),
    )  # fmt: skip


def _stated(compile_: Compile) -> list[KernelTime]:
    """From the artifacts `triton_kernel_info`: `{kernel: {autotune_cache_state, num_configs, compile_time_us}}`."""
    found = []
    reader: Reader | None = None
    for record, name in named(compile_, (INFO,)):
        reader = reader or Reader(compile_.process.log)
        value = reader.json(record)
        ref = address(compile_, record, name)
        for kernel, fields in value.items() if isinstance(value, dict) else ():
            micros = number_in(fields, "compile_time_us")
            if micros is not None:
                cache, configs = text_in(fields, "autotune_cache_state"), whole_in(fields, "num_configs")
                found.append(KernelTime(str(kernel), max(micros, 0.0) / 1e6, ref, cache, configs))
    return found


def _from_metrics(compile_: Compile) -> tuple[list[tuple[str, float, str]], list[KernelTime]]:
    """(what, seconds, address) of tuning, and the kernels that the metrics list."""
    tuning: list[tuple[str, float, str]] = []
    kernels: list[KernelTime] = []
    reader = Reader(compile_.process.log)
    for metrics in compile_.metrics:
        fields = reader.event(metrics.record)
        ref = f"@metrics:{compile_.ref}"
        for key, what in TUNING:
            micros = number_in(fields, key)
            if micros:
                tuning.append((what, micros / 1e6, ref))
        kernels += _listed(fields, ref)
    return tuning, kernels


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
