"""A wrong config file is reported with line and key, and ignored; the rest counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tltui.commands import BY_ID
from tltui.config import Config, config_path, read_config


def read(path: Path, text: str) -> Config:
    path.write_text(text, encoding="utf-8")
    return read_config(BY_ID, path)


def test_without_a_file_the_defaults_hold_and_nothing_is_made(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "config.toml"
    assert read_config(BY_ID, path) == Config()
    assert not path.parent.exists()


def test_all_settings(tmp_path: Path) -> None:
    config = read(
        tmp_path / "c.toml",
        'theme = "light"\nmouse = false\nascii = true\n[keys]\n"app.next_error" = ["e", "f8"]\n"app.leave" = "Q"\n',
    )
    assert config == Config("light", False, True, {"app.next_error": ("e", "f8"), "app.leave": ("Q",)})


def test_what_is_wrong_is_told_and_the_rest_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    config = read(path, 'theme = "pink"\nmouse = 3\ncolour = 1\nascii = true\n[keys]\n"app.fly" = "f"\n"app.help" = 7\n')
    assert config.ascii is True and config.theme == "auto" and config.mouse is True and config.keys == {}
    assert [problem.removeprefix(str(path)) for problem in config.problems] == [
        ", line 1: theme: must be one of auto, dark, light, ansi-dark, ansi-light, mono, not 'pink'; ignored",
        ", line 2: mouse: must be a bool, not 3; ignored",
        ", line 3: colour: no such setting (there are theme, mouse, ascii, keys); ignored",
        ", line 6: app.fly: no such command (tltui's help lists them); ignored",
        ", line 7: app.help: must be a key or a list of keys; ignored",
    ]


def test_no_toml_no_utf8_no_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    assert "line 1" in read(path, "theme = \n").problems[0]
    path.write_bytes(b"theme = '\xff'")
    assert read_config(BY_ID, path).problems == (f"{path}: not UTF-8",)
    assert read_config(BY_ID, tmp_path).problems == (f"{tmp_path}: Is a directory",)


def test_the_variable_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLTUI_CONFIG", str(tmp_path / "x.toml"))
    assert config_path() == tmp_path / "x.toml"
