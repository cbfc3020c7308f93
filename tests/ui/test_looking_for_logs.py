"""The screen is there before the logs are found, and shows them as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from real import TRACES
from screen import screen_lines, screen_text, until

from tltui.app import TltuiApp
from tltui.cli import loading
from tltui.cli.exits import Failure
from tltui.config import Config
from tltui.model.run import Run
from tltui.sources.discover import Discovery, Found, Search, discover


def sought(path: Path, latest: bool = False) -> Found:
    """What the UI is given where looking takes longer than a glance."""
    search = Search(Discovery([str(path)], latest))
    search.hold()
    search.start()
    return Found((str(path),), (), (), discovery=search.discovery, search=search)


def app_of(found: Found) -> TltuiApp:
    return TltuiApp(Run(found), Config(), theme="dark", ascii_only=False, mouse=True)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A few logs among files that are none."""
    for number in range(60):
        (tmp_path / f"note{number}.txt").write_text("nothing of torch\n")
    for number, log in enumerate(sorted(TRACES.joinpath("torch-2.13/diverge").glob("*.log"))):
        shutil.copy2(log, tmp_path / f"z_rank_{number}.log")
    return tmp_path


async def test_logs_come_in_behind_the_first_frame(many: Path) -> None:
    app = app_of(sought(many))
    assert app.browser.trace.is_sought and "still searching for its logs" in app.browser.trace.goes_on
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.browser.trace.finished and app.browser.is_at_rest and "compiling" in screen_text(app))
        run = app.browser.trace
        there = discover([str(many)])
        assert [log.path for log in run.discovered.logs] == [log.path for log in there.logs]
        assert run.discovered.others + len(run.discovered.skipped) == there.others + len(there.skipped)
        assert run.discovered.search is None and len(run.ranks) == len(there.logs)
    assert app.faults == []


async def test_a_search_that_goes_on_is_said(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sought(many, latest=True)
    assert found.search is not None
    monkeypatch.setattr(found.search, "go_on", lambda: None)  # a file that does not come
    app = app_of(found)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "still looking for logs" in screen_text(app))
        assert "searching for the newest run: 0 found" in screen_lines(app)[0]
        assert "no log" not in screen_text(app) and "Waiting for the first record" not in screen_text(app)
        await pilot.press("j", "3", "1")
        found.search._may.set()
        await until(pilot, lambda: app.browser.trace.finished and "3 ranks" in screen_lines(app)[0])
    assert app.faults == []


async def test_nothing_found_ends_it_with_the_message_of_a_small_directory(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("nothing of torch\n")
    with pytest.raises(Failure) as small:
        loading.search([str(tmp_path)], latest=False)
    app = app_of(sought(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: not app.is_running)
    assert app.browser.no_log_reason == str(small.value)


def test_a_glance_is_enough_for_few_files(many: Path) -> None:
    assert loading.search([str(many / "z_rank_0.log")], latest=False).search is None
    assert loading.search([str(many)], latest=True).logs
