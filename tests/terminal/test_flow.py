"""The main flow in a real terminal, at the sizes people have."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import Terminal

TRACE = Path(__file__).parents[1] / "traces" / "torch-2.13" / "breaks"
SIZES = [(80, 24), (120, 40)]


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    columns, rows = request.param
    with Terminal.tltui(TRACE, home=tmp_path, columns=columns, rows=rows) as terminal:
        terminal.wait_for("breaks", "6 compiles")
        terminal.to_trouble()
        yield terminal


def is_narrow(terminal: Terminal) -> bool:
    return bool(terminal.screen.columns < 100)


def shows(terminal: Terminal, title: str) -> None:
    """Wait until the document with this title is there; on a narrow screen go there."""
    if is_narrow(terminal):
        terminal.press("enter")
    terminal.wait(lambda: title in terminal.lines()[1], f"the document {title}")
    if is_narrow(terminal):
        terminal.press("tab")
        terminal.wait(lambda: title not in terminal.lines()[1], "the tree")


def colours(raw: bytes) -> set[str]:
    """The colours that were sent, as the sequences name them."""
    named = {sequence.decode() for sequence in re.findall(rb"\x1b\[([\d;]*)m", raw)}
    return {part for sequence in named for part in sequence.split(";") if re.fullmatch("[34][0-8]|9[0-7]|10[0-7]", part)}


def leave(terminal: Terminal) -> None:
    terminal.press("q")
    assert terminal.wait_end() == 0


def test_tree_and_document(terminal: Terminal) -> None:
    """One pane at a time under 100 columns."""
    if is_narrow(terminal):
        assert "The graph ends at the break" not in terminal.text()
        terminal.press("enter")
        terminal.wait_for("[0/0] f", "Graph break")
        assert "▸ ✓ [4/0]" not in terminal.text()
        terminal.press("tab")
        terminal.wait_for("▸ ✓ [4/0]")
    else:
        terminal.wait_for("[0/0] f", "Graph break", "▸ ✓ [4/0]")
    leave(terminal)


def test_jumps(terminal: Terminal) -> None:
    shows(terminal, "[0/0] f")
    terminal.press("e")
    terminal.wait_for("no error or fallback to eager mode in this run")
    terminal.press("b")
    shows(terminal, "[2/0] inner_break")
    terminal.press("b")
    shows(terminal, "[3/0] g")
    terminal.press("b")
    terminal.wait_for("no later graph break")
    terminal.press("B")
    shows(terminal, "[2/0] inner_break")
    terminal.press("r")
    terminal.wait_for("inner_break was compiled only once")
    terminal.press("j")
    shows(terminal, "[3/0] g")
    terminal.press("backspace")
    leave(terminal)


def test_an_artifact_search_and_export(terminal: Terminal, tmp_path: Path) -> None:
    terminal.press("o0/0:inductor_output_code\r")
    terminal.wait(lambda: "inductor_output_code" in terminal.lines()[1], "the document")
    if not is_narrow(terminal):
        terminal.press("tab")
    terminal.press("/def call\r")
    terminal.wait(lambda: re.search(r"\d+/\d+ ", terminal.lines()[-1]), "the count of hits")
    terminal.wait_for("def call")
    for name in ("out.txt", "out.ansi", "out.md"):
        terminal.press("x")
        terminal.wait_for("write to")
        terminal.press("ctrl+u", f"{tmp_path}/{name}\r")
        terminal.wait_for(f"lines to {tmp_path}"[: terminal.screen.columns // 2])
        assert (tmp_path / name).exists()
    assert "def call(" in (tmp_path / "out.txt").read_text()
    assert "\x1b[" not in (tmp_path / "out.txt").read_text()
    assert "\x1b[35m" in (tmp_path / "out.ansi").read_text()
    assert "```python\n" in (tmp_path / "out.md").read_text()
    terminal.press("x")
    terminal.wait_for("write to")
    terminal.press("ctrl+u", f"{tmp_path}/out.txt\r")
    terminal.wait_for("y / n")
    terminal.press("n")
    terminal.wait_for("no file was written")
    leave(terminal)


def test_copy(terminal: Terminal, tmp_path: Path) -> None:
    """OSC 52 for terminals that take it, and a private file."""
    shows(terminal, "[0/0] f")
    terminal.press("Y")
    terminal.wait_for("copied")
    [sent] = re.findall(rb"\x1b\]52;c;([\w+/=]+)(?:\x07|\x1b\\)", bytes(terminal.raw))
    text = base64.b64decode(sent).decode()
    assert text.endswith(".log 0/0")
    file = tmp_path / ".cache" / "tltui" / "yank.txt"
    assert file.read_text() == text
    assert file.stat().st_mode & 0o777 == 0o600
    leave(terminal)


def test_help_and_palette(terminal: Terminal) -> None:
    terminal.press("?")
    terminal.wait_for("Keys here")
    terminal.press("q")
    terminal.wait_gone("Keys here")
    terminal.press("ctrl+p")
    terminal.press("next graph")
    terminal.wait_for("next graph break")
    terminal.press("enter")
    terminal.wait_gone("next graph break")
    shows(terminal, "[2/0] inner_break")
    leave(terminal)


def test_typed_ahead(terminal: Terminal) -> None:
    """What is typed at once does what it does when typed slowly."""
    back = "\t" if is_narrow(terminal) else ""  # go to has shown the document
    terminal.press("b" + "\x7f" + "o4/0\r" + back + "b" + "f" + "_break\r" + "?")
    terminal.wait_for("Keys here")
    terminal.press("q")
    terminal.wait_gone("Keys here")
    terminal.wait_gone("f ↩5")
    terminal.wait_for("inner_break")
    leave(terminal)


def test_another_size(terminal: Terminal) -> None:
    for columns, rows in ((200, 60), (80, 24), (40, 8), (120, 40)):
        terminal.resize(columns, rows)
        terminal.wait(lambda wide=columns: bool(terminal.lines()[-1]) and len(terminal.lines()[1]) == wide, f"{columns} columns")  # type: ignore[misc]
    terminal.wait_for("[0/0] f", "▸ ✓ [4/0]", "6 compiles")
    leave(terminal)


def test_ctrl_c_says_how_to_leave(terminal: Terminal) -> None:
    terminal.press("ctrl+c")
    terminal.wait_for("q quits tltui")
    assert terminal.is_alive()
    leave(terminal)


HYPERLINK = b"\x1b]8;;https://meta-pytorch.github.io/compile-graph-break-site/gb/gb"


def test_a_console_without_hyperlinks_gets_none(tmp_path: Path) -> None:
    with Terminal.tltui(TRACE, home=tmp_path, term="linux") as terminal:
        terminal.wait_for("6 compiles", "[4/0]", "3 graph breaks")
        terminal.wait_gone("reading")
        leave(terminal)
        assert b"\x1b]8" not in terminal.raw


def test_a_cursor_that_moves_elsewhere_sends_no_hyperlink(tmp_path: Path) -> None:
    """They are sent with the cells that have them, not with each frame."""
    with Terminal.tltui(TRACE, home=tmp_path, rows=60) as terminal:
        terminal.wait_for("6 compiles", "[4/0]", "3 graph breaks", "gb0025")
        terminal.wait_gone("reading")
        while terminal.pump(0.5):
            pass
        start = len(terminal.raw)
        terminal.press("j", "j", "k")
        while terminal.pump(0.5):
            pass
        assert len(terminal.raw) > start
        assert HYPERLINK not in terminal.raw[start:]
        leave(terminal)


@pytest.mark.parametrize("options", [("--ascii",), ("--theme", "mono"), ("--theme", "ansi-light"), ("--no-mouse",)], ids=str)
def test_looks(options: tuple[str, ...], tmp_path: Path) -> None:
    with Terminal.tltui(TRACE, *options, home=tmp_path) as terminal:
        terminal.wait_for("6 compiles", "[4/0]", "3 graph breaks")
        terminal.wait_gone("reading")
        leave(terminal)
        raw = bytes(terminal.raw)
    if "--ascii" in options:
        text = re.sub(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\]22;default\x07", b"", raw).decode()
        assert [char for char in sorted(set(text)) if not char.isascii()] == []
    if "mono" in options:
        assert not colours(raw)
    if "ansi-light" in options:
        assert b"38;5;" not in raw
        assert b"38;2;" not in raw
    assert (b"\x1b[?1003h" in raw) == ("--no-mouse" not in options)
    assert (HYPERLINK in raw) == (options[0] != "--ascii" and "mono" not in options)


def test_sixteen_colours(tmp_path: Path) -> None:
    with Terminal.tltui(TRACE, home=tmp_path, term="xterm") as terminal:
        terminal.wait_for("6 compiles", "[4/0]", "3 graph breaks")
        leave(terminal)
        assert b"38;5;" not in terminal.raw
        assert b"38;2;" not in terminal.raw


def test_no_color(tmp_path: Path) -> None:
    with Terminal.tltui(TRACE, home=tmp_path, environment={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("6 compiles", "⚑ [0/0]", "3 graph breaks")
        leave(terminal)
        assert not colours(bytes(terminal.raw))
        assert b"\x1b[7" in terminal.raw or b";7" in terminal.raw, "the cursor's row is in reverse video"


def test_a_theme_that_was_asked_for_has_its_colours(tmp_path: Path) -> None:
    with Terminal.tltui(TRACE, "--theme", "dark", home=tmp_path, environment={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("6 compiles", "⚑ [0/0]", "3 graph breaks")
        leave(terminal)
        assert colours(bytes(terminal.raw))


@pytest.mark.parametrize("term", ["vt100", "vt220"])
def test_a_terminal_without_colours(term: str, tmp_path: Path) -> None:
    with Terminal.tltui(TRACE, home=tmp_path, term=term) as terminal:
        terminal.wait_for("6 compiles", "⚑ [0/0]", "3 graph breaks")
        leave(terminal)
        assert not colours(bytes(terminal.raw))


def test_nothing_is_written_beside_the_trace_or_at_home(tmp_path: Path) -> None:
    home, trace = tmp_path / "home", tmp_path / "trace"
    home.mkdir()
    trace.mkdir()
    (trace / "a.log").write_bytes(next(TRACE.glob("*.log")).read_bytes())
    before = (trace / "a.log").stat()
    with Terminal.tltui(trace, home=home) as terminal:
        terminal.wait_for("6 compiles", "[4/0]")
        terminal.press("b", "e", "]", "]")
        leave(terminal)
    assert os.listdir(trace) == ["a.log"]
    assert (trace / "a.log").stat().st_mtime_ns == before.st_mtime_ns
    assert list(home.rglob("*")) == []
