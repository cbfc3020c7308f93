"""How short times are written: of what runs, not of what is compiled."""

from __future__ import annotations

import math


def micros(us: float) -> str:
    """Microseconds with three digits: `0 µs`, `4.2 µs`, `690 µs`, `1.82 ms`, `41.2 ms`, `3.20 s`, `125 s`"""
    if not math.isfinite(us):
        return "?"
    if us < 0:
        return f"-{micros(-us)}"
    if us < 0.05:
        return "0 µs" if us == 0 else "<0.1 µs"
    for size, unit in ((1.0, "µs"), (1e3, "ms"), (1e6, "s")):
        value = us / size
        if value < 999.5 or unit == "s":
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{min(digits, 1) if unit == 'µs' else digits}f} {unit}"
    raise AssertionError
