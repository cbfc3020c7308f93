"""The files of torch-spyre of a compile, each with the kernel that it is of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tltui.analyses.parts import parsed, part
from tltui.analyses.records import Reader
from tltui.analyses.sdsc.kernels import Dealt, dealt, kernel_of_directory, kernels_in
from tltui.analyses.sdsc.parse import Sdsc, parse_sdsc
from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of
from tltui.model.nodes import Compile

NAME = re.compile(r"sdsc(?:_(\d{1,9}))?\Z")
LIMIT = 16 << 20
"""Stored bytes of a file, or of generated code, that are read."""
parse = parsed(parse_sdsc)


@dataclass(frozen=True, slots=True)
class SpyreFile:
    """A file of torch-spyre."""

    ref: str
    record: int
    op: str
    """'' where it cannot be read."""
    of: Dealt | None
    """The kernel that it is of; None where nothing tells."""
    code: str
    """The address of the code that the kernel is defined in; '' where that is not here."""


def is_sdsc(artifact: Artifact) -> bool:
    """Whether an artifact is a file of torch-spyre."""
    return NAME.match(artifact.name) is not None and artifact.log.kind(artifact.record).encoding == "json"


def sdsc_of(compile_: Compile, record: int) -> Sdsc:
    """What a file says. Raises OSError."""
    payload = compile_.process.log.payload(record)
    return parse(compile_, b"" if payload is None else payload.read())


@part
def files_of(compile_: Compile, reader: Reader) -> tuple[SpyreFile, ...]:
    """The files of a compile in order. Reads them, and the generated code of their units."""
    artifacts = artifacts_of(compile_)
    files = [artifact for artifact in artifacts if is_sdsc(artifact)]
    found: list[SpyreFile] = []
    for unit in dict.fromkeys(artifact.unit for artifact in files):
        own = [artifact for artifact in files if artifact.unit == unit]
        ops = [(_number(artifact), _op(compile_, artifact)) for artifact in own]
        code = next((a for a in artifacts if a.name == OUTPUT_CODE and a.unit == unit), None)
        places, ref = _places(compile_, reader, code, ops), "" if code is None else str(code.ref)
        found += [
            SpyreFile(str(artifact.ref), artifact.record, op, places.get(number), ref)
            for artifact, (number, op) in zip(own, ops, strict=True)
        ]  # fmt: skip
    return tuple(found)


def files_by_kernel(compile_: Compile, others: Iterable[Compile]) -> dict[str, tuple[SpyreFile, ...]]:
    """Kernel → its files: of the compile itself, else those of a cache that is open too (`others`: all compiles of the run)."""
    found: dict[str, list[SpyreFile]] = {}
    for file in files_of(compile_):
        if file.of is not None:
            found.setdefault(file.of.kernel, []).append(file)
    if not found:
        for other in others:
            if other is not compile_ and (kernel := kernel_of_directory(other.id.name)):
                found.setdefault(kernel, []).extend(files_of(other))
    return {kernel: tuple(files) for kernel, files in found.items()}


def _number(artifact: Artifact) -> int:
    match = NAME.match(artifact.name)
    return int(match[1] or 0) if match else 0


def _op(compile_: Compile, artifact: Artifact) -> str:
    try:
        operations = sdsc_of(compile_, artifact.record).operations
    except OSError:
        return ""
    return operations[0].op if len(operations) == 1 else ""


def _places(compile_: Compile, reader: Reader, code: Artifact | None, ops: list[tuple[int, str]]) -> dict[int, Dealt]:
    if code is not None:
        return dealt(kernels_in(reader.text(code.record, LIMIT).split("\n")), ops)
    kernel = kernel_of_directory(compile_.id.name)
    if not kernel:
        return {}
    return {number: Dealt(kernel, n, len(ops), 0, True) for n, (number, _) in enumerate(sorted(ops), 1)}
