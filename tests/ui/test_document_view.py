"""The document widget, driven by keys and mouse, judged by what is on the screen."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from screen import screen_lines, screen_text, until
from textual.app import App, ComposeResult
from textual.scroll_view import ScrollView

from tltui.commands import Where, commands_of
from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Builder, Document, Hit, Line, Section, Span, TextDocument
from tltui.text.payload import Payload
from tltui.text.screen_rows import Aligned
from tltui.text.tokens import ANSI, TRUE
from tltui.widgets.document_view import DocumentView
from tltui.widgets.themes import part_style, wear
from tltui.work.scheduler import Gate, Scheduler


class Probe(App[None]):
    """One view, and every message that it posted."""

    CSS_PATH = "../../src/tltui/styles.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, document: Document, **options: Any) -> None:
        super().__init__()
        wear(self, "dark")
        self.animation_level = "none"
        self.scheduler = Scheduler(Gate(threading.RLock()), lambda error: self.told.append(repr(error)))
        self.view = DocumentView(**options)
        self.first = document
        self.told: list[str] = []
        self.followed: list[str] = []
        self.names: list[tuple[str, int]] = []
        self.asked: list[str] = []
        self.moved: DocumentView.Moved | None = None

    def compose(self) -> ComposeResult:
        yield self.view

    def on_unmount(self) -> None:
        self.scheduler.stop()

    def on_mount(self) -> None:
        self.view.focus()
        self.view.show(self.first)

    def on_document_view_notified(self, message: DocumentView.Notified) -> None:
        self.told.append(message.text)

    def on_document_view_followed(self, message: DocumentView.Followed) -> None:
        self.followed.append(message.target)

    def on_document_view_name_followed(self, message: DocumentView.NameFollowed) -> None:
        self.names.append((message.name, message.line))

    def on_document_view_ask_line(self, message: DocumentView.AskLine) -> None:
        self.asked.append(message.prompt)

    def on_document_view_ask_search(self, message: DocumentView.AskSearch) -> None:
        self.asked.append(message.prompt)

    def on_document_view_moved(self, message: DocumentView.Moved) -> None:
        self.moved = message


def page(sections: int = 3, lines: int = 5) -> TextDocument:
    builder = Builder("0/1", "a [red]page[/red]")
    for section in range(sections):
        builder.heading(f"Section {section}")
        for line in range(lines):
            builder.add(f"  line {section}.{line} ", ("[0/0]", "link", "0/0"), " and ", (f"name_{line}", "name"))
    return builder.document()


def plain(*lines: str, language: str = "", ref: str = "x") -> TextDocument:
    return TextDocument(ref, "plain", language, lines=[Line(line) for line in lines])


class Huge:
    """A million lines that exist only when somebody looks; grows, and counts what is asked of it."""

    ref, title, language, badge, version = "huge", "huge", "text", "", 0

    def __init__(self, known: int = 1_000_000, total: int = 1_000_000, long: int = 0) -> None:
        self.known, self.total, self.long = known, total, long
        self.asked: list[tuple[int, int, int | None]] = []
        self.complete = known >= total

    def __len__(self) -> int:
        return self.known

    def length(self, n: int) -> int:
        return self.long if self.long and n == 3 else len(f"line {n}")

    def width(self) -> int:
        return max(self.long, 12)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        self.asked.append((n, lo, hi))
        if n == 7:
            raise ValueError("line 7 is [broken]")
        if self.long and n == 3:
            hi = min(self.long, lo + 4096 if hi is None else hi)
            return Line("".join(f"word_{at:05d} "[at % 11] for at in range(lo, hi)), (), (), lo)
        return Line(f"line {n}"[lo:hi], (Span(0, 4, "keyword"),), (), lo)

    def advance(self, size: int = 0) -> bool:
        self.known = min(self.known + 100_000, self.total)
        self.version += 1
        self.complete = self.known >= self.total
        return self.complete

    def sections(self) -> Sequence[Section]:
        return []

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit]:
        for n in range(min(start, self.known - 1), -1, -1) if back else range(max(start, 0), self.known):
            for match in pattern.finditer(f"line {n}"):
                yield Hit(n, match.start(), match.end())

    def anchor(self, n: int) -> str:
        return str(n + 1)

    def where(self, anchor: str) -> int | None:
        return int(anchor) - 1

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        return iter(())

    def data(self) -> object | None:
        return None


async def test_shows_a_page_and_its_title_as_they_are() -> None:
    app = Probe(page())
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        lines = screen_lines(app)
        assert "a [red]page[/red]" in lines[0]
        assert lines[1] == " ▾ Section 0"
        assert lines[2] == "     line 0.0 [0/0] and name_0"
        assert app.moved is not None and app.moved.position == "1/20"


async def test_numbers_only_for_documents_with_a_language() -> None:
    app = Probe(plain("a", "b", language="python"))
    async with app.run_test(size=(40, 6)) as pilot:
        await pilot.pause()
        assert screen_lines(app)[1:3] == ["   1  a", "   2  b"]
        await pilot.press("number_sign")
        assert screen_lines(app)[1:3] == ["   a", "   b"]


async def test_movement() -> None:
    app = Probe(plain(*(f"line {n}" for n in range(100))))
    async with app.run_test(size=(40, 11)) as pilot:
        await pilot.pause()
        view = app.view
        assert view.size.height == 10
        for key, line in [
            ("j", 1), ("down", 2), ("k", 1), ("pagedown", 10), ("ctrl+d", 15), ("ctrl+u", 10), ("pageup", 1),
            ("G", 99), ("j", 99), ("g", 0), ("end", 99), ("home", 0), ("k", 0),
        ]:  # fmt: skip
            await pilot.press(key)
            assert view.current_line() == line, key
        await pilot.press("G")
        assert "line 99" in screen_lines(app)[10]
        view.goto_line(50)
        await pilot.pause()
        assert any("line 49" in line for line in screen_lines(app))
        view.goto_line(500)
        await pilot.pause()
        assert view.current_line() == 99 and app.told[-1] == "the page has 100 lines"


async def test_scrolls_no_further_than_needed() -> None:
    app = Probe(plain(*(f"line {n}" for n in range(100))))
    async with app.run_test(size=(40, 11)) as pilot:
        await pilot.press(*["j"] * 10)
        assert app.view.scroll_offset.y == 1
        await pilot.press(*["k"] * 9)
        assert app.view.scroll_offset.y == 1
        await pilot.press("k")
        assert app.view.scroll_offset.y == 0


async def test_folds() -> None:
    app = Probe(page())
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.press("space")
        assert app.view.current_line() == 0
        assert screen_lines(app)[1:4] == [" ▸ Section 0 … +5 lines", "", " ▾ Section 1"]
        await pilot.press("j", "j")
        assert app.view.current_line() == 7
        await pilot.press("minus")
        assert [line for line in screen_lines(app)[1:] if line] == [f" ▸ Section {n} … +5 lines" for n in range(3)]
        await pilot.press("equals_sign")
        assert "name_4" in screen_text(app)
        await pilot.press("right_curly_bracket")
        assert app.view.current_line() == 14
        await pilot.press("right_curly_bracket")
        assert app.told[-1] == "no more sections"
        await pilot.press("left_curly_bracket", "left_curly_bracket")
        assert app.view.current_line() == 0


async def test_sections_that_begin_closed_open_for_a_hit() -> None:
    document = page()
    document.section_list = [Section(s.first, s.last, s.level, s.title, True) for s in document.section_list]
    app = Probe(document, ascii_only=True)
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.pause()
        assert " > Section 1 ~ +5 lines" in screen_lines(app)
        app.view.search("line 1.3")
        await until(pilot, lambda: app.view.current_line() == 11)
        await pilot.pause()
        assert " v Section 1" in screen_lines(app)
        assert "*    line 1.3 [0/0] and name_3" in screen_lines(app)


async def test_search_counts_and_goes_from_hit_to_hit() -> None:
    app = Probe(plain("Alpha", "beta", "alphabet", "gamma alpha alpha"))
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.view
        view.search("alpha")
        await until(pilot, lambda: view.hits == "1/4")
        assert screen_lines(app)[1] == "•  Alpha"
        await pilot.press("n", "n")
        await until(pilot, lambda: view.cursor == (3, 6))
        await pilot.press("n", "n")
        await until(pilot, lambda: bool(app.told))
        assert app.told == ["no more matches: this is the last one"] and view.hits == "4/4"
        await pilot.press("N", "N")
        assert view.cursor == (2, 0)
        view.search("Alpha")
        await until(pilot, lambda: view.cursor == (0, 0) and view.hits == "1/1")
        assert app.told[-1] == "no match below: searching from the top"
        view.search("a(")
        await until(pilot, lambda: app.told[-1] == "no match: a(")
        assert app.view.close_innermost()
        await pilot.pause()
        assert view.hits == "" and "•" not in screen_text(app)
        await pilot.press("n")
        assert app.told[-1].startswith("no search text")


async def test_search_backwards_and_in_another_document() -> None:
    app = Probe(plain("x 1", "y", "x 2", "y"))
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.move_to(3, 0)
        app.view.search("x", back=True)
        await until(pilot, lambda: app.view.cursor == (2, 0))
        app.view.show(plain("y", "x", ref="other"))
        await pilot.press("n")
        await until(pilot, lambda: app.view.cursor == (1, 0) and app.view.hits == "1/1")


async def test_word_at_the_caret() -> None:
    app = Probe(plain("add_1 = f(x_)", "add_10 = add_1", language="fx"))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("asterisk")
        await until(pilot, lambda: app.view.cursor == (1, 9) and app.view.hits == "2/2")


async def test_links_and_names() -> None:
    app = Probe(page())
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("j", "enter")
        assert app.followed == ["0/0"]
        await pilot.press("l", "l", "enter")
        assert app.names == [("name_0", 1)]
        await pilot.press("h", "enter")
        assert app.followed == ["0/0", "0/0"]
        await pilot.press("k", "enter")
        assert screen_lines(app)[1] == " ▸ Section 0 … +5 lines"
        builder = Builder("y", "y")
        for n in range(5):
            builder.add(("down", "link", "line:5"), f" {n}")
        app.view.show(builder.document())
        await pilot.press("enter")
        assert app.view.current_line() == 4 and len(app.followed) == 2


async def test_names_in_code() -> None:
    line = Line("x = add_1.size()  # see mul_2 there", (Span(18, 35, "comment"),))
    app = Probe(TextDocument("c", "c", "python", lines=[line]))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        names = [stop.text for stop in app.view.stops_in(0, 0, 99)]
        assert names == ["x", "add_1.size", "mul_2"]


async def test_selection() -> None:
    app = Probe(page())
    async with app.run_test(size=(60, 30)) as pilot:
        assert app.view.selected_lines() is None
        await pilot.press("j", "V", "j", "j")
        assert app.view.selected_lines() == (1, 4)
        await pilot.press("k", "k", "k")
        assert app.view.selected_lines() == (0, 2)
        assert app.moved is not None and app.moved.selected == 2
        assert app.view.close_innermost()
        await pilot.pause()
        assert app.view.selected_lines() is None
        app.view.move_to(0, 0)
        await pilot.press("space", "V")
        assert app.view.selected_lines() == (0, 6)
        assert app.view.close_innermost() and not app.view.close_innermost()


async def test_filter() -> None:
    app = Probe(page())
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.move_to(10, 0)
        app.view.set_filter("1.[24]")
        await until(pilot, lambda: len(app.view.rows) == 3)
        await pilot.pause()
        shown = [line.split("[")[0].strip() for line in screen_lines(app)[1:4]]
        assert shown == ["▾ Section 1", "line 1.2", "line 1.4"]
        assert app.view.current_line() == 10
        app.view.goto_line(1)
        await pilot.pause()
        assert len(app.view.rows) == 20 and app.view.current_line() == 0
        app.view.set_filter("nothing like it")
        await until(pilot, lambda: bool(app.told))
        assert app.told == ["no line with: nothing like it"] and app.view.filter_text == ""


async def test_wrap() -> None:
    app = Probe(plain("short", "0123456789" * 6, "日本" * 12, "end"))
    async with app.run_test(size=(34, 12)) as pilot:
        await pilot.press("w")
        assert app.view.text_width == 30
        assert [line.strip() for line in screen_lines(app)[1:8]] == [
            "short", "0123456789" * 3, "↳" + "0123456789" * 3, "日本" * 7 + "日", "↳本" + "日本" * 4, "end", "",
        ]  # fmt: skip
        await pilot.press("j", "j")
        assert app.view.cursor == (1, 30)
        await pilot.press("j", "j", "j")
        assert app.view.current_line() == 3
        await pilot.press("w")
        assert screen_lines(app)[2].endswith("…")


async def test_wrap_is_refused_for_a_million_lines() -> None:
    app = Probe(Huge())
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("w")
        assert app.told and app.told[0].startswith("not wrapped: 1,000,000 lines")
        assert not app.view.is_wrapped


async def test_a_million_lines_are_read_only_where_one_looks() -> None:
    document = Huge()
    app = Probe(document)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("G", "pageup", "ctrl+u", "g", "pagedown")
        app.view.goto_line(500_000)
        await pilot.pause()
        assert "  500000  line 499999" in screen_lines(app)
        assert len({n for n, _, _ in document.asked}) < 200
        app.view.search("line 77777$")
        await until(pilot, lambda: app.view.current_line() == 77777, 20)


async def test_hits_beyond_the_cap_are_still_found() -> None:
    app = Probe(Huge())
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.search("line")
        await until(pilot, lambda: app.view.hits == "1/10,000+")
        app.view.goto_line(900_000)
        await pilot.press("n")
        await until(pilot, lambda: app.view.current_line() == 900_000)
        assert app.view.hits == "?/10,000+"


async def test_grows_without_a_jump() -> None:
    document = Huge(known=50, total=1_000_000)
    app = Probe(document)
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: app.view.virtual_size.height == 1_000_000)
        assert app.view.current_line() == 0 and app.view.scroll_offset.y == 0
        document.total, document.complete = 1_000_100, False
        document.advance()
        app.view.document_grown()
        assert app.view.virtual_size.height == 1_000_100


async def test_a_long_line_is_never_decoded_whole() -> None:
    document = Huge(known=20, total=20, long=1_000_000)
    app = Probe(document)
    async with app.run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        assert screen_lines(app)[4].endswith("… +999 KB")
        await pilot.press("j", "j", "j", *["l"] * 12)
        assert app.view.cursor[1] > 80 and app.view.scroll_offset.x > 0
        app.view.move_to(3, 999_990)
        await pilot.press("w", "j", "pagedown", "w", "h")
        assert max(hi - lo if hi is not None else 0 for _, lo, hi in document.asked) <= 16_384


async def test_a_line_that_fails_does_not_end_the_app() -> None:
    app = Probe(Huge())
    async with app.run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        assert "tltui cannot show this line: ValueError: line 7 is [broken]" in screen_lines(app)[8]


async def test_wide_characters_keep_their_cells() -> None:
    app = Probe(plain("日本語 ascii", "x" * 200, "表" * 100))
    async with app.run_test(size=(40, 6)) as pilot:
        app.view.move_to(0, 4)
        await pilot.pause()
        lines = screen_lines(app)
        assert lines[1] == "   日本語 ascii"
        assert lines[3] == "   " + "表" * 17 + "…"
        app.view.move_to(1, 100)
        await pilot.pause()
        assert app.view.scroll_offset.x > 0 and "表" in screen_lines(app)[3]


async def test_remembers_the_place_in_each_document() -> None:
    one, other = plain(*(f"a {n}" for n in range(100)), ref="one"), page()
    app = Probe(one)
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.goto_line(70)
        await pilot.press("k", "k", "k")
        top = app.view.scroll_offset.y
        app.view.show(other)
        await pilot.press("space")
        assert app.view.current_line() == 0
        app.view.show(plain(*(f"a {n}" for n in range(100)), ref="one"))
        await pilot.pause()
        assert app.view.current_line() == 66 and app.view.scroll_offset.y == top
        app.view.show(other)
        await pilot.pause()
        assert screen_lines(app)[1] == " ▸ Section 0 … +5 lines"
        app.view.show(one, top="51")
        await pilot.pause()
        assert app.view.scroll_offset.y == 50 and app.view.current_line() == 50
        app.view.show(other, at=9)
        assert app.view.current_line() == 9


async def test_mouse() -> None:
    app = Probe(page())
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.click(DocumentView, offset=(20, 3))
        assert app.view.current_line() == 2
        await pilot.click(DocumentView, offset=(15, 2))
        assert app.followed == ["0/0"] and app.view.current_line() == 1
        await pilot.mouse_down(DocumentView, offset=(30, 3))
        await pilot.hover(DocumentView, offset=(30, 5))
        await pilot.mouse_up(DocumentView, offset=(30, 5))
        assert app.view.selected_lines() == (2, 5)
        app.view.mouse = False
        await pilot.click(DocumentView, offset=(20, 9))
        assert app.view.current_line() == 4


async def test_rows_from_outside() -> None:
    app = Probe(plain("a", "b", "c"))
    async with app.run_test(size=(40, 9)) as pilot:
        app.view.fix_rows(Aligned([0, -1, -1, 1, 2]))
        await pilot.pause()
        assert screen_lines(app)[1:6] == ["   a", "", "", "   b", "   c"]
        await pilot.press("j")
        assert app.view.current_line() == 1
        await pilot.press("k")
        assert app.view.current_line() == 0


async def test_asks() -> None:
    app = Probe(page())
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press("colon", "slash")
        assert app.asked == ["line", "search"]


async def test_a_callback_takes_the_place_of_moved() -> None:
    app = Probe(page())
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.pause()
        seen: list[str] = []
        app.view.on_position = lambda moved: seen.append(moved.position)
        await pilot.press("j")
        assert seen == ["2/20"] and app.moved is not None and app.moved.position == "1/20"


@pytest.mark.parametrize("document", [plain(), plain("one")])
async def test_tiny_documents(document: TextDocument) -> None:
    app = Probe(document)
    async with app.run_test(size=(30, 5)) as pilot:
        for command in commands_of(Where.DOCUMENT):
            await pilot.press(command.keys[0])
        assert app.is_running


async def test_survives_any_size() -> None:
    app = Probe(page())
    async with app.run_test(size=(30, 5)) as pilot:
        await pilot.press("G")
        for size in [(1, 1), (2, 3), (200, 60), (30, 5)]:
            await pilot.resize_terminal(*size)
            await pilot.press("w", "k")
        assert app.is_running


def test_no_name_of_textual_is_taken_by_accident() -> None:
    meant = {
        "ALLOW_SELECT", "notify_style_update", "render_line", "watch_scroll_y",
        "can_focus", "can_focus_children", "action_page_down", "action_page_up", "BINDINGS",
            "action_scroll_left", "action_scroll_right",
    }  # fmt: skip
    own = [cls for cls in DocumentView.__mro__ if cls.__module__.startswith("tltui")]
    made_by_textual = {name for name in vars(type("Plain", (ScrollView,), {})) if name.startswith("_")}
    ours = {name for cls in own for name in vars(cls)} | (set(vars(DocumentView())) - set(vars(ScrollView())))
    taken = (ours & set(dir(ScrollView()))) - made_by_textual
    assert {name for name in taken if not name.startswith("__")} <= meant


@pytest.mark.parametrize("theme", [*TRUE, *ANSI])
async def test_every_style_has_a_look_in_every_theme(theme: str) -> None:
    builder = Builder("t", "t")
    for name in tokens.ALL:
        builder.add((f"as {name}", name))
    app = Probe(builder.document())
    async with app.run_test(size=(60, 60)) as pilot:
        app.theme = theme
        await pilot.pause()
        app.view.search("as")
        await pilot.press("V", "j")
        await pilot.pause()
        assert [line.split("as ")[1] for line in screen_lines(app) if "as " in line] == list(tokens.ALL)
        looks = {name: part_style(theme, f"tok-{name}") for name in tokens.ALL}
        plain_ones = {name for name, look in looks.items() if not look}
        assert plain_ones == {tokens.VALUE, tokens.NAME, tokens.NUMBER, tokens.OPERATOR}
        for one, other in [("ok", "error"), ("ok", "break"), ("error", "unfinished"), ("ok", "recompile")]:
            assert looks[one] != looks[other]


async def test_keys_while_the_index_is_built_and_searched() -> None:
    text = b"".join(b"        buf%07d = empty_strided_cpu((16, 64), torch.float32)\n" % n for n in range(200_000))
    app = Probe(BytesDocument(Payload.of(text), "output_code", ref="big", title="big"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.view.search("buf0199999")
        await pilot.press("j", "pagedown", "l", "G", "pageup", "w", "space", "g", "n", "V", "ctrl+d")
        await until(pilot, lambda: app.view.document.complete and app.view.hits.endswith("/1"), 20)
        await pilot.press("g", "n")
        await until(pilot, lambda: app.view.current_line() == 199_999)
        assert len(app.view.rows) == len(app.view.document)


async def test_shown_before_it_is_mounted_at_a_line_that_is_not_indexed_yet() -> None:
    class Early(App[None]):
        CSS_PATH = Probe.CSS_PATH
        scheduler = Scheduler(Gate(threading.RLock()), print)

        def __init__(self) -> None:
            super().__init__()
            wear(self, "dark")

        def compose(self) -> ComposeResult:
            self.view = DocumentView()
            self.view.show(document, at=150_000)
            yield self.view

    text = b"".join(b"x%d = 1\n" % n for n in range(300_000))
    document = BytesDocument(Payload.of(text), "python", ref="big", title="big")
    app = Early()
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: app.view.document.complete)
        await until(pilot, lambda: app.view.virtual_size.height == 300_001)
        await until(pilot, lambda: app.view.current_line() == 150_000)
        assert "150001  x150000 = 1" in screen_text(app)


async def test_a_new_badge_is_shown() -> None:
    document = page()
    app = Probe(document)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("j")
        document.badge, document.version = "md5 ✓", 1
        app.view.document_grown()
        await pilot.pause()
        assert "a [red]page[/red] · md5 ✓" in screen_lines(app)[0] and app.view.current_line() == 1


async def test_no_underline_hides_the_underscores_of_a_link() -> None:
    builder = Builder("t", "t")
    builder.add("x ", ("clip_gradient", "link", "0/0"), " y")
    app = Probe(builder.document())
    async with app.run_test(size=(60, 5)) as pilot:
        await pilot.press("escape")
        segments = [segment for segment in app.view.render_line(0) if segment.style is not None]
        assert "clip_gradient" in [segment.text.strip() for segment in segments]
        assert not any(segment.style.underline for segment in segments if segment.style is not None)
