"""The page where, by its key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from opened import opened
from real import TRACES


async def test_the_key_shows_where_it_hangs_and_enter_goes_there() -> None:
    async with opened(TRACES / "hangs" / "ranks") as driver:
        await driver.pilot.press("W")
        await driver.shown("@where")
        view = driver.browser.document_view
        await driver.until(lambda: view.document.complete)
        lines = list(view.document.text())
        assert lines[1].startswith("At the end of its log, rank 2 was in block1 [2/0]: backend_compile")
        view.focus()
        for _ in range(next(n for n, line in enumerate(lines) if "rank 2  block1" in line)):
            await driver.pilot.press("j")
        await driver.pilot.press("enter")
        await driver.shown("2:2/0")


SPY = """#!/bin/sh
echo 'Thread 1 (idle): "MainThread"'
if [ "$5" != %d ]; then echo '    barrier (/env/site-packages/torch/distributed/distributed_c10d.py:5)'; fi
echo "    sync (/home/user/job.py:28$(( $5 != %d )))"
"""
HOLD = "import sys; file = open(sys.argv[1], 'a'); print(flush=True); sys.stdin.read()"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")
async def test_the_second_press_compares_the_stacks_of_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace"
    shutil.copytree(TRACES / "hangs" / "ranks", trace)
    command = [sys.executable, "-c", HOLD]
    jobs = [
        subprocess.Popen([*command, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for log in sorted(trace.iterdir())[:3]
    ]
    try:
        for job in jobs:
            assert job.stdout is not None and job.stdout.readline()
        (tmp_path / "py-spy").write_text(SPY % (jobs[1].pid, jobs[1].pid))
        (tmp_path / "py-spy").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        async with opened(trace, wait=False) as driver:
            await driver.pilot.press("P")
            await driver.shown("@where::now")
            await driver.pilot.press("P")
            view = driver.browser.document_view
            answer = "Rank 1 has not reached the barrier at user/job.py:281, in which ranks 0, 2 wait. It is at user/job.py:280"
            await driver.until(lambda: view.document.complete and answer in " ".join(view.document.text()))
            lines = list(view.document.text())
            assert "  ranks 0, 2: user/job.py:281 sync ▸ barrier" in lines
            folded = [section.title for section in view.document.sections() if section.folded]
            assert folded == ["Stack of rank 1", "Stack of ranks 0, 2"]
    finally:
        for job in jobs:
            job.kill()
            job.communicate()
