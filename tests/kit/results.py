"""JSON that a command printed."""

from __future__ import annotations

import json
from typing import Any


def result_in(text: str | bytes) -> Any:
    """Return the result in its envelope."""
    found = json.loads(text)
    assert list(found) == ["view", "schema_version", "run", "ref", "result"], found
    return found["result"]
