"""Work in steps: a generator that yields after each step, so that others get their turn, and returns its result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar, cast

T = TypeVar("T")


def run_steps(steps: Generator[object, None, T]) -> T:
    """Run steps to their end without a pause, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return cast(T, stop.value)
