"""One table has all settings: file, variables, options, `tltui config`, docs/settings.md agree. What is wrong in them is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from real import DEMO, ROOT
from results import result_in

from tltui.cli.registry import COMMANDS, GROUPS, grouped, parser_of
from tltui.commands import BY_ID
from tltui.commands import COMMANDS as KEYS
from tltui.config import read_config
from tltui.settings import BY_VARIABLE, OF_FILE, SETTINGS, settings_table


def tltui(*arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "160", "HOME": "/dev/null", **environment}
    command = [sys.executable, "-m", "tltui", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean, check=False)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done


def told(*arguments: str, **environment: str) -> Any:
    return result_in(tltui("config", "--json", *arguments, **environment).stdout)


def row(found: Any, name: str) -> tuple[Any, str, str]:
    [own] = [own for own in found["settings"] if name in (own["name"], own["variable"])]
    return own["value"], own["source"], own["place"]


def test_every_variable_that_the_code_reads_is_in_the_table() -> None:
    files = [path for path in (ROOT / "src").rglob("*.py") if path.name != "settings.py"]
    named = {name for path in files for name in re.findall(r"""["']TLTUI_[A-Z_]+["']""", path.read_text(encoding="utf-8"))}
    assert {name.strip("\"'") for name in named} <= set(BY_VARIABLE) and named
    assert all(setting.variable == f"TLTUI_{setting.name.upper()}" for setting in SETTINGS if setting.name)


def test_the_page_has_the_table() -> None:
    assert settings_table() in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    found = told(HOME=str(tmp_path))
    assert {own["source"] for own in (*found["settings"], *found["keys"])} == {"default"} and found["problems"] == []
    assert found["paths"]["config"] == str(tmp_path / ".config/tltui/config.toml") and not found["paths"]["has_config"]
    assert list(tmp_path.iterdir()) == []
    assert [own["command"] for own in found["keys"]] == [command.id for command in KEYS]


def test_an_option_goes_before_a_variable_before_the_file_before_the_default(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('theme = "light"\nunpack_members = 7\n[keys]\n"app.leave" = "Q"\n"app.help" = "f1"\n', encoding="utf-8")
    said = {"TLTUI_CONFIG": str(file)}
    assert row(told(**said), "theme") == ("light", "file", f"{file}:1")
    assert row(told(**said), "unpack_members") == (7, "file", f"{file}:2")
    assert row(told(TLTUI_THEME="dark", **said), "theme") == ("dark", "variable", "$TLTUI_THEME")
    assert row(told("--theme", "mono", TLTUI_THEME="dark", **said), "theme") == ("mono", "option", "--theme")
    assert row(told(TLTUI_THEME="", **said), "theme") == ("light", "file", f"{file}:1")
    keys = {own["command"]: own for own in told(TLTUI_KEYS="app.leave=X,f10", **said)["keys"]}
    assert (keys["app.leave"]["keys"], keys["app.leave"]["place"]) == (["X", "f10"], "$TLTUI_KEYS")
    assert (keys["app.help"]["keys"], keys["app.help"]["place"]) == (["f1"], f"{file}:5")
    assert keys["app.news"]["source"] == "default"


@pytest.mark.parametrize("setting", [own for own in SETTINGS if own.name], ids=lambda own: own.name)
def test_each_setting_has_a_variable_that_holds(setting: Any, tmp_path: Path) -> None:
    said, value = {
        "theme": ("mono", "mono"), "mouse": ("off", False), "ascii": ("1", True), "keys": ("app.leave=Q", {"app.leave": ("Q",)}),
    }.get(setting.name, ("12", 12))  # fmt: skip
    config = read_config(BY_ID, tmp_path / "none", {setting.variable: said})
    assert getattr(config, setting.name) == value and not config.problems
    wrong = read_config(BY_ID, tmp_path / "none", {setting.variable: "no such\x1b[31m value"})
    assert wrong == read_config(BY_ID, tmp_path / "none", {}) or wrong.problems
    assert wrong.problems and all(said.startswith(setting.variable) and "\x1b" not in said for said in wrong.problems)


def test_wrong_variables_are_told_and_cost_nothing_else() -> None:
    wrong = {setting.variable: "\x1b]wrong" for setting in SETTINGS if setting.kind in (bool, int) or setting.choices}
    done = tltui("ls", str(DEMO), **wrong)
    assert done.stdout == tltui("ls", str(DEMO)).stdout and "\x1b" not in done.stderr
    assert {line.split(": ")[1] for line in done.stderr.splitlines()} == set(wrong)
    assert tltui("config", "thene", code=2).stderr.endswith("did you mean theme?\n")
    assert "TLTUI_THEM: unknown variable; did you mean TLTUI_THEME?" in tltui("config", TLTUI_THEM="dark").stdout
    assert "invalid value of --theme: 'pink'\n  use one of auto, dark" in tltui("config", "--theme", "pink", code=2).stderr


def test_ascii_holds_for_what_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("ascii = true\n", encoding="utf-8")
    by_option = tltui("ls", str(DEMO), "--ascii").stdout
    assert by_option.isascii() and not tltui("ls", str(DEMO)).stdout.isascii()
    assert tltui("ls", str(DEMO), TLTUI_ASCII="yes").stdout == tltui("ls", str(DEMO), TLTUI_CONFIG=str(file)).stdout == by_option
    assert not tltui("ls", str(DEMO), TLTUI_CONFIG=str(file), TLTUI_ASCII="0").stdout.isascii()


def test_problems_of_the_file_are_told(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    keys = '"app.help" = "ctrl+b"\n"app.nextt_error" = "f8"\n"app.leave" = ["j", "ctrl+q"]\n'
    file.write_text(f'theme = "pink"\n[keys]\n{keys}', encoding="utf-8")
    done = tltui("config", TLTUI_CONFIG=str(file), COLUMNS="300")
    assert [line.strip() for line in done.stdout.partition("\nProblems\n")[2].splitlines()] == [
        f"{file}, line 1: theme: must be one of auto, dark, light, high-contrast, ansi-dark, ansi-light, mono, not 'pink'; ignored",
        f"{file}, line 4: app.nextt_error: unknown command (perhaps app.next_error; tltui config --keys lists all); ignored",
        "app.help: ctrl+b may never arrive: tmux uses it",
        "app.help: ctrl+b remains the key of tree.page_up in the tree, so this binding works only elsewhere",
        "app.help: ctrl+b remains the key of document.page_up in documents, so this binding works only elsewhere",
        "app.leave: ctrl+q always quits, so this binding has no effect",
        "app.leave: j remains the key of tree.cursor_down in the tree, so this binding works only elsewhere",
        "app.leave: j remains the key of document.cursor_down in documents, so this binding works only elsewhere",
    ]
    alone = tltui("config", "app.help", TLTUI_CONFIG=str(file)).stdout
    assert "ctrl+b" in alone and "tmux" in alone and "pink" not in alone
    file.write_text("theme = ", encoding="utf-8")
    assert f"{file}: Invalid value" in tltui("config", "mouse", TLTUI_CONFIG=str(file), COLUMNS="300").stdout


def test_one_wrong_key_of_the_variable_costs_no_other() -> None:
    done = tltui("config", TLTUI_KEYS="app.leave=Q bogus app.help =x app.zoom=", COLUMNS="300").stdout
    assert [line.strip() for line in done.partition("\nProblems\n")[2].splitlines() if "TLTUI_KEYS" in line] == [
        "TLTUI_KEYS: bogus: unknown command (tltui config --keys lists all); ignored",
        "TLTUI_KEYS: app.help: must be a key or a list of keys; ignored",
        "TLTUI_KEYS: =x: unknown command (tltui config --keys lists all); ignored",
    ]
    assert re.search(r"app\.leave +Q ", done) and re.search(r"app\.zoom +\(no key\)", done)


def test_the_whole_key_map() -> None:
    said = tltui("config", "--keys").stdout
    assert all(f"{command.id} " in said for command in KEYS) and "Files" not in said


def test_it_needs_no_textual() -> None:
    program = "import sys, tltui.cli; tltui.cli.main(['config']); print(sorted({'textual', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_stands_in_the_help_once() -> None:
    listed = [name for names in grouped().values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)
    lines = tltui("--help").stdout.splitlines()
    assert [name for name in COMMANDS if len([line for line in lines if line.startswith(f"  {name} ")]) != 1] == []
    assert all(f"{heading}:" in lines for heading in grouped())


def test_the_table_of_the_ways_out_is_true() -> None:
    """docs/design.md: each command that writes something to share, and whether it can leave out what is not torch's."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.partition("## 6. The ways out")[2].partition("## 7.")[0].splitlines() if "|" in line]
    redacts = {row[0].strip("| `"): "--redact" in row[-1] for row in rows}
    for name in COMMANDS:
        flags = parser_of(name).format_help()
        if "--redact" in flags:
            assert redacts[name], name
        elif name in GROUPS["share and save"]:
            assert not redacts[name], name


def test_settings_of_the_file_are_those_of_the_config() -> None:
    config = read_config((), Path("/nowhere"), {})
    assert all(getattr(config, name) == (setting.default if name != "keys" else {}) for name, setting in OF_FILE.items())
