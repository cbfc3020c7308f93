"""Two runs of one program, and two healthy ranks, differ in nothing: on every kind of artifact, on every pair of runs there is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from real import ROOT, fresh, opened

from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Process
from tltui.model.run import Run
from tltui.questions.compare.artifacts_page import own_devices
from tltui.questions.compare.comparable_lines import difference
from tltui.questions.compare.page import compare_nodes, facts_between, inputs_between, symbols_between
from tltui.questions.compare.pairing import (
    Pair,
    artifact_difference,
    artifact_pairs,
    compile_pairs,
    own_device,
    owns_of,
    surely_same,
    text_of,
)
from tltui.text.document import Options
from tltui.text.normalisation import RankIdentity, devices_in, most_used, normalised, own_rules

TORCH = "tests/traces/torch-2.13/"
GPUS = "tests/traces/tlparse/two_gpus"


def compiles(run: Run, rank: int | None = None) -> list[Compile]:
    return [c for process in run.processes() if rank is None or process.rank == rank for c in process.ordered()]


def pairs_of(left: list[Compile], right: list[Compile]) -> Iterator[Pair[Artifact]]:
    """All artifacts of all compiles, those without an id too."""
    rest = zip((c for c in left if not c.is_compile), (c for c in right if not c.is_compile), strict=True)
    found = [(pair.left, pair.right) for pair in compile_pairs(left, right)]
    for a, b in chain(found, rest):
        assert a is not None and b is not None, "only one side has it"
        yield from artifact_pairs(a, b)


def differing(left: list[Compile], right: list[Compile]) -> dict[str, int]:
    """Kinds of artifacts that differ, and lines that do."""
    found: Counter[str] = Counter()
    for pair in pairs_of(left, right):
        a, b = pair.left, pair.right
        assert a is not None and b is not None, (pair.left or pair.right)
        change = artifact_difference(a, b)
        found[a.name] += change.added + change.removed
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize("name", ["twice", "elsewhere"])
def test_two_runs_of_one_program_are_the_same(name: str) -> None:
    """`elsewhere`: in another directory, with another cache directory and another seed of hashes."""
    left, right = (compiles(opened(f"{TORCH}{name}_{side}")) for side in "ab")
    assert differing(left, right) == {}
    for pair in compile_pairs(left, right):
        assert pair.left is not None and pair.right is not None
        own = facts_between(pair.left, pair.right)
        assert [fact for fact in own if fact.left != fact.right and fact.name != "time"] == []


ELSEWHERE = (
    (rb"/home/user/", rb"/data/jobs/4711/src/"), (rb"(?<![/\w])user/(?=[\w/]+\.py)", rb"src/"),
    (rb"/opt/venv/lib/python3\.\d+/site-packages", rb"/usr/local/lib/python3/dist-packages"),
    (rb"/tmp/torchinductor_\w+(?=/)", rb"/scratch/anna/cache"), (rb"\b140(\d{12})\b", rb"139\g<1>"),
    (rb"(\"cache_event_time\": |_ns\": |_us\": )\d", rb"\g<1>7"), (rb"latency = \d", rb"latency = 7"),
    (rb"/c[a-z2-7](?=[a-z2-7]{49,51}\.(?:py|cpp|so))", rb"/cq"),
)  # fmt: skip
TRACES = sorted(
    str(path.relative_to(ROOT)) for path in (*(ROOT / TORCH).iterdir(), *(ROOT / "tests/traces/tlparse").iterdir())
    if path.name != "LICENSE"
)  # fmt: skip


@pytest.mark.parametrize("name", TRACES)
def test_the_same_job_in_other_directories_at_another_time_is_the_same(name: str, tmp_path: Path) -> None:
    """Every trace, against what the same program would have written elsewhere."""
    source = ROOT / name
    for path in sorted(source.rglob("*.log")) if source.is_dir() else [source]:
        data = path.read_bytes()
        for old, new in ELSEWHERE:
            data = re.sub(old, new, data)
        (tmp_path / f"{path.stem}.log").write_bytes(data)
    left, right = compiles(opened(name)), compiles(fresh(tmp_path))
    assert [str(c.ref) for c in left] == [str(c.ref) for c in right]
    found: Counter[str] = Counter()
    for a, b in zip(left, right, strict=True):
        for pair in artifact_pairs(a, b):
            assert pair.left is not None and pair.right is not None
            change = artifact_difference(pair.left, pair.right)
            found[pair.left.name] += change.added + change.removed
        assert inputs_between(a, b) == [] and symbols_between(a, b) == []
    assert {kind: count for kind, count in found.items() if count} == {}


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        (GPUS, 0, 1, {"inductor_collective_schedule": 1, "graph_execution": 4}),
        (TORCH + "mesh", 0, 3, {}),
        ("tests/traces/tlparse/multi_rank_logs", 0, 2, {}),
    ],
)
def test_two_healthy_ranks_are_the_same(name: str, left: int, right: int, expected: dict[str, int]) -> None:
    """Two GPUs: the schedule was written by hand, and the graphs ran in another order. The mesh: each rank has its own groups."""
    run = opened(name)
    a, b = compiles(run, left), compiles(run, right)
    assert differing(a, b) == expected
    for pair in compile_pairs(a, b):
        assert pair.left is not None and pair.right is not None
        assert inputs_between(pair.left, pair.right) == []


def test_the_control_of_ranks_that_diverge_is_the_same() -> None:
    run = opened(TORCH + "diverge")
    controls = [c for c in compiles(run) if c.frame.code[0] == "k"]
    assert len(controls) == 3
    for control in controls[1:]:
        assert differing([controls[0]], [control]) == {}


def test_metrics_do_not_count_the_breaks_of_other_compiles() -> None:
    """Rank 1 of `ddp` compiled `inner` once more before `ar`, which is the same on both ranks."""
    run = opened(TORCH + "ddp")
    a, b = ([c for c in compiles(run, rank) if c.frame.code[0] == "ar"] for rank in (0, 1))
    assert differing(a, b) == {}


# what is a rank's own


def gpus() -> tuple[Process, Process]:
    run = opened(GPUS)
    left, right = run.processes()
    return left, right


def artifact(process: Process, name: str) -> Artifact:
    from tltui.model.artifacts import artifacts_of

    return next(a for c in process.ordered() for a in artifacts_of(c) if a.name == name)


def test_the_own_device_is_the_one_of_most_tensors() -> None:
    left, right = gpus()
    assert own_device(left) == ("cuda", 0) and own_device(right) == ("cuda", 1)
    assert own_device(next(opened(TORCH + "breaks").processes())) is None
    assert most_used(devices_in('x: "f32[2][1]cuda:1", y: "f32[2][1]cuda:0", z: "f32[][]cuda:1"')) == ("cuda", 1)
    assert devices_in("device=device(type='xpu', index=3), x = rand(device='xpu:3')") == {("xpu", 3): 2}


def test_within_a_process_every_device_is_told_apart() -> None:
    left, _ = gpus()
    assert owns_of(left, left) == (RankIdentity(), RankIdentity())


@pytest.mark.parametrize("kind", ["dynamo_output_graph", "inductor_output_code", "dynamo_cpp_guards_str", "fx_graph_runnable"])
@pytest.mark.parametrize("device", [5, 0])
def test_a_device_that_is_not_the_ranks_own_is_a_difference(kind: str, device: int) -> None:
    """Also where it is the device of the other rank: then both lines read the same, and one of them is wrong."""
    left, right = gpus()
    a, b = text_of(artifact(left, kind)), text_of(artifact(right, kind))
    language = artifact(left, kind).kind.language
    owns = owns_of(left, right)
    assert difference(a, b, language, owns=owns).same
    wrong, count = re.subn(r"(cuda:|index=|device=)1\b", rf"\g<1>{device}", b, count=1)
    assert count == 1
    found = difference(a, wrong, language, owns=owns)
    assert not found.same and found.added == found.removed == 1


def test_what_is_shown_is_the_text_as_it_is() -> None:
    left, right = gpus()
    a, b = (artifact(process, "dynamo_output_graph") for process in (left, right))
    found = artifact_difference(a, b)
    assert found.same and found.hidden
    assert any("cuda:1" in line for line in found.right.lines) and not any("‹" in line for line in found.right.lines)
    assert own_devices(found).startswith("cuda:0 on the left and cuda:1 on the right count as the same")
    assert not artifact_difference(a, b, raw=True).same
    assert own_devices(artifact_difference(a, a)) == ""


def test_equal_texts_of_ranks_with_a_device_each_are_compared() -> None:
    left, right = gpus()
    a, b = (artifact(process, "dynamo_output_graph") for process in (left, right))
    assert surely_same(a, a)
    config = [artifact(process, "aot_forward_graph_fw_metadata") for process in (left, right)]
    assert config[0].log.md5(config[0].record) == config[1].log.md5(config[1].record)
    assert not surely_same(*config) and artifact_difference(*config).same
    assert not surely_same(a, b)


@pytest.mark.parametrize(
    "line",
    [
        'x: "f16[4, 4][4, 1]cuda:{}" = y', "device(type='cuda', index={})", "DeviceProperties(type='cuda', index={}, cc=90)",
        "check_tensor(L['x'], Tensor, DispatchKeySet(CUDA), torch.float16, device={}, requires_grad=False)",
        "stream{0} = get_raw_stream({0})", "raw_stream{0} = get_raw_stream({0})", "kernel.run(x, stream=stream{})",
        "with torch.cuda._DeviceGuard({}):", "torch.cuda.set_device({})", "buf0 = empty_strided_cuda((4,), (1,), 'cuda:{}')",
        "AOTICudaGuard device_guard({});", "device_guard.set_index({});", "cached_torch_device_type_cuda, {}, &buf0",
        "aoti_torch_get_current_cuda_stream({}, (void**)&s)", "/srv/attempt_0/{}/stderr.log", "/srv/triton/{}/ABC",
        "with torch.cuda.device({}):",
    ],
)  # fmt: skip
def test_tokens_of_the_own_device(line: str) -> None:
    owns = RankIdentity("cuda", 0, True), RankIdentity("cuda", 1, True)
    assert difference(line.format(0), line.format(1), "output_code", owns=owns).same
    assert not difference(line.format(0), line.format(5), "output_code", owns=owns).same
    assert not difference(line.format(0), line.format(1), "output_code").same


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("a = _c10d_functional.all_reduce.default(x, 'sum', '3')", "a = _c10d_functional.all_reduce.default(x, 'sum', '4')", True),
        ("a = _c10d_functional.all_reduce.default(x, 'sum', '0')", "a = _c10d_functional.all_reduce.default(x, 'sum', '4')", False),
        ("setup_fake_process_groups({'3': {'size': 2, 'rank': 0}})", "setup_fake_process_groups({'4': {'size': 2, 'rank': 1}})",
         True),
        ("setup_fake_process_groups({'3': {'size': 2, 'rank': 0}})", "setup_fake_process_groups({'4': {'size': 4, 'rank': 1}})",
         False),
        ("_c10d_functional.f(x, '1'); g(_c10d_functional.f(x, '3'))", "_c10d_functional.f(x, '2'); g(_c10d_functional.f(x, '2'))",
         False),
    ],
)  # fmt: skip
def test_groups_are_each_ranks_own(left: str, right: str, same: bool) -> None:
    owns = RankIdentity(of_rank=True), RankIdentity(of_rank=True)
    assert difference(left, right, "output_code", owns=owns).same == same
    assert not difference(left, right, "output_code").same


def test_the_ranks_of_two_runs_are_compared_with_each_other(tmp_path: Path) -> None:
    """The other run lacks a rank: its compiles are not taken for those of another one."""
    for path in (ROOT / TORCH / "diverge").glob("*_rank_[12]_*.log"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    pairs = compile_pairs(compiles(opened(TORCH + "diverge")), compiles(fresh(tmp_path)))
    assert {pair.left.process.rank for pair in pairs if pair.left and not pair.right} == {0}
    both = [(pair.left, pair.right) for pair in pairs if pair.left and pair.right]
    assert len(both) == 9 and all(a.process.rank == b.process.rank for a, b in both)


def test_the_overview_of_two_healthy_ranks() -> None:
    run = opened(GPUS)
    document = compare_nodes(run, "0:0/0", run, "1:0/0", Options(width=100))
    while not document.advance():
        pass
    lines = list(document.text())
    assert [line for line in lines if re.fullmatch(r"  all \d+ are the same", line)]
    assert not [line for line in lines if line.startswith(("  -", "  +"))]


def test_runs_without_a_compile_id_are_compared() -> None:
    """`torch.export` and AOTInductor write no ids: that is all there is to compare."""
    run = opened(TORCH + "aoti")
    document = compare_nodes(run, "", fresh(TORCH + "draft_export"), "", Options(width=100))
    while not document.advance():
        pass
    assert any("[-/-]" in line and "none ↔ none" in line for line in document.text())
    assert "no compiles on either side" not in list(document.text())


# what varies between runs


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("# File: /home/a/job/net.py:3 in f", "# File: /data/b/net.py:3 in f"),
        ("# File: /home/a/job/net.py:3 in f", "# File: /data/my files/net.py:3 in f"),
        ("x  # mp/job/net.py:3 in f", "x  # oot/other/net.py:3 in f"),
        ('File "/opt/a/site-packages/torch/nn/x.py", line 3', 'File "/usr/lib/python3/dist-packages/torch/nn/x.py", line 3'),
        ("os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/a/b'", "os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/c d/e'"),
        ('"xpu.cutlass_dir": "/a/b"', '"xpu.cutlass_dir": "/c"'),
        ("G['__optimizer_140144711718992_140144653656336_c5']", "G['__optimizer_140419138414288_140419104680880_c5']"),
        (f"# kernel path: /a/x/c{'a2' * 25}.py", f"# kernel path: /tmp/torchinductor_u/x/c{'b3' * 25}.py"),
    ],
)
def test_places_and_numbers_of_a_run(left: str, right: str) -> None:
    assert difference(left, right, "output_code").same


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("# File: /home/a/net.py:3 in f", "# File: /home/a/net2.py:3 in f"),
        ('File "/a/site-packages/torch/nn/x.py", line 3', 'File "/a/site-packages/torch/optim/x.py", line 3'),
        ('{"file_lock_timeout": 600}', '{"file_lock_timeout": 60}'), ('{"cache_size": 1}', '{"cache_size": 2}'),
        ('{"max_time_s": 1}', '{"max_time_s": 2}'),
        ('{"key": "fwtxfp6noamjqf254rp3xbl55zrmmcchet5a7aelsn5wz54hqbag"}',
         '{"key": "ad5drjspvhb3jyc4jsbd2mi3rb4znn4xvt5vzua3b45mmsi64gdz"}'),
    ],
)  # fmt: skip
def test_what_a_run_decides_is_a_difference(left: str, right: str) -> None:
    assert not difference(left, right, "json").same


def test_times_that_were_measured() -> None:
    left = '{"cache_event_time": 1795289116096371246, "time_taken_ns": 68355399325, "compile_time_us": 1, "time_saved_ms": 2.5}'
    right = '{"cache_event_time": 1795289215238230297, "time_taken_ns": 15842426395, "compile_time_us": 9, "time_saved_ms": 1e3}'
    assert difference(left, right, "json").same and difference(left, right, "json").hidden == 4


def test_the_line_of_an_alias_is_no_difference() -> None:
    tree = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n+- LAMBDA_GUARD: {}  # {}  # m.py:{} in f\n"
    one, two = tree.format("G['a'].F is G['b'].F", "F.silu(a)", 3), tree.format("G['a'].F is G['b'].F", "F.relu(a)", 9)
    assert difference(one, two, "guards").same
    assert not difference(one, tree.format("G['a'].F is G['c'].F", "F.relu(a)", 9), "guards").same
    checked = tree.format("x is not None", "F.silu(a)", 3), tree.format("x is not None", "F.relu(a)", 9)
    assert not difference(*checked, "guards").same


def test_it_takes_linear_time() -> None:
    paths = ("a/", "/a", "a.py/", "/c" + "a" * 50, "path': '/", "File: /a", "/site-packages/.py")
    for piece in (*paths, "cuda:1", "'1')", "_c10d_functional.f(x, '1')", "index=1", '"a_ns": 1'):
        text = piece * 20_000
        normalised(text)
        normalised(text, own_rules(RankIdentity("cuda", 1, True), text))
