"""Measure every page at three sizes of a run, and again after a batch: seconds, lines, memory, growth.

    python benchmarks/pages.py [--compiles N N N] [--only PAGE ...] [--shared DIR ...]

Run by hand. Seconds are those of the processor, so that other work on the machine counts little. Each page is made in a process
of its own, forked from one that has opened the run: `peak` is its memory at most, the run itself included.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from make import FRAME, copies

from tltui.model.follow import open_run
from tltui.model.run import Run, settle
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.sources.discover import discover
from tltui.text.document import Document, Options
from tltui.tree.listing import listing_document

PLACE = "@source::reasons.py:10"
PAGES = ("run", *(f"@{view.name}" for view in QUESTIONS), "@records", "@damage", PLACE, "ls")
SIZES = (300, 1200, 4800)
BATCH = 1000
"""Records of the last batch."""
IN_A_COPY = 61
"""Compiles of a copy of the two real logs that a run is made of."""
APART = 1_000_000
"""Frame ids of the second one begin here."""
STEP = 8 << 20
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a page."""

    first: float
    """Seconds until its first lines."""
    total: float
    lines: int
    peak: float
    """MB"""
    parts: int
    """Parts that were made for it."""


def job(path: Path, compiles: int) -> Path:
    """Write a log of many compiles: recompiles for many reasons, and some graphs that were lowered to code."""
    pieces = zip(copies("reasons"), copies("cache_hit"), strict=False)
    with path.open("wb") as file:
        for _, (plain, code) in zip(range(max(compiles // IN_A_COPY, 1)), pieces, strict=False):
            file.write(plain)
            file.write(FRAME.sub(lambda match: match[1] + b"%d" % (int(match[2]) + APART), code))
    return path


def make_document(run: Run, page: str) -> Document:
    """Return a page by its address; `run` for the overview, `ls` for the listing."""
    if page == "ls":
        return listing_document(run, Options())
    return build(run, "" if page == "run" else page, Options())


def measure(run: Run, page: str) -> Measured:
    """Make a page to its end."""
    before, begin = run.parts.computed, time.process_time()
    document = make_document(run, page)
    first = 0.0
    while True:
        if not first and len(document):
            first = time.process_time() - begin
        if document.advance():
            break
    total = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(first or total, total, len(document), peak, run.parts.computed - before)


def alone(work: Callable[[], R]) -> R | None:
    """Run work in a process of its own; return None if it fails."""
    context = multiprocessing.get_context("fork")
    here_end, there_end = context.Pipe(False)

    def go() -> None:
        there_end.send(work())

    child = context.Process(target=go)
    child.start()
    there_end.close()
    result: R | None = None
    with suppress(EOFError):
        result = here_end.recv()
    child.join()
    return result


def sizes(logs: Sequence[tuple[str, Path]], pages: Sequence[str]) -> Iterator[str]:
    """Yield each page at each size, and its growth from the last but one to the last."""
    measured: dict[str, list[Measured | None]] = {page: [] for page in pages}
    for _, path in logs:
        run = open_run(discover([str(path)]))
        for page in pages:
            measured[page].append(alone(lambda run=run, page=page: measure(run, page)))  # type: ignore[misc]
    yield f"{'page':<24}" + "".join(f"{name:>36}" for name, _ in logs) + f"{'grew':>8}"
    yield " " * 24 + f"{'first   whole    lines  peak':>36}" * len(logs)
    for page, results in measured.items():
        cells = "".join(
            f"{m.first:>11.2f} s{m.total:>6.2f} s{m.lines:>8,}{m.peak:>5.0f} MB" if m else f"{'failed':>36}" for m in results
        )
        last = results[-2:]
        grew = f"{last[1].total / max(last[0].total, 0.01):>7.1f}×" if len(last) == 2 and last[0] and last[1] else ""
        yield f"{page:<24}{cells}{grew}"


def last_records(path: Path) -> int:
    """Return the offset of the last `BATCH` records of a log."""
    size, back = path.stat().st_size, STEP
    with path.open("rb") as file:
        while True:
            at = file.seek(max(size - back, 0))
            begins = [at + match.start() + 1 for match in re.finditer(rb"\nV", file.read())]
            if len(begins) >= BATCH or not at:
                return begins[-BATCH:][0]
            back *= 2


def after_a_batch(path: Path, pages: Sequence[str]) -> Iterator[str]:
    """Yield each page, complete, before and after a batch of the last records."""
    cut = last_records(path)
    run = Run(discover([str(path)]))
    [scanner] = run.scanners()
    while run.models[0].log.scanned < cut:
        run.apply(0, scanner.step(min(STEP, cut - run.models[0].log.scanned)))
    settle(run)

    def again(page: str) -> tuple[Measured, Measured, int]:
        before = measure(run, page)
        while not run.models[0].log.ended:
            run.apply(0, scanner.step(STEP))
        settle(run)
        return before, measure(run, page), run.tally.compiles

    title = f"after a batch of {BATCH:,} records"
    yield f"\n{title:<36}{'at first':>8}{'parts':>9}{'again':>10}{'parts':>9}{'compiles':>10}"
    for page in pages:  # each from a run as it was before the batch: what other pages keep does not push out what this one keeps
        result = alone(lambda page=page: again(page))  # type: ignore[misc]
        if result is None:
            yield f"{page:<24}failed"
            continue
        was, now, compiles = result
        yield f"{page:<34}{was.total:>8.2f} s{was.parts:>9,}{now.total:>8.2f} s{now.parts:>9,}{compiles:>10,}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiles", type=int, nargs="+", default=list(SIZES), metavar="N", help="sizes of the runs")
    parser.add_argument("--only", nargs="+", default=list(PAGES), metavar="PAGE", help=", ".join(PAGES))
    parser.add_argument("--shared", type=Path, nargs="+", default=[], metavar="DIR", help="runs that are there")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        logs = [(path.name, path) for path in options.shared]
        if not logs:
            made_here = ((count, job(Path(directory) / f"{count}.log", count)) for count in options.compiles)
            logs = [(f"{count:,} compiles", path) for count, path in made_here]
        for line in sizes(logs, options.only):
            print(line, flush=True)
        _, last = logs[-1]
        for line in after_a_batch(next(last.glob("*.log")) if last.is_dir() else last, options.only):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
