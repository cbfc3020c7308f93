"""Where to write: what is proposed, and what tab completes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tltui.screens.asking.target import TargetQuestion, completed_path, proposals


def test_each_form_and_where_one_wrote_before() -> None:
    assert [path for path, _ in proposals("0_1.txt", [])] == ["0_1.txt", "0_1.ansi", "0_1.md"]
    before = ["/a/x.txt", "y.txt", "/b/z.txt", "/a/w.md"]
    assert [path for path, _ in proposals("0_1.txt", before)][3:] == ["/a/0_1.txt", "/b/0_1.txt"]
    assert [path for path, _ in proposals("l_r.patch", ["/a/x.txt"])] == ["l_r.patch", "l_r.ansi", "l_r.md", "/a/l_r.patch"]


def test_tab_completes_as_far_as_there_is_no_choice(tmp_path: Path) -> None:
    (tmp_path / "reports" / "old").mkdir(parents=True)
    (tmp_path / "readme.txt").write_text("")
    start = f"{tmp_path}/"
    assert completed_path(start + "re") == start + "re"
    assert completed_path(start + "rep") == start + "reports/"
    assert completed_path(start + "reports/") == start + "reports/old/"
    assert completed_path(start + "rea") == start + "readme.txt"
    assert completed_path(start + "x") == start + "x"
    assert completed_path(start + "nowhere/x") == start + "nowhere/x"


def test_tab_knows_home_and_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert completed_path("~/o") == "~/only/"
    monkeypatch.chdir(tmp_path)
    assert completed_path("o") == "only/"


def test_the_list_is_as_high_as_what_it_proposes() -> None:
    for before in ([], ["/a/x.txt", "/b/z.txt"]):
        question = TargetQuestion("write to", print, "0_1.txt", before)
        assert question.rows == len(question.listed("")) == 3 + len(before)
