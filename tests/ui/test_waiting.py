"""The UI before there is anything to show: an empty directory, and what a job printed without any message of torch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from opened import Driver
from real import TRACES
from screen import screen_text

from tltui.app import TltuiApp
from tltui.cli import main
from tltui.cli.loading import search
from tltui.config import Config
from tltui.model.run import Run


async def test_an_empty_directory_is_waited_for_until_a_log_comes_and_q_leaves(tmp_path: Path) -> None:
    app = TltuiApp(Run(search([str(tmp_path)], False)), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.browser.is_mounted and "Waiting for a log in" in screen_text(app))
        for path in (TRACES / "torch-2.13" / "breaks").iterdir():
            shutil.copy(path, tmp_path)
        await driver.until(lambda: "[0/0]" in screen_text(app))
        await pilot.press("q")
        await driver.until(lambda: app.return_code is not None or not app.is_running)
    assert app.faults == []


@pytest.mark.parametrize("command", [[], ["ls"], ["summary"]])
def test_without_a_terminal_it_is_one_message(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, str(tmp_path)]) == 2
    *_, problem, advice = capsys.readouterr().err.splitlines()
    assert advice == "  to record a trace: tltui run -- python train.py"
    assert problem == f"tltui: no trace, TORCH_LOGS text, debug directory or tlparse output found: '{tmp_path}'"


async def test_an_output_alone_is_what_is_shown_first(tmp_path: Path) -> None:
    (tmp_path / "slurm-4242.out").write_text("epoch 1\nsrun: error: node01: task 1: Killed\n")
    found = search([str(tmp_path / "slurm-4242.out")], False)
    app = TltuiApp(Run(found), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.browser.is_mounted and "task 1: Killed" in screen_text(app))
        assert app.browser.shown_ref == "@log"
    assert app.faults == []
