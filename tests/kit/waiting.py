"""Waiting for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def until(condition: Callable[[], Value], seconds: float = 60.0) -> Value:
    """Wait until a condition holds and return its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return value
