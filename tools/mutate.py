"""Measure whether the unit tests notice wrong code: make small changes in `trace/`, `model/`, `questions/`, run what reaches them.

    python tools/mutate.py                     # 100 changes, seed 761
    python tools/mutate.py --list              # what they are
    python tools/mutate.py --only 17           # one of them, with the tests' output

A change that no test notices *survives*: either it makes no difference that anybody could see, or a test is missing.
Which tests reach which line is found by one run of all of them and kept in a temporary directory for as long as neither
code nor tests change. Changes are made in copies of `src`, never in the checkout.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from mutants import Place, mutated, places

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "unit"
PACKAGES = ("trace", "model", "questions")
FIRST = 60
"""Tests that are tried before all that reach the line."""


@dataclass(frozen=True)
class Mutant:
    """One change."""

    number: int
    module: str
    """Path below src/tltui."""
    place: Place
    index: int
    """Index of the place in its module."""
    change: int

    def __str__(self) -> str:
        place = self.place
        head = f"{self.number:3}  src/tltui/{self.module}:{place.line}:{place.column} {place.function}"
        return f"{head}\n       {place.before}  →  {place.changes[self.change][0]}"


def mutants(seed: int, count: int) -> list[Mutant]:
    """Return the changes of a seed, in the order of the files. An edit of other code does not change the choice."""
    candidates: list[tuple[str, int, Place, int]] = []
    counts: Counter[str] = Counter()
    for package in PACKAGES:
        for path in sorted((ROOT / "src" / "tltui" / package).rglob("*.py")):
            module = str(path.relative_to(ROOT / "src" / "tltui"))
            for index, place in enumerate(places(ast.parse(path.read_text(encoding="utf-8")))):
                name = f"{seed} {path.name} {place.function} {place.before}"
                counts[name] += 1
                drawn = int.from_bytes(hashlib.sha256(f"{name} {counts[name]}".encode()).digest()[:8], "big")
                candidates.append((module, index, place, drawn))
    limit = sorted(drawn for *_, drawn in candidates)[:count][-1]
    chosen = [item for item in candidates if item[-1] <= limit]
    return [
        Mutant(number, module, place, index, drawn % len(place.changes))
        for number, (module, index, place, drawn) in enumerate(chosen, 1)
    ]


@dataclass(frozen=True)
class Reach:
    """Which tests reach which lines, and how long they take."""

    seconds: dict[str, float]
    tests: dict[tuple[str, int], list[str]]
    """By module and line."""

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a change, the likeliest to notice it first."""
        first, last = mutant.place.lines
        tests = self.tests.get((mutant.module, mutant.place.line))
        if tests is None:  # a line inside of a statement: the function will do
            tests = sorted({test for line in range(first, last + 1) for test in self.tests.get((mutant.module, line), ())})
        words = Path(mutant.module).with_suffix("").parts[::-1]

        def likely(test: str) -> tuple[int, float]:
            file = test.partition("::")[0]
            return (next((n for n, word in enumerate(words) if word.rstrip("s") in file), len(words)), self.seconds[test])

        by_file: dict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=likely):
            by_file[test.partition("::")[0]].append(test)
        # the best of every file, then the second best: tests of one file resemble each other
        rounds = [(place // 10, likely(test), test) for tests in by_file.values() for place, test in enumerate(tests)]
        return [test for _, _, test in sorted(rounds)]


def command(*more: str) -> list[str]:
    """Return the command line of pytest with the plugin."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reached", *more]


def environment(src: Path, **more: str) -> dict[str, str]:
    """Return the environment in which tests use the package in `src`."""
    paths = os.pathsep.join((str(src), str(ROOT / "tools")))
    return {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **more}


def copy_of_src(directory: Path) -> Path:
    """Make a compiled copy of src that may be changed."""
    src = directory / "src"
    shutil.copytree(ROOT / "src", src, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(src, quiet=1)
    return src


def reach(wanted: list[Mutant], jobs: int) -> Reach:
    """Return the reach of the tests, from a cache for these very files, else from a run of all unit tests (minutes)."""
    reachable: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for mutant in wanted:
        reachable[mutant.module].append(mutant.place.lines)
    digest = hashlib.sha256(json.dumps(reachable).encode())
    shared = [*(ROOT / "tests").glob("*.py"), *(ROOT / "tests" / "kit").glob("*.py")]
    used = [*(ROOT / "src").rglob("*.py"), *TESTS.rglob("*"), *shared, ROOT / "tools" / "reached.py"]
    for path in sorted(path for path in used if path.is_file() and path.suffix != ".pyc"):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    cache = Path(tempfile.gettempdir()) / f"tltui-reached-{os.getuid()}" / f"{digest.hexdigest()[:16]}.json"
    if not cache.exists():
        print("finding out which tests reach which line …", file=sys.stderr, flush=True)
        cache.parent.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            _reach_anew(Path(temporary), reachable, jobs, cache)
    raw = json.loads(cache.read_text(encoding="utf-8"))
    by_line: dict[tuple[str, int], list[str]] = defaultdict(list)
    for test, entry in raw.items():
        for module, lines in entry["lines"].items():
            for line in lines:
                by_line[module, line].append(test)
    return Reach({test: entry["seconds"] for test, entry in raw.items()}, by_line)


def _reach_anew(directory: Path, reachable: dict[str, list[tuple[int, int]]], jobs: int, cache: Path) -> None:
    src = copy_of_src(directory)
    wanted, results = directory / "reachable.json", directory / "results"
    results.mkdir()
    wanted.write_text(json.dumps({str(src / "tltui" / module): ranges for module, ranges in reachable.items()}), encoding="utf-8")
    variables = environment(src, TLTUI_REACHED=str(results), TLTUI_REACHABLE=str(wanted))
    arguments = command(f"-n{jobs}", "--dist", "load", str(TESTS))
    done = subprocess.run(arguments, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    print(done.stdout.strip().splitlines()[-1], file=sys.stderr)
    merged = {}
    for path in results.glob("*.json"):
        for test, entry in json.loads(path.read_text(encoding="utf-8")).items():
            lines = {os.path.relpath(name, src / "tltui"): numbers for name, numbers in entry["lines"].items()}
            merged[test] = {"seconds": entry["seconds"], "lines": lines}
    cache.write_text(json.dumps(merged), encoding="utf-8")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a change."""

    killed_by: str | None
    tests: int
    """Tests that reach it."""


class Slot:
    """A copy of src in which one change at a time is tried."""

    def __init__(self, directory: Path, loud: bool) -> None:
        directory.mkdir()
        self.directory, self.loud = directory, loud
        self.src = copy_of_src(directory)

    def attempt(self, mutant: Mutant, reached: Reach) -> Outcome:
        """Run the tests: the likeliest first, then all."""
        tests = reached.of(mutant)
        file = self.src / "tltui" / mutant.module
        shutil.copy2(file, self.directory / "kept.py")
        source = file.read_text(encoding="utf-8")
        file.write_text(mutated(source, mutant.index, mutant.change), encoding="utf-8")
        try:
            for batch in (tests[:FIRST], tests[FIRST:]):
                if batch and (killer := self._run(batch, sum(reached.seconds[test] for test in batch))):
                    return Outcome(killer, len(tests))
        finally:
            shutil.copy2(self.directory / "kept.py", file)
        return Outcome(None, len(tests))

    def _run(self, tests: list[str], seconds: float) -> str | None:
        """Run tests; return the one that fails, None if all pass."""
        chosen = self.directory / "chosen.json"
        chosen.write_text(json.dumps(tests), encoding="utf-8")
        files = sorted({test.partition("::")[0] for test in tests})
        variables = environment(self.src, TLTUI_CHOSEN=str(chosen))
        process = subprocess.Popen(
            command("-x", "-n0", "--tb=short", *files), cwd=ROOT, env=variables, text=True, errors="replace",
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=40 + 4 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "the time limit"
        if self.loud:
            print(out)
        if process.returncode in (0, 5):
            return None
        failed = re.search(r"^(?:FAILED|ERROR) (tests/unit/\S.*?)(?: - |$)", out, re.MULTILINE)
        return failed[1] if failed else f"exit status {process.returncode}"


def outcomes(chosen: list[Mutant], reached: Reach, jobs: int, loud: bool) -> Iterator[tuple[Mutant, Outcome]]:
    """Yield each change with its outcome, in their order."""
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(jobs) as pool:
        slots: Queue[Slot] = Queue()
        for number in range(jobs):
            slots.put(Slot(Path(temporary) / str(number), loud))

        def attempt(mutant: Mutant) -> Outcome:
            slot = slots.get()
            try:
                return slot.attempt(mutant, reached)
            finally:
                slots.put(slot)

        yield from zip(chosen, pool.map(attempt, chosen), strict=True)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=761)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="only these of them")
    parser.add_argument("--list", action="store_true", help="print the changes, run nothing")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    everyone = mutants(options.seed, options.count)
    chosen = [mutant for mutant in everyone if not options.only or mutant.number in options.only]
    if options.list:
        print("\n".join(map(str, chosen)))
        return 0
    reached = reach(everyone, options.jobs)
    survivors = []
    for mutant, outcome in outcomes(chosen, reached, options.jobs, loud=bool(options.only)):
        killed = outcome.killed_by
        print(f"{mutant}\n       {f'killed by {killed}' if killed else f'SURVIVED {outcome.tests} tests'}", flush=True)
        if not killed:
            survivors.append(mutant)
    print(f"\n{len(chosen) - len(survivors)} of {len(chosen)} killed (seed {options.seed}). Survivors:")
    print("\n".join(map(str, survivors)) or "none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
