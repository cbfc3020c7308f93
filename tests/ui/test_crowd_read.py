"""A rank that another one stands for, on the screen: it is read when one goes there."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import Driver
from ranked import ranked
from screen import screen_text

from tltui.app import TltuiApp
from tltui.cli import main
from tltui.config import Config
from tltui.model.run import Run
from tltui.sources.discover import discover
from tltui.sources.saved_indexes import Crowd


async def test_a_rank_that_another_one_stands_for_is_read_when_one_goes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked(tmp_path / "job", "--ranks", 8, "--compiles", 4, "--detail", "tiny", "--plant", "other_graph:ranks=5,compile=2")
    index = str(tmp_path / "job.tlx")
    assert main(["index", str(tmp_path / "job"), "-o", index]) == 0
    monkeypatch.setattr(Crowd.to_read, "__defaults__", ((), 12))  # of 32 compiles: one rank of each class
    app = TltuiApp(Run(discover([index])), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.browser.is_mounted and app.browser.trace.is_read and app.browser.is_at_rest)
        text = screen_text(app)
        assert "7 ranks: 0–4, 6, 7" in text and "▸ rank 5" in text and "8 ranks" in text.splitlines()[0]
        assert "8 ranks form 2 groups." in text

        driver.browser.go("@diff::0:2/0 6:2/0")
        await driver.until(lambda: driver.browser.shown_ref.startswith("@diff"))
        assert "6 ranks: 0–4, 7" in screen_text(app) and "rank 6" in screen_text(app)

        await driver.press("o", *"3:1/0")
        await driver.press("enter")
        await driver.until(lambda: driver.browser.shown_ref == "3:1/0")
        assert "5 ranks: 0–2, 4, 7" in screen_text(app)
        assert [rank.number for rank in app.browser.trace.ranks] == [0, 3, 5, 6]
    assert app.faults == []
