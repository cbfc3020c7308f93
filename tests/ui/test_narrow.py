"""80 columns and 24 rows are enough: what is named is shown, each page can be used, the title says how to get to the other pane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from growing import growing
from opened import BREAKS, Driver, log_of, opened
from real import DEMO, TRACES
from screen import screen_lines, screen_text

from tltui.config import Config
from tltui.questions.records.index_page import pages

pytestmark = pytest.mark.usefixtures("home")

SMALL = (80, 24)
T213 = TRACES / "torch-2.13"


def in_front(driver: Driver) -> str:
    browser = driver.browser
    shown = [name for name, pane in (("tree", browser.tree_view), ("document", browser.document_view)) if pane.display]
    assert len(shown) == 1, "one pane at a time"
    title = screen_lines(driver.app)[1]
    assert ("tab: tree" in title) is (shown[0] == "document") and ("tree · tab: document" in title) is (shown[0] == "tree")
    return shown[0]


async def zoomed(driver: Driver) -> None:
    await driver.press("z")


async def narrow(driver: Driver) -> None:
    assert driver.browser.has_class("-narrow")


ONE_PANE = [pytest.param(SMALL, narrow, id="narrow"), pytest.param((120, 40), zoomed, id="zoomed")]
Prepare = Callable[[Driver], Awaitable[None]]

SHOWING = [
    *((view, ref) for view, ref in (("1", ""), ("2", "@problems"), ("3", "@recompiles"), ("4", "@stacks"), ("5", "@guards"),
      ("6", "@shapes"), ("7", "@caches"), ("8", "@timing"), ("W", "@where"), ("0", "@pages"), ("P", "@where::now"),
      ("apostrophe", "@marks"))),
    ("D", "@diff::0/0%200/1"),
]  # fmt: skip


@pytest.mark.parametrize(("size", "prepare"), ONE_PANE)
async def test_what_is_named_is_shown(size: tuple[int, int], prepare: Prepare) -> None:
    """From the tree and from the document; esc and backspace come back."""
    async with opened(T213 / "recompiles", size=size) as driver:
        browser = driver.browser
        await prepare(driver)
        for key, ref in SHOWING:
            browser.arrive("0/1")
            await driver.shown("0/1")
            browser.tree_view.focus()
            await driver.pilot.pause()
            assert in_front(driver) == "tree"
            await driver.press(key)
            await driver.shown(ref)
            assert in_front(driver) == "document", key
            await driver.press("backspace")
            await driver.shown("0/1")
            assert in_front(driver) == "tree", f"{key}: it was called from the tree"
            await driver.press("enter")
            assert in_front(driver) == "document"
            await driver.press(key)
            await driver.shown(ref)
            assert in_front(driver) == "document"
            await driver.press("backspace")
            await driver.shown("0/1")
            assert in_front(driver) == "document", f"{key}: it was called from the document"


async def test_go_to_and_search_show_what_they_found() -> None:
    async with opened(BREAKS, size=SMALL) as driver:
        assert in_front(driver) == "tree"
        await driver.press("o")
        await driver.type("1/0:dynamo_output_graph")
        await driver.press("enter")
        await driver.shown("1/0:dynamo_output_graph")
        assert in_front(driver) == "document"
        await driver.press("escape")
        assert in_front(driver) == "tree" and driver.at == "1/0:dynamo_output_graph"
        await driver.press("s")
        await driver.type("graph_break")
        await driver.press("enter")
        await driver.shown("@grep::graph_break")
        assert in_front(driver) == "document"
        await driver.press("slash")
        await driver.type("0/0")
        await driver.press("enter")
        await driver.until(lambda: bool(driver.browser.document_view.hits))
        assert in_front(driver) == "document"


@pytest.mark.parametrize(("key", "there"), [
    ("e", "0:9/0"), ("b", "0:5/0"), ("r", "0:4/1"), ("greater_than_sign", "1:0/0"), ("right_square_bracket", "0:0/0:"),
])  # fmt: skip
async def test_walking_stays_in_the_pane_in_front(key: str, there: str) -> None:
    async with opened(DEMO, size=SMALL) as driver:
        begin = {"e": "0:4/8", "b": "0:2/0", "r": "0:4/0"}.get(key, "0:0/0")
        driver.browser.arrive(begin)
        await driver.press(key)
        await driver.until(lambda: driver.at.startswith(there))
        assert in_front(driver) == "tree" and driver.message.partition("  ")[0].endswith("enter shows it")
        row = driver.browser.tree_view.cursor - driver.browser.tree_view.scroll_offset.y
        assert 0 <= row < driver.browser.tree_view.size.height, "the cursor is in sight"
        await driver.press("enter")
        await driver.shown(driver.at)
        assert in_front(driver) == "document"
        driver.browser.arrive(begin)
        await driver.press(key)
        await driver.until(lambda: driver.at.startswith(there))
        await driver.shown(driver.at)
        assert in_front(driver) == "document" and "shows it" not in driver.message


async def test_enter_shows_the_node_also_after_a_page() -> None:
    async with opened(BREAKS, size=SMALL) as driver:
        at = driver.at
        await driver.press("2")
        await driver.shown("@problems")
        await driver.press("escape")
        assert in_front(driver) == "tree" and driver.at == at
        await driver.press("enter")
        await driver.shown(at)
        assert in_front(driver) == "document"


async def test_the_title_follows_the_keys_of_the_user_and_goes_when_both_panes_are_seen() -> None:
    async with opened(BREAKS, size=SMALL, config=Config(keys={"app.other_pane": ("f6",)})) as driver:
        assert "tree · f6: document" in screen_lines(driver.app)[1]
        await driver.press("f6")
        assert "f6: tree · " in screen_lines(driver.app)[1]
        await driver.press("z")
        assert driver.message.startswith("one pane already has the whole screen; f6 shows the other pane")
        await driver.pilot.resize_terminal(120, 40)
        await driver.pilot.pause()
        assert "f6:" not in screen_lines(driver.app)[1]


@pytest.mark.parametrize("path", [DEMO, T213 / "errors", T213 / "ddp", T213 / "vllm_like", TRACES / "hangs" / "ranks"],
                         ids=lambda path: path.name)  # fmt: skip
async def test_every_page_can_be_read(path: Path) -> None:
    """Its first lines are there, `j` and `G` move in it, `esc` leads to the tree."""
    async with opened(path, size=SMALL) as driver:
        browser, view = driver.browser, driver.browser.document_view
        for ref in [page.ref for page in pages(browser.trace)] + ["@pages", "@marks", driver.at]:
            browser.go(ref)
            wanted = "" if ref == "@summary" else ref
            await driver.until(lambda wanted=wanted: view.document.ref == browser.shown_ref == wanted and browser.is_at_rest)
            await driver.pilot.pause()
            assert in_front(driver) == "document"
            lines = screen_lines(driver.app)
            assert len(lines) == 24 and all(len(line) <= 80 for line in lines)
            first = next((text for text in view.document.text(0, 10) if text.strip()), "")
            assert not first or first.strip()[:40] in screen_text(driver.app), ref
            await driver.press("g", "j")
            assert view.current_line() == min(1, max(len(view.rows) - 1, 0)) or view.current_line() > 1
            await driver.press("G")
            assert view.cursor[0] >= view.current_line() and view.is_at_end
            await driver.press("escape")
            assert in_front(driver) == "tree"


@pytest.mark.parametrize("size", [SMALL, (60, 20), (40, 10), (20, 5)], ids=str)
async def test_every_key_at_every_size(size: tuple[int, int]) -> None:
    """Nothing fails, and tltui lives: prompts, lists, help, provenance, comparing."""
    async with opened(T213 / "recompiles", size=size, untouched=True) as driver:
        for keys in (
            "1 enter p tab z escape", "2 j G g enter", "3 W 0 P", "o 0 slash escape", "slash a enter n N escape",
            "f 0 enter escape", "s f enter", "x escape", "m escape", "question_mark G g escape", "ctrl+p z escape",
            "D j G escape", "d r d i S", "tab f e enter escape equals_sign G minus t t", "colon 9 enter V j escape",
            "w number_sign apostrophe z z",
        ):  # fmt: skip
            await driver.press(*keys.split())
            assert driver.app.is_running
            lines = screen_lines(driver.app)
            assert len(lines) == size[1] and all(len(line) <= size[0] for line in lines)


async def test_a_remark_is_cut_with_a_sign_and_has_the_room() -> None:
    async with opened(BREAKS, size=SMALL) as driver:
        driver.browser.show_message("word " * 30)
        await driver.pilot.pause()
        said = screen_lines(driver.app)[-1]
        assert "…" in said and said.index("…") >= 60


async def test_an_error_stays_said_until_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t").mkdir()
    log = tmp_path / "t" / "0.log"
    log.write_bytes(log_of([(0, 1, "f")]))

    def add(*frames: tuple[int, int, str]) -> None:
        with log.open("ab") as file:
            file.write(log_of(frames))

    async with growing(tmp_path / "t", monkeypatch, size=SMALL) as live:
        add((1, 1, "bad_one"))
        await live.poll()
        await live.until(lambda: "L goes to ✗ [1/0] bad_one" in live.message)
        add((2, 1, "break_two"))
        await live.poll()
        assert "L goes to ✗ [1/0] bad_one" in live.message, "a break takes the place of no error"
        add((3, 1, "bad_three"))
        await live.poll()
        await live.until(lambda: "L goes to ✗ [3/0] bad_three (and 2 more)" in live.message)
        for there in ("3/0", "1/0", "2/0", "2/0"):
            await live.press("L")
            await live.shown(there)
            assert in_front(live) == "document"


async def test_some_pane_always_has_the_keys() -> None:
    """Whatever is hidden by another size or by zooming: Textual takes the focus from what is not in sight."""
    async with opened(BREAKS) as driver:
        for size in ((80, 24), (120, 40), (60, 20), (120, 40)):
            for keys in (("tab",), ("z",), ("z", "tab"), ("question_mark", "escape")):
                await driver.press(*keys)
                await driver.pilot.resize_terminal(*size)
                await driver.until(lambda: driver.app.focused is not None and driver.app.focused.display)
        driver.app.screen.set_focus(None)
        await driver.until(lambda: driver.app.focused is not None)
