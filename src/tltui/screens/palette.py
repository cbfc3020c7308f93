"""The command palette (`ctrl+p`), the go-to prompt (`o`) and the help document."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from tltui.commands import (
    COMMANDS,
    PAGE_TITLE,
    Command,
    Situation,
    Where,
    commands_for,
    commands_here,
    commands_of,
    key_label,
    key_labels,
    match_commands,
)
from tltui.config import Config, config_path
from tltui.documents.format import wrap
from tltui.documents.manual import CHAPTERS, title_of
from tltui.documents.page import Page
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, named_in, parse_ref
from tltui.model.run import Run, in_order
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, TABLE, glyph
from tltui.questions.provenance.graph_names import Names
from tltui.questions.provenance.pane_layout import MORE, UNLETTERED
from tltui.questions.provenance.unit_sections import DERIVED_MARK
from tltui.screens.prompts import PROMPT_KEYS, Question, Row
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument, piece_text
from tltui.text.formatting import cells, script_for
from tltui.text.torch_names import RESUMED
from tltui.tree.name_search import BLOCK, Place, Places, everything, recent
from tltui.widgets.row_painter import ASCII_MARKS, Marks
from tltui.work.scheduler import Lane, Scheduler, Steps

KEYS_WIDTH = 12
"""Cells for the keys of a command."""


class Palette(Question):
    """Answers with the command that was chosen."""

    rows = 10
    picks_first = True

    def __init__(self, now: Situation, keys: Mapping[str, Sequence[str]], chosen: Callable[[Command], object]) -> None:
        """Create the palette; `keys`: the id of a command → other keys than its own."""
        super().__init__("command", hint="name or purpose of a command")
        self._now = now
        self._all_keys = keys
        self._chosen = chosen
        self._commands = self._matches = commands_for(now)

    def _keys(self, command: Command) -> Sequence[str]:
        return self._all_keys.get(command.id, command.keys)

    def listed(self, text: str) -> Sequence[Row]:
        """Return the commands that fit what was typed, the best first."""
        self._matches = match_commands(text, self._commands, self._keys) if text.strip() else self._commands
        return [
            [(f"{self._key_text(command):<{KEYS_WIDTH}} ", "key"), (f"{command.title:<24} ", tokens.STRONG),
             (command.help, tokens.DIM)]
            for command in self._matches
        ]

    def _key_text(self, command: Command) -> str:
        """Return the first two keys of a command, or the first where there is no room for both."""
        keys = self._keys(command)
        text = key_labels(command, self._now, keys[:2])
        return text if len(text) <= KEYS_WIDTH else key_labels(command, self._now, keys[:1])

    def accepts(self, text: str, place: int | None) -> bool:
        """Accept a row only."""
        return place is not None

    def entered(self, text: str, place: int | None) -> None:
        """Answer with the command under the cursor."""
        self._chosen(self._matches[place or 0])


KEY_WIDTH, EXAMPLE_WIDTH, MARK_WIDTH = 20, 30, 16
"""Columns of what is explained, its indent included."""


def help_document(ascii_only: bool, config: Config, width: int, now: Situation, place: str) -> TextDocument:
    """Return the help on keys, marks, addresses and settings, in lines of at most `width` columns.

    It begins with the keys that work in the situation `now`; `place` is the name of the focused pane or mode.
    """
    page = Page("@help", "help  (esc closes, / searches)", Options(width=width, ascii=ascii_only))
    _add_keys_here(page, config, now, place)
    page.heading("Guide")
    page.say("For jobs that are slow, recompile, break, differ or hang; enter follows a link:", "  ")
    page.joined([("all chapters", tokens.LINK, "@guide"), *((title_of(name), tokens.LINK, f"@guide::{name}") for name in CHAPTERS),
                 ("glossary: the terms on the pages", tokens.LINK, "@glossary")], "  ")  # fmt: skip
    page.heading("Marks in the tree")
    for status, row in TABLE.items():
        _explain(page, [(glyph(status, ascii_only), row.colour), f"  {status}"], row.meaning, MARK_WIDTH, tokens.DIM)
    again = ASCII_RECOMPILE if ascii_only else RECOMPILE_GLYPH
    why = "recompilation: a guard of an earlier compile failed"
    _explain(page, [(again, tokens.RECOMPILE), "  again"], why, MARK_WIDTH, tokens.DIM)
    page.heading("Marks in provenance mode")
    linked, script = (ASCII_MARKS if ascii_only else Marks()).linked, script_for(ascii_only)
    for sign, meaning in (
        (linked, "belongs to the line of the cursor, in each pane"),
        ("a b c", "kernels in the order in which the code calls them; a line has the letter of its kernel in each pane"),
        (f"a{MORE}", "the line is part of further kernels; the line below the panes lists them (runs)"),
        (UNLETTERED, "has a mapping, but no kernel"),
        (DERIVED_MARK, "derived by tltui, not recorded by torch"),
    ):
        _explain(page, [(script.drawn(sign), tokens.KEYWORD)], meaning, KEY_WIDTH)
    page.heading("Shortened names and rows")
    page.say(
        f"{RESUMED}; torch calls it torch_dynamo_resume_in_f_at_LINE. Searches and filters match "
        "both names. … marks a row that continues beyond the right edge, ‹ beyond the left edge, ↳ a wrapped row. "
        "Press a or A to scroll sideways and w to wrap; z gives the pane the whole screen.", "  ",
    )  # fmt: skip
    for where in Where:
        page.heading(f"Keys: {where.value}")
        for command in commands_of(where):
            listed = " ".join(_labels(command, config, ascii_only)) or "(palette)"
            _explain(page, [(listed, tokens.KEYWORD)], command.help, KEY_WIDTH)
    page.heading("Keys: prompts")
    for keys, does in PROMPT_KEYS:
        _explain(page, [(keys if not ascii_only else keys.replace("↑ ↓", "up down"), tokens.KEYWORD)], does, KEY_WIDTH)
    page.heading("Mouse")
    for gesture, does in (
        ("click", "moves the cursor; follows a link; focuses another pane"),
        ("on ▸ ▾" if not ascii_only else "on > v", "opens or closes, like a second click on a row of the tree"),
        ("right click", "goes back, or closes the open help or list"),
        ("on the footer", "a click on a command runs it"),
        ("drag", "selects lines; on the divider, resizes the panes"),
        ("wheel", "scrolls the pane under the pointer (with shift: sideways); the focus stays"),
        ("hover", "in provenance mode: highlights the mapped lines without scrolling"),
        ("shift + drag", "selects text in the terminal; --no-mouse gives the mouse to the terminal"),
    ):
        _explain(page, [(gesture, tokens.KEYWORD)], does, KEY_WIDTH)
    page.heading("Addresses")
    page.add("  [RANK[.PROCESS]:]ID[_ATTEMPT][:ARTIFACT[#N]]")
    for example, meaning in (
        ("0/1", "compile 1 of frame 0; [0/1] in torch's logs"),
        ("3:0/1_1", "the same on rank 3, attempt 1"),
        ("0/1:inductor_output_code#2", "its second inductor_output_code"),
        ("a0/1/0", "[!0/1/0], with compiled autograd"),
        ("none:torch_version", "an artifact without a compile id"),
        ("0/", "frame 0: all its compiles"),
    ):
        _explain(page, [(example, tokens.LABEL)], meaning, EXAMPLE_WIDTH)
    page.heading("Settings")
    page.say(str(config_path()), "  ")
    page.say("Each setting is also a variable (TLTUI_THEME). tltui config lists the effective values and their sources.", "  ")
    page.add(('    theme = "auto"', tokens.DIM))
    page.say("auto, dark, light, high-contrast, ansi-dark, ansi-light, mono", "    # ", tokens.DIM)
    for line in ("mouse = true", "ascii = false", "[keys]", '"app.next_error" = ["e", "f8"]'):
        page.add(("    " + line, tokens.DIM))
    for problem in config.problems:
        page.say(problem, "  ", tokens.WARN)
    return page.document()


def _labels(command: Command, config: Config, ascii_only: bool) -> list[str]:
    """Return the keys of a command for display; with `ascii_only` a key without an ASCII sign has Textual's name."""
    keys = config.keys.get(command.id, command.keys)
    return [label if (label := key_label(key)).isascii() or not ascii_only else key for key in keys]


def _add_keys_here(page: Page, config: Config, now: Situation, place: str) -> None:
    """Add the first key of each command that works now, in as many columns as fit, and the keys of pages in a paragraph."""
    entries: list[tuple[str, str]] = []
    views: list[str] = []
    for command in commands_here(now):
        labels = _labels(command, config, page.ascii)
        if labels and command.is_page:
            views.append(f"{labels[0]} {command.title.removeprefix(PAGE_TITLE)}")
        elif labels:
            entries.append((labels[0], command.title))
    key_width, title_width = (max((cells(entry[n]) for entry in entries), default=0) for n in (0, 1))
    columns = max((page.width - 2) // (key_width + title_width + 4), 1)
    rows = -(-len(entries) // columns)
    page.heading(f"Keys here: {place}")
    for row in range(rows):
        page.add("  ", *(
            piece for keys, title in entries[row::rows] for piece in (
                (keys, tokens.KEYWORD), " " * (key_width + 2 - cells(keys)), title + " " * (title_width + 2 - cells(title)))
        ))  # fmt: skip
    if views:
        page.say("Pages: " + " · ".join(views), "  ", hang="         ")


def _explain(page: Page, pieces: Sequence[Piece], text: str, column: int, style: str = "") -> None:
    """Add an entry with its explanation in the next column, or below where the entry is too wide."""
    used = 2 + sum(len(piece_text(piece)) for piece in pieces)
    first, *more = wrap(text, page.width - column)
    if used + 1 > column:
        page.add("  ", *pieces)
        more = [first, *more]
    else:
        page.add("  ", *pieces, " " * (column - used), (first, style))
    for line in more:
        page.add(" " * column, (line, style))


ROWS = 10
"""Rows of the list: more cost bytes, and a better word finds sooner."""
AT_ONCE = 0.03
"""Seconds of collecting names before the screen opens; the scheduler goes on with the rest."""
SMALL = 500
"""Names that are collected between two looks at the clock."""
COMMAND = "command:"
"""How a place begins that is a command: its id follows."""


def main_screen_commands() -> list[Place]:
    """Return the commands of the main screen."""
    commands = [command for command in COMMANDS if command.where in (Where.EVERYWHERE, Where.TREE, Where.DOCUMENT)]
    return [Place(COMMAND + c.id, f"{c.title}  {c.keys_shown()}  command of {c.where.value}") for c in commands]


class GoTo(Question):
    """Answers with an address, or with `COMMAND` and the id of a command."""

    rows = ROWS
    picks_first = True

    def __init__(
        self,
        run: Run,
        scheduler: Scheduler,
        answered: Callable[[str], object],
        current: Compile | None,
        names: Names | None = None,
        ref: str = "",
        before: Iterable[str] = (),
        ascii_only: bool = False,
    ) -> None:
        """Create the prompt; `names`: those of the shown document at `ref`; `before`: earlier addresses, the latest first."""
        super().__init__("go to", answered, hint="name, file, artifact or address")
        self._run, self._scheduler = run, scheduler
        self._places = Places(recent(run, before, ascii_only))
        self._matches: list[Place] = []
        self._more: Iterator[Place] | None = everything(run, list(in_order(run)), current, names, ref, ascii_only)
        end = time.monotonic() + AT_ONCE
        first: list[Place] = []
        while time.monotonic() < end and self._more is not None:
            batch = list(islice(self._more, SMALL))
            first += batch
            if len(batch) < SMALL:
                self._more = None
        self._places.add([*first, *main_screen_commands()])

    def begin(self, renew: Callable[[], object], answer: Callable[[Callable[[], object]], None]) -> None:
        """Collect the rest."""
        if self._more is not None:
            self._scheduler.do(self._collect(self._more, renew, answer), lane=Lane.GROW, owner=self)

    def _collect(
        self, more: Iterator[Place], renew: Callable[[], object], answer: Callable[[Callable[[], object]], None]
    ) -> Steps:
        """Collect the rest. A log that goes away, or a run that grows meanwhile, leaves what there is."""
        waiting: list[Place] = []
        try:
            while batch := list(islice(more, SMALL)):
                waiting += batch
                if len(waiting) >= BLOCK:
                    self._places.add(waiting)
                    answer(renew)
                    waiting = []
                yield None
        except (OSError, RuntimeError) as error:
            if isinstance(error, RecursionError):
                raise
        self._places.add(waiting)
        answer(renew)

    def listed(self, text: str) -> Sequence[Row]:
        """Return the places that fit what was typed, the best first."""
        self._matches = self._places.match(text.strip())
        return [place.pieces for place in self._matches]

    def _typed_ref(self, text: str) -> str:
        """Return the address that was typed; '' for none."""
        try:
            ref = parse_ref(text)
            is_there = ref.view or self._run.unread(named_in(ref)) or self._run.resolve(ref) is not None
            return str(ref) if text.strip() and is_there else ""
        except BadAddress:
            return ""

    def accepts(self, text: str, place: int | None) -> bool:
        """Accept an address or a row."""
        return place is not None or bool(self._typed_ref(text))

    def entered(self, text: str, place: int | None) -> None:
        """Answer with an exact address, else the row under the cursor."""
        self._scheduler.drop(self)
        self._answered(self._typed_ref(text) or self._matches[place or 0].ref)

    def left(self) -> None:
        """Stop collecting."""
        self._scheduler.drop(self)
