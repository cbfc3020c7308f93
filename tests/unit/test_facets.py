"""What a compile amounts to on whichever rank: what is a rank's own is no part of it, everything else is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ranked import ranked
from replaying import HeldWriters

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.ranks.compile_facets import (
    bare,
    code_digest,
    collectives_fact,
    course_of,
    dumps_in,
    estimates_fact,
    graph_fact,
    guards_fact,
    inputs_fact,
    parity_fact,
    settings_fact,
)
from tltui.questions.ranks.differences import differences_of
from tltui.questions.ranks.rank_course import FACETS, Course, Fact
from tltui.sources.discover import discover
from tltui.text.normalisation import RankIdentity

OWN = RankIdentity("cuda", 1, True)


def job(path: Path, *arguments: object) -> Run:
    ranked(path, "--detail", "tiny", *arguments)
    return open_run(discover([str(path)]))


def courses(run: Run) -> list[Course]:
    return [course_of(process) for process in run.processes()]


# texts

GUARD = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['x'], accessed_by=GetItem
| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, torch.float16, device=K, requires_grad=False, size=[4, 8])  # f.py:3 in f
| | +- ID_MATCH: ___check_obj_id(L['f'], 1399211731144K6)
| | +- EQUALS_MATCH: G['rank'] == K

Guard latency = 7K.30 us
"""


def test_guards_of_two_ranks() -> None:
    def of(device: int, text: str = GUARD) -> bytes:
        own = RankIdentity("cuda", device, True)
        return guards_fact(bare(text.replace("K", str(device)).encode(), own), own).digest

    assert of(0) == of(1) == of(7)
    for was, now in (
        ("size=[4, 8]", "size=[4, 9]"), ("requires_grad=False", "requires_grad=True"), ("G['rank'] ==", "G['size'] =="),
        ("device=K", "device=5"), ("float16", "float32"),
    ):  # fmt: skip
        assert was in GUARD and of(1, GUARD.replace(was, now)) != of(1), now
    assert of(1, GUARD.replace(":3 in f", ":4 in f")) == of(1), "the line of the code is no guard"
    said = guards_fact(GUARD.replace("K", "1").encode(), OWN).text.split("\n")
    assert "EQUALS_MATCH: G['rank'] == ‹rank›" in said


CODE = """
# kernel path: /tmp/torchinductor_me/attempt_0/K/xx/c{}.py
with torch.cuda._DeviceGuard(K):
    torch.cuda.set_device(K)
    buf0 = empty_strided_cuda((4, 8), (8, 1), torch.float16)
    streamK = get_raw_stream(K)
    triton_poi_fused_0.run(arg0_1, buf0, 32, stream=streamK)
"""


def test_code_of_two_ranks() -> None:
    def of(device: int, text: str = CODE) -> bytes:
        own = RankIdentity("cuda", device, True)
        return code_digest(bare(text.format("abcd23" * 8 + "abcd"[device % 4]).replace("K", str(device)).encode(), own), own)

    assert of(0) == of(1) == of(6)
    assert of(1, CODE.replace("_DeviceGuard(K)", "_DeviceGuard(5)")) != of(1), "another device than the own one"
    assert of(1, CODE.replace("(8, 1)", "(1, 4)")) != of(1)


def test_what_is_taken_out_of_bytes_says_nothing() -> None:
    text = b'x: "f32[3]cuda:1" at 0x7f00aa11bb22; y: "f32[3]cuda:11"; # graph id: 140735; stream10 = 1; index=1)'
    assert bare(text, OWN).decode() == 'x: "f32[3]cuda:‹own›" at 0xA; y: "f32[3]cuda:11"; # graph id: N; stream10 = 1; index=‹own›)'
    assert bare(text, RankIdentity(of_rank=True)).count(b"cuda:1") == 2, "a rank without a device has none of its own"


def test_a_graph_says_how_many_nodes_it_has() -> None:
    graph = b'def forward(self, x: "f32[2]cuda:1"):\n    y: "f32[2]cuda:1" = torch.relu(x);  x = None\n    return (y,)\n'
    other = graph.replace(b"cuda:1", b"cuda:3")
    assert graph_fact(graph, OWN).text == "3 nodes" and graph_fact(graph, OWN) == graph_fact(other, RankIdentity("cuda", 3, True))
    assert graph_fact(b"", OWN).digest == b""


# inputs


def tensor(number: int, describer: int, device: int, stride: str = "[8, 1]", address: str = "0x7f01") -> bytes:
    device_said = f"device(type='cuda', index={device})"
    fields = f'"ndim": 2, "dtype": "torch.float16", "device": "{device_said}", "size": [4, 8], "is_leaf": true'
    view = f'"view_func": "_CustomViewFunc(func=<built-in method of Tensor at {address}>)"'
    rest = f'"stride": {stride}, "storage": {number}, {view}, "describer_id": {describer}'
    return f'V0916 08:00:00.061000 1 m.py:487] {{"describe_tensor": {{"id": {number}, {fields}, {rest}}}, "rank": 0}}'.encode()


def source(number: int, describer: int, name: str) -> bytes:
    told = json.dumps({"describe_source": {"describer_id": describer, "id": number, "source": name}, "rank": 0})
    return f"V0916 08:00:00.061000 1 meta_utils.py:1899] {told}".encode()


def test_inputs_are_known_by_their_source() -> None:
    one = inputs_fact([tensor(0, 0, 1), tensor(3, 0, 1)], [source(0, 0, "L['a']"), source(3, 0, 'L["b"]')], OWN)
    what = "float16 · [4, 8] · stride [8, 1] · cuda"
    assert one.text.split("\n") == [f'L["b"]: {what}', f"L['a']: {what}"]
    other = [tensor(5, 9, 2, address="0x7fff"), tensor(1, 9, 2)]
    assert inputs_fact(other, [source(1, 9, 'L["b"]'), source(5, 9, "L['a']")], RankIdentity("cuda", 2, True)) == one
    assert inputs_fact([tensor(0, 0, 1, "[1, 4]"), tensor(3, 0, 1)], [source(0, 0, "L['a']")], OWN) != one
    assert "cuda:5" in inputs_fact([tensor(0, 0, 5)], [source(0, 0, "L['a']")], OWN).text
    assert inputs_fact([tensor(0, 0, 1)], [], OWN).digest == b"", "what has no source is no input"
    assert inputs_fact([b"V0916 torn", tensor(0, 0, 1)[:200]], [b"", source(0, 0, "L['a']")[:90]], OWN).digest == b""


# settings


def test_settings_are_told_by_name_and_value() -> None:
    def line(limit: int, directory: str) -> bytes:
        config = json.dumps(json.dumps({"recompile_limit": limit, "verbose": False, "debug_dir_root": directory}))
        inductor = json.dumps(json.dumps({"verbose": True, "x": [1, '"", "']}))
        return f'V] {{"compilation_metrics": {{"a": 1, "dynamo_config": {config}, "config_suppress_errors": false, ' \
               f'"inductor_config": {inductor}, "is_runtime": false}}, "rank": 1}}'.encode()  # fmt: skip

    def settings(line: bytes) -> Fact:
        return settings_fact(dumps_in(line), OWN, lambda _, make: make())

    own = settings(line(8, "/tmp/rank_1/debug"))
    assert own.text.split("\n")[0] == "recompile_limit 8" and "config_suppress_errors false" in own.text
    assert {"dynamo_config.verbose false", "inductor_config.verbose true"} <= set(own.text.split("\n"))
    assert settings(line(8, "/tmp/rank_2/debug")).digest == own.digest, "a directory is no setting"
    assert "debug_dir_root ‹tmp›\tdebug_dir_root /tmp/rank_1/debug" in own.text, "behind the tab as it is printed"
    assert settings(line(16, "/tmp/rank_1/debug")) != own
    assert settings(b'{"compilation_metrics": {"dynamo_config": "{\\"torn').digest == b""


# collectives


def schedule(*names: str) -> bytes:
    return json.dumps([f"torch.ops._c10d_functional.{name}.default" for name in names]).encode()


def test_collectives_keep_their_order() -> None:
    said = collectives_fact([schedule("all_reduce_", "wait_tensor")]).text
    assert said == "1. _c10d_functional.all_reduce_\n2. _c10d_functional.wait_tensor"
    assert collectives_fact([schedule("a", "b")]).digest != collectives_fact([schedule("b", "a")]).digest
    assert collectives_fact([schedule("a"), schedule("b")]) == collectives_fact([schedule("a", "b")])
    assert collectives_fact([b"torn", b"{}"]).digest == b""


def test_a_schedule_that_is_not_what_the_code_calls() -> None:
    code = b"    buf1 = torch.ops._c10d_functional.all_reduce_.default(buf0)\n    # torch.ops._c10d_functional.a.default(x)\n"
    assert parity_fact([schedule("all_reduce_")], [code]).digest == b""
    assert parity_fact([schedule("all_reduce_", "wait_tensor")], [code]).text == "wait_tensor: 1 in the schedule, 0 in the code"
    assert parity_fact([schedule("all_reduce_")], [b"nothing of the kind"]).digest == b"", "C++ code names them otherwise"


def test_measured_estimates_are_no_difference() -> None:
    def meta(nanoseconds: float, stride: int = 8) -> bytes:
        output = {"shape": [4, 8], "stride": [stride, 1], "dtype": "float16"}
        return json.dumps({"ops": [{"name": "op0", "estimated_runtime_ns": nanoseconds, "outputs": [output]}]}).encode()

    one, total = estimates_fact(meta(100.5))
    assert total == 100.5 and estimates_fact(meta(180.0))[0] == one != estimates_fact(meta(100.5, 1))[0]
    assert estimates_fact(b"[]")[0].digest == b""


# whole courses


def test_healthy_ranks_have_one_course(tmp_path: Path) -> None:
    found = courses(job(tmp_path / "job", "--ranks", 10, "--compiles", 3, "--recompiles", 1, "--seed", 21))
    assert len({id(course) for course in found}) == 1, "equal courses are one object"
    assert [step.id for step in found[0].steps] == ["0/0", "0/1", "1/0", "1/1", "2/0", "2/1"]
    assert all(len(step.facets) == len(FACETS) for step in found[0].steps)


def test_equal_texts_are_laid_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tltui.questions.ranks import compile_facets

    made: list[str] = []
    for name in ("guards_fact", "code_digest", "graph_fact"):
        own = getattr(compile_facets, name)
        monkeypatch.setattr(compile_facets, name, lambda text, device, own=own, name=name: made.append(name) or own(text, device))
    courses(job(tmp_path / "job", "--ranks", 32, "--compiles", 2, "--seed", 22))
    assert {name: made.count(name) for name in set(made)} == {"guards_fact": 8, "graph_fact": 16, "code_digest": 16}, (
        "of 2 functions with equal guards on 8 devices, not of 32 ranks"
    )


def test_of_a_backward_that_may_still_come_nothing_is_said(tmp_path: Path) -> None:
    """Rank 2 lacks the schedule and the code of its last compile: a difference once its log has ended, and not before."""
    ranked(tmp_path / "job", "--ranks", 3, "--compiles", 2, "--detail", "tiny", "--seed", 23)
    path = next((tmp_path / "job").glob("*rank_2_*.log"))
    text = path.read_bytes()
    records = re.split(rb"\n(?=V\d{4} )", text.rstrip(b"\n"))
    gone = [n for n, one in enumerate(records) if b'"inductor_collective_schedule"' in one or b'"inductor_output_code"' in one]
    path.write_bytes(b"\n".join(one for n, one in enumerate(records) if n not in gone[-2:]) + b"\n")
    writers = HeldWriters()
    held = differences_of(open_run(discover([str(tmp_path / "job")]), writers))
    assert held is not None and held.divergences == ()
    writers.over = True
    over = differences_of(open_run(discover([str(tmp_path / "job")]), writers))
    assert over is not None
    told = [(d.properties[0], d.id, str(d.groups[1].ranks), d.groups[1].description) for d in over.divergences]
    assert told == [("collectives", "1/0", "2", "no collectives")]


def test_two_processes_at_once_with_one_rank_are_said(tmp_path: Path) -> None:
    ranked(tmp_path / "job", "--ranks", 3, "--compiles", 2, "--detail", "tiny", "--seed", 24)
    path = next((tmp_path / "job").glob("*rank_2_*.log"))
    twin = re.sub(rb"(?m)^(V\d{4} \S+ )\d+", rb"\g<1>77", path.read_bytes())
    (tmp_path / "job" / "dedicated_log_torch_trace_rank_2_twin.log").write_bytes(twin)
    found = differences_of(open_run(discover([str(tmp_path / "job")])))
    assert found is not None and [(str(one.ranks), one.is_concurrent) for one in found.restarted] == [("2", True)]
    assert found.count == 0
