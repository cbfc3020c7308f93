"""The torch version of a log, stated or inferred from its records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from tltui.model.artifacts import artifact_name
from tltui.model.kinds import kind_of
from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, json_in, records_of, text_in
from tltui.model.torch_versions import ALWAYS, CLUE, Span, TorchVersion, clues_of, judged_version, stated_version
from tltui.trace.batch import Metrics

EVENT = "compilation_metrics"
METRICS_READ = 3
"""Records of metrics that are read: those of one process differ only where one of them is damaged."""


@part
def version_of(process: Process, reader: Reader) -> TorchVersion:
    """Return the stated or inferred version of torch of a process.

    It changes with every new record: a page may call it, but a part about a compile would be invalidated as often.
    """
    stated = torch_version(process, reader)
    version = stated_version(stated) if stated is not None else TorchVersion()
    return version if version.least is not None else replace(judged_version(_clues(process, reader)), stated=stated)


def version_by_metrics(compile_: Compile, reader: Reader) -> TorchVersion:
    """Infer the version from the metrics of one compile alone, as a part about that compile may do."""
    metrics = next((m for m in compile_.metrics if m.event == EVENT), None)
    if metrics is None:
        return TorchVersion()
    if metrics.pytorch_version:
        return stated_version(metrics.pytorch_version)
    fields = reader.event(metrics.record)
    return judged_version([*clues_of(fields.keys()), *_configured(json_in(fields, "dynamo_config"))])


def torch_version(process: Process, reader: Reader | None = None) -> str | None:
    """Return the version in the metrics, else in the artifact `torch_version` at the head of a log."""
    if version := process.torch_version():
        return version
    reader = reader or Reader(process.log)
    for compile_ in process.compiles.values():
        if not compile_.counts["torch_version"]:
            continue
        for record, _ in records_of(compile_, ("torch_version",)):
            if version := text_in(reader.json(record), "pytorch_version"):
                return version
    return None


def _clues(process: Process, reader: Reader) -> Iterator[tuple[str, Span]]:
    """Yield record and field names with the versions that write them: the metrics first, as they are the most specific."""
    for metrics in islice(_metrics(process), METRICS_READ):
        fields = reader.event(metrics.record)
        yield from clues_of(fields.keys())
        yield from _configured(json_in(fields, "dynamo_config"))
    for kind in process.log.kinds:
        span = kind_of(kind.event, kind.name or None).span
        if span != ALWAYS:
            yield artifact_name(kind), span


def _metrics(process: Process) -> Iterator[Metrics]:
    return (m for compile_ in process.compiles.values() for m in compile_.metrics if m.event == EVENT)


def _configured(config: dict[str, Any]) -> Iterator[tuple[str, Span]]:
    """Yield the name of the recompile limit in `dynamo_config`."""
    if "recompile_limit" in config:
        yield CLUE, Span((2, 7))
    elif "cache_size_limit" in config:
        yield CLUE, Span(until=(2, 6))
