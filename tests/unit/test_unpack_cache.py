"""The private cache: gone at the end, whatever the end; what is in use is never touched."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from real import ROOT, TRACES

LOG = TRACES / "inputs" / "archives" / "dedicated_log_torch_trace_zbaswu8i.log.gz"
HOLDS = """
import sys
from tltui.cli import main
from tltui.cli.loading import discover_logs
found = discover_logs([sys.argv[1]], False)
print(found.logs[0].path, flush=True)
sys.stdin.read()
"""
"""Opens a packed log, says where its copy is, and waits."""


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(home), "PYTHONPATH": str(ROOT / "src"), "TLTUI_CONFIG": str(home / "none")}


def start(home: Path, path: Path = LOG) -> tuple[subprocess.Popen[str], Path]:
    """An instance that has unpacked something, and its copy."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(home)
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("")


def tltui(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tltui", *arguments]
    return subprocess.run(command, env=environment(home), capture_output=True, check=False)


def left(home: Path) -> list[str]:
    """Directories of instances, dead or alive."""
    top = home / "tltui" / "unpacked"
    return sorted(name for name in os.listdir(top) if name != ".gate") if top.exists() else []


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_is_left_at_the_end(tmp_path: Path) -> None:
    assert tltui(tmp_path, "ls", str(LOG)).returncode == 0
    assert left(tmp_path) == []
    assert tltui(tmp_path, "ls", str(LOG.with_name("no_trace.zip"))).returncode == 2
    assert left(tmp_path) == []


def test_nothing_is_made_for_a_plain_log(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(gzip.decompress(LOG.read_bytes()))
    assert tltui(tmp_path, "ls", str(tmp_path / "x.log")).returncode == 0
    assert not (tmp_path / "tltui").exists()


def test_what_a_killed_one_left_is_removed_by_the_next(tmp_path: Path) -> None:
    process, copy = start(tmp_path)
    assert copy.is_file()
    process.kill()
    process.communicate()
    assert copy.is_file() and len(left(tmp_path)) == 1
    assert tltui(tmp_path, "ls", str(LOG)).returncode == 0
    assert not copy.exists() and left(tmp_path) == []


def test_two_instances_do_not_touch_each_other(tmp_path: Path) -> None:
    first, one = start(tmp_path)
    second, other = start(tmp_path)
    assert one != other and len(left(tmp_path)) == 2
    end(second)
    assert one.is_file() and not other.exists()
    assert tltui(tmp_path, "ls", str(LOG)).returncode == 0
    assert one.is_file()
    end(first)
    assert left(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_unpacks_leaves_nothing(tmp_path: Path, number: int) -> None:
    """A bomb gives time for it."""
    packed = tmp_path / "x.log.gz"
    head = gzip.decompress(LOG.read_bytes())[:30_000]
    packed.write_bytes(gzip.compress(head) + gzip.compress(bytes(1 << 27), 1) * 30)
    command = [sys.executable, "-m", "tltui", "ls", str(packed)]
    process = subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: any(path.stat().st_size > 1 << 20 for path in (tmp_path / "tltui").glob("unpacked/*/0*")))
    process.send_signal(number)
    out, error = process.communicate(timeout=20)
    assert (process.returncode, out) == (128 + number, b"")
    assert b"Traceback" not in error
    assert left(tmp_path) == []


def test_killed_while_it_unpacks(tmp_path: Path) -> None:
    packed = tmp_path / "x.log.gz"
    data = gzip.decompress(LOG.read_bytes())
    noise = random.Random(1).randbytes(1 << 20).hex().encode()
    packed.write_bytes(gzip.compress(data + b"\t" + noise * 60, 1))
    command = [sys.executable, "-m", "tltui", "ls", str(packed)]
    process = subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: left(tmp_path) or process.poll() is not None)
    process.kill()
    process.communicate()
    assert tltui(tmp_path, "ls", str(LOG)).returncode == 0
    assert left(tmp_path) == []


def test_a_second_look_does_not_unpack_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tltui.inputs.archives import Limits, cache
    from tltui.sources.discover import Discovery, discover

    own = cache.Cache(tmp_path / "unpacked", Limits())
    monkeypatch.setattr(cache, "_process_cache", [own])
    discovery = Discovery([str(LOG)])
    first = discovery.discover().logs[0].path
    assert discovery.discover().logs[0].path == discover([str(LOG)]).logs[0].path == first
    own.remove()
