"""Provenance mode, driven by keys: what lights up, what it says, what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import BREAKS, Driver, opened
from real import TRACES
from screen import screen_lines, screen_text

from tltui.questions.provenance.pane_layout import ALL
from tltui.questions.provenance.provenance import POST, PRE, PY, SOURCE
from tltui.screens.provenance import ProvenanceScreen
from tltui.widgets.bars import CorrespondingLines

TRAIN = TRACES / "torch-2.13" / "train"


async def to(driver: Driver, ref: str) -> None:
    driver.browser.go(ref)
    await driver.shown(ref)


async def enter(driver: Driver) -> ProvenanceScreen:
    await driver.press("p")
    await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
    screen = driver.app.screen
    assert isinstance(screen, ProvenanceScreen)
    await driver.until(lambda: screen.unit is not None and bool(screen.view(screen.pane).document.ref))
    await driver.pilot.pause()
    return screen


def shown(screen: ProvenanceScreen) -> list[int]:
    return [pane for pane in ALL if screen.view(pane).display]


@pytest.mark.parametrize(("size", "panes"), [
    ((80, 19), [SOURCE]), ((80, 20), [SOURCE, PY]), ((100, 30), [SOURCE, PY]), ((159, 30), [SOURCE, PY]),
    ((160, 30), [SOURCE, POST, PY]), ((200, 30), [SOURCE, PRE, POST, PY]),
], ids=str)  # fmt: skip
async def test_as_many_panes_as_fit(size: tuple[int, int], panes: list[int]) -> None:
    async with opened(TRAIN, size=size) as driver:
        screen = await enter(driver)
        assert shown(screen) == panes and screen.pane == SOURCE
        assert "kernels → nodes 10/10" in screen_lines(driver.app)[0]
        assert screen.query_one(CorrespondingLines).display == (size[0] < 160)
        regions = [screen.view(pane).region for pane in panes]
        if size[0] >= 100:
            assert len({region.y for region in regions}) == 1 and max(regions, key=lambda region: region.width) == regions[-1]
        elif len(panes) == 2:
            assert {region.width for region in regions} == {size[0]} and regions == sorted(regions, key=lambda region: region.y)
            assert all(region.height >= 6 for region in regions)


async def test_another_width_keeps_the_place_and_brings_what_belongs_to_it() -> None:
    async with opened(TRAIN, size=(80, 24)) as driver:
        screen = await enter(driver)
        await driver.press("full_stop", "full_stop")
        line = screen.view(SOURCE).current_line()
        for width, panes in ((200, [SOURCE, PRE, POST, PY]), (160, [SOURCE, POST, PY]), (120, [SOURCE, PY]), (80, [SOURCE, PY])):
            await driver.pilot.resize_terminal(width, 24)
            await driver.until(lambda panes=panes: shown(screen) == panes and screen.view(SOURCE).has_focus)  # type: ignore[misc]
            await driver.pilot.pause()
            assert screen.view(SOURCE).current_line() == line
            for view in map(screen.view, panes):
                assert view.matches and any(map(view.is_visible, view.matches)), "what belongs to the cursor is in sight"
                assert view.current_line() in view.matches and view.is_visible(view.current_line())


async def test_rows_of_stacked_panes_move_between_them() -> None:
    async with opened(TRAIN, size=(80, 24)) as driver:
        screen = await enter(driver)
        heights = [screen.view(pane).outer_size.height for pane in (SOURCE, PY)]
        await driver.press("ctrl+right", "ctrl+right")
        await driver.pilot.pause()
        assert [screen.view(pane).outer_size.height for pane in (SOURCE, PY)] == [heights[0] + 2, heights[1] - 2]
        for _ in range(3):  # faster than frames are drawn
            screen.action_narrower()
        await driver.pilot.pause()
        assert [screen.view(pane).outer_size.height for pane in (SOURCE, PY)] == [heights[0] - 1, heights[1] + 1]
        await driver.press(*["ctrl+right"] * 8)
        assert "each pane needs at least 4 rows" in screen_lines(driver.app)[-1]


@pytest.mark.parametrize("theme", ["dark", "mono"])
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_what_belongs_to_the_cursor_is_marked_without_color(theme: str, ascii_only: bool) -> None:
    async with opened(TRAIN, size=(160, 40), theme=theme, ascii_only=ascii_only) as driver:
        screen = await enter(driver)
        await driver.press("full_stop")
        await driver.pilot.pause()
        sign = "|" if ascii_only else "▌"
        for pane in (SOURCE, POST, PY):
            view = screen.view(pane)
            lines = [view.rows.at(view.scroll_offset.y + y).line for y in range(view.size.height)]
            rows = {line: view.render_line(y).text for y, line in enumerate(lines) if line >= 0}
            assert {line for line, text in rows.items() if text.startswith(sign)} == set(view.matches) & rows.keys()
            assert set(view.matches) & rows.keys()
            assert not ascii_only or all(text.isascii() for text in rows.values())


async def test_the_other_panes_follow_the_cursor() -> None:
    async with opened(TRAIN, size=(200, 34)) as driver:
        screen = await enter(driver)
        assert screen.pane == SOURCE
        while not screen.view(PRE).display:
            await driver.press("vertical_line")
        pre = screen.view(PRE)
        pre.focus()
        await driver.pilot.pause()
        line = next(n for n in range(len(pre.document)) if " layer_norm =" in pre.document.line(n).text)
        pre.goto_line(line + 1)
        await driver.pilot.pause()
        post, code = screen.view(POST), screen.view(PY)
        assert any("var_mean" in post.document.line(n).text for n in post.matches)
        assert any("cpp_fused" in code.document.line(n).text for n in code.matches)
        assert post.current_line() in post.matches and code.current_line() in code.matches
        await driver.press("tab")
        assert screen.pane == POST and line in pre.matches
        await driver.press("shift+tab")
        assert screen.pane == PRE


async def test_next_mapped_line_and_matches_and_what_is_said() -> None:
    async with opened(TRAIN, size=(160, 34)) as driver:
        screen = await enter(driver)
        source = screen.view(SOURCE)
        seen = []
        for _ in range(4):
            await driver.press("full_stop")
            seen.append(source.current_line())
        assert seen == sorted(set(seen))
        await driver.press("comma")
        assert source.current_line() == seen[-2]
        await driver.press("tab", "right_parenthesis")
        await driver.press("g", "comma")
        assert "no earlier mapped line in this pane" in screen_text(driver.app)


async def test_units_and_panes_and_zoom_and_pin() -> None:
    async with opened(TRAIN, size=(160, 34)) as driver:
        screen = await enter(driver)
        assert screen.unit is not None and screen.unit.unit == "forward"
        await driver.press("u")
        await driver.until(lambda: screen.unit is not None and screen.unit.unit == "backward")
        assert "backward" in screen_lines(driver.app)[0]
        await driver.press("u")
        await driver.until(lambda: screen.unit is not None and screen.unit.unit == "forward")
        before = [pane for pane in ALL if screen.view(pane).display]
        await driver.press("vertical_line")
        assert [pane for pane in ALL if screen.view(pane).display] != before
        await driver.press("z")
        assert sum(screen.view(pane).display for pane in ALL) == 1
        await driver.press("z")
        assert sum(screen.view(pane).display for pane in ALL) == 3
        await driver.press("full_stop", "H")
        assert any(screen.view(pane).has_pinned for pane in ALL)
        await driver.press("H")
        assert not any(screen.view(pane).has_pinned for pane in ALL)


async def test_it_begins_at_the_artifact_that_was_shown() -> None:
    async with opened(TRAIN, size=(140, 34)) as driver:
        await to(driver, "0/0:inductor_post_grad_graph#2")
        screen = await enter(driver)
        assert screen.unit is not None and screen.unit.unit == "backward" and screen.pane == POST


async def test_it_begins_in_the_line_that_was_under_the_cursor() -> None:
    ref = "0/0:inductor_output_code#1"
    async with opened(TRAIN, size=(120, 34)) as driver:
        await to(driver, ref)
        view = driver.browser.document_view
        view.focus()
        view.goto_line(len(view.document) - 80)
        await driver.pilot.pause()
        screen = await enter(driver)
        code = screen.view(PY)
        assert screen.pane == PY and code.current_line() == len(view.document) - 81
        assert 5 < code.current_line() - code.scroll_offset.y < code.size.height, "what stands above is in sight"
        assert f"{len(view.document) - 80}/" in screen_lines(driver.app)[-1]
        await driver.press("shift+tab")
        source = screen.view(SOURCE)
        assert screen.pane == SOURCE and f"{source.current_line() + 1}/{len(source.document)}" in screen_lines(driver.app)[-1]


async def test_from_the_top_of_an_artifact_it_goes_to_the_first_line_that_is_mapped() -> None:
    async with opened(TRAIN, size=(120, 34)) as driver:
        await to(driver, "0/0:inductor_output_code#1")
        screen = await enter(driver)
        await driver.until(lambda: screen.pane == PY)
        code = screen.view(PY)
        assert code.current_line() > 0 and code.current_line() in code.matches
        assert screen.view(SOURCE).matches, "the other panes follow"


async def test_titles_leave_out_what_the_line_above_says() -> None:
    async with opened(TRAIN, size=(120, 34)) as driver:
        await to(driver, "0/0:inductor_output_code#1")
        screen = await enter(driver)
        above, titles = screen_lines(driver.app)[:2]
        assert "0/0" in above and "forward" in above
        assert titles.startswith("─source …/models/train.py:") and "━generated code …xsr4.py━" in titles, "the ends of paths"
        assert "[0/0]" not in titles and "forward" not in titles
        await driver.press("u")
        await driver.until(lambda: screen.unit is not None and screen.unit.unit == "backward")
        await driver.pilot.pause()
        assert "━generated code …" in screen_lines(driver.app)[1] and "backward" not in screen_lines(driver.app)[1]
        assert screen.pane == PY, "the same pane of the other unit"


async def test_the_source_pane_knows_the_users_lines() -> None:
    async with opened(TRAIN, size=(200, 34)) as driver:
        screen = await enter(driver)
        source = screen.view(SOURCE)
        text = "\n".join(source.document.text())
        assert "train.py" in text and "q,k,v=s.q(s.ln(x)).chunk(3,-1)" in text
        line = next(n for n in range(len(source.document)) if "s.q(s.ln(x))" in source.document.line(n).text)
        source.focus()
        await driver.pilot.pause()
        source.goto_line(line + 1)
        await driver.pilot.pause()
        post = screen.view(POST)
        assert any("addmm" in post.document.line(n).text for n in post.matches)


async def test_export_of_one_line_and_all_that_it_maps_to(tmp_path: Path) -> None:
    async with opened(TRAIN, size=(140, 34)) as driver:
        screen = await enter(driver)
        await driver.press("full_stop", "full_stop", "full_stop", "x")
        target = tmp_path / "line.txt"
        await driver.retype(str(target))
        await driver.press("enter")
        await driver.until(target.exists)
        text = target.read_text()
        assert "pre-grad graph" in text and "post-grad graph" in text and "generated code" in text
        assert screen.is_current


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_where_there_is_no_code_the_nearest_is_offered(size: tuple[int, int]) -> None:
    async with opened(BREAKS, size=size) as driver:
        await to(driver, "2/0")
        await driver.press("p")
        await driver.until(lambda: driver.message.startswith("press p again for [1/0], the nearest compile that has code"))
        assert driver.message.split(" · ")[1].startswith("[2/0] has no code: no operations were captured before the graph break")
        assert driver.at == "2/0" and driver.browser.shown_ref == "2/0"
        screen = await enter(driver)
        assert str(screen.compile_.ref) == "1/0"
        await driver.press("escape")
        await driver.shown("1/0")
        assert driver.at == "1/0"
        await driver.press("backspace")
        await driver.shown("2/0")


async def test_what_was_offered_for_one_compile_is_not_for_another() -> None:
    async with opened(BREAKS) as driver:
        await to(driver, "2/0")
        await driver.press("p")
        await driver.until(lambda: driver.message.startswith("press p again for"))
        await to(driver, "none")
        await driver.press("p")
        await driver.until(lambda: "these records belong to no compile" in driver.message)
        assert driver.browser.is_current


async def test_from_the_first_screen_it_leads_to_the_first_code() -> None:
    async with opened(BREAKS, untouched=True) as driver:
        screen = await enter(driver)
        assert str(screen.compile_.ref) == "0/0"
        await driver.press("escape", "backspace")
        await driver.until(lambda: driver.browser.shown_ref == "")
    async with opened(TRACES / "torch-2.13" / "errors", untouched=True) as driver:
        await driver.press("p")
        await driver.until(lambda: driver.message.startswith("no compile in this run has generated code"))
        await driver.press("e", "p")
        await driver.until(lambda: "no compile in this run has generated code. [0/0]: it failed in Dynamo" in driver.message)


async def test_help_takes_the_place_of_the_panes_and_gives_it_back() -> None:
    async with opened(TRAIN, size=(140, 34)) as driver:
        screen = await enter(driver)
        await driver.press("tab")
        pane, cursor = screen.focused_pane, screen.focused_pane.cursor
        await driver.press("question_mark")
        await driver.until(lambda: "Keys here" in screen_text(driver.app))
        await driver.press("tab", "full_stop", "H", "u")  # what is not in sight does not move
        assert screen.is_helping and pane.cursor == cursor
        await driver.press("slash", *"next mapped", "enter")
        await driver.until(lambda: "mapped" in screen_text(driver.app))
        await driver.press("escape", "escape")
        assert not screen.is_helping and screen.focused_pane is pane and pane.has_focus and pane.cursor == cursor
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is driver.browser)


async def test_the_footer_names_keys_that_have_an_effect_also_with_times() -> None:
    for path, size, units in ((TRACES / "profiler" / "mlp", (80, 24), True), (TRACES / "torch-2.13" / "breaks", (120, 40), False)):
        async with opened(path, size=size) as driver:
            await enter(driver)
            await driver.press("j")
            footer = screen_lines(driver.app)[-1]
            assert footer.startswith(" backspace back  enter follow  . mapped") and ("u unit" in footer) is units
            await driver.press("question_mark", "question_mark")
            await driver.until(lambda footer=footer: screen_lines(driver.app)[-1] == footer)  # type: ignore[misc]


async def test_the_strip_uses_its_room_for_the_first_kernel() -> None:
    async with opened(TRACES / "profiler" / "mlp", size=(80, 24)) as driver:
        await enter(driver)
        await driver.press("exclamation_mark")
        assert " runs   l extern_kernels.mm:12 · …  5 of 27 kernels · 1.45 ms per step" in screen_lines(driver.app)
