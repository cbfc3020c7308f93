"""The line that calls a compiled function of torch: an optimizer's step, `clip_grad_norm_`."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from provenance_truth import CASES
from real import compile_at, fresh, opened

from tltui.model.nodes import Compile
from tltui.questions.provenance.graph_names import parse_graph
from tltui.questions.provenance.links import Texts
from tltui.questions.provenance.provenance import UnitProvenance, call_site, content_of, lines_below, provenance_of
from tltui.questions.provenance.records import Place

SITE = Place("/home/user/train.py", 30, "step", "adam()")
STEP = "/home/user/optimizer.py:39"
TORCH = "# step_t += 1  # optim/adam.py:414 in _single_tensor_adam"
GRAPH = [
    "class <lambda>(torch.nn.Module):",
    '    def forward(self, arg0_1: "f32[2]"):',
    "        # File: {}:{} in f, code: step_t += 1",
    '        add: "f32[2]" = torch.ops.aten.add.Tensor(arg0_1, 1)',
    "        return (add,)",
]


def unit(trace: str, ref: str) -> tuple[Compile, UnitProvenance]:
    [log] = (CASES / trace).glob("*.log*")
    compile_ = compile_at(opened(log), ref)
    [one] = provenance_of(compile_).units
    return compile_, one


@pytest.mark.parametrize("trace, source", [("optimizer", "dataflow"), ("optimizer_recorded", "call_site")])
def test_the_step_of_an_optimizer_is_called_by_an_own_line(trace: str, source: str) -> None:
    _, one = unit(trace, "3/0")
    assert [(kernel.user_lines, kernel.lines_from) for kernel in one.kernels] == [((STEP,), source)]
    [born] = [line for line in one.lines if line.owner == "own"]
    assert (f"{born.file}:{born.line}", born.code, len(born.post_nodes)) == (STEP, "adam()", one.coverage.nodes)
    assert any(line.owner == "torch" and line.post_nodes for line in one.lines), "the lines of torch keep their nodes"


@pytest.mark.parametrize("trace", ["optimizer", "optimizer_recorded"])
def test_a_stack_that_lacks_the_call_says_nothing(trace: str) -> None:
    """Torch leaves the two innermost callers out: `step()` calls the function that calls `clip_grad_norm_`."""
    compile_, one = unit(trace, "0/0")
    assert call_site(compile_) is None
    assert {line.owner for line in one.lines if line.file} == {"torch"}


@pytest.mark.parametrize("ref, own", [("1/0", set()), ("0/1", {"/home/user/optimizer.py:17"})])
def test_own_code_below_the_call_is_never_passed_over(ref: str, own: set[str]) -> None:
    _, one = unit("optimizer", ref)
    assert {line for kernel in one.kernels for line in kernel.user_lines} == own


def lines(guards: str, file: str = "/opt/venv/lib/python3.11/site-packages/torch/optim/adam.py") -> list[tuple[str, int]]:
    graph = parse_graph([line.format(file, 414) for line in GRAPH])
    return list(lines_below(SITE, Texts("inference", post=graph), guards))


def test_only_a_graph_of_torch_alone_belongs_to_the_call() -> None:
    guard = "| +- TYPE_MATCH: ___check_type_id(L['x'], 1)  "
    assert len(lines(f"{guard}{TORCH}")) == 1
    assert len(lines(f"{guard}{TORCH} (HINT: type list)\n{guard}# f()  # sr/lib/python3.11/contextlib.py:81 in inner")) == 1
    assert not lines(""), "without guards it is not known what ran"
    assert not lines(f"{guard}{TORCH}\n{guard}# return hook(x)  # ome/user/train.py:7 in hook"), "an own function ran"
    assert not lines(f"{guard}{TORCH}\n{guard}# return hook(x)  # transformers/optimization.py:7 in hook")
    assert not lines(f"{guard}{TORCH}", "/home/user/train.py"), "an own line in the graph"


def test_the_digest_of_the_texts_tells_apart_who_calls(tmp_path: Path) -> None:
    """Equal texts of two compiles are read once: the caller is not in them."""
    [packed] = (CASES / "optimizer").glob("*.log.xz")
    text = lzma.decompress(packed.read_bytes())
    log = tmp_path / "dedicated_log_torch_trace_other.log"
    log.write_bytes(text.replace(b'"line": 39, "name": "step"', b'"line": 38, "name": "step"'))
    other, (same, _) = compile_at(fresh(log), "3/0"), unit("optimizer", "3/0")
    assert content_of(other) != content_of(same)
