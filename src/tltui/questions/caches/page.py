"""The page `caches`: counts, hits, bypasses, and ranks that differ."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.rank_groups import GROUPS_SHOWN, add_named, alike_on_ranks, first_refs, flow, functions, on_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.caches.cache_lookups import (
    AOT,
    BYPASS,
    DISABLED_STATE,
    FX,
    HIT,
    MISS,
    OLD_NAMES,
    STORED,
    KeyIndex,
    KeyUse,
    Nearest,
)
from tltui.questions.caches.cache_report import (
    CacheMiss,
    CachesReport,
    CacheTotal,
    CompileCaches,
    Divergence,
    caches_in,
    divergences_of,
    key_table,
    totals_of,
)  # fmt: skip
from tltui.questions.caches.miss_sections import add_misses
from tltui.questions.question import Question
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

REFS_SHOWN, ROWS_SHOWN, NAMED = 8, 10, 400
MANY_COMPILES = 400
"""Compiles up to which the list of all has a line for each."""
STYLES = {HIT: tokens.OK, MISS: tokens.WARN, BYPASS: tokens.WARN, DISABLED_STATE: tokens.DIM, STORED: tokens.DIM}


def add_totals(page: Page, totals: Sequence[CacheTotal], compiles: int, older: bool) -> None:
    """Hits, misses and bypasses of each cache. `older`: torch wrote answers that have to be read."""
    if not totals and older:
        page.add((f"{fmt.plural(compiles, 'compile')}: what caches answered them stands below", tokens.STRONG))
    elif not totals:
        text = f"{fmt.plural(compiles, 'compile')}, and no hit, miss or bypass of a cache was logged"
        page.add((page.so_far(text if compiles else "no compile here, so no cache was asked"), tokens.STRONG))
    for total in totals:
        words: list[Piece] = [(fmt.plural(total.hits, "hit"), tokens.OK if total.hits else tokens.DIM)]
        words.append((fmt.plural(total.misses, "miss", "misses"), tokens.WARN if total.misses else tokens.DIM))
        if total.bypassed:
            words.append((fmt.plural(total.bypassed, "bypass", "bypasses"), tokens.WARN))
        line: list[Piece] = [(total.cache.ljust(19), tokens.STRONG)]
        for n, word in enumerate(words):
            line += [", " if n else "", word]
        page.add(*line)


def add_divergences(page: Page, divergences: Sequence[Divergence]) -> None:
    """Add the lookups that hit on some ranks and missed on others: a known cause of hangs."""
    if not divergences:
        return
    groups: dict[tuple[object, ...], list[Divergence]] = {}
    for one in divergences:  # mostly both caches give one rank the same answer
        states = tuple((answer.rank, answer.state) for answer in one.answers)
        groups.setdefault((one.function, one.file, one.line, one.ordinal, states), []).append(one)
    merged = list(groups.values())
    page.heading(f"Ranks got different answers ({fmt.plural(len({key[:4] for key in groups}), 'compile')})")
    page.say(
        "Ranks that hit go on at once, those that miss compile first. A collective in between waits for them, or hangs "
        "(pytorch issue 193043).", "  ", tokens.WARN,
    )  # fmt: skip
    for group in merged[:ROWS_SHOWN]:
        _divergence(page, group)
    if len(merged) > ROWS_SHOWN:
        text = f"{fmt.count(len(merged) - ROWS_SHOWN)} more"
        page.open(text, folded=True)
        page.add("  ", (text, tokens.DIM))
        for group in merged[ROWS_SHOWN:NAMED]:
            _divergence(page, group)
        page.close()


def _divergence(page: Page, group: Sequence[Divergence]) -> None:
    one = group[0]
    name = (fmt.clip_middle(sanitize(one.function or "?"), 40), tokens.FUNCTION)
    which = f"{fmt.ordinal(one.ordinal)} compile, {' and '.join(own.cache for own in group)}"
    page.row([name, "  ", page.place(one.file, one.line), f"  {which}"], "  ")
    for state in (HIT, MISS, BYPASS):
        same = [answer for answer in one.answers if answer.state == state]
        if same:
            label = f"{state} on {fmt.plural(len(same), 'rank')} "
            refs = first_refs(page, [answer.compile for answer in same], REFS_SHOWN)
            flow(page, refs, "    ", [(label.ljust(16), STYLES[state])])


def add_bypasses(page: Page, report: CachesReport) -> None:
    """Add bypassed caches by reason."""
    groups: dict[tuple[str, str], list[tuple[CompileCaches, str]]] = {}
    for own in report.compiles:
        for answer in own.answers:
            if answer.state == BYPASS:
                reason = fmt.one_line(answer.reason) if answer.reason else "torch logged no reason"
                groups.setdefault((answer.cache, reason), []).append((own, answer.ref or own.ref))
    if not groups:
        return
    page.heading(f"Bypassed ({fmt.count(sum(map(len, groups.values())))})")
    for (cache, reason), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        page.add("  ", (f"{len(members)}×".rjust(4), tokens.STRONG), " ", (cache, tokens.WARN))
        page.say(reason, "       ")
        records = {own.ref: ref for own, ref in members}
        flow(page, first_refs(page, records, REFS_SHOWN, records.__getitem__), "       ")


def add_answers(page: Page, compiles: Sequence[CompileCaches]) -> None:
    """Each answer of a compile, in order, with its whole key."""
    answers = [answer for compile_ in compiles for answer in compile_.answers]
    if not answers:
        return
    page.heading("Answers, in order")
    for answer in answers:
        pieces: list[Piece] = [answer.cache, "  ", (answer.state, STYLES.get(answer.state, ""), answer.ref or "")]
        if answer.seconds_saved is not None:
            pieces.append(f"  saved {fmt.seconds(answer.seconds_saved)}")
        if answer.seconds_taken is not None:
            pieces.append(f"  compiling took {fmt.seconds(answer.seconds_taken)}")
        page.row(pieces, "  ")
        if answer.key:
            page.add("    ", ("key  ", tokens.LABEL), (fmt.clip_middle(sanitize(answer.key), page.width - 9), tokens.VALUE))
        if answer.guards:
            page.say(f"found with the guards {answer.guards}", "    ", tokens.DIM)


def add_asked(page: Page, report: CachesReport) -> None:
    """Questions whose answers torch did not log."""
    found = [(own, answer) for own in report.compiles for answer in own.answers if answer.state == "asked"]
    if not found:
        return
    page.heading(f"Asked, but the answer is not in the log ({fmt.count(len(found))})")
    groups = alike_on_ranks(found, lambda item: item[0].ref, page.newest, lambda item: item[1].cache)
    for group in groups[:ROWS_SHOWN]:
        answer = group[0][1]
        keys = {one.key or "?" for _, one in group}
        key = f"key {fmt.clip(sanitize(answer.key or '?'), 12)}" if len(keys) == 1 else fmt.plural(len(keys), "key")
        link: Piece = (answer.cache, tokens.LINK, answer.ref or "")
        page.row([*_member_pieces(page, [own for own, _ in group]), "  ", link, (f"  {key}", tokens.DIM)], "  ")
    if len(groups) > ROWS_SHOWN:
        page.add("  ", (f"and {fmt.count(sum(map(len, groups[ROWS_SHOWN:])))} more", tokens.DIM))


def add_off(page: Page, report: CachesReport) -> None:
    """Add disabled caches by setting."""
    groups: dict[str, list[CompileCaches]] = {}
    for own in report.compiles:
        for why in own.off:
            groups.setdefault(why, []).append(own)
    if not groups:
        return
    page.heading("Switched off")
    for why, members in groups.items():
        page.say(why, "  ", tokens.WARN, "    ")
        refs = first_refs(page, [own.ref for own in members], REFS_SHOWN)
        flow(page, refs, "    ", [f"in {fmt.plural(len(members), 'compile')}: "])


def add_hits(page: Page, report: CachesReport) -> None:
    """Compiles with hits, the most time saved first."""
    compiles = [own for own in report.compiles if any(answer.state == HIT for answer in own.answers)]
    if not compiles:
        return
    saved = f", which saved {fmt.seconds(report.saved_s)} of compiling" if report.saved_s else ""
    page.heading(f"Hits in {fmt.plural(len(compiles), 'compile')}{saved}")
    compiles.sort(key=lambda own: -(own.saved_s or 0.0))
    groups = _on_ranks(page, compiles)
    _rows(page, groups[:ROWS_SHOWN], "  ")
    if len(groups) > ROWS_SHOWN:
        text = f"{fmt.plural(sum(map(len, groups[ROWS_SHOWN:])), 'more compile')} with hits"
        page.open(text, folded=True)
        page.add("  ", (text, tokens.DIM))
        _rows(page, groups[ROWS_SHOWN : ROWS_SHOWN + NAMED], "    ")
        page.close()


def _on_ranks(page: Page, compiles: Sequence[CompileCaches]) -> list[list[CompileCaches]]:
    """Compiles that got the same answers on several ranks together."""
    return alike_on_ranks(
        compiles, lambda own: own.ref, page.newest, lambda own: (own.function, own.file, own.line, _answers_key(own))
    )


def _member_pieces(page: Page, members: Sequence[CompileCaches]) -> list[Piece]:
    return [piece for group in on_ranks((member.ref for member in members), page.newest) for piece in group.pieces()]


def _rows(page: Page, groups: Sequence[Sequence[CompileCaches]], indent: str) -> None:
    rows: list[list[Piece]] = []
    for members in groups:
        own = members[0]
        name, *ranks = _member_pieces(page, members)
        rows.append([
            name,
            (fmt.clip_middle(sanitize(own.function or ""), 30), tokens.FUNCTION),
            (fmt.took_from_to([own.saved_s for own in members if own.saved_s], "saved "), tokens.NUMBER),
            (_answers_key(own) + "".join(f"  {piece_text(piece)}" for piece in ranks), tokens.DIM),
        ])  # fmt: skip
    page.grid(rows, indent)


def _answers_key(compile_caches: CompileCaches) -> str:
    """`AOTAutograd hit · FX graph 2 hits`"""
    return _counted(tuple([(answer.cache, answer.state) for answer in compile_caches.answers]))


@lru_cache(1024)
def _counted(answers: tuple[tuple[str, str], ...]) -> str:
    counts = Counter((cache.removesuffix(" cache"), state) for cache, state in answers)
    words = [f"{cache} {state}" if count == 1 else f"{cache} {count}× {state}" for (cache, state), count in counts.items()]
    return " · ".join(words)


def add_backends(page: Page, report: CachesReport) -> None:
    """Add answers by backend if a remote cache took part."""
    total: Counter[tuple[str, str, str]] = Counter()
    for compile_ in report.compiles:
        for backend in compile_.backends:
            total[backend.cache, backend.where, HIT] += backend.hits
            total[backend.cache, backend.where, MISS] += backend.misses
    if not any(where == "remote" for _, where, _ in total):
        return
    page.heading("Local and remote, as the metrics count them")
    for cache in (AOT, FX):
        for where in ("local", "remote"):
            hits, misses = total[cache, where, HIT], total[cache, where, MISS]
            if hits or misses:
                page.add("  ", f"{cache}, {where}".ljust(28), f"{fmt.plural(hits, 'hit')}, {fmt.plural(misses, 'miss', 'misses')}")


def add_profiles(page: Page, report: CachesReport) -> None:
    """Profiles of dynamic sizes (PGO)."""
    found = [(own, answer) for own in report.compiles for answer in own.profiles]
    if not found:
        return
    page.heading("Profiles of sizes that vary (PGO)")
    groups = alike_on_ranks(found, lambda item: item[0].ref, page.newest, lambda item: (item[1].cache, item[1].state))
    for group in groups[:ROWS_SHOWN]:
        answer = group[0][1]
        what = "read" if answer.state == HIT else "stored"
        link: Piece = (f"{answer.cache}: {what}", tokens.LINK, answer.ref or "")
        page.row([*_member_pieces(page, [own for own, _ in group]), "  ", link], "  ")
    if len(groups) > ROWS_SHOWN:
        page.add("  ", (f"and {fmt.count(sum(map(len, groups[ROWS_SHOWN:])))} more", tokens.DIM))


def add_triton(page: Page, report: CachesReport) -> None:
    """Add the autotuning results, and kernels bundled with cached graphs."""
    total: Counter[str] = Counter()
    for compile_ in report.compiles:
        total.update(dict(compile_.triton))
    bundles = sum(compile_.bundles or 0 for compile_ in report.compiles)
    if not total and not bundles:
        return
    page.heading("Triton")
    words = {HIT: "from the autotuning cache", MISS: "tuned anew", "only 1 config": "with nothing to tune",
             "force_disabled": "with the autotuning cache switched off"}  # fmt: skip
    for state, count in total.most_common():
        page.add("  ", f"{fmt.plural(count, 'kernel')} {words.get(state, state)}")
    if bundles:
        page.add("  ", f"{fmt.plural(bundles, 'bundle')} of compiled kernels with cached graphs")


def add_compiles(page: Page, report: CachesReport) -> Iterator[None]:
    """Every compile with its answers, folded; very many by their answers."""
    compiles = [own for own in report.compiles if own.answers]
    if len(compiles) < 2:
        return
    page.blank()
    page.close(0)
    page.open("Every compile", folded=True)
    page.add((f"Every compile that asked a cache ({fmt.count(len(compiles))})", tokens.HEADING))
    if len(on_rows := _on_ranks(page, compiles)) <= MANY_COMPILES:
        _rows(page, on_rows, "  ")
    else:
        groups: dict[str, list[CompileCaches]] = {}
        for own in compiles:
            groups.setdefault(_answers_key(own), []).append(own)
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        for said, members in ordered[:GROUPS_SHOWN]:
            yield from _alike(page, said, members)
        if rest := [own for _, members in ordered[GROUPS_SHOWN:] for own in members]:
            yield from _alike(page, f"in {len(ordered) - GROUPS_SHOWN:,} smaller groups", rest)
    page.close(0)


def _alike(page: Page, said: str, members: Sequence[CompileCaches]) -> Iterator[None]:
    """`312 compiles  FX graph miss  f, g, h …`"""
    what = fmt.plural(len(members), "compile")
    names = functions([member.function for member in members], page.width - len(what) - len(said) - 8)
    named = [(member.ref, tokens.LINK, f"@caches:{member.ref}") for member in members]
    yield from add_named(page, what, [(fmt.clip(said, page.width // 2), tokens.DIM), "  ", names], named)


def add_silent(page: Page, report: CachesReport, everyone: Sequence[CompileCaches]) -> None:
    """Add notes on compiles without cache records."""
    strange = [own for own in everyone if own.lowered and not own.answers and not own.off]
    if strange:
        page.blank()
        text = f"{fmt.plural(len(strange), 'compile')} lowered a graph without a record of any cache"
        page.say(page.so_far(f"{text}: none was asked, or its record is missing."), "", tokens.DIM)
    if report.silent:
        page.blank()
        text = f"{fmt.plural(len(report.silent), 'compile')} asked no cache: Inductor lowered nothing in them"
        page.add((fmt.clip(page.so_far(text), page.width), tokens.DIM))
        flow(page, first_refs(page, report.silent, REFS_SHOWN))


COMPARED = 400
"""Keys not found that are compared with all others."""
OTHERS = 64
"""Maximum number of other compiles with the same key listed with a miss, earliest first.

With thousands of ranks, each would name all others.
"""
EVERY = 16
MANY_LINKS = 1000
"""Compiles between two yields where little is done for each."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `caches` for the scope. Keys are compared within the whole run."""

    def fill(page: Page) -> Generator[None, None, object]:
        return (yield from _fill(page, run, scope))

    return GrowingDocument(scope.page("caches"), f"caches{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope) -> Generator[None, None, CachesReport]:
    """Add the counts of the index first, then the content of records."""
    single = len(scope.compiles) == 1
    totals = totals_of(scope.compiles)
    within = {id(node) for node in scope.compiles}
    different = divergences_of(run.processes())
    if different:
        refs = {str(node.ref) for node in scope.compiles}
        different = tuple(one for one in different if any(answer.compile in refs for answer in one.answers))
    older = any(kind.name in OLD_NAMES for process in scope.processes for kind in process.log.kinds)
    add_totals(page, totals, sum(node.is_compile for node in scope.compiles), older)
    add_divergences(page, different)
    yield
    study = _Study(run)
    yield from study.read(tuple(node for node in scope.compiles if node.is_traced or not node.is_compile))
    if single:
        add_answers(page, study.compiles)
    if study.missed_with_components():
        yield from study.index_rest([node for node in run.compiles() if id(node) not in within])
    misses = yield from study.misses()
    yield
    compiles = tuple(
        compile_
        for compile_ in study.compiles
        if compile_.answers or compile_.profiles or compile_.off or compile_.backends or compile_.triton
    )
    silent = tuple(compile_.ref for compile_ in study.compiles if not compile_.lowered and not compile_.answers)
    saved = sum(compile_.saved_s or 0.0 for compile_ in compiles)
    taken = sum(compile_.taken_s or 0.0 for compile_ in compiles)
    report = CachesReport(2, totals, saved, taken, different, misses, compiles, silent)
    yield from add_misses(page, report)
    for add in (
        add_bypasses, add_asked, add_off, add_hits, add_backends, add_profiles,
        add_triton,
    ):  # fmt: skip
        add(page, report)
        yield
    if not single:
        yield from add_compiles(page, report)
    add_silent(page, report, study.compiles)
    return report


class _Study:
    """Cache records read so far."""

    def __init__(self, run: Run) -> None:
        self.compiles: list[CompileCaches] = []
        process = next(iter(run.processes()), None)
        self._index = KeyIndex(key_table(process) if process else None)

    def _read_compile(self, node: Compile) -> CompileCaches:
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
            own = self._read_compile(node)
            if node.is_compile or own.answers or own.profiles:
                self.compiles.append(own)
            if n % EVERY == EVERY - 1:
                yield

    def missed_with_components(self) -> bool:
        """Return whether there is a key to look for the nearest of."""
        return any(
            answer.state == MISS and answer.key and self._index.components(answer.cache, answer.key)
            for compile_ in self.compiles for answer in compile_.answers
        )  # fmt: skip

    def index_rest(self, compiles: list[Compile]) -> Generator[None, None, None]:
        """Take the keys of the rest of the run in."""
        for n, node in enumerate(compiles):
            if any(name.endswith(("_hit", "_miss")) for name in node.counts):
                self._read_compile(node)
            if n % EVERY == EVERY - 1:
                yield

    def misses(self) -> Generator[None, None, tuple[CacheMiss, ...]]:
        """Return the cache misses, each with the nearest other key."""
        cache_misses: list[CacheMiss] = []
        known: dict[tuple[str, str], Nearest | None] = {}
        uses: dict[tuple[str, str], list[KeyUse]] = {}
        for n, compile_ in enumerate(self.compiles):
            if n % MANY_LINKS == MANY_LINKS - 1:
                yield
            for answer in compile_.answers:
                if answer.state != MISS:
                    continue
                key = (answer.cache, answer.key or "")
                if answer.key and key not in known and len(known) < COMPARED:
                    known[key] = self._index.nearest(*key)
                    yield
                if key not in uses:
                    uses[key] = sorted(self._index.uses(*key), key=lambda use: use.state != HIT)[: OTHERS + 1]
                others = tuple([use for use in uses[key] if use.ref != answer.ref][:OTHERS])
                cache_misses.append(
                    CacheMiss(compile_.ref, compile_.function, answer, others, known.get(key), self._index.components(*key))
                )
        return tuple(cache_misses)


@frozen
class CacheRow:
    """One question of one compile to a cache."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function."""
    cache: str
    """Which cache."""
    state: str
    """`hit`, `miss`, `bypass` …"""
    key: str | None
    """The key that was looked for."""
    reason: str | None
    """Why it was bypassed, or could not be used."""
    seconds_saved: float | None
    """What a hit saved, in seconds, as torch estimates it."""
    seconds_taken: float | None
    """What asking took, in seconds."""
    record: str | None
    """The address of the answer."""


def cache_rows(data: CachesReport) -> Iterator[CacheRow]:
    """Yield one row per cache answer."""
    for compile_ in data.compiles:
        for answer in compile_.answers:
            yield CacheRow(compile_.ref, compile_.function, answer.cache, answer.state, answer.key, answer.reason,
                           answer.seconds_saved,
                           answer.seconds_taken, answer.ref)  # fmt: skip


QUESTION = Question(
    name="caches",
    help="cache hits, misses, bypasses: why, time saved, and how a missed key differs",
    key="7",
    group="why is it so",
    order=70,
    needs=Needs("has no cache hits, misses or keys"),
    document=document,
    answer=CachesReport,
    rows=CacheRow,
    records=cache_rows,
    doc="""
    Cache hits, misses, bypasses: a row for each question of a compile to a cache. How a missed key differs is in
    `data.misses`.
    """,
)
