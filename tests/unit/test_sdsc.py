"""Files of torch-spyre: what they say, whose they are, and what becomes of bad ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pages import page
from real import TRACES, fresh
from viewed import lead_somewhere, text

from tltui.inputs.text.text_log import TextLog
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.compare.pairing import artifact_difference
from tltui.questions.fusion.sdsc_files import (
    Dealt,
    PerCore,
    Sdsc,
    dealt,
    fields_of,
    files_by_kernel,
    files_of,
    kernel_of_directory,
    kernels_in,
    parse_sdsc,
)

SDSC = TRACES / "inputs" / "sdsc"
UNIT = next((SDSC / "torch_compile_debug").rglob("model__0_inference_0.0"))
ADD_MUL, BMM = "sdsc_fused_add_mul_0", "sdsc_fused_bmm_1"
CACHE = ["3f9a1c04_sdsc_fused_add_mul_0_k2p9x0aa", "b81e77d2_sdsc_fused_bmm_1_q0zz81bc"]


def compile_of(run: Run, name: str) -> Compile:
    return next(compile_ for compile_ in run.compiles() if compile_.id.name == name)


def artifact(run: Run, address: str) -> Artifact:
    found = run.resolve(address)
    assert isinstance(found, Artifact)
    return found


def shown(run: Run, address: str) -> str:
    return text(page(run, address, 100))


def parsed(path: Path) -> Sdsc:
    return parse_sdsc(path.read_bytes())


@pytest.mark.parametrize(("number", "handle"), [(0, "9007199254740993"), (1, "3683704166967831016"), (2, "18446744073709551557")])
def test_ids_are_exact(number: int, handle: str) -> None:
    (operation,) = parsed(UNIT / f"sdsc_{number}.json").operations
    assert operation.handle == handle
    assert f'"id": "{handle}"' in shown(fresh(UNIT), f"+{UNIT.name}:sdsc_{number}")
    as_number = json.loads((UNIT / f"sdsc_{number}.json").read_text())
    next(iter(as_number.values()))["debug_handle_"]["id"] = int(handle)
    assert parse_sdsc(json.dumps(as_number).encode()).operations[0].handle == handle


def test_what_a_file_says_of_its_operation() -> None:
    (own,) = parsed(UNIT / "sdsc_2.json").operations
    assert (own.number, own.op, own.aten, own.file, own.cores) == (2, "bmm", "aten.bmm.default", "", 8)
    assert own.dims == (("x", 2), ("mb", 4), ("out", 64)) and own.slices == (("x", 1), ("mb", 1), ("out", 8))
    assert [(tensor.name, tensor.kind, tensor.dtype, tensor.memory, tensor.addresses.line) for tensor in own.tensors] == [
        ("Tensor0", "INPUT", "SEN169_FP16", ("hbm",), (-17, -1)), ("Tensor1", "INPUT", "SEN169_FP16", ("lx",), (0, 8192)),
        ("Tensor2", "OUTPUT", "SEN169_FP16", ("hbm",), (-17, -1)),
    ]  # fmt: skip
    assert own.layouts[0].sticks == ("out",) and own.layouts[0].sizes == (64,)
    assert not own.odd


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (((0, 5), (1, 7), (2, 9)), (5, 2)), (((0, 5), (1, 7), (2, 10)), None), (((2, 8), (4, 4)), (12, -2)), (((0, 5),), None),
        ((), None), (((0, 0), (2, 3)), None), (tuple((c, 2**63 + 3 * c) for c in range(32)), (2**63, 3)),
    ],
)  # fmt: skip
def test_tables_of_cores_fold_where_they_lie_on_a_line(values: tuple[tuple[int, int], ...], line: tuple[int, int] | None) -> None:
    assert PerCore(values).line == line


def test_files_of_a_unit_are_dealt_out_to_its_kernels() -> None:
    found = files_of(compile_of(fresh(UNIT), UNIT.name))
    assert [(file.op, file.of) for file in found] == [
        ("mul", Dealt(ADD_MUL, 1, 2, 5, True)), ("add", Dealt(ADD_MUL, 2, 2, 5, True)), ("bmm", Dealt(BMM, 1, 1, 9, True)),
    ]  # fmt: skip


def test_files_of_a_cache_are_of_the_kernel_that_their_directory_names() -> None:
    run = fresh(SDSC / "torchinductor_user")
    found = [(file.of.kernel, file.of.place, file.op) for name in CACHE for file in files_of(compile_of(run, name)) if file.of]
    assert found == [(ADD_MUL, 1, "mul"), (ADD_MUL, 2, "add"), (BMM, 1, "bmm")]


def test_a_unit_without_files_finds_those_of_a_cache(tmp_path: Path) -> None:
    shutil.copytree(SDSC / "torchinductor_user", tmp_path / "cache")
    shutil.copytree(UNIT, tmp_path / UNIT.name, ignore=shutil.ignore_patterns("sdsc*"))
    run = fresh(tmp_path)
    found = files_by_kernel(compile_of(run, UNIT.name), run.compiles())
    assert {kernel: [file.op for file in files] for kernel, files in found.items()} == {ADD_MUL: ["mul", "add"], BMM: ["bmm"]}


def test_names_that_differ_are_said(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    shutil.copytree(UNIT, copy)
    code = copy / "output_code.py"
    code.write_text(code.read_text().replace("OpSpec(op='add'", "OpSpec(op='sub'"))
    run = fresh(copy)
    assert [file.of is not None and file.of.agrees for file in files_of(compile_of(run, copy.name))] == [True, False, True]
    assert "operation 2 of 2 by order: the names of the operations differ" in shown(run, f"+{copy.name}:sdsc_1")
    assert "matched by order: the operation names differ" in shown(run, f"@provenance:+{copy.name}")


def test_provenance_leads_from_a_kernel_to_its_files() -> None:
    said = shown(fresh(UNIT), f"@provenance:+{UNIT.name}")
    assert f"sdsc      +{UNIT.name}:sdsc_0 mul, +{UNIT.name}:sdsc_1 add" in said
    assert "kernels → nodes  2 of 2: from torch's node mappings" in said and "job/mlp.py:7 in forward" in said


def test_the_table_comes_first_and_the_json_below() -> None:
    run = fresh(UNIT)
    table, _, below = shown(run, f"+{UNIT.name}:sdsc_0").partition("Raw JSON")
    said = (f"{ADD_MUL}, operation 1 of 2", "aten.mul.Tensor", "job/mlp.py:7", "8,192 × c", "−17 − c", "stick: out of 64", "hbm")
    assert all(text in table for text in said)
    assert json.loads(below) == json.loads((UNIT / "sdsc_0.json").read_text())
    lead_somewhere(run, page(run, f"+{UNIT.name}:sdsc_0"))
    lead_somewhere(run, page(run, f"@provenance:+{UNIT.name}"))


def test_a_table_that_does_not_fold_is_listed_core_by_core(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    shutil.copytree(UNIT, copy)
    text = (copy / "sdsc_0.json").read_text()
    (copy / "sdsc_0.json").write_text(text.replace('"24576"', '"18446744073709551557"'))
    said = shown(fresh(copy), f"+{copy.name}:sdsc_0")
    assert "differs: below" in said and "3  18,446,744,073,709,551,557" in said


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sdsc_0", "cut off: the JSON ends in the middle"), ("sdsc_1", "a list, where an object with one operation is expected"),
        ("sdsc_2", "an empty object: no operation in it"), ("sdsc_3", "2 operations in one file, where one is expected"),
    ],
)  # fmt: skip
def test_a_bad_file_is_a_document_with_its_reason(name: str, reason: str) -> None:
    said = shown(fresh(SDSC / "bad"), f"+bad:{name}")
    assert said.startswith(f"Unexpected content for torch-spyre: {reason}.\n")
    assert (SDSC / "bad" / f"{name}.json").read_text().split('"')[-1].strip() in said


def test_wrong_types_are_told_and_cost_themselves() -> None:
    (own,) = parsed(SDSC / "bad" / "sdsc_5.json").operations
    assert (own.key, own.handle, own.cores, own.dims) == ("5_add", "", None, ())
    assert own.odd == (
        "debug_handle_.source is a text, where an object is expected", "debug_handle_.id is a fraction, where a text is expected",
        "numCoresUsed_ is a text, where a whole number is expected",
        "dscs_.add.N_.mb_ is a fraction, where a whole number is expected",
    )  # fmt: skip
    names = [own.name for own in artifacts_of(compile_of(fresh(SDSC / "bad"), "bad"))]
    assert names == ["sdsc", "sdsc_0", "sdsc_1", "sdsc_2", "sdsc_3", "sdsc_5", "sdsc_x.json"]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[" * 100_000, b"3", b'{"a": 1}', b'{"1_a": [1]}', b'{"1_a": {"dscs_": [{"x": {"N_": 3}}]}}', b"NaN"],
)  # fmt: skip
def test_no_file_breaks_it(data: bytes) -> None:
    found = parse_sdsc(data)
    assert found.problem or found.operations[0].odd
    fields_of(data.decode("utf-8", "replace"))


def test_one_file_is_opened_by_its_name(tmp_path: Path) -> None:
    assert "aten.mul.Tensor" in shown(fresh(UNIT / "sdsc_0.json"), "+sdsc_0.json:sdsc_0")
    (tmp_path / "sdsc_0.json").write_text('{"a": 1}')
    assert [type(model.log) for model in fresh(tmp_path / "sdsc_0.json").models] == [TextLog]


def test_two_files_are_compared_field_by_field() -> None:
    run = fresh(UNIT)
    found = artifact_difference(artifact(run, f"+{UNIT.name}:sdsc_0"), artifact(run, f"+{UNIT.name}:sdsc_1"))
    assert (found.added, found.removed) == (6, 6)


def test_kernels_are_found_in_code() -> None:
    lines = (UNIT / "output_code.py").read_text().split("\n")
    found = [(kernel.name, kernel.ops, kernel.line) for kernel in kernels_in(lines)]
    assert found == [(ADD_MUL, ("mul", "add"), 5), (BMM, ("bmm",), 9)]
    assert kernels_in(["x = async_compile.sdsc('x', ["])[0].ops == ()
    assert kernel_of_directory(CACHE[0]) == ADD_MUL and not kernel_of_directory("model__0_forward_1.0")
    assert dealt([], [(0, "a")]) == {}
