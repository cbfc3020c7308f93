"""A run that grows while it is looked at: what the screen says, and what does not move."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from opened import Driver, opened
from real import TRACES
from replaying import HeldWriters
from screen import screen_text
from textual.widget import Widget

from tltui.model import follow
from tltui.screens import live_updates

IDS = '"frame_id": {frame}, "frame_compile_id": {number}, "attempt": 0'


def line(envelope: str, clock: str = "10:00:00", payload: str = "") -> bytes:
    return f"V1120 {clock}.000000 7 torch/_dynamo/x.py:1] {envelope}\n{payload}".encode()


def begun(frame: int, clock: str = "10:00:00", name: str = "f") -> bytes:
    ids = IDS.format(frame=frame, number=0)
    return line(f'{{"dynamo_start": {{"stack": [{{"line": 1, "name": "{name}", "filename": 0}}]}}, {ids}}}', clock)


def ended(frame: int, clock: str = "10:00:00", failed: str = "") -> bytes:
    ids = IDS.format(frame=frame, number=0)
    fail = f', "fail_type": "{failed}", "fail_reason": "it failed"' if failed else ""
    metrics = f'{{"graph_op_count": 1, "compile_id": "{frame}/0"{fail}}}'
    return line(f'{{"compilation_metrics": {metrics}, {ids}}}', clock)


class Job:
    """A log, and the hand that writes it."""

    def __init__(self, directory: Path, begin: bytes) -> None:
        directory.mkdir()
        self.directory = directory
        self.path = directory / "dedicated_log_torch_trace_a.log"
        self.path.write_bytes(line('{"str": ["/home/user/model.py", 0]}') + begin)

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def grow_old(self, seconds: float) -> None:
        then = time.time() - seconds
        os.utime(self.path, (then, then))


@pytest.fixture(autouse=True)
def writers(monkeypatch: pytest.MonkeyPatch) -> HeldWriters:
    held = HeldWriters()
    monkeypatch.setattr(follow, "Writers", lambda: held)
    return held


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "trace", begun(0) + ended(0))


async def test_what_is_written_appears(job: Job) -> None:
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live · last record 10:00:00" in driver.run_bar)
        job.write(begun(1, "10:00:05") + ended(1, "10:00:07"))
        await driver.until(lambda: "[1/0]" in screen_text(driver.app))
        await driver.until(lambda: "2 compiles" in driver.run_bar and "live · last record 10:00:07" in driver.run_bar)


async def test_a_new_rank_appears(job: Job) -> None:
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        other = job.directory / "dedicated_log_torch_trace_rank_5_b.log"
        other.write_bytes(begun(0).replace(b'"attempt": 0', b'"attempt": 0, "rank": 5'))
        await driver.until(lambda: "rank 5" in screen_text(driver.app) and "2 compiles" in driver.run_bar)


async def test_the_cursor_stays_where_it_is(job: Job) -> None:
    """Until all that was there has been read the cursor goes to what matters most; then it is the user's."""
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        await driver.until(lambda: driver.browser.shown_ref == driver.browser.document_view.document.ref)
        at = driver.at
        job.write(begun(1) + ended(1, failed="RuntimeError"))
        await driver.until(lambda: "1 failed" in driver.run_bar)
        assert driver.at == at


async def test_nothing_is_painted_while_nothing_happens(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        await driver.until(lambda: driver.browser.shown_ref == driver.browser.document_view.document.ref)
        await driver.pilot.pause(1.0)
        painted: list[str] = []
        refresh = Widget.refresh

        def counting(widget: Widget, *args: object, **options: object) -> Widget:
            painted.append(type(widget).__name__)
            return refresh(widget, *args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(Widget, "refresh", counting)
        await driver.pilot.pause(2.0)
        assert painted == []


async def test_an_old_log_is_not_followed_until_one_asks(job: Job) -> None:
    job.grow_old(120)
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "quiet since 10:00:00 · F to follow" in driver.run_bar)
        await driver.press("F")
        await driver.until(lambda: "quiet since 10:00:00" in driver.run_bar and "F to follow" not in driver.run_bar)
        job.write(begun(1, "10:02:00"))
        await driver.until(lambda: "live · last record 10:02:00" in driver.run_bar)
        assert "following the job's logs" in driver.message or "1/0" in screen_text(driver.app)
        await driver.press("F")
        assert "may grow · F to follow" in driver.run_bar


async def test_growth_that_nobody_follows_is_said(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.work.reader_threads.GLANCE", 0.2)
    job.grow_old(120)
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "quiet since" in driver.run_bar)
        job.write(begun(1, "10:02:00"))
        await driver.until(lambda: "has new records · F to follow" in driver.run_bar)
        assert "[1/0]" not in screen_text(driver.app)
        await driver.press("F")
        await driver.until(lambda: "[1/0]" in screen_text(driver.app))


async def test_ended_is_said_on_proof_only(job: Job, writers: HeldWriters) -> None:
    job.write(begun(1))
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar and "◌ [1/0]" in screen_text(driver.app))
        job.write(begun(2))
        await driver.until(lambda: "3 compiles" in driver.run_bar)
        writers.over = True
        await driver.until(lambda: "ended · last record 10:00:00" in driver.run_bar)
        await driver.until(lambda: "◌" not in screen_text(driver.app))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_happens_to_a_file_is_one_line_with_the_key_that_helps(job: Job, size: tuple[int, int]) -> None:
    async with opened(job.directory, wait=False, size=size) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        job.path.write_bytes(begun(5))
        await driver.until(lambda: "1 log changed" in driver.run_bar)
        assert "truncated after it was read" in driver.message or "rewritten" in driver.message
        if driver.browser.document_view.has_focus and size[0] < 100:
            await driver.press("tab")  # one pane has the screen: the tree
        # the earlier content remains, beside what is there now
        await driver.until(lambda: "▸ process 1" in screen_text(driver.app) and "▸ process 2" in screen_text(driver.app))
        await driver.press("ctrl+r")
        await driver.until(lambda: "read again" in driver.message and "changed" not in driver.run_bar)
        await driver.press("tab" if driver.browser.document_view.has_focus and size[0] < 100 else "g")
        await driver.until(lambda: "process 1" not in screen_text(driver.app) and "[5/0]" in screen_text(driver.app))


async def test_reading_again_goes_back_to_where_one_was(job: Job) -> None:
    job.write(begun(1) + ended(1))
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "2 compiles" in driver.run_bar)
        await driver.press("o")
        await driver.type("1/0")
        await driver.press("enter")
        await driver.shown("1/0")
        job.path.unlink()
        await driver.until(lambda: "1 log unreadable" in driver.run_bar)
        assert "deleted" in driver.message and "ctrl+r" in driver.message
        await driver.press("ctrl+r")
        await driver.until(lambda: all(text in driver.message for text in ("no trace, TORCH_LOGS", "the earlier content remains")))
        assert driver.browser.shown_ref == "1/0"
        job.path.write_bytes(begun(1) + ended(1))
        await driver.press("ctrl+r")
        await driver.until(lambda: "read again" in driver.message)
        await driver.shown("1/0")
        assert driver.at == "1/0"


async def test_the_end_of_a_job_that_wrote_nothing_while_it_was_watched_is_said(
    job: Job, writers: HeldWriters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_updates, "CLOCK", 0.05)
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        await driver.pilot.pause(0.2)
        writers.over = True
        await driver.until(lambda: "ended · last record 10:00:00" in driver.run_bar)


async def test_reading_again_follows_as_before(job: Job, writers: HeldWriters) -> None:
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        job.write(begun(1))
        await driver.until(lambda: "2 compiles" in driver.run_bar)
        job.grow_old(120.0)
        await driver.press("ctrl+r")
        await driver.until(lambda: "read again" in driver.message)
        assert "follows it" not in driver.run_bar
        writers.over = True
        await driver.until(lambda: "ended" in driver.run_bar)


async def test_reading_again_does_not_follow_what_was_not_followed(job: Job) -> None:
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        await driver.press("F")
        await driver.press("ctrl+r")
        await driver.until(lambda: "read again" in driver.message)
        assert "F to follow" in driver.run_bar


@pytest.mark.parametrize("keys", ["1", "W", "P"])
async def test_reading_again_stays_on_the_page_and_in_the_pane(job: Job, keys: str) -> None:
    async with opened(job.directory, wait=False, size=(80, 24)) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        await driver.press(keys)
        await driver.until(lambda: driver.browser.document_view.has_focus and driver.browser.is_at_rest)
        before = driver.browser.shown_ref
        await driver.press("ctrl+r")
        await driver.until(lambda: "read again" in driver.message and driver.browser.is_at_rest)
        assert driver.browser.shown_ref == before
        assert driver.browser.document_view.has_focus


async def test_a_run_may_be_opened_before_its_first_record(tmp_path: Path) -> None:
    from tltui.app import TltuiApp
    from tltui.config import Config
    from tltui.model.run import Run
    from tltui.sources.discover import Discovery, Found

    directory = tmp_path / "trace"
    directory.mkdir()
    found = Found((str(directory),), (), (), discovery=Discovery([str(directory)]))
    app = TltuiApp(Run(found), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.browser.is_mounted and "waiting for the first record" in driver.run_bar)
        (directory / "a.log").write_bytes(begun(0))
        await driver.until(lambda: "[0/0]" in screen_text(app) and "live" in driver.run_bar)
    assert app.faults == []


async def test_what_is_shown_stays_the_same_when_it_is_called_something_else(tmp_path: Path) -> None:
    """A second process, then a rank, then a second epoch: the address of what is shown changes, what is shown does not."""
    ids = IDS.format(frame=0, number=0)
    graph = f'{{"artifact": {{"name": "note", "encoding": "string"}}, {ids}, "has_payload": "0"}}'
    job = Job(tmp_path / "trace", begun(0) + line(graph, payload="\tfirst\n") + ended(0))
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        await driver.until(lambda: driver.browser.shown_ref == driver.browser.document_view.document.ref)
        driver.browser.go("0/0")
        await driver.shown("0/0")
        other = begun(0, name="other").replace(b".000000 7 ", b".000000 8 ")
        (job.directory / "dedicated_log_torch_trace_b.log").write_bytes(other)
        await driver.shown("norank.1:0/0")
        job.write(begun(0, name="f") + ended(0))
        await driver.shown("norank.1:0/0~1")
        driver.browser.go("norank.1:0/0~1:note")
        await driver.shown("norank.1:0/0~1:note")
        assert "first" in screen_text(driver.app)
        await driver.press("w", "i")
        await driver.until(lambda: "first" in screen_text(driver.app))
        await driver.press("backspace")
        await driver.shown("norank.1:0/0~1")


async def test_a_silent_rank_is_named_with_what_it_is_inside_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real job whose rank 2 sleeps in a backend, while the others wait: seen five minutes later."""
    monkeypatch.setattr("tltui.screens.live_updates.CLOCK", 0.1)
    trace = tmp_path / "ranks"
    shutil.copytree(TRACES / "hangs" / "ranks", trace, copy_function=shutil.copyfile)
    async with opened(trace, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        following = driver.browser.following
        monkeypatch.setattr(following, "_clock", lambda: time.monotonic() + 70)
        await driver.until(lambda: "quiet since 03:" in driver.run_bar)
        monkeypatch.setattr(following, "_clock", lambda: time.monotonic() + 400)
        await driver.until(lambda: "rank 2: no record for 5 min, inside backend_compile" in driver.run_bar)
        monkeypatch.setattr(following, "_clock", lambda: time.monotonic() + 4000)
        await driver.until(lambda: "rank 2: no record for 1 h, inside backend_compile" in driver.run_bar)


async def test_a_new_error_is_one_remark_with_the_key_that_goes_there(job: Job) -> None:
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "live" in driver.run_bar)
        job.write(begun(1, name="bad") + ended(1, failed="RuntimeError") + begun(2) + ended(2))
        await driver.until(lambda: "L goes to ✗ [1/0] bad: failed" in driver.message)
        assert "RuntimeError: it failed" in driver.message
        at = driver.at
        await driver.press("j", "k")
        assert "goes to" not in driver.message and driver.at == at
        await driver.press("L")
        await driver.shown("1/0")
        assert driver.at == "1/0"


async def test_what_was_there_before_is_no_news(job: Job) -> None:
    job.write(begun(1, name="bad") + ended(1, failed="RuntimeError"))
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "1 failed" in driver.run_bar)
        await driver.press("L")
        assert "no new problems since the trace was opened" in driver.message
        job.write(begun(2) + ended(2))
        await driver.until(lambda: "3 compiles" in driver.run_bar)
        assert "goes to" not in driver.message


async def test_a_job_that_was_opened_when_it_had_hung_for_long_is_said_to(tmp_path: Path) -> None:
    trace = tmp_path / "ranks"
    shutil.copytree(TRACES / "hangs" / "ranks", trace, copy_function=shutil.copyfile)
    for log in trace.iterdir():
        os.utime(log, (time.time() - 2000,) * 2)
    async with opened(trace, wait=False) as driver:
        await driver.until(lambda: "rank 2: no record for 30 min, inside backend_compile" in driver.run_bar)


async def test_a_job_that_trains_is_only_quiet(job: Job) -> None:
    """Nothing is open: hours without a record are nothing to worry about."""
    job.grow_old(2000)
    async with opened(job.directory, wait=False) as driver:
        await driver.until(lambda: "quiet since 10:00:00 · F to follow" in driver.run_bar)
