"""A wrong config file is reported with line and key, and ignored; the rest counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.keys import _character_to_key

from tltui.commands import BY_ID, COMMANDS, keymap_problems
from tltui.config import Config, config_path, is_key, normal_key, read_config


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
        ", line 1: theme: must be one of auto, dark, light, high-contrast, ansi-dark, ansi-light, mono, not 'pink'; ignored",
        ", line 2: mouse: must be true or false, not 3; ignored",
        ", line 3: colour: unknown setting (settings: theme, mouse, ascii, unpack_member_mib, unpack_total_mib, "
        "unpack_members, keys); ignored",
        ", line 6: app.fly: unknown command (tltui config --keys lists all); ignored",
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


def problem(path: Path, text: str) -> str:
    config = read(path, text)
    [said] = config.problems
    assert config == Config(problems=(said,))
    return said.removeprefix(str(path))


@pytest.mark.parametrize(("text", "told"), [
    ("a = " + "[" * 100_000, ": nested too deeply"),
    ("theme = " + "[" * 400 + "]" * 400, ""),
    ("theme = " + "9" * 5000, ": "),
    ("#" * (1 << 20) + "\n", ": is larger than 1 MB: not a config file"),
], ids=["depth", "depth of a value", "digits", "size"])  # fmt: skip
def test_a_file_that_cannot_be_read_is_one_problem(text: str, told: str, tmp_path: Path) -> None:
    assert told in problem(tmp_path / "c.toml", text)
    assert len(problem(tmp_path / "c.toml", text)) < 300


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.toml")
    assert read_config(BY_ID, tmp_path / "c.toml").problems == (f"{tmp_path / 'c.toml'}: is not a regular file",)


def test_many_problems_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    config = read(path, "".join(f"key{n} = 1\n" for n in range(60_000)))
    assert len(config.problems) == 21 and config.problems[20] == f"{path}: 59980 more problems"
    assert config.problems[19].startswith(f"{path}, line 20: key19: unknown setting")


@pytest.mark.parametrize("key", ["no key!!", "\x1b", "ctrl+", "+j", "crtl+j", "ctrl+ctrl+alt+ctrl+j", "f99", " ", "latin_capital"])
def test_keys_that_are_none(key: str, tmp_path: Path) -> None:
    config = read(tmp_path / "c.toml", f'[keys]\n"app.help" = {["?", key]!r}\n'.replace("\\x", "\\u00"))
    assert config.keys == {} and "is not a key" in config.problems[0] and "line 2: app.help" in config.problems[0]
    assert "\x1b" not in config.problems[0]


def test_keys_of_the_defaults_are_keys() -> None:
    for command in COMMANDS:
        assert all(map(is_key, command.keys)), command.id
    for key in ("?", "ctrl+t", "alt+right", "f24", "J", "é", "ctrl+shift+f5", "full_stop", "+", "ctrl+question_mark"):
        assert is_key(key), key


def test_a_comma_is_written_as_textual_wants_it(tmp_path: Path) -> None:
    assert read(tmp_path / "c.toml", '[keys]\n"app.help" = [","]\n').keys == {"app.help": ("comma",)}


def test_a_key_has_one_name_however_it_is_written(tmp_path: Path) -> None:
    keys = [chr(code) for code in range(0x21, 0x7F)]
    assert [normal_key(key) for key in keys] == [_character_to_key(key) for key in keys]
    assert [normal_key(key) for key in ("ctrl+]", "f8", "ctrl+t")] == ["ctrl+right_square_bracket", "f8", "ctrl+t"]
    config = read_config(BY_ID, tmp_path / "none", {"TLTUI_KEYS": "app.zoom=?"})
    assert keymap_problems(config.keys) == ["app.zoom: this binding takes ? from app.help (other keys: F1)"]


def test_a_key_of_something_else_is_told() -> None:
    assert keymap_problems({}) == []
    assert keymap_problems({"app.leave": ("j",)}) == [
        "app.leave: j remains the key of tree.cursor_down in the tree, so this binding works only elsewhere",
        "app.leave: j remains the key of document.cursor_down in documents, so this binding works only elsewhere",
    ]
    assert keymap_problems({"app.next_error": ("b",), "app.next_break": ("e",)}) == []
    assert keymap_problems({"app.next_error": ("f9",), "app.next_break": ("f9",)}) == [
        "app.next_break: f9 is also the key of app.next_error; only one of them works",
    ]
    assert keymap_problems({"provenance.next_unit": ("j",), "tree.top": ("home",)}) == []
    assert keymap_problems({"tree.top": ("e",)}) == ["tree.top: e stops being the key of app.next_error in the tree"]


def test_what_a_default_loses_its_key_by_is_told() -> None:
    assert keymap_problems({"app.next_error": ("b",)}) == [
        "app.next_error: this binding takes b from app.next_break (no other key)"
    ]
    assert keymap_problems({"tree.expand": ("j",)}) == ["tree.expand: this binding takes j from tree.cursor_down (other keys: ↓)"]
    assert keymap_problems({"tree.expand": ("j",), "tree.collapse": ("down",)}) == [
        "tree.expand: this binding takes j from tree.cursor_down (no other key)",
        "tree.collapse: this binding takes ↓ from tree.cursor_down (no other key)",
    ]


@pytest.mark.parametrize(("key", "why"), [
    ("ctrl+q", "ctrl+q always quits"), ("ctrl+b", "tmux"), ("ctrl+a", "screen"), ("ctrl+s", "flow control"), ("ctrl+i", "tab"),
    ("ctrl+m", "enter"), ("super+j", "Kitty"), ("ctrl+full_stop", "Kitty"), ("ctrl+shift+j", "Kitty"), ("ctrl+1", "Kitty"),
    ("ctrl+enter", "Kitty"), ("shift+j", "the character itself, J"), ("shift+enter", "Kitty"),
])  # fmt: skip
def test_keys_that_do_not_arrive_are_told(key: str, why: str) -> None:
    said, *_ = keymap_problems({"app.news": (key,)})
    assert said.startswith("app.news: ") and why in said


@pytest.mark.parametrize("key", ["f5", "ctrl+f5", "ctrl+shift+up", "ctrl+t", "alt+x", "shift+f3", "ctrl+space", "+"])
def test_keys_that_arrive(key: str) -> None:
    assert keymap_problems({"app.news": (key,)}) == []


def test_the_defaults_do_not_clash_and_arrive() -> None:
    problems = keymap_problems({command.id: command.keys for command in COMMANDS})
    assert all("page_up: ctrl+b may never arrive" in problem for problem in problems), "page up has another key"
