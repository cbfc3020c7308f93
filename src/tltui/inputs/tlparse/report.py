"""Which directory is a report of tlparse, by the names in it (tlparse 0.3 and 0.4: `lib.rs`, `cli.rs`)."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

RAW_LOG = "raw.log"
"""A byte for byte copy of the trace."""
RAW_ROWS = "raw.jsonl"
"""Its envelopes, without payloads, strings and chromium events."""
EVENTS = "chromium_events.json"
_MARKS = frozenset(("compile_directory.json", "failures_and_restarts.html", EVENTS))


class Report(Enum):
    """What a directory is."""

    NONE = ""
    """No report."""
    WITH_LOG = "with the trace"
    WITHOUT_LOG = "without the trace"


def report_in(names: Collection[str]) -> Report:
    """What a directory is that has files of these names."""
    if not any(mark in names for mark in _MARKS) and not (RAW_LOG in names and "index.html" in names):
        return Report.NONE
    if RAW_LOG in names:
        return Report.WITH_LOG
    return Report.WITHOUT_LOG if RAW_ROWS in names else Report.NONE


def is_rows(head: bytes) -> bool:
    """Whether a file begins as `raw.jsonl` does: with the string table."""
    return head.startswith(b'{"string_table":[')
