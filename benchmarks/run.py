"""Measure every promise of tltui's design on this machine, and print a table.

    python benchmarks/run.py [--quick] [--only NAME ...] [--keep DIR] [--no-fail]

See README.md beside it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import commands
import following
import joining
import recompiling
import scale
import screens
import searching
import slow_line
import starting
from rows import Bench, Row, printed

BENCHES: dict[str, Bench] = {**starting.BENCHES, **commands.BENCHES, **screens.BENCHES, **searching.BENCHES, **following.BENCHES,
                           **slow_line.BENCHES, **scale.BENCHES, **joining.BENCHES, **recompiling.BENCHES}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a 200 MB trace instead of 1 GB, fewer repetitions, no tlparse")
    names = list(BENCHES)
    usual = [name for name in names if name not in scale.LONG]
    parser.add_argument("--only", nargs="+", choices=names, default=usual, metavar="NAME", help=", ".join(names))
    keep = Path(os.environ.get("TMPDIR") or tempfile.gettempdir()) / "tltui-benchmarks"
    parser.add_argument("--keep", type=Path, default=keep, metavar="DIR", help=f"where the logs are (default: {keep})")
    parser.add_argument("--no-fail", action="store_true", help="exit code 0 even when a promise is not kept")
    options = parser.parse_args(argv)
    machine = f"Python {platform.python_version()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    print(f"{machine}, logs in {options.keep}\n")
    print(printed(Row("what", "budget", "measured", None)))
    missed = 0
    for name in options.only:
        for row in measured(name, options.keep, options.quick):
            missed += row.ok is False
            print(printed(row), flush=True)
    print(f"\n{missed} missed" if missed else "\nall kept")
    return 1 if missed and not options.no_fail else 0


def measured(name: str, keep: Path, quick: bool) -> list[Row]:
    """Return the rows of a benchmark; a failure is a broken promise."""
    try:
        return BENCHES[name](keep, quick)
    except Exception as error:
        traceback.print_exc()
        reason = str(error).partition("\n")[0][:60]
        return [Row(name, "", f"failed: {type(error).__name__}: {reason}", False)]


if __name__ == "__main__":
    sys.exit(main())
