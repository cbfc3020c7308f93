"""Marks live in the state directory, keyed by the trace."""

from __future__ import annotations

import stat
from pathlib import Path

from tltui.screens.marks import Mark, file_of, marks_document, read_marks, write_marks

MARKS = [Mark("0/1:dynamo_cpp_guards_str", 12, "[0/1] guards", "+- TENSOR_MATCH", "why?"), Mark("0/1", 0, "[0/1]", "")]


def test_marks_come_back(tmp_path: Path) -> None:
    file = file_of(tmp_path / "state", [str(tmp_path)])
    assert read_marks(file) == [] and not (tmp_path / "state").exists()
    write_marks(file, MARKS)
    assert read_marks(file) == MARKS
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file_of(tmp_path / "state", [str(tmp_path / "other")]) != file


def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    for text in ("", "{}", "[1]", '{"version": 9, "marks": []}', '{"version": 1, "marks": [{"ref": 1}]}'):
        file.write_text(text)
        assert read_marks(file) == []


def test_the_page_says_where_each_mark_is() -> None:
    document = marks_document(MARKS)
    assert list(document.text()) == [
        "[0/1] guards, line 12   0/1:dynamo_cpp_guards_str", "  why?", "    +- TENSOR_MATCH", "", "[0/1]   0/1",
    ]  # fmt: skip
    assert [link.target for n in range(5) for link in document.line(n).links] == ["0/1:dynamo_cpp_guards_str@L12", "0/1"]
    assert "No marks" in next(marks_document([]).text())
