"""A graph as it is shown without annotations: another view, not another text."""

from __future__ import annotations

import re
import time

import pytest

from tltui.text.annotations import LONGEST, Unannotated, is_aside, left_out, shown_column, without
from tltui.text.document import Builder, Document, Hit, Line, Link, Span

ADD = '        add_1: "f32[8, 32, 64][2048, 64, 1]cpu" = torch.ops.aten.add.Tensor(x, y);  x = y = None'


def shown(text: str, language: str = "fx") -> str:
    return without(Line(text), left_out(language, text)).text


def document(*lines: str, language: str = "fx") -> Unannotated:
    builder = Builder("0/0:graph", "graph")
    for line in lines:
        builder.add(line)
    whole = builder.document()
    whole.language = language
    return Unannotated(whole)


@pytest.mark.parametrize("text, said", [
    (ADD, "    add_1 = aten.add.Tensor(x, y)"),
    ('    def forward(self, primals_1: "f32[3, 3]", s0: "Sym(s0)", *, z: "i64[]"):', "def forward(self, primals_1, s0, *, z):"),
    ("        add: f32[2, 3][3, 1]cpu = x + 1;  x = None", "    add = x + 1"),
    ("        s1: Sym(s1) = x.size(0)", "    s1 = x.size(0)"),
    ('        arg0_1: "f32[8]"', "    arg0_1"),
    ('        # File: a.py:3, code: x: "f32" = g(torch.ops.aten.x)', '    # a.py:3, code: x: "f32" = g(torch.ops.aten.x)'),
    ("        # File: /home/u/my models/mlp.py:18 in attend, code: a/b.py:3", "    # mlp.py:18 in attend, code: a/b.py:3"),
    (r"        # File: C:\u\mlp.py:18 in f", "    # mlp.py:18 in f"),
    ("        # File: is what is said here", "    # File: is what is said here"),
    ("        y = f('a: \"b\" = ', d['x: \"y\"'])", "    y = f('a: \"b\" = ', d['x: \"y\"'])"),
    ('y: "f32[s0]" = f("bc: \'d\'", a)', "y = f(\"bc: 'd'\", a)"),
    ("        x = my.torch.ops.aten(1);  y = x", "    x = my.torch.ops.aten(1);  y = x"),
    ("", ""),
])  # fmt: skip
def test_what_is_left_out_of_a_line(text: str, said: str) -> None:
    assert shown(text) == said


def test_code_keeps_its_text_and_what_computes_nothing_is_dimmed() -> None:
    assert shown("    assert_size_stride(a, (1,), (1,))", "output_code") == "    assert_size_stride(a, (1,), (1,))"
    for line in ("    assert_size_stride(a, (1,), (1,))", "        del buf0", "del a, b  # reuse"):
        assert is_aside("output_code", line) and not is_aside("fx", line)
    assert not is_aside("output_code", "        model = f(x)") and not is_aside("python", "        del_x = 3")
    view = document("    del buf0", "    buf1 = f()", language="output_code")
    assert [span.style for span in view.line(0).spans] == ["dim"] and not view.line(1).spans


def test_spans_links_and_columns_go_along() -> None:
    line = Line("ab: \"T\" = f(x)", (Span(0, 2, "name"), Span(4, 7, "type"), Span(10, 11, "function")), (Link(12, 13, "line:3"),))
    parts = left_out("fx", line.text)
    less = without(line, parts)
    assert less.text == "ab = f(x)" and less.spans == (Span(0, 2, "name"), Span(5, 6, "function"))
    assert less.text[less.links[0].start : less.links[0].end] == "x"
    assert [shown_column(column, parts) for column in (0, 2, 4, 7, 8)] == [0, 2, 2, 2, 3]


def test_the_text_is_the_real_one() -> None:
    view = document(ADD, "return (add_1,)")
    assert isinstance(view, Document)
    assert list(view.text()) == [ADD, "return (add_1,)"] == list(view.base.text()) and len(view) == 2
    assert view.length(0) == len(view.line(0).text) < len(ADD)
    assert view.line(0, 4, 9).text == "add_1" and view.line(0, 4, 9).first == 4


def test_what_is_left_out_is_found_and_then_shown() -> None:
    view = document(ADD, 'mul: "bf16[2]" = aten.mul(add_1, 2)')
    pattern = re.compile("2048|mul")
    assert list(view.find(pattern)) == [Hit(0, 9, 10), Hit(1, 0, 3), Hit(1, 11, 14)], "where it would begin"
    assert view.hits_in(0, pattern) == []
    view.opening = pattern
    assert view.line(0).text == ADD, "the line with a hit in what is left out is shown whole"
    assert view.line(1).text == "mul = aten.mul(add_1, 2)"
    hits = list(view.find(pattern, 1, back=True))
    assert hits == [Hit(1, 11, 14), Hit(1, 0, 3), Hit(0, ADD.index("2048"), ADD.index("2048") + 4)]
    assert view.hits_in(0, pattern) == [(hits[-1].start, hits[-1].end)]
    view.opening = None
    assert view.line(0).text != ADD


def test_what_only_looks_alike_without_its_type_is_no_hit() -> None:
    view = document('mul: "bf16[2]" = aten.mul(add_1, 2)')
    assert "mul = aten" in view.line(0).text
    assert not list(view.find(re.compile("mul = aten"))) and view.hits_in(0, re.compile("mul = aten")) == []


def test_a_pattern_that_could_run_for_ever_opens_nothing() -> None:
    view = document('mul: "' + "a" * 60 + '" = aten.mul(add_1, 2)')
    view.opening = re.compile("(a+)+$")
    assert view.line(0).text == "mul = aten.mul(add_1, 2)"


def test_long_lines_stay_as_they_are() -> None:
    text = 'x: "T" = f(' + "y, " * LONGEST + ")"
    view = document(text)
    assert view.line(0).text == text and view.length(0) == len(text) and view.hits_in(0, re.compile("x")) is None
    assert next(iter(view.find(re.compile("f")))) == Hit(0, 9, 10)


@pytest.mark.parametrize(
    "text", [": f1[" * 800, "; a = " * 680, ': "' * 1300, "x: Sym(" * 580, "torch.ops." * 400, "a" * 4000 + ": "]
)
def test_hostile_lines_cost_no_time(text: str) -> None:
    begin = time.process_time()
    left_out("fx", text)
    assert time.process_time() - begin < 0.2
