"""Keys by the habits of vim, less and htop, a footer by place, and an answer to each key."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import BREAKS, log_of, opened
from real import TRACES
from screen import screen_lines

from tltui.commands import BY_ID, COMMANDS, FOOTERS, HINTS, keymap_problems
from tltui.config import Config

pytestmark = pytest.mark.usefixtures("home")

RECOMPILES = TRACES / "torch-2.13" / "recompiles"


def footer(app: object) -> str:
    return screen_lines(app)[-1]  # type: ignore[arg-type]


async def test_back_and_pages_by_other_keys() -> None:
    async with opened(BREAKS) as driver:
        view = driver.browser.document_view
        await driver.press("2")
        await driver.shown("@problems")
        await driver.press("3")
        await driver.shown("@recompiles")
        await driver.press("ctrl+o")
        await driver.shown("@problems")
        await driver.press("alt+right")
        await driver.shown("@recompiles")
        await driver.press("alt+left", "f1")
        await driver.shown("@help")
        await driver.press("g", "ctrl+f")
        assert view.current_line() > 10
        await driver.press("ctrl+b")
        assert view.current_line() == 0
        assert footer(driver.app).startswith(" esc back  / find")


async def test_space_pages_and_folds_on_a_heading_only() -> None:
    async with opened(BREAKS, size=(120, 16)) as driver:
        view = driver.browser.document_view
        await driver.press("question_mark")
        await driver.shown("@help")
        rows, lines = len(view.rows), []
        await driver.press("g", "j")
        for _ in range(4):
            await driver.press("space")
            lines.append(view.current_line())
        assert lines == sorted(set(lines)) and len(view.rows) == rows, "a page each, also from a heading"
        await driver.press("right_curly_bracket", "space")
        assert len(view.rows) != rows


async def test_a_key_without_a_command_is_answered() -> None:
    async with opened(BREAKS) as driver:
        for key, text in (("dollar_sign", "No command on $. ? lists the keys."), ("ctrl+g", "No command on ctrl+g. ? lists"),
                          ("H", "No command on H."), ("k", "")):  # fmt: skip
            await driver.press(key)
            assert text in driver.message and ("No command" in driver.message) is bool(text)
        await driver.press("tab")
        tree = driver.browser.tree_view
        assert tree.has_focus or driver.browser.document_view.has_focus
        tree.focus()
        await driver.press("right_curly_bracket")
        assert "No command on } here." in driver.message


async def test_the_footer_belongs_to_the_place(tmp_path: Path) -> None:
    log = tmp_path / "t" / "dedicated_log_torch_trace_a.log"
    log.parent.mkdir()
    log.write_bytes(log_of([(0, 1, "f")]))
    async with opened(log.parent) as driver:
        driver.browser.tree_view.focus()
        await driver.pilot.pause()
        assert "e next error" not in footer(driver.app) and "b next break" not in footer(driver.app)
        assert "r next compile" not in footer(driver.app) and "f filter" in footer(driver.app)
    async with opened(BREAKS) as driver:
        driver.browser.tree_view.focus()
        await driver.pilot.pause()
        assert "b next break" in footer(driver.app) and footer(driver.app).startswith(" enter open")
        driver.browser.go("0/0:inductor_output_code")
        await driver.shown("0/0:inductor_output_code")
        driver.browser.document_view.focus()
        await driver.pilot.pause()
        assert footer(driver.app).startswith(" backspace back  / find  p provenance  ] next artifact")
        assert "? help" in footer(driver.app)
        await driver.pilot.resize_terminal(50, 20)
        await driver.pilot.pause()
        assert "? help" in footer(driver.app) and "wrap" not in footer(driver.app)


def test_each_footer_names_commands_with_words() -> None:
    for place, names in FOOTERS.items():
        assert all(BY_ID[name].hint for name in names), place
        assert place == "help" or (names[0], names[-1]) == ("app.back", "app.help")
    assert HINTS == 8


async def test_the_generated_code_of_a_compile_and_of_its_next_unit() -> None:
    async with opened(TRACES / "torch-2.13" / "train") as driver:
        driver.browser.go("0/0")
        await driver.shown("0/0")
        seen = []
        for _ in range(3):
            await driver.press("c")
            await driver.until(lambda: driver.browser.is_at_rest)
            seen.append(driver.at)
        assert seen[0] == seen[2] != seen[1] and all("output_code" in ref for ref in seen)
        driver.browser.go("")
        await driver.shown("")
        driver.browser.tree_view.focus()
        await driver.press("g", "c")
        assert "select a compile first" in driver.message


OLD = {
    "app.forward": ("ctrl+o", "alt+right"), "app.back": ("backspace",), "app.help": ("question_mark",), "document.fold": ("space",),
}  # fmt: skip
"""Bindings of an earlier version, as its user may have written them down."""


def test_commands_of_the_first_version_are_there() -> None:
    names = set((Path(__file__).parents[1] / "unit" / "data" / "commands-0.1.txt").read_text("utf-8").split())
    assert names <= {command.id for command in COMMANDS}
    assert len(names) > 100


async def test_a_configuration_of_the_first_version_works_as_before() -> None:
    assert all("app.back" in problem or "ctrl+o" in problem for problem in keymap_problems(OLD))
    async with opened(BREAKS, config=Config(keys=OLD)) as driver:
        await driver.press("2")
        await driver.shown("@problems")
        await driver.press("3")
        await driver.shown("@recompiles")
        await driver.press("backspace")
        await driver.shown("@problems")
        await driver.press("ctrl+o")
        await driver.shown("@recompiles")
