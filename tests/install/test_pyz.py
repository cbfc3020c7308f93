"""tltui.pyz on a node without pip and without network, on each Python that is here.

TLTUI_TEST_PYZ names the file that `tools/make_pyz` has made; `.ci/run` makes one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest
from terminal import SOURCES, Terminal

PYZ = os.environ.get("TLTUI_TEST_PYZ", "")
pytestmark = pytest.mark.skipif(not os.path.isfile(PYZ), reason="TLTUI_TEST_PYZ names no tltui.pyz: tools/make_pyz makes one")
BARE = ("-S", "-I")
"""No site-packages, no variables, no user's directory."""


def interpreters() -> list[str]:
    """Each Python from 3.10 on that is here, one of a version."""
    places = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, (Path.home() / ".pyenv").glob("versions/3.*/bin"))]
    found: dict[str, str] = {}
    for path in [sys.executable, *(f"{place}/python3.{minor}" for minor in range(10, 20) for place in places)]:
        if os.access(path, os.X_OK):
            order = [path, *BARE, "-c", "import sys; print(sys.version_info[:2])"]
            asked = subprocess.run(order, capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                found.setdefault(asked.stdout.strip(), path)
    return list(found.values())


@cache
def without_network() -> tuple[str, ...]:
    """What starts a program without network, where that may be done."""
    unshare = shutil.which("unshare")
    order = (unshare, "-rn") if unshare else ()
    return order if order and subprocess.run([*order, "true"], capture_output=True, check=False).returncode == 0 else ()


def printed(python: str, *arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What it prints with an empty environment."""
    clean = {"HOME": str(home), "PATH": os.defpath, "COLUMNS": "100", "LANG": "C.UTF-8", **environment}
    order = [*without_network(), python, *BARE, PYZ, *arguments]
    return subprocess.run(order, env=clean, stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all that only print."""
    return tmp_path_factory.mktemp("home")


COMMANDS = (
    ("summary", "--demo", "--json"),
    ("grep", "--demo", r"(a+|b+)*\bcompile"),  # in a process of its own
    ("bundle", "--demo", "0:0/0", "--redact", "--preview"),  # reads a packed list of words
)


@cache
def printed_here(*arguments: str) -> bytes:
    """What tltui as it is installed prints."""
    environment = os.environ | {"COLUMNS": "100", "PYTHONPATH": str(SOURCES)}
    order = [sys.executable, "-m", "tltui", *arguments]
    return subprocess.run(order, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: re.sub(r"\W+", "-", path[-30:]))
def test_a_python_alone_prints_the_same(python: str, home: Path) -> None:
    said = printed(python, "--version", "--verbose", home=home).stdout.decode()
    assert "json      Python's standard library (orjson is not installed: slower, same pages)" in said
    assert f"{home}/.cache/tltui/pyz/" in said
    for arguments in COMMANDS:
        done = printed(python, *arguments, home=home)
        assert (done.returncode, done.stderr) == (0, b""), arguments
        assert done.stdout == printed_here(*arguments), arguments


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: re.sub(r"\W+", "-", path[-30:]))
def test_the_terminal_ui_opens_where_home_cannot_be_written(python: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no directory")
    order = [*without_network(), python, *BARE, PYZ, "--demo"]
    with Terminal(order, home=home, environment={"TMPDIR": str(tmp_path), "PYTHONPATH": ""}) as terminal:
        terminal.wait_for("2 ranks", timeout=60)
        terminal.press("ctrl+q")
        assert terminal.wait_end(60) == 0
        assert b"Traceback" not in terminal.raw
    assert [path.name for path in tmp_path.glob("tltui-pyz-*/*")][0:1] == [zipfile.ZipFile(PYZ).read("DIGEST").decode()]


def test_many_start_at_once(tmp_path: Path) -> None:
    order = [sys.executable, *BARE, PYZ, "ls", "--demo"]
    environment = {"HOME": str(tmp_path), "PATH": os.defpath}
    started = [subprocess.Popen(order, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(4)]
    said = {process.communicate(timeout=100)[0] for process in started}
    assert len(said) == 1
    assert b"compiled" in said.pop()
    assert len(list((tmp_path / ".cache" / "tltui" / "pyz").iterdir())) == 1


def test_an_old_python_says_what_is_wrong(tmp_path: Path) -> None:
    there = (Path.home() / ".pyenv").glob("versions/*/bin/python")
    old = [path for path in there if re.search(r"/versions/(2|3\.\d\.)", str(path))]
    if not old:
        pytest.skip("no Python before 3.10 is here")
    for path in old:
        order = [str(path), PYZ, "--version"]
        done = subprocess.run(order, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "it needs Python 3.10 or newer" in done.stderr
        assert "Traceback" not in done.stderr


def test_nothing_in_it_is_compiled_and_licences_are_there() -> None:
    with zipfile.ZipFile(PYZ) as file:
        names = file.namelist()
        assert not [name for name in names if name.endswith((".so", ".pyd", ".dylib", ".pyc"))]
        for package in {name.split("/")[0] for name in names if ".dist-info/" in name}:
            assert any(re.search("LICENSE|LICENCE|COPYING", name) for name in names if name.startswith(package)), package
    assert os.path.getsize(PYZ) < 10_000_000
