"""Where tltui.pyz unpacks itself: whole or not at all, only where nobody else can write, and again where files went missing."""

from __future__ import annotations

import importlib.util
import io
import os
import time
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from real import ROOT


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pyz_main", ROOT / "tools" / "pyz_main.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAIN = program()
DIGEST = "0" * 32
NAMES = {"DIGEST": DIGEST, "tltui/__init__.py": "", "tltui/demo/log": "text"}


@pytest.fixture
def archive() -> zipfile.ZipFile:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, text in NAMES.items():
            file.writestr(name, text)
    return zipfile.ZipFile(data)


def held(top: Path) -> dict[str, str]:
    return {str(path.relative_to(top / DIGEST)): path.read_text() for path in (top / DIGEST).rglob("*") if path.is_file()}


def test_it_is_unpacked_once_and_for_its_owner_alone(archive: zipfile.ZipFile, tmp_path: Path) -> None:
    top = tmp_path / "cache" / "pyz"
    place = MAIN.unpacked(archive, str(top), DIGEST, False)
    assert place == str(top / DIGEST)
    assert held(top) == NAMES
    assert [path.name for path in top.iterdir()] == [DIGEST]
    assert {top.stat().st_mode & 0o777, (top / DIGEST).stat().st_mode & 0o777} == {0o700}
    (top / DIGEST / "kept").touch()
    assert MAIN.unpacked(archive, str(top), DIGEST, False) == place
    assert (top / DIGEST / "kept").exists()


def test_among_temporary_files_what_went_missing_comes_back(archive: zipfile.ZipFile, tmp_path: Path) -> None:
    top = tmp_path / "own"
    MAIN.unpacked(archive, str(top), DIGEST, True)
    (top / DIGEST / "tltui" / "demo" / "log").unlink()
    MAIN.unpacked(archive, str(top), DIGEST, True)
    assert held(top) == NAMES
    assert [path.name for path in top.iterdir()] == [DIGEST]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_directory_that_others_can_write_to_is_refused(archive: zipfile.ZipFile, tmp_path: Path, mode: int) -> None:
    top = tmp_path / "own"
    top.mkdir()
    top.chmod(mode)
    with pytest.raises(OSError, match="only you can write to"):
        MAIN.unpacked(archive, str(top), DIGEST, True)
    assert not list(top.iterdir())


def test_a_link_is_refused(archive: zipfile.ZipFile, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "own").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match="only you can write to"):
        MAIN.unpacked(archive, str(tmp_path / "own"), DIGEST, True)


def test_what_was_not_used_for_a_month_goes(archive: zipfile.ZipFile, tmp_path: Path) -> None:
    for name, days in (("old", 40), ("young", 2)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - days * 86_400,) * 2)
    tmp_path.chmod(0o700)
    MAIN.unpacked(archive, str(tmp_path), DIGEST, False)
    assert {path.name for path in tmp_path.iterdir()} == {"young", DIGEST}


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("a", "good")
        file.writestr("b", "x" * 1000)
    damaged = bytearray(data.getvalue())
    damaged[damaged.index(b"x" * 1000)] = 0
    with pytest.raises(zipfile.BadZipFile):
        MAIN.unpacked(zipfile.ZipFile(io.BytesIO(bytes(damaged))), str(tmp_path / "own"), DIGEST, False)
    assert not list((tmp_path / "own").iterdir())


def test_where_it_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    own = f"tltui-pyz-{os.getuid()}"
    assert MAIN.places() == [
        (str(tmp_path / "cache" / "tltui" / "pyz"), False),
        *((f"{top}/{own}", True) for top in ("/dev/shm", "/tmp", "/var/tmp")),
    ]
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/nowhere")
    assert MAIN.places()[0] == ("/nowhere/.cache/tltui/pyz", False)
