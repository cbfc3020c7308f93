"""Apply every remedy that needs no edit to the programs of tests/live/corpus, and print a table of what each did.

    python tools/corpus.py [-o DIR] [--budget SECONDS] [NAME ...]

Needs a `python` on PATH with torch and the libraries of the programs. A program whose library is missing is listed as skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "live" / "corpus"


def tried(program: Path, directory: Path, budget: float) -> dict[str, Any] | str:
    """Run `tltui try` on a program; return its report, or why there is none."""
    options = ["--json", "--budget", f"{budget:g}", "-o", str(directory)]
    words = [sys.executable, "-m", "tltui", "try", *options, "--", "python", str(program)]
    done = subprocess.run(words, cwd=program.parent, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        report: dict[str, Any] = json.loads(done.stdout)
        return report
    output = directory / "run-1" / "output.txt"
    text = output.read_text(errors="replace") if output.exists() else done.stderr
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no output")[:100]


def rows(name: str, report: dict[str, Any]) -> list[str]:
    """Return the rows of a program: its counts unchanged, and with each change."""
    before = report["unchanged"][0]["counts"]
    lines = [f"| {name} | unchanged | {before['recompilations']} | {before['graph_breaks']} | |"]
    for outcome in report["changed"]:
        counts, numbers = outcome["counts"], outcome["numbers"] or {}
        equal = "failed" if outcome["exit_code"] else f"{numbers.get('differing', 0)} of {numbers.get('compared', 0)} differ"
        change = outcome["change"] if len(outcome["change"]) < 90 else outcome["change"][:89] + "…"
        lines.append(f"| | {outcome['label']} `{change}` | {counts['recompilations']} | {counts['graph_breaks']} | {equal} |")
    return lines


def main() -> int:
    """Run the programs; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("-o", dest="directory", type=Path, help="keep the runs here")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds per program")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in PROGRAMS.glob("*.py"))
    print("| program | change | recompilations | graph breaks | numbers |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        place = options.directory or Path(temporary)
        for name in names:
            report = tried(PROGRAMS / f"{name}.py", place / name, options.budget)
            lines = [f"| {name} | skipped: {report} | | | |"] if isinstance(report, str) else rows(name, report)
            print("\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
