"""What a job left of its kernels besides its trace: `kernel_information.json`, lists of operations."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from real import TRACES, fresh, trace

from tltui.model.nodes import Compile
from tltui.model.ref import parse_ref
from tltui.model.run import Run
from tltui.questions.index import BY_NAME
from tltui.questions.provenance.provenance import UnitProvenance, provenance_of
from tltui.questions.provenance.unit_artifacts import left_of
from tltui.questions.question import view_document
from tltui.text.document import Options

FILE = TRACES / "provenance" / "kernel_information" / "kernel_information.json"
OPERATIONS = {"version": 1, "stability": "experimental", "kernels": {
    "cpp_fused_gelu_2:6": {"kernel_type": "triton", "is_extern": False, "leaves": [
        {"name": "op7", "scheduler_node_type": "SchedulerNode", "phase": "pointwise", "logical_reads": ["buf6"],
         "logical_writes": ["buf7"], "in_out": [], "ops": [
             {"order": 0, "target": "load", "block": "root", "phase": "pointwise", "rematerialized": False},
             {"order": 1, "target": "erf", "block": "root", "phase": "pointwise", "rematerialized": True},
             {"order": 2, "target": "store", "block": "root", "phase": "pointwise", "rematerialized": False}]}]},
    "aoti_torch_cpu_addmm_out:5": {"kernel_type": "extern", "is_extern": True, "leaves": [
        {"name": "op6", "scheduler_node_type": "ExternKernelSchedulerNode", "extern_target": "addmm"}]}}}  # fmt: skip
"""As `create_triton_kernel_trace_json` writes it."""


def unit_of(run: Run) -> UnitProvenance:
    compile_ = run.resolve("none")
    assert isinstance(compile_, Compile)
    (found,) = provenance_of(compile_).units
    return found


def without_provenance(tmp_path: Path) -> Path:
    """The trace without the artifacts of provenance: the handles in its code are still there."""
    (source,) = (TRACES / "torch-2.13" / "aoti").glob("*.log")
    lines, kept = [], True
    for line in source.read_bytes().split(b"\n"):
        if not line.startswith(b"\t"):
            kept = b'"inductor_provenance_tracking' not in line[:300]
        if kept:
            lines.append(line)
    (tmp_path / source.name).write_bytes(b"\n".join(lines))
    return tmp_path


def facts(found: UnitProvenance) -> list[tuple[object, ...]]:
    return [(own.key, set(own.post_nodes), set(own.pre_nodes), own.user_lines) for own in found.kernels]


def test_the_file_says_what_the_mapping_says(tmp_path: Path) -> None:
    directory = without_provenance(tmp_path)
    before = unit_of(fresh(directory))
    assert "kernel_information" not in before.sources
    shutil.copy(FILE, directory)
    found = unit_of(fresh(directory))
    assert facts(found) == facts(unit_of(trace("torch-2.13/aoti")))
    assert {own.nodes_from for own in found.kernels} == {own.lines_from for own in found.kernels} == {"kernel_information"}
    assert found.source == "kernel_information"
    said = "\n".join(view_document(fresh(directory), BY_NAME["provenance"], parse_ref("none"), Options(width=80)).text())
    assert "kernels → nodes  6 of 6: from kernel_information.json" in said


def test_the_mapping_comes_first(tmp_path: Path) -> None:
    (source,) = (TRACES / "torch-2.13" / "aoti").glob("*.log")
    shutil.copy(source, tmp_path)
    shutil.copy(FILE, tmp_path)
    assert {own.nodes_from for own in unit_of(fresh(tmp_path)).kernels} == {"node_mappings"}


@pytest.mark.parametrize("change", [
    lambda text: text.replace('"mul_3"', '"mul_33"'),
    lambda text: text.replace("cpp_fused_gelu_2:6", "cpp_fused_gelu_2:7"),
    lambda text: text[:-20],
    lambda text: "[]",
    lambda text: "{}",
    lambda text: json.dumps(dict.fromkeys(json.loads(text))),
])  # fmt: skip
def test_a_file_of_another_program_and_a_broken_one_say_nothing(tmp_path: Path, change) -> None:  # type: ignore[no-untyped-def]
    directory = without_provenance(tmp_path)
    (directory / FILE.name).write_text(change(FILE.read_text()))
    assert "kernel_information" not in unit_of(fresh(directory)).sources


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    directory = without_provenance(tmp_path)
    (directory / FILE.name).symlink_to(FILE)
    assert "kernel_information" not in unit_of(fresh(directory)).sources
    (directory / FILE.name).unlink()
    os.mkfifo(directory / FILE.name)
    assert "kernel_information" not in unit_of(fresh(directory)).sources


def test_an_artifact_of_the_trace_says_it_too(tmp_path: Path) -> None:
    """The mapping's place in the log, with the other artifact in it."""
    (source,) = (TRACES / "torch-2.13" / "aoti").glob("*.log")
    head, payload = b"", json.dumps(json.loads(FILE.read_text())).encode()
    out, taken = [], False
    for line in source.read_bytes().split(b"\n"):
        if not line.startswith(b"\t"):
            taken = b'"inductor_provenance_tracking' in line[:300]
            if taken and b"node_mappings" in line:
                head = line.replace(b"inductor_provenance_tracking_node_mappings", b"kernel_information")
                digest = hashlib.md5(payload).hexdigest().encode()
                out += [re.sub(rb'"has_payload": "\w+"', b'"has_payload": "%s"' % digest, head), b"\t" + payload]
        if not taken:
            out.append(line)
    assert head
    (tmp_path / source.name).write_bytes(b"\n".join(out))
    found = unit_of(fresh(tmp_path))
    assert {own.nodes_from for own in found.kernels} == {"kernel_information"}
    assert facts(found) == facts(unit_of(trace("torch-2.13/aoti")))


def test_the_operations_of_a_kernel(tmp_path: Path) -> None:
    directory = without_provenance(tmp_path)
    shutil.copy(FILE, directory)
    (directory / "inductor_triton_kernel_trace.json").write_text(json.dumps(OPERATIONS))
    by_key = {own.key: own for own in unit_of(fresh(directory)).kernels}
    gelu = by_key["cpp_fused_gelu_2:6"]
    assert (gelu.operations, gelu.again) == (("load", "erf", "store"), ("erf",))
    assert by_key["aoti_torch_cpu_addmm_out:5"].operations == ("addmm",) and by_key["cpp_fused_mul_1:4"].operations == ()
    said = "\n".join(view_document(fresh(directory), BY_NAME["provenance"], parse_ref("none"), Options(width=80)).text())
    assert "runs      load, erf, store" in said and "erf: recomputed, not loaded" in said


def test_operations_that_name_their_nodes_come_before_any_derivation() -> None:
    value = {"kernels": {"k:1": {"leaves": [{"ops": [{"target": "exp", "origins": ["exp", "sub"]}, {"origins": [3, "exp"]}]}, 7]}}}
    assert left_of(None, value).operations["k:1"].nodes == ("exp", "sub")
