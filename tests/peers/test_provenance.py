"""Provenance has the lines that tlparse's highlighter has, and more.

For every trace: where a page of `tlparse --inductor-provenance` has lines, those of the unit that it picked are ours, after
the offsets that it applies to what it shows; where it has none, and the compile was lowered with provenance, ours has.

Known differences, all of them wanted:

* tlparse shows the last unit of a compile id only. Of a training step that is the backward; where it was compiled lazily
  its page is empty. We have every unit.
* A kernel has its call and its definition. tlparse knows calls only (in its older mappings every line that names the
  kernel), so our maps from and to code also have the first line of each definition.
* A line that updates in place makes a node of another name (`step_t += 1;  step_t_1: "f32[]" = step_t`). tlparse reads
  it as a node called `step_t +`, so it has no lines for it (43 in one optimizer graph); we have.
* After a cache hit and with compiled autograd torch writes no pre-grad graph. tlparse shows an empty pane, we show the
  graph of Dynamo.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from real import opened
from tlparse_pages import BINARY, LOGS, label

from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID, CompileId
from tltui.questions.provenance.provenance import CPP, PRE, PY, graph_at, provenance_of
from tltui.questions.provenance.records import DATAFLOW, UnitProvenance

_MAPS = re.compile(r'<script id="lineMappings" type="application/json">(.*?)</script>', re.DOTALL)
DEMO = sorted((Path(__file__).resolve().parents[2] / "src/tltui/demo").glob("*.log"))
RECORDED = [path for path in (*LOGS, *DEMO) if b"inductor_provenance_tracking_node_mappings" in path.read_bytes()]
Maps = dict[str, dict[str, list[int]]]


def test_there_is_something_to_compare() -> None:
    assert len(RECORDED) >= 12


@cache
def pages(path: Path, directory: Path) -> dict[tuple[CompileId, int], Maps]:
    """(compile, attempt) → what tlparse maps."""
    assert BINARY is not None
    command = [BINARY, str(path), "-o", str(directory), "--plain-text", "--no-browser", "--inductor-provenance", "--overwrite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = {}
    for file in directory.glob("provenance_tracking_*.html"):
        parts = [None if part == "-" else int(part) for part in file.stem.removeprefix("provenance_tracking_").split("_")]
        match = _MAPS.search(file.read_text(encoding="utf-8"))
        assert match is not None
        found[CompileId(*parts[:3]), parts[3] or 0] = json.loads(match[1])
    shutil.rmtree(directory)
    return found


def offset(compile_: Compile, unit: UnitProvenance, pane: int) -> int:
    """Lines that tlparse leaves out of the code it shows: those before `# AOT ID`, and empty ones at the beginning."""
    artifact = next((a for a in artifacts_of(compile_) if str(a.ref) == unit.panes[pane].ref), None)
    if artifact is None:
        return 0
    lines = artifact.log.text(artifact.record).split("\n")
    if pane == PY:
        return next((n for n, line in enumerate(lines) if line.startswith("# AOT ID:")), 0)
    return next((n for n, line in enumerate(lines) if line.strip()), 0)


def updates(compile_: Compile, unit: UnitProvenance) -> set[int]:
    """Lines of the pre-grad graph that update in place, `step_t += 1;  step_t_1: "f32[]" = step_t`."""
    graph = graph_at(compile_, unit.panes[PRE].ref)
    return {node.line + 1 for node in graph.nodes if node.in_place} if graph is not None else set()


def ours(unit: UnitProvenance, name: str) -> dict[int, set[int]]:
    """Our map without the lines of definitions."""
    heads = {kernel.definition[0] for kernel in unit.kernels if kernel.definition and kernel.definition_pane in (PY, CPP)}
    found = {line: set(lines) for line, lines in unit.maps[name].items()}
    if name in ("py_code_to_post", "cpp_code_to_post"):
        return {line: lines for line, lines in found.items() if line not in heads}
    if name in ("post_to_py_code", "post_to_cpp_code"):
        return {line: rest for line, lines in found.items() if (rest := lines - heads)}
    return found


def with_calls_apart(
    want: dict[int, set[int]], have: dict[int, set[int]], unit: UnitProvenance, name: str
) -> dict[int, set[int]]:  # fmt: skip
    """What tlparse says, less what it says of a call only because torch's mapping (version 1) knows no calls, but names: there each
    `extern_kernels.mm` has the nodes of all of them. We tell them apart where code and graph do."""
    apart = {line for kernel in unit.kernels if "@" in kernel.key and kernel.nodes_from == DATAFLOW for line in kernel.call_lines}
    if name == "py_code_to_post":
        return {line: lines & have.get(line, set()) if line in apart else lines for line, lines in want.items()}
    if name == "post_to_py_code":
        return {line: rest for line, lines in want.items() if (rest := lines - (apart - have.get(line, set())))}
    return want


TLPARSE_NAMES = {
    "pre_to_post": "preToPost", "post_to_pre": "postToPre", "py_code_to_post": "pyCodeToPost",
    "post_to_py_code": "postToPyCode", "cpp_code_to_post": "cppCodeToPost", "post_to_cpp_code": "postToCppCode",
}  # fmt: skip
"""Map of ours → its name in tlparse."""


def theirs(maps: Maps, name: str, skipped: dict[int, int]) -> dict[int, set[int]]:
    """tlparse's map in lines of the payload."""
    keys = {"py_code_to_post": skipped[PY], "cpp_code_to_post": skipped[CPP]}.get(name, 0)
    values = {"post_to_py_code": skipped[PY], "post_to_cpp_code": skipped[CPP]}.get(name, 0)
    return {int(key) + keys: {line + values for line in lines} for key, lines in maps.get(TLPARSE_NAMES[name], {}).items() if lines}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: label(path) if path in LOGS else f"demo/{path.name}")
def test_lines(path: Path, tmp_path: Path) -> None:
    if BINARY is None:
        print("tlparse is not installed: nothing is compared with it")
        pytest.skip("tlparse is not installed: nothing is compared with it")
    found = pages(path, tmp_path / "out")
    checked = 0
    for compile_ in opened(path).compiles():
        units = provenance_of(compile_).units
        recorded = [unit for unit in units if unit.recorded]
        for unit in recorded:
            assert any(unit.maps.values()), f"{compile_.ref} {unit.unit}: no lines at all"
        for attempt in sorted(compile_.attempts) or [0]:
            maps = found.get((compile_.id.of(0), attempt), {}) if compile_.id != NO_ID else found.get((NO_ID, 0), {})
            if not any(maps.values()):
                continue
            if compile_.process.epochs > 1:
                continue  # tlparse knows no epochs: it has one page for all compiles with an id
            unit = units[-1]
            skipped = {pane: offset(compile_, unit, pane) for pane in (PY, CPP)}
            for name in unit.maps:
                want, have = theirs(maps, name, skipped), ours(unit, name)
                where = f"{compile_.ref} {unit.unit} {name}"
                want = with_calls_apart(want, have, unit, name)
                assert want == {line: have.get(line) for line in want}, where
                extra = have.keys() - want.keys()
                if name == "pre_to_post":
                    assert extra <= updates(compile_, unit) or not want, where
                elif name == "post_to_pre":
                    assert set().union(*(have[line] for line in extra)) <= updates(compile_, unit) or not want, where
                elif want:
                    assert not extra, where
                checked += len(want)
    print(f"{label(path) if path in LOGS else path.name}: {checked} lines compared")
