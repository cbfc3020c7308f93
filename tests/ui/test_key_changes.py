"""Keys by the habits of vim, less and htop, a footer by place, and an answer to each key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from opened import BREAKS, log_of, opened
from real import TRACES
from screen import screen_lines

from tltui.commands import BY_ID, COMMANDS, FOOTERS, HINTS, Situation, Where, keymap_problems
from tltui.config import Config
from tltui.screens.palette import help_document
from tltui.text.document import Document

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
                          ("C", "No command on C."), ("k", "")):  # fmt: skip
            await driver.press(key)
            assert text in driver.message and ("No command" in driver.message) is bool(text)
        await driver.press("tab")
        tree = driver.browser.tree_view
        assert tree.has_focus or driver.browser.document_view.has_focus
        tree.focus()
        await driver.press("right_curly_bracket")
        assert "No command on } here." in driver.message


def keys_here(document: Document) -> tuple[str, str]:
    """Return the title of the first section of the help, and its text."""
    first, *rest = document.text()
    return first, "\n".join(rest).partition("\nGuide")[0]


async def test_help_begins_with_the_keys_of_the_place() -> None:
    async with opened(BREAKS, size=(80, 24)) as driver:
        view, tree = driver.browser.document_view, driver.browser.tree_view
        driver.browser.go("0/0:inductor_output_code")
        await driver.shown("0/0:inductor_output_code")
        for pane, place in ((view, "text of an artifact"), (tree, "tree")):
            if not pane.has_focus:
                await driver.press("tab")
                await driver.until(lambda pane=pane: pane.has_focus)
            await driver.press("question_mark")
            await driver.shown("@help")
            await driver.until(lambda place=place: screen_lines(driver.app)[2] == f" ▾ Keys here: {place}")
            text = keys_here(view.document)[1]
            assert "next artifact" in text and ("go to line" in text) is (pane is view)
            await driver.press("question_mark")
            await driver.shown("0/0:inductor_output_code")


def test_the_keys_here_are_those_of_the_pane_or_mode_and_of_the_user() -> None:
    config = Config(keys={"tree.expand": ("f6",), "document.wrap": ()})
    situations = Situation(has_errors=True), Situation(Where.DOCUMENT), Situation(Where.PROVENANCE), Situation(Where.COMPARE)
    texts = [keys_here(help_document(False, config, 76, now, "place")) for now in situations]
    assert {title for title, _ in texts} == {"Keys here: place"}
    in_tree, in_page, in_provenance, comparing = (text for _, text in texts)
    assert re.search(r"^  e +next error +\S", in_tree, re.MULTILINE) and "next error" not in in_page
    assert re.search(r"\bf6 +open\b", in_tree) and "go to line" not in in_tree
    assert re.search(r": +go to line", in_page) and "by stacks" not in in_page and "wrap" not in in_page
    assert all("1 summary · 2 problems" in text for text in (in_tree, in_page))
    assert "next mapped line" in in_provenance and "next change" in comparing
    assert "summary" not in in_provenance + comparing


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
        await driver.until(lambda: driver.at == seen[0])


OLD = {
    "app.forward": ("ctrl+o", "alt+right"), "app.back": ("backspace",), "app.help": ("question_mark",), "document.fold": ("space",),
    "app.pager": ("v",), "provenance.hottest": ("S",), "provenance.pin": ("P",),
}  # fmt: skip
"""Bindings of an earlier version, as its user may have written them down."""


def test_commands_of_the_first_version_are_there() -> None:
    names = set((Path(__file__).parents[1] / "unit" / "data" / "commands-0.1.txt").read_text("utf-8").split())
    assert names <= {command.id for command in COMMANDS}
    assert len(names) > 100


async def test_a_configuration_of_the_first_version_works_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(re.search(r"app\.back|ctrl\+o|v from app\.editor", problem) for problem in keymap_problems(OLD))
    async with opened(BREAKS, config=Config(keys=OLD)) as driver:
        await driver.press("2")
        await driver.shown("@problems")
        await driver.press("3")
        await driver.shown("@recompiles")
        await driver.press("backspace")
        await driver.shown("@problems")
        await driver.press("ctrl+o")
        await driver.shown("@recompiles")
        monkeypatch.setenv("PAGER", "no-such-pager")
        await driver.press("v")
        await driver.until(lambda: "no-such-pager" in driver.message)


async def test_the_position_is_that_of_a_page_in_sight() -> None:
    async with opened(BREAKS, size=(80, 24)) as driver:
        driver.browser.tree_view.focus()
        await driver.until(lambda: re.search(r"\d/\d+ *$", footer(driver.app)) is None)
        await driver.press("j", "tab")
        await driver.until(lambda: re.search(r" \d+/\d+ *$", footer(driver.app)) is not None)
    async with opened(BREAKS, size=(120, 40)) as driver:
        driver.browser.tree_view.focus()
        await driver.until(lambda: re.search(r" \d+/\d+ *$", footer(driver.app)) is not None)
        await driver.press("z")
        await driver.until(lambda: re.search(r"\d/\d+ *$", footer(driver.app)) is None)
        await driver.press("escape")
        await driver.until(lambda: re.search(r" \d+/\d+ *$", footer(driver.app)) is not None)


async def test_the_footer_of_a_log_has_no_commands_of_artifacts() -> None:
    async with opened(TRACES / "inputs" / "ranks_merged", size=(120, 40)) as driver:
        driver.browser.document_view.focus()
        await driver.press("O")
        await driver.shown("@log")
        await driver.press("j")
        await driver.until(lambda: footer(driver.app).startswith(" backspace back"))
        assert "compare" not in footer(driver.app) and "/ find" in footer(driver.app)
