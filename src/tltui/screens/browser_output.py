"""What leaves the main screen: copies, files, other programs."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from tltui.config import cache_path
from tltui.export import WouldOverwrite, lines_of, proposed_name, write
from tltui.messages import Written
from tltui.screens.clipboard import copy
from tltui.screens.prompt import Confirm, Prompt
from tltui.text import tokens
from tltui.text.document import Document
from tltui.text.part import Part

if TYPE_CHECKING:
    from tltui.screens.browser import Browser

LAST_WRITE = 10.0
"""Seconds that leaving waits for a file that is being written."""


class BrowserOutput(Screen[None]):
    """Copying, exporting, pager, editor."""

    def __init__(self) -> None:
        super().__init__()
        self._writers: list[threading.Thread] = []

    @property
    def own(self) -> Browser:
        """The screen itself, with what `browser.py` adds."""
        from tltui.screens.browser import Browser

        assert isinstance(self, Browser)
        return self

    def action_copy(self) -> None:
        """Selection or line; in the tree the address."""
        own = self.own
        if own.tree_view.has_focus:
            text = own.current_node.ref or own.trace.found.paths[0]
        else:
            view = own.document_view
            lo, hi = view.selected_lines() or (view.current_line(), view.current_line() + 1)
            text = "\n".join(own.current_document.text(lo, hi))
        self._copy(text)

    def action_copy_address(self) -> None:
        """Address and file."""
        own = self.own
        compile_ = own.current_compile
        path = compile_.process.log.path if compile_ else own.trace.found.paths[0]
        self._copy(f"{path} {own.shown_ref}".strip())

    def _copy(self, text: str) -> None:
        self.own.tell(copy(text, self.app.copy_to_clipboard, cache_path() / "yank.txt"))

    def action_export(self) -> None:
        """To a file."""
        own = self.own
        document = own.current_document
        selected = own.document_view.selected_lines()
        lines = f" ({selected[1] - selected[0]} lines)" if selected else ""

        def named(path: str | None) -> None:
            if path and path.strip():
                self._export(document, path.strip(), selected, force=False)

        self.app.push_screen(Prompt(f"write{lines} to", proposed_name(document), ".txt .ansi .md"), named)

    def _export(self, document: Document, path: str, selected: tuple[int, int] | None, force: bool) -> None:
        """Write in a thread of its own: 100 MB take seconds, and a key always answers at once."""
        lo, hi = selected or (0, None)
        copied = self.own.copier()
        seen = self.own.document_view.filtered_lines
        if seen is not None and selected is not None:
            seen = [line for line in seen if selected[0] <= line < selected[1]]

        def work() -> None:
            try:
                if seen is None:
                    count = write(copied(document), path, lo=lo, hi=hi, force=force)
                else:
                    count = write(Part(copied(document), seen), path, force=force)
            except WouldOverwrite as exists:
                target = str(exists)
                told = Written("", lambda: self._ask_to_replace(target, document, path, selected))
            except OSError as error:
                told = Written(f"could not write {path}: {error.strerror or error}", style=tokens.ERROR)
            except Exception as error:  # a document of ours that fails at some line
                told = Written(f"could not write {path}: {type(error).__name__}, a fault of tltui", style=tokens.ERROR)
            else:
                told = Written(f"wrote {count:,} lines to {path}")
            self.post_message(told)

        self.own.tell(f"writing {path} …")
        writer = threading.Thread(target=work, name="export", daemon=True)
        self._writers = [*(thread for thread in self._writers if thread.is_alive()), writer]
        writer.start()

    def on_written(self, message: Written) -> None:
        """A file is written, or not."""
        if message.ask is not None:
            message.ask()
        else:
            self.own.tell(message.text, message.style)

    def _ask_to_replace(self, target: str, document: Document, path: str, selected: tuple[int, int] | None) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._export(document, path, selected, force=True)
            else:
                self.own.tell("nothing was written")

        self.own.status.quiet()
        self.app.push_screen(Confirm(f"replace {target}?"), answered)

    def finish_writing(self) -> None:
        """Before the end: what was asked for is written."""
        for writer in self._writers:
            writer.join(LAST_WRITE)

    def action_pager(self) -> None:
        """In $PAGER."""
        pager = shlex.split(os.environ.get("PAGER") or "less -R")
        self._outside(pager, lines_of(self.own.current_document, "ansi" if "less" in pager[0] else "text"))

    def action_editor(self) -> None:
        """In $EDITOR: a copy, since a trace is not to be changed."""
        own = self.own
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with tempfile.TemporaryDirectory(prefix="tltui-") as directory:
            file = Path(directory) / proposed_name(own.current_document)
            with file.open("w", encoding="utf-8", errors="backslashreplace") as out:
                out.writelines(f"{line}\n" for line in lines_of(own.current_document))
            self._outside([*editor, f"+{own.document_view.current_line() + 1}", str(file)], None)

    def _outside(self, command: list[str], lines: Iterator[str] | None) -> None:
        try:
            with self.app.suspend():
                if lines is None:
                    subprocess.run(command, check=False)
                else:
                    _feed(command, lines)
        except Exception as error:
            self.own.tell(f"could not run {command[0]}: {error}", tokens.ERROR)

    def action_suspend(self) -> None:
        """To the shell."""
        self.app.action_suspend_process()

    def action_leave(self) -> None:
        """Leave tltui."""
        self.app.exit()


def _feed(command: list[str], lines: Iterator[str]) -> None:
    """Run a pager on lines; it may be left before it has seen them all."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8", errors="backslashreplace") as process:
        assert process.stdin is not None
        try:
            for line in lines:
                process.stdin.write(line + "\n")
            process.stdin.close()
        except BrokenPipeError:
            pass
