"""The main screen, driven by keys, judged by what it says and where it is."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from opened import BREAKS, Driver, log_of, opened
from real import DEMO, TRACES
from screen import screen_lines, screen_text

from tltui.commands import BY_ID, COMMANDS, Where, keymap_problems
from tltui.config import Config, read_config
from tltui.model.nodes import Compile
from tltui.screens.marks import Mark, write_marks
from tltui.screens.workbench import front
from tltui.text.torch_names import graph_break_page
from tltui.widgets.document_view import DocumentView
from tltui.work.reader_threads import Scan

pytestmark = pytest.mark.usefixtures("home")

MAIN = [command for command in COMMANDS if command.where in (Where.EVERYWHERE, Where.TREE, Where.DOCUMENT)]


def write(directory: Path, *logs: bytes) -> Path:
    directory.mkdir(exist_ok=True)
    for number, data in enumerate(logs):
        (directory / f"{number}.log").write_bytes(data)
    return directory


def compile_at(driver: Driver) -> str:
    found = driver.browser.current_compile
    assert isinstance(found, Compile)
    return str(found.ref)


# names


async def test_functions_are_called_what_they_are_known_by() -> None:
    """`forward` first; what its guards tell is read by the scheduler, and only that row is another one then."""
    async with opened(TRACES / "torch-2.13" / "texts") as driver:
        await driver.until(lambda: "Net.forward" in screen_text(driver.app))
        tree = driver.browser.tree_view
        assert not tree.names.is_asked and "Net.forward" in screen_text(driver.app)


# where one begins


@pytest.mark.parametrize(("frames", "begins"), [
    ([(0, 1, "f"), (1, 2, "break_"), (2, 2, "bad")], "2/1"),
    ([(0, 1, "f"), (1, 2, "break_")], "1/0"),
    ([(0, 1, "f"), (1, 1, "g")], "0/0"),
])  # fmt: skip
async def test_the_cursor_goes_to_the_most_interesting_place(frames: Any, begins: str, tmp_path: Path) -> None:
    async with opened(write(tmp_path / "t", log_of(frames))) as driver:
        assert driver.at == begins
        await driver.shown(begins)


async def test_the_first_key_stops_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = Scan.start
    held: list[Scan] = []

    def hold(scan: Scan) -> None:
        held.append(scan)

    monkeypatch.setattr(Scan, "start", hold)
    trace = write(tmp_path / "t", log_of([(0, 3, "f"), (1, 2, "bad")]))
    async with opened(trace, wait=False) as driver:
        await driver.press("j")
        start(held[0])
        await driver.until(lambda: driver.browser.trace.finished)
        await driver.until(lambda: "5 compiles" in driver.run_bar)
        assert driver.at == ""
        assert len(driver.browser.tree_view.outline) == 4


async def test_what_the_bar_says() -> None:
    async with opened(DEMO) as driver:
        said = driver.run_bar
        for part in ("demo", "torch 2.13", "2 ranks", "✗ 2 failed", "⚑", "↻ "):
            assert part in said
        assert "damaged" not in said


async def test_damage_is_counted(tmp_path: Path) -> None:
    trace = write(tmp_path / "t", log_of([(0, 1, "f")]) + b"V1120 10:00:00.000000 1 x.py:1] {broken\nnonsense\n", b"\x1f\x8bzip")
    async with opened(trace) as driver:
        assert "2 damaged" in driver.run_bar
        assert "1 not opened" in driver.run_bar
        driver.browser.perform(next(c for c in COMMANDS if c.id == "app.damage"))
        await driver.shown("@damage")
        assert "not JSON" in " ".join(" ".join(driver.browser.current_document.text(0, 20)).split())


# walking


async def test_errors(tmp_path: Path) -> None:
    trace = write(tmp_path / "t", log_of([(0, 1, "bad_first"), (1, 1, "f"), (2, 3, "bad_last")]))
    async with opened(trace) as driver:
        assert driver.at == "0/0"
        await driver.press("e")
        assert driver.at == "2/2"
        await driver.shown("2/2")
        await driver.press("e")
        assert driver.message.startswith("no later error or fallback to eager mode")
        assert driver.at == "2/2"
        await driver.press("E")
        assert driver.at == "0/0"
        await driver.press("E")
        assert driver.message.startswith("no earlier error or fallback to eager mode")
        await driver.press("j")
        assert "no earlier" not in driver.message


async def test_there_are_none(tmp_path: Path) -> None:
    async with opened(write(tmp_path / "t", log_of([(0, 1, "f")]))) as driver:
        none = "no error or fallback to eager mode in this run"
        for key, told in (("e", none), ("B", "no graph break in this run"), ("r", "f was compiled only once"),
                          ("greater_than_sign", "no later rank"),
                          ("less_than_sign", "no earlier rank"), ("backspace", "no earlier page"),
                          ("alt+right", "no later page")):  # fmt: skip
            await driver.press(key)
            assert driver.message.startswith(told)


async def test_breaks_and_back() -> None:
    async with opened(BREAKS) as driver:
        assert driver.at == "0/0"
        for there in ("2/0", "3/0"):
            await driver.press("b")
            assert driver.at == there
        await driver.press("b")
        assert driver.message.startswith("no later graph break")
        await driver.press("B", "B", "B")
        assert driver.message.startswith("no earlier graph break")
        assert driver.at == "0/0"
        await driver.press("backspace")
        assert driver.at == "2/0"
        await driver.shown("2/0")
        await driver.press("backspace")
        assert driver.at == "3/0"
        await driver.press("alt+right")
        assert driver.at == "2/0"
        await driver.press("b")
        assert driver.at == "3/0"
        await driver.press("alt+right")
        assert driver.message.startswith("no later page")


async def test_recompiles(tmp_path: Path) -> None:
    trace = write(tmp_path / "t", log_of([(0, 1, "f"), (1, 3, "g"), (2, 2, "h")]))
    async with opened(trace) as driver:
        await driver.press("g", "r")
        assert driver.at == "1/1"
        await driver.press("r")
        assert driver.at == "1/2"
        await driver.press("r")
        assert driver.message.startswith("[1/2] is the last compile of g")
        await driver.press("R", "R", "R")
        assert driver.message.startswith("[1/0] is the first compile of g")
        assert driver.at == "1/0"


async def test_the_same_code_on_other_ranks(tmp_path: Path) -> None:
    trace = write(
        tmp_path / "t",
        log_of([(0, 2, "f"), (1, 1, "g")], rank=0, pid=1),
        log_of([(0, 1, "other")], rank=1, pid=2),
        log_of([(0, 1, "g"), (1, 1, "f")], rank=2, pid=3),
    )
    async with opened(trace) as driver:
        driver.browser.go("0:0/0")
        await driver.press("greater_than_sign")
        # f stands in line 1 of frame 0 on rank 0, and in line 2 on rank 2: not the same code
        assert "no later rank compiled f that many times" in driver.message
        driver.browser.go("0:0/1")
        await driver.press("greater_than_sign")
        assert "no later rank compiled f that many times" in driver.message
    same = write(
        tmp_path / "u",
        log_of([(1, 1, "g"), (0, 2, "f")], rank=0, pid=1),
        log_of([(9, 1, "other")], rank=1, pid=2),
        log_of([(0, 1, "f")], rank=2, pid=3).replace(b'"frame_id": 0', b'"frame_id": 7'),
    )
    async with opened(same) as driver:
        driver.browser.go("0:0/0")
        await driver.press("greater_than_sign")
        assert driver.at == "2:7/0"
        assert "on this rank the compile is [7/0], not [0/0]; 1 skipped rank did not compile it" in driver.message
        await driver.press("less_than_sign")
        assert driver.at == "0:0/0"


async def test_artifacts() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("right_square_bracket")
        assert driver.at == "0/0:dynamo_graph_break_reason"
        await driver.shown("0/0:dynamo_graph_break_reason")
        await driver.press("right_square_bracket")
        assert driver.at == "0/0:dynamo_output_graph"
        await driver.press("left_square_bracket", "left_square_bracket")
        assert driver.message.startswith("no earlier artifact in [0/0]")
        assert driver.at == "0/0:dynamo_graph_break_reason"
        await driver.press("b")
        assert driver.at == "2/0"


async def test_walking_past_a_filter(tmp_path: Path) -> None:
    """What a filter hides can still be jumped to: the filter gives way."""
    trace = write(tmp_path / "t", log_of([(0, 1, "f"), (1, 1, "bad")]))
    async with opened(trace) as driver:
        await driver.press("g", "f")
        await driver.type("f")
        await driver.press("enter")
        assert driver.browser.tree_view.outline.filter == "f"
        await driver.press("e")
        assert driver.at == "1/0"
        assert driver.browser.tree_view.outline.filter == ""


# go to


async def test_go_to_an_address() -> None:
    async with opened(DEMO) as driver:
        await driver.press("o")
        await driver.type("1:0/1")
        await driver.press("enter")
        assert driver.at == "1:0/1"
        await driver.shown("1:0/1")
        await driver.press("o")
        await driver.type("1:0/1:dynamo_output_graph")
        await driver.press("enter")
        assert driver.at == "1:0/1:dynamo_output_graph"


async def test_go_to_by_name() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("o")
        await driver.type("resming_at")
        assert "g ↩11" in screen_text(driver.app), "found by what torch calls it"
        await driver.press("escape", "o")
        await driver.type("g ↩11")
        await driver.press("enter")
        assert driver.at == "4/0"
        await driver.press("o")
        await driver.type("outputgraph")
        await driver.press("enter")
        assert driver.at == "4/0:dynamo_output_graph"
        await driver.press("o", "down", "up", "down", "escape")
        assert driver.at == "4/0:dynamo_output_graph"
        await driver.press("o")
        await driver.type("[/][red]")
        await driver.press("enter")
        assert "no match" in screen_text(driver.app)
        await driver.press("escape")
        assert driver.at == "4/0:dynamo_output_graph"


async def test_go_to_a_name_in_the_document_and_to_a_command() -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("0/0:inductor_post_grad_graph")
        await driver.shown("0/0:inductor_post_grad_graph")
        await driver.until(lambda: driver.browser.names is not None)
        await driver.press("o")
        await driver.type("sin  torch.ops.aten.sin")
        await driver.press("enter")
        await driver.until(lambda: driver.browser.document_view.current_line() > 0)
        assert "sin" in driver.browser.document_view.document.line(driver.browser.document_view.current_line()).text
        await driver.press("o")
        await driver.type("zoom command")
        await driver.press("enter")
        await driver.until(lambda: driver.browser.has_class("-zoomed"))


async def test_go_to_a_page() -> None:
    async with opened(BREAKS) as driver:
        for page in ("@damage", "@records:0/0", "@pages"):
            await driver.press("o")
            await driver.type(page)
            await driver.press("enter")
            await driver.shown(page)


async def test_an_address_of_nothing_is_no_fault() -> None:
    async with opened(BREAKS, size=(80, 24)) as driver:
        await driver.press("o", "@", "f", "o", "o", "enter")
        await driver.shown("@foo")
        await driver.until(lambda: "unknown address: @foo" in screen_text(driver.app))
        said = screen_text(driver.app)
        assert "unknown page: '@foo'; pages: @" in said and "fault" not in said and "…" not in said
        await driver.press("backspace")
        await driver.until(lambda: driver.browser.shown_ref != "@foo")


async def test_a_wrong_link_is_told() -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("77/0")
        assert "unknown address: '77/0'" in driver.message
        driver.browser.go("0/0:nothing_like_it")
        assert "unknown address: '0/0:nothing_like_it'" in driver.message
        driver.browser.go("!![")
        assert driver.message


# the tree


async def test_filter_in_the_tree_by_status() -> None:
    async with opened(DEMO) as driver:
        await driver.press("g", "f")
        await driver.type("!ok")
        await driver.press("enter")
        assert "compiles: !ok (esc shows all)" in driver.message
        assert not any("[0/0]" in line.partition("│")[0] for line in screen_text(driver.app).splitlines())
        await driver.press("j")
        await driver.until(lambda: "25 compiles shown" in driver.message)
        await driver.press("escape")
        assert driver.browser.tree_view.outline.filter == ""
        await driver.press("k")
        await driver.until(lambda: "shown" not in driver.message)


async def test_filter_in_the_tree() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("f")
        await driver.type("resume")
        await driver.press("enter")
        shown = screen_text(driver.app)
        assert "[4/0]" in shown
        assert "▸ ⚑ [2/0]" not in shown
        await driver.press("f")
        await driver.press("ctrl+u")
        await driver.type("nothing like this")
        await driver.press("enter")
        assert "no node in the tree matches 'nothing like this'" in driver.message
        await driver.press("escape")
        assert "▸ ⚑ [2/0]" in screen_text(driver.app)


async def test_moving_opening_and_closing() -> None:
    async with opened(BREAKS) as driver:
        tree = driver.browser.tree_view
        await driver.press("g", "j", "l")
        assert "▾ ⚑ [0/0] f" in screen_text(driver.app)
        await driver.press("l")
        assert tree.node.target is not None
        assert tree.cursor == 2
        await driver.press("h")
        assert tree.cursor == 1
        await driver.press("h")
        assert "▸ ⚑ [0/0] f" in screen_text(driver.app)
        await driver.press("h")
        assert tree.cursor == 0
        await driver.press("equals_sign")
        assert len(tree.outline) > 100
        await driver.press("G", "pageup", "pagedown", "ctrl+u", "ctrl+d")
        assert tree.cursor == len(tree.outline) - 1
        await driver.press("minus")
        assert len(tree.outline) == 8
        await driver.press("g", "j", "space")
        assert "▾ ⚑ [0/0] f" in screen_text(driver.app)
        await driver.press("enter")
        assert driver.browser.document_view.has_focus


async def test_the_document_follows_when_the_cursor_rests() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("g", "j", "j", "j")
        await driver.shown("2/0")
        await driver.press("k")
        await driver.shown("1/0")
        assert "[1/0]" in driver.title


async def test_enter_goes_to_the_document_that_the_cursor_is_on() -> None:
    """Also when the document has not followed yet."""
    async with opened(BREAKS) as driver:
        driver.browser.tree_view.action_bottom()
        driver.browser.tree_view.action_enter()
        await driver.shown(driver.at)
        assert driver.browser.document_view.has_focus


async def test_moving_in_the_other_pane() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("J", "J", "K")
        assert driver.browser.document_view.current_line() == 1
        assert driver.at == "0/0"
        await driver.press("tab", "J")
        await driver.shown("1/0")
        assert driver.browser.document_view.has_focus


# documents


async def test_pages_of_the_run() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("0")
        await driver.shown("@pages")
        text = "\n".join(driver.browser.document_view.document.text())
        for word in ("damage", "records"):
            assert word in text
        await driver.press("1")
        await driver.until(lambda: driver.title == "breaks" or "overview" in driver.title)
        assert driver.at == ""


async def test_following_a_link_and_back() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("1", "tab")
        await driver.until(lambda: "Graph breaks" in screen_text(driver.app))
        await driver.press("slash")
        await driver.type("2/0]")
        await driver.press("enter", "escape")
        await driver.press("enter")
        await driver.until(lambda: driver.at == "2/0")
        assert driver.browser.document_view.has_focus
        await driver.press("backspace")
        assert driver.at == ""


async def test_raw_and_back() -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("0/0:compilation_metrics")
        await driver.shown("0/0:compilation_metrics")
        laid_out = len(driver.browser.document_view.document)
        await driver.press("i")
        await driver.until(lambda: len(driver.browser.document_view.document) < laid_out)
        assert "as it was stored" in driver.message
        await driver.press("i")
        await driver.until(lambda: len(driver.browser.document_view.document) == laid_out)


async def test_marks() -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("0/0:inductor_output_code")
        await driver.shown("0/0:inductor_output_code")
        await driver.press("tab", "j", "j", "j", "m")
        await driver.type("look here")
        await driver.press("enter")
        assert "marked" in driver.message
        driver.browser.go("3/0")
        await driver.shown("3/0")
        await driver.press("apostrophe")
        await driver.shown("@marks")
        assert "look here" in screen_text(driver.app)
        await driver.press("slash")
        await driver.type("inductor_output")
        await driver.press("enter", "escape", "enter")
        await driver.shown("0/0:inductor_output_code")
        assert driver.browser.document_view.current_line() == 3


async def test_marks_are_exported_with_where_they_are(tmp_path: Path) -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("0/0:inductor_output_code@L3")
        await driver.shown("0/0:inductor_output_code")
        await driver.press("tab", "m")
        await driver.type("look [here]")
        await driver.press("enter")
        await driver.press("apostrophe")
        await driver.shown("@marks")
        for name in ("marks.txt", "marks.md"):
            await driver.press("x", "ctrl+u")
            await driver.type(str(tmp_path / name))
            await driver.press("enter")
            await driver.until((tmp_path / name).exists)
        await driver.until(lambda: "wrote" in driver.message)
        text = (tmp_path / "marks.txt").read_text()
        assert "line 3" in text and "0/0:inductor_output_code" in text and "look [here]" in text
        assert "0/0:inductor" in (tmp_path / "marks.md").read_text()
        assert not list(BREAKS.glob("*.json")), "never beside the trace"


async def test_marks_that_lead_nowhere(tmp_path: Path) -> None:
    async with opened(BREAKS) as driver:
        file = driver.browser.marking.file
        write_marks(file, [Mark("77/0", 0, "[77/0]", "was here"), Mark("0/0:inductor_output_code", 9_000_000, "code", "old line")])
        await driver.press("apostrophe")
        await driver.shown("@marks")
        shown = screen_text(driver.app)
        assert "no longer in this trace" in shown and "no longer has this line" in shown and "old line" in shown
        driver.browser.go("0/0:inductor_output_code@L9000000")
        await driver.shown("0/0:inductor_output_code")
        view = driver.browser.document_view
        await driver.until(lambda: view.current_line() == len(view.document) - 1)


async def test_the_search_page_can_be_left_and_come_back_to() -> None:
    async with opened(DEMO) as driver:
        await driver.press("s")
        await driver.type("forward")
        await driver.press("enter")
        await driver.shown("@grep::forward")
        await driver.press("backspace")
        await driver.until(lambda: "grep" not in driver.title and "search" not in driver.title)
        await driver.press("I")
        await driver.shown("@grep::forward")
        await driver.until(lambda: driver.browser.document_view.document.complete)
        assert "lines in" in list(driver.browser.document_view.document.text())[-1]


async def test_escape_closes_the_innermost_first() -> None:
    async with opened(BREAKS) as driver:
        browser, view = driver.browser, driver.browser.document_view
        await driver.press("f")
        await driver.type("0")
        await driver.press("enter", "tab", "z")
        await driver.press("slash")
        await driver.type("a")
        await driver.press("enter", "f")
        await driver.type("e")
        await driver.press("enter", "V")
        await driver.until(lambda: view.selected_lines() is not None and view.filter_text == "e" and view.hits)
        await driver.press("escape")
        assert view.selected_lines() is None
        assert view.filter_text == "e"
        await driver.press("escape")
        assert not view.filter_text
        assert view.hits
        await driver.press("escape")
        assert not view.hits
        assert browser.tree_view.outline.filter == "0"
        assert browser.has_class("-zoomed")
        for _ in range(2):
            await driver.press("escape")
        assert not browser.tree_view.outline.filter
        assert not browser.has_class("-zoomed")
        assert view.has_focus
        before = screen_text(driver.app)
        await driver.press("escape")
        assert driver.app.is_running and view.has_focus and screen_text(driver.app) == before


async def test_a_builder_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from tltui.questions.overview import compile_page

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(compile_page, "compile_document", broken)
    async with opened(BREAKS, faults=True) as driver:
        assert "ZeroDivisionError: ours" in screen_text(driver.app)
        assert "internal error in tltui" in screen_text(driver.app)
        await driver.press("right_square_bracket")
        await driver.shown("0/0:dynamo_graph_break_reason")


async def test_an_action_that_fails(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """A key whose command fails says so; the program goes on."""
    from tltui.screens.browser import Browser

    def broken(self: Browser) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Browser, "action_next_error", broken)
    async with opened(BREAKS, faults=True) as driver:
        await driver.press("e")
        assert "ZeroDivisionError" in driver.message
        await driver.press("b")
        assert driver.at == "2/0"
        [log] = home.rglob("crash.log")
        assert "ZeroDivisionError" in log.read_text()
        assert "ours" not in log.read_text()
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


async def test_a_large_payload_is_indexed_by_one_thread_at_a_time(tmp_path: Path) -> None:
    """Names are looked for and files are written while its lines are still being counted."""
    body = [f"buf{number} = torch.empty({number})  # {'x' * 60}" for number in range(60_000)]
    stored = "\n\t".join(body).encode()
    envelope = b'{"inductor_output_code": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "0"}'
    head = b"V1120 10:00:00.000000 1 x.py:1] " + envelope + b"\n\t"
    trace = write(tmp_path / "t", head + stored + b"\n")
    async with opened(trace) as driver:
        for turn in range(4):
            driver.browser.go("0/0:inductor_output_code")
            await driver.shown("0/0:inductor_output_code")
            await driver.press("x", "ctrl+u")
            await driver.type(str(tmp_path / f"{turn}.txt"))
            await driver.press("enter")
            await driver.until(lambda: driver.browser.current_document.complete and driver.message.startswith("wrote 60,000 lines"))
            assert (tmp_path / f"{turn}.txt").read_text() == "".join(f"{line}\n" for line in body)
            assert len(driver.browser.current_document) == len(body)
            assert driver.browser.current_document.line(59_999).text == body[-1]
            driver.browser.go("0/0")
            await driver.shown("0/0")


# out of the program


def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr("tltui.app.TltuiApp.copy_to_clipboard", lambda self, text: sent.append(text))
    return sent


async def test_copying(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    sent = copied(monkeypatch)
    async with opened(BREAKS) as driver:
        await driver.press("y")
        assert sent.pop() == "0/0"
        await driver.press("Y")
        assert sent.pop() == f"{next(BREAKS.glob('*.log'))} 0/0"
        await driver.press("tab", "y")
        assert sent.pop() == next(iter(driver.browser.current_document.text(0, 1)))
        await driver.press("V", "j", "j", "y")
        assert sent[0] == "\n".join(driver.browser.current_document.text(0, 3))
        assert "copied 3 lines" in driver.message
        [file] = home.rglob("yank.txt")
        assert file.read_text() == sent[0]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert str(file.name) in driver.message


async def test_copying_where_no_file_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sent = copied(monkeypatch)
    (tmp_path / "cache").write_text("not a directory")
    async with opened(BREAKS) as driver:
        await driver.press("y")
        assert sent == ["0/0"]
        assert driver.message.startswith("copied 3 characters")


async def test_exporting(tmp_path: Path) -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("0/0:dynamo_output_graph")
        await driver.shown("0/0:dynamo_output_graph")
        target = tmp_path / "graph.txt"
        for answer, told in (("", "wrote"), ("n", "no file was written"), ("y", "wrote")):
            await driver.press("x", "ctrl+u")
            await driver.type("~/graph.txt")
            await driver.press("enter")
            if answer:
                target.write_text("old")
                await driver.press(answer)
            await driver.until(lambda wanted=told: driver.message.startswith(wanted))
            assert target.read_text() == "old" or answer != "n"
        assert target.read_text() == "\n".join(driver.browser.current_document.text(0, len(driver.browser.current_document))) + "\n"


async def test_exporting_fails(tmp_path: Path) -> None:
    async with opened(BREAKS) as driver:
        await driver.press("x")
        await driver.retype("/proc/none/graph.txt")
        await driver.press("enter")
        await driver.until(lambda: driver.message.startswith("could not write /proc/none/graph.txt"))
        await driver.press("x")
        await driver.retype(str(tmp_path))
        await driver.press("enter")
        assert driver.prompt.text == str(tmp_path / "0_0.txt") and "is a directory" in driver.prompt.question
        assert list(tmp_path.iterdir()) == []
        await driver.press("escape", "b")
        assert driver.at == "2/0"


async def test_exporting_a_selection(tmp_path: Path) -> None:
    async with opened(BREAKS) as driver:
        driver.browser.go("0/0:inductor_output_code")
        await driver.shown("0/0:inductor_output_code")
        await driver.press("tab", "j", "V", "j", "x")
        assert "write (2 lines) to" in screen_text(driver.app)
        await driver.press("ctrl+u")
        await driver.type(str(tmp_path / "two.txt"))
        await driver.press("enter")
        await driver.until(lambda: driver.message.startswith("wrote 2 lines"))
        assert (tmp_path / "two.txt").read_text().count("\n") == 2


# layout


async def test_zoom() -> None:
    async with opened(BREAKS) as driver:
        assert "▸ ✓ [4/0]" in screen_text(driver.app)
        await driver.press("tab", "z")
        assert "▸ ✓ [4/0]" not in screen_text(driver.app)
        assert "Graph break" in screen_text(driver.app)
        await driver.press("tab")
        assert "▸ ✓ [4/0]" in screen_text(driver.app)
        assert "Graph break" not in screen_text(driver.app)
        await driver.press("z")
        assert "▸ ✓ [4/0]" in screen_text(driver.app)
        assert "Graph break" in screen_text(driver.app)


@pytest.mark.parametrize("size", [(80, 24), (99, 30)], ids=str)
async def test_one_pane_at_a_time_when_narrow(size: tuple[int, int]) -> None:
    async with opened(BREAKS, size=size) as driver:
        assert "▸ ✓ [4/0]" in screen_text(driver.app)
        assert "The graph ends" not in screen_text(driver.app)
        await driver.press("enter")
        assert "▸ ✓ [4/0]" not in screen_text(driver.app)
        assert "The graph ends" in screen_text(driver.app)
        await driver.press("escape")
        assert "▸ ✓ [4/0]" in screen_text(driver.app)
        await driver.pilot.resize_terminal(120, 40)
        await driver.pilot.pause()
        assert "▸ ✓ [4/0]" in screen_text(driver.app)
        await driver.until(lambda: "The graph ends" in screen_text(driver.app))


@pytest.mark.parametrize(("key", "ref"), [("1", ""), ("2", "@problems"), ("W", "@where"), ("0", "@pages")])
async def test_a_page_has_the_screen_when_narrow(key: str, ref: str) -> None:
    async with opened(BREAKS, size=(80, 24)) as driver:
        await driver.press(key)
        await driver.until(lambda: driver.browser.shown_ref == ref and driver.browser.document_view.display)
        assert "▸ ✓ [4/0]" not in screen_text(driver.app)
        await driver.press("escape")
        assert driver.browser.tree_view.display


async def test_a_page_leaves_the_cursor_in_the_tree_where_both_are_seen() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("2")
        await driver.until(lambda: driver.browser.shown_ref == "@problems")
        assert driver.browser.tree_view.has_focus


@pytest.mark.parametrize("size", [(40, 8), (80, 24), (120, 40), (200, 60)], ids=str)
async def test_nothing_overlaps(size: tuple[int, int]) -> None:
    async with opened(DEMO, size=size) as driver:
        lines = screen_lines(driver.app)
        assert lines[0].startswith(" demo")
        assert len(lines) == size[1]
        assert all(len(line) <= size[0] for line in lines)
        assert "enter open" in lines[-1] and "? help" in lines[-1]
        await driver.press("G")
        assert any("[-/-]" in line for line in screen_lines(driver.app))


async def test_ascii() -> None:
    async with opened(DEMO, ascii_only=True) as driver:
        for keys in ("g", "e", "b", "right_square_bracket", "0", "question_mark", "escape o", "escape x", "escape"):
            await driver.press(*keys.split())
            await driver.pilot.pause()
            text = screen_text(driver.app)
            assert [char for char in sorted(set(text)) if not char.isascii()] == [], text


# settings


async def test_a_wrong_config_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('theme = "pink"\nmouse = 3\n[keys]\n"app.no_such" = "e"\n"app.next_error" = "f8"\n')
    config = read_config(BY_ID, file)
    async with opened(DEMO, config=config) as driver:
        assert "config.toml, line " in driver.message
        await driver.press("question_mark", "G")
        await driver.shown("@help")
        document = driver.browser.document_view.document
        text = " ".join(" ".join(document.text(0, len(document))).split())
        assert "line 1: theme" in text
        assert "app.no_such" in text
        await driver.press("escape", "g", "f8")
        assert driver.browser.current_compile is not None


async def test_what_is_said_of_overrides_is_so() -> None:
    """`keymap_problems` says who has a key then."""
    keys = {"app.next_break": ("e",), "app.next_recompile": ("j",), "tree.cursor_down": ("f9", "b"), "app.leave": ("ctrl+q",),
            "app.zoom": ()}  # fmt: skip
    said = keymap_problems(keys)
    assert said == [
        "app.next_break: this binding takes e from app.next_error (no other key)",
        "app.next_recompile: j remains the key of document.cursor_down in documents, so this binding works only elsewhere",
        "app.leave: ctrl+q always quits, so this binding has no effect",
    ]
    async with opened(BREAKS, config=Config(keys=keys)) as driver:
        driver.browser.tree_view.focus()
        await driver.press("e")
        assert driver.at == "2/0"  # the next break: what stopped at errors has no key
        await driver.press("f9")
        assert driver.at == "3/0"
        await driver.press("z", "q")
        assert not driver.browser.has_class("-zoomed") and driver.app.is_running
        driver.browser.document_view.focus()
        await driver.press("j")
        assert driver.at == "3/0"  # a line down in the document, not the next recompile


async def test_other_keys() -> None:
    config = Config(keys={"app.next_break": ("f5", "comma"), "tree.cursor_down": ("n",), "document.cursor_down": ("n",)})
    async with opened(BREAKS, config=config) as driver:
        await driver.press("f5")
        assert driver.at == "2/0"
        await driver.press("comma")
        assert driver.at == "3/0"
        await driver.press("b")
        assert driver.at == "3/0"
        await driver.press("n")
        assert driver.at == "4/0"
        await driver.press("question_mark")
        assert "f5 ," in "\n".join(driver.browser.document_view.document.text())


async def test_the_palette_finds_commands_by_name() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("ctrl+p")
        assert "next graph break" in screen_text(driver.app)
        await driver.type("previous graph break")
        await driver.until(lambda: any(row.startswith("B ") and "previous graph break" in row for row in driver.prompt.rows))
        await driver.press("enter")
        await driver.until(lambda: driver.message.startswith("no earlier graph break"))


async def test_every_command_has_its_action() -> None:
    async with opened(BREAKS) as driver:
        for command in MAIN:
            owner = driver.browser.owner(command)
            name = command.action.partition("(")[0]
            assert callable(getattr(owner, f"action_{name}", None)), command


async def test_every_command_works_everywhere() -> None:
    """None of them ends the program or says that it failed, whatever is selected."""
    outside = {"app.leave", "app.suspend", "app.pager", "app.editor"}
    async with opened(DEMO) as driver:
        for place in ("e", "right_square_bracket"):
            driver.browser.go("0:0/0")
            await driver.shown("0:0/0")
            await driver.press(place)
            await driver.until(lambda: driver.browser.shown_ref not in ("0:0/0", ""))
            for command in MAIN:
                if command.id not in outside:
                    await driver.app.run_action(command.action, driver.browser.owner(command))
                    await driver.pilot.pause()
                    assert "fault" not in driver.message, (command, driver.message)
                await driver.until(lambda: front(driver.app) is not None)
                driver.prompt.leave()
                while driver.app.screen is not driver.browser:
                    driver.app.pop_screen()
                    await driver.pilot.pause()


# many of them


async def test_a_thousand_ranks(tmp_path: Path) -> None:
    """Only what is in sight is made."""
    trace = tmp_path / "t"
    trace.mkdir()
    for rank in range(1000):
        (trace / f"rank_{rank}.log").write_bytes(log_of([(0, 2, "f")], rank=rank, pid=rank + 1))
    async with opened(trace) as driver:
        tree = driver.browser.tree_view
        assert "1,000 ranks" in driver.run_bar
        assert len(tree.outline) < 1010
        await driver.press("G")
        assert driver.at == "999:"
        await driver.press("l", "j", "l", "j")
        assert len(tree.outline) < 1020
        await driver.press("greater_than_sign")
        assert "no later rank" in driver.message
        await driver.press("equals_sign")
        assert len(tree.outline) <= 5100


async def test_ten_thousand_compiles(tmp_path: Path) -> None:
    trace = write(tmp_path / "t", log_of((frame, 2, "break_" if frame == 4000 else "f") for frame in range(5000)))
    async with opened(trace) as driver:
        assert "10,000 compiles" in driver.run_bar
        assert driver.at == "4000/0"
        tree = driver.browser.tree_view
        assert len(tree.outline) < 5010
        await driver.press("o")
        await driver.type("4999/1")
        await driver.press("enter")
        assert driver.at == "4999/1"
        await driver.press("j", "k", "pageup", "G", "g", "b", "b", "B")
        assert driver.at == "4000/0"


async def filtered_guards(driver: Driver) -> DocumentView:
    """Guards of the demo, and of them those that are equalities."""
    driver.browser.go("0:4/1:dynamo_cpp_guards_str")
    await driver.shown("0:4/1:dynamo_cpp_guards_str")
    view = driver.browser.document_view
    view.focus()
    view.set_filter("EQUALS_MATCH")
    await driver.until(lambda: view.filtered_lines is not None)
    return view


async def test_what_is_selected_in_a_filter_is_what_one_sees_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted, copied and written without the lines between."""
    sent = copied(monkeypatch)
    async with opened(DEMO) as driver:
        view = await filtered_guards(driver)
        await driver.press("g", "V", "G")
        left = list(view.filtered_lines or ())
        assert left and view.selected_lines() == (left[0], left[-1] + 1) and len(left) < left[-1] + 1 - left[0]
        await driver.until(lambda: f"{len(left)} lines selected" in screen_text(driver.app))
        await driver.press("y")
        assert sent.pop().splitlines() == [next(iter(view.document.text(line, line + 1))) for line in left]
        await driver.press("x")
        await driver.until(lambda: f"write ({len(left)} lines) to" in screen_text(driver.app))


async def test_export_writes_what_the_filter_leaves(tmp_path: Path) -> None:
    async with opened(DEMO) as driver:
        await filtered_guards(driver)
        target = tmp_path / "guards.txt"
        await driver.press("x")
        await driver.retype(str(target))
        await driver.press("enter")
        await driver.until(target.exists)
        lines = target.read_text().splitlines()
        assert any("EQUALS_MATCH" in line for line in lines) and not any("TENSOR_MATCH" in line for line in lines)


async def test_the_documentation_of_a_graph_break_is_shown_and_never_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr("webbrowser.open", started.append)
    async with opened(BREAKS, size=(120, 40)) as driver:
        driver.browser.go("@problems")
        await driver.shown("@problems")
        await driver.until(lambda: "gb0059" in screen_text(driver.app))
        view = driver.browser.query_one("#document", DocumentView)
        view.post_message(DocumentView.Followed(view, graph_break_page("gb0059"), driver.browser.current_document))
        await driver.until(lambda: graph_break_page("gb0059") in screen_lines(driver.app)[-1])
        assert driver.browser.current_document.ref == "@problems" and not started
