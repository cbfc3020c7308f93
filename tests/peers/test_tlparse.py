"""Against tlparse 0.4.3, which most people use today: the same ids, statuses and artifacts, in the same order, byte for byte.

Where the two differ, the difference must be on the list of tlparse's faults below, each with the section of the trace format's
reference that describes it (`reference/trace-format.md`).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from real import COMPLETE_LOGS as LOGS
from real import opened
from tlparse_pages import label

from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.status import tlparse_status
from tltui.trace.batch import Context
from tltui.trace.grammar import METRICS
from tltui.trace.log import Check

BINARY = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")

UNLISTED = {
    "export": "§3.1: only with --export; kept as payloads/<md5>.txt",
    "exported_program": "§4.4: parsed only with --export; kept as payloads/<md5>.txt",
    "compilation_metrics_runtime": "§3.1: an unknown field for it",
    "bwd_compilation_metrics_runtime": "§3.1: an unknown field for it",
}
"""Artifacts that tlparse does not list."""

ANOTHER_RANK = "§4.5: after the first record with a rank it drops records without one"
PAGES = {
    "compilation_metrics", "bwd_compilation_metrics", "dynamo_guards", "dump_file", "aot_autograd_backward_compilation_metrics",
}  # fmt: skip
"""tlparse renders these as HTML also with --plain-text: only their order is compared."""
DROPS_BLANK_LINES = "§1.1: it drops every empty line, also inside of a payload whose tabs an editor trimmed"
LINKS = "§3.1: a link has no payload; tlparse lists it beside the artifacts"


@dataclass(frozen=True)
class Report:
    """What tlparse wrote for one log."""

    directory: Path
    artifacts: dict[str, list[tuple[str, Path]]]
    """Id as tlparse prints it → names without number and suffix, and their files."""
    statuses: dict[str, str]
    """Of the ids in the stack trie."""


@cache
def report(path: Path, directory: Path) -> Report:
    assert BINARY is not None
    command = [BINARY, str(path), "-o", str(directory), "--plain-text", "--no-browser", "--overwrite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    listing = json.loads((directory / "compile_directory.json").read_text(encoding="utf-8"))
    artifacts = {
        id_: [(re.sub(r"_\d+$", "", Path(item["name"]).stem), directory / item["url"]) for item in entry["artifacts"]]
        for id_, entry in listing.items()
    }
    page = (directory / "index.html").read_text(encoding="utf-8")
    found = re.findall(r"<a href='#([^']*)' class='status-(\w+)'>([^<]*)</a>", page)
    assert all(unescape(target) == unescape(label) for target, _, label in found)
    return Report(directory, artifacts, {unescape(target): status for target, status, _ in found})


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Report]:
    """tlparse's output for every trace; it runs once for each."""
    if BINARY is None:
        print("tlparse is not installed: nothing is compared with it")
        pytest.skip("tlparse is not installed: nothing is compared with it")
    top = tmp_path_factory.mktemp("tlparse")
    return {path: report(path, top / str(number)) for number, path in enumerate(LOGS)}


def id_of(context: Context) -> str:
    """As tlparse prints it: `[0/0_1]`, `[!0/-/-]`, `[-/-]`."""

    def dash(number: int | None) -> str:
        return "-" if number is None else str(number)

    autograd = "" if context.autograd is None else f"!{context.autograd}/"
    return f"[{autograd}{dash(context.frame)}/{dash(context.compile)}" + (f"_{context.attempt}]" if context.attempt else "]")


def ours(path: Path) -> dict[str, list[Artifact]]:
    """Our artifacts by tlparse's ids, in record order. Compile and attempt together are an id of tlparse."""
    (model,) = opened(path).models
    log = model.log
    found: dict[str, list[Artifact]] = {}
    for record in log.records():
        if log.kind(record).event != "str":  # a string alone makes no id
            found.setdefault(id_of(log.context(record)), [])
    for compile_ in opened(path).compiles():
        for artifact in artifacts_of(compile_):
            found[id_of(log.context(artifact.record))].append(artifact)
    # tlparse knows no epochs: what has one id is one compile there
    return {id_: sorted(artifacts, key=lambda artifact: artifact.record) for id_, artifacts in found.items()}


def name_there(artifact: Artifact) -> str:
    """What tlparse calls the file of an artifact."""
    value = artifact.log.event(artifact.record)
    if artifact.name == "inductor_output_code" and isinstance(value, dict):
        place = value.get("file_path") or value.get("filename")
        return f"inductor_output_code_{Path(place).stem}" if place else "inductor_output_code"
    if artifact.name == "dump_file":
        return str(re.sub(r"[<>]|\.\d+", "", value["name"]))
    if artifact.name == "optimize_ddp_split_child":
        return f"optimize_ddp_split_child_{value['name']}"
    return artifact.name


def listed(path: Path, id_: str) -> Iterator[Artifact]:
    """Our artifacts of an id without those that are on the list of faults."""
    log = opened(path).models[0].log
    first = next((record for record in log.records() if log.context(record).rank is not None), None)
    for artifact in ours(path)[id_]:
        if artifact.name in UNLISTED:
            continue
        if first is not None and artifact.record > first and log.context(artifact.record).rank is None:
            assert artifact.name == "torch_version", ANOTHER_RANK
            continue
        yield artifact


def links_of(path: Path, id_: str) -> list[str]:
    """Names of the links of an id. LINKS."""
    log = opened(path).models[0].log
    return [
        log.event(record)["name"]
        for record in log.records()
        if log.kind(record).event == "link" and id_of(log.context(record)) == id_
    ]


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_the_same_ids(path: Path, reports: dict[Path, Report]) -> None:
    assert list(reports[path].artifacts.keys() - ours(path).keys()) == []
    assert list(ours(path).keys() - reports[path].artifacts.keys()) == []


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_the_same_statuses(path: Path, reports: dict[Path, Report]) -> None:
    found: dict[str, set[str]] = {}
    for compile_ in opened(path).compiles():
        status = tlparse_status(compile_)
        if status is not None:
            assert compile_.started is not None
            found.setdefault(id_of(compile_.process.log.context(compile_.started.record)), set()).add(status)
    if b'"stack"' not in path.read_bytes():  # tlparse lists compiles by the stacks of dynamo_start
        assert reports[path].statuses == {}
        return
    mixed = {id_ for id_, statuses in found.items() if len(statuses) > 1}  # tlparse knows no epochs
    there = {id_: {status} for id_, status in reports[path].statuses.items() if id_ not in mixed}
    assert {id_: statuses for id_, statuses in found.items() if id_ not in mixed} == there


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_the_same_artifacts_in_record_order(path: Path, reports: dict[Path, Report]) -> None:
    for id_, there in reports[path].artifacts.items():
        links = links_of(path, id_)
        names = [name for name, _ in there if not (name in links and LINKS)]
        assert names == [name_there(artifact) for artifact in listed(path, id_)], id_


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_the_same_texts(path: Path, reports: dict[Path, Report]) -> None:
    for id_, there in reports[path].artifacts.items():
        links = links_of(path, id_)
        files = [file for name, file in there if not (name in links and LINKS)]
        for artifact, file in zip(listed(path, id_), files, strict=True):
            if artifact.name in PAGES:
                assert file.suffix == ".html"
                continue
            text = payload_of(artifact)
            if file.suffix == ".json":
                assert parsed(text) == parsed(file.read_bytes()), f"{id_} {artifact.name}"
            else:
                assert text == file.read_bytes(), f"{id_} {artifact.name}"


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_payloads_that_it_does_not_list(path: Path, reports: dict[Path, Report]) -> None:
    for artifacts in ours(path).values():
        for artifact in artifacts:
            if artifact.name in UNLISTED and artifact.log.kind(artifact.record).event not in METRICS:
                file = reports[path].directory / "payloads" / f"{artifact.log.md5(artifact.record)}.txt"
                text, there = payload_of(artifact), file.read_bytes()
                if label(path) == "tlparse/export.log":
                    assert re.sub(rb"\n+", b"\n", text) == there, DROPS_BLANK_LINES
                else:
                    assert text == there


def payload_of(artifact: Artifact) -> bytes:
    checked = artifact.log.check(artifact.record)
    assert checked is not None
    if checked.check is Check.BAD:
        assert label(Path(artifact.log.path)) == "tlparse/export.log", "§1.1: its md5 is wrong in the original"
    return checked.payload.read()


def parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # `recompile_reasons` says that it is JSON and is not (§3.2)


def test_every_log_was_compared(reports: dict[Path, Report]) -> None:
    assert len(reports) == len(LOGS) > 20
    assert sum(len(report.artifacts) for report in reports.values()) > 50
    files = [file for report in reports.values() for there in report.artifacts.values() for _, file in there]
    assert sum(file.suffix in (".txt", ".json") for file in files) > 300
    statuses = {status for report in reports.values() for status in report.statuses.values()}
    assert statuses == {"ok", "break", "empty", "error", "missing"}
