"""Where to write: what is proposed, and what tab completes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tltui.screens.prompts import TargetQuestion, completed_path, fitting_paths, proposals


def completed(text: str) -> str:
    return completed_path(text, fitting_paths(text))


def test_each_form_and_where_one_wrote_before() -> None:
    assert [path for path, _ in proposals("0_1.txt", [])] == ["0_1.txt", "0_1.html", "0_1.md", "0_1.json", "0_1.ansi"]
    before = ["/a/x.txt", "y.txt", "/b/z.txt", "/a/w.md"]
    assert [path for path, _ in proposals("0_1.txt", before)][5:] == ["/a/0_1.txt", "/b/0_1.txt"]
    of_a_patch = [path for path, _ in proposals("l_r.patch", ["/a/x.txt"])]
    assert of_a_patch == ["l_r.patch", "l_r.html", "l_r.md", "l_r.json", "l_r.ansi", "/a/l_r.patch"]
    assert [path for path, _ in proposals("0_1.json", [])].count("0_1.json") == 1, "a text that is JSON has that name already"


def test_tab_completes_as_far_as_there_is_no_choice(tmp_path: Path) -> None:
    (tmp_path / "reports" / "old").mkdir(parents=True)
    (tmp_path / "readme.txt").write_text("")
    start = f"{tmp_path}/"
    assert completed(start + "re") == start + "re"
    assert completed(start + "rep") == start + "reports/"
    assert completed(start + "reports/") == start + "reports/old/"
    assert completed(start + "rea") == start + "readme.txt"
    assert completed(start + "x") == start + "x"
    assert completed(start + "nowhere/x") == start + "nowhere/x"


def test_tab_knows_home_and_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert completed("~/o") == "~/only/"
    monkeypatch.chdir(tmp_path)
    assert completed("o") == "only/"


def test_where_tab_leaves_a_choice_it_is_listed(tmp_path: Path) -> None:
    for name in ("report_a", "report_b", ".hidden"):
        (tmp_path / name).mkdir()
    asked = TargetQuestion("write to", lambda text: None, "0_1.txt", [])
    assert asked.completed(f"{tmp_path}/r") == f"{tmp_path}/report_"
    assert [row[0] for row in asked.listed(f"{tmp_path}/report_")] == [f"{tmp_path}/report_a/  ", f"{tmp_path}/report_b/  "]
    assert asked.filled(1) == f"{tmp_path}/report_b/"
    assert asked.listed(f"{tmp_path}/report_x")[0][0] == "0_1.txt  ", "something else was typed"
    assert asked.completed(f"{tmp_path}/") == f"{tmp_path}/report_" and len(asked.listed(f"{tmp_path}/report_")) == 2
    assert asked.completed(f"{tmp_path}/.h") == f"{tmp_path}/.hidden/"
    assert asked.listed(f"{tmp_path}/.hidden/")[0][0] == "0_1.txt  ", "no choice is left"


def test_the_list_is_as_high_as_what_it_proposes() -> None:
    for before in ([], ["/a/x.txt", "/b/z.txt"]):
        question = TargetQuestion("write to", print, "0_1.txt", before)
        assert question.rows == len(question.listed("")) == 5 + len(before)
