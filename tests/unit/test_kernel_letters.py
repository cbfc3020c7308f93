"""One letter per kernel, the same in all panes of provenance mode."""

from __future__ import annotations

from functools import lru_cache

import pytest
from real import trace

from tltui.model.nodes import Compile
from tltui.questions.provenance.pane_layout import CODE, UNLETTERED, KernelLetters
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.provenance.records import CPP, KERNEL, POST, PY, SOURCE, UnitProvenance, correspondence
from tltui.text.line_correspondence import letters

UNITS = [
    ("torch-2.13/train", "0/0", 0), ("torch-2.13/train", "0/0", 1), ("torch-2.13/aoti", "none", 0), ("provenance/llama", "0/0", 0),
    ("provenance/cpp_wrapper", "0/0", 0),
]  # fmt: skip


@lru_cache
def unit_of(name: str, ref: str, number: int) -> tuple[UnitProvenance, KernelLetters]:
    compile_ = trace(name).resolve(ref)
    assert isinstance(compile_, Compile)
    unit = provenance_of(compile_).units[number]
    return unit, KernelLetters(unit.kernels, correspondence(unit))


def text(label_of: KernelLetters, pane: int, line: int) -> str:
    label = label_of.label(pane, line)
    return label.text if label is not None else ""


@pytest.mark.parametrize(("name", "ref", "number"), UNITS)
def test_each_call_has_its_letter_in_the_order_of_the_code(name: str, ref: str, number: int) -> None:
    unit, kernel_letters = unit_of(name, ref, number)
    called = [kernel for kernel in unit.kernels if kernel.call_lines and kernel.mapped]
    assert called
    in_order = [kernel_letters.letter(kernel) for kernel in sorted(called, key=lambda kernel: kernel.call_lines)]
    assert in_order == sorted(in_order, key=lambda text: (len(text), text)) and len(set(in_order)) == len(called)
    for kernel in called:
        assert {text(kernel_letters, kernel.call_pane, line - 1) for line in kernel.call_lines} == {kernel_letters.letter(kernel)}
    assert max(len(text(kernel_letters, pane, line)) for pane in (POST, *CODE) for line in range(2000)) <= kernel_letters.width


@pytest.mark.parametrize(("name", "ref", "number"), UNITS)
def test_a_line_has_the_first_letter_of_the_calls_that_correspond_to_it(name: str, ref: str, number: int) -> None:
    unit, kernel_letters = unit_of(name, ref, number)
    groups = correspondence(unit)
    several = 0
    for pane in (SOURCE, POST):
        for line in range(400):
            matches = [(code, n) for code in CODE for lo, hi in groups.matches(pane, line, code) for n in range(lo, hi + 1)]
            own = [kernel for kernel in unit.kernels if any((kernel.call_pane, n - 1) in matches for n in kernel.call_lines)]
            assert {kernel.key for kernel in kernel_letters.kernels(pane, line)} == {kernel.key for kernel in own}
            wanted = min(map(kernel_letters.letter, own), key=lambda x: (len(x), x), default="")
            more = "+" if len(own) > 1 else ""
            several += bool(more)
            assert text(kernel_letters, pane, line) == (wanted + more if own else UNLETTERED if groups.groups(pane, line) else "")
    assert several or name == "torch-2.13/aoti"


def test_comments_and_definitions_have_the_letters_of_their_calls() -> None:
    unit, kernel_letters = unit_of("torch-2.13/train", "0/0", 0)
    call = next(kernel for kernel in unit.kernels if kernel.name == "extern_kernels.addmm" and kernel.handle == 4)
    line = call.call_lines[0] - 1
    assert [text(kernel_letters, PY, n) for n in range(line - 3, line + 2)] == ["", "d", "d", "d", ""]
    fused = next(kernel for kernel in unit.kernels if kernel.definition)
    assert fused.definition is not None and text(kernel_letters, PY, fused.definition[1] - 1) == kernel_letters.letter(fused) == "a"
    unit, kernel_letters = unit_of("torch-2.13/aoti", "none", 0)
    fused = next(kernel for kernel in unit.kernels if kernel.definition)
    assert fused.definition is not None and (fused.call_pane, fused.definition_pane) == (CPP, KERNEL)
    assert text(kernel_letters, KERNEL, fused.definition[0] - 1) == kernel_letters.letter(fused)


def test_a_kernel_that_is_called_twice_has_two_letters_at_its_definition() -> None:
    unit, kernel_letters = unit_of("provenance/llama", "0/0", 0)
    calls = [kernel for kernel in unit.kernels if "mul_silu" in kernel.name]
    assert len(calls) == 2 and calls[0].definition == calls[1].definition and calls[0].definition is not None
    assert text(kernel_letters, PY, calls[0].definition[0] - 1) == f"{kernel_letters.letter(calls[0])}+"


def test_letters_go_on_after_z() -> None:
    unit, kernel_letters = unit_of("provenance/llama", "0/0", 0)
    assert len(unit.kernels) == 34 and kernel_letters.letter(unit.kernels[33]) == letters(33) == "ah" and kernel_letters.width == 3
