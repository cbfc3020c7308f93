"""What can be asked: a text, a key, one of a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tltui.text.document import Piece

Row = Sequence[Piece]
"""One line of a list."""


def nothing(*_: object) -> None:
    """What a question does where it does nothing."""


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
        answered: Callable[[str], object] = nothing,
        value: str = "",
        hint: str = "",
        *,
        history: str = "",
        typed: Callable[[str], object] = nothing,
        left: Callable[[], object] = nothing,
    ) -> None:
        """`history`: under which name what was answered is kept; '' for never. `typed`: called when one has stopped typing for a
        moment. `left`: called after esc."""
        self.label, self.value, self.hint, self.history = label, value, hint, history
        self._answered, self._typed, self._left = answered, typed, left

    def begin(self, renew: Callable[[], object], answer: Callable[[Callable[[], object]], None]) -> None:
        """It is on the screen. `renew` asks for its list again; `answer` runs something on the UI thread, from any other."""

    def listed(self, text: str) -> Sequence[Row]:
        """The list, for what was typed."""
        return ()

    def filled(self, place: int) -> str | None:
        """What the line says when the cursor is on a row; None: what was typed stays."""
        return None

    def completed(self, text: str) -> str:
        """What tab makes of the text."""
        return text

    def typed(self, text: str) -> None:
        """One has stopped typing for a moment."""
        self._typed(text)

    def accepts(self, text: str, place: int | None) -> bool:
        """Whether that is an answer; else it is asked on."""
        return True

    def entered(self, text: str, place: int | None) -> None:
        """Enter: the text, and the row under the cursor of the list."""
        self._answered(text)

    def left(self) -> None:
        """Esc, or the screen goes: all is to be as it was."""
        self._left()


class KeyQuestion(Question):
    """A question that one key answers."""

    def __init__(
        self, label: str, keys: Mapping[str, str], answered: Callable[[str], object], left: Callable[[], object] = nothing
    ) -> None:
        super().__init__(label, answered, left=left)
        self.keys = keys


def confirm(question: str, answered: Callable[[bool], object]) -> KeyQuestion:
    """A question that `y` answers with yes, and `n`, enter and esc with no."""
    keys = {"y": "yes", "n": "", "q": "", "enter": ""}
    return KeyQuestion(f"y / n  {question}", keys, lambda answer: answered(bool(answer)), lambda: answered(False))
