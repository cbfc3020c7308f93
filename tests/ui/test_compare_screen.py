"""Comparing side by side, driven by keys: rows stand beside each other, changes, folds, raw, export, narrow screens."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import Driver, opened
from real import TRACES
from screen import screen_lines

from tltui.questions.compare.artifacts_page import Memo, Sides
from tltui.questions.compare.comparable_lines import Difference
from tltui.screens.compare import CompareScreen

RECOMPILES = TRACES / "torch-2.13" / "recompiles"


async def compare(driver: Driver, ref: str) -> CompareScreen:
    """Go to an artifact and compare it with the compile before."""
    driver.browser.go(ref)
    await driver.shown(ref)
    await driver.press("D")
    await driver.until(lambda: isinstance(driver.app.screen, CompareScreen))
    screen = driver.app.screen
    assert isinstance(screen, CompareScreen)
    await driver.until(lambda: screen.sides is not None)
    await driver.pilot.pause()
    return screen


async def test_two_halves_with_the_same_rows() -> None:
    async with opened(RECOMPILES, size=(160, 30)) as driver:
        screen = await compare(driver, "0/1:inductor_output_code")
        lines = screen_lines(driver.app)
        assert "0/0:inductor_output_code ↔ 0/1:inductor_output_code" in lines[0] and "+34 −16 lines" in lines[0]
        row = next(line for line in lines if "float* out_ptr0)" in line)
        assert row.startswith("- ") and row.rstrip().endswith("float* out_ptr0,") and "+ " in row
        left, right = screen.view(True), screen.view(False)
        assert len(left.rows) == len(right.rows)
        for _ in range(8):
            await driver.press("}")
            assert left.top == right.top
            both = [side.rows.at(screen.focused_side.row).line >= 0 for side in (left, right)]
            assert left.row == right.row or not all(both)


async def test_changes_folds_and_the_other_side() -> None:
    async with opened(RECOMPILES, size=(160, 30)) as driver:
        screen = await compare(driver, "0/1:inductor_output_code")
        sides = screen.sides
        assert sides is not None
        firsts = [first for first, _ in sides.hunks]
        assert screen.focused_side.row == firsts[0]
        await driver.press("}")
        assert screen.focused_side.row == firsts[1]
        await driver.press("{")
        assert screen.focused_side.row == firsts[0]
        await driver.press("{")
        assert "no earlier change" in "\n".join(screen_lines(driver.app))
        assert len(sides.folds) > 1
        rows = len(sides.rows[0])
        await driver.press("=")
        assert screen.sides is not None and len(screen.sides.rows[0]) > rows and not screen.sides.folds
        await driver.press("-")
        assert screen.sides is not None and len(screen.sides.rows[0]) == rows
        fold = next(iter(screen.sides.folds))
        screen.focused_side.go(fold)
        await driver.press("space")
        assert len(screen.sides.rows[0]) > rows and fold not in screen.sides.folds
        before = screen.focused_side
        await driver.press("tab")
        assert screen.focused_side is not before and screen.focused_side.row == before.row


async def test_raw_and_export(tmp_path: Path) -> None:
    async with opened(RECOMPILES, size=(160, 30)) as driver:
        await compare(driver, "0/1:dynamo_cpp_guards_str")
        assert "+3 −1 lines" in screen_lines(driver.app)[0]
        await driver.press("i")
        await driver.until(lambda: "as stored" in screen_lines(driver.app)[0])
        await driver.press("x")
        target = tmp_path / "guards.patch"
        await driver.retype(str(target))
        await driver.press("enter")
        await driver.until(target.exists)
        assert target.read_text("utf-8").startswith("--- a/dynamo_cpp_guards_str\n+++ b/dynamo_cpp_guards_str\n@@ -")
        await driver.press("escape")
        assert driver.app.screen is driver.browser and driver.browser.shown_ref == "0/1:dynamo_cpp_guards_str"


async def test_a_page_on_a_narrow_screen_and_after_it_became_narrow() -> None:
    async with opened(RECOMPILES, size=(120, 30)) as driver:
        driver.browser.go("0/1:dynamo_output_graph")
        await driver.shown("0/1:dynamo_output_graph")
        await driver.press("D")
        ref = "@diff::0/0:dynamo_output_graph%200/1:dynamo_output_graph"
        await driver.shown(ref)
        assert driver.app.screen is driver.browser
    async with opened(RECOMPILES, size=(160, 30)) as driver:
        await compare(driver, "0/1:dynamo_output_graph")
        await driver.pilot.resize_terminal(110, 30)
        await driver.shown(ref)
        assert driver.app.screen is driver.browser


async def test_a_link_of_the_overview_opens_it() -> None:
    async with opened(RECOMPILES, size=(160, 60)) as driver:
        driver.browser.go("0/1")
        await driver.shown("0/1")
        await driver.press("D")
        await driver.shown("@diff::0/0%200/1")
        view = driver.browser.document_view
        line = next(n for n in range(len(view.document)) if "inductor_output_code" in view.document.line(n).text)
        view.goto_line(line + 1)
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, CompareScreen))
        await driver.press("backspace")
        assert driver.app.screen is driver.browser and driver.browser.shown_ref == "@diff::0/0%200/1"


async def test_marking_two_artifacts_of_two_ranks() -> None:
    async with opened(TRACES / "torch-2.13" / "ddp", size=(160, 30)) as driver:
        for ref in ("0:4/0:dynamo_cpp_guards_str", "1:4/0:dynamo_cpp_guards_str"):
            driver.browser.go(ref)
            await driver.shown(ref)
            await driver.press("d")
        await driver.until(lambda: isinstance(driver.app.screen, CompareScreen))
        screen = driver.app.screen
        assert isinstance(screen, CompareScreen)
        await driver.until(lambda: screen.sides is not None)
        await driver.pilot.pause()
        assert "the same: " in screen_lines(driver.app)[0]


async def test_what_is_not_of_one_kind_is_marked_anew() -> None:
    async with opened(RECOMPILES, size=(80, 24)) as driver:
        for ref, said in (
            ("", "cannot compare this page. Select an artifact, compile, frame or rank in the tree"),
            ("0/0:dynamo_output_graph", "marked 0/0:dynamo_output_graph. Press d on another item"),
            ("0/1", "marked 0/1 instead of 0/0:dynamo_output_graph: different kinds"),
        ):
            driver.browser.go(ref)
            await driver.shown(ref)
            await driver.press("d")
            assert driver.message.startswith(said)
            marked = "" if not ref else f"◆ {ref} (d: compare)"
            assert driver.run_bar.strip().startswith(marked) and ("◆" in driver.run_bar) is bool(ref)
        driver.browser.go("0/0")
        await driver.shown("0/0")
        assert "◆ 0/1" in screen_lines(driver.app)[0], "also after other keys"
        await driver.press("d")
        await driver.shown("@diff::0/1%200/0")
        assert "◆" not in screen_lines(driver.app)[0]


async def test_a_large_one_is_shown_as_stored_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.screens.compare.LARGE", 0)
    firsts: list[bool] = []
    original = CompareScreen._compared

    def heard(self: CompareScreen, found: Difference, sides: Sides, memo: Memo, is_first: bool) -> None:
        firsts.append(is_first)
        original(self, found, sides, memo, is_first)

    monkeypatch.setattr(CompareScreen, "_compared", heard)
    async with opened(RECOMPILES, size=(160, 30)) as driver:
        await compare(driver, "0/1:dynamo_cpp_guards_str")
        await driver.until(lambda: len(firsts) == 2)
        assert firsts == [True, False]
        assert "as stored" not in screen_lines(driver.app)[0] and "+3 −1 lines" in screen_lines(driver.app)[0]


async def test_in_ascii() -> None:
    async with opened(RECOMPILES, size=(160, 30), ascii_only=True) as driver:
        await compare(driver, "0/1:dynamo_output_graph")
        assert all(line.isascii() for line in screen_lines(driver.app)[2:-1])


async def test_search_and_copy_work_in_a_half() -> None:
    async with opened(RECOMPILES, size=(160, 30)) as driver:
        screen = await compare(driver, "0/1:inductor_output_code")
        await driver.press("/")
        await driver.type("tmp1")
        await driver.press("enter")
        await driver.until(lambda: "tmp1" in screen.focused_side.document.line(screen.focused_side.current_line()).text)
        await driver.press("y")
        assert "cop" in screen_lines(driver.app)[-1]
        await driver.press("w")
        assert "cannot wrap lines in the side-by-side view" in screen_lines(driver.app)[-1]


async def test_the_halves_share_the_screen_as_one_likes() -> None:
    async with opened(RECOMPILES, size=(160, 30)) as driver:
        await compare(driver, "0/1:dynamo_cpp_guards_str")
        screen = driver.app.screen
        assert isinstance(screen, CompareScreen)
        before = screen.focused_side.size.width
        await driver.press("ctrl+right", "ctrl+right")
        await driver.until(lambda: screen.focused_side.size.width == before + 8)
        for _ in range(3):  # faster than frames are drawn
            screen.action_wider()
        await driver.until(lambda: screen.focused_side.size.width == before + 20)
        await driver.press(*["ctrl+left"] * 30)
        await driver.until(lambda: "each pane needs at least 20 columns" in screen.status.plain_text())
        assert 20 <= screen.focused_side.outer_size.width < 26
