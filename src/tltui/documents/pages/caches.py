"""The view `caches`: what was found in a cache and what was not, and why."""

from __future__ import annotations

from array import array
from collections.abc import Generator

from tltui.analyses.caches.caches import HIT, MISS, OLD_NAMES
from tltui.analyses.caches.keys import KeyIndex, KeyUse, Nearest
from tltui.analyses.caches.report import (
    CacheMiss,
    CachesReport,
    CompileCaches,
    caches_in,
    divergences_of,
    key_table,
    totals_of,
)  # fmt: skip
from tltui.documents.page import Page
from tltui.documents.parts import caches as parts
from tltui.documents.parts.cache_misses import add_misses
from tltui.documents.scope import Scope
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument

COMPARED = 400
"""Keys not found that are compared with all others."""
OTHERS = 64
"""Compiles that asked for the same key that are kept with a miss, those that found it first: of thousands of ranks each would name
all others."""
EVERY = 16
MANY = 1000
"""Compiles between two yields where little is done for each."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The caches of the scope. Keys are compared with those of the whole run."""

    def fill(page: Page) -> Generator[None, None, object]:
        return (yield from _fill(page, run, scope))

    return GrowingDocument(scope.page("caches"), f"caches{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope) -> Generator[None, None, CachesReport]:
    """Counts first, which need no reading; then what the records say."""
    single = len(scope.compiles) == 1
    totals = totals_of(scope.compiles)
    within = {id(node) for node in scope.compiles}
    different = divergences_of(run.processes())
    if different:
        refs = {str(node.ref) for node in scope.compiles}
        different = tuple(one for one in different if any(answer.compile in refs for answer in one.answers))
    older = any(kind.name in OLD_NAMES for process in scope.processes for kind in process.log.kinds)
    parts.add_totals(page, totals, sum(node.is_compile for node in scope.compiles), older)
    parts.add_divergences(page, different)
    yield
    study = _Study(run)
    yield from study.read(tuple(node for node in scope.compiles if node.is_traced or not node.is_compile))
    if single:
        parts.add_answers(page, study.compiles)
    if study.missed_with_components():
        yield from study.index_rest([node for node in run.compiles() if id(node) not in within])
    misses = yield from study.misses()
    yield
    compiles = tuple(
        own for own in study.compiles if own.answers or own.profiles or own.off or own.backends or own.triton
    )
    silent = tuple(own.ref for own in study.compiles if not own.lowered and not own.answers)
    saved = sum(own.saved_s or 0.0 for own in compiles)
    taken = sum(own.taken_s or 0.0 for own in compiles)
    report = CachesReport(2, totals, saved, taken, different, misses, compiles, silent)
    yield from add_misses(page, report)
    for add in (
        parts.add_bypasses, parts.add_asked, parts.add_off, parts.add_hits, parts.add_backends, parts.add_profiles,
        parts.add_triton,
    ):  # fmt: skip
        add(page, report)
        yield
    if not single:
        yield from parts.add_compiles(page, report)
    parts.add_silent(page, report, study.compiles)
    return report


class _Study:
    """What was read so far."""

    def __init__(self, run: Run) -> None:
        self.compiles: list[CompileCaches] = []
        process = next(iter(run.processes()), None)
        self._index = KeyIndex(key_table(process) if process else None)

    def _take(self, node: Compile) -> CompileCaches:
        own, components = caches_in(node)
        for answer in own.answers:
            if answer.key and answer.ref:
                use = KeyUse(own.ref, answer.state, answer.ref)
                code = node.frame.code if own.function is not None else id(node.frame)
                found = components.get(answer.ref)
                numbers = array("I", found.components) if found else array("I")
                self._index.add(
                    answer.cache, answer.key, use, code, numbers, id(node.process), found.record if found else 0
                )  # fmt: skip
        return own

    def read(self, compiles: tuple[Compile, ...]) -> Generator[None, None, None]:
        """Read the compiles of the scope."""
        for n, node in enumerate(compiles):
            own = self._take(node)
            if node.is_compile or own.answers or own.profiles:
                self.compiles.append(own)
            if n % EVERY == EVERY - 1:
                yield

    def missed_with_components(self) -> bool:
        """Whether there is a key to look for the nearest of."""
        return any(
            answer.state == MISS and answer.key and self._index.components(answer.cache, answer.key)
            for own in self.compiles for answer in own.answers
        )  # fmt: skip

    def index_rest(self, compiles: list[Compile]) -> Generator[None, None, None]:
        """Take the keys of the rest of the run in."""
        for n, node in enumerate(compiles):
            if any(name.endswith(("_hit", "_miss")) for name in node.counts):
                self._take(node)
            if n % EVERY == EVERY - 1:
                yield

    def misses(self) -> Generator[None, None, tuple[CacheMiss, ...]]:
        """What was not found, each with the nearest other key."""
        found: list[CacheMiss] = []
        known: dict[tuple[str, str], Nearest | None] = {}
        uses: dict[tuple[str, str], list[KeyUse]] = {}
        for n, own in enumerate(self.compiles):
            if n % MANY == MANY - 1:
                yield
            for answer in own.answers:
                if answer.state != MISS:
                    continue
                key = (answer.cache, answer.key or "")
                if answer.key and key not in known and len(known) < COMPARED:
                    known[key] = self._index.nearest(*key)
                    yield
                if key not in uses:
                    uses[key] = sorted(self._index.uses(*key), key=lambda use: use.state != HIT)[: OTHERS + 1]
                others = tuple([use for use in uses[key] if use.ref != answer.ref][:OTHERS])
                found.append(CacheMiss(own.ref, own.function, answer, others, known.get(key), self._index.components(*key)))
        return tuple(found)
