"""The files below a directory that may be logs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from tltui.inputs.debug_dir.layout import layout_of
from tltui.inputs.tlparse.report import RAW_LOG, RAW_ROWS, Report, report_in
from tltui.sources.found import Skipped
from tltui.sources.sniffing import is_named_like_a_log

MAX_DEPTH = 8
MAX_FILES = 20_000
"""Files of a directory that are opened whatever their names are; as many again with names of logs."""
MAX_LISTED = 1_000_000
"""Files and directories whose names are read."""


def walk(top: str, skipped: list[Skipped]) -> Iterator[str]:
    """Regular files below a directory, breadth first, and directories of units in place of what is in them. Of more than can be
    opened in a moment those that have names of logs: the rest is counted, and the directory is the first that was skipped."""
    queue, chosen = [(top, 0)], _Chosen()
    while queue and chosen.listed < MAX_LISTED:
        directory, depth = queue.pop(0)
        try:
            with os.scandir(directory) as entries:
                listing = sorted(entries, key=lambda entry: _natural(entry.name))
        except OSError as error:
            skipped.append(Skipped(directory, error.strerror or str(error)))
            continue
        chosen.listed += 1
        report = report_in({entry.name for entry in listing})
        if report is not Report.NONE:  # whatever else is in it says the same once more, or is a page to be looked at
            yield os.path.join(directory, RAW_LOG if report is Report.WITH_LOG else RAW_ROWS)
            continue
        if (units := layout_of(directory, listing)) is not None:
            yield directory
            if units.inside is None:
                continue
        for entry in listing:
            if units is not None and units.inside is not None and entry.name in units.inside:
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH:
                    queue.append((entry.path, depth + 1))
                else:
                    skipped.append(Skipped(entry.path, f"more than {MAX_DEPTH} levels deep"))
            elif entry.is_symlink() and os.path.isdir(entry.path):
                if not _inside(entry.path, top):
                    skipped.append(Skipped(entry.path, "a symbolic link to a directory: not followed"))
            elif chosen.takes(entry.name):
                yield entry.path
    if reason := chosen.stopped(is_all=not queue):
        skipped.insert(0, Skipped(top, reason))


class _Chosen:
    """Counts files, and chooses those that are opened."""

    def __init__(self) -> None:
        self.listed = 0
        """Files and directories whose names were read."""
        self._files = self._named = 0

    def takes(self, name: str) -> bool:
        """Whether the next file is opened."""
        self._files += 1
        self.listed += 1
        if self._files <= MAX_FILES:
            return True
        if self._named == MAX_FILES or not is_named_like_a_log(name):
            return False
        self._named += 1
        return True

    def stopped(self, is_all: bool) -> str:
        """How many files were not opened; '' where all were."""
        opened = min(self._files, MAX_FILES) + self._named
        if is_all and opened == self._files:
            return ""
        more, first = "" if is_all else "more than ", ", those with names of logs first" if self._named else ""
        return f"stopped after {opened:,} of {more}{self._files:,} files{first}: name the log or its directory"


def _inside(path: str, top: str) -> bool:
    """Whether what a link leads to is found anyway."""
    real = os.path.realpath(top)
    return os.path.commonpath([os.path.realpath(path), real]) == real


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]
