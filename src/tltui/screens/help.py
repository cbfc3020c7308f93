"""Help is a document like any other: all keys and what the marks mean, made from the registry of commands."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tltui.commands import Where, of, shown
from tltui.config import Config, config_path
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, TABLE, glyph
from tltui.screens.prompt import Prompt
from tltui.text import tokens
from tltui.text.document import Builder, TextDocument
from tltui.widgets.document_view import DocumentView


def help_document(ascii_only: bool, config: Config) -> TextDocument:
    """Marks, keys, addresses, where settings go."""
    builder = Builder("@help", "help  (esc closes, / searches)")
    builder.heading("Marks in the tree")
    for status, row in TABLE.items():
        builder.add("  ", (glyph(status, ascii_only), row.colour), f"  {status:<8} ", (row.meaning, tokens.DIM))
    again = ASCII_RECOMPILE if ascii_only else RECOMPILE_GLYPH
    why = "compiled again, because a guard of an earlier compile failed"
    builder.add("  ", (again, tokens.RECOMPILE), "  again    ", (why, tokens.DIM))
    for where in Where:
        builder.heading(f"Keys: {where.value}")
        for command in of(where):
            keys = config.keys.get(command.id, command.keys)
            listed = " ".join(shown(key) for key in keys) or "(palette)"
            builder.add(("  " + f"{listed:<18}", tokens.KEYWORD), command.help)
    builder.heading("Addresses")
    builder.add("  [RANK[.PROCESS]:]ID[_ATTEMPT][:ARTIFACT[#N]]")
    for example, meaning in (
        ("0/1", "compile 1 of frame 0; [0/1] in torch's logs"),
        ("3:0/1_1", "the same on rank 3, attempt 1"),
        ("0/1:inductor_output_code#2", "its second inductor_output_code"),
        ("a0/1/0", "[!0/1/0], with compiled autograd"),
        ("none:torch_version", "an artifact without a compile id"),
        ("0/", "frame 0: all its compiles"),
    ):
        builder.add(("  " + f"{example:<28}", tokens.LABEL), meaning)
    builder.heading("Settings")
    builder.add(f"  {config_path()}")
    for line in ('theme = "auto"   # auto, dark, light, high-contrast, ansi-dark, ansi-light, mono', "mouse = true",
                 "ascii = false", "[keys]", '"app.next_error" = ["e", "f8"]'):  # fmt: skip
        builder.add(("    " + line, tokens.DIM))
    for problem in config.problems:
        builder.add("  ", (problem, tokens.WARN))
    builder.blank()
    builder.add("With the mouse captured, shift and drag selects text as the terminal does; --no-mouse leaves it to the terminal.")
    return builder.document()


class Help(ModalScreen[None]):
    """Shows the help document."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "leave", "close", show=False)]

    def __init__(self, ascii_only: bool, config: Config) -> None:
        super().__init__()
        self._ascii = ascii_only
        self._config = config

    def compose(self) -> ComposeResult:
        """The document."""
        yield DocumentView(ascii_only=self._ascii, id="help")

    def on_mount(self) -> None:
        """Show it."""
        view = self.query_one(DocumentView)
        view.show(help_document(self._ascii, self._config))
        view.focus()

    def action_leave(self) -> None:
        """Close, unless the document has something to close first."""
        if not self.query_one(DocumentView).close_innermost():
            self.dismiss(None)

    @on(DocumentView.AskSearch)
    def _ask_search(self, message: DocumentView.AskSearch) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                message.view.search(text)

        self.app.push_screen(Prompt("/"), answered)
