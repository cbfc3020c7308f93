"""What is beyond the edges: scrolling to the sides, the line between the panes, and what tells that there is more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from opened import BREAKS, Driver, opened
from real import DEMO, TRACES
from screen import screen_lines
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.events import MouseDown, MouseMove, MouseScrollDown, MouseUp
from textual.widget import Widget

from tltui import config
from tltui.screens.compare import CompareScreen
from tltui.widgets.bars import widen

OUTPUT_CODE = "0/0:inductor_output_code"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory of one's own."""
    monkeypatch.setattr(config, "state_path", lambda: tmp_path / "state")
    return tmp_path / "state"


def position(driver: Driver) -> str:
    """Where one is in the document, in the line below."""
    return driver.browser.status.position.plain_text().strip()


async def code(driver: Driver) -> None:
    """Go to a payload with long lines."""
    driver.browser.go(OUTPUT_CODE)
    await driver.shown(OUTPUT_CODE)
    driver.browser.document_view.focus()
    await driver.pilot.pause()


@pytest.mark.parametrize(("right", "left", "ascii_only"), [("a", "A", False), ("shift+right", "shift+left", True)])
async def test_a_page_scrolls_to_both_sides_and_says_so(right: str, left: str, ascii_only: bool) -> None:
    async with opened(BREAKS, ascii_only=ascii_only) as driver:
        await code(driver)
        view = driver.browser.document_view
        cursor, cut, before = view.cursor, "~" if ascii_only else "…", "<" if ascii_only else "‹"
        beside = view.region.x + view.gutter_width
        first = [line[beside:] for line in screen_lines(driver.app)[2:-1]]
        assert any(line.endswith(cut) for line in first) and "from" not in position(driver)
        await driver.press(right)
        x = view.scroll_offset.x
        assert 0 < x <= view.text_width // 2 and view.cursor == cursor and f"from {x + 1}" in position(driver)
        rows = screen_lines(driver.app)[2:-1]
        at = next(n for n, line in enumerate(first) if len(line) > x + 20)
        assert rows[at][beside - 1] == before and rows[at][beside:].startswith(first[at][x : x + 20])
        await driver.press("j", "j")
        assert view.scroll_offset.x == x, "another line, and the same part of it"
        for _ in range(40):
            await driver.press(right)
        assert not any(line.rstrip().endswith(cut) for line in screen_lines(driver.app)[2:-1])
        assert "no visible line extends to the right" in driver.message
        for _ in range(40):
            await driver.press(left)
        assert view.scroll_offset.x == 0 and "this is already the left edge" in driver.message and "from" not in position(driver)


async def test_wrapped_lines_go_nowhere() -> None:
    async with opened(BREAKS) as driver:
        await code(driver)
        await driver.press("w")
        await driver.until(lambda: len(driver.browser.document_view.rows) > len(driver.browser.document_view.document))
        await driver.press("a")
        assert "wrapped" in driver.message and driver.browser.document_view.scroll_offset.x == 0
        rows = [line[driver.browser.document_view.region.x :] for line in screen_lines(driver.app)[2:-1]]
        assert any(row.strip().startswith("↳ ") or "  ↳" in row[:8] for row in rows), "a row that goes on says so"


async def test_a_table_that_is_wrapped_is_told_of() -> None:
    async with opened(BREAKS, size=(80, 30)) as driver:
        driver.browser.show_ref("@records")
        await driver.shown("@records")
        driver.browser.document_view.focus()
        await driver.until(lambda: driver.browser.document_view.display and driver.browser.document_view.size.width == 80)
        await driver.press("a")
        x = driver.browser.document_view.scroll_offset.x
        assert x > 0
        await driver.press("w")
        assert driver.browser.document_view.scroll_offset.x == 0 and "also in tables" in driver.message
        await driver.press("w", "a")
        assert driver.browser.document_view.scroll_offset.x == x


async def test_the_wheel_with_shift_scrolls_to_the_side() -> None:
    async with opened(BREAKS) as driver:
        await code(driver)
        for view in (driver.browser.document_view, driver.browser.tree_view):
            wheel = MouseScrollDown(view, 5, 5, 0, 1, 0, True, False, False, view.region.x + 5, view.region.y + 5)
            view.post_message(wheel)
            await driver.pilot.pause()
        assert driver.browser.document_view.scroll_offset.x > 0 == driver.browser.document_view.scroll_offset.y
        assert driver.browser.tree_view.scroll_offset.y == 0


async def test_the_tree_scrolls_to_the_end_of_its_rows() -> None:
    async with opened(BREAKS, size=(100, 30)) as driver:
        driver.browser.go("1/0:torch_dynamo_resume_in_f_at_5_MODIFIED_BYTECODE")
        await driver.pilot.pause()
        tree = driver.browser.tree_view
        tree.focus()
        name = "torch_dynamo_resume_in_f_at_5_MODIFIED_BYTECODE"
        rows = [line[: tree.region.right] for line in screen_lines(driver.app)]
        assert not any(name in row for row in rows)
        assert all(sum(end in row for row in rows) == 1 for end in ("INAL_BYTECODE", "FIED_BYTECODE")), "both can be told"
        await driver.press("a", "a", "a")
        rows = [line[: tree.region.right] for line in screen_lines(driver.app)]
        row = next(row for row in rows if "MODIFIED_BYTECODE" in row)
        assert row.startswith("‹") and "1.9 KB" in row
        assert "no visible line extends" in driver.message
        await driver.press("A", "A", "A")
        assert not any(line.startswith("‹") for line in screen_lines(driver.app))


async def test_both_halves_of_a_comparison_scroll_together() -> None:
    async with opened(TRACES / "torch-2.13" / "recompiles", size=(160, 30)) as driver:
        driver.browser.go("0/1:inductor_output_code")
        await driver.shown("0/1:inductor_output_code")
        await driver.press("D")
        await driver.until(lambda: isinstance(driver.app.screen, CompareScreen) and driver.app.screen.sides is not None)
        screen = driver.app.screen
        assert isinstance(screen, CompareScreen)
        await driver.press("a")
        assert screen.view(True).scroll_offset.x == screen.view(False).scroll_offset.x > 0
        await driver.press("A")
        assert screen.view(True).scroll_offset.x == screen.view(False).scroll_offset.x == 0


# the line between the panes


def kept() -> dict[str, float]:
    """What is remembered."""
    path = config.layout_path()
    found: dict[str, float] = json.loads(path.read_bytes()) if path.exists() else {}
    return found


async def test_each_step_counts_that_comes_before_its_frame() -> None:
    """Keys that repeat faster than frames are drawn: each begins where the one before will be drawn."""
    async with opened(BREAKS, size=(160, 30)) as driver:
        tree = driver.browser.tree_view
        before = tree.size.width
        for _ in range(5):
            driver.browser.action_wider()
        driver.browser.action_narrower()
        await driver.until(lambda: tree.size.width == before + 16)


async def test_keys_move_the_line_between_the_panes() -> None:
    async with opened(BREAKS) as driver:
        tree, document = driver.browser.tree_view, driver.browser.document_view
        before = tree.size.width
        assert 36 <= before <= 44 and tree.size.width + document.outer_size.width + 1 == 120
        await driver.press("ctrl+right")
        assert tree.size.width == before + 4 and tree.size.width + document.outer_size.width + 1 == 120
        await driver.until(lambda: kept() == {"tree": round((before + 4) / 120, 4)})
        await driver.until(lambda: driver.browser.is_at_rest)
        lines = [line for line in document.document.text() if not line.strip().startswith("https://")]  # an address is never cut
        assert max(map(len, lines)) <= document.text_width, "the page is laid out to its width"
        for _ in range(30):
            await driver.press("ctrl+left")
        assert tree.size.width == 20
        for _ in range(30):
            await driver.press("ctrl+right")
        assert document.outer_size.width == 40
        await driver.until(lambda: kept() == {"tree": round(79 / 120, 4)})
    async with opened(BREAKS) as driver:
        assert driver.browser.tree_view.size.width == 79
        await driver.pilot.resize_terminal(104, 40)
        await driver.until(lambda: driver.browser.tree_view.size.width == 63)
        await driver.pilot.resize_terminal(240, 40)
        await driver.until(lambda: driver.browser.tree_view.size.width == 158)
        await driver.pilot.resize_terminal(80, 24)
        await driver.until(lambda: driver.browser.tree_view.size.width == 80)
        await driver.press("ctrl+left")
        assert "one pane has the whole screen" in driver.message and kept() == {"tree": round(79 / 120, 4)}
        await driver.pilot.resize_terminal(120, 40)
        await driver.until(lambda: driver.browser.tree_view.size.width == 79)
        await driver.press("z")
        assert driver.browser.tree_view.size.width == 120
        await driver.press("z")
        assert driver.browser.tree_view.size.width == 79


async def test_the_line_is_dragged_by_the_mouse() -> None:
    async with opened(BREAKS) as driver:
        divider, tree = driver.browser.divider, driver.browser.tree_view
        made: list[int] = []
        again = driver.browser.lay_out_again
        driver.browser.lay_out_again = lambda: (made.append(1), again())[1]  # type: ignore[method-assign]

        def mouse(kind: type[MouseDown] | type[MouseMove] | type[MouseUp], x: int) -> None:
            divider.post_message(kind(divider, x - divider.region.x, 5, 1, 0, 1, False, False, False, x, 5))

        mouse(MouseDown, divider.region.x)
        for x in (50, 56, 60):
            mouse(MouseMove, x)
        await driver.until(lambda: tree.size.width == 60)
        assert made == [] and kept() == {}
        mouse(MouseUp, 60)
        await driver.until(lambda: kept() == {"tree": 0.5})
        assert made == [1]
        mouse(MouseMove, 30)
        await driver.pilot.pause()
        assert tree.size.width == 60


BROKEN = [
    "", "{", "[1]", '{"tree": "wide"}', '{"tree": true}', '{"tree": -0.3}', '{"tree": 1.5}', '{"tree": 71}', '{"tree": NaN}',
    "[" * 3000, '"' + "x" * 9000,
]  # fmt: skip


@pytest.mark.parametrize("said", BROKEN)
async def test_a_broken_file_is_none(said: str, state: Path) -> None:
    state.mkdir()
    config.layout_path().write_text(said)
    assert config.read_share("tree") is None
    config.write_share("tree", 0.5)
    assert kept() == {"tree": 0.5} and config.layout_path().stat().st_mode & 0o77 == 0


async def test_what_cannot_be_remembered_is_told(state: Path) -> None:
    state.write_text("no directory")
    async with opened(BREAKS) as driver:
        await driver.press("ctrl+right")
        await driver.until(lambda: "could not save the width" in driver.message)


async def test_the_scroll_bar_of_the_tree_stands_on_nothing() -> None:
    async with opened(BREAKS, size=(120, 30)) as driver:
        tree = driver.browser.tree_view
        times = [line[: tree.size.width].rstrip() for line in screen_lines(driver.app)[2:6]]
        assert not tree.show_vertical_scrollbar and all(line.endswith(("s", "B")) for line in times)
        await driver.press("g", "equals_sign", "g")
        await driver.until(lambda: tree.show_vertical_scrollbar)
        await driver.pilot.pause()
        narrow = [line[: tree.size.width - 1].rstrip() for line in screen_lines(driver.app)[2:4]]
        assert all(line.endswith(time.split(" ")[-1]) for line, time in zip(narrow, times, strict=False))


async def test_titles_and_remarks_say_that_they_are_cut() -> None:
    async with opened(BREAKS, size=(100, 30)) as driver:
        view = driver.browser.document_view
        driver.browser.go("1/0:torch_dynamo_resume_in_f_at_5_MODIFIED_BYTECODE")
        await driver.shown("1/0:torch_dynamo_resume_in_f_at_5_MODIFIED_BYTECODE")
        for _ in range(10):
            await driver.press("ctrl+right")
        await driver.until(lambda: view.size.width == 40)
        assert "…" in str(view.border_title) and len(str(view.border_title)) <= 40
        place = screen_lines(driver.app)[-1].split()[-1]
        driver.browser.show_message("torch_dynamo_resume_in_f_at_5 is what this is about " * 9)
        await driver.pilot.pause()
        line = screen_lines(driver.app)[-1]
        assert line.startswith(" f ↩5 is what") and line.endswith("…") and len(line) == 100, "it has the whole line"
        driver.browser.status.quiet()
        await driver.pilot.pause()
        assert screen_lines(driver.app)[-1].endswith(place), "and gives it back"


async def test_the_place_takes_no_more_of_the_line_than_it_needs() -> None:
    async with opened(BREAKS, size=(80, 24)) as driver:
        await driver.press("1")
        await driver.shown("")
        hints = screen_lines(driver.app)[-1]
        driver.browser.status.place(["0 of 25 compiles shown  ", "1/116"])
        await driver.pilot.pause()
        assert screen_lines(driver.app)[-1].endswith("0 of 25 compiles shown  1/116")
        driver.browser.status.place(["1/22 "])
        await driver.pilot.pause()
        assert screen_lines(driver.app)[-1].rsplit(None, 1)[0] == hints.rsplit(None, 1)[0]


async def test_the_scroll_bar_of_the_tree_covers_nothing() -> None:
    async with opened(DEMO, size=(120, 24)) as driver:
        tree = driver.browser.tree_view
        driver.browser.go("0:4/3")
        await driver.until(lambda: tree.show_vertical_scrollbar)
        await driver.pilot.pause()
        rows = [line[: tree.scrollable_content_region.right].rstrip() for line in screen_lines(driver.app)]
        assert any(row.endswith(" 28 ms") for row in rows if "[4/3]" in row)
        assert all(row.endswith("s") for row in rows if "[4/" in row), "the units too"


class Three(App[None]):
    """Three panes beside each other."""

    CSS = "Widget { width: 1fr; } #hidden { display: none; }"

    def compose(self) -> ComposeResult:
        """The panes, and one that is not shown."""
        with Horizontal():
            yield from (Widget(id=name) for name in ("one", "two", "three", "hidden"))


async def test_a_pane_among_several_takes_room_from_all_others() -> None:
    app = Three()
    async with app.run_test(size=(120, 10)) as pilot:
        panes = [app.query_one(f"#{name}") for name in ("one", "two", "three", "hidden")]
        assert widen(panes, panes[1], 10)
        await pilot.pause()
        assert [pane.size.width for pane in panes[:3]] == [35, 50, 35]
        await pilot.resize_terminal(240, 10)
        await pilot.pause()
        assert [pane.size.width for pane in panes[:3]] == [70, 100, 70], "the shares stay"
        await pilot.resize_terminal(120, 10)
        await pilot.pause()
        assert widen(panes, panes[1], -30) and not widen(panes, panes[1], -40) and not widen(panes, panes[0], 80)
        await pilot.pause()
        assert [pane.size.width for pane in panes[:3]] == [50, 20, 50]
        assert not widen(panes, panes[3], 4) and not widen(panes[:1], panes[0], 4)
