"""A hostile trace in a real terminal: nothing in it steers the terminal, nothing in it disappears."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hostile import CHARACTERS, ESCAPES, MARKUP, write_hostile
from terminal import Terminal

ALLOWED = re.compile(
    r"\x1b\[\?\d+[hl]"  # modes: screen, mouse, focus, paste, cursor
    r"|\x1b\[\?\d+\$p"  # which modes there are
    r"|\x1b\[[<>]\d*u"  # keyboard protocol
    r"|\x1b\[\d*(?:;\d+)?H|\x1b\[\d+C"  # cursor
    r"|\x1b\[\d+X|\x1b\[[JK]"  # blanks
    r"|\x1b\[[56]n"  # whether the last frame is drawn
    r"|\x1b\[[\d;]*m"  # colours
    r"|\x1b\]22;default\x07"  # shape of the mouse pointer
    r"|\x1b\]8;;(?:https://meta-pytorch\.github\.io/compile-graph-break-site/gb/gb\d{3,6}\.html)?\x1b\\"  # graph breaks
)
"""The sequences that are sent while nothing is copied."""


UNFINISHED = re.compile(rb"(?:\x1b(?:\[[<>?\d;]*|\]8;[^\x1b]*\x1b?)?|[\xc2-\xf4][\x80-\xbf]{0,2})\Z")


def hostile_bytes(raw: bytes) -> list[str]:
    """What a terminal would act on, beside what is sent by ourselves."""
    # what has been read so far may end inside of a sequence or a character
    text = UNFINISHED.sub(b"", raw).decode("utf-8", "strict")
    found = [sequence for sequence in ESCAPES if sequence in text]
    rest = ALLOWED.sub("", text)
    found += [rest[match.start() : match.start() + 20] for match in re.finditer("\x1b", rest)]
    plain = set(rest) - set("\r\n\x1b")
    return found + sorted(char for char in plain if char in CHARACTERS or unicodedata.category(char) in ("Cc", "Cf"))


def title(terminal: Terminal) -> str:
    """The line above the document."""
    return terminal.lines()[1].strip("─ ")


def step(terminal: Terminal, key: str) -> bool:
    """Press a key that leads to another document; whether another one came. The end of the tree is where none does."""
    before = title(terminal)
    terminal.press(key)
    try:
        terminal.wait(lambda: title(terminal) != before, "another document", 1.5)
    except AssertionError:
        return False
    return True


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return write_hostile(tmp_path)


def opened(path: Path, tmp_path: Path, *options: str, columns: int = 200, rows: int = 50) -> Terminal:
    terminal = Terminal.tltui(path, *options, home=tmp_path, columns=columns, rows=rows)
    terminal.wait_for("5 compiles")
    terminal.wait_gone("reading")
    return terminal


def test_every_document_of_the_tree(hostile: Path, tmp_path: Path) -> None:
    with opened(hostile, tmp_path) as terminal:
        terminal.wait_for("[1/0]")
        terminal.press("tab", "=")
        terminal.wait_for("dynamo_output_graph")
        seen = []
        while step(terminal, "j") or step(terminal, "j"):
            seen.append((title(terminal), terminal.text()))
            assert len(seen) < 150
        assert len(seen) > 50
        everything = "\n".join(text for _, text in seen)
        for name in ("dynamo_output_graph", "inductor_output_code", "dynamo_cpp_guards_str", "unknown_event",
                     "torch_version", "dump_file", "exported_program"):  # fmt: skip
            assert any(name in shown for shown, _ in seen) or name in everything, name
        for mark in (*MARKUP, "␛[2J", "␛]52;c", "␛P$q", "␇", "␦"):
            assert mark in everything, mark
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert hostile_bytes(terminal.raw) == []


def test_artifacts_show_what_is_in_them(hostile: Path, tmp_path: Path) -> None:
    """Every language: the escapes and the markup stand there literally."""
    with opened(hostile, tmp_path) as terminal:
        for name in ("dynamo_output_graph", "inductor_output_code", "dynamo_cpp_guards_str", "dynamo_graph_break_reason",
                     "fx_graph_cache_miss", "recompile_reasons", "aot_joint_graph", "exported_program"):  # fmt: skip
            terminal.press("o")
            terminal.wait_for("name, file, artifact or address")
            terminal.press(f"0/0:{name}", "enter")
            terminal.wait(lambda wanted=name: wanted in title(terminal), name)  # type: ignore[misc]
            terminal.press("z")
            terminal.wait_for("[/][s0, 4]␛[2J[red]␛[5;35;104m␛]52;c;aGFja2Vk␇")
            terminal.press("i")
            terminal.wait_for("as it was stored")
            terminal.wait_for("[/][s0, 4]")
            terminal.press("z")
            terminal.wait_for("5 compiles  ", "▾")
        assert hostile_bytes(terminal.raw) == []
        assert terminal.is_alive()


def test_pages_and_prompts(hostile: Path, tmp_path: Path) -> None:
    """Overview, records, a record, damage, list of pages, go-to, filters, search, export, palette, help, marks."""
    with opened(hostile, tmp_path) as terminal:
        for view in ("@run", "@damage", "@pages", "0/0", "0/1", "0/", "2/0", "none"):
            terminal.press("o")
            terminal.wait_for("name, file, artifact or address")
            terminal.press("[s0")
            terminal.wait_for("[s0, 4]␛")
            terminal.press("ctrl+u", view, "enter")
            terminal.wait_gone("name, file, artifact or address")
        terminal.press("o", "@damage", "enter")
        terminal.wait_for("not JSON", "␛[2J", "[s0, 4]")
        terminal.press("o", "0/0", "enter")
        terminal.wait_for("[0/0]")
        terminal.press("o", "@records:0/0", "enter")
        terminal.wait(lambda: "records" in title(terminal), "the records")
        terminal.press("/")
        terminal.wait_for("/")
        terminal.press("[s0, 4]", "enter")
        terminal.wait_for("•")
        terminal.press("f", "[/]", "enter")
        terminal.press("m")
        terminal.wait_for("note")
        terminal.press("enter", "'")
        terminal.wait(lambda: "marks" in title(terminal), "the marks")
        terminal.press("x")
        terminal.wait_for("write to")
        terminal.press("escape")
        terminal.wait_gone("write to")
        terminal.press("?")
        terminal.wait_for("Keys here")
        terminal.press("escape")
        terminal.wait_gone("Keys here")
        terminal.press("ctrl+p")
        terminal.wait_for("name or purpose")
        terminal.press("[/][s0, 4]")
        terminal.wait_for("no match")
        terminal.press("escape")
        terminal.wait_gone("no match")
        terminal.press("tab", "f")
        terminal.wait_for("show only")
        terminal.press("[s0, 4]", "enter")
        terminal.wait_gone("show only")
        terminal.press("f")
        terminal.wait_for("show only")
        terminal.press("ctrl+u", "no such [/] thing [red]", "enter")
        terminal.wait_for("no node in the tree matches")
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert hostile_bytes(terminal.raw) == []


def test_prompt_names_its_export(hostile: Path, tmp_path: Path) -> None:
    """A file name that a trace proposes has nothing of a path and no control characters."""
    with opened(hostile, tmp_path) as terminal:
        terminal.press("o")
        terminal.wait_for("name, file, artifact or address")
        terminal.press("0/0:dynamo_output_graph", "enter")
        terminal.wait(lambda: "dynamo_output_graph" in title(terminal), "the graph")
        terminal.press("x")
        terminal.wait_for("write to")
        terminal.press("ctrl+u", str(tmp_path / "out.txt"), "enter")
        terminal.wait_for("wrote ")
        written = (tmp_path / "out.txt").read_text()
        assert "␛[2J" in written
        assert "[s0, 4]" in written
        assert not set(CHARACTERS) & set(written)
        assert hostile_bytes(terminal.raw) == []


@pytest.mark.parametrize("options", [("--ascii",), ("--theme", "mono"), ("--theme", "ansi-dark")], ids=str)
def test_other_looks(hostile: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    with opened(hostile, tmp_path, *options, columns=110, rows=24) as terminal:
        terminal.wait_for("[1/0]")
        terminal.press("e")
        terminal.wait(lambda: "[1/0]" in title(terminal), "the error")
        for key in "]][":
            before = title(terminal)
            terminal.press(key)
            terminal.wait(lambda shown=before: title(terminal) != shown, "another document")  # type: ignore[misc]
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert hostile_bytes(terminal.raw) == []
