"""The page `runtime` on the screen, and the costs in the tree."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opened import opened
from real import TRACES
from screen import screen_text

from tltui.inputs import profile_reader
from tltui.model.profiles_and_dumps import Profiles
from tltui.screens import live_updates

BROKEN, MLP = TRACES / "profiler" / "broken", TRACES / "profiler" / "mlp"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_runtime_page(size: tuple[int, int]) -> None:
    async with opened(BROKEN, size=size) as driver:
        await driver.until(lambda: not driver.browser.trace.profiles.unread)
        await driver.press("T")
        await driver.shown("@runtime")
        await driver.until(lambda: "Where a step goes" in screen_text(driver.app))
        said = screen_text(driver.app)
        assert "4 calls of limited [2/2] fell back to eager mode" in said
        assert "9.12 ms" in said
        if size[0] > 100:
            (row,) = [line for line in said.splitlines() if "[1/0]" in line and "10.9 s" in line]
            assert "5.58 ms" in row, "the tree has what a compile takes of a step"
            head = next(line for line in said.splitlines() if "run/step   compile" in line)
            assert abs(head.index("run/step") + 8 - row.index("5.58 ms") - 7) <= 1, "its head is above it"
            assert abs(head.index("compile") + 7 - row.index("10.9 s") - 6) <= 1


async def test_sorting_and_a_compile_of_its_own() -> None:
    async with opened(BROKEN, size=(120, 60)) as driver:
        await driver.until(lambda: not driver.browser.trace.profiles.unread)
        await driver.press("T")
        await driver.shown("@runtime")
        await driver.press("tab", "S")
        await driver.until(lambda: "mean" in driver.message)
        await driver.press("T")
        await driver.until(lambda: driver.browser.shown_ref == "@runtime:2/2")
        await driver.until(lambda: "No calls while the profiler ran." in screen_text(driver.app))


async def test_the_first_rows_are_shown_while_the_rest_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, is_held = Profiles.steps, True

    def held(profiles: Profiles) -> Iterator[float]:
        for number, part in enumerate(steps(profiles)):
            yield part
            while number == 1 and is_held:
                yield part

    monkeypatch.setattr(Profiles, "steps", held)
    monkeypatch.setattr(profile_reader, "STEP", 1 << 14)
    monkeypatch.setattr(live_updates, "FIRST_ROWS", 0.0)
    async with opened(MLP, size=(120, 40)) as driver:
        await driver.press("T")
        await driver.until(lambda: "of profile.json" in screen_text(driver.app))
        shown = screen_text(driver.app)
        assert "First " in shown and "is not read yet" in shown and "Where a step goes" not in shown
        is_held = False
        await driver.until(lambda: "Where a step goes" in screen_text(driver.app))
        assert "is not read yet" not in screen_text(driver.app)
