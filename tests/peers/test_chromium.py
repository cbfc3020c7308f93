"""`tltui timing --perfetto` writes the events that tlparse puts into chromium_events.json.

What differs by intent: the numbers of processes and threads (torch writes 0 for all; tlparse keeps that), and the events
that name processes and threads.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from real import opened
from tlparse_pages import LOGS, label, page

from tltui.questions.timing.timing_events import ReadStats, read_groups
from tltui.writers.perfetto import Written, chunks


def multiset(events: list[dict[str, Any]]) -> Counter[str]:
    kept = [{key: value for key, value in event.items() if key not in ("pid", "tid")} for event in events]
    return Counter(json.dumps(event, sort_keys=True) for event in kept)


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_the_same_events_as_tlparse(path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = page(path, "chromium_events.json", tmp_path_factory)
    theirs = json.loads(text) if text else []
    compiles = list(opened(path).compiles())
    written = Written()
    ours = [e for e in json.loads(b"".join(chunks(compiles, written)))["traceEvents"] if e["ph"] != "M"]
    assert multiset(ours) == multiset(theirs)
    assert written.events == len(theirs) and written.unreadable == 0
    seen = ReadStats()
    for _ in read_groups(compiles, seen):
        pass
    assert (seen.events, seen.unreadable, seen.lone_ends) == (len(theirs), 0, 0)
