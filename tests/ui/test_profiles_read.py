"""Profiles beside the logs are read while other things are done; what is shown is made again then."""

from __future__ import annotations

import shutil
from pathlib import Path

from opened import opened
from screen import screen_text

from tltui.questions.provenance.provenance import PY
from tltui.questions.runtime.profile_results import Refused, Runtime
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.screens.live_updates import ProfileReading
from tltui.screens.provenance import ProvenanceScreen

CASES = Path(__file__).parents[1] / "traces" / "profiler"


def made_long(profile: Path, times: int) -> None:
    """The profile with so many more events, before its own."""
    text = profile.read_text()
    event = '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":1.5,"dur":1,"args":{"External id":5}},\n'
    more = event * 1000
    head, events, rest = text.partition('"traceEvents": [')
    with profile.open("w") as file:
        file.write(head + events)
        for _ in range(times):
            file.write(more)
        file.write(rest)


async def test_a_profile_is_read_in_the_background(tmp_path: Path) -> None:
    shutil.copytree(CASES / "mlp", tmp_path / "job")
    async with opened(tmp_path / "job") as driver:
        run = driver.browser.trace
        await driver.until(lambda: run.profiles.version and driver.browser.is_at_rest)
        await driver.until(lambda: "1 profile read" in driver.message)
        (found,) = runtimes_of(run)
        assert isinstance(found, Runtime) and [own.ref for own in found.compiles] == ["0/0"]


async def test_a_profile_of_another_run_is_said_to_be(tmp_path: Path) -> None:
    shutil.copytree(CASES / "mlp", tmp_path / "job")
    shutil.copy(CASES / "broken" / "profile.json", tmp_path / "job" / "profile.json")
    async with opened(tmp_path / "job", size=(160, 40)) as driver:
        await driver.until(lambda: "different run" in driver.message)
        assert isinstance(runtimes_of(driver.browser.trace)[0], Refused)


async def test_esc_stops_it_and_keys_go_on(tmp_path: Path) -> None:
    shutil.copytree(CASES / "mlp", tmp_path / "job")
    made_long(tmp_path / "job" / "profile.json", 1000)
    async with opened(tmp_path / "job") as driver:
        profiling = driver.browser.following.profiling
        await driver.until(lambda: "reading" in driver.message and "%" in driver.message)
        driver.browser.tree_view.focus()
        await driver.press("escape")
        await driver.until(lambda: not profiling.is_reading and "press ctrl+r to read it" in driver.message)
        assert driver.browser.trace.profiles.profiles == [] and runtimes_of(driver.browser.trace) == ()
        await driver.press("T")
        await driver.until(lambda: "is not read yet" in screen_text(driver.app) and "No profile" not in screen_text(driver.app))
        await driver.press("2")
        await driver.shown("@problems")


async def test_ctrl_r_reads_what_is_there_now(tmp_path: Path) -> None:
    shutil.copytree(CASES / "mlp", tmp_path / "job")
    profile = tmp_path / "job" / "profile.json"
    whole = profile.read_bytes()
    profile.write_bytes(whole[: len(whole) // 2])
    async with opened(tmp_path / "job") as driver:
        await driver.until(lambda: bool(driver.browser.trace.profiles.profiles))
        before = driver.browser.trace
        assert any("truncated" in fault for fault in before.profiles.profiles[0].faults)
        profile.write_bytes(whole)
        await driver.press("ctrl+r")
        await driver.until(lambda: driver.browser.trace is not before and bool(driver.browser.trace.profiles.profiles))
        assert driver.browser.trace.profiles.profiles[0].faults == []


async def test_provenance_mode_shows_what_a_profile_tells_that_is_read_meanwhile(tmp_path: Path) -> None:
    shutil.copytree(CASES / "mlp", tmp_path / "job")
    made_long(tmp_path / "job" / "profile.json", 1000)
    async with opened(tmp_path / "job", size=(200, 30)) as driver:
        await driver.until(lambda: driver.browser.following.profiling.is_reading)
        driver.browser.stop_profiles()
        await driver.until(lambda: not driver.browser.following.profiling.is_reading)
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
        screen = driver.app.screen
        assert isinstance(screen, ProvenanceScreen)
        await driver.until(lambda: screen.unit is not None and screen.view(screen.pane).has_focus)
        await driver.press("exclamation_mark")
        assert "This pane has no times" in screen.status.plain_text()
        line = screen.view(PY).current_line()
        shutil.copy(CASES / "mlp" / "profile.json", tmp_path / "job" / "profile.json")
        ProfileReading(driver.browser).begin()
        await driver.until(lambda: screen.view(PY).heat_of is not None)
        assert screen.view(PY).current_line() == line and "profile read" in screen.status.plain_text()
        await driver.press("exclamation_mark")
        assert " ms per step" in screen.status.plain_text()
