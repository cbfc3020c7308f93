"""The part of the time that charts of a page show: zooming in and out, earlier and later."""

from __future__ import annotations

Window = tuple[float, float]
"""Begin and end, as shares of the whole time."""
WHOLE: Window = (0.0, 1.0)
SHORTEST = 1 / 4096
"""Share of the time that is shown at least."""
FACTOR, STEP = 2.0, 0.5
"""By how much a press of a key zooms, and the part of the window by which one moves it."""


def zoomed(window: Window, inward: bool) -> Window:
    """Return half of a window, or twice its time, around its middle."""
    low, high = window
    span = min(max((high - low) / FACTOR if inward else (high - low) * FACTOR, SHORTEST), 1.0)
    return _within((low + high - span) / 2, span)


def moved(window: Window, later: bool) -> Window:
    """Return a window moved by half of its time, as far as there is time."""
    low, high = window
    return _within(low + (high - low) * (STEP if later else -STEP), high - low)


def _within(low: float, span: float) -> Window:
    low = min(max(low, 0.0), 1.0 - span)
    return (low, low + span) if span < 1.0 else WHOLE
