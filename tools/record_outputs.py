#!/usr/bin/env python3
"""Record the output of every command on many traces, or compare two records: the safety net of a change that preserves behavior.

    python tools/record_outputs.py before.outputs [PATH ...]     # default: the traces of the tests and the demo
    python tools/record_outputs.py after.outputs
    python tools/record_outputs.py --compare before.outputs after.outputs

A record is a directory with one compressed file per trace: for each command line its exit code, messages and output as text at 80
and 120 columns, JSON, Markdown and HTML. A comparison prints each command line whose output differs, and the first line that does.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRACES = ROOT / "tests" / "traces"
AGE = 1.7e9
"""Time of the last change that all traces get, in seconds since 1970."""
ONE_TRACE_S = 900
"""Seconds after which recording a trace is given up."""


def traces() -> list[str]:
    """Return the paths that are recorded by default, relative to the repository where they are in it."""
    inputs = TRACES / "inputs"
    logs = {path.parent for path in TRACES.rglob("*") if path.suffix in (".log", ".txt") and inputs not in path.parents}
    alone = sorted((TRACES / "tlparse").glob("*.log"))
    return ["src/tltui/demo", *(str(path.relative_to(ROOT)) for path in [*sorted(logs), *sorted(inputs.iterdir()), *alone])]


def command_lines(path: str, scratch: str) -> list[list[str]]:
    """Return the command lines to record for one path."""
    from tltui.cli.registry import COMMANDS

    views = [name for name in COMMANDS if name in VIEW_NAMES]
    pages = [[name, path] for name in views]
    pages += [["ls", path], ["records", path], ["log", path], ["damage", path], ["check", path, "--fail-on", "error,break"]]
    pages += [["grep", path, "add"], ["diff", path, "0/0", "0/1"], ["source", path, "train.py:1"]]
    pages += [["show", path, ref] for ref in ("@run", "@pages", "rank0", "0", "0/0", "0/1", "0/0/attempt0", "0/0/bwd")]
    out = [[*line, *form] for line in pages for form in ([], ["--json"])]
    out += [[name, path, "0/0"] for name in views]
    out += [[name, path, "--markdown"] for name in ("summary", "problems", "recompiles", "timing")]
    out += [[name, path, "-o", f"{scratch}/page.html", "--force"] for name in views]
    return [*out, ["report", path, "-o", f"{scratch}/report.html", "--force"]]


VIEW_NAMES = (
    "summary", "problems", "recompiles", "stacks", "guards", "shapes", "caches", "timing", "runtime", "ranks", "matrix",
    "stragglers", "where", "provenance", "layers", "fusion", "passes", "absent", "metrics", "exports", "vllm",
)  # fmt: skip


def output_of(arguments: list[str]) -> str:
    """Run a command in this process; return its exit code, messages and output."""
    from tltui.cli import main

    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before, sys.stdout = sys.stdout, out
    try:
        with redirect_stderr(errors):
            try:
                code = main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
        out.flush()
        return f"{code} {errors.getvalue()}\n" + out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    finally:
        sys.stdout = before


def record_trace(path: str, out: str) -> None:
    """Write the outputs of all commands on one path to `out`."""
    scratch = f"{out}.d"
    os.makedirs(scratch, exist_ok=True)
    outputs: dict[str, str] = {}
    for line in command_lines(path, scratch):
        widths = (80, 120) if "-o" not in line and "--json" not in line else (100,)
        for width in widths:
            os.environ["COLUMNS"] = str(width)
            text = output_of(line)
            if "-o" in line:
                page = Path(line[line.index("-o") + 1])
                text += page.read_text() if page.exists() else ""
                page.unlink(missing_ok=True)
            outputs[f"{' '.join(line)} [{width}]".replace(scratch, "OUT")] = text.replace(scratch, "OUT")
    Path(out).write_bytes(zlib.compress(json.dumps(outputs).encode()))
    os.rmdir(scratch)


def copy_traces(directory: str) -> None:
    """Copy the traces of the tests and the demo to the same places below `directory`, all of one age."""
    for name in ("tests/traces", "src/tltui/demo"):
        shutil.copytree(ROOT / name, Path(directory) / name, copy_function=shutil.copyfile)
    for path in Path(directory).rglob("*"):  # a log that was written today may be that of a running job: its pages differ
        os.utime(path, (AGE, AGE))


def record(out: Path, paths: list[str], jobs: int) -> int:
    """Record each path in a process of its own. Return an exit code."""
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as directory:
        copy_traces(directory)
        return record_in(directory, out, paths, jobs)


def record_in(directory: str, out: Path, paths: list[str], jobs: int) -> int:
    """Record paths relative to `directory`. Return an exit code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TLTUI_", "TORCH_"))}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "TLTUI_CONFIG": os.devnull}

    def one(path: str) -> str:
        name = hashlib.sha256(path.encode()).hexdigest()[:12]
        asked = [sys.executable, __file__, "--one", path, str((out / name).absolute())]
        try:
            ran = subprocess.run(
                asked, cwd=directory, env=environment, timeout=ONE_TRACE_S, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{path}: more than {ONE_TRACE_S} s"
        return f"{path}: {ran.stderr[-2000:]}" if ran.returncode else ""

    with ThreadPoolExecutor(jobs) as pool:
        failures = [failure for failure in pool.map(one, paths) if failure]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(paths) - len(failures)} of {len(paths)} traces recorded in {out}")
    return bool(failures)


def outputs_in(record: Path) -> dict[str, str]:
    """Return command line -> output of one trace; nothing where it was not recorded."""
    outputs: dict[str, str] = json.loads(zlib.decompress(record.read_bytes())) if record.exists() else {}
    return outputs


def compare(before: Path, after: Path) -> int:
    """Print the command lines whose outputs differ. Return 1 where any does."""
    names = sorted({path.name for path in before.iterdir()} | {path.name for path in after.iterdir()})
    count = differing = 0
    for name in names:
        sides = [outputs_in(side / name) for side in (before, after)]
        for line in sorted({*sides[0], *sides[1]}):
            count += 1
            texts = [side.get(line, "not recorded").splitlines() for side in sides]
            if texts[0] != texts[1]:
                differing += 1
                print(f"== {line}")
                print(*list(difflib.unified_diff(*texts, "before", "after", n=0, lineterm=""))[2:8], sep="\n")
    print(f"{differing} of {count} outputs differ")
    return bool(differing)


def main() -> int:
    """Record or compare, as the arguments ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="a new directory for the record; with --compare the first record")
    parser.add_argument("paths", nargs="*", help="traces (default: those of the tests); with --compare the second record")
    parser.add_argument("--compare", action="store_true", help="compare two records")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="traces at a time (default: one per CPU)")
    options = parser.parse_args()
    if options.one:
        record_trace(str(options.out), options.paths[0])
        return 0
    if options.compare:
        return compare(options.out, Path(options.paths[0]))
    return record(options.out, options.paths or traces(), options.jobs)


if __name__ == "__main__":
    sys.exit(main())
