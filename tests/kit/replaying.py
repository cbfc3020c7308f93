"""A log that is written as a live job writes it, with the clock in the test's hand; and what the pages say meanwhile.

`tools/long_run` plays all traces with many seeds, `tests/unit/test_replay.py` some with few.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tltui.export import to_json
from tltui.model.follow import Follower, open_run
from tltui.model.run import Run, settle
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.sources.discover import Discovery, NothingFound
from tltui.sources.file_writers import Writers
from tltui.text.document import Document, Options
from tltui.tree.listing import listing_document

OPTIONS = Options(width=400)
"""So wide that nothing is cut or wrapped: where that happens depends on what stands in other rows."""
FEW = 6
"""Compiles, ranks and processes whose own pages are read at each step."""
STATEMENT = re.compile(
    r"damag|cut off|missing|absent|not in the|not there|killed|\bfail|error|unfinished|not finished|\bnever|\bended|"
    r"\blost\b|incomplete|no longer in the|without|no metrics|wrote no|not logged|not understood|"
    r"could not|did not|\bnothing |none of|\bno (?!longer|rank)\w+|gone|unreadable|skipped|✗ |^\s*\? ",
    re.IGNORECASE,
)
"""Words of damage, absence, failure and end."""
HEDGE = re.compile(r"so\s+far|\byet\b|still\s+being|may\s+still|goes\s+on|incomplete record at the end|◌", re.IGNORECASE)
"""Words of a statement that is about the moment, and says so; and the mark of what is running."""
NO_CLAIM = re.compile(
    r"(?m:tltui \w+(?: PATH)?$)|^Absent artifacts? of|^Failures of exports: → exports$|"
    r"^\s*[\d,.]+ [kKMG]?i?B  |_dynamo_\w*ind|DICT_CONTAINS|^\s*\S+ +no node changed|how to fix|Do not set min or max|of yours|"
    r"did not hold|^Checked for |▇|^[\s✗⚑↻»+0-9]+$|not there →|"
    r"marked as skipped|without a compile id|times? without compilation|further compile before"
)
"""Where a line to start at leads, a title, a link, a list of artifacts, guards, advice, a bar, marks below a timeline, a comparison
of graphs between which others may come to stand."""
PLACE = re.compile(r"\S*\w\.(?:py|log)\b\S*")
NUMBER = re.compile(r"(?:(?:\d+|norank)[.\d]*:)?(?:\d+/\d+|none\b)|\d[\d,.]*")
LISTING = "(ls)"
BRANCHES = str.maketrans("├└│─", "    ")


class HeldWriters(Writers):
    """Somebody writes until the test says that it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.over = False

    def quiet(self, status: os.stat_result) -> bool:
        return self.over

    def ended(self, files: dict[str, os.stat_result]) -> set[str]:
        return set(files) if self.over else set()


def texts_of(document: Document) -> list[str]:
    """All lines of a document."""
    while not document.advance():
        pass
    return list(document.text())


def refs_of(run: Run, seed: int, few: int = FEW) -> dict[str, str]:
    """Return the pages about the run, and those of some of its nodes: a name that stays → the address that it has now."""
    refs = {ref: ref for ref in ("", "@damage", "@records", *(f"@{view.name}" for view in QUESTIONS))}
    rng = random.Random(seed)
    compiles = {f"{c.key}": c for c in run.compiles()}
    for key in rng.sample(sorted(compiles), min(few, len(compiles))):
        refs |= about(key, str(compiles[key].ref))
    places = {f"process {p.key}": str(p.ref) for p in run.processes()}
    return refs | {key: places[key] for key in rng.sample(sorted(places), min(few, len(places)))}


def about(key: str, ref: str) -> dict[str, str]:
    """Return the pages about a compile."""
    views = ("absent", "timing", "guards", "provenance", "passes", "records")
    return {key: ref, **{f"@{view} {key}": f"@{view}:{ref}" for view in views}}


def refs_again(run: Run, names: set[str]) -> dict[str, str]:
    """Return the current addresses of the pages of these names."""
    refs = refs_of(run, 0, 0)
    for compile_ in run.compiles():
        refs |= about(f"{compile_.key}", str(compile_.ref))
    refs |= {f"process {p.key}": str(p.ref) for p in run.processes()}
    return {name: refs[name] for name in sorted(names)}


def pages_of(run: Run, refs: dict[str, str]) -> dict[str, list[str]]:
    """Return the lines of pages, and of the list that `tltui ls` prints."""
    pages = {name: texts_of(build(run, ref, OPTIONS)) for name, ref in refs.items()}
    return {**pages, LISTING: texts_of(listing_document(run, OPTIONS))}


def results_of(run: Run, refs: dict[str, str]) -> dict[str, bytes]:
    """Return the results behind the pages, as JSON."""
    results = {}
    for name, ref in refs.items():
        document = build(run, ref, OPTIONS)
        while not document.advance():
            pass
        results[name] = to_json(document.data())
    return results


def plain(text: str) -> str:
    """Return a text without what grows: numbers, plurals, lists of addresses and of ranks, cuts, line ends and columns."""
    text = NUMBER.sub("N", PLACE.sub("", text)).translate(BRANCHES)
    text = re.sub(r"\([^()]*\)", "", " ".join(text.split()))
    text = re.sub(r"(?<=\w)s\b", "", " ".join(text.split()))
    text = re.sub(r"\brank N(?:(?:–| )N)+", "rank N", text)
    return re.sub(r"(?:\[N\],? ?)+", "[N] ", text).strip()


def unwrapped(lines: list[str]) -> list[str]:
    """Lines that go on in the next one are one."""
    joined: list[str] = []
    for line in lines:
        before = joined[-1].rpartition("\n")[2] if joined else ""
        table = "   " in before.strip()
        goes_on = len(before) > OPTIONS.width - 24 and before[-1] not in ".:" and line.strip() and not table
        if goes_on and len(line) - len(line.lstrip()) >= len(before) - len(before.lstrip()):
            joined[-1] += "\n" + line
        else:
            joined.append(line)
    return joined


def statements(lines: list[str]) -> set[str]:
    """Return the statements of a page on damage, absence, failure and end."""
    claims = (part for line in unwrapped(lines) for part in line.split(" · ") if STATEMENT.search(PLACE.sub("", part)))
    return {plain(line.partition("…")[0]) for line in claims if not (HEDGE.search(line) or NO_CLAIM.search(line))} - {""}


@dataclass
class Replay:
    """Some logs and how they are written: pieces of any size, cut also inside a line, a character, an md5."""

    sources: list[Path]
    target: Path
    seed: int
    steps: int = 14
    _files: dict[Path, bytes] = field(default_factory=dict)

    def play(self) -> Iterator[None]:
        """Write on, piece by piece; each is one state that a reader may find."""
        rng = random.Random(self.seed)
        self.target.mkdir(parents=True, exist_ok=True)
        plans = [(path, path.read_bytes()) for path in self.sources]
        cuts = [(self._cuts(data, rng), data, self.target / path.name) for path, data in plans]
        at = [0] * len(cuts)
        while any(at[n] < len(places) for n, (places, _, _) in enumerate(cuts)):
            for n in rng.sample(range(len(cuts)), len(cuts)):
                places, data, path = cuts[n]
                for _ in range(rng.choice((0, 1, 1, 1, 2))):  # bursts and pauses
                    if at[n] < len(places):
                        before = places[at[n] - 1] if at[n] else 0
                        with path.open("ab") as file:
                            file.write(data[before : places[at[n]]])
                        at[n] += 1
            yield

    def _cuts(self, data: bytes, rng: random.Random) -> list[int]:
        """Where the pieces end: anywhere, near the beginning of a record, inside a character."""
        starts = [match.end() for match in re.finditer(rb"\n(?=V)", data)] or [0]
        wide = [n for n, byte in enumerate(data) if byte & 0xC0 == 0x80] if len(data) < 1 << 22 else []
        places = {len(data)}
        for _ in range(self.steps):
            kind = rng.random()
            if kind < 0.3:
                places.add(rng.randrange(len(data)))
            elif kind < 0.5:
                places.add(rng.choice(starts))
            elif kind < 0.6 and wide:
                places.add(rng.choice(wide))
            else:
                places.add(min(max(rng.choice(starts) + rng.randint(-40, 300), 0), len(data)))
        return sorted(places)


@dataclass
class StatementLog:
    """The statements of all steps: page → statement → the step in which it was first made."""

    pages: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, step: int, pages: dict[str, list[str]]) -> None:
        """Add the statements of pages at a step."""
        for ref, lines in pages.items():
            first_steps = self.pages.setdefault(ref, {})
            for statement in statements(lines):
                first_steps.setdefault(statement, step)

    def missing(self, final: dict[str, list[str]]) -> list[tuple[int, str, str]]:
        """Return the statements that are missing at the end: step, page, statement."""
        texts = {ref: plain(" ".join(lines)) for ref, lines in final.items()}
        return [
            (step, ref or "(run)", statement)
            for ref, first_steps in self.pages.items()
            for statement, step in first_steps.items()
            if statement not in texts.get(ref, "")
        ]


def follow(replay: Replay) -> tuple[Run, StatementLog, set[str], Run]:
    """Play a log and follow it: the run, the statements of its pages, their names, and a run that is opened at the end.

    With an odd seed only the files are read whose turn it is, as the screen does.
    """
    writers, discovery, record, clock = HeldWriters(), Discovery([str(replay.target)]), StatementLog(), Clock()
    polled = bool(replay.seed % 2)
    run: Run | None = None
    follower: Follower | None = None
    for step, _ in enumerate(replay.play()):
        if run is None or follower is None:
            try:
                run = Run(discovery.discover())
            except NothingFound:
                continue
            follower = Follower(run, discovery, writers, clock=clock)
            read(run, follower)
        poll(run, follower, clock) if polled else read(run, follower)
        record.add(step, pages_of(run, refs_of(run, replay.seed)))
    writers.over = True
    assert run is not None and follower is not None
    poll(run, follower, clock) if polled else read(run, follower)
    fresh = open_run(Discovery([str(replay.target)]).discover(), writers)
    names = {*record.pages, *refs_of(fresh, replay.seed)} - {LISTING}
    return run, record, names, fresh


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def poll(run: Run, follower: Follower, clock: Clock) -> None:
    """Advance the clock, and read the files whose turn it is."""
    for seconds in (20.0, 1.0, 1.0):
        clock.now += seconds
        for event in follower.poll():
            run.update(event)
    settle(run)


def read(run: Run, follower: Follower) -> None:
    """Read all files."""
    for event in follower.read(1 << 16):
        run.update(event)
    settle(run)
