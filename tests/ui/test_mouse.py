"""The mouse: what is under the pointer is what a click, the wheel and the hovering pointer are about.

All of it at places of the screen, as a terminal tells them: borders, scrolled pages and wrapped rows are where rows get lost.
"""

from __future__ import annotations

from typing import Any

import pytest
from opened import BREAKS, Driver, opened
from real import TRACES
from screen import screen_lines
from textual import events
from textual.widget import Widget

from tltui.commands import BY_ID
from tltui.screens.compare import CompareScreen
from tltui.screens.provenance import ProvenanceScreen
from tltui.widgets.bars import WHEEL
from tltui.widgets.document_view import DocumentView
from tltui.widgets.linked_views import MarkedView

GRAPHS = TRACES / "torch-2.13" / "train"
RECOMPILES = TRACES / "torch-2.13" / "recompiles"


async def turn(driver: Driver, kind: type[events.MouseEvent], x: int, y: int) -> None:
    """The wheel, over a cell of the screen."""
    await driver.pilot._post_mouse_events([kind], offset=(x, y))
    await driver.pilot.pause()


def row_text(driver: Driver, widget: Widget, y: int) -> str:
    """What a widget shows in a row of the screen."""
    region = widget.scrollable_content_region
    return screen_lines(driver.app)[y][region.x : region.right].strip()


def cursor_text(view: DocumentView) -> str:
    return view.document.line(view.current_line()).text


def sight(view: Any) -> tuple[int, int, int]:
    """What must not move by itself."""
    return view.current_line(), view.scroll_offset.x, view.scroll_offset.y


@pytest.mark.parametrize("theme", ["dark", "mono"])
@pytest.mark.parametrize("top", [0, 3])
async def test_a_click_lands_on_the_row_of_the_tree(theme: str, top: int) -> None:
    async with opened(GRAPHS, theme=theme, size=(120, 14)) as driver:
        tree = driver.browser.tree_view
        await driver.press("equals_sign")
        for _ in range(top):
            await turn(driver, events.MouseScrollDown, 10, 5)
        assert bool(tree.scroll_offset.y) == bool(top)
        region = tree.scrollable_content_region
        for y in (region.y, region.y + 4, region.bottom - 1):
            await driver.pilot.click(offset=(region.x + 12, y))
            assert tree.has_focus
            assert tree.cursor == tree.scroll_offset.y + y - region.y
        before = tree.cursor
        await driver.pilot.click(offset=(region.x + 12, region.y - 1))
        assert tree.cursor == before, "the border is no row"


async def test_a_click_on_the_mark_opens_and_closes() -> None:
    async with opened(BREAKS) as driver:
        tree = driver.browser.tree_view
        await driver.press("g", "minus")
        region, rows = tree.scrollable_content_region, len(tree.outline)
        place = next(n for n in range(1, rows) if tree.outline.rows[n].node.expandable)
        x = region.x + 2 * (tree.outline.rows[place].depth - 1)
        await driver.pilot.click(offset=(x, region.y + place))
        assert len(tree.outline) > rows and tree.cursor == place
        await driver.pilot.click(offset=(x, region.y + place))
        assert len(tree.outline) == rows
        await driver.pilot.click(offset=(region.x + 8, region.y + place))  # a second click on the row
        assert len(tree.outline) > rows


@pytest.mark.parametrize(("wraps", "scrolls"), [(False, 0), (False, 4), (True, 4)])
async def test_a_click_lands_on_the_row_of_a_document(wraps: bool, scrolls: int) -> None:
    async with opened(GRAPHS, size=(90, 16)) as driver:
        driver.browser.go("0/0:aot_joint_graph")
        await driver.shown("0/0:aot_joint_graph")
        view = driver.browser.document_view
        view.focus()
        await driver.press(*["w"] * wraps)
        assert view.has_focus
        region = view.scrollable_content_region
        for _ in range(scrolls):
            await turn(driver, events.MouseScrollDown, region.x + 5, region.y + 5)
        assert view.scroll_offset.y == 3 * scrolls
        parts = set()
        for y in range(region.y, region.bottom):
            shown = row_text(driver, view, y)
            await driver.pilot.click(offset=(region.x + view.gutter_width + 2, y))
            row = view.rows.at(view.scroll_offset.y + y - region.y)
            parts.add(row.part)
            assert view.cursor == (row.line, min(row.lo + 2, view.document.length(row.line)))
            assert view.document.line(row.line).text[row.lo : row.lo + 20].strip() in shown
        assert (len(parts) > 1) == wraps


async def test_a_click_on_a_link_follows_it_once_scrolled_too() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("2")
        await driver.shown("@problems")
        view = driver.browser.document_view
        region = view.scrollable_content_region
        await turn(driver, events.MouseScrollDown, region.x + 5, region.y + 5)
        lines = screen_lines(driver.app)
        x, y = next((line.index("[2/0]", region.x), y) for y, line in enumerate(lines) if "[2/0]" in line[region.x :])
        await driver.pilot.click(offset=(x - 2, y))
        assert driver.browser.shown_ref == "@problems", "beside the link"
        await driver.pilot.click(offset=(x + 1, y))
        await driver.shown("2/0")


async def test_a_click_beside_the_text_folds() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("2")
        await driver.shown("@problems")
        view = driver.browser.document_view
        region = view.scrollable_content_region
        await driver.until(lambda: view.document.complete and "▾" in "".join(screen_lines(driver.app)))
        y = next(y for y in range(region.y, region.bottom) if "▾" in row_text(driver, view, y)[:3])
        rows = len(view.rows)
        await driver.pilot.click(offset=(region.x + view.gutter_width - 2, y))
        assert len(view.rows) < rows and "▸" in row_text(driver, view, y)
        await driver.pilot.click(offset=(region.x + view.gutter_width - 2, y))
        assert len(view.rows) == rows


async def test_dragging_selects_the_rows_it_goes_over() -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("0/0:dynamo_cpp_guards_str")
        await driver.shown("0/0:dynamo_cpp_guards_str")
        view = driver.browser.document_view
        region = view.scrollable_content_region
        await turn(driver, events.MouseScrollDown, region.x + 5, region.y + 5)
        top, x = view.scroll_offset.y, region.x + 10
        await driver.pilot.mouse_down(offset=(x, region.y + 2))
        await driver.pilot.hover(offset=(x, region.y + 6))
        await driver.pilot.mouse_up(offset=(x, region.y + 6))
        assert view.selected_lines() == (top + 2, top + 7) and view.has_focus
        await driver.pilot.click(offset=(x, region.y + 1))
        assert view.selected_lines() is None
        await driver.press("G")
        y = region.y + view.rows.row_of(view.current_line()) - view.scroll_offset.y
        await driver.pilot.mouse_down(offset=(x, y - 2))
        await driver.pilot.hover(offset=(x, driver.app.size.height - 1))  # below the last row of all
        await driver.pilot.mouse_up(offset=(x, driver.app.size.height - 1))
        assert view.selected_lines() == (len(view.document) - 3, len(view.document))


async def test_the_wheel_scrolls_what_is_under_the_pointer() -> None:
    async with opened(GRAPHS, size=(120, 14)) as driver:
        tree, view = driver.browser.tree_view, driver.browser.document_view
        await driver.press("equals_sign", "8")
        await driver.shown("@timing")
        await driver.until(lambda: view.max_scroll_y > 3)
        node = driver.at
        await turn(driver, events.MouseScrollDown, view.region.x + 5, view.region.y + 4)
        assert (view.scroll_offset.y, tree.scroll_offset.y) == (3, 0) and tree.has_focus
        view.focus()
        await turn(driver, events.MouseScrollDown, tree.region.x + 5, tree.region.y + 4)
        assert view.scroll_offset.y == 3 and tree.scroll_offset.y > 0 and view.has_focus
        assert driver.at == node


async def provenance(driver: Driver) -> ProvenanceScreen:
    await driver.press("p")
    await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
    screen = driver.app.screen
    assert isinstance(screen, ProvenanceScreen)
    await driver.until(lambda: screen.unit is not None)
    return screen


async def test_hovering_lights_up_and_moves_nothing() -> None:
    async with opened(GRAPHS, size=(200, 20)) as driver:
        driver.browser.go("0/0")
        screen = await provenance(driver)
        panes = [view for view in screen.query(MarkedView) if view.display]
        assert len(panes) > 2
        await driver.until(lambda: any(view.matches for view in panes))
        before = [sight(view) for view in panes]
        lit = [view.matches for view in panes]
        other = panes[1]
        region = other.scrollable_content_region
        changed = False
        for y in range(region.y, region.bottom):
            await driver.pilot.hover(offset=(region.x + 9, y))
            assert [sight(view) for view in panes] == before
            line = other.rows.at(other.scroll_offset.y + y - region.y).line
            if (label := other.label_of(line)) is not None and label.kernel >= 0:
                assert line in other.matches, "what lights up is the row under the pointer"
            changed = changed or [view.matches for view in panes] != lit
        assert changed
        await driver.pilot.hover(offset=(5, 0))
        assert [view.matches for view in panes] == lit, "the pointer has left: what the cursor is on"


async def test_a_click_in_a_pane_gives_it_the_focus_and_the_wheel_does_not() -> None:
    async with opened(GRAPHS, size=(200, 12)) as driver:
        driver.browser.go("0/0")
        screen = await provenance(driver)
        first, *_, last = [view for view in screen.query(MarkedView) if view.display]
        await driver.until(lambda: last.max_scroll_y > 6)
        first.focus()
        await driver.press("g")
        place = sight(first)
        region = last.scrollable_content_region
        top = last.scroll_offset.y
        await turn(driver, events.MouseScrollDown, region.x + 5, region.y + 3)
        assert last.scroll_offset.y == top + 3 and first.has_focus and sight(first) == place
        shown = row_text(driver, last, region.y + 4)
        await driver.pilot.click(offset=(region.x + 10, region.y + 4))
        await driver.pilot.pause()
        assert last.has_focus and cursor_text(last).strip()[:15] in shown
        assert last.current_line() == last.rows.at(last.scroll_offset.y + 4).line


async def test_while_comparing() -> None:
    async with opened(RECOMPILES, size=(160, 10)) as driver:
        driver.browser.go("0/1:inductor_output_code")
        await driver.shown("0/1:inductor_output_code")
        await driver.press("D")
        await driver.until(lambda: isinstance(driver.app.screen, CompareScreen) and driver.app.screen.sides is not None)
        screen = driver.app.screen
        assert isinstance(screen, CompareScreen)
        await driver.press("equals_sign")
        left, right = screen.view(True), screen.view(False)
        region = right.scrollable_content_region
        assert left.has_focus
        await turn(driver, events.MouseScrollDown, region.x + 5, region.y + 3)
        assert left.scroll_offset.y == right.scroll_offset.y > 0 and left.has_focus
        assert screen.sides is not None
        left.go(screen.sides.rows[1].index(-1))
        assert left.has_focus and right._is_away, "a row where it has no line"
        for y in range(region.y, region.bottom):
            row = right.scroll_offset.y + y - region.y
            line = right.rows.at(row).line
            if line >= 0:
                await driver.pilot.click(offset=(region.x + 12, y))
                assert right.has_focus and right.current_line() == line and right.row == row and not right._is_away
        assert right.has_focus


async def test_the_wheel_moves_in_a_list_that_is_asked_from() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("o")
        await driver.until(lambda: bool(driver.prompt.rows))
        choices = driver.prompt.asking.choices
        await driver.until(lambda: choices.size.height > 3)
        await driver.pilot.pause()
        x, y = choices.region.offset
        await turn(driver, events.MouseScrollDown, x + 5, y + 2)
        await driver.until(lambda: choices.place == WHEEL)
        await turn(driver, events.MouseScrollUp, x + 5, y + 2)
        await turn(driver, events.MouseScrollUp, x + 5, y + 2)
        await driver.until(lambda: choices.place == 0)
        assert driver.prompt.is_open


async def click_hint(driver: Driver, words: str) -> None:
    """Click a command in the line below."""
    await driver.until(lambda: words in screen_lines(driver.app)[-1])
    lines = screen_lines(driver.app)
    await driver.pilot.click(offset=(lines[-1].index(words) + 1, len(lines) - 1))


async def test_a_click_on_the_footer_runs_the_command_and_the_right_button_goes_back() -> None:
    async with opened(BREAKS) as driver:
        view, tree = driver.browser.document_view, driver.browser.tree_view
        tree.focus()
        await driver.pilot.pause()
        await click_hint(driver, "b next break")
        await driver.until(lambda: driver.at != "")
        await driver.press("2")
        await driver.shown("@problems")
        await driver.press("3")
        await driver.shown("@recompiles")
        view.focus()
        await driver.press("k")  # the remark is read
        await click_hint(driver, "backspace back")
        await driver.shown("@problems")
        await click_hint(driver, "? help")
        await driver.shown("@help")
        await driver.pilot.click(view, offset=(12, 4), button=3)
        await driver.shown("@problems")
        await driver.press("dollar_sign")
        assert "No command on $" in driver.message
        await driver.pilot.click(offset=(2, len(screen_lines(driver.app)) - 1))
        await driver.pilot.pause()
        assert driver.browser.shown_ref == "@problems", "a remark is no command"


async def test_the_right_button_goes_back_in_the_modes_too() -> None:
    async with opened(GRAPHS) as driver:
        driver.browser.go("0/0")
        await driver.shown("0/0")
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
        screen = driver.app.screen
        assert isinstance(screen, ProvenanceScreen)
        await driver.until(lambda: bool(screen.shown_panes))
        await driver.press("question_mark")
        await driver.until(lambda: screen.is_helping)
        await driver.pilot.click(offset=(20, 6), button=3)
        await driver.until(lambda: not screen.is_helping)
        await driver.pilot.click(offset=(20, 6), button=3)
        await driver.until(lambda: not isinstance(driver.app.screen, ProvenanceScreen))


async def test_two_clicks_at_once_close_the_mode_and_nothing_fails() -> None:
    async with opened(GRAPHS) as driver:
        driver.browser.go("0/0")
        await driver.shown("0/0")
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
        screen = driver.app.screen
        assert isinstance(screen, ProvenanceScreen)
        await driver.until(lambda: bool(screen.shown_panes))
        for _ in range(2):
            screen.perform(BY_ID[screen.back_command])
        await driver.until(lambda: not isinstance(driver.app.screen, ProvenanceScreen))
        await driver.pilot.pause()
        assert driver.app.faults == []
