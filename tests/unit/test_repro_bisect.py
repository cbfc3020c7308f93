"""Texts of `tltui repro --bisect`: nothing of a trace becomes more than a graph, and the script finds its own nodes."""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

import make_trace as mt
import pytest
from real import TRACES, fresh, opened, trace
from test_repro import HOSTILE, OWN, TRACED, assert_arithmetic, graph

from tltui.cli import main
from tltui.model.nodes import Compile
from tltui.model.run import in_order
from tltui.writers.repro.graph_classes import read_graph
from tltui.writers.repro.script import Parts, repro_of, script_of
from tltui.writers.repro.script_inputs import repro_facts

IMPORTS = OWN | {"ast", "contextlib", "copy", "io", "warnings", "torch._functorch.config"}
FIXED = {"Values", "Wider", "Cut"}


def assert_harmless(script: str) -> ast.Module:
    """Only arithmetic in the graphs, only fixed imports, and only literals in the tables."""
    tree = ast.parse(script)
    compile(script, "bisect.py", "exec")
    assert script.isascii()
    imported = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
    assert imported == IMPORTS
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules == {"math", "torch._inductor.compiler_bisector"}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name not in FIXED:
            assert node.name.partition("_")[0] == "Graph"
            assert {type(each) for each in node.body} <= {ast.FunctionDef}
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and not ast.unparse(call).startswith("super()"):
                    assert_arithmetic(call, node)
    return tree


def table(tree: ast.Module, name: str) -> object:
    (value,) = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )
    return ast.literal_eval(value)


def fixed_text(script: str) -> list[str]:
    """The lines before the devices, and those from the function that makes values on: no text of the trace."""
    begin, _, rest = script.partition("\nDEVICE_")
    return [begin.partition("import argparse")[2], rest.partition("\nclass Values:")[2]]


def bisecting(name: str, ref: str, only: str | None = None) -> str:
    compile_ = trace(name).resolve(ref)
    assert isinstance(compile_, Compile)
    result = repro_of(compile_, only, bisects=True)
    assert result.script, result.refused
    return result.script


@pytest.mark.parametrize("log", TRACED, ids=lambda log: f"{log.parent.name}-{log.stem}"[-60:])
def test_every_script_has_a_form_that_bisects(log: Path) -> None:
    """The same graph or the same refusal as without the option."""
    seen: set[str] = set()
    for compile_ in in_order(opened(log)):
        plain = repro_of(compile_)
        digest = hashlib.sha256((plain.script.partition("import argparse")[2] or plain.refused).encode()).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        result = repro_of(compile_, bisects=True)
        assert (result.graph, result.refused, result.tried) == (plain.graph, plain.refused, plain.tried)
        if result.script:
            tree = assert_harmless(result.script)
            kernels = table(tree, "KERNELS")
            assert isinstance(kernels, dict)
            names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
            assert kernels.keys() <= names


def test_the_fixed_text_is_the_same_in_every_script() -> None:
    texts = {tuple(fixed_text(bisecting(name, "0/0"))) for name in ("torch-2.13/train", "torch-2.13/dyn", "torch-2.13/ca")}
    assert len(texts) == 1


def test_kernels_of_the_trace_are_named() -> None:
    kernels = table(assert_harmless(bisecting("torch-2.13/train", "0/0")), "KERNELS")
    assert isinstance(kernels, dict)
    assert kernels["layer_norm"] == ("cpp_fused_embedding_native_layer_norm_0",)
    assert kernels["linear"][0] == "extern_kernels.addmm"
    of_post_grad = table(assert_harmless(bisecting("torch-2.13/train", "0/0", "inductor_post_grad_graph")), "KERNELS")
    assert isinstance(of_post_grad, dict)
    assert "cpp_fused_embedding_native_layer_norm_0" in of_post_grad["var_mean"]
    assert table(assert_harmless(bisecting("torch-2.13/train", "0/0", "aot_forward_graph")), "KERNELS") == {}


def test_the_header_and_the_options_are_those_of_the_form() -> None:
    script = bisecting("torch-2.13/train", "0/0")
    assert "# Run:     python repro.py [--device cpu] [--tolerance 1e-3] [--seed 0] [--no-bisector]\n" in script
    assert "# Expect:  NO DIFFERENCE and exit code 0, or DIFFERS with the first node" in script
    options = set(re.findall(r'add_argument\("(--[a-z-]+)"', script))
    assert options >= {"--tolerance", "--seed", "--device", "--no-bisector", "--max-bytes"}
    assert "--eager" not in options
    plain = repro_of(next(in_order(trace("torch-2.13/train")))).script
    assert "--eager" in re.findall(r'add_argument\("(--[a-z-]+)"', plain)
    assert "--tolerance" not in plain
    assert not re.search(r"\b(DESCRIPTION|OPTIONS|CPU_SECONDS|WALL_SECONDS|MAX_BYTES)\b", script + plain)


def test_random_graphs_are_known() -> None:
    assert table(assert_harmless(bisecting("torch-2.13/train", "0/0")), "IS_RANDOM") is True
    assert table(assert_harmless(bisecting("torch-2.13/recompiles", "0/0")), "IS_RANDOM") is False


def repro(tmp_path: Path, text: str) -> str:
    """The script of a compile that has this graph, or why there is none."""
    log = tmp_path / "dedicated_log_torch_trace_a.log"
    ids = {"frame": 0, "compile": 0, "attempt": 0}
    metrics = mt.record("compilation_metrics", {"compile_id": "0/0"}, **ids)
    log.write_bytes(mt.record("dynamo_output_graph", {"sizes": {}}, text, **ids) + metrics)
    (compile_,) = in_order(fresh(log))
    result = repro_of(compile_, bisects=True)
    return result.script or result.refused


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:50])
def test_hostile_graphs_are_refused(line: str, tmp_path: Path) -> None:
    assert repro(tmp_path, graph(line, "return (x,)")).startswith("0/0 cannot become a script: ")


def test_names_of_kernels_and_lines_are_text() -> None:
    hostile = "x', (__import__('os').system('true'),), 'é\n"
    text = graph(f"# File: /a.py:1 in f, code: {hostile!r}", "y = torch.relu(x);  x = None", "return (y,)")
    compile_ = trace("torch-2.13/train").resolve("0/0")
    assert isinstance(compile_, Compile)
    code = read_graph(text)
    script = script_of(Parts((hostile,), code, repro_facts(compile_), False, bisects=True, kernels=(("y", (hostile,)),)))
    tree = assert_harmless(script)
    assert table(tree, "KERNELS") == {"y": (hostile,)}
    assert "__import__" not in {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}


LOG = next(str(each.parent) for each in TRACED if each.parent.name == "dyn")
BREAKS = next(str(each.parent) for each in TRACED if each.parent.name == "breaks")


def test_the_command(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    target = tmp_path / "bisect.py"
    assert main(["repro", LOG, "1/0", "--bisect", "-o", str(target)]) == 0
    assert b"read it before you run it" in capsysbinary.readouterr().out
    assert_harmless(target.read_text())
    assert main(["repro", LOG, "1/0:aot_inference_graph", "--bisect", "-o", "-"]) == 0
    assert "# Graph:   1/0:aot_inference_graph: " in capsysbinary.readouterr().out.decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([LOG, "1/0", "--bisect"], "missing -o FILE"),
        ([LOG, "--bisect"], "missing REF\n  for example 0/1; "),
        ([str(TRACES / "torch-2.13" / "aoti"), "--bisect"], "tltui: the run has no compile\n"),
        ([LOG, "--bisect", "-o", "-"], "missing REF"),
        ([BREAKS, "2/0", "--bisect", "-o", "-"], "2/0 has no graph: Dynamo hit a graph break"),
        ([LOG, "0/0", "--bisect", "-o", "-", "--from", "nothing"], "not a graph of 0/0: 'nothing'"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["repro", *arguments]) == 2
    assert message in capsysbinary.readouterr().err.decode()
