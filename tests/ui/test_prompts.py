"""What is asked, asked in the line below: keys go there, everything else stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import BREAKS, Driver, opened
from real import DEMO
from screen import screen_lines, screen_text
from textual.events import MouseDown, Paste

from tltui.widgets.bars import Asking

ASKS = {"slash": "/", "colon": "line", "f": "show only", "s": "search everywhere", "o": "go to", "x": "write", "ctrl+p": "command"}
"""Key → how its question begins, in the document."""


async def shown(driver: Driver, ref: str) -> None:
    """Show an artifact, with the focus on it."""
    driver.browser.go(ref)
    await driver.shown(ref)
    driver.browser.document_view.focus()
    await driver.pilot.pause()


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
@pytest.mark.parametrize("key", ASKS)
async def test_a_question_is_one_line_and_esc_leaves_all_as_it_was(key: str, size: tuple[int, int]) -> None:
    async with opened(BREAKS, size=size) as driver:
        await shown(driver, "0/0:inductor_output_code")
        await driver.press("j", "j", "j")
        before, focused, cursor = screen_lines(driver.app), driver.app.focused, driver.browser.document_view.cursor
        await driver.press(key)
        assert driver.prompt.is_open and driver.prompt.question.startswith(ASKS[key])
        await driver.until(lambda: ASKS[key] in screen_lines(driver.app)[-1])
        asking = driver.browser.query_one(Asking)
        assert driver.app.focused is focused and asking.region.bottom == size[1]
        assert screen_lines(driver.app)[: asking.region.y] == before[: asking.region.y]
        await driver.press("i", "m", "p", "down", "up", "left", "backspace")
        await driver.pilot.pause(0.4)
        await driver.press("escape")
        assert not driver.prompt.is_open
        await driver.until(lambda: screen_lines(driver.app)[:-1] == before[:-1])
        assert driver.app.focused is focused and driver.browser.document_view.cursor == cursor


async def test_keys_typed_ahead_reach_the_question() -> None:
    """A key is for what the key before it opened."""
    async with opened(BREAKS) as driver:
        await shown(driver, "0/0:inductor_output_code")
        for key in ("slash", *"call", "enter"):
            driver.app.simulate_key(key)
        view = driver.browser.document_view
        await driver.until(lambda: "/" in view.hits and not view.hits.endswith("…"))
        assert "call" in view.document.line(view.current_line()).text


async def test_the_first_hit_is_shown_while_one_types() -> None:
    async with opened(BREAKS) as driver:
        await shown(driver, "0/0:inductor_output_code")
        view = driver.browser.document_view
        await driver.press("slash", *"return")
        await driver.until(lambda: "return" in view.document.line(view.current_line()).text)
        assert not view.hits  # nothing is counted yet
        await driver.press(*" nothing like this")
        await driver.until(lambda: view.current_line() == 0)
        await driver.press("escape")
        assert view.cursor == (0, 0) and not view.hits and view.scroll_offset.y == 0
        await driver.press("slash", *"return", "enter")
        await driver.until(lambda: view.hits.startswith("1/"))


async def test_a_tried_pattern_opens_folds_and_esc_closes_them() -> None:
    async with opened(BREAKS) as driver:
        await shown(driver, "0/0:inductor_output_code")
        view = driver.browser.document_view
        await driver.press("minus")
        rows = len(view.rows)
        await driver.press("slash", *"async_compile")
        await driver.until(lambda: "async_compile" in view.document.line(view.current_line()).text)
        await driver.press("escape")
        assert len(view.rows) == rows


async def test_a_search_that_was_there_stays_after_esc() -> None:
    async with opened(BREAKS) as driver:
        await shown(driver, "0/0:inductor_output_code")
        view = driver.browser.document_view
        await driver.press("slash", *"import", "enter")
        await driver.until(lambda: "/" in view.hits and not view.hits.endswith("…"))
        hits, cursor = view.hits, view.cursor
        await driver.press("slash", *"return")
        await driver.until(lambda: view.cursor != cursor)
        await driver.press("escape")
        assert (view.hits, view.cursor) == (hits, cursor)
        await driver.press("n")
        assert view.cursor != cursor and "import" in view.document.line(view.current_line()).text


async def test_earlier_answers_are_a_list_above() -> None:
    async with opened(BREAKS) as driver:
        await shown(driver, "0/0:inductor_output_code")
        await driver.press("slash", "up")
        assert driver.prompt.rows == []  # there is none yet
        await driver.press("escape")
        for text in ("one", "two", "one"):
            await driver.press("slash", *text, "enter")
        await driver.press("slash", *"thr", "up")
        assert driver.prompt.rows == ["two", "one"] and driver.prompt.text == "one"
        await driver.until(lambda: "two" in screen_text(driver.app))
        await driver.press("up")
        assert driver.prompt.text == "two"
        await driver.press("down", "down")
        assert driver.prompt.text == "thr"  # what was being typed
        await driver.press("up", "up", "x")
        assert driver.prompt.text == "twox" and driver.prompt.rows == []
        await driver.press("escape")


async def test_a_paste_of_several_lines_is_its_first_one() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("o")
        driver.app.post_message(Paste("\n  4/0\nsecond\n"))
        await driver.until(lambda: driver.prompt.text == "  4/0")
        await driver.press("enter")
        await driver.shown("4/0")


async def test_go_to_asks_on_until_something_fits() -> None:
    async with opened(BREAKS) as driver:
        at = driver.at
        await driver.press("o", *"qqqq", "enter")
        assert driver.prompt.is_open and "no match" in screen_text(driver.app)
        await driver.press("ctrl+u", *"3/0", "enter")
        await driver.shown("3/0")
        assert not driver.prompt.is_open and driver.at != at


async def test_the_list_scrolls_with_its_cursor() -> None:
    async with opened(DEMO) as driver:
        await driver.press("o")
        choices = driver.browser.query_one(Asking).choices
        await driver.until(lambda: choices.size.height == 10)
        await driver.press(*["down"] * 14)
        assert choices.place == 14
        await driver.until(lambda: driver.prompt.rows[14].strip()[:20] in screen_text(driver.app))
        await driver.press("pageup", "up")
        assert choices.place == 4
        await driver.press("escape")


async def test_a_click_in_the_list_chooses_and_beside_it_leaves() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("o", *"resume_in_g")
        await driver.until(lambda: driver.prompt.rows and "g ↩11" in driver.prompt.rows[0])
        asking = driver.browser.query_one(Asking)
        await driver.until(lambda: asking.region.height == 11)
        await driver.pilot.click(offset=(5, asking.region.y))
        await driver.until(lambda: not driver.prompt.is_open)
        assert driver.at.startswith("4/0")
        await driver.press("o")
        await driver.pilot.click(offset=(70, 3))
        await driver.until(lambda: not driver.prompt.is_open)


async def test_where_to_write_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(BREAKS) as driver:
        await shown(driver, "0/0:dynamo_output_graph")
        await driver.press("x", "down", "down")
        assert driver.prompt.text.endswith(".html")
        name = driver.prompt.text
        await driver.press("enter")
        await driver.until((tmp_path / name).exists)
        await driver.press("x", "down", "down", "enter")
        await driver.until(lambda: driver.prompt.question.startswith("y / n"))
        await driver.press("j")
        assert driver.prompt.is_open  # no answer
        await driver.press("n")
        assert not driver.prompt.is_open and "no file was written" in driver.message


async def test_the_screen_may_become_small_while_something_is_asked() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("o", "down")
        for size in ((80, 24), (20, 5), (1, 1), (120, 40)):
            await driver.pilot.resize_terminal(*size)
            await driver.pilot.pause()
        assert driver.prompt.is_open
        await driver.press("escape")
        assert not driver.prompt.is_open


async def test_a_long_text_is_shown_around_the_place_where_one_types() -> None:
    async with opened(BREAKS, size=(60, 20)) as driver:
        await driver.press("s", *"abcdefghij" * 6, "X")
        assert "X" in screen_lines(driver.app)[-1]
        await driver.press("home", "Y")
        assert "Yabc" in screen_lines(driver.app)[-1] and "X" not in screen_lines(driver.app)[-1]
        await driver.press("escape")


async def test_a_text_that_became_short_is_shown_from_its_beginning() -> None:
    async with opened(BREAKS, size=(60, 24), untouched=True) as driver:
        for text in ("short one", "many words " * 20 + "end"):
            await driver.press("/")
            await driver.type(text)
            await driver.press("enter")
        await driver.press("/", "up")
        await driver.until(lambda: "words end" in screen_lines(driver.app)[-1])
        await driver.press("up")
        await driver.until(lambda: screen_lines(driver.app)[-1].startswith(" / short one"))
        await driver.press("down", *["ctrl+w"] * 38)
        await driver.until(lambda: screen_lines(driver.app)[-1].startswith(" / many words many "))


async def test_the_mouse_beside_a_question_ends_it_without_losing_the_click() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("f")
        assert driver.prompt.is_open
        await driver.pilot._post_mouse_events([MouseDown], button=1, offset=(3, 5))
        assert not driver.prompt.is_open


@pytest.mark.parametrize("before", ["o", "question_mark"])
async def test_the_key_that_always_quits_does_so_while_something_is_asked_and_in_help(before: str) -> None:
    async with opened(BREAKS) as driver:
        await driver.press(before, "ctrl+q")
        await driver.until(lambda: not driver.app.is_running)
