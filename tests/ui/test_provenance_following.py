"""Provenance mode: where enter, backspace and the other keys lead, what is left out, what a narrow screen says."""

from __future__ import annotations

import re

import pytest
from opened import Driver, opened
from real import TRACES
from screen import screen_lines, screen_text

from tltui.questions.provenance.pane_layout import ALL, LAYERS
from tltui.questions.provenance.provenance import POST, PRE, PY, SOURCE
from tltui.questions.provenance.records import DERIVED
from tltui.screens.provenance import ProvenanceScreen
from tltui.text.annotations import Unannotated
from tltui.widgets.bars import CorrespondingLines

TRAIN = TRACES / "torch-2.13" / "train"
UNRECORDED = TRACES / "provenance" / "unrecorded"
MLP = TRACES / "profiler" / "mlp"


async def enter(driver: Driver) -> ProvenanceScreen:
    await driver.press("p")
    await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
    screen = driver.app.screen
    assert isinstance(screen, ProvenanceScreen)
    await driver.until(lambda: screen.unit is not None and screen.view(screen.pane).has_focus)
    await driver.pilot.pause()
    return screen


def line_with(screen: ProvenanceScreen, pane: int, text: str) -> int:
    document = screen.view(pane).document
    return next(n for n in range(len(document)) if text in document.line(n).text)


def place(screen: ProvenanceScreen) -> tuple[int, int]:
    return screen.pane, screen.view(screen.pane).current_line()


async def again(driver: Driver) -> ProvenanceScreen:
    """The mode as it opens, in an app that has been in it."""
    await driver.press("escape")
    await driver.until(lambda: driver.app.screen is driver.browser)
    return await enter(driver)


async def go(driver: Driver, screen: ProvenanceScreen, pane: int, text: str) -> tuple[int, int]:
    while not screen.view(pane).display:
        await driver.press("tab" if screen.is_single else "vertical_line")
    screen.view(pane).focus()
    await driver.pilot.pause()
    screen.view(pane).goto_line(line_with(screen, pane, text) + 1)
    await driver.pilot.pause()
    return place(screen)


@pytest.mark.parametrize(("width", "graphs"), [(80, []), (120, []), (160, [POST]), (200, [POST, PRE])])
async def test_enter_leads_towards_the_source_and_backspace_back(width: int, graphs: list[int]) -> None:
    async with opened(TRAIN, size=(width, 30)) as driver:
        screen = await enter(driver)
        call = await go(driver, screen, PY, "extern_kernels.addmm(primals_8")
        for pane, text in ((POST, "addmm_1"), (PRE, "linear_1")):
            if pane in graphs:
                await driver.press("enter")
                node = place(screen)
                assert node[0] == pane and text in screen.view(pane).document.line(node[1]).text
                assert screen.view(pane).display and screen.view(pane).has_focus
        await driver.press("enter")
        assert screen.pane == SOURCE and "x=x+s.o(" in screen.view(SOURCE).document.line(place(screen)[1]).text
        await driver.press("enter")
        assert place(screen) == call
        for _ in range(len(graphs) + 2):
            await driver.press("backspace")
        assert place(screen) == call and screen.is_current
        await driver.press("backspace")
        await driver.until(lambda: driver.app.screen is driver.browser)


async def test_esc_and_p_leave_at_once_and_backspace_comes_back_to_the_unit_that_was_left() -> None:
    async with opened(TRAIN, size=(120, 30)) as driver:
        for key in ("escape", "p"):
            screen = await enter(driver)
            await go(driver, screen, PY, "extern_kernels.addmm(primals_8")
            await driver.press("enter", "enter", key)
            await driver.until(lambda: driver.app.screen is driver.browser)
        screen = await enter(driver)
        before = await go(driver, screen, POST, "addmm_1 =")
        await driver.press("u")
        await driver.until(lambda: screen.unit is not None and screen.unit.unit == "backward")
        await driver.press("j", "backspace")
        await driver.until(lambda: screen.unit is not None and screen.unit.unit == "forward")
        assert place(screen) == before and screen.is_current


async def test_enter_on_a_name_goes_to_its_definition_and_what_maps_to_nothing_pins_nothing() -> None:
    async with opened(TRAIN, size=(120, 30)) as driver:
        screen = await enter(driver)
        call = await go(driver, screen, PY, " cpp_fused_add_view_1(")
        await driver.press("l", "enter")
        pane, line = place(screen)
        assert pane == PY and screen.view(PY).document.line(line).text.startswith("cpp_fused_add_view_1 = async_compile")
        await driver.press("backspace")
        assert place(screen) == call
        await go(driver, screen, POST, "addmm_1 =")
        await driver.press("l", "enter")
        assert screen.pane == SOURCE, "a name where it is defined stands for its line"
        screen = await again(driver)
        await go(driver, screen, POST, "class GraphModule")
        assert "no mapping for this line" in screen.query_one(CorrespondingLines).plain_text()[0]
        await driver.press("H")
        assert "cannot pin" in screen_lines(driver.app)[-1]
        assert not any(screen.view(pane).has_pinned for pane in ALL)
        await go(driver, screen, POST, "addmm_1 =")
        await driver.press("H")
        assert " pinned; H releases it" in screen_lines(driver.app)[-1]
        await go(driver, screen, POST, "class GraphModule")
        await driver.press("H")
        assert "unpinned" in screen_lines(driver.app)[-1]


async def test_nothing_scrolls_while_what_corresponds_is_in_sight() -> None:
    async with opened(TRAIN, size=(160, 40)) as driver:
        screen = await enter(driver)
        await go(driver, screen, POST, "_scaled_dot_product_flash")
        code = screen.view(PY)
        top, scrolled, moved = code.scroll_offset.y, 0, 0
        for _ in range(14):
            cursor = code.current_line()
            await driver.press("j")
            calls = [line for line in code.matches if "(" in code.document.line(line).text.partition("#")[0]]
            if any(top <= code.rows.row_of(line) < top + code.size.height for line in calls):
                assert code.scroll_offset.y == top
                moved += code.current_line() != cursor
            scrolled, top = scrolled + (code.scroll_offset.y != top), code.scroll_offset.y
            if code.matches:
                row = code.rows.row_of(code.current_line()) - top
                assert 0 <= row < code.size.height
        assert moved


async def test_types_are_left_out_where_panes_are_narrow_and_said_below_searched_and_copied() -> None:
    async with opened(TRAIN, size=(120, 30)) as driver:
        screen = await enter(driver)
        _, line = await go(driver, screen, POST, "addmm_1 =")
        post = screen.view(POST)
        text = post.document.line(line).text
        assert isinstance(post.document, Unannotated) and '"f32' not in text and "= None" not in text
        assert " addmm_1: f32[32, 16][16, 1]cpu" in screen_lines(driver.app)[-1]
        await driver.press("i")
        assert '"f32[32, 16][16, 1]cpu"' in post.document.line(line).text and post.current_line() == line
        await driver.press("i")
        assert post.document.line(line).text == text and post.current_line() == line
        screen = await again(driver)
        await go(driver, screen, POST, "addmm_1 =")
        await driver.press("z")
        assert not isinstance(screen.view(POST).document, Unannotated), "there is room for them"
        screen = await again(driver)
        await go(driver, screen, POST, "addmm_1 =")
        post = screen.view(POST)
        await driver.press("slash")
        await driver.type(r"32, 16\]\[16, 1\]cpu")
        await driver.press("enter")
        await driver.until(lambda: "/" in post.hits and "…" not in post.hits)
        assert "[32, 16][16, 1]cpu" in post.document.line(post.current_line()).text, "the line with the hit is shown whole"
        others = [post.document.line(n).text for n in range(len(post.document))]
        assert any('"f32' not in text and " = aten." in text for text in others), "and others are not"
        await driver.press("y")
        assert "copied" in screen_lines(driver.app)[-1]
        await driver.press("escape")
        assert not post.hits and "cpu" not in post.document.line(post.current_line()).text
        assert screen.is_current


@pytest.mark.parametrize("size", [(80, 24), (120, 30)], ids=str)
async def test_two_panes_have_the_nodes_and_kernels_of_the_line_below_them(size: tuple[int, int]) -> None:
    async with opened(TRAIN, size=size) as driver:
        screen = await enter(driver)
        await go(driver, screen, SOURCE, "x=x+s.o(")
        lines = screen.query_one(CorrespondingLines).plain_text()
        assert screen_lines(driver.app)[-4:-1] == lines
        assert [line.split()[0] for line in lines] == ["pre", "post", "runs"]
        assert re.search(r" transpose_3 = .* · reshape · linear_1 · x_1  4 nodes$", lines[0]) and lines[1].endswith("7 nodes")
        assert re.search(r" d extern_kernels.addmm:4 · .*  2 of 10 kernels$", lines[2])
        assert "backspace back" in screen_lines(driver.app)[-1], "what the strip lists is not listed again"
        await go(driver, screen, POST, "addmm_1 =")
        lines = screen.query_one(CorrespondingLines).plain_text()
        assert [line.split()[0] for line in filter(None, lines)] == ["pre", "runs"] and "linear_1 =" in lines[0]
        assert "addmm_1: f32[32, 16]" in screen_lines(driver.app)[-1]


async def test_a_zoomed_pane_turns_through_all_texts_with_three_lines_on_the_others() -> None:
    async with opened(TRAIN, size=(80, 24)) as driver:
        screen = await enter(driver)
        await driver.press("z")
        await go(driver, screen, POST, "addmm_1 =")
        said = screen.query_one(CorrespondingLines).plain_text()
        assert screen_lines(driver.app)[-4:-1] == said
        assert [line.split()[0] for line in said] == ["source", "pre", "runs"]
        assert "train.py:10  x=x+s.o(" in said[0] and "linear_1 =" in said[1] and "d extern_kernels.addmm:4" in said[2]
        seen = []
        for _ in range(5):
            await driver.press("tab")
            seen.append(screen.pane)
            assert [pane for pane in ALL if screen.view(pane).display] == [screen.pane]
        assert seen == [PY, LAYERS, SOURCE, PRE, POST], "tab turns the pane"
        await driver.press("tab")
        assert "extern_kernels.addmm(primals_8" in screen.view(PY).document.line(screen.view(PY).current_line()).text
        await driver.press("question_mark")
        assert screen.is_helping and not screen.query_one(CorrespondingLines).display
        await driver.press("escape")
        assert screen.query_one(CorrespondingLines).region.height == 3 and screen.pane == PY
        await driver.press("z")
        assert [pane for pane in ALL if screen.view(pane).display] == [SOURCE, PY] and screen.pane == PY
        await driver.pilot.resize_terminal(160, 24)
        screen = await again(driver)
        assert not screen.query_one(CorrespondingLines).display
        await driver.press("z")
        lines = screen.query_one(CorrespondingLines)
        assert lines.display and lines.plain_text()[0].startswith(" pre")


async def test_more_or_less_room_keeps_the_place() -> None:
    async with opened(TRAIN, size=(80, 24)) as driver:
        screen = await enter(driver)
        before = await go(driver, screen, POST, "addmm_1 =")
        assert [pane for pane in ALL if screen.view(pane).display] == [SOURCE, POST]
        for width, panes in ((160, [SOURCE, POST, PY]), (210, [SOURCE, PRE, POST, PY]), (90, [SOURCE, POST])):
            await driver.pilot.resize_terminal(width, 24)
            await driver.until(lambda panes=panes: [pane for pane in ALL if screen.view(pane).display] == panes)  # type: ignore[misc]
            assert place(screen) == before and screen.view(POST).has_focus


async def test_what_was_derived_is_marked() -> None:
    async with opened(UNRECORDED, size=(120, 30)) as driver:
        screen = await enter(driver)
        assert screen.unit is not None
        derived = [kernel for kernel in screen.unit.kernels if kernel.nodes_from in DERIVED and kernel.call_lines]
        code = screen.view(PY)
        while screen.pane != PY:
            await driver.press("tab")
        code.goto_line(derived[0].call_lines[0])
        await driver.pilot.pause()
        row = screen_lines(driver.app)[2 + code.current_line() - code.scroll_offset.y]
        assert f"{derived[0].call_lines[0]}≈" in row
        assert "≈ nodes derived from the code" in screen.status.plain_text()


async def test_what_kernels_took_stands_beside_them() -> None:
    async with opened(MLP, size=(140, 30)) as driver:
        driver.browser.trace.profiles.read()
        screen = await enter(driver)
        await go(driver, screen, PY, "extern_kernels.bmm(")
        await driver.press("exclamation_mark")
        code = screen.view(PY)
        hottest = place(screen)[1]
        lines = screen_lines(driver.app)
        assert re.search(r" [\d.]+ ms [▏▎▍▌▋▊▉█]+ .*extern_kernels.mm", lines[2 + hottest - code.scroll_offset.y])
        assert any(" ms per step" in line for line in lines), "the strip has it with its unit"
        await driver.press("exclamation_mark")
        assert place(screen)[1] != hottest
        await driver.press("at")
        assert place(screen)[1] == hottest
        await driver.press("at")
        assert "no line in this pane took more time" in screen_text(driver.app)
    async with opened(TRAIN, size=(120, 30)) as driver:
        await enter(driver)
        await driver.press("exclamation_mark")
        assert "This pane has no times" in screen_text(driver.app)


async def test_the_line_above_says_as_many_counts_as_there_is_room_for() -> None:
    async with opened(UNRECORDED, size=(120, 24)) as driver:
        await enter(driver)
        counts = "kernels → nodes 27/27 (26 ≈) · kernels → lines 27/27 (26 ≈)"
        kernels = counts.partition(" · ")[0]
        how = "set INDUCTOR_PROVENANCE=1 (torch 2.9 and later)"
        for width, ends in ((138, "(131 ≈)"), (105, counts), (80, kernels), (300, how)):
            await driver.pilot.resize_terminal(width, 24)
            await driver.until(lambda ends=ends: screen_lines(driver.app)[0].rstrip().endswith(ends))  # type: ignore[misc]
            assert (kernels if width == 80 else counts) in screen_lines(driver.app)[0]
