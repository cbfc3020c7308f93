"""What a screen asks, in the place of its status line.

Keys come here before anything else (`TltuiApp.intercepts`), one after the other and at once: Textual's focus stays where it was,
and with it all that is on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual import events
from textual.screen import Screen
from textual.timer import Timer

from tltui.screens.asking.question import Question, Row
from tltui.text.document import piece_text
from tltui.widgets.line_edit import LineEdit
from tltui.widgets.prompt_line import NOTHING, Asking

REST = 0.15
"""Seconds after the last key until what was typed has its effect: a list, a hit that is shown."""
KEPT = 50
"""Answers of one kind that are remembered."""
LEFT_FREE = 6
"""Rows of the screen that no list covers."""
MOVES = {"up": -1, "ctrl+p": -1, "down": 1, "ctrl+n": 1}
LEAVES = ("escape", "ctrl+c", "ctrl+g")


class Prompting:
    """The prompt of one screen."""

    def __init__(
        self, screen: Screen[Any], answers: dict[str, list[str]], answer: Callable[[Callable[[], object]], None]
    ) -> None:
        """`answers`: what was answered before, by kind. `answer` runs something on the UI thread, from any other."""
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
        """Esc: all is as it was."""
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
            kept = self._answers.setdefault(question.history, [])
            kept[:] = [*(other for other in kept if other != text), text][-KEPT:]
        question.entered(text, place)

    # keys

    def take(self, event: events.Key | events.Paste) -> bool:
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
        """The mouse was pressed: beside the prompt it ends it."""
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
        """The text is another one: it has its effect when one stops typing."""
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
        """The list may be another one now. A row that was gone to stays."""
        if self._asked is not None and self._past is None and not self.asking.choices.place:
            self._is_listed = ""
            self._list()

    def _list(self) -> None:
        """The list is that of what was typed."""
        question, text = self._asked, self._edit.text
        if question is None or not question.rows or self._past is not None or (self._listed and text == self._is_listed):
            return
        self._is_listed, self._listed = text, question.listed(text)
        first = 0 if question.picks_first and self._listed else None
        self.asking.choices.fill(self._listed or NOTHING, first)

    def _move(self, by: int) -> None:
        """The cursor of the list moves; without a list there are the earlier answers."""
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
        """The wheel was turned over the list."""
        if self._asked is not None:
            self._move(by)

    def _fill(self, question: Question, place: int | None) -> None:
        """The line says what is under the cursor, where that is a text."""
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
        """A row was clicked."""
        if self._asked is None or place >= len(self._listed):
            return
        self._fill(self._asked, place)
        self._enter(place if self._past is None else None)
