"""The question that leaving asks while a job runs that tltui started."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static


class Leaving(ModalScreen[str]):
    """Gives `leave`, `stop`, `kill`, or '' to stay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "answer('leave')", "leave it running", show=False),
        Binding("s", "answer('stop')", "stop it", show=False),
        Binding("k", "answer('kill')", "kill it", show=False),
        Binding("escape,q,n", "answer('')", "stay", show=False),
    ]

    def __init__(self, pid: int, is_deaf: bool) -> None:
        """`is_deaf`: ctrl+c was sent, and the job goes on."""
        super().__init__()
        self._pid = pid
        self._is_deaf = is_deaf

    def compose(self) -> ComposeResult:
        """The answers, then the question."""
        with Horizontal(id="prompt"):
            second = "k kill it" if self._is_deaf else "s stop it"
            still = "runs after ctrl+c" if self._is_deaf else "is still running"
            yield Static(Content(f"l leave it running  {second}  esc stay"), id="prompt-answers")
            yield Static(Content(f"the job {still} (pid {self._pid})"), id="prompt-question")

    def action_answer(self, answer: str) -> None:
        """The answer. Killing is for a job that did not hear."""
        if answer == "kill" and not self._is_deaf:
            return
        self.dismiss(answer)
