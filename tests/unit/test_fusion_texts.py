"""Scheduler IR and the log of fusion, as torch wrote them and as nobody would."""

from __future__ import annotations

import time
from collections import Counter, defaultdict

import pytest
from real import TRACES
from text_inputs import messages, text_log

from tltui.model.artifacts import artifact_name
from tltui.text.colours.sections import find_sections
from tltui.text.graphs.fusion_log import FusionRun, Refusal
from tltui.text.graphs.fusion_log import parse as parse_log
from tltui.text.graphs.scheduler_ir import IrNode, is_node, members_of, parse

UNITS = sorted((TRACES / "inputs").glob("*/torch_compile_debug/*/torchinductor/*/ir_post_fusion.txt"))
COUNTS = {"mlp": (4, 46, 28), "recompiles": (6, 6, 6), "breaks": (5, 5, 5), "dyn": (3, 9, 9), "fusion": (3, 153, 67)}
"""Units, operations, nodes after fusion."""


def text_units(name: str) -> tuple[list[tuple[IrNode, ...]], list[tuple[IrNode, ...]], list[FusionRun]]:
    """IR before and after fusion, and what the log says, of the units of a text log in their order."""
    log = text_log(f"{name}/{'train' if name == 'fusion' else 'stderr'}.txt.xz")
    texts: dict[str, dict[tuple[object, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for record in messages(log):
        kind, context = log.kind(record), log.context(record)
        what = kind.name if kind.event == "log" else artifact_name(kind)
        texts[what][context.frame, context.compile].append(log.text(record))
    found: list[list[tuple[IrNode, ...]]] = []
    for what in ("ir_pre_fusion", "ir_post_fusion"):
        found.append([parse(text.split("\n")) for own in texts[what].values() for text in own])
    return found[0], found[1], [run for own in texts["fusion"].values() for run in parse_log(own)]


@pytest.mark.parametrize("name", COUNTS)
def test_log_and_ir_say_the_same(name: str) -> None:
    before, after, runs = text_units(name)
    assert (len(runs), sum(map(len, before)), sum(map(len, after))) == COUNTS[name]
    for pre, post, run in zip(before, after, runs, strict=True):
        assert {frozenset(own) for own in run.groups()} == {frozenset(node.operations) for node in post}
        assert [node.name for node in pre] == [candidate.name for candidate in run.candidates]
        assert run.announced == len(pre) and run.rounds[-1] == (len(post), len(post)) and run.is_complete
        assert {leaf.name for node in post for leaf in node.leaves()} == {node.name for node in pre}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: f"{path.parts[-5]}-{path.parts[-2]}")
def test_what_every_node_has(path: object) -> None:
    text = path.read_text()  # type: ignore[attr-defined]
    nodes = parse(text.split("\n"))
    assert nodes
    for node in nodes:
        assert node.writes and node.outputs and node.last > node.first
        assert {dep.buffer for dep in node.writes} == {out.name for out in node.outputs}
        for leaf in node.leaves():
            assert all(out.layout for out in leaf.outputs)
            if leaf.kind == "SchedulerNode":
                assert leaf.device == "cpu" and leaf.sizes.startswith("([") and leaf.iteration and leaf.body
                assert all(dep.index or dep.kind != "MemoryDep" for dep in (*leaf.writes, *leaf.reads))


def mlp(direction: str = "forward_1.0", when: str = "post") -> str:
    """The IR of a unit of a training step."""
    return next(path for path in UNITS if "mlp" in path.parts and direction in path.parent.name).with_name(
        f"ir_{when}_fusion.txt").read_text()  # fmt: skip


def test_a_fused_node() -> None:
    node = parse(mlp().split("\n"))[0]
    assert (node.name, node.kind) == ("op0_op1_op2_op3_op4", "OuterLoopFusedSchedulerNode")
    assert node.operations == ("op0", "op1", "op2", "op3", "op4")
    assert [dep.buffer for dep in node.reads] == ["primals_1", "primals_2", "primals_3"]
    assert (node.reads[0].index, node.reads[0].sizes) == ("c1", (("c0", "4"), ("c1", "16")))
    first = node.members[0]
    assert (first.sizes, first.iteration, first.class_name) == ("([4], [16])", "((4,), (16,))", "ComputedBuffer")
    assert node.outputs[1].users == ("op2", "op4", "OUTPUT")
    assert node.outputs[0].layout == "FixedLayout('cpu', torch.float32, size=[4, 1], stride=[1, 4])"
    assert first.body is not None and mlp().split("\n")[first.body[0]] == "class op0_loop_body:"


def test_an_external_node() -> None:
    node = parse(mlp().split("\n"))[1]
    assert (node.kind, node.kernel, node.is_generated) == ("ExternKernelSchedulerNode", "extern_kernels.addmm", False)
    assert (node.reads[0].kind, node.reads[0].buffer) == ("StarDep", "buf4")


def test_what_is_changed_in_place() -> None:
    nodes = [node for own in text_units("fusion")[1] for node in own]
    changed = {out.name: out.mutations for node in nodes for out in node.outputs if out.mutations}
    assert changed and all(name.startswith("buf") and len(own) == 1 for name, own in changed.items())
    assert {dep.kind for node in nodes for dep in node.reads} == {"MemoryDep", "StarDep", "WeakDep"}
    assert any(dep.other for node in nodes for dep in node.reads if dep.kind == "WeakDep")


def test_any_beginning_of_it() -> None:
    """What is cut off anywhere has the nodes that stand before the cut."""
    text = mlp()
    whole = parse(text.split("\n"))
    for end in range(0, len(text), 7):
        nodes = parse(text[:end].split("\n"))
        assert [node.name for node in nodes] == [node.name for node in whole[: len(nodes)]]
        find_sections("ir", text[:end].split("\n"))
    assert len(parse(text[: text.index("\n", 1)].split("\n"))) == 1, "a head alone is a node"
    cut_off = parse(text[: text.index("op0_op1_op2_op3_op4.snodes[2]")].split("\n"))[0]
    assert cut_off.operations == whole[0].operations, "its name tells what its members would"


ODD = (
    "", "\n\n\n", "op0: SchedulerNode(", "op0: SchedulerNode(ComputedBuffer)\nop0.writes = [MemoryDep('a', ((((, {",
    "op0: FusedSchedulerNode()\nop0.snodes[0] =\nop0.snodes[0] =\nop0: SchedulerNode(X)",
    "op1.writes = [StarDep(name='buf0', mode=None)]", "op0: X(Y)\nop0.outputs = [\n    buf0: A\n    buf1.users = [NodeUser(node=\n",
    "\x00\x1b[31mop0: SchedulerNode(X)", "op0_op1: Fused(a)\nop9.snodes[3] =\nop1: S(X)", "buf0_buf1: FusedSchedulerNode(A,B)",
)  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_odd_texts(text: str) -> None:
    for node in parse(text.split("\n")):
        assert node.operations
    find_sections("ir", text.split("\n"))
    parse_log([text])


def test_names_of_older_torch() -> None:
    assert members_of("buf0_buf12") == ("buf0", "buf12")
    assert members_of("true_graph_0_op0_true_graph_0_op1") == ("true_graph_0_op0", "true_graph_0_op1")
    assert members_of("extern_thing") == ("extern_thing",) and not is_node("extern_thing")


def test_triton_code_belongs_to_its_node() -> None:
    lines = [
        "op0: SchedulerNode(ComputedBuffer)", "op0.writes = [MemoryDep('buf0', c0, {c0: 4})]", "op0 Triton code:",
        "    import triton", "", "", "    def triton_poi(in_ptr0):", "        op7: X(Y)", "", "",
        "op1: NopKernelSchedulerNode(ComputedBuffer)",
    ]  # fmt: skip
    assert [(node.name, node.first, node.last) for node in parse(lines)] == [("op0", 0, 7), ("op1", 10, 10)]


def test_sections_nest() -> None:
    sections = find_sections("ir", mlp().split("\n"))
    assert Counter(section.level for section in sections) == {0: 5, 1: 10, 2: 9}
    assert sections[0].title.startswith("op0_op1_op2_op3_op4  Outer")


def test_five_thousand_nodes_take_linear_time() -> None:
    block = mlp("backward_3.1").split("\n\n\n")[0]

    def seconds(count: int) -> float:
        lines = "\n\n\n".join(block for _ in range(count)).split("\n")
        start = time.process_time()
        assert len(parse(lines)) == count
        return time.process_time() - start

    seconds(10)
    few, many = min(seconds(500) for _ in range(3)), min(seconds(5000) for _ in range(2))
    assert many < 25 * few


def test_a_long_line_takes_no_long_time() -> None:
    start = time.process_time()
    for text in ("op0.writes = [" + "MemoryDep('a', " * 50_000, "op0_" * 100_000 + ": X()", "op" * 200_000 + ": X()"):
        parse(["op0: SchedulerNode(X)", text])
        parse_log([text, "  SchedulerNode(name='op0'), " + text])
    assert time.process_time() - start < 5


def test_reasons_are_told_once() -> None:
    runs = text_units("mlp")[2]
    refused = [refusal for run in runs for refusal in run.refused]
    assert len(refused) == 36 and sum(refusal.times for refusal in refused) == 62
    assert Counter(refusal.reason for refusal in refused) == {"intermediate nodes between node1 & node2": 30, "no shared data": 6}
    assert runs[0].refused[0] == Refusal("op0", "op2", "intermediate nodes between node1 & node2", 2)


def test_where_candidates_come_from() -> None:
    own = {candidate.name: candidate for candidate in text_units("mlp")[2][0].candidates}
    assert own["op4"].origins == ("add_1", "mul_1", "mul", "sub", "getitem_1", "var_mean")
    assert (own["op0"].does, own["op9"].does, own["op5"].does) == ("Reduction", "Pointwise", "")
    assert own["op0"].place == ("/home/user/job/mlp.py", 7) and own["op5"].place == ("", 0)


def test_a_log_without_its_beginning_or_end() -> None:
    said = ["cannot fuse op0 with op1: no shared data", "fusing op2 with op3", "===== attempting fusion (2/10): 3 nodes ====="]
    (run,) = parse_log(said)
    assert run.refused and run.groups() == (("op2", "op3"),) and not run.is_complete
    both = parse_log([*said, "===== attempting fusion (1/10): 2 nodes =====", "fusing op0 with op1"])
    assert [run.groups() for run in both] == [(("op2", "op3"),), (("op0", "op1"),)]


def test_what_a_later_pass_fuses_counts() -> None:
    (run,) = parse_log([
        "===== attempting fusion (1/10): 2 nodes =====", "  SchedulerNode(name='op0')", "  SchedulerNode(name='op1')",
        "===== fusion complete (1 iterations) =====", "fuse_nodes_once, candidates:", "fusing op0 with op1",
    ])  # fmt: skip
    assert run.groups() == (("op0", "op1"),)


def test_what_was_timed() -> None:
    (run,) = parse_log([
        "===== attempting fusion (1/10): 2 nodes =====",
        "cannot fuse (benchmark): fusing OrderedSet(['buf0']) with OrderedSet(['buf1', 'buf2']) cause "
        "\x1b[31m1.204\x1b[0mx slowdown",
    ])  # fmt: skip
    own = run.measured[0]
    assert (own.first, own.second, own.is_fused, own.factor) == (("buf0",), ("buf1", "buf2"), False, "1.204")
