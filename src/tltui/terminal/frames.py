"""Textual app with small, paced frames: a cell-by-cell picture, its differences, and flow control."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from rich.cells import cell_len, get_character_cell_size
from rich.color import ColorSystem
from rich.console import RenderableType
from rich.style import Style
from textual import events
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.screen import Screen
from textual.strip import Strip

from tltui.terminal.driver import TerminalDriver
from tltui.text.torch_names import is_graph_break_page

PATIENCE = 2.0
"""Seconds that a frame waits for the answer to the one before."""
LOST = 10.0
"""Seconds after which an answer is considered lost."""


class Flow:
    """Flow control by the terminal's answers. A terminal that has never answered is never waited for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers = False
        self._query_s: float | None = None
        self._drawn = 0.0
        self._lost = 0

    def begin(self) -> None:
        """Reset on start or resume; an outstanding answer was for another program."""
        self._query_s = None

    def answered(self) -> None:
        """Record an answer of the terminal."""
        self._answers, self._query_s, self._lost = True, None, 0

    def wait(self) -> float:
        """Return the seconds until a frame may be drawn, unless an answer comes before; 0 for now."""
        if self._query_s is None or not self._answers:
            return 0.0
        now = self._clock()
        if now - self._query_s >= LOST:
            self._query_s, self._lost = None, self._lost + 1
            self._answers = self._lost < 2
            return 0.0
        # what is late is not waited for, but nothing is gained by writing faster
        return max(max(self._query_s, self._drawn) + PATIENCE - now, 0.0)

    def drawn(self) -> bool:
        """Record a written frame; return whether to send a query after it. At most one answer is outstanding."""
        self._drawn = self._clock()
        if not self._answers or self._query_s is not None:
            return False
        self._query_s = self._drawn
        return True


BOLD, DIM, ITALIC, UNDERLINE, BLINK, BLINK2, REVERSE, CONCEAL, STRIKE, UNDERLINE2 = (1 << bit for bit in range(10))
"""rich's bits of attributes."""
OVERLINE = 1 << 12
ON = {
    BOLD: "1", DIM: "2", ITALIC: "3", UNDERLINE: "4", BLINK: "5", BLINK2: "6", REVERSE: "7", CONCEAL: "8", STRIKE: "9",
    UNDERLINE2: "21", OVERLINE: "53",
}  # fmt: skip
OFF = {
    BOLD | DIM: "22", ITALIC: "23", UNDERLINE | UNDERLINE2: "24", BLINK | BLINK2: "25", REVERSE: "27", CONCEAL: "28", STRIKE: "29",
    OVERLINE: "55",
}  # fmt: skip
SEEN_ON_BLANKS = UNDERLINE | REVERSE | STRIKE | UNDERLINE2 | OVERLINE
GAP = 5
"""Maximum number of unchanged cells that are rewritten because a cursor movement is longer."""
ERASED = 8
"""Minimum run of blanks that is erased instead of written."""
MOVED = 14
"""The same where the cursor must move past them."""


class Look(NamedTuple):
    """The style of a cell: attributes, the SGR parameters of foreground and background ('' for the default), a hyperlink."""

    attributes: int = 0
    color: str = ""
    ground: str = ""
    link: str = ""
    """The address of torch's page about a kind of graph break; '' for none."""


PLAIN = Look()
Row = tuple[list[str], list[Look]]
"""The texts of a row's cells, and their styles."""


class Picture:
    """Rows of cells. A cell is a text and its style; a text wider than one cell is followed by empty cells."""

    def __init__(self, colors: ColorSystem | None = ColorSystem.TRUECOLOR, *, erases_in_color: bool = True) -> None:
        """Create an empty picture; `erases_in_color`: the terminal erases with the current background (terminfo's `bce`)."""
        self._colors = colors or ColorSystem.TRUECOLOR
        self._erases_in_color = erases_in_color
        self.width = self.height = 0
        self._texts: list[list[str]] = []
        self._looks: list[list[Look]] = []
        self._shown: list[Row | None] = []
        """Rows as the terminal has them; None where that is not known."""
        self._touched: set[int] = set()
        self._style_cache: dict[Style | None, Look] = {None: PLAIN}
        self._cell_style = PLAIN
        """What the next text would look like."""

    # what it is to show

    def resize(self, width: int, height: int) -> None:
        """Change the size and forget the screen contents."""
        self.width, self.height = width, height
        self._texts = [[" "] * width for _ in range(height)]
        self._looks = [[PLAIN] * width for _ in range(height)]
        self.forget()

    def forget(self) -> None:
        """Mark the screen contents as unknown."""
        self._shown = [None] * self.height
        self._touched = set(range(self.height))

    def put(self, y: int, x: int, strip: Strip) -> None:
        """Put a strip at a cell, clipped to the picture."""
        if not (0 <= y < self.height and 0 <= x < self.width):
            return
        texts: list[str] = []
        looks: list[Look] = []
        for text, style, control in strip:
            if control or not text:
                continue
            cell_style = self._style_cache.get(style)
            if cell_style is None:
                cell_style = self._style_cache[style] = self._to_cell_style(style)
            cells = _cells(text)
            texts += cells
            looks += _looks(text, cells, cell_style)
        row, room = self._texts[y], self.width - x
        if len(texts) > room:
            _cut(texts, room)
            del texts[room:], looks[room:]
        if not texts:
            return
        _cut(row, x)
        _cut(row, x + len(texts))
        row[x : x + len(texts)] = texts
        self._looks[y][x : x + len(texts)] = looks
        self._touched.add(y)

    def _to_cell_style(self, style: Style | None) -> Look:
        if style is None:
            return PLAIN
        color, ground = style.color, style.bgcolor
        codes = "" if color is None else ";".join(color.downgrade(self._colors).get_ansi_codes())
        grounds = "" if ground is None else ";".join(ground.downgrade(self._colors).get_ansi_codes(False))
        attributes = sum(bit for bit in ON if style._attributes & style._set_attributes & bit)
        link = style.link if style.link and is_graph_break_page(style.link) else ""
        return Look(attributes, "" if codes == "39" else codes, "" if grounds == "49" else grounds, link)

    # what is sent

    def changes(self) -> str:
        """Return the output that updates the terminal to the picture; '' if it is current."""
        if not self._touched:
            return ""
        out: list[str] = []
        if None in self._shown:
            self._clear(out)
        for y in sorted(self._touched):
            self._row(out, y)
            self._shown[y] = (self._texts[y][:], self._looks[y][:])
        self._touched.clear()
        if out:
            self._set(out, PLAIN)
        return "".join(out)

    def _clear(self, out: list[str]) -> None:
        """Erase the screen, in the most frequent background of the picture."""
        styles = (cell_style for row in self._looks for cell_style in row)
        grounds = Counter(cell_style.ground for cell_style in styles if self._erases_in_color or not cell_style.ground)
        self._cell_style = Look(0, "", grounds.most_common(1)[0][0] if grounds else "")
        out.append(f"\x1b[0;{self._cell_style.ground}m\x1b[H\x1b[J" if self._cell_style.ground else "\x1b[m\x1b[H\x1b[J")
        self._shown = [([" "] * self.width, [self._cell_style] * self.width) for _ in range(self.height)]
        self._touched = set(range(self.height))

    def _row(self, out: list[str], y: int) -> None:
        texts, looks, shown = self._texts[y], self._looks[y], self._shown[y]
        assert shown is not None
        if texts == shown[0] and looks == shown[1]:
            return
        # who knows how wide a terminal makes what is not one cell: such a row is written from its beginning
        spans = [(0, self.width)] if _is_odd(texts) or _is_odd(shown[0]) else _spans((texts, looks), shown)
        for start, end in spans:
            out.append(f"\x1b[{y + 1};{start + 1}H" if start else f"\x1b[{y + 1}H")
            self._span(out, y, start, end)

    def _span(self, out: list[str], y: int, start: int, end: int) -> None:
        """Write the cells `start` to `end` of a row; the cursor is on the first."""
        texts, looks, place = self._texts[y], self._looks[y], start
        is_odd = _is_odd(texts)
        blanks = [text == " " for text in texts[start:end]]
        for (is_blank, cell_style), run in groupby(zip(blanks, looks[start:end], strict=True)):
            count = sum(1 for _ in run)
            stop = place + count
            if is_blank and not cell_style.attributes:
                # a blank has no colour: whatever is set may stay
                self._set(out, Look(self._cell_style.attributes & ~SEEN_ON_BLANKS, self._cell_style.color, cell_style.ground))
                is_last = stop == end
                if count >= (ERASED if is_last else MOVED) and (self._erases_in_color or not cell_style.ground):
                    out.append("\x1b[K" if stop == self.width else f"\x1b[{count}X")
                    out.append("" if is_last else f"\x1b[{count}C")
                else:
                    out.append(" " * count)
            else:
                self._set(out, cell_style)
                out += self._odd(y, place, stop) if is_odd else texts[place:stop]
            place = stop

    def _odd(self, y: int, start: int, end: int) -> Iterator[str]:
        """Yield the output for cells of which some are wider than one.

        Their cells are erased first, in case the terminal makes them narrower; then the cursor is positioned, in case it makes them
        wider.
        """
        texts = self._texts[y]
        for x in range(start, end):
            behind = x + 1
            while behind < self.width and not texts[behind]:
                behind += 1
            if len(texts[x]) == 1 and behind == x + 1:
                yield texts[x]
            elif texts[x]:
                yield from (" " * (behind - x), f"\x1b[{y + 1};{x + 1}H", texts[x], f"\x1b[{y + 1};{behind + 1}H")

    def _set(self, out: list[str], cell_style: Look) -> None:
        if cell_style != self._cell_style:
            before = self._cell_style
            if cell_style.link != before.link:
                out.append(f"\x1b]8;;{cell_style.link}\x1b\\")
                before = before._replace(link=cell_style.link)
            if cell_style != before:
                out.append(_change(before, cell_style))
            self._cell_style = cell_style


@lru_cache(4096)
def _cells(text: str) -> Sequence[str]:
    """Split a text into cells; a text with any character that is not one cell wide is one group."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    if text.isascii() or all(get_character_cell_size(character) == 1 for character in text):
        return list(text)
    return [text, *[""] * (cell_len(text) - 1)] if cell_len(text) else []


def _looks(text: str, cells: Sequence[str], cell_style: Look) -> list[Look]:
    """Return the style of each cell; blanks have no foreground."""
    if " " not in text or cell_style.attributes & SEEN_ON_BLANKS or not (cell_style.attributes or cell_style.color):
        return [cell_style] * len(cells)
    blank = Look(0, "", cell_style.ground)
    return [blank if cell == " " else cell_style for cell in cells]


def _cut(row: list[str], x: int) -> None:
    """Replace a wide text that crosses the edge before `x` by blanks."""
    if x >= len(row) or row[x]:
        return
    start, end = x, x
    while start and not row[start]:
        start -= 1
    while end < len(row) and not row[end]:
        end += 1
    row[start:end] = [" "] * (end - start)


def _is_odd(texts: Sequence[str]) -> bool:
    """Return whether any text of a row is not one character in one cell."""
    return "" in texts or max(map(len, texts), default=1) > 1


def _spans(row: Row, before: Row) -> list[tuple[int, int]]:
    """Return the ranges of cells in which a row differs from its previous state."""
    spans: list[tuple[int, int]] = []
    for x, (text, old, cell_style, past) in enumerate(zip(row[0], before[0], row[1], before[1], strict=True)):
        if text != old or cell_style != past:
            if spans and x - spans[-1][1] <= GAP:
                spans[-1] = (spans[-1][0], x + 1)
            else:
                spans.append((x, x + 1))
    return spans


@lru_cache(4096)
def _change(before: Look, after: Look) -> str:
    """Return the SGR sequence from one style to another: the differences, or all of it if shorter."""
    if after._replace(link="") == PLAIN:
        return "\x1b[m"
    removed, new = before.attributes & ~after.attributes, after.attributes & ~before.attributes
    parts = []
    for bits, code in OFF.items():
        if removed & bits:
            parts.append(code)
            new |= after.attributes & bits
    if after.color != before.color:
        parts.append(after.color or "39")
    if after.ground != before.ground:
        parts.append(after.ground or "49")
    parts += [code for bit, code in ON.items() if new & bit]
    differing = ";".join(parts)
    attributes = [code for bit, code in ON.items() if after.attributes & bit]
    full = ";".join(["0", *filter(None, (after.color, after.ground)), *attributes])
    return f"\x1b[{min(differing, full, key=len)}m"


FRAME_DELAY_S = 0.1
"""Seconds after a resume or resize until a terminal of the same size is redrawn."""

TOGETHER = 0.25
"""Maximum seconds for which pending keys delay a frame."""
NEXT_KEY = 0.01
"""Seconds between two checks for pending keys."""


class Frames(App[None]):
    """App that writes only differences, one frame at a time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(driver_class=TerminalDriver, **options)
        self.picture = Picture(self.console._color_system, erases_in_color=erases_in_color())
        self._flow = Flow()
        self._drawn = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._anew: asyncio.TimerHandle | None = None

    # what the driver asks and tells

    @property
    def is_followed(self) -> bool:
        """Whether another app takes the terminal after this one, and what was typed for it."""
        return False

    def type_later(self, event: events.Key | events.Paste) -> None:
        """Leave a key to the next app: this one is ending."""

    def terminal_begins(self) -> None:
        """Start drawing to a terminal with unknown contents."""
        self._flow.begin()
        self.picture.forget()

    def terminal_changed(self) -> None:
        """Schedule a redraw after a resize (which Textual detects itself) or a resume."""
        self.picture.forget()
        if self._anew is None:
            self._anew = asyncio.get_running_loop().call_later(FRAME_DELAY_S, self._draw_anew)

    def terminal_answers(self) -> None:
        """Draw the next frame after the terminal's answer."""
        self._flow.answered()
        self.draw()

    # drawing

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Draw a frame; called by Textual."""
        if not isinstance(self._driver, TerminalDriver) or not isinstance(renderable, (ChopsUpdate, LayoutUpdate, type(None))):
            super()._display(screen, renderable)
            self.picture.forget()
            return
        try:
            if renderable is not None:
                self._apply_update(renderable)
        except Exception as error:
            self._handle_exception(error)
        else:
            if not self._batch_count:
                self.draw()
            elif self._later is None:  # the batch may end without another frame
                self._later = asyncio.get_running_loop().call_later(FRAME_DELAY_S, self.draw)
        finally:
            self.post_display_hook()

    def _apply_update(self, update: ChopsUpdate | LayoutUpdate) -> None:
        """Put a Textual update into the picture."""
        picture = self.picture
        if isinstance(update, LayoutUpdate):
            left, top, width, height = update.region
            if (width, height) != (picture.width, picture.height):
                picture.resize(width, height)
                self._settled()
            for y, strips in enumerate(update.strips, top):
                x = left
                for strip in strips:
                    picture.put(y, x, strip)
                    x += strip.cell_length
            return
        for y, start, end in update.spans:
            for stop, (x, painted) in zip(update.chop_ends[y], update.chops[y].items(), strict=True):
                if painted is not None and x < end and stop > start:
                    picture.put(y, x, painted)

    def draw(self) -> None:
        """Send the changed cells, now or after the terminal has processed the previous frame."""
        driver = self._driver
        if not isinstance(driver, TerminalDriver) or not self._running or self._closed or self._exit or self._anew is not None:
            return
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if seconds := self._flow.wait() or self._for_keys():
            self._later = asyncio.get_running_loop().call_later(seconds, self.draw)
            return
        try:
            changes = self.picture.changes()
        except Exception as error:
            self._handle_exception(error)
            return
        if changes:
            x, y = self.cursor_position
            changes += f"\x1b[{min(y, self.picture.height - 1) + 1};{min(x, self.picture.width - 1) + 1}H"
            self._drawn = time.monotonic()
            driver.write(f"{SYNC_START}{changes}{SYNC_END}" if self._sync_available else changes)
            if self._flow.drawn():
                driver.ask()

    @property
    def keys_wait(self) -> bool:
        """Return whether unprocessed keys are pending."""
        return False

    def _for_keys(self) -> float:
        """Return the seconds to wait for pending keys, so that keys typed at once are drawn together."""
        return NEXT_KEY if self.keys_wait and time.monotonic() - self._drawn < TOGETHER else 0.0

    def redraw(self) -> None:
        """Have Textual paint everything, and write every cell."""
        self.picture.forget()
        self.refresh(layout=True)

    def _draw_anew(self) -> None:
        self._settled()
        self.draw()

    def _settled(self) -> None:
        """Cancel the scheduled redraw."""
        if self._anew is not None:
            self._anew.cancel()
            self._anew = None


def shows_hyperlinks() -> bool:
    """Return whether the terminal at least ignores the sequence of a hyperlink (OSC 8); old consoles print it."""
    return not os.environ.get("TERM", "").startswith(("linux", "vt", "dumb"))


def erases_in_color() -> bool:
    """Return whether the terminal erases with the current background: all do but `screen`; tmux, with TERM `screen`, does."""
    return not os.environ.get("TERM", "").startswith("screen") or bool(os.environ.get("TMUX"))
