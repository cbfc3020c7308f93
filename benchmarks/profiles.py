"""Measure the reading of a large profile: bytes a second, and memory. By hand: `python benchmarks/profiles.py [MB]`.

The profile is that of `tests/traces/profiler/mlp` with its window repeated, times shifted. The budgets are 20 MB a second of
processor, with nesting, and 400 MB of memory for 1 GB.
"""

from __future__ import annotations

import re
import resource
import sys
import tempfile
import time
from pathlib import Path

from tltui.inputs.profile_reader import read_profile
from tltui.questions.runtime.event_nesting import nested

MLP = Path(__file__).parents[1] / "tests" / "traces" / "profiler" / "mlp" / "profile.json"
SPAN = 90_000.0
"""µs between the beginnings of two windows."""
TIMES = re.compile(r'("ts": )([\d.]+)')
NUMBERS = re.compile(r'("(?:External id|Ev Idx|Sequence number|id)": )(\d+)')


def make(path: Path, size: int) -> None:
    """Write a profile of at least `size` bytes."""
    text = MLP.read_text()
    begin, end = text.index("[", text.index('"traceEvents"')) + 1, text.rindex("]")
    window, written, number = text[begin:end].strip(), 0, 0
    with path.open("w") as file:
        file.write(text[:begin])
        while written < size:
            shift, more = number * SPAN, number * 2000
            copy = TIMES.sub(lambda match, by=shift: f"{match[1]}{float(match[2]) + by:.3f}", window)  # type: ignore[misc]
            copy = NUMBERS.sub(lambda match, by=more: f"{match[1]}{int(match[2]) + by}", copy)  # type: ignore[misc]
            written += file.write(("," if number else "") + copy)
            number += 1
        file.write(text[end:])


def main() -> None:
    """Make a profile, read it, and print time and memory."""
    size = int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 1_000_000_000
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "profile.json"
        make(path, size)
        began = time.process_time()
        profile = read_profile(str(path))
        read = time.process_time()
        nesting = nested(profile)
        total = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{size / 1e6:,.0f} MB, {len(profile):,} events, {len(nesting.event):,} spans, {len(nesting.kernels):,} kernels")
    print(f"read {read - began:.1f} s, with nesting {total:.1f} s of processor: {size / 1e6 / total:.0f} MB/s (budget: 20)")
    print(f"{memory:.0f} MB of memory (budget: 400 for 1 GB)")


if __name__ == "__main__":
    main()
