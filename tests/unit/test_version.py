"""`tltui --version`, alone and with `--verbose`: what it runs on, and where its files are, also where none can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tltui import __version__

PLACES = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TLTUI_CONFIG")


def tltui(*arguments: str, home: Path, first_on_path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in PLACES} | {"HOME": str(home), "COLUMNS": "100"}
    source = str(Path(__file__).parents[2] / "src")
    environment["PYTHONPATH"] = source if first_on_path is None else f"{first_on_path}{os.pathsep}{source}"
    return subprocess.run(
        [sys.executable, "-m", "tltui", *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_version_is_one_line(tmp_path: Path) -> None:
    assert tltui("--version", home=tmp_path).stdout == f"tltui {__version__}\n"


@pytest.mark.parametrize("arguments", [("--version", "--verbose"), ("--verbose", "--version")])
def test_verbose_says_what_it_runs_on(tmp_path: Path, arguments: tuple[str, str]) -> None:
    done = tltui(*arguments, home=tmp_path)
    said = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert (done.returncode, done.stderr) == (0, "")
    assert sys.executable in said["python"]
    assert said["textual"].split()[1][0].isdigit()
    assert said["json"].split()[1] == "orjson"
    assert said["config"].endswith(f"{tmp_path}/.config/tltui/config.toml  does not exist: defaults apply")
    assert said["cache"].endswith(f"{tmp_path}/.cache/tltui  created when needed")
    assert not list(tmp_path.iterdir()), "nothing is made to find out"


def test_verbose_says_that_orjson_is_missing(tmp_path: Path) -> None:
    (tmp_path / "orjson.py").write_text("raise ImportError('not installed')")
    done = tltui("--version", "--verbose", home=tmp_path, first_on_path=tmp_path)
    assert "json      Python's standard library (orjson is not installed: slower, same pages)" in done.stdout


def test_verbose_says_that_nothing_can_be_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no directory")  # who may do anything cannot write below a file either
    said = tltui("--version", "--verbose", home=home).stdout.splitlines()
    assert said[-2].endswith("not writable: no archive can be opened, and no crash.log is written")
    assert said[-1].endswith("not writable: marks and widths of panes are not saved")


def test_verbose_alone_is_refused(tmp_path: Path) -> None:
    done = tltui("--verbose", home=tmp_path)
    assert (done.returncode, done.stderr) == (2, "tltui: --verbose needs --version\n  tltui --version --verbose\n")


@pytest.mark.parametrize("command", ["summary", "timing", "ls", "grep"])
def test_pages_need_no_home(tmp_path: Path, command: str) -> None:
    home = tmp_path / "home"
    home.write_text("no directory")
    arguments = [command, "--demo", *(["torch"] if command == "grep" else [])]
    here, nowhere = tltui(*arguments, home=tmp_path / "other"), tltui(*arguments, home=home)
    assert (nowhere.returncode, nowhere.stderr) == (0, "")
    assert nowhere.stdout == here.stdout
    assert len(here.stdout) > 500


def test_what_is_packed_says_that_it_needs_a_place(tmp_path: Path) -> None:
    home, packed = tmp_path / "home", tmp_path / "log.gz"
    home.write_text("no directory")
    archive = next(iter(sorted((Path(__file__).parents[1] / "traces" / "inputs" / "archives").rglob("*.gz"))))
    packed.write_bytes(archive.read_bytes())
    done = tltui("ls", str(packed), home=home)
    assert done.returncode == 2
    assert f"cannot unpack to {home}/.cache/tltui/unpacked: Not a directory: '{packed}'\n  set XDG_CACHE_HOME\n" in done.stderr
