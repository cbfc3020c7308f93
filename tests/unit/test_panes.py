"""What provenance mode is made of, as text: panes, titles, what corresponds, where keys lead."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import PurePosixPath

import pytest
from real import trace

from tltui.model.nodes import Compile
from tltui.questions.provenance import pane_layout as p
from tltui.questions.provenance import pane_sections as q
from tltui.questions.provenance.pane_layout import LAYERS, Layout, Spot, Trail
from tltui.questions.provenance.pane_sections import Panes, UnitCosts, strip_lines
from tltui.questions.provenance.records import CPP, DERIVED, KERNEL, POST, PRE, PY, SOURCE
from tltui.screens.provenance import ReadUnit, read_unit
from tltui.text.document import Options, piece_text
from tltui.text.formatting import cells

THERE = (SOURCE, PRE, POST, PY)
AOTI = (SOURCE, PRE, POST, CPP, KERNEL)


@lru_cache
def panes_of(name: str, ref: str, number: int = 0) -> Panes:
    run = trace(name)
    compile_ = run.resolve(ref)
    assert isinstance(compile_, Compile)
    got: list[ReadUnit] = []
    for _ in read_unit(run, compile_, None, lambda found: number, Options(), got.append):
        pass
    panes = got[0].panes
    assert panes is not None
    return panes


def train() -> Panes:
    return panes_of("torch-2.13/train", "0/0")


def strip(panes: Panes, pane: int, line: int, shown: Collection[int]) -> list[str]:
    return ["".join(map(piece_text, pieces)) for pieces in strip_lines(panes, pane, line, shown, 80)]


def line_with(panes: Panes, pane: int, text: str) -> int:
    document = panes.documents[pane]
    return next(n for n in range(len(document)) if text in document.line(n).text)


@pytest.mark.parametrize("size, layout", [
    ((80, 24), Layout(2, is_stacked=True)), ((80, 19), Layout(1)), ((99, 50), Layout(2, is_stacked=True)), ((100, 24), Layout(2)),
    ((159, 10), Layout(2)), ((160, 40), Layout(3)), ((199, 40), Layout(3)), ((200, 60), Layout(4)), ((400, 100), Layout(4)),
])  # fmt: skip
def test_a_screen_has_the_layout_for_its_size(size: tuple[int, int], layout: Layout) -> None:
    assert p.layout(*size) == layout and layout.has_strip == (layout.count < 3)


@pytest.mark.parametrize("count, there, chosen", [
    (1, THERE, (SOURCE,)), (2, THERE, (SOURCE, PY)), (3, THERE, (SOURCE, POST, PY)), (4, (LAYERS, *THERE), THERE),
    (2, AOTI, (SOURCE, CPP)), (3, AOTI, (SOURCE, POST, CPP)), (4, AOTI, (SOURCE, PRE, POST, CPP)),
    (2, (SOURCE, PRE, POST), (SOURCE, POST)), (3, (SOURCE, PY), (SOURCE, PY)), (2, (PRE,), (PRE,)),
])  # fmt: skip
def test_source_and_code_come_first(count: int, there: tuple[int, ...], chosen: tuple[int, ...]) -> None:
    assert p.first_choice(count, there) == chosen


def test_a_source_without_lines_has_no_claim_to_a_place() -> None:
    assert p.first_choice(2, THERE, lines=0) == (POST, PY)
    assert p.first_choice(2, (SOURCE, PY), lines=0) == (SOURCE, PY)


def test_every_choice_of_panes_comes_once() -> None:
    first = chosen = p.first_choice(2, THERE)
    seen = []
    for _ in range(6):
        seen.append(chosen)
        chosen = p.next_choice(chosen, THERE)
    assert chosen == first and len(set(seen)) == 6
    assert seen[:3] == [(SOURCE, PY), (SOURCE, POST), (SOURCE, PRE)], "your source stays first"
    assert p.next_choice((KERNEL,), THERE) == (KERNEL,)


def test_a_pane_that_comes_replaces_the_least_wanted_one() -> None:
    assert p.with_pane((SOURCE, PY), POST) == (SOURCE, POST) and p.with_pane((SOURCE, POST), PY) == (SOURCE, PY)
    assert p.with_pane((SOURCE, POST, PY), PRE) == (SOURCE, PRE, PY) and p.with_pane((SOURCE, PY), PY) == (SOURCE, PY)
    assert p.with_pane((SOURCE, PY), LAYERS) == (LAYERS, SOURCE) and p.with_pane((PRE,), POST) == (POST,)
    assert p.share(PY) > p.share(POST) == p.share(SOURCE)


@pytest.mark.parametrize("path, width, said", [
    ("/home/me/transformers/models/llama/modeling_llama.py:311", 30, "…/llama/modeling_llama.py:311"),
    ("/home/me/transformers/models/llama/modeling_llama.py:311", 23, "…/modeling_llama.py:311"),
    ("/home/me/transformers/models/llama/modeling_llama.py:311", 22, "…modeling_llama.py:311"),
    ("/home/me/transformers/models/llama/modeling_llama.py:311", 21, "…odeling_llama.py:311"),
    ("a.py:3", 6, "a.py:3"), ("/a/b.py", 7, "/a/b.py"), ("/a/b.py", 6, "…/b.py"), ("<eval_with_key>.7", 8, "…_key>.7"),
    ("/日本語/語.py:12", 12, "…/語.py:12"), ("abc", 0, "…"),
])  # fmt: skip
def test_a_path_keeps_its_end(path: str, width: int, said: str) -> None:
    found = q.from_right(path, width)
    assert found == said
    assert cells(found) <= max(width, 1) and path.endswith(found.removeprefix("…"))


def test_titles_are_a_word_and_a_file() -> None:
    panes = train()
    line = line_with(panes, SOURCE, "x=x+s.o(")
    assert panes.title(SOURCE, line, 60) == "source …/models/train.py:10"
    assert panes.title(SOURCE, line, 22) == "source …/train.py:10"
    assert panes.title(SOURCE, 0, 60) == "source …/models/train.py", "of a heading its file"
    assert panes.title(POST, 3, 60) == "post-grad graph" and panes.title(PRE, 3, 60) == "pre-grad graph"
    assert panes.title(PY, 3, 60) == "generated code …xsr4.py" and panes.title(PY, 3, 20) == "generated code …4.py"
    assert panes.title(SOURCE, line, 9) == "source"


def test_enter_goes_one_step_back_towards_the_source() -> None:
    panes, shown = train(), (SOURCE, POST, PY)
    call = line_with(panes, PY, "extern_kernels.addmm(primals_8")
    found = panes.follow(PY, call, shown)
    assert found is not None and found[0] == POST
    assert any("addmm" in panes.documents[POST].line(line).text for line in found[1])
    node = line_with(panes, POST, "addmm_1:")
    found = panes.follow(POST, node, shown)
    assert found is not None and found[0] == SOURCE
    assert "x=x+s.o(" in panes.documents[SOURCE].line(found[1][0]).text
    found = panes.follow(SOURCE, found[1][0], shown)
    assert found is not None and found[0] == PY and call in found[1], "the call, not the comment above it"
    assert panes.documents[PY].line(call - 1).text.lstrip().startswith("#")
    with_pre = panes.follow(POST, node, (SOURCE, PRE, POST, PY))
    assert with_pre is not None and with_pre[0] == PRE
    assert panes.follow(POST, 0, shown) is None, "the class line maps to nothing"


def test_where_names_are_defined() -> None:
    panes, shown = train(), (SOURCE, POST, PY)
    line = line_with(panes, POST, "addmm_1:")
    node = panes.definition(POST, line + 1, "addmm_1", shown)
    assert node == (POST, line) and panes.definition(POST, line, "addmm_1", shown) is None
    assert panes.is_defined(POST, line, "addmm_1") and not panes.is_defined(POST, line + 1, "addmm_1")
    call = next(kernel for kernel in panes.unit.kernels if kernel.definition)
    assert call.definition is not None
    assert panes.definition(PY, call.call_lines[0] - 1, call.name, shown) == (PY, call.definition[0] - 1)
    assert panes.definition(PY, 10, "addmm_1", shown) == (POST, line), "a node that the code only names"
    assert panes.definition(PY, 10, "addmm_1", (SOURCE, PY)) is None
    assert panes.definition(PY, 10, "no_such", shown) is None


def test_a_kernel_of_aotinductor_is_defined_in_another_text() -> None:
    panes = panes_of("torch-2.13/aoti", "none")
    kernel = next(own for own in panes.unit.kernels if own.definition_pane == KERNEL and own.definition)
    assert kernel.definition is not None and kernel.call_pane == CPP
    assert panes.definition(CPP, kernel.call_lines[0] - 1, kernel.name, (SOURCE, POST, CPP)) == (KERNEL, kernel.definition[0] - 1)
    assert panes.kernels_at(KERNEL, kernel.definition[0] - 1) == [kernel]


def test_the_places_that_backspace_knows() -> None:
    trail = Trail()
    assert trail.back() is None
    for line in (1, 1, 2):
        trail.leave(Spot(0, PY, line))
    assert [trail.back(), trail.back(), trail.back()] == [Spot(0, PY, 2), Spot(0, PY, 1), None]
    for line in range(1000):
        trail.leave(Spot(0, PY, line))
    assert len(trail.spots) == p.TRAIL and trail.back() == Spot(0, PY, 999)


def test_what_is_said_of_a_line() -> None:
    panes = train()
    node = panes.about(POST, line_with(panes, POST, "addmm_1:"))
    assert node.startswith("addmm_1: f32[32, 16][16, 1]cpu · ") and "read by" in node, "the type that the pane leaves out"
    call = panes.about(PY, line_with(panes, PY, "extern_kernels.addmm(primals_8"))
    assert call == "extern_kernels.addmm:4 computes addmm_1 from train.py:10"
    assert panes.about(SOURCE, line_with(panes, SOURCE, "x=x+s.o(")).startswith("became 7 nodes · in extern_kernels.addmm:4, ")
    assert panes.about(POST, 0) == q.NOT_MAPPED
    assert panes.about(SOURCE, 0) == (
        "/home/user/models/train.py is not readable on this machine; its lines are those that torch recorded"
    )
    for pane, text in ((SOURCE, "x=x+s.o("), (PY, "extern_kernels.addmm(primals_8")):
        assert panes.about(pane, line_with(panes, pane, text), has_strip=True) == "", "the strip has it"


def test_three_lines_on_what_is_not_in_sight() -> None:
    panes = train()
    node = line_with(panes, POST, "addmm_1:")
    said = strip(panes, POST, node, [POST])
    assert [line.split()[0] for line in said] == ["source", "pre", "runs"]
    assert "train.py:10  x=x+s.o(" in said[0] and "linear_1 = torch._C._nn.linear(" in said[1]
    assert said[2] == " runs   d extern_kernels.addmm:4  1 of 10 kernels"
    call = line_with(panes, PY, "extern_kernels.addmm(primals_8")
    said = strip(panes, PY, call, [PY])
    assert [line.split()[0] for line in said] == ["source", "pre", "post"]
    assert "aten.addmm.default(" in said[2] and '"f32' not in said[2]
    words = {(SOURCE, PY): ["pre", "post", "runs"], (POST, PY): ["source", "pre", "runs"], (SOURCE, POST): ["pre", "runs"]}
    for shown, expected in words.items():
        assert [line.split()[0] for line in strip(panes, POST, node, shown)] == expected
    for pane in THERE:
        for line in range(0, len(panes.documents[pane]), 7):
            lines = strip_lines(panes, pane, line, [pane], 80)
            assert len(lines) == (3 if panes.is_mapped(pane, line) else 1)
            assert all(sum(cells(piece_text(piece)) for piece in own) <= 80 for own in lines)
    assert strip(panes, POST, 0, [POST]) == [f" {q.NOT_MAPPED}"]


def test_further_calls_of_a_kernel_are_listed_by_their_handles() -> None:
    panes = panes_of("provenance/llama", "0/0")
    pre, post, runs = strip(panes, SOURCE, line_with(panes, SOURCE, "return nn.functional.silu(input)"), (SOURCE, PY))
    assert pre.endswith("2 nodes") and re.search(r" \d+  neg_2 = aten.neg.default.* · exp_1 · .*  8 nodes$", post)
    assert re.fullmatch(r" runs   \w+ cpp_fused_\S*mul_silu_5:\d+ · \w+ :\d+  2 of 34 kernels", runs)
    assert all(cells(line) <= 80 for line in strip(panes, SOURCE, 4, (SOURCE, PY)))


def test_what_is_derived_is_marked() -> None:
    panes = panes_of("provenance/unrecorded", "0/0")
    derived = [kernel for kernel in panes.unit.kernels if kernel.nodes_from in DERIVED and kernel.call_lines]
    assert derived, "torch recorded nothing of this"
    line = derived[0].call_lines[0] - 1
    assert panes.is_derived(PY, line) and not panes.is_derived(PY, 0)
    assert panes.about(PY, line).endswith("≈ nodes derived from the code, not recorded by torch")
    assert any(panes.is_derived(POST, n) for n in panes.matches(PY, line, POST))
    said = strip(panes, PY, line, [PY])
    assert "≈" in said[2] and ("≈" in said[0]) == (derived[0].lines_from in DERIVED)
    recorded = train()
    assert not any(recorded.is_derived(pane, n) for pane in THERE for n in range(len(recorded.documents[pane])))


def test_what_lines_took() -> None:
    panes = panes_of("torch-2.13/train", "0/0", 1)
    kernels = [kernel for kernel in panes.unit.kernels if kernel.call_lines][:3]
    born = next(own for own in panes.unit.lines if own.post_nodes and own.file)
    us = {kernel.key: 10.0 * (n + 1) for n, kernel in enumerate(kernels)}
    lines = {f"{born.file}:{born.line}": 1250.0}
    panes.take_costs(UnitCosts({**us, "gone": 1.0}, {born.post_nodes[0].name: 5.0}, lines, lambda us: us / 30, "a step"))
    assert panes.hot(PY) == [kernel.call_lines[0] - 1 for kernel in reversed(kernels)]
    assert panes.hot(POST) == [born.post_nodes[0].line - 1] and panes.hot(PRE) == []
    assert panes.about(PY, panes.hot(PY)[0]).startswith("30 µs a step · ")
    line = panes.hot(SOURCE)[0]
    assert panes.about(SOURCE, line).startswith("1.25 ms a step · ")
    assert panes.title(SOURCE, line, 80).endswith(f"{PurePosixPath(born.file).name}:{born.line}") and panes.heat(15) == 0.5


@pytest.mark.parametrize("us, said", [
    (0.42, "0.4 µs"), (9.99, "10.0 µs"), (812.4, "812 µs"), (1250, "1.25 ms"), (43630, "43.6 ms"), (2.5e6, "2.5 s"),
])  # fmt: skip
def test_times_are_short(us: float, said: str) -> None:
    assert q.duration(us) == said


def test_a_layer_corresponds_to_what_is_in_it() -> None:
    panes = train()
    tree = [panes.documents[LAYERS].line(n).text.split()[0] for n in range(len(panes.documents[LAYERS]))]
    assert tree == ["e", "b.0", "ln", "q", "o", "m", "0", "1", "2", "h"]
    layer, out, m = tree.index("b.0"), tree.index("o"), tree.index("m")
    call, node = line_with(panes, PY, "extern_kernels.addmm(primals_8"), line_with(panes, POST, "addmm_1:")
    for line in (layer, out):
        assert call in panes.matches(LAYERS, line, PY) and node in panes.matches(LAYERS, line, POST)
    assert call not in panes.matches(LAYERS, m, PY) and node not in panes.matches(LAYERS, m, POST)
    assert panes.matches(POST, node, LAYERS) == [out], "the innermost one"
    assert panes.matches(SOURCE, line_with(panes, SOURCE, "x=x+s.o("), LAYERS) == [out]
    assert panes.matches(POST, 0, LAYERS) == [] and panes.matches(LAYERS, out, LAYERS) == [out]
    found = panes.follow(LAYERS, out, (LAYERS, SOURCE, POST, PY))
    assert found is not None and found[0] == PY and call in found[1]
    assert panes.follow(SOURCE, line_with(panes, SOURCE, "x=x+s.o("), (LAYERS, SOURCE, POST, PY))[0] == PY  # type: ignore[index]
    assert panes.about(LAYERS, out).startswith("b.0.o · 4 nodes in 2 kernels")
    assert panes.is_mapped(LAYERS, 0) and panes.label(LAYERS, 0) is None
    assert [line.split()[0] for line in strip(panes, LAYERS, out, [LAYERS])] == ["source", "post", "runs"]
    assert [panes.next_mapped(LAYERS, 0), panes.next_mapped(LAYERS, 9), panes.next_mapped(LAYERS, 1, back=True)] == [1, None, 0]
    assert p.first_choice(4, panes.documents) == THERE and p.share(LAYERS) < 1
    assert panes.title(LAYERS, 0, 30) == "layers"


def test_one_operation_without_anything_recorded() -> None:
    """The program of torch-spyre's page: `x + y`, caches off."""
    panes = panes_of("provenance/one_op", "0/0")
    (kernel,) = panes.unit.kernels
    assert kernel.post_nodes == ("add",) and kernel.user_lines == ("/home/user/one_op.py:11",)
    source, call = line_with(panes, SOURCE, "return x + y"), kernel.call_lines[0] - 1
    found = panes.follow(SOURCE, source, (SOURCE, POST, PY))
    assert found == (PY, [call])
    node = panes.follow(PY, call, (SOURCE, POST, PY))
    assert node is not None and node[0] == POST and "add" in panes.documents[POST].line(node[1][0]).text
    assert panes.follow(POST, node[1][0], (SOURCE, POST, PY)) == (SOURCE, [source])
    assert LAYERS not in panes.documents and p.first_choice(4, panes.documents) == THERE
