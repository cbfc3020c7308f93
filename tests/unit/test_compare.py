"""Comparing: what counts as a difference and what does not, on real traces; pages that are read; patches that apply."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import ROOT, fresh
from results import result_in
from viewed import lead_somewhere, opened, text

from tltui import cli
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, diff_ref
from tltui.model.run import Run
from tltui.questions.compare.artifacts_page import CompareResult
from tltui.questions.compare.comparable_lines import Difference, difference
from tltui.questions.compare.page import compare_nodes, patch_of
from tltui.questions.compare.pairing import artifact_pairs, compile_pairs, text_of, varies
from tltui.text.document import Document, Options
from tltui.text.normalisation import normalised

TORCH = "tests/traces/torch-2.13/"
DEMO = "src/tltui/demo"
TWICE = TORCH + "twice_a", TORCH + "twice_b"


def compiles(run: Run) -> list[Compile]:
    return [c for process in run.processes() for frame in process.frames.values() for c in frame.compiles]


def between(name: str, left: str, other: str, right: str, width: int = 100) -> Document:
    run = opened(name)
    document = compare_nodes(run, left, run if other == name else opened(other), right, Options(width=width))
    while not document.advance():
        pass
    return document


@pytest.mark.parametrize(
    ("golden", "trace", "left", "right"),
    [
        ("recompiles_compiles", "recompiles", "0/0", "0/1"),
        ("recompiles_guards", "recompiles", "0/0:dynamo_cpp_guards_str", "0/1:dynamo_cpp_guards_str"),
        ("recompiles_graphs", "recompiles", "0/0:dynamo_output_graph", "0/1:dynamo_output_graph"),
        ("recompiles_code", "recompiles", "0/0:inductor_output_code", "0/1:inductor_output_code"),
        ("recompiles_metrics", "recompiles", "0/0:compilation_metrics", "0/1:compilation_metrics"),
        ("dyn_compiles", "dyn", "0/0", "1/0"),
        ("ddp_ranks", "ddp", "0:", "1:"),
        ("ddp_compiles", "ddp", "0:4/0", "1:4/0"),
        ("ddp_guards", "ddp", "0:4/0:dynamo_cpp_guards_str", "1:4/0:dynamo_cpp_guards_str"),
    ],
)
def test_golden_within_a_run(golden: str, trace: str, left: str, right: str) -> None:
    run = opened(TORCH + trace)
    document = page(run, diff_ref(left, right), 100)
    assert_golden(f"diff_{golden}", text(document))
    lead_somewhere(run, document)
    for width in (60, 80, 160):
        other = page(run, diff_ref(left, right), width, ascii_=width == 60)
        assert len(other) > 0
        assert width != 60 or all(line.isascii() for line in other.text())
        if ":" not in left.strip(":").partition("/")[2]:  # payloads are as wide as they are
            assert not [line for line in other.text() if len(line) > max(width, 76)]


@pytest.mark.parametrize("ref", ["", "0/0"])
def test_golden_of_two_runs(ref: str) -> None:
    document = between(TORCH + "cache_miss", ref, TORCH + "cache_hit", ref)
    assert_golden(f"diff_cache_{'compile' if ref else 'runs'}", text(document))


def test_golden_of_the_demo() -> None:
    run = opened(DEMO)
    document = page(run, diff_ref("0:", "1:"), 100)
    assert_golden("diff_demo_ranks", text(document))
    lead_somewhere(run, document)


@pytest.mark.parametrize(
    "name", ["recompiles", "dyn", "ddp", "breaks", "errors", "ca", "train", "vllm_like", "aoti", "export_failed"]
)
def test_a_thing_does_not_differ_from_itself(name: str) -> None:
    run = opened(TORCH + name)
    document = compare_nodes(run, "", fresh(ROOT / TORCH / name), "", Options())
    while not document.advance():
        pass
    found = document.data()
    assert isinstance(found, CompareResult)
    assert {row.outcome for row in found.rows} <= {"same"}
    for compile_ in compiles(run)[:4]:
        for artifact in artifacts_of(compile_):
            for raw in (False, True):
                own = read(artifact_text(run, str(artifact.ref)), artifact.kind.language, raw)
                assert own.same and own.hidden == 0 and own.added == own.removed == 0


def artifact_text(run: Run, ref: str) -> str:
    from tltui.model.artifacts import Artifact
    from tltui.questions.compare.pairing import text_of

    node = run.resolve(ref)
    assert isinstance(node, Artifact)
    return text_of(node)


def read(own: str, language: str, raw: bool) -> Difference:
    return difference(own, own, language, raw)


def test_two_runs_of_one_script_do_not_differ() -> None:
    """Graphs, guards, output code, inputs and symbols are the same; metrics differ in listed fields only."""
    document = between(TWICE[0], "0/0", TWICE[1], "0/0")
    found = document.data()
    assert isinstance(found, CompareResult)
    assert {row.name: row.outcome for row in found.rows if row.outcome != "same"} == {}
    assert {"dynamo_cpp_guards_str", "inductor_output_code", "dynamo_output_graph", "inductor_post_grad_graph",
            "compilation_metrics"} <= {row.name for row in found.rows}  # fmt: skip
    assert not found.guards and not found.inputs and not found.symbols
    assert any(row.ignored_lines for row in found.rows), "the traces are too alike for this test"
    assert_golden("diff_twice", text(between(TWICE[0], "", TWICE[1], "")))


def test_fields_of_metrics_that_vary() -> None:
    a, b = (opened(name).resolve("0/0:compilation_metrics") for name in TWICE)
    left, right = (node.log.event(node.record) for node in (a, b))  # type: ignore[union-attr]
    differing = {key for key in left.keys() | right.keys() if left.get(key) != right.get(key)}
    assert differing and all(varies(key) for key in differing), differing


def test_compiles_are_paired_by_code_and_ordinal_not_by_id() -> None:
    run = opened(TORCH + "ddp")
    left, right = ([c for c in compiles(run) if c.process.rank == rank] for rank in (0, 1))
    pairs = compile_pairs(left, right)
    assert all(p.left.frame.code[0] == p.right.frame.code[0] for p in pairs if p.left and p.right)
    assert [str(p.right.ref) for p in pairs if p.left is None and p.right] == ["1:0/1", "1:5/0"]
    for pair in pairs:
        if pair.left and pair.right:
            assert all(a.left.name == a.right.name for a in artifact_pairs(pair.left, pair.right) if a.left and a.right)


def test_a_function_that_an_edit_moved_is_still_itself(tmp_path: Path) -> None:
    source = next((ROOT / TORCH / "recompiles").glob("*.log"))
    moved = tmp_path / "moved" / source.name
    moved.parent.mkdir()
    moved.write_bytes(
        source.read_bytes().replace(b'"co_firstlineno": 2,', b'"co_firstlineno": 7,')
        .replace(b'"line": 2, "name": "f"', b'"line": 7, "name": "f"')
    )  # fmt: skip
    left, right = compiles(opened(TORCH + "recompiles")), compiles(fresh(moved.parent))
    pairs = compile_pairs(left, right)
    assert [bool(p.left and p.right) for p in pairs if (p.left or p.right) and (p.left or p.right).is_compile] == [True] * 5  # type: ignore[union-attr]


# graphs

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[4]", primals_2: "f32[4]"):
        # File: /home/user/m.py:3 in f, code: y = x * w
        mul: "f32[4]" = torch.ops.aten.mul.Tensor(primals_1, primals_2);  primals_2 = None
        add: "f32[4]" = torch.ops.aten.add.Tensor(mul, 1);  mul = None
        # File: /home/user/m.py:4 in f, code: return y.sin().sum()
        sin: "f32[4]" = torch.ops.aten.sin.default(add);  add = None
        sum_1: "f32[]" = torch.ops.aten.sum.default(sin);  sin = None
        return (sum_1,)
"""


def changed(right: str, left: str = GRAPH) -> tuple[list[str], list[str]]:
    found = difference(left, right, "fx")
    gone = [line.strip() for c in found.changes if not c.same for line in found.left.lines[c.a0 : c.a1]]
    new = [line.strip() for c in found.changes if not c.same for line in found.right.lines[c.b0 : c.b1]]
    return gone, new


def test_an_inserted_node_makes_only_its_users_differ() -> None:
    extra = '        neg: "f32[4]" = torch.ops.aten.neg.default(add);  add = None\n'
    lines = GRAPH.split("\n")
    right = "\n".join([*lines[:6], extra.rstrip("\n"), lines[6].replace("(add);  add", "(neg);  neg"), *lines[7:]])
    gone, new = changed(right)
    assert [line.partition(":")[0] for line in gone] == ["sin"]
    assert [line.partition(":")[0] for line in new] == ["neg", "sin"]


def test_renumbering_is_no_difference() -> None:
    right = GRAPH
    for name in ("mul", "add", "sin"):
        right = re.sub(rf"(?<![\w.]){name}\b", f"{name}_7", right)
    right = right.replace("sum_1", "sum_9")
    found = difference(GRAPH, right, "fx")
    assert found.same and found.hidden == 5


def test_another_operation_makes_it_and_its_users_differ() -> None:
    gone, new = changed(GRAPH.replace('sin: "f32[4]" = torch.ops.aten.sin', 'sin: "f32[4]" = torch.ops.aten.cos'))
    assert [line.partition(":")[0] for line in gone] == ["sin", "sum_1"] == [line.partition(":")[0] for line in new]


def test_another_dtype_makes_only_that_node_differ() -> None:
    gone, new = changed(GRAPH.replace('add: "f32[4]"', 'add: "bf16[4]"'))
    assert [line.partition(":")[0] for line in gone] == ["add"] == [line.partition(":")[0] for line in new]


def test_an_edit_above_in_the_source_is_no_difference() -> None:
    assert difference(GRAPH, GRAPH.replace("m.py:3", "m.py:9").replace("m.py:4", "m.py:10"), "fx").same
    assert not difference(GRAPH, GRAPH.replace("code: y = x * w", "code: y = x * v"), "fx").same


def test_another_input_before_the_others_makes_only_itself_differ() -> None:
    right = GRAPH.replace("primals_2", "primals_3").replace("primals_1", "primals_2")
    right = right.replace("self, ", 'self, primals_1: "i64[9]", ')
    gone, _ = changed(right)
    assert [line for line in gone if "def forward" not in line] == []


@pytest.mark.parametrize("broken", ["", "no graph", "class A:\n", GRAPH[:120], "\0\n" * 50, "{" * 5000, "[" * 5000])
@pytest.mark.parametrize("language", ["fx", "guards", "json", "traceback", "output_code", "unheard of"])
def test_damaged_texts_are_compared_all_the_same(broken: str, language: str) -> None:
    for left, right in ((broken, GRAPH), (GRAPH, broken), (broken, broken)):
        assert difference(left, right, language).same == (left == right)


# what any two runs differ in


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("___check_type_id(L['x'], 94717840243856)", "___check_type_id(L['x'], 94404813188144)"),
        ("___check_obj_id(G['f'], 140538630935136), type=<class 'x'>", "___check_obj_id(G['f'], 7654321), type=<class 'x'>"),
        ("<function f at 0x7f00aa11bb22>", "<function f at 0x7ffffa11bb22>"),
        ("/tmp/torchinductor_anna/ab/cabc.py", "/tmp/torchinductor_otto/zz/cxyz.py"),
        ("open('/tmp/tmpab12_x/f.so')", "open('/tmp/tmpzz99/f.so')"),
        (f"triton_{'a1' * 16}", f"triton_{'b2' * 16}"),
        ("# [Provenance debug handles] cpp_fused_mul_0:3", "# [Provenance debug handles] cpp_fused_mul_0:4"),
        ("# graph id: 3", "# graph id: 11"),
        ("# AOT ID: ['1_inference']", "# AOT ID: ['7_inference']"),
        ("Guard latency = 45.38 us", "Guard latency = 1.2 us"),
        ("at 2026-11-20 12:01:02.123", "at 2025-01-02 03:04:05"),
        ("__compiled_fn_1_0a1b2c3d_1111_2222_3333_0123456789ab", "__compiled_fn_4_ffffffff_1111_2222_3333_0123456789ab"),
        ("G['__builtins_dict___8']", "G['__builtins_dict___10']"),
        ("ops = {'b', 'a'}", "ops = {'a', 'b'}"),
    ],
)
def test_what_any_two_runs_differ_in_is_hidden_and_counted(left: str, right: str) -> None:
    found = difference(f"{left}\nx", f"{right}\nx", "output_code")
    assert found.same and found.hidden == 1
    assert not difference(left, right, "output_code", raw=True).same


@pytest.mark.parametrize(
    ("left", "right"),
    [("size=[3]", "size=[4]"), ("L['n'] == 2", "L['n'] == 3"), ("add_3", "add_2"), ("num_threads: 2", "num_threads: 4"),
     ("seed = 140000", "seed = 150000"), ("cpp_fused_add_0", "cpp_fused_mul_0"), ("{1, 2}", "{2, 1}")],
)  # fmt: skip
def test_what_differs_is_not_hidden(left: str, right: str) -> None:
    assert not difference(left, right, "output_code").same


def test_normalising_takes_linear_time() -> None:
    for piece in ("/a", "___check_", "a1", "c", "0x", "{'a', ", "[Provenance debug handles] "):
        normalised(piece * 20_000)


def test_guards_in_another_order_are_the_same() -> None:
    tree = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- {0}\n| | +- A_MATCH: x\n| +- {1}\n| | +- B_MATCH: y\n"
    one, two = (f"GuardManager: source=L['{n}'], accessed_by=D('{n}'), type=<class 'int'>, tag_safe=(True, False)" for n in "ab")
    left = tree.format(one, two)
    right = f"TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- {two}\n| | +- B_MATCH: y\n| +- {one}\n| | +- A_MATCH: x\n"
    assert difference(left, right, "guards").same


def test_the_depth_of_the_framework_in_a_traceback_is_no_difference() -> None:
    frame = '  File "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/x.py", line {}, in g\n    return h()\n'
    user = '  File "/home/user/m.py", line 3, in f\n    g()\n'
    left, right = (user + "".join(frame.format(n) for n in lines) + "Error: x" for lines in ((1, 2), (5, 6, 7, 8)))
    assert difference(left, right, "traceback").same
    assert not difference(left, right.replace("Error: x", "Error: y"), "traceback").same
    assert not difference(left, right.replace("m.py", "n.py"), "traceback").same


# patches


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch here")
@pytest.mark.parametrize("name", ["dynamo_output_graph", "dynamo_cpp_guards_str", "inductor_output_code", "compilation_metrics"])
def test_the_raw_patch_makes_one_of_the_other(name: str, tmp_path: Path) -> None:
    run = opened(TORCH + "recompiles")
    bodies = [raw(run, f"0/{n}:{name}") for n in (0, 1)]
    file = tmp_path / name
    file.write_bytes(bodies[0])
    patch = b"".join(line + b"\n" for line in patch_of(run, f"0/0:{name}", run, f"0/1:{name}"))
    subprocess.run(["patch", "-s", "-p1"], input=patch, cwd=tmp_path, check=True)
    assert file.read_bytes() == bodies[1]
    if shutil.which("git"):
        file.write_bytes(bodies[0])
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "apply"], input=patch, cwd=tmp_path, check=True)
        assert file.read_bytes() == bodies[1]


def raw(run: Run, ref: str) -> bytes:
    from tltui.model.artifacts import Artifact
    from tltui.questions.compare.pairing import raw_of

    node = run.resolve(ref)
    assert isinstance(node, Artifact)
    return raw_of(node)


# the command


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / TORCH / "recompiles")
    assert cli.main(["diff", path, "0/0", "0/1", "--json"]) == 0
    found = result_in(capsys.readouterr().out)
    assert {"name", "left", "right", "outcome", "added"} <= found["rows"][0].keys()
    assert {fact["name"] for fact in found["facts"]} >= {"status", "time", "guard_count"}
    assert cli.main(["diff", path, "0/0:dynamo_output_graph", "0/1:dynamo_output_graph", "--json"]) == 0
    assert result_in(capsys.readouterr().out)["hunks"][0]["left"]
    assert cli.main(["diff", path, "0/0:dynamo_output_graph", "0/1:dynamo_output_graph", "--raw"]) == 0
    assert capsys.readouterr().out.startswith("--- a/dynamo_output_graph\n+++ b/")
    assert cli.main(["diff", path, "0/0", "0/1:dynamo_output_graph"]) == 2
    assert "not of the same kind" in capsys.readouterr().err
    assert cli.main(["diff", path, "0/0", "0/1", "--raw"]) == 2
    assert "two artifacts" in capsys.readouterr().err


def test_addresses_that_are_no_comparison() -> None:
    run = opened(TORCH + "recompiles")
    for ref in ("@diff", "@diff::0/0", diff_ref("0/0", "9/9"), diff_ref("0/0", "0/1:dynamo_output_graph")):
        with pytest.raises(BadAddress):
            page(run, ref)


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_a_cut_line_shows_what_differs(width: int) -> None:
    from tltui.questions.compare.page import around

    text = "check_tensor(" + "x" * 120 + ", size=[3])"
    place = text.index("3]")
    short, words = around(text, [(place, place + 1)], width)
    assert len(short) <= width
    if width > 50:
        assert [short[a:b] for a, b in words] == ["3"]


def test_metrics_that_are_no_table_of_fields(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().add("compilation_metrics", [1, "a"]).start(compile_=1)
    run = log.add("compilation_metrics", [1, "b"], compile_=1).open()
    one, other = (run.resolve(f"0/{n}:compilation_metrics") for n in (0, 1))
    assert isinstance(one, Artifact) and isinstance(other, Artifact)
    assert text_of(one) == '[1, "a"]' and text_of(one) != text_of(other)
