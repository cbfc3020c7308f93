"""A run grows while somebody looks at it: nothing that he looks at moves, and only what is new is painted."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from growing import Live, growing
from opened import log_of
from real import TRACES
from replaying import Replay
from screen import screen_lines

from tltui.messages import Scanned
from tltui.model.run import Run
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Builder, Document, Options
from tltui.text.line_correspondence import blanked

SIZES = ((120, 40), (80, 24))
NAME = "dedicated_log_torch_trace_1.log"


class Pieces:
    """A log, and how much of it is written."""

    def __init__(self, directory: Path, frames: list[tuple[int, int, str]], *, first: int, step: int, name: str = NAME) -> None:
        self.path = directory / name
        self._lines = log_of(frames).splitlines(keepends=True)
        self._step = step
        self._at = first
        self.path.write_bytes(b"".join(self._lines[:first]))

    def __iter__(self) -> Iterator[None]:
        while self._at < len(self._lines):
            self.more()
            yield

    def more(self) -> None:
        """One piece more."""
        with self.path.open("ab") as file:
            file.write(b"".join(self._lines[self._at : self._at + self._step]))
        self._at += self._step


def frames(count: int) -> list[tuple[int, int, str]]:
    """Functions; some fail, some break, some are compiled twice."""
    names = {n: "bad" if n % 5 == 0 else "break" if n % 7 == 0 else "fn" for n in range(count)}
    return [(n, 1 + (n % 3 == 0), f"{name}{n}") for n, name in names.items()]


async def cursor_to(live: Live, text: str) -> None:
    """Put the cursor of the document on the first line with a text."""
    at = next(n for n, line in enumerate(live.view.document.text()) if text in line)
    live.view.move_to(at, 0)
    await live.pilot.pause()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", [(), ("w",)])
async def test_the_line_under_the_cursor_stays_in_its_screen_row(
    size: tuple[int, int], keys: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = Pieces(tmp_path, frames(40), first=60, step=29)
    async with growing(tmp_path, monkeypatch, size) as live:
        await live.press("2")
        live.view.focus()
        await live.press(*keys)
        await live.shown("@problems")
        await cursor_to(live, "Graph breaks (1)")
        row = live.row()
        for _ in pieces:
            await live.poll()
            assert (live.line()[:12], live.row()) == ("Graph breaks", row)
            assert "Graph breaks" in live.document_rows()[row]
        assert "3 at 1 place" not in live.line()
        assert len(live.view.document) > 30


@pytest.mark.parametrize("size", SIZES)
async def test_folds_stay_as_they_were(size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(30), first=60, step=40)
    async with growing(tmp_path, monkeypatch, size) as live:
        await live.press("2")
        live.view.focus()
        await live.shown("@problems")
        await cursor_to(live, "[5/0]")
        await live.press("space")
        await cursor_to(live, "Graph breaks")
        await live.press("space")
        for _ in pieces:
            await live.poll()
            shown = [live.view.document.line(live.view.rows.at(n).line).text for n in range(len(live.view.rows))]
            five = next(n for n, line in enumerate(shown) if "[5/0]" in line)
            assert shown[five + 1].strip() == ""  # its reason is folded, that of the others is not
            zero = next(n for n, line in enumerate(shown) if "[0/1]" in line)
            assert shown[zero + 1].strip() == "Error"
            assert not any("while compiling" in line for line in shown)


async def test_selection_and_filter_go_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(30), first=60, step=40)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("2")
        live.view.focus()
        await live.shown("@problems")
        await cursor_to(live, "Graph breaks (")
        await live.press("V", "j", "j")
        before = [blanked(line)[:13] for line in live.view.document.text(*(live.view.selected_lines() or (0, 0)))]
        for _ in pieces:
            await live.poll()
            selected = live.view.selected_lines()
            assert selected is not None
            assert [blanked(line)[:13] for line in live.view.document.text(*selected)] == before
        await live.press("escape")


async def test_what_is_filtered_is_filtered_in_the_page_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(30), first=60, step=40)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("2")
        live.view.focus()
        await live.shown("@problems")
        live.view.set_filter("bad")
        await live.until(lambda: live.view.filtered_lines is not None)
        await cursor_to(live, "bad0")
        row = live.row()
        for _ in pieces:
            await live.poll()
            assert live.view.filter_text == "bad"
            assert "bad0" in live.line()
            assert live.row() == row
            shown = [live.view.document.line(live.view.rows.at(n).line).text for n in range(len(live.view.rows))]
            assert all("bad" in line or "(" in line for line in shown)  # and the headings
        assert sum("bad" in line for line in shown) >= 6


async def test_hits_are_found_again_and_the_current_one_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(40), first=120, step=40)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("2")
        live.view.focus()
        await live.shown("@problems")
        live.view.search("break")
        await live.until(lambda: re.fullmatch(r"1/\d+", live.view.hits))
        await live.press("n", "n")
        line, column, row = blanked(live.line()), live.view.cursor[1], live.row()
        for _ in pieces:
            await live.poll()
            text = "\n".join(live.view.document.text())
            above = "\n".join(live.view.document.text(0, live.view.current_line())).count("break")
            said = f"{above + 1}/{text.count('break')}"
            await live.until(lambda said=said: live.view.hits == said)
            assert (blanked(live.line()), live.view.cursor[1], live.row()) == (line, column, row)
        await live.press("N")
        assert live.view.hits.startswith(f"{above}/")


@pytest.mark.parametrize("size", SIZES)
async def test_who_is_at_the_end_of_the_records_sees_the_next_ones(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = Pieces(tmp_path, frames(30), first=60, step=40)
    async with growing(tmp_path, monkeypatch, size) as live:
        live.browser.show_ref("@records")
        await live.shown("@records")
        live.view.focus()
        await live.press("G")
        for _ in pieces:
            await live.poll()
            assert live.view.current_line() == len(live.view.document) - 1
            assert live.line()[:50].strip() in live.document_rows()[-1]
        await live.press("k")
        line, row = live.line(), live.row()
        pieces.path.open("ab").write(log_of([(99, 2, "late")]))
        await live.poll()
        assert (live.line(), live.row()) == (line, row)
        assert len(live.view.document) > live.view.current_line() + 2


async def test_a_selection_at_the_end_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(30), first=60, step=40)
    async with growing(tmp_path, monkeypatch) as live:
        live.browser.show_ref("@records")
        await live.shown("@records")
        live.view.focus()
        await live.press("G", "V", "k", "j")
        selected = live.view.selected_lines()
        for _ in pieces:
            await live.poll()
            assert live.view.selected_lines() == selected


async def test_nothing_is_painted_when_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(60), first=100, step=8)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("2")
        live.view.focus()
        await live.shown("@problems")
        await live.pilot.pause(0.1)
        live.repainted.clear()
        await live.poll()
        live.browser.renew()
        live.tree.run_changed(True)
        await live.until(lambda: live.browser.is_at_rest)
        assert live.repainted == []
        shown, painted = live.document_rows(), 0
        for _ in pieces:
            live.repainted.clear()
            await live.poll()
            rows = {row for pane, row in live.repainted if pane == "document"}
            before, shown = shown, live.document_rows()
            assert -1 not in rows
            assert {n for n, pair in enumerate(zip(before, shown, strict=True)) if pair[0] != pair[1]} <= rows
            painted += len(rows)
        assert painted


async def test_the_tree_paints_only_the_rows_that_say_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, [(n, 1, f"fn{n}") for n in range(33)], first=42, step=3)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("5")
        await live.pilot.pause(0.1)
        counted = []
        before = live.tree_rows()
        for _ in pieces:
            live.repainted.clear()
            await live.poll()
            rows = {row for pane, row in live.repainted if pane == "tree"}
            after = live.tree_rows()
            assert rows >= {n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]}
            before = after
            counted.append(rows)
        assert max(map(len, counted)) <= 4  # the run's counts, two compiles, and the records without an id below them
        assert -1 not in set().union(*counted)


def log_of_ranks(directory: Path, count: int) -> list[Pieces]:
    return [
        Pieces(directory, frames(20), first=20 + 9 * rank, step=11, name=f"dedicated_log_torch_trace_rank_{rank}_x.log")
        for rank in range(count)
    ]


@pytest.mark.parametrize("size", SIZES)
async def test_the_cursor_of_the_tree_stays_on_its_node_and_in_its_row(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = log_of_ranks(tmp_path, 3)
    async with growing(tmp_path, monkeypatch, size) as live:
        live.tree.outline.expand_all()
        live.tree._changed()
        await live.pilot.pause()
        at = next(n for n, row in enumerate(live.tree.outline.rows) if row.node.ref == "2:2/0")
        live.tree.move_to(at)
        await live.rest()
        key, row = live.place()
        opened = set(live.tree.outline.open)
        for _ in range(12):
            for rank in ranks:
                rank.more()
            await live.poll()
            assert live.place() == (key, row)
            assert "fn2" in live.tree_rows()[row]
            assert live.tree.outline.open >= opened
            assert "2/0] fn2" in live.title


async def test_a_second_compile_makes_a_frame_of_the_first_and_the_cursor_stays_on_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / NAME
    log.write_bytes(log_of([(n, 1, f"fn{n}") for n in range(50)]))
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("G", "k", "k")
        await live.rest()
        key, row = live.place()
        assert live.at == "48/0"
        with log.open("ab") as file:
            file.write(log_of([(48, 2, "fn48")]).split(b"\n", 1)[1])
        await live.poll()
        assert (live.place(), live.at) == ((key, row), "48/0~1" if live.at.endswith("~1") else "48/0")


async def test_the_end_of_the_tree_comes_into_sight_and_the_cursor_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, [(n, 1, f"fn{n}") for n in range(120)], first=181, step=6)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("G", "k")
        await live.rest()
        key, _ = live.place()
        rows = len(live.tree.outline)
        for number, _ in enumerate(pieces):
            await live.poll()
            assert live.tree.node.key == key
            row = live.place()[1]
            assert 0 <= row < live.tree.size.height
            if number < 5:  # as long as the cursor has room above
                assert live.tree.scroll_offset.y == len(live.tree.outline) - live.tree.size.height
        assert live.place()[1] == 0
        assert len(live.tree.outline) > rows + live.tree.size.height


async def test_elsewhere_in_the_tree_nothing_scrolls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, [(n, 1, f"fn{n}") for n in range(120)], first=300, step=9)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("G", "k", "k")
        await live.rest()
        before, top = live.tree_rows(), live.tree.scroll_offset.y
        for _ in pieces:
            await live.poll()
            assert live.tree.scroll_offset.y == top
            assert live.tree_rows()[:-4] == before[:-4]  # what was running at the end goes on


async def test_the_filtered_tree_takes_in_what_matches_and_keeps_what_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = Pieces(tmp_path, frames(40), first=27, step=1)
    async with growing(tmp_path, monkeypatch) as live:
        while not any(str(c.status) == "running" and c.id.frame for c in live.browser.trace.compiles()):
            pieces.more()
            await live.poll()
        running = next(c for c in live.browser.trace.compiles() if str(c.status) == "running")
        live.tree.set_filter("running")
        live.tree.reveal([live.tree.outline.rows[-1].node.key], by_user=True)
        await live.pilot.pause()
        place = live.place()
        assert live.tree.node.target is running
        for _ in range(30):
            pieces.more()
            await live.poll()
            assert live.place()[0] == place[0]  # it runs no more, but somebody looks at it
        assert str(running.status) != "running"
        live.tree.set_filter("bad")
        await live.press("g")
        matches = sum("bad" in row for row in live.tree_rows())
        for _ in pieces:
            await live.poll()
        assert live.tree.cursor == 0
        assert sum("bad" in row for row in live.tree_rows()) > matches


async def test_by_stacks_the_cursor_stays_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(40), first=40, step=13)
    async with growing(tmp_path, monkeypatch) as live:
        await live.press("t")
        await live.until(lambda: live.tree.outline.order is not None)
        await live.press("j", "j", "j")
        await live.rest()
        place = live.place()
        for _ in pieces:
            await live.poll()
            assert live.place() == place


async def test_a_page_stays_about_its_compile_when_a_second_rank_turns_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tmp_path / "dedicated_log_torch_trace_rank_0_a.log"
    first.write_bytes(log_of(frames(8), rank=0))
    async with growing(tmp_path, monkeypatch) as live:
        live.browser.show_ref("@guards:3/0")
        await live.shown("@guards:3/0")
        live.browser.go("3/0")
        await live.shown("3/0")
        title = live.title
        (tmp_path / "dedicated_log_torch_trace_rank_1_b.log").write_bytes(log_of(frames(8), rank=1))
        await live.poll()
        assert live.browser.shown_ref == "0:3/0"
        assert live.title == title.replace("[", "[0:"), "it says whose it is as soon as there are several"
        assert not any("not clear" in line for line in live.document_rows())
        assert live.tree.node.ref == "0:3/0"
        await live.press("backspace")
        await live.shown("@guards:0:3/0")


async def test_a_page_stays_about_its_compile_when_ids_begin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / NAME
    log.write_bytes(log_of([(0, 1, "first"), (1, 1, "other")]))
    async with growing(tmp_path, monkeypatch) as live:
        live.browser.go("0/0")
        await live.shown("0/0")
        with log.open("ab") as file:
            file.write(log_of([(0, 1, "second")]))
        await live.poll()
        assert live.browser.shown_ref == "0/0~1"
        assert any("first" in line for line in live.document_rows())


@pytest.mark.parametrize("key", ["o", "D", "p", "question_mark"])
async def test_other_screens_stay_open_while_the_run_grows(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = max((TRACES / "torch-2.13" / "recompiles").glob("*.log"), key=lambda path: path.stat().st_size, default=None)
    assert source is not None
    data = source.read_bytes()
    log = tmp_path / source.name
    log.write_bytes(data[: len(data) * 2 // 3])
    async with growing(tmp_path, monkeypatch, (160, 40)) as live:
        recompiled = next((c for c in live.browser.trace.compiles() if c.id.compile), None)
        assert recompiled is not None
        ref = f"{recompiled.ref}:dynamo_output_graph" if key == "D" else str(recompiled.ref)
        live.browser.go(ref)
        await live.shown(ref)
        await live.press(key)
        await live.until(lambda: live.app.screen is not live.browser or live.prompt.is_open or live.browser.shown_ref == "@help")
        await live.pilot.pause(0.3)
        front, before, asked = live.app.screen, screen_lines(live.app), live.prompt.question
        with log.open("ab") as file:
            for at in range(len(data) * 2 // 3, len(data), 15000):
                file.write(data[at : at + 15000])
                file.flush()
                await live.poll()
        assert live.app.screen is front and live.prompt.question == asked
        if front is not live.browser:
            assert screen_lines(live.app) == before
        elif not asked:
            assert live.browser.shown_ref == "@help"
        await live.press("escape")
        await live.until(lambda: live.app.screen is live.browser and not live.prompt.is_open and live.browser.shown_ref != "@help")
        await live.end()


async def test_what_was_searched_for_everywhere_stays_as_it_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(40), first=60, step=29)
    async with growing(tmp_path, monkeypatch) as live:
        live.browser.show_ref("@grep:GraphModule")
        await live.shown("@grep:GraphModule")
        await live.until(lambda: live.view.document.complete)
        document = live.view.document
        for _ in pieces:
            await live.poll()
        assert live.view.document is document


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_real_trace_played_piece_by_piece(
    size: tuple[int, int], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end each page is that of a fresh start, and on the way the cursor stays where it is."""
    sources = sorted((TRACES / "torch-2.13" / "breaks").rglob("*.log"))
    replay = Replay(sources, tmp_path / "run", seed)
    steps = replay.play()
    for _ in steps:
        if any(b"\nV" in path.read_bytes() for path in (tmp_path / "run").iterdir()):
            break
    async with growing(tmp_path / "run", monkeypatch, size) as live:
        await live.press("2")
        live.view.focus()
        await live.shown("@problems")
        await live.press("j", "j", "j")  # title, counts, a blank line
        row = live.row()
        for _ in steps:
            await live.poll()
            assert live.row() == row
            assert live.document_rows()[row].strip("▸▾• ") in live.line().strip("▸▾• ") + " "
        await live.end()
        text = list(live.view.document.text())
        live.browser.show_ref("@records")
        await live.shown("@records")
        live.browser.show_ref("@problems")
        await live.shown("@problems")
        assert list(live.view.document.text()) == text


async def test_a_hidden_page_stands_still_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = Pieces(tmp_path, frames(40), first=90, step=40)
    async with growing(tmp_path, monkeypatch, (80, 24)) as live:
        await live.press("2")
        live.view.focus()
        await live.shown("@problems")
        await cursor_to(live, "Graph breaks")
        row = live.row()
        await live.press("tab")
        for _ in pieces:
            await live.poll()
        await live.press("tab")
        assert "Graph breaks" in live.line()
        assert live.row() == row
        assert "Graph breaks" in live.document_rows()[row]


async def test_a_page_in_the_making_is_not_shown_before_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the run may grow meanwhile: the page is finished, then made again, once."""
    may = threading.Event()
    made: list[int] = []

    def make(run: Run, options: Options) -> Document:
        number = len(made)
        made.append(number)

        def fill(builder: Builder) -> Generator[None, None, None]:
            builder.add(f"the {number}th time")
            while number and not may.is_set():
                time.sleep(0.001)
                yield
            for line in range(200):
                builder.add(f"line {line}")

        return GrowingDocument("@own", "own", options, fill)

    log = tmp_path / NAME
    log.write_bytes(log_of([(0, 1, "f")]))
    async with growing(tmp_path, monkeypatch) as live:
        live.browser.own_pages["@own"] = make
        live.browser.show_ref("@own")
        await live.shown("@own")
        live.view.focus()
        await cursor_to(live, "line 150")
        await live.until(lambda: live.browser.is_at_rest)
        shown = live.document_rows()
        for number in range(1, 6):
            with log.open("ab") as file:
                file.write(log_of([(number, 1, "f")]))
            for event in live.follower.read():
                live.browser.post_message(Scanned((event,)))
            await live.pilot.pause(0.2)
            assert live.document_rows() == shown
            assert live.line() == "line 150"
        assert made == [0, 1]
        may.set()
        await live.until(lambda: live.browser.is_at_rest)
        assert made == [0, 1, 2]
        assert live.document_rows() == shown
        assert live.view.document.line(0).text == "the 2th time"
