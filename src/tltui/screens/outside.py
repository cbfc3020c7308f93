"""Other programs that are shown a document: $PAGER and $EDITOR."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tltui.screens.main_screen import MainScreen
from tltui.text import tokens
from tltui.text.growing import GrowingDocument
from tltui.work.scheduler import Place, Steps
from tltui.work.signals import unheeded

_running: set[subprocess.Popen[str]] = set()
"""The program that has the terminal now."""


def has_terminal() -> bool:
    """Whether another program has the terminal."""
    return bool(_running)


def end() -> None:
    """End it: for a program that is told to go while another one has the terminal."""
    for process in tuple(_running):
        process.terminate()


class Outside:
    """The keys `v` and `ctrl+e`."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench

    def _when_whole(self, then: Callable[[], None]) -> None:
        """Begin when the page that is shown is complete: it is made by the scheduler, whoever wants it."""
        bench = self._bench
        document = bench.current_document
        if document.complete or not isinstance(document, GrowingDocument):
            then()
            return

        def completing() -> Steps:
            while not document.advance():
                yield None
            bench.answer(lambda: then() if document is bench.current_document else None)

        bench.tell("making the rest of the page first …")
        bench.document_view.work(completing(), Place.NODES)

    def pager(self) -> None:
        """In $PAGER."""
        from tltui.export import lines_of  # not before the first frame

        pager = self._command("PAGER", os.environ.get("PAGER", ""), "less -R")
        if pager:
            is_less = Path(pager[0]).name == "less"
            pager += ["-R"] * (is_less and "-R" not in pager)  # without it less shows the escapes of colours
            style = "ansi" if is_less else "text"
            self._when_whole(lambda: self._run(pager, lines_of(self._bench.current_document, style)))

    def editor(self) -> None:
        """In $EDITOR: a copy, since a trace is not to be changed."""
        name = "VISUAL" if os.environ.get("VISUAL", "").strip() else "EDITOR"
        if editor := self._command(name, os.environ.get(name, ""), "vi"):
            self._when_whole(lambda: self._edit(editor))

    def _command(self, name: str, text: str, default: str) -> list[str]:
        """The words of a command in an environment variable; [] where they are none, and that is told."""
        try:
            return shlex.split(text) or shlex.split(default)
        except ValueError as error:
            self._bench.tell(f"${name} is no command: {error}", tokens.ERROR)
            return []

    def _edit(self, editor: list[str]) -> None:
        from tltui.export import lines_of, proposed_name

        own = self._bench
        with tempfile.TemporaryDirectory(prefix="tltui-") as directory:
            file = Path(directory) / proposed_name(own.current_document)
            with file.open("w", encoding="utf-8", errors="backslashreplace") as out:
                out.writelines(f"{line}\n" for line in lines_of(own.current_document))
            self._run([*editor, f"+{own.document_view.current_line() + 1}", str(file)], None)

    def _run(self, command: list[str], lines: Iterator[str] | None) -> None:
        try:
            with self._bench.app.suspend(), _deaf_to_keys():
                _feed(command, lines)
        except Exception as error:
            self._bench.tell(f"could not run {command[0]}: {error}", tokens.ERROR)


@contextmanager
def _deaf_to_keys() -> Iterator[None]:
    """Ctrl+c is meant for the program that has the terminal, and the terminal sends its signal to this one, too."""
    before = {number: signal.signal(number, unheeded) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _feed(command: list[str], lines: Iterator[str] | None) -> None:
    """Run a program, a pager on lines; it may be left before it has seen them all."""
    read = None if lines is None else subprocess.PIPE
    with subprocess.Popen(command, stdin=read, text=True, encoding="utf-8", errors="backslashreplace") as process:
        _running.add(process)
        try:
            if process.stdin is not None:
                for line in lines or ():
                    process.stdin.write(line + "\n")
                process.stdin.close()
            process.wait()
        except BrokenPipeError:
            pass
        finally:
            _running.discard(process)
