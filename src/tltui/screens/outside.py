"""Other programs that are shown a document: $PAGER and $EDITOR."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tltui.export import lines_of, proposed_name
from tltui.screens.main_screen import MainScreen
from tltui.text import tokens
from tltui.text.growing import GrowingDocument
from tltui.work.scheduler import Place, Steps


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
        pager = shlex.split(os.environ.get("PAGER") or "less -R")
        style = "ansi" if "less" in pager[0] else "text"
        self._when_whole(lambda: self._run(pager, lines_of(self._bench.current_document, style)))

    def editor(self) -> None:
        """In $EDITOR: a copy, since a trace is not to be changed."""
        self._when_whole(self._edit)

    def _edit(self) -> None:
        own = self._bench
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with tempfile.TemporaryDirectory(prefix="tltui-") as directory:
            file = Path(directory) / proposed_name(own.current_document)
            with file.open("w", encoding="utf-8", errors="backslashreplace") as out:
                out.writelines(f"{line}\n" for line in lines_of(own.current_document))
            self._run([*editor, f"+{own.document_view.current_line() + 1}", str(file)], None)

    def _run(self, command: list[str], lines: Iterator[str] | None) -> None:
        try:
            with self._bench.app.suspend():
                if lines is None:
                    subprocess.run(command, check=False)
                else:
                    _feed(command, lines)
        except Exception as error:
            self._bench.tell(f"could not run {command[0]}: {error}", tokens.ERROR)


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
