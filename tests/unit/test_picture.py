"""What is sent makes the terminal show the picture, as if it had been drawn anew."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyte
import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tltui.terminal.frames import Picture
from tltui.text.torch_names import graph_break_page

WIDTH, HEIGHT = 40, 8
STYLES = [
    Style.parse(text)
    for text in ("none", "bold", "color(81)", "on color(233)", "bold color(5) on color(233)", "reverse", "dim italic on color(18)",
                 "underline color(81)", "bold reverse color(9) on color(233)", "strike", "#ff8787 on #121212")
]  # fmt: skip
WORDS = ("word", "   ", " two words ", "─" * 9, "✗", " " * 17, "x", "日本", "a日 b", "e\u0301", "❤\ufe0f")


class Shown:
    """A terminal."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.Stream(self.screen)
        self.screen.reset_mode(7, private=True)
        for y in range(HEIGHT):  # pyte erases only cells that were written once
            self.feed(f"\x1b[{y + 1}H" + " " * WIDTH)

    def feed(self, sent: str) -> None:
        self._stream.feed(sent)

    def cells(self) -> list[list[tuple[object, ...]]]:
        """What can be told apart by looking: of a blank its ground, or with what it is marked."""
        return [[seen(self.screen.buffer[y][x]) for x in range(WIDTH)] for y in range(HEIGHT)]


def seen(cell: pyte.screens.Char) -> tuple[object, ...]:
    marked = (cell.reverse, cell.underscore, cell.strikethrough)
    if cell.data == " " and not any(marked):
        return (" ", cell.bg)
    return tuple(cell)


def strip(chance: random.Random, room: int, words: Sequence[str] = WORDS) -> Strip:
    found = Strip([Segment(chance.choice(words), chance.choice(STYLES)) for _ in range(chance.randrange(1, 6))])
    return found.crop(0, room)


@pytest.mark.parametrize("erases", [True, False])
def test_what_differs_makes_the_same_screen(erases: bool) -> None:
    """Random changes: the terminal that got only them shows what one shows that got the whole picture."""
    chance = random.Random(3)
    picture, other = (Picture(ColorSystem.EIGHT_BIT, erases_in_color=erases) for _ in range(2))
    picture.resize(WIDTH, HEIGHT)
    terminal = Shown()
    for turn in range(150):
        for _ in range(chance.randrange(1, 6)):
            y, x = chance.randrange(HEIGHT), chance.randrange(WIDTH)
            picture.put(y, x, strip(chance, WIDTH - x))
        terminal.feed(picture.changes())
        assert picture.changes() == ""
        other.resize(WIDTH, HEIGHT)
        other._texts, other._looks = [row[:] for row in picture._texts], [row[:] for row in picture._looks]
        anew = Shown()
        anew.feed(other.changes())
        assert terminal.cells() == anew.cells(), turn


def test_a_whole_picture_says_what_was_put() -> None:
    """Against what Textual would send, for all of which it is agreed how wide it is."""
    chance = random.Random(5)
    for _ in range(40):
        picture, terminal, plain = Picture(ColorSystem.EIGHT_BIT), Shown(), Shown()
        picture.resize(WIDTH, HEIGHT)
        rows = [strip(chance, WIDTH, WORDS[:-2]).adjust_cell_length(WIDTH, chance.choice(STYLES)) for _ in range(HEIGHT)]
        for y, row in enumerate(rows):
            picture.put(y, 0, row)
            sent = "".join(Strip.render_style(style or Style.null(), text, ColorSystem.EIGHT_BIT) for text, style, _ in row)
            plain.feed(f"\x1b[{y + 1};1H{sent}")
        terminal.feed(picture.changes())
        assert terminal.cells() == plain.cells()


def test_nothing_is_sent_for_what_is_shown() -> None:
    picture = Picture(ColorSystem.EIGHT_BIT)
    picture.resize(WIDTH, HEIGHT)
    row = Strip([Segment("one ", STYLES[2]), Segment("two", STYLES[4])])
    picture.put(2, 3, row)
    assert picture.changes()
    picture.put(2, 3, row)
    assert picture.changes() == ""
    picture.put(2, 3, Strip([Segment("one ", STYLES[2]), Segment("twO", STYLES[4])]))
    assert picture.changes() == "\x1b[3;10H\x1b[35;48;5;233;1mO\x1b[m"
    picture.forget()
    assert "one" in picture.changes()


def test_a_terminal_that_erases_in_its_own_color() -> None:
    """`screen` does: blanks on a ground of ours are written."""
    sent = []
    for erases in (True, False):
        picture = Picture(ColorSystem.EIGHT_BIT, erases_in_color=erases)
        picture.resize(WIDTH, HEIGHT)
        picture.put(0, 0, Strip([Segment(" " * WIDTH, STYLES[3])]))
        sent.append(picture.changes())
    assert " " * 20 not in sent[0]
    assert " " * WIDTH in sent[1]


def test_nothing_but_text_is_written() -> None:
    picture = Picture(ColorSystem.EIGHT_BIT)
    picture.resize(WIDTH, HEIGHT)
    picture.put(0, 0, Strip([Segment("a\x1b[2Jb\nc\x9bd", Style.parse("link http://x"))]))
    sent = picture.changes()
    assert "\x1b[2J" not in sent and "\n" not in sent and "\x9b" not in sent and "http" not in sent
    assert "a [2Jb c d" in sent


def test_a_hyperlink_is_sent_with_its_cells_only() -> None:
    address = graph_break_page("gb0059")
    picture = Picture(ColorSystem.EIGHT_BIT)
    picture.resize(WIDTH, HEIGHT)
    link = Style.parse("color(81)") + Style(link=address)
    for y in (2, 3):
        picture.put(y, 0, Strip([Segment("gb0059", link), Segment(" a"), Segment(" text", STYLES[1])]))
    opened, closed = f"\x1b]8;;{address}\x1b\\", "\x1b]8;;\x1b\\"
    sent = picture.changes()
    assert sent.count(opened) == sent.count(f"gb0059{closed}") == 2 and sent.count("\x1b]") == 4
    picture.put(2, 6, Strip([Segment(" b")]))
    picture.put(4, 0, Strip([Segment("gb0059")]))
    assert "\x1b]" not in picture.changes()
    picture.put(3, 0, Strip([Segment("gb0059", STYLES[2])]))
    assert "\x1b]" not in picture.changes()
    picture.put(3, 0, Strip([Segment("gb0059", link)]))
    assert picture.changes() == f"\x1b[4H{opened}\x1b[38;5;81mgb0059{closed}\x1b[m"
