"""Tracebacks in the forms of rich and IPython, converted line by line to Python's own form."""

from __future__ import annotations

from typing import Protocol

from tltui.text.lazy_pattern import lazy_pattern

HEADER = "Traceback (most recent call last):"
RICH_HEADER = r"[╭┌+][─-]+ Traceback \(most recent call last\) [─-]+[╮┐+]"
"""`rich.traceback.Traceback.__rich_console__`, with and without `ascii_only`."""
IPYTHON_HEADER = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w+ +Traceback \(most recent call last\)"
"""`IPython.core.ultratb.VerboseTB.prepare_header`, of IPython 7 (which Colab has) to 9."""
_RICH_END = lazy_pattern(r"^[╰└+][─-]+[╯┘+]\s*$")
_RICH_LINE = lazy_pattern(r"^[│|] (?P<text>.*?)\s*[│|]?\s*$")
_RICH_PLACE = lazy_pattern(r"^(?P<file>.+?):(?P<line>\d{1,9}) in (?P<name>\S+)$")
_RICH_CODE = lazy_pattern(r"^\s*❱ \d+ (?P<code>.*)$|^\s*> \d+ (?P<ascii>.*)$")
_RICH_GUIDES = lazy_pattern(r"^[\s│|]+")
_CELL = lazy_pattern(
    r"^(?:File (?P<file>.+?):(?P<line>\d{1,9})(?:, in (?P<name>[^\s(]+).*)?"
    r"|(?P<cell>(?:Cell |Input )?In ?\[\d+\])(?:, line (?P<cell_line>\d{1,9}))?(?:, in (?P<cell_name>[^\s(]+).*)?"
    r"|(?P<old_file>\S.*?) in (?P<old_name>[^\s(]+)\(.*\))$"
)
_ARROW = lazy_pattern(r"^-+> ?(?P<line>\d{1,9}) ?(?P<code>.*)$")
_RAISED = lazy_pattern(r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w+)(?::|$)")


class Frames(Protocol):
    """Reads the frames of a traceback in another form."""

    def read(self, text: str) -> list[str] | None:
        """Convert the next line to lines of Python's form; None for the first line behind the frames."""


class RichFrames:
    """Frames in a box: `│ /path/model.py:24 in step │`, then code with `❱ 24 │   return x`."""

    def __init__(self) -> None:
        self._is_over = False
        self._place = ""  # a place may be wrapped

    def read(self, text: str) -> list[str] | None:
        """Convert the next line to lines of Python's form; None for the first line behind the frames."""
        if self._is_over:
            return None
        if _RICH_END.match(text):
            self._is_over = True
            return []
        match = _RICH_LINE.match(text)
        if match is None:
            return None
        content = match["text"]
        if code := _RICH_CODE.match(content):
            return ["    " + _RICH_GUIDES.sub("", code["code"] or code["ascii"])]
        if not content or content[0].isspace():
            self._place = ""
            return []
        self._place += (" " if self._place.endswith(" in") else "") + content
        place = _RICH_PLACE.match(self._place)
        if place is None:
            return []
        self._place = ""
        return [f'  File "{place["file"]}", line {place["line"]}, in {place["name"]}']


class CellFrames:
    """Frames of IPython: `File /path/model.py:24, in step(x)`, then code with `---> 24     return x`."""

    def __init__(self, type_: str) -> None:
        self._type = type_
        self._file = self._name = ""  # of a frame whose line is known by its arrow

    def read(self, text: str) -> list[str] | None:
        """Convert the next line to lines of Python's form; None for the first line behind the frames."""
        raised = _RAISED.match(text)
        if raised is not None and raised["type"].rpartition(".")[2] == self._type:
            return None
        if arrow := _ARROW.match(text):
            file, self._file = self._file, ""
            head = [f'  File "{file}", line {arrow["line"]}, in {self._name}'] if file else []
            return [*head, "    " + arrow["code"].strip()]
        if text[:1].isspace() or (match := _CELL.match(text)) is None:
            return []
        self._file = match["file"] or match["cell"] or match["old_file"]
        qualified = match["name"] or match["cell_name"] or match["old_name"] or "<module>"
        self._name = qualified.rpartition(".")[2]
        line = match["line"] or match["cell_line"]
        if line is None:
            return []
        file, self._file = self._file, ""
        return [f'  File "{file}", line {line}, in {self._name}']


def frames_of(header: str) -> Frames:
    """Return the reader of the frames below a header of rich or IPython."""
    return RichFrames() if "─" in header or header.startswith("+") else CellFrames(header.split()[0].rpartition(".")[2])
