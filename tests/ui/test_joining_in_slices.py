"""Inputs that take longer than a slice to join are joined by the scheduler, and shown as one process when that is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import unpacked
from opened import opened
from real import fresh

from tltui.model import input_joining, process_evidence
from tltui.model.input_joining import Joining


async def test_a_join_in_slices_has_the_result_of_one_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = unpacked("recompiles", tmp_path)
    alone = fresh(job)
    monkeypatch.setattr("tltui.screens.live_updates.SLICE", 0.0)
    for module in (process_evidence, input_joining):
        monkeypatch.setattr(module, "SLICE", 10)
    async with opened(job, wait=False) as driver:
        run = driver.browser.trace
        await driver.until(lambda: bool(run.joining.merged))
        await driver.until(lambda: driver.browser.is_at_rest)
        origins, origins_alone = ([sorted(process.origins) for process in each.processes()] for each in (run, alone))
        assert origins == origins_alone
        assert run.tally == alone.tally


async def test_an_error_while_joining_shows_the_inputs_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = unpacked("recompiles", tmp_path)
    attempts = []

    def fail(self: Joining, models: object, finished: bool) -> object:
        attempts.append(1)
        yield
        raise ZeroDivisionError

    monkeypatch.setattr("tltui.screens.live_updates.SLICE", 0.0)
    monkeypatch.setattr(Joining, "join", fail)
    async with opened(job, wait=False, faults=True) as driver:
        await driver.until(lambda: bool(attempts) and not driver.browser.trace.is_sought)
        await driver.until(lambda: driver.browser.is_at_rest)
        await driver.rest()
        assert len(list(driver.browser.trace.processes())) > 1
    assert len(attempts) == 1
