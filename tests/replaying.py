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
    r"damag|cut off|missing|absent|not in the|not there|killed|\bfail|error|not finished|\bnever|\bended|"
    r"\blost\b|incomplete|no longer in the|without|no metrics|wrote no|not logged|not understood|"
    r"could not|did not|\bnothing |none of|\bno (?!longer|rank)\w+|gone|unreadable|skipped|✗ |^\s*\? ",
    re.IGNORECASE,
)
"""Words of damage, absence, failure and end."""
HEDGE = re.compile(r"so\s+far|\byet\b|still\s+being|may\s+still|goes\s+on|incomplete record at the end|◌", re.IGNORECASE)
"""Words of a statement that is about the moment, and says so; and the mark of what is running."""
NO_CLAIM = re.compile(
    r"(?m:tltui \w+$)|^Absent artifacts? of|"
    r"^\s*[\d,.]+ [kKMG]?i?B  |_dynamo_\w*ind|DICT_CONTAINS|^\s*\S+ +no node changed|what helps|of yours|"
    r"did not hold|▇|not there →|marked as skipped|without a compile id|times without a compile|further compile before"
)
"""Where a line to start at leads, a title, a list of artifacts, guards, advice, a bar, a comparison of graphs between which others
may come to stand."""
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
    """The pages about the run, and those of some of its nodes: a name that stays → the address that it has now."""
    refs = {ref: ref for ref in ("", "@damage", "@records", *(f"@{view.name}" for view in QUESTIONS))}
    rng = random.Random(seed)
    compiles = {f"{c.key}": c for c in run.compiles()}
    for key in rng.sample(sorted(compiles), min(few, len(compiles))):
        refs |= about(key, str(compiles[key].ref))
    places = {f"process {p.key}": str(p.ref) for p in run.processes()}
    return refs | {key: places[key] for key in rng.sample(sorted(places), min(few, len(places)))}


def about(key: str, ref: str) -> dict[str, str]:
    """The pages about a compile."""
    views = ("absent", "timing", "guards", "provenance", "passes", "records")
    return {key: ref, **{f"@{view} {key}": f"@{view}:{ref}" for view in views}}


def refs_again(run: Run, names: set[str]) -> dict[str, str]:
    """The pages of these names, with the addresses that they have now."""
    found = refs_of(run, 0, 0)
    for compile_ in run.compiles():
        found |= about(f"{compile_.key}", str(compile_.ref))
    found |= {f"process {p.key}": str(p.ref) for p in run.processes()}
    return {name: found[name] for name in sorted(names)}


def pages_of(run: Run, refs: dict[str, str]) -> dict[str, list[str]]:
    """The lines of pages, and of the list that `tltui ls` prints."""
    pages = {name: texts_of(build(run, ref, OPTIONS)) for name, ref in refs.items()}
    return {**pages, LISTING: texts_of(listing_document(run, OPTIONS))}


def results_of(run: Run, refs: dict[str, str]) -> dict[str, bytes]:
    """The results behind the pages, as JSON."""
    made = {}
    for name, ref in refs.items():
        document = build(run, ref, OPTIONS)
        while not document.advance():
            pass
        made[name] = to_json(document.data())
    return made


def plain(text: str) -> str:
    """A text without what grows: numbers, plurals, lists of addresses and of ranks, what was cut. Line ends and columns do not
    count either."""
    text = NUMBER.sub("N", PLACE.sub("", text)).translate(BRANCHES)
    text = re.sub(r"\([^()]*\)", "", " ".join(text.split()))
    text = re.sub(r"(?<=\w)s\b", "", " ".join(text.split()))
    text = re.sub(r"\brank N(?:(?:–| )N)+", "rank N", text)
    return re.sub(r"(?:\[N\],? ?)+", "[N] ", text).strip()


def unwrapped(lines: list[str]) -> list[str]:
    """Lines that go on in the next one are one."""
    whole: list[str] = []
    for line in lines:
        before = whole[-1].rpartition("\n")[2] if whole else ""
        table = "   " in before.strip()
        goes_on = len(before) > OPTIONS.width - 24 and before[-1] not in ".:" and line.strip() and not table
        if goes_on and len(line) - len(line.lstrip()) >= len(before) - len(before.lstrip()):
            whole[-1] += "\n" + line
        else:
            whole.append(line)
    return whole


def statements(lines: list[str]) -> set[str]:
    """What a page says of damage, absence, failure and end."""
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
class Said:
    """What was said on the way: statement → the step and the page where it was first made."""

    pages: dict[str, dict[str, int]] = field(default_factory=dict)

    def hear(self, step: int, pages: dict[str, list[str]]) -> None:
        """Note what the pages say now."""
        for ref, lines in pages.items():
            known = self.pages.setdefault(ref, {})
            for statement in statements(lines):
                known.setdefault(statement, step)

    def missing(self, final: dict[str, list[str]]) -> list[tuple[int, str, str]]:
        """What was said on the way and is not said at the end: step, page, statement."""
        texts = {ref: plain(" ".join(lines)) for ref, lines in final.items()}
        return [
            (step, ref or "(run)", statement)
            for ref, known in self.pages.items()
            for statement, step in known.items()
            if statement not in texts.get(ref, "")
        ]


def follow(replay: Replay) -> tuple[Run, Said, set[str], Run]:
    """Play and read along: the run as it was followed, what its pages said meanwhile, the names of these, a run opened afresh.
    With an odd seed only those files are looked at whose turn it is, as the screen does."""
    writers, discovery, said, clock = HeldWriters(), Discovery([str(replay.target)]), Said(), Clock()
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
        look(run, follower, clock) if polled else read(run, follower)
        said.hear(step, pages_of(run, refs_of(run, replay.seed)))
    writers.over = True
    assert run is not None and follower is not None
    look(run, follower, clock) if polled else read(run, follower)
    fresh = open_run(Discovery([str(replay.target)]).discover(), writers)
    names = {*said.pages, *refs_of(fresh, replay.seed)} - {LISTING}
    return run, said, names, fresh


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def look(run: Run, follower: Follower, clock: Clock) -> None:
    """Some time later: look at what has its turn by then."""
    for seconds in (20.0, 1.0, 1.0):
        clock.now += seconds
        for event in follower.poll():
            run.update(event)
    settle(run)


def read(run: Run, follower: Follower) -> None:
    """One look at the files."""
    for event in follower.read(1 << 16):
        run.update(event)
    settle(run)
