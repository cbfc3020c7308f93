from __future__ import annotations

from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from real import demo, trace

from tltui.model.ref import BadAddress, parse_ref, split_line
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.source_lines.page import BadPlace, parse_place, source_line_steps
from tltui.text.document import Document, Options
from tltui.text.steps import run_steps


def whole(run: Run, ref: str, width: int = 80, ascii_: bool = False) -> Document:
    document = build(run, ref, Options(width=width, ascii=ascii_))
    while not document.advance():
        pass
    return document


@pytest.mark.parametrize("golden, name, ref, width", [
    ("train", "torch-2.13/train", "@source::train.py:7", 80),
    ("compile", "torch-2.13/train", "@source:0/0:/home/user/models/train.py:16", 60),
    ("breaks", "torch-2.13/breaks", "@source::breaks.py:5", 80),
    ("recompiles", "torch-2.13/recompiles", "@source::recompiles.py:4", 160),
    ("nowhere", "torch-2.13/train", "@source::train.py:3333", 80),
])  # fmt: skip
def test_pages(golden: str, name: str, ref: str, width: int) -> None:
    document = whole(trace(name), ref, width)
    assert_golden(f"source/{golden}", "\n".join(document.text()))
    assert all(len(line) <= width for line in document.text())
    assert document.ref == ref and str(parse_ref(ref)) == ref


def test_ranks_and_ascii() -> None:
    document = whole(demo(), "@source:1::model.py:21", 80, True)
    text = "\n".join(document.text())
    assert text.isascii() and "[1:0/0]" in text and "[0:0/0]" not in text


def test_kinds_of_trails() -> None:
    compiles = list(trace("torch-2.13/train").compiles())
    found = run_steps(source_line_steps(compiles, "train.py", 7))
    (own,) = found.compiles
    assert {trail.kind for trail in own.results} == {"node", "kernel", "guard"}
    assert found.files == ("/home/user/models/train.py",) and found.code == "q,k,v=s.q(s.ln(x)).chunk(3,-1)"
    node = next(trail for trail in own.results if trail.text == "layer_norm")
    assert (node.ref, node.detail, node.unit) == ("0/0:before_pre_grad_graph@L22", "pre-grad graph", "forward")


def test_a_break_and_the_functions_it_goes_through() -> None:
    compiles = list(trace("torch-2.13/breaks").compiles())
    lines = {line: run_steps(source_line_steps(compiles, "models/breaks.py", line)) for line in range(1, 16)}
    kinds = {line: {trail.kind for own in found.compiles for trail in own.results} for line, found in lines.items()}
    assert any("graph break" in found for found in kinds.values())
    assert any("function" in found for found in kinds.values())


def test_another_file_of_the_same_end_is_not_meant() -> None:
    compiles = list(trace("torch-2.13/train").compiles())
    assert run_steps(source_line_steps(compiles, "rain.py", 7)).compiles == ()
    assert run_steps(source_line_steps(compiles, "models/train.py", 7)).compiles != ()
    assert run_steps(source_line_steps(compiles, "other/train.py", 7)).compiles == ()


@pytest.mark.parametrize("text", ["train.py", "train.py:", ":3", "train.py:0", "train.py:x", "train.py:²", "a:99999999999", ""])
def test_what_names_no_line(text: str) -> None:
    with pytest.raises(BadPlace):
        parse_place(text)
    with pytest.raises(BadAddress):
        build(trace("torch-2.13/train"), parse_ref("0/0").at("source"), Options())


def test_trails_lead_to_the_lines_that_say_so() -> None:
    for run, file, last in ((trace("torch-2.13/train"), "train.py", 30), (trace("torch-2.13/recompiles"), "recompiles.py", 12)):
        followed = set()
        for line in range(1, last):
            for own in run_steps(source_line_steps(list(run.compiles()), file, line)).compiles:
                for trail in own.results:
                    target, number = split_line(trail.ref)
                    if trail.kind in ("node", "guard") and number:
                        shown = build(run, target, Options(raw=True)).line(number - 1).text
                        assert trail.text.partition(": ")[2] in shown if trail.kind == "guard" else trail.text in shown
                        followed.add(trail.kind)
        assert "guard" in followed


def test_a_symbol_that_depends_on_data(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start()
    stack = [{"line": 4, "name": "f", "filename": 0, "loc": "n = x.item()"}]
    log.add("create_unbacked_symbol", {"symbol": "u0", "user_stack": stack, "vr": "[0, 9]"})
    log.add("create_symbol", {"symbol": "s3", "source": "L['n']", "val": "4", "user_stack": stack, "vr": "[2, 8]"})
    (own,) = run_steps(source_line_steps(list(log.open().compiles()), "f.py", 4)).compiles
    assert [(trail.text, trail.detail) for trail in own.results if trail.kind == "symbol"] == [
        ("u0, data-dependent", "[0, 9]"), ("s3 = L['n']", "[2, 8]"),
    ]  # fmt: skip


def test_nine_digits_are_a_line() -> None:
    assert parse_place("train.py:123456789") == ("train.py", 123_456_789)


def test_windows_paths() -> None:
    assert parse_place("C:\\x\\train.py:12") == ("C:\\x\\train.py", 12)


GUARD = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0), type=<class 'int'>
| | +- EQUALS_MATCH: L['x'] == 1  # return x + 1  # %s:7 in f
"""


@pytest.mark.parametrize("named", ["ppzz/train.py", "train.py", "appzz/train.py"])
@pytest.mark.parametrize("asked", ["train.py", "appzz/train.py", "/appzz/train.py"])
def test_guards_leave_out_the_beginning_of_a_path_and_a_letter_after_the_root(tmp_path: Path, named: str, asked: str) -> None:
    log = Log(tmp_path / "x.log").add("str", ["/appzz/train.py", 0], frame=None)
    log.add("dynamo_start", {"stack": [{"line": 7, "name": "f", "filename": 0}]})
    run = log.add("dynamo_cpp_guards_str", {}, GUARD % named).open()
    found = run_steps(source_line_steps(list(run.compiles()), asked, 7))
    assert found.files == ("/appzz/train.py",)
    assert "guard" in {trail.kind for own in found.compiles for trail in own.results}
