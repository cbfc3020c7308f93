"""Directories that TORCH_COMPILE_DEBUG=1 leaves, opened as what they are."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shutil
import socket
from pathlib import Path

import pytest
from pages import page
from real import TRACES, fresh
from viewed import lead_somewhere, targets, text

from tltui.cli import main
from tltui.inputs.debug_directory import DebugLog, DebugScanner, DirectoryBytes, How, Joined, TraceCode, UnitCode, join
from tltui.inputs.directory_layouts import MOST, layout_of
from tltui.model.artifacts import artifacts_of
from tltui.model.follow import open_run
from tltui.model.nodes import Compile, Process
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.compare.pairing import artifact_pairs
from tltui.questions.index import QUESTIONS
from tltui.questions.passes.node_changes import RETARGETED
from tltui.questions.passes.page import counterpart, passes_of
from tltui.questions.provenance.provenance import provenance_of
from tltui.sources.discover import NothingFound, discover
from tltui.text.document import Options
from tltui.text.steps import run_steps
from tltui.trace.grammar import PREFIX, parse_envelope
from tltui.tree.listing import listing_document

INPUTS = TRACES / "inputs"
MLP = INPUTS / "mlp/torch_compile_debug/run_2026_11_21_18_59_06_231814-pid_8336"
FORWARD = MLP / "torchinductor/model__0_forward_1.0"
UNITS = ["model__0_forward_1.0", "model__0_backward_3.1", "model__1_forward_5.2", "model__1_backward_6.3"]
CACHED = [
    "crkzawz66hlmjdr72tnlzdiejanflf62jq3hnjticvety2aqzkrn.debug", "cwjvtswo65c76ww53bg7ojo5sdeaz4qjmbpi5l6gzkl2qfy5otj4.debug",
]  # fmt: skip
FILES = [
    "fx_graph_runnable", "fx_graph_readable", "fx_graph_transformed", "ir_pre_fusion", "ir_post_fusion", "inductor_output_code",
    "inductor_provenance_tracking_node_mappings",
]  # fmt: skip


def only(run: Run) -> Process:
    (process,) = run.processes()
    return process


def units_of(process: Process) -> list[str]:
    return [compile_.id.name for compile_ in process.compiles.values() if compile_.id.name]


def unit(run: Run, name: str) -> Compile:
    node = run.resolve(f"+{name}")
    assert isinstance(node, Compile)
    return node


def read(path: Path | str) -> DebugLog:
    source = DirectoryBytes(str(path))
    scanner, log = DebugScanner(source), DebugLog(str(path), source)
    while not log.ended:
        log.apply(scanner.step(1, True))
    return log


# recognition


@pytest.mark.parametrize(
    ("path", "pid", "units"),
    [
        ("mlp", 8336, UNITS), ("mlp/torch_compile_debug", 8336, UNITS), (str(MLP), 8336, UNITS),
        (str(MLP / "torchinductor"), 8336, UNITS), (str(FORWARD), 8336, UNITS[:1]),
        ("torchinductor_user", 0, CACHED), ("torchinductor_user/rk", 0, CACHED[:1]),
        (f"torchinductor_user/rk/{CACHED[0]}", 0, CACHED[:1]),
        ("errors", 5586, []), ("cache_hit", 19774, []),
    ],
)  # fmt: skip
def test_a_directory_is_recognised_from_above_and_inside(path: str, pid: int, units: list[str]) -> None:
    found = discover([str(INPUTS / path)])
    logs = [log for log in found.logs if log.form == "debug_dir"]
    process = only(open_run(discover([logs[0].path])))
    assert len(logs) == 1 and (process.pid, units_of(process)) == (pid, units)
    assert process.origins == {"debug_dir"}


def test_the_copy_of_a_unit_far_away_from_its_process_is_one_too(tmp_path: Path) -> None:
    shutil.copytree(FORWARD, tmp_path / "a" / "renamed")
    process = only(fresh(tmp_path))
    assert (process.pid, units_of(process)) == (0, ["renamed"])


def test_other_directories_are_walked_as_ever(tmp_path: Path) -> None:
    for name in ("ab", "torchinductor", "inductor-spyre", "run_x-pid_3", "xx.debug"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sdsc.json").write_text("[1]")
        assert layout_of(str(tmp_path / name)) is None or name == "inductor-spyre"
    (tmp_path / "inductor-spyre" / "sdsc.json").unlink()
    with pytest.raises(NothingFound):
        discover([str(tmp_path)])


def test_logs_beside_a_cache_are_found_and_its_files_are_not_listed(tmp_path: Path) -> None:
    shutil.copytree(INPUTS / "torchinductor_user", tmp_path / "cache")
    shutil.copy(next((TRACES / "torch-2.13/breaks").glob("*.log")), tmp_path / "cache" / "a.log")
    found = discover([str(tmp_path)])
    assert sorted(log.form for log in found.logs) == ["debug_dir", "trace"]
    assert [log.path for log in found.logs if log.form == "debug_dir"] == [str(tmp_path / "cache")]


# what a unit is


def test_the_name_of_a_directory_is_an_address_without_its_sign(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fresh(MLP)
    for name in UNITS:
        assert parse_ref(name) == parse_ref(f"+{name}") and str(parse_ref(name)) == f"+{name}"
        assert run.resolve(name) is unit(run, name)
        assert run.resolve(f"{name}:inductor_output_code") is run.resolve(f"+{name}:inductor_output_code")
    for other in ("model", "model__0", "model__0_forward", "0_forward_1.0", "a.log", "rank_0.log"):
        with pytest.raises(BadAddress):
            parse_ref(other)
    assert main(["show", str(MLP), UNITS[0]]) == 0
    with_sign = capsys.readouterr().out
    assert main(["show", str(MLP), f"+{UNITS[0]}"]) == 0
    assert capsys.readouterr().out == with_sign
    monkeypatch.chdir(FORWARD.parent)  # here it is a path
    assert main(["ls", UNITS[0]]) == 0
    assert "1 compile" in capsys.readouterr().out


def test_units_are_compiles_in_the_order_of_their_numbers() -> None:
    run = fresh(MLP)
    process = only(run)
    assert [str(compile_.ref) for compile_ in process.compiles.values()] == [*(f"+{name}" for name in UNITS), "none"]
    assert {compile_.status for compile_ in process.compiles.values() if compile_.is_compile} == {Status.SEEN}
    assert [artifact.name for artifact in artifacts_of(unit(run, UNITS[0]))] == FILES
    assert [artifact.name for artifact in artifacts_of(unit(run, UNITS[1]))] == FILES[:-1], "a backward made later has no mapping"
    assert unit(run, UNITS[0]).frame.code == ("forward", "/home/user/job/mlp.py", 7)
    none = process.compiles[next(own for own in process.compiles if not own.name)]
    assert [artifact.name for artifact in artifacts_of(none)] == ["debug_log"], "empty files are not listed"


def test_a_file_is_the_payload_of_a_record_as_torch_would_have_written_it() -> None:
    log = read(MLP)
    assert len(log) == 28
    for record in log.records():
        data = Path(log.path_of(record)).read_bytes()
        payload, checked = log.payload(record), log.check(record)
        assert payload is not None and payload.read() == data
        assert checked is not None and checked.size == len(data)
        line = log.head(record)
        match = PREFIX.match(line)
        assert match is not None and line.startswith(b"V1121 18:59:06.231814 8336 torch/")
        envelope = parse_envelope(line[match.end() :])
        assert next(iter(envelope)) in ("artifact", "inductor_output_code")
        assert envelope["has_payload"] == log.md5(record) == hashlib.md5(data).hexdigest()
    assert log.event(0) == {"name": "fx_graph_runnable", "encoding": "string"}
    assert log.place(5) == (str(FORWARD / "output_code.py"), 0)


def test_a_unit_in_the_cache_says_where_its_code_is() -> None:
    log = read(INPUTS / "torchinductor_user")
    code = [record for record in log.records() if log.kind(record).event == "inductor_output_code"]
    assert [log.event(record)["filename"] for record in code] == [
        str(INPUTS / "torchinductor_user" / name[1:3] / name.replace(".debug", ".py")) for name in CACHED
    ]
    assert all(Path(log.event(record)["filename"]).read_bytes() == log.text(record).encode() for record in code)


def test_what_is_unknown_is_listed_too(tmp_path: Path) -> None:
    copy = tmp_path / "model__0_forward_1.0"
    shutil.copytree(FORWARD, copy)
    (copy / "graph_diagram.svg").write_text("<svg/>")
    (copy / "info.log").write_text("[a.py:1 INFO] x")
    (copy / "tensors").mkdir()
    (copy / "tensors" / "0.bin").write_bytes(b"\0\1")
    (copy / "autotuning_result_json_list.txt").write_text('{"name": "mm"}\n{"name": "mm2"}\n')
    (copy / "empty.txt").touch()
    names = [artifact.name for artifact in artifacts_of(unit(fresh(copy), copy.name))]
    assert set(names) - set(FILES) == {"graph_diagram.svg", "debug_log", "tensors/0.bin", "autotuning_result_json_list"}


def test_files_that_come_later_are_records_more(tmp_path: Path) -> None:
    copy = tmp_path / "model__0_forward_1.0"
    shutil.copytree(FORWARD, copy)
    (copy / "ir_post_fusion.txt").unlink()
    source = DirectoryBytes(str(copy))
    scanner, log = DebugScanner(source), DebugLog(str(copy), source)
    log.apply(scanner.step(1, False))
    assert log.waiting and len(log) == 6
    shutil.copy(FORWARD / "ir_post_fusion.txt", copy)
    with open(copy / "output_code.py", "a") as file:
        file.write("# more\n")
    code = next(record for record in log.records() if log.kind(record).event == "inductor_output_code")
    before = log.md5(code)
    log.apply(scanner.step(1, True))
    assert log.ended and len(log) == 7
    assert log.kind(6).name == "ir_post_fusion" and log.text(6) == (FORWARD / "ir_post_fusion.txt").read_text()
    assert log.text(code).endswith("# more\n") and log.md5(code) != before


# hostile directories


def test_links_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    copy = tmp_path / "model__0_forward_1.0"
    shutil.copytree(FORWARD, copy)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for name in ("output_code.py", "ir_pre_fusion.txt", "fx_graph_readable.py"):
        (copy / name).unlink()
    os.mkfifo(copy / "output_code.py")
    (copy / "ir_pre_fusion.txt").symlink_to(secret)
    (copy / "elsewhere").symlink_to(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(copy)  # the path of a socket may only be short
        try:
            server.bind("fx_graph_readable.py")
        finally:
            os.chdir(here)
        run = fresh(tmp_path)
    log = only(run).log
    assert {damage.reason for damage in log.damage} == {
        f"{copy.name}/output_code.py: not a regular file: not opened",
        f"{copy.name}/fx_graph_readable.py: not a regular file: not opened",
        f"{copy.name}/ir_pre_fusion.txt: a symbolic link: not opened", f"{copy.name}/elsewhere: a symbolic link: not opened",
    }  # fmt: skip
    names = [artifact.name for artifact in artifacts_of(unit(run, copy.name))]
    assert names == ["fx_graph_runnable", "fx_graph_transformed", "ir_post_fusion", "inductor_provenance_tracking_node_mappings"]


def test_a_pipe_in_the_place_of_a_file_that_was_read_is_not_waited_for(tmp_path: Path) -> None:
    copy = tmp_path / "model__0_forward_1.0"
    shutil.copytree(FORWARD, copy)
    log = read(copy)
    code = copy / "output_code.py"
    code.unlink()
    os.mkfifo(code)
    with pytest.raises(OSError, match=r"no longer in the file|Illegal seek"):  # the second where it has the inode of the first
        log.text(next(record for record in log.records() if log.path_of(record) == str(code)))


def test_what_cannot_be_read_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "model__0_forward_1.0"
    shutil.copytree(FORWARD, copy)
    real = os.open

    def refusing(path: str, *rest: int) -> int:
        if str(path).endswith("output_code.py"):  # root may read what nobody else may
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest)

    monkeypatch.setattr(os, "open", refusing)
    run = fresh(copy)
    assert [damage.reason for damage in only(run).log.damage] == [f"{copy.name}/output_code.py: Permission denied"]
    assert [artifact.name for artifact in artifacts_of(unit(run, copy.name))] == [name for name in FILES if "code" not in name]


def test_names_may_hold_anything(tmp_path: Path) -> None:
    name = "a\x1b[31m\nb:c~1__0_forward_1.0"
    copy = tmp_path / "torchinductor" / name
    shutil.copytree(FORWARD, copy)
    (copy / "x\x1b]0;y\x07\n.txt").write_text("x")
    (tmp_path / "torchinductor" / os.fsdecode(b"\xff__1_forward_2.1")).mkdir()
    shutil.copy(FORWARD / "output_code.py", tmp_path / "torchinductor" / os.fsdecode(b"\xff__1_forward_2.1"))
    run = fresh(tmp_path)
    compiles = [compile_ for compile_ in run.compiles() if compile_.is_compile]
    assert [compile_.id.name for compile_ in compiles] == [name, os.fsdecode(b"\xff__1_forward_2.1")]
    for compile_ in compiles:
        assert run.resolve(str(compile_.ref)) is compile_
        assert str(compile_.ref).isprintable() and compile_.label.isprintable()
        for artifact in artifacts_of(compile_):
            assert run.resolve(str(artifact.ref)) == artifact
            assert artifact.payload is not None and len(artifact.payload.read()) == artifact.payload.size


def test_more_files_than_anybody_lists(tmp_path: Path) -> None:
    copy = tmp_path / "model__0_forward_1.0"
    shutil.copytree(FORWARD, copy)
    for number in range(MOST + 10):
        os.link(copy / "output_code.py", copy / f"{number}.txt")
    log = read(copy)
    assert len(log) == MOST
    assert [damage.reason for damage in log.damage] == [f"more than {MOST:,} files: the rest was not read"]


# joining with a trace


def code(name: str, record: int, md5: str, aot: tuple[int, str] | None = None) -> TraceCode[str]:
    return TraceCode(name, record, md5, lambda: aot)


def never(name: str, record: int, md5: str) -> TraceCode[str]:
    def asked() -> tuple[int, str]:
        raise AssertionError("no payload of the trace is read where an md5 is the same")

    return TraceCode(name, record, md5, asked)


def test_units_are_joined_by_their_code() -> None:
    log = read(MLP)
    units = log.units()
    assert [unit.unit for unit in units] == UNITS
    assert [unit.aot_id for unit in units] == [(0, "forward"), (0, "backward"), (1, "forward"), (1, "backward")]
    declared = ["e89176c94e4a31f1e79a67502a8a83db", "de43e3e244c9365615814e8a46e9e105", "b6319cfad2c6e66059305ede02ccb621"]
    found = join(units[:3], [never(str(n), n, md5) for n, md5 in enumerate(declared)])
    assert found == {name: Joined(str(n), n, How.CODE) for n, name in enumerate(UNITS[:3])}, "as mlp's trace declares them"


def test_the_same_code_twice_is_joined_in_order() -> None:
    units = [UnitCode(k, "a" * 32, (0, "forward")) for k in range(3)]
    found = join(units, [never("second", 9, "A" * 32), never("first", 4, "a" * 32)])
    assert [found[0].compile, found[1].compile] == ["first", "second"]
    assert 2 not in found, "the code of a record is that of one unit"


def test_edited_code_is_joined_by_order() -> None:
    forward, backward = (0, "forward"), (0, "backward")
    units = [UnitCode("x", "1", forward), UnitCode("y", "2", forward), UnitCode("z", "3", None), UnitCode("u", "4", (7, "forward"))]
    codes = [code("a", 1, "9", forward), code("b", 2, "2", forward), code("c", 3, "8", backward), code("d", 4, "7")]
    assert join(units, codes) == {"y": Joined("b", 2, How.CODE), "x": Joined("a", 1, How.ORDER)}


# pages


@pytest.mark.parametrize("name", ["errors", "cache_hit"])
def test_a_process_without_a_unit_says_why(name: str) -> None:
    run = fresh(INPUTS / name / "torch_compile_debug")
    assert "No compiles. On a cache hit" in text(page(run, ""))
    assert "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1" in text(page(run, "@summary"))
    assert "debug_log" in text(page(run, "none"))


def test_a_process_that_left_nothing_at_all(tmp_path: Path) -> None:
    (tmp_path / MLP.name / "torchdynamo").mkdir(parents=True)
    (tmp_path / MLP.name / "torchdynamo" / "debug.log").touch()
    assert "No compiles. On a cache hit" in text(page(fresh(tmp_path), ""))


@pytest.mark.parametrize("view", [view.name for view in QUESTIONS])
def test_every_page_lives_with_units(view: str) -> None:
    run = fresh(MLP)
    for ref in (f"@{view}", f"@{view}:+{UNITS[0]}"):
        lead_somewhere(run, page(run, ref))


def test_a_name_from_a_graph_is_a_guess(tmp_path: Path) -> None:
    run = fresh(MLP)
    assert "≈ forward  mlp.py:7" in text(listing_document(run, Options()))
    assert "~ forward  mlp.py:7" in text(listing_document(run, Options(ascii=True)))
    assert "Best guess: the last operation" in text(page(run, f"+{UNITS[0]}"))
    trace = next((INPUTS / "mlp" / "trace").iterdir())
    (tmp_path / "trace.log").write_bytes(lzma.decompress(trace.read_bytes()))
    shutil.copytree(MLP, tmp_path / MLP.name)
    known = fresh(tmp_path)
    assert "≈" not in text(listing_document(known, Options())) and "A guess" not in text(page(known, "0/0"))


def test_a_unit_has_an_overview_that_leads_to_its_files() -> None:
    run = fresh(MLP)
    overview = page(run, f"+{UNITS[0]}")
    assert {f"+{UNITS[0]}:{name}" for name in FILES} <= targets(overview)
    lead_somewhere(run, overview)


def test_passes_compare_the_readable_with_the_transformed_graph() -> None:
    run = fresh(MLP)
    forward, backward = (run_steps(passes_of(unit(run, name))).units[0].steps for name in UNITS[:2])
    assert [(step.name, step.before, step.is_unchanged) for step in forward] == [
        ("fx_graph_readable", None, False), ("fx_graph_transformed", "fx_graph_readable", True),
    ]  # fmt: skip
    change = backward[1].change
    assert change is not None and (change.nodes_before, change.nodes_after, change.count(RETARGETED)) == (45, 45, 2)
    graphs = {artifact.name: artifact for artifact in artifacts_of(unit(run, UNITS[0]))}
    readable, transformed = graphs["fx_graph_readable"], graphs["fx_graph_transformed"]
    assert counterpart(readable) == transformed and counterpart(transformed) == readable
    assert counterpart(graphs["ir_pre_fusion"]) == graphs["ir_post_fusion"]
    assert counterpart(graphs["inductor_output_code"]) is None


def test_provenance_of_a_unit_reads_a_mapping_without_a_version() -> None:
    run = fresh(MLP)
    coverages = [provenance_of(unit(run, name)).units[0].coverage for name in UNITS]
    assert [(own.kernels_with_nodes, own.kernels) for own in coverages] == [(5, 5), (7, 7), (5, 5), (7, 7)]
    assert (coverages[0].nodes_mapped, coverages[0].nodes) == (24, 24)
    panes = {pane.kind: pane for pane in provenance_of(unit(run, UNITS[0])).units[0].panes}
    assert panes["post"].ref == f"+{UNITS[0]}:fx_graph_transformed" and panes["pre"].why == "only a trace has the pre-grad graph"


def test_two_units_are_compared_file_by_file() -> None:
    run = fresh(MLP)
    rows = artifact_pairs(unit(run, UNITS[0]), unit(run, UNITS[1]))
    both = [pair.left.name for pair in rows if pair.left is not None and pair.right is not None]
    assert both == FILES[:-1]


@pytest.mark.parametrize(("name", "units"), [("mlp", [2, 2]), ("recompiles", [1, 1, 1, 1, 2])])
def test_units_beside_their_trace_are_its_compiles(name: str, units: list[int], tmp_path: Path) -> None:
    trace = next((INPUTS / name / "trace").iterdir())
    (tmp_path / "trace.log").write_bytes(lzma.decompress(trace.read_bytes()))
    shutil.copytree(INPUTS / name / "torch_compile_debug", tmp_path / "torch_compile_debug")
    run = fresh(tmp_path)
    process = only(run)
    assert process.origins == {"trace", "debug_dir"} and not units_of(process)
    for number, count in enumerate(units):
        compile_ = run.resolve(f"0/{number}")
        assert isinstance(compile_, Compile) and compile_.status is Status.OK
        names = [artifact.name for artifact in artifacts_of(compile_)]
        assert names.count("ir_pre_fusion") == names.count("inductor_output_code") == count


def test_a_compile_that_came_from_a_cache_has_no_unit_and_that_is_said(tmp_path: Path) -> None:
    trace = next((INPUTS / "cache_hit" / "trace").iterdir())
    (tmp_path / "trace.log").write_bytes(lzma.decompress(trace.read_bytes()))
    shutil.copytree(INPUTS / "cache_hit" / "torch_compile_debug", tmp_path / "torch_compile_debug")
    said = " ".join(text(page(fresh(tmp_path), "@absent")).split())
    assert "so torch_compile_debug has no directory for it" in said
    assert "set TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 to record it" in said


def test_units_of_a_cache_beside_a_trace_are_joined_by_their_code(tmp_path: Path) -> None:
    trace = next((INPUTS / "mlp" / "trace").iterdir())
    (tmp_path / "trace.log").write_bytes(lzma.decompress(trace.read_bytes()))
    shutil.copytree(INPUTS / "torchinductor_user", tmp_path / "cache")
    run = fresh(tmp_path)
    assert only(run).origins == {"trace", "debug_dir"} and not units_of(only(run))
    compile_ = run.resolve("0/0")
    assert isinstance(compile_, Compile)
    assert [artifact.name for artifact in artifacts_of(compile_)].count("ir_pre_fusion") == 2


def test_a_damaged_mapping_is_a_document(tmp_path: Path) -> None:
    copy = tmp_path / "model__0_forward_1.0"
    shutil.copytree(FORWARD, copy)
    name = "inductor_provenance_tracking_node_mappings.json"
    mapping = json.loads((copy / name).read_text())
    assert "version" not in mapping
    (copy / name).write_text("{")
    run = fresh(copy)
    assert "{" in text(page(run, f"+{copy.name}:{name.removesuffix('.json')}"))
    lead_somewhere(run, page(run, f"@provenance:+{copy.name}"))
