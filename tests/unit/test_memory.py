"""Tensors saved for backward and peaks, against hooks, variables of the wrapper and the allocator in the same programs."""

import json
from functools import cache
from typing import Any

import pytest
from real import TRACES, compile_at, fresh, opened, trace

from tltui.cli import main
from tltui.export import lines_of
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.memory.memory_report import ACTIVATION, INPUT, NO_PAIR, NO_SIZES, OUTPUT, PARAMETER, CompileMemory, memory_of
from tltui.questions.memory.wrapper_allocations import BRANCHES, CPP_WRAPPER
from tltui.text.document import Options

LOGS = ("programs", "compiled_autograd")
TRUTH: dict[str, tuple[str, dict[str, Any]]] = {
    name: (log, entry)
    for log in LOGS for name, entry in json.loads((TRACES / "memory" / log / "truth.json").read_text()).items()
}  # fmt: skip
"""Program → its log, and what was measured."""


@cache
def run_of(log: str) -> Run:
    [path] = (TRACES / "memory" / log).glob("*.xz")
    return fresh(path)


def memories(program: str) -> list[CompileMemory]:
    log, entry = TRUTH[program]
    return [memory_of(compile_at(run_of(log), ref)) for ref in entry["compiles"]]


def sums(memory: CompileMemory) -> dict[str, int | None]:
    found = {total.kind: total.storage_bytes for region in memory.saved for total in region.sums}
    return {f"{kind}s": found.get(kind, 0) for kind in (ACTIVATION, OUTPUT, INPUT, PARAMETER)}


@pytest.mark.parametrize("program", TRUTH)
def test_saved_bytes_are_those_of_the_hooks_and_peaks_those_of_the_wrapper(program: str) -> None:
    measured = TRUTH[program][1]
    found = memories(program)
    assert sums(found[0]) == measured["saved"]
    graphs = [graph for memory in found for graph in memory.graphs]
    assert [graph.reason for graph in graphs] == [""] * len(measured["peaks"])
    for graph, most in zip(graphs, measured["peaks"], strict=True):
        assert graph.peaks[0].peak_bytes == pytest.approx(most, rel=0.05) and not graph.unknown_calls


@pytest.mark.parametrize("program", TRUTH)
def test_the_allocator_agrees(program: str) -> None:
    """Its events have memory inside of library calls too, and gradients of the caller that a backward frees on its way."""
    graphs = [graph for memory in memories(program) for graph in memory.graphs]
    for n, (graph, more) in enumerate(zip(graphs, TRUTH[program][1]["allocator"], strict=True)):
        peak = graph.peaks[0]
        assert peak.start_bytes + more <= peak.peak_bytes * 1.05
        assert more == pytest.approx(peak.peak_bytes, rel=0.05) or n > 0


def test_a_backward_starts_with_what_its_forward_saved() -> None:
    [memory] = memories("budget_0.5")
    forward, backward = memory.graphs
    assert not forward.is_backward and forward.peaks[0].start_bytes == 0
    assert backward.is_backward and backward.peaks[0].start_bytes == sums(memory)["activations"]
    alive = backward.peaks[0].alive
    assert sum(storage.storage_bytes for storage in alive) == backward.peaks[0].peak_bytes
    assert {storage.is_saved for storage in alive} == {True, False}


def test_a_checkpoint_policy_is_the_reason() -> None:
    [region] = memories("selective")[0].saved
    saved = {tensor.name: (tensor.tag, tensor.partitioner_tag) for tensor in region.tensors if tensor.kind == ACTIVATION}
    assert saved == {
        "addmm": ("MUST_SAVE", ""), "addmm_2": ("MUST_SAVE", ""), "add_3": ("PREFER_RECOMPUTE", "MUST_SAVE"),
    }  # fmt: skip
    assert {group.tag for group in region.recomputed} == {"PREFER_RECOMPUTE"}
    [other] = memories("budget_0.1")[0].saved
    assert {group.tag for group in other.recomputed} == {""}, "the partitioner's choice"


def test_the_descriptions_of_inputs_are_read_for_symbols_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def inputs_of(*_: object) -> None:
        raise AssertionError("no size is a symbol")

    monkeypatch.setattr("tltui.questions.shapes.shape_env.inputs_of", inputs_of)
    [log] = (TRACES / "torch-2.13/train").glob("*.log")
    assert memory_of(compile_at(fresh(log), "0/0")).saved


def test_layers_and_lines() -> None:
    [region] = memories("budget_1")[0].saved
    layers = {tensor.name: tensor.layer for tensor in region.tensors if tensor.kind == ACTIVATION}
    assert layers["addmm"] == "blocks.0.mlp.up" and layers["addmm_2"] == "blocks.1.mlp.up"
    assert all(tensor.line.startswith("/home/user/scripts/memory.py:") for tensor in region.tensors if tensor.kind == ACTIVATION)
    weights = {tensor.parameter: tensor.layer for tensor in region.tensors if tensor.kind == PARAMETER}
    assert weights["blocks.0.mlp.down.weight"] == "blocks.0.mlp.down"


def test_views_share_a_storage() -> None:
    [region] = memories("transformer")[0].saved
    shared = {tensor.name: tensor.shares_storage_with for tensor in region.tensors if tensor.shares_storage_with}
    assert shared == {"select_1": "select", "select_2": "select"}
    whole = next(tensor for tensor in region.tensors if tensor.name == "select")
    assert whole.sizes == (4, 4, 16, 8) and whole.storage_bytes == 3 * 4 * 4 * 16 * 8 * 4, "the storage of all three"


def test_dynamic_sizes_are_formulas() -> None:
    [memory] = memories("dynamic")
    assert [(symbol.symbol, symbol.value) for symbol in memory.symbols] == [("s77", 48)]
    assert memory.saved[0].sums[0].formula == "2448*s77" and memory.saved[0].sums[0].storage_bytes == 2448 * 48
    assert memory.graphs[1].peaks[0].formula == "2960*s77 + 16384"


@pytest.mark.parametrize(("name", "ref", "reason"), [
    ("provenance/cpp_wrapper", "0/0", CPP_WRAPPER), ("provenance/subgraph", "0/0", BRANCHES),
    ("provenance/cond", "0/0", BRANCHES),
])  # fmt: skip
def test_an_unreadable_wrapper_has_a_reason_and_no_peak(name: str, ref: str, reason: str) -> None:
    memory = memory_of(compile_at(trace(name), ref))
    assert memory.graphs and all(graph.reason == reason and not graph.peaks for graph in memory.graphs if not graph.is_backward)


def test_without_graphs_or_sizes_there_is_no_peak() -> None:
    [debug_directory] = (TRACES / "inputs" / "mlp" / "torch_compile_debug").iterdir()
    graphs = [graph for compile_ in opened(debug_directory).compiles() for graph in memory_of(compile_).graphs]
    assert [graph.reason for graph in graphs] == ["", NO_PAIR, NO_SIZES, NO_PAIR]
    assert [len(graph.peaks) for graph in graphs] == [1, 0, 0, 0]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_page_fits_and_has_its_limits(width: int) -> None:
    document = build(run_of("programs"), "@memory:1/5", Options(width=width))
    while not document.advance():
        pass
    lines = list(lines_of(document, "text"))
    assert max(map(len, lines)) <= width
    text = " ".join(line.strip() for line in lines)
    assert "Memory used by eager code and inside library calls is unknown." in text and "fragmentation" in text
    assert "s77 = 48 at this compile" in text and "155 KB on cpu 2960*s77 + 16384 B" in " ".join(text.split())


def test_the_command_lists_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    [path] = (TRACES / "memory" / "compiled_autograd").glob("*.xz")
    assert main(["memory", "--ascii", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.isascii() and ["[0/0]", "Mlp.forward", "48.0", "KB", "54.0", "KB"] in [line.split() for line in out.splitlines()]


def column(capsys: pytest.CaptureFixture[str], arguments: list[str], title: str, width: int, count: int) -> list[str]:
    """Return the first cells below a title of a printed table."""
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(n for n, line in enumerate(lines) if title in line)
    at = lines[head].index(title)
    return [line[at : at + width].strip() for line in lines[head + 1 : head + 1 + count]]


def test_the_tables_are_sorted_by_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    by_line = column(capsys, ["memory", "--demo", "0:0/0", "--sort", "line"], "line ↑", 17, 10)
    assert by_line == sorted(by_line) and by_line[0] == "" and by_line[-1] == "train/model.py:21"
    by_name = column(capsys, ["memory", "--demo", "0:0/0", "--sort", "name"], "tensor ↑", 18, 10)
    assert by_name == sorted(by_name) and by_name[0] == "add_1"
    functions = column(capsys, ["memory", "--demo", "--sort", "name"], "function ↑", 13, 6)
    assert functions == sorted(functions) and len(set(functions)) == 3
    assert main(["memory", "--demo", "--sort", "total"]) == 2
