"""Questions asked in the status line: a text, a key, one of a list, a search, a file to write."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.screen import Screen
from textual.timer import Timer

from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.widgets.bars import NO_MATCHES, Asking
from tltui.widgets.document_view import DocumentView
from tltui.widgets.key_input import LineEdit

Row = Sequence[Piece]
"""One line of a list."""


def do_nothing(*_: object) -> None:
    """Do nothing, as the default of a question."""


class Question:
    """Asks for a text. Others override what they do otherwise."""

    rows = 0
    """How high its list is, in rows; 0: it has none."""
    picks_first = False
    """Whether the first row of the list is what enter means."""
    keys: Mapping[str, str] | None = None
    """Where a key is the answer: Textual's name of the key → the answer. All other keys but esc do nothing."""

    def __init__(
        self,
        label: str,
        answered: Callable[[str], object] = do_nothing,
        value: str = "",
        hint: str = "",
        *,
        history: str = "",
        typed: Callable[[str], object] = do_nothing,
        left: Callable[[], object] = do_nothing,
    ) -> None:
        """Create a question.

        `history`: the name under which answers are remembered, '' for none; `typed`: called after a pause in typing; `left`: called
        after esc.
        """
        self.label, self.value, self.hint, self.history = label, value, hint, history
        self._answered, self._typed, self._left = answered, typed, left

    def begin(self, renew: Callable[[], object], answer: Callable[[Callable[[], object]], None]) -> None:
        """Start. `renew` requests the list again; `answer` runs a function on the UI thread, from any other."""

    def listed(self, text: str) -> Sequence[Row]:
        """Return the rows for a text."""
        return ()

    def filled(self, place: int) -> str | None:
        """Return the text that a row puts into the line, or None."""
        return None

    def completed(self, text: str) -> str:
        """Return the text as tab completes it."""
        return text

    def typed(self, text: str) -> None:
        """Handle a pause in typing."""
        self._typed(text)

    def accepts(self, text: str, place: int | None) -> bool:
        """Return whether that is an answer; else it is asked on."""
        return True

    def entered(self, text: str, place: int | None) -> None:
        """Enter: the text, and the row under the cursor of the list."""
        self._answered(text)

    def left(self) -> None:
        """Undo the effects of the question: esc was pressed, or the screen is removed."""
        self._left()


class KeyQuestion(Question):
    """A question that one key answers."""

    def __init__(
        self, label: str, keys: Mapping[str, str], answered: Callable[[str], object], left: Callable[[], object] = do_nothing
    ) -> None:
        super().__init__(label, answered, left=left)
        self.keys = keys


def confirm(question: str, answered: Callable[[bool], object]) -> KeyQuestion:
    """Return a question that `y` answers with yes, and `n`, enter and esc with no."""
    keys = {"y": "yes", "n": "", "q": "", "enter": ""}
    return KeyQuestion(f"y / n  {question}", keys, lambda answer: answered(bool(answer)), lambda: answered(False))


class SearchQuestion(Question):
    """Asks for what to look for in a document; esc leaves it as it was."""

    def __init__(self, view: DocumentView) -> None:
        super().__init__("/", hint="a regular expression", history="search")
        self._view = view
        view.begin_trying()

    def typed(self, text: str) -> None:
        """Show the first hit."""
        self._view.try_search(text)

    def entered(self, text: str, place: int | None) -> None:
        """Look for it."""
        self._view.end_trying()
        self._view.search(text)

    def left(self) -> None:
        """Restore the view."""
        self._view.end_trying()


FORMS = {".html": "a page for a browser", ".md": "markdown", ".json": "the result", ".ansi": "with colors"}
"""Suffixes that make of a document something else than its text."""
DIRECTORIES = 3
"""Directories written to before that are proposed."""


class TargetQuestion(Question):
    """Asks for a path; its list proposes some."""

    HISTORY: ClassVar[str] = "target"

    def __init__(self, label: str, answered: Callable[[str], object], name: str, before: Sequence[str]) -> None:
        """Create a question that proposes `name`; `before`: earlier answers, the latest last."""
        super().__init__(label, answered, name, "tab completes", history=self.HISTORY)
        self._paths = self._shown = proposals(name, before)
        self._fitting: list[str] = []
        self._completed = ""
        self.rows = len(self._paths)

    def listed(self, text: str) -> Sequence[Row]:
        """Return the name in each form, here and in earlier directories.

        A typed path keeps the list; an ambiguous completion lists its candidates.
        """
        is_choice = len(self._fitting) > 1 and text == self._completed
        self._shown = [(path, "") for path in self._fitting] if is_choice else self._paths
        return [[f"{path}  ", (form, tokens.DIM)] for path, form in self._shown]

    def filled(self, place: int) -> str:
        """Return the path of a row."""
        return self._shown[place][0]

    def completed(self, text: str) -> str:
        """Return the path as far as the file system leaves no choice."""
        self._fitting = fitting_paths(text)
        self._completed = completed_path(text, self._fitting)
        return self._completed


def proposals(name: str, before: Sequence[str]) -> list[tuple[str, str]]:
    """Return paths to write to, each with a description."""
    stem, suffix = os.path.splitext(name)
    paths = [(name, "text"), *((stem + form, form_name) for form, form_name in FORMS.items() if form != suffix)]
    directories = dict.fromkeys(os.path.dirname(path) for path in reversed(before))
    current = os.path.dirname(name)
    for directory in [directory for directory in directories if directory not in ("", current)][:DIRECTORIES]:
        paths.append((os.path.join(directory, os.path.basename(name)), "a directory you gave before"))
    return paths


def fitting_paths(text: str) -> list[str]:
    """Return all paths that begin with `text`, in order; a directory ends with a slash. Hidden ones only where a dot was typed."""
    typed = Path(text).expanduser()
    parent, start = (typed, "") if text.endswith("/") else (typed.parent, typed.name)
    before = text[: len(text) - len(start)]
    try:
        with os.scandir(parent) as entries:
            fitting = [entry for entry in entries if entry.name.startswith(start) and (start or entry.name[0] != ".")]
            return sorted(f"{before}{entry.name}/" if entry.is_dir() else before + entry.name for entry in fitting)
    except OSError:
        return []


def completed_path(text: str, fitting: Sequence[str]) -> str:
    """Return `text` extended by the common prefix of all paths."""
    if not fitting:
        return text
    first, last = fitting[0], fitting[-1]
    same = len(first)
    while not last.startswith(first[:same]):  # in order: what these two have in common all have
        same -= 1
    return first[:same]


REST = 0.15
"""Seconds after the last key until what was typed has its effect: a list, a hit that is shown."""
MAX_ANSWERS = 50
"""Answers of one kind that are remembered."""
LEFT_FREE = 6
"""Rows of the screen that no list covers."""
MOVES = {"up": -1, "ctrl+p": -1, "down": 1, "ctrl+n": 1}
LEAVES = ("escape", "ctrl+c", "ctrl+g")
PROMPT_KEYS = (
    ("enter", "Accept the text, or the selected row of the list."),
    ("esc ctrl+c ctrl+g", "Close the prompt and restore the state before."),
    ("↑ ↓ ctrl+p ctrl+n", "Move in the list; without a list, show earlier answers."),
    ("pgup pgdn", "Move one page in the list."),
    ("tab", "Complete a path."),
    ("ctrl+a ctrl+e", "Go to the beginning or the end of the text."),
    ("ctrl+u ctrl+k", "Delete the text before or after the cursor."),
    ("ctrl+w", "Delete the word before the cursor."),
)
"""Keys of a prompt, and their effects, for the help."""


class Prompting:
    """The prompt of one screen."""

    def __init__(
        self, screen: Screen[Any], answers: dict[str, list[str]], answer: Callable[[Callable[[], object]], None]
    ) -> None:
        """Create a prompt; `answers`: earlier answers by kind; `answer`: runs a function on the UI thread, from any other."""
        self._screen = screen
        self._answers = answers
        self._answer = answer
        self._asked: Question | None = None
        self._edit = LineEdit()
        self._listed: Sequence[Row] = ()
        self._is_listed = ""  # the text that the list was made for
        self._past: list[str] | None = None
        """Earlier answers, while they are the list."""
        self._unsent = ""  # what was typed before an earlier answer took its place
        self._rest: Timer | None = None

    # what others may ask

    @property
    def is_open(self) -> bool:
        """Whether something is asked."""
        return self._asked is not None

    @property
    def takes_text(self) -> bool:
        """Whether a text is asked for, and not a key."""
        return self._asked is not None and self._asked.keys is None

    @property
    def question(self) -> str:
        """What is asked; '' for nothing."""
        return self._asked.label if self._asked is not None else ""

    @property
    def text(self) -> str:
        """What was typed."""
        return self._edit.text

    @property
    def rows(self) -> list[str]:
        """The list above, as text."""
        return ["".join(piece_text(p) for p in row) for row in self._listed]

    @property
    def asking(self) -> Asking:
        """The widget."""
        return self._screen.query_one(Asking)

    # open and close

    def open(self, question: Question) -> None:
        """Ask. What was asked before is left."""
        self.leave()
        self._asked, self._past = question, None
        self._edit = LineEdit(question.value, len(question.value))
        asking = self.asking
        asking.choices.on_chosen, asking.choices.on_wheel = self._chosen, self._wheel
        asking.line.begin(question.label, None if question.keys is not None else self._edit, question.hint)
        self._open(question.rows)
        question.begin(self._renew, self._answer)
        self._list()

    def _open(self, rows: int) -> None:
        self.asking.open(min(rows, max(self._screen.size.height - LEFT_FREE, 0)))

    def leave(self) -> None:
        """Close the prompt and undo its effects (esc)."""
        if self._asked is not None:
            self._close().left()

    def _close(self) -> Question:
        question, self._asked = self._asked, None
        assert question is not None
        self._stop()
        self._listed = ()
        for asking in self._screen.query(Asking):  # not there any more while the screen goes
            asking.close()
        return question

    def _enter(self, place: int | None) -> None:
        text = self._edit.text
        if self._asked is None or not self._asked.accepts(text, place):
            return
        question = self._close()
        if question.history and text.strip():
            answers = self._answers.setdefault(question.history, [])
            answers[:] = [*(other for other in answers if other != text), text][-MAX_ANSWERS:]
        question.entered(text, place)

    # keys

    def handle_key(self, event: events.Key | events.Paste) -> bool:
        """Take a key or a paste, if something is asked."""
        question = self._asked
        if question is None:
            return False
        if isinstance(event, events.Paste):
            line = next((line for line in event.text.splitlines() if line.strip()), "")
            if question.keys is None and line:
                self._edit.insert(line)
                self._changed()
            return True
        if event.key in LEAVES:
            self.leave()
        elif question.keys is not None:
            if event.key in question.keys:
                self._close().entered(question.keys[event.key], None)
        else:
            self._typed(question, event)
        return True

    def pressed(self, event: events.MouseDown) -> None:
        """Close the prompt if the mouse was pressed outside of it."""
        if self._asked is not None and not self.asking.region.contains(event.screen_x, event.screen_y):
            self.leave()

    def _typed(self, question: Question, event: events.Key) -> None:
        key = event.key
        if key == "enter":
            self._list()
            self._enter(self.asking.choices.place if self._past is None else None)
        elif key in MOVES:
            self._move(MOVES[key])
        elif key in ("pageup", "pagedown") and self._listed:
            rows = max(self.asking.choices.size.height - 1, 1)
            self._move(rows if key == "pagedown" else -rows)
        elif key == "tab":
            self._edit.replace(question.completed(self._edit.text))
            self._is_listed = ""  # what fits may be listed now, though the text is the same
            self._changed()
        elif self._edit.key(key):
            self._changed()
        elif event.character is not None and event.is_printable:
            self.type(event.character)

    def type(self, text: str) -> None:
        """Insert characters that were typed, where a text is asked for."""
        if self.takes_text:
            self._edit.insert(text)
            self._changed()

    def _changed(self) -> None:
        """Show changed text, which has its effect after a pause in typing."""
        if self._past is not None:
            self._past, self._listed = None, ()
            assert self._asked is not None
            self._open(self._asked.rows)
        self.asking.line.show_text()
        self._stop()
        self._rest = self._screen.set_timer(REST, self._rested)

    def _stop(self) -> None:
        if self._rest is not None:
            self._rest.stop()
            self._rest = None

    def _rested(self) -> None:
        self._rest = None
        if self._asked is not None:
            self._list()
            self._asked.typed(self._edit.text)

    # the list

    def _renew(self) -> None:
        """List the rows again, unless the cursor was moved to one."""
        if self._asked is not None and self._past is None and not self.asking.choices.place:
            self._is_listed = ""
            self._list()

    def _list(self) -> None:
        """List the rows for the typed text."""
        question, text = self._asked, self._edit.text
        if question is None or not question.rows or self._past is not None or (self._listed and text == self._is_listed):
            return
        self._is_listed, self._listed = text, question.listed(text)
        first = 0 if question.picks_first and self._listed else None
        self.asking.choices.fill(self._listed or NO_MATCHES, first)

    def _move(self, by: int) -> None:
        """Move the cursor of the list; without one, list earlier answers."""
        question, choices = self._asked, self.asking.choices
        assert question is not None
        if not question.rows and self._past is None:
            self._remember(question)
            return
        self._list()
        if not self._listed:
            return
        last = len(self._listed) - 1
        if choices.place is None:
            place: int | None = 0 if by > 0 else last
        else:
            place = choices.place + by
            if abs(by) > 1:
                place = min(max(place, 0), last)
            elif self._past is not None and place > last:
                place = None
            else:
                place %= last + 1
        choices.go(place)
        self._fill(question, place)

    def _wheel(self, by: int) -> None:
        """Move the cursor of the list by the wheel."""
        if self._asked is not None:
            self._move(by)

    def _fill(self, question: Question, place: int | None) -> None:
        """Fill the line with the text of a row, if it has one."""
        filled: str | None
        if self._past is not None:
            filled = self._unsent if place is None else self._past[place]
        else:
            filled = None if place is None else question.filled(place)
        if filled is not None:
            self._edit.replace(filled)
            self._is_listed = filled  # the list it was chosen from stays
            self.asking.line.show_text()

    def _remember(self, question: Question) -> None:
        """List the earlier answers, the latest at the bottom and under the cursor."""
        past = self._answers.get(question.history, [])
        if not past:
            return
        self._past, self._unsent = list(past), self._edit.text
        self._listed = [[text] for text in past]
        self._open(min(len(past), 10))
        self.asking.choices.fill(self._listed, len(past) - 1)
        self._fill(question, len(past) - 1)

    def _chosen(self, place: int) -> None:
        """Choose the clicked row."""
        if self._asked is None or place >= len(self._listed):
            return
        self._fill(self._asked, place)
        self._enter(place if self._past is None else None)
