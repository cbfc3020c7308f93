"""A file is there whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tltui.text.safe_files import replacing


def test_a_file_takes_its_name_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with replacing(target) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(target) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(("private", "mode"), [(False, 0o640), (True, 0o600)])
def test_who_may_read_it(tmp_path: Path, private: bool, mode: int) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a", private=private):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == mode


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "far").write_bytes(b"mine")
    (tmp_path / "a").symlink_to(tmp_path / "far")
    with replacing(tmp_path / "a") as file:
        file.write(b"new")
    assert ((tmp_path / "far").read_bytes(), (tmp_path / "a").read_bytes()) == (b"mine", b"new")


def test_what_is_refused_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for target, why in ((tmp_path, "is a directory"), (tmp_path / "pipe", "is not a regular file"),
                        (tmp_path / "no" / "a", "No such file or directory")):  # fmt: skip
        with pytest.raises(OSError) as caught, replacing(target):
            pass
        assert (caught.value.filename, caught.value.strerror) == (str(target), why)
    assert os.listdir(tmp_path) == ["pipe"]
