"""The colours of the themes: contrast of every text on every ground that it can stand on, computed from what the app resolves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from opened import BREAKS, opened
from real import DEMO, TRACES
from rich.style import Style
from screen import screen_lines
from textual.color import Color
from textual.theme import BUILTIN_THEMES
from textual.widget import Widget

from tltui.config import THEMES
from tltui.screens.browser import Browser
from tltui.text import tokens
from tltui.text.tokens import COLOURS, TRUE
from tltui.widgets.bars import LINE_STYLES, RunBar
from tltui.widgets.document_canvas import IN_REVERSE
from tltui.widgets.linked_views import MarkedView
from tltui.widgets.row_painter import BANDS
from tltui.widgets.themes import LOOKS, NAMES, PARTS, part_style, variables

STYLES = Path(__file__).parents[2] / "src" / "tltui" / "styles.tcss"
TEXT, MARKS = 4.5, 3.0
GROUNDS = ("", "cursor", "cursor-away", "selection", "match", "pinned")
WORDS = {"bold", "reverse", "underline", "not reverse bold"}
"""Styles that are the same in every theme."""
PALETTE = {0x00, 0x5F, 0x87, 0xAF, 0xD7, 0xFF}


def luminance(color: Color) -> float:
    """WCAG's relative luminance."""
    parts = [part / 255 for part in color.rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """WCAG's contrast ratio."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def pair(style: Style) -> tuple[Color, Color]:
    """Text and ground of a style, as they are drawn."""
    assert style.color is not None and style.bgcolor is not None, style
    text, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    return (ground, text) if style.reverse else (text, ground)


def test_contrast() -> None:
    assert contrast(Color.parse("#000"), Color.parse("#fff")) == pytest.approx(21)
    assert contrast(Color.parse("#777"), Color.parse("#fff")) == pytest.approx(4.48, abs=0.01)


class Looks:
    """What a widget draws a row with: a ground, and on it text."""

    def __init__(self, widget: Widget, prefix: str) -> None:
        self.widget, self.prefix = widget, prefix

    def part(self, name: str) -> Style:
        return part_style(self.widget.app.theme, name)

    def ground(self, name: str) -> tuple[Style, bool]:
        """The style of a row, and whether its text has its colour."""
        base = self.widget.rich_style + self.part(name)
        return base, bool(base.reverse) or base.color != self.widget.rich_style.color

    def texts(self, grounds: tuple[str, ...], names: Iterator[str] | list[str]) -> Iterator[tuple[str, float]]:
        names = list(names)
        for ground in grounds:
            base, flat = self.ground(ground)
            yield f"{self.prefix} {ground or 'page'}", contrast(*pair(base))
            for name in [] if flat else names:
                yield f"{self.prefix} {name} on {ground or 'page'}", contrast(*pair(base + self.part(name)))


@pytest.mark.parametrize("theme", TRUE)
async def test_text_can_be_read_and_marks_can_be_seen(theme: str) -> None:
    async with opened(DEMO, theme=theme) as driver:
        browser: Browser = driver.browser
        document, tree, bar = (
            Looks(browser.document_view, "document"), Looks(browser.tree_view, "tree"), Looks(browser.query_one(RunBar), "bar"),
        )  # fmt: skip
        seen: list[tuple[str, float]] = []
        seen += document.texts(GROUNDS, [f"tok-{name}" for name in tokens.ALL])
        # over a ground: hits, the caret, what a page is cut with; beside it: numbers, folds
        seen += document.texts(GROUNDS, ["hit", "hit-current", "mark", "fold"])
        seen += document.texts(tuple(name for name in GROUNDS if name != "cursor"), ["gutter"])
        seen += document.texts(("cursor",), ["gutter-cursor"])
        seen += document.texts(("",), [f"band-{number}" for number in range(BANDS)])
        words = [f"tok-{name}" for name in LINE_STYLES]
        seen += bar.texts(("",), ["hint-key", *words])
        seen += tree.texts(("", "cursor", "cursor-away"), words)
        assert len(seen) > 250
        assert [told for told in seen if told[1] < TEXT] == []

        page = document.ground("")[0]
        marks = [(name, contrast(*pair(page + document.part(name)))) for name in ("hit-mark", "fold", "mark", "gutter")]
        for name in ("edge", "edge-away", *(f"band-{number}" for number in range(BANDS))):
            ground = pair(page + document.part(name))[1]
            marks.append((name, contrast(ground, pair(page)[1])))
        for looks in (document, tree):
            ground, flat = looks.ground("cursor")
            if not flat:
                marks.append(("edge on its row", contrast(pair(ground + looks.part("edge"))[1], pair(ground)[1])))
            for name in ("rule", "rule-focus"):
                marks.append((name, contrast(Color.parse(variables(theme)[name]), looks.widget.styles.background)))
        styles = browser.document_view.styles
        marks.append(("scroll bar", contrast(styles.scrollbar_color, styles.scrollbar_background)))
        assert len(marks) > 15
        assert [told for told in marks if told[1] < MARKS] == []


def test_colours_are_those_of_the_256_colour_palette() -> None:
    greys = {8 + 10 * step for step in range(24)}
    for name, row in COLOURS.items():
        for color in row[: len(TRUE)]:
            red, green, blue = Color.parse(color).rgb
            assert {red, green, blue} <= PALETTE or red == green == blue in greys, (name, color)
        assert all(color.startswith("ansi_") for color in row[len(TRUE) :]), name


@pytest.mark.parametrize("theme", NAMES)
def test_nothing_falls_back_to_a_colour_of_textual(theme: str) -> None:
    known = variables(theme)
    for other in ("textual-dark", "textual-light", "ansi-dark"):
        missing = BUILTIN_THEMES[other].to_color_system().generate().keys() - known.keys()
        assert {name for name in missing if name != "surface-actrive"} == set()
    used = set(re.findall(r"\$([a-z][\w-]*)", re.sub(r"/\*.*?\*/", "", STYLES.read_text(), flags=re.DOTALL)))
    used |= {name for paint in PARTS.values() for name in (paint.color, paint.background, paint.style) if name} - WORDS
    assert used <= COLOURS.keys() | LOOKS.keys()
    assert (COLOURS.keys() | LOOKS.keys()) - used == set()
    if theme == "mono":
        assert {known[name] for name in COLOURS} == {"ansi_default"}


def test_each_phase_has_a_colour_of_its_own() -> None:
    rows = [COLOURS[name] for name in tokens.PHASES]
    assert all(len({row[column] for row in rows}) == len(rows) for column in range(len(TRUE)))
    assert len({row[-1] for row in rows}) == len(rows) - 1  # other is dim besides


def test_every_theme_has_a_name() -> None:
    assert set(THEMES) == {"auto", *NAMES}


@pytest.mark.parametrize("theme", NAMES)
async def test_what_is_where_can_be_told_apart(theme: str) -> None:
    """Cursor, focus, selection and hits: each row and each piece is drawn otherwise, in mono by attributes alone."""
    async with opened(BREAKS, theme=theme) as driver:
        looks = Looks(driver.browser.document_view, "document")
        rows = [looks.ground(name)[0] for name in GROUNDS]
        cursor = looks.ground("cursor")
        for one, other in combinations(rows, 2):
            assert one != other
        plain = looks.ground("")[0]
        for name in ("hit", "hit-current", "caret"):
            for ground in ("", "cursor", "selection"):
                base = looks.ground(ground)[0]
                over = IN_REVERSE.get(name, name) if base.reverse else name
                assert base + looks.part(over) != base, (name, ground)
        assert plain + looks.part("hit") != plain + looks.part("hit-current")
        if theme not in TRUE:
            assert cursor[0].reverse and not looks.ground("cursor-away")[0].reverse
            assert (cursor[0] + looks.part(IN_REVERSE["caret"])).reverse is False
        tree = Looks(driver.browser.tree_view, "tree")
        assert len({tree.ground(name)[0] for name in ("", "cursor", "cursor-away")}) == 3


async def test_a_rule_fills_the_row_of_a_rank_and_stands_for_no_compile() -> None:
    for ascii_only, sign in ((False, "─"), (True, "-")):
        async with opened(DEMO, ascii_only=ascii_only) as driver:
            rank, compiled = screen_lines(driver.app)[3:5]
            assert f"rank 0 {sign * 2} " in rank and sign * 2 not in compiled


async def test_provenance_colours_the_rows_of_the_cursor_and_no_others() -> None:
    async with opened(TRACES / "torch-2.13" / "train", size=(160, 40)) as driver:
        driver.browser.go("0/0")
        await driver.shown("0/0")
        await driver.press("p")
        await driver.until(lambda: "nodes → kernels" in screen_lines(driver.app)[0])
        view = next(view for view in driver.app.screen.query(MarkedView) if view.display and not view.has_focus)
        ground = view.rich_style.bgcolor
        rows = [view.render_line(y) for y in range(view.size.height)]
        lettered = [row for row in rows if row.text[1:2].isalpha()]
        linked = [row for row in lettered if row.text[0] == "▌"]
        assert 0 < len(linked) < len(lettered)
        for row in lettered:
            grounds = {segment.style.bgcolor == ground for segment in row if segment.style}
            assert grounds == {row not in linked}, "the whole row of what belongs to the cursor has a ground, no other one"


@pytest.mark.parametrize("theme", TRUE)
def test_what_prompts_and_lists_are_drawn_with(theme: str) -> None:
    known = variables(theme)
    pairs = [(text, "bar") for text in ("ink", "dim", "accent", "tok-break", "tok-error", "tok-link")]
    pairs += [("cursor-ink", "cursor"), ("selection-ink", "selection"), ("edge-ink", "edge"), ("page", "edge-away")]
    pairs += [("block-cursor-foreground", "block-cursor-background"), ("input-cursor-foreground", "input-cursor-background")]
    told = [(one, other, contrast(Color.parse(known[one]), Color.parse(known[other]))) for one, other in pairs]
    assert [each for each in told if each[2] < (MARKS if each[1] == "edge-away" else TEXT)] == []
