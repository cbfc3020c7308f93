"""One line that asks for a text, at the bottom of the screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class Prompt(ModalScreen[str | None]):
    """Gives the text, or None after esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel", show=False)]

    def __init__(self, question: str, value: str = "", hint: str = "") -> None:
        super().__init__()
        self._question = question
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        """Question, input, hint."""
        with Horizontal(id="prompt"):
            yield Static(Content(self._question), id="prompt-question")
            yield Input(self._value, id="prompt-input", select_on_focus=False)
            if self._hint:
                yield Static(Content(self._hint), id="prompt-hint")

    def on_mount(self) -> None:
        """Type at once."""
        field = self.query_one(Input)
        field.focus()
        field.cursor_position = len(self._value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Esc."""
        self.dismiss(None)


class Confirm(ModalScreen[bool]):
    """A question that `y` answers with yes and every other key with no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", show=False),
        Binding("n,escape,q,enter", "answer(False)", "no", show=False),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question."""
        with Horizontal(id="prompt"):
            yield Static(Content("y / n"), id="prompt-answers")
            yield Static(Content(self._question), id="prompt-question")

    def action_answer(self, yes: bool) -> None:
        """The answer."""
        self.dismiss(yes)
