"""The page `caches`: counts, hits, bypasses, ranks that differ, and vLLM's compile caches."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table, by_numbers
from tltui.documents.rank_groups import GROUPS_SHOWN, add_named, alike_on_ranks, first_refs, flow, functions, on_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.caches.cache_report import (
    AOT,
    BYPASS,
    DISABLED_STATE,
    FX,
    HIT,
    MISS,
    OLD_NAMES,
    STORED,
    UNKNOWN_SETTING,
    CacheMiss,
    CachesReport,
    CacheTotal,
    CompileCaches,
    ComponentDifference,
    Divergence,
    KeyIndex,
    KeyUse,
    Nearest,
    caches_in,
    divergences_of,
    grouped_names,
    key_table,
    totals_of,
)  # fmt: skip
from tltui.questions.caches.cold_start_sections import add_cold_start, cold_start_steps
from tltui.questions.caches.vllm_caches import NONE, SHOWN, VllmCache, VllmCaches, read_caches
from tltui.questions.question import Question
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.line_diff import ChangedLine, Marks, around, changed_lines
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

REFS_SHOWN, ROWS_SHOWN, NAMED = 8, 10, 400
MANY_COMPILES = 400
"""Compiles up to which the list of all has a line for each."""
STYLES = {HIT: tokens.OK, MISS: tokens.WARN, BYPASS: tokens.WARN, DISABLED_STATE: tokens.DIM, STORED: tokens.DIM}

MISS_GROUPS_SHOWN = 12
DIFFERENCES_SHOWN, MANY_LINES = 4, 6
MISSES_AT_ONCE = 2000
"""Misses between two yields."""

COMPARED = 400
"""Maximum number of missed keys that are compared with all others."""
OTHERS = 64
"""Maximum number of other compiles with the same key listed with a miss, earliest first.

With thousands of ranks, each would name all others.
"""
EVERY = 16
MANY_LINKS = 1000
"""Compiles between two yields where little is done for each."""


def add_totals(page: Page, totals: Sequence[CacheTotal], compiles: int, older: bool) -> None:
    """Hits, misses and bypasses of each cache. `older`: torch wrote answers that have to be read."""
    if not totals and older:
        page.add((f"{fmt.plural(compiles, 'compile')}: cache lookups are listed below", tokens.STRONG))
    elif not totals:
        text = f"{fmt.plural(compiles, 'compile')}; no cache hit, miss or bypass was logged"
        page.add((page.so_far(text if compiles else "no compiles, so no cache lookups"), tokens.STRONG))
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
        groups.setdefault((one.function, one.file, one.line, one.compile_number, states), []).append(one)
    merged = list(groups.values())
    page.heading(f"Cache results differ between ranks ({fmt.plural(len({key[:4] for key in groups}), 'compile')})")
    page.say(
        "Ranks with a hit continue at once; ranks with a miss compile first. A collective in between waits for them, or hangs "
        "(pytorch issue 193043).", "  ", tokens.WARN,
    )  # fmt: skip
    for group in merged[:ROWS_SHOWN]:
        _divergence(page, group)
    if len(merged) > ROWS_SHOWN:
        with page.fold(f"{fmt.count(len(merged) - ROWS_SHOWN)} more"):
            for group in merged[ROWS_SHOWN:NAMED]:
                _divergence(page, group)


def _divergence(page: Page, group: Sequence[Divergence]) -> None:
    one = group[0]
    name = (fmt.clip_middle(sanitize(one.function or "?"), 40), tokens.FUNCTION)
    lookup = f"{fmt.ordinal(one.compile_number)} compile, {' and '.join(item.cache for item in group)}"
    page.row([name, "  ", page.place(one.file, one.line), f"  {lookup}"], "  ")
    for state in (HIT, MISS, BYPASS):
        same = [answer for answer in one.answers if answer.state == state]
        if same:
            label = f"{state} on {fmt.plural(len(same), 'rank')} "
            refs = first_refs(page, [answer.compile for answer in same], REFS_SHOWN)
            flow(page, refs, "    ", [(label.ljust(16), STYLES[state])])


def add_bypasses(page: Page, report: CachesReport) -> None:
    """Add bypassed caches by reason."""
    groups: dict[tuple[str, str], list[tuple[CompileCaches, str]]] = {}
    for compile_ in report.compiles:
        for answer in compile_.answers:
            if answer.state == BYPASS:
                reason = fmt.one_line(answer.reason) if answer.reason else "torch logged no reason"
                groups.setdefault((answer.cache, reason), []).append((compile_, answer.ref or compile_.ref))
    if not groups:
        return
    page.heading(f"Bypassed ({fmt.count(sum(map(len, groups.values())))})")
    for (cache, reason), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        page.add("  ", (f"{len(members)}×".rjust(4), tokens.STRONG), " ", (cache, tokens.WARN))
        page.say(reason, "       ")
        records = {compile_.ref: ref for compile_, ref in members}
        flow(page, first_refs(page, records, REFS_SHOWN, records.__getitem__), "       ")


def add_answers(page: Page, compiles: Sequence[CompileCaches]) -> None:
    """Add the answers of a compile, in order, with their full keys."""
    answers = [answer for compile_ in compiles for answer in compile_.answers]
    if not answers:
        return
    page.heading("Lookups, in order")
    for answer in answers:
        pieces: list[Piece] = [answer.cache, "  ", (answer.state, STYLES.get(answer.state, ""), answer.ref or "")]
        if answer.saved_s is not None:
            pieces.append(f"  saved {fmt.seconds(answer.saved_s)}")
        if answer.compile_s is not None:
            pieces.append(f"  compiling took {fmt.seconds(answer.compile_s)}")
        page.row(pieces, "  ")
        if answer.key:
            page.add("    ", ("key  ", tokens.LABEL), (fmt.clip_middle(sanitize(answer.key), page.width - 9), tokens.VALUE))
        if answer.guards:
            page.say(f"guards of the entry: {answer.guards}", "    ", tokens.DIM)


def add_asked(page: Page, report: CachesReport) -> None:
    """Add lookups whose answers torch did not log."""
    asked = [(compile_, answer) for compile_ in report.compiles for answer in compile_.answers if answer.state == "asked"]
    if not asked:
        return
    page.heading(f"Lookups without a logged result ({fmt.count(len(asked))})")
    groups = alike_on_ranks(asked, lambda item: item[0].ref, page.newest, lambda item: item[1].cache)
    for group in groups[:ROWS_SHOWN]:
        answer = group[0][1]
        keys = {one.key or "?" for _, one in group}
        key = f"key {fmt.clip(sanitize(answer.key or '?'), 12)}" if len(keys) == 1 else fmt.plural(len(keys), "key")
        link: Piece = (answer.cache, tokens.LINK, answer.ref or "")
        page.row([*_member_pieces(page, [compile_ for compile_, _ in group]), "  ", link, (f"  {key}", tokens.DIM)], "  ")
    if len(groups) > ROWS_SHOWN:
        page.add("  ", (f"and {fmt.count(sum(map(len, groups[ROWS_SHOWN:])))} more", tokens.DIM))


def add_off(page: Page, report: CachesReport) -> None:
    """Add disabled caches by setting."""
    groups: dict[str, list[CompileCaches]] = {}
    for compile_ in report.compiles:
        for why in compile_.disabled:
            groups.setdefault(why, []).append(compile_)
    if not groups:
        return
    page.heading("Disabled")
    for why, members in groups.items():
        unknown_yet = page.goes_on and why.endswith(UNKNOWN_SETTING)
        page.say(f"{why} so far" if unknown_yet else why, "  ", tokens.WARN, "    ")
        refs = first_refs(page, [compile_.ref for compile_ in members], REFS_SHOWN)
        flow(page, refs, "    ", [f"in {fmt.plural(len(members), 'compile')}: "])


def add_hits(page: Page, report: CachesReport) -> None:
    """Add compiles with hits, the most time saved first."""
    compiles = [compile_ for compile_ in report.compiles if any(answer.state == HIT for answer in compile_.answers)]
    if not compiles:
        return
    saved = f", saving {fmt.seconds(report.saved_s)} of compiling" if report.saved_s else ""
    page.heading(f"Hits in {fmt.plural(len(compiles), 'compile')}{saved}")
    compiles.sort(key=lambda compile_: -(compile_.saved_s or 0.0))
    groups = _ordered(page, _on_ranks(page, compiles), "saved")
    _rows(page, groups[:ROWS_SHOWN], "  ", "saved")
    if len(groups) > ROWS_SHOWN:
        with page.fold(f"{fmt.plural(sum(map(len, groups[ROWS_SHOWN:])), 'more compile')} with hits"):
            _rows(page, groups[ROWS_SHOWN : ROWS_SHOWN + NAMED], "    ", "saved")


def _on_ranks(page: Page, compiles: Sequence[CompileCaches]) -> list[list[CompileCaches]]:
    """Group compiles with the same answers on several ranks."""
    return alike_on_ranks(
        compiles, lambda item: item.ref, page.newest, lambda item: (item.function, item.file, item.line, _answers_key(item))
    )


def _member_pieces(page: Page, members: Sequence[CompileCaches]) -> list[Piece]:
    return [piece for group in on_ranks((member.ref for member in members), page.newest) for piece in group.pieces()]


def _ordered(page: Page, groups: Sequence[Sequence[CompileCaches]], order: str) -> list[Sequence[CompileCaches]]:
    """Return groups, which come in an order, in that of the page."""
    return [members for members, _ in replace(ROWS, order=order).ordered([(members, []) for members in groups], page.sort)]


def _rows(page: Page, groups: Sequence[Sequence[CompileCaches]], indent: str, order: str) -> None:
    page.table(replace(ROWS, indent=indent, order=order), [(members, _member_pieces(page, members)) for members in groups])


def _saved(members: Sequence[CompileCaches]) -> str:
    saved = [member.saved_s for member in members if member.saved_s]
    return fmt.from_to(saved) if saved else ""


ROWS: Table[tuple[Sequence[CompileCaches], list[Piece]]] = Table((
    Column("compile", lambda row: row[1][0], sort="compile", key=lambda row: by_numbers(row[0][0].ref)),
    Column("function", lambda row: (fmt.clip_middle(sanitize(row[0][0].function or ""), 30), tokens.FUNCTION), sort="name",
           key=lambda row: short(row[0][0].function or "")),
    Column("saved", lambda row: (_saved(row[0]), tokens.NUMBER), right=True,
           when=lambda rows: any(member.saved_s for members, _ in rows for member in members), sort="saved",
           key=lambda row: -(row[0][0].saved_s or 0.0)),
    Column("lookups", lambda row: ("  ".join((_answers_key(row[0][0]), *map(piece_text, row[1][1:]))), tokens.DIM)),
))  # fmt: skip


def _answers_key(compile_caches: CompileCaches) -> str:
    """Format the answers of a compile: `AOTAutograd hit · FX graph 2 hits`."""
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
            total[backend.cache, backend.location, HIT] += backend.hits
            total[backend.cache, backend.location, MISS] += backend.misses
    if not any(where == "remote" for _, where, _ in total):
        return
    page.heading("Local and remote lookups, from the metrics")
    for cache in (AOT, FX):
        for where in ("local", "remote"):
            hits, misses = total[cache, where, HIT], total[cache, where, MISS]
            if hits or misses:
                page.add("  ", f"{cache}, {where}".ljust(28), f"{fmt.plural(hits, 'hit')}, {fmt.plural(misses, 'miss', 'misses')}")


def add_profiles(page: Page, report: CachesReport) -> None:
    """Add profiles of dynamic sizes (PGO)."""
    profiles = [(compile_, answer) for compile_ in report.compiles for answer in compile_.pgo_profiles]
    if not profiles:
        return
    page.heading("Profiles of dynamic sizes (PGO)")
    groups = alike_on_ranks(profiles, lambda item: item[0].ref, page.newest, lambda item: (item[1].cache, item[1].state))
    for group in groups[:ROWS_SHOWN]:
        answer = group[0][1]
        verb = "read" if answer.state == HIT else "stored"
        link: Piece = (f"{answer.cache}: {verb}", tokens.LINK, answer.ref or "")
        page.row([*_member_pieces(page, [compile_ for compile_, _ in group]), "  ", link], "  ")
    if len(groups) > ROWS_SHOWN:
        page.add("  ", (f"and {fmt.count(sum(map(len, groups[ROWS_SHOWN:])))} more", tokens.DIM))


def add_triton(page: Page, report: CachesReport) -> None:
    """Add the autotuning results, and kernels bundled with cached graphs."""
    total: Counter[str] = Counter()
    for compile_ in report.compiles:
        total.update(dict(compile_.triton_autotuning))
    bundles = sum(compile_.bundled_kernels or 0 for compile_ in report.compiles)
    if not total and not bundles:
        return
    page.heading("Triton")
    words = {HIT: "from the autotuning cache", MISS: "autotuned", "only 1 config": "with a single config",
             "force_disabled": "with the autotuning cache disabled"}  # fmt: skip
    for state, count in total.most_common():
        page.add("  ", f"{fmt.plural(count, 'kernel')} {words.get(state, state)}")
    if bundles:
        page.add("  ", f"{fmt.plural(bundles, 'bundle')} of compiled kernels with cached graphs")


def add_compiles(page: Page, report: CachesReport) -> Iterator[None]:
    """Add every compile with its answers, folded; very many grouped by their answers."""
    compiles = [compile_ for compile_ in report.compiles if compile_.answers]
    if len(compiles) < 2:
        return
    page.blank()
    page.close(0)
    page.open("Every compile", folded=True)
    page.add((f"Compiles with cache lookups ({fmt.count(len(compiles))})", tokens.HEADING))
    if len(on_rows := _on_ranks(page, compiles)) <= MANY_COMPILES:
        _rows(page, on_rows, "  ", "compile")
    else:
        groups: dict[str, list[CompileCaches]] = {}
        for compile_ in compiles:
            groups.setdefault(_answers_key(compile_), []).append(compile_)
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        for label, members in ordered[:GROUPS_SHOWN]:
            yield from _alike(page, label, members)
        if rest := [compile_ for _, members in ordered[GROUPS_SHOWN:] for compile_ in members]:
            yield from _alike(page, f"in {len(ordered) - GROUPS_SHOWN:,} smaller groups", rest)
    page.close(0)


def _alike(page: Page, label: str, members: Sequence[CompileCaches]) -> Iterator[None]:
    """Add a group of compiles: `312 compiles  FX graph miss  f, g, h …`."""
    title = fmt.plural(len(members), "compile")
    names = functions([member.function for member in members], page.width - len(title) - len(label) - 8)
    links = [(member.ref, tokens.LINK, f"@caches:{member.ref}") for member in members]
    yield from add_named(page, title, [(fmt.clip(label, page.width // 2), tokens.DIM), "  ", names], links)


def add_silent(page: Page, report: CachesReport, everyone: Sequence[CompileCaches]) -> None:
    """Add notes on compiles without cache records."""
    unrecorded = [compile_ for compile_ in everyone if compile_.is_lowered and not compile_.answers and not compile_.disabled]
    if unrecorded:
        page.blank()
        has = "has" if len(unrecorded) == 1 else "have"
        text = f"{fmt.plural(len(unrecorded), 'compile')} lowered a graph but {has} no cache record"
        page.say(page.so_far(f"{text}: no lookup was made, or it was not logged."), "", tokens.DIM)
    if report.not_lowered:
        page.blank()
        text = f"{fmt.plural(len(report.not_lowered), 'compile')} did not query a cache (Inductor lowered no graph)"
        page.add((fmt.clip(page.so_far(text), page.width), tokens.DIM))
        flow(page, first_refs(page, report.not_lowered, REFS_SHOWN))


def add_misses(page: Page, report: CachesReport) -> Iterator[None]:
    """Add missed keys: those that differ from their nearest in the same components are one group."""
    if not report.misses:
        return
    took = f", costing {fmt.seconds(report.compile_s)} of compiling" if report.compile_s else ""
    page.heading(f"Misses ({fmt.count(len(report.misses))}){took}")
    by_key: dict[tuple[str, str | None], list[CacheMiss]] = {}
    for n, miss in enumerate(report.misses):
        if n % MISSES_AT_ONCE == MISSES_AT_ONCE - 1:
            yield
        by_key.setdefault((miss.answer.cache, miss.answer.key or miss.answer.ref), []).append(miss)
    groups: dict[tuple[object, ...], list[list[CacheMiss]]] = {}
    plain: list[list[CacheMiss]] = []
    for n, same in enumerate(by_key.values()):
        if n % MISSES_AT_ONCE == MISSES_AT_ONCE - 1:
            yield
        first = same[0]
        if _hits_of(first):
            groups.setdefault((first.answer.cache,), []).append(same)
        elif first.nearest is None or first.nearest.is_earlier is False:
            plain.append(same)
        else:
            groups.setdefault((first.answer.cache, first.nearest.differing_names), []).append(same)
    ordered = sorted(groups.values(), key=lambda group: -sum(m.answer.compile_s or 0.0 for same in group for m in same))
    yield
    for group in ordered[:MISS_GROUPS_SHOWN]:
        _miss_group(page, group)
    rest = ordered[MISS_GROUPS_SHOWN:]
    if rest:
        with page.fold(f"{fmt.plural(len(rest), 'more group')} of misses"):
            for group in rest[:NAMED]:
                _miss_group(page, group)
                yield
    _plain_misses(page, plain)


def _hits_of(miss: CacheMiss) -> list[KeyUse]:
    """Return the hits of the same key."""
    return [use for use in miss.same_key_uses if use.state == HIT]


def _miss_group(page: Page, group: Sequence[Sequence[CacheMiss]]) -> None:
    first = group[0][0]
    _miss(page, group[0])
    if hits := _hits_of(first):
        records = {use.compile: use.ref for use in hits}
        flow(page, first_refs(page, records, REFS_SHOWN, records.__getitem__), "    ", ["hits of the same key: "])
        page.say("The keys are identical: the entry was not in the cache yet, or was in a different cache.", "    ", tokens.DIM)
    elif first.nearest is not None:
        _nearest(page, first.nearest)
    if len(group) > 1:
        title = fmt.plural(len(group) - 1, "more key")
        verb = "differs" if len(group) == 2 else "differ"
        title += " with hits in other compiles" if hits else f" that {verb} in the same components"
        with page.fold(title, "    "):
            for keys in _across_ranks(group[1:])[:NAMED]:
                _misses(page, keys, "      ")


def _across_ranks(group: Sequence[Sequence[CacheMiss]]) -> list[list[Sequence[CacheMiss]]]:
    """Group keys of the same compile on several ranks: each device has different keys."""
    groups: dict[object, list[Sequence[CacheMiss]]] = {}
    for same in group:
        rank, _, rest = same[0].compile.partition(":")
        key = (rest, same[0].function, same[0].answer.detail) if rank.partition(".")[0].isdecimal() and rest else id(same)
        groups.setdefault(key, []).append(same)
    return list(groups.values())


def _misses(page: Page, keys: Sequence[Sequence[CacheMiss]], indent: str) -> None:
    """Add one key, or those of several ranks: `[0/1] f  FX graph cache miss  8 keys  compiling took 0.9–1.1 s  ranks 0–63`."""
    if len(keys) == 1:
        _miss(page, keys[0], indent)
        return
    miss = keys[0][0]
    first, *others = on_ranks((other.compile for same in keys for other in same), page.newest)
    link, *ranks = first.pieces()
    lead: list[Piece] = [link, " "]
    if miss.function:
        lead += [(fmt.clip_middle(sanitize(miss.function), 30), tokens.FUNCTION), "  "]
    took = [other.answer.compile_s for same in keys for other in same if other.answer.compile_s is not None]
    lead += [(f"{miss.answer.cache} miss", tokens.WARN, miss.answer.ref or ""), f"  {fmt.plural(len(keys), 'key')}"]
    flow(page, [ranks, *(group.pieces() for group in others)], indent, [*lead, fmt.took_from_to(took, "  compiling took "), " "])


def _miss(page: Page, same: Sequence[CacheMiss], indent: str = "  ") -> None:
    """Add a miss, `[0/1] f  FX graph cache miss  key fsqdzvbj…  compiling took 1.2 s`, and others of the same key."""
    miss = same[0]
    answer = miss.answer
    pieces: list[Piece] = [(f"[{miss.compile}]", tokens.LINK, miss.compile), " "]
    if miss.function:
        pieces += [(fmt.clip_middle(sanitize(miss.function), 30), tokens.FUNCTION), "  "]
    pieces += [(f"{answer.cache} miss", tokens.WARN, answer.ref or ""), "  "]
    if answer.key:
        pieces.append((f"key {fmt.clip(sanitize(answer.key), 12)}", tokens.DIM))
    if answer.compile_s is not None:
        pieces.append(f"  compiling took {fmt.seconds(answer.compile_s)}")
    page.row(pieces, indent)
    if answer.detail and answer.detail != "full_miss":
        texts = {"guard_miss": "entries with this key exist, but their guards on sizes failed"}
        page.say(texts.get(answer.detail, f"torch logged: {answer.detail}"), indent + "  ")
    if len(same) > 1:
        records = {other.compile: other.answer.ref or "" for other in same[1:]}
        flow(page, first_refs(page, records, REFS_SHOWN, records.__getitem__), indent + "  ", ["misses of the same key: "])


def _nearest(page: Page, nearest: Nearest) -> None:
    use = nearest.uses[0]
    pieces: list[Piece] = ["nearest: key ", (fmt.clip(sanitize(nearest.key), 12), tokens.LINK, use.ref)]
    pieces += [" of ", (f"[{use.compile}]", tokens.LINK, use.compile)]
    facts = ["same function" if nearest.is_same_code else "different function"]
    if nearest.is_earlier is not None:
        facts.append("looked up earlier" if nearest.is_earlier else "looked up later")
    page.row([*pieces, " ", (f"({', '.join(facts)})", tokens.DIM)], "    ")
    text = f"{fmt.count(nearest.differing_components)} of {fmt.plural(nearest.components, 'component')}"
    page.add("    ", (f"{text} {'differs' if nearest.differing_components == 1 else 'differ'}", tokens.STRONG))
    graph = "gm" in nearest.differing_names
    shown = 0 if graph and not nearest.is_same_code else DIFFERENCES_SHOWN  # texts of another graph are not comparable
    for difference in nearest.differences[:shown]:
        _difference(page, difference)
    rest = nearest.differing_names[shown:]
    if rest:
        names = ", ".join(grouped_names(rest))
        more = " …" if nearest.differing_components > len(nearest.differing_names) else ""
        page.say(f"and {names}{more}" if shown else f"{names}{more}", "      ", tokens.DIM, "        ")


def _difference(page: Page, difference: ComponentDifference) -> None:
    """Add a component with its differing words."""
    page.add("      ", (fmt.clip_middle(sanitize(difference.name), page.width - 6), tokens.NAME))
    if difference.missed_value is None or difference.nearest_value is None:
        only, text = "missed", difference.missed_value
        if text is None:
            only, text = "nearest", difference.nearest_value
        shown = fmt.clip(sanitize(fmt.one_line(text or "")), page.width - 33)
        page.add("        ", (f"only in the {only} key  ", tokens.LABEL), shown)
        return
    lines, more = changed_lines(difference.missed_value, difference.nearest_value)
    if more > MANY_LINES:  # another graph: its lines are not comparable
        lines, more = lines[:1], more + len(lines) - 1
    if not lines:
        page.add("        ", ("same text in both; only the hashes differ", tokens.DIM))
    for line in lines:
        _changed(page, line)
    if more:
        page.add("        ", (f"and {fmt.plural(more, 'more line')}", tokens.DIM))


def _changed(page: Page, line: ChangedLine) -> None:
    room = page.width - 17
    for label, text, marks, style in (
        ("missed", line.left, line.left_marks, tokens.ADDED), ("nearest", line.right, line.right_marks, tokens.REMOVED)
    ):  # fmt: skip
        if text is not None:
            page.add("        ", (label.ljust(9), tokens.LABEL), *_pieces(text, marks, room, style))


def _pieces(text: str, marks: Marks, room: int, style: str) -> list[Piece]:
    shown, places = around(text, marks, room)
    pieces: list[Piece] = []
    at = 0
    for start, end in places:
        pieces += [shown[at:start], (shown[start:end], style)]
        at = end
    return [*pieces, shown[at:]]


def _plain_misses(page: Page, plain: Sequence[Sequence[CacheMiss]]) -> None:
    """Add misses without another key to compare with."""
    if not plain:
        return
    groups: dict[tuple[str, bool], list[Sequence[CacheMiss]]] = {}
    for same in plain:
        groups.setdefault((same[0].answer.cache, same[0].components > 0), []).append(same)
    for (cache, compared), members in groups.items():
        title = f"{cache}: {fmt.plural(sum(map(len, members)), 'miss', 'misses')}"
        title += ", no earlier key to compare" if compared else ", no key components logged"
        title = page.title_so_far(title)
        rows = _across_ranks(members)
        page.open(title, folded=len(rows) > ROWS_SHOWN)
        page.add("  ", (fmt.clip(title, page.width - 2), tokens.DIM))
        for keys in rows[:NAMED]:
            _misses(page, keys, "    ")
        page.close()


def _add_vllm_caches(page: Page, caches: VllmCaches) -> None:
    """Add the differences between caches, then their contents."""
    if not caches.caches:
        return
    if len(caches.caches) > 1:
        _add_vllm_differences(page, caches)
    page.blank()
    page.open("vLLM's compile caches")
    page.row([("vLLM's compile caches", tokens.HEADING)], "")
    for cache in caches.caches[:SHOWN]:
        _add_vllm_cache(page, cache)
    if len(caches.caches) > SHOWN:
        page.say(f"… and {len(caches.caches) - SHOWN} more", "  ", tokens.DIM)
    page.close()


def _add_vllm_differences(page: Page, caches: VllmCaches) -> None:
    page.blank()
    page.open("Why the hashes differ")
    page.row([("Why the hashes differ", tokens.HEADING), ("  new ← old", tokens.DIM)], "")
    if not caches.differences:
        page.say("No recorded factor differs between these caches.", "  ", tokens.DIM)
    last = ""
    for one in caches.differences[:SHOWN]:
        if one.unit != last:
            page.add("  ", (sanitize(one.unit), tokens.LABEL))
            last = one.unit
        page.add("    ", (f"{one.kind} ", tokens.WARN), (fmt.clip_middle(sanitize(one.name), 60), tokens.NAME))
        if one.new or one.old:
            values = [fmt.clip_middle(sanitize(value), 40) if value else "not set" for value in (one.new, one.old)]
            page.say(f"{values[0]} ← {values[1]}", "      ")
        if one.note:
            page.say(one.note, "      ", tokens.DIM)
    if len(caches.differences) > SHOWN:
        page.say(f"… and {len(caches.differences) - SHOWN} more; --json lists all", "  ", tokens.DIM)
    page.close()


def _add_vllm_cache(page: Page, cache: VllmCache) -> None:
    binaries = [file for file in cache.files if file.is_binary]
    head: list[Piece] = [(fmt.clip_middle(sanitize(cache.cache_hash or cache.path), 40), tokens.STRONG), "  ", sanitize(cache.unit)]
    page.row(head, "  ")
    words = [fmt.plural(len(cache.files), "file")]
    if cache.graphs:
        words.append(f"{fmt.plural(cache.graphs, 'compiled graph')} for {', '.join(cache.ranges[:8])}")
    if cache.factors:
        words.append(fmt.plural(len(cache.factors), "factor"))
    page.say(" · ".join(words), "    ")
    for file in binaries[:8]:
        page.add("    ", (fmt.clip_middle(sanitize(file.name), 60), tokens.NAME), f"  {fmt.size_of(file.size_bytes)}, binary")
    if len(binaries) > 8:
        page.say(f"… and {len(binaries) - 8} more binary files", "    ", tokens.DIM)
    for reason in cache.refused:
        page.say(f"not read: {sanitize(reason)}", "    ", tokens.WARN)


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `caches` for the scope. Keys are compared within the run."""

    def fill(page: Page) -> Generator[None, None, object]:
        return (yield from _fill(page, run, scope))

    return GrowingDocument(scope.page("caches"), f"caches{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope) -> Generator[None, None, CachesReport]:
    """Add the counts of the index first, then the content of records."""
    page.add((f"Caches{scope.title}", tokens.TITLE))
    vllm = NONE if str(scope.ref) else (yield from read_caches(run))
    _add_vllm_caches(page, vllm)
    if vllm.caches and not any(process.is_traced for process in scope.processes):
        return CachesReport((), 0.0, 0.0, (), (), (), (), vllm)
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
        if compile_.answers or compile_.pgo_profiles or compile_.disabled or compile_.backends or compile_.triton_autotuning
    )
    silent = tuple(compile_.ref for compile_ in study.compiles if not compile_.is_lowered and not compile_.answers)
    saved = sum(compile_.saved_s or 0.0 for compile_ in compiles)
    taken_s = sum(compile_.compile_s or 0.0 for compile_ in compiles)
    cold = yield from cold_start_steps(scope.compiles, study.compiles, saved)
    report = CachesReport(totals, saved, taken_s, different, misses, compiles, silent, vllm, cold)
    add_cold_start(page, cold, len(scope.processes), scope.page("autotune"))
    yield
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
        caches, components = caches_in(node)
        for answer in caches.answers:
            if answer.key and answer.ref:
                use = KeyUse(caches.ref, answer.state, answer.ref)
                code = node.frame.code if caches.function is not None else id(node.frame)
                written = components.get(answer.ref)
                numbers = array("I", written.components) if written else array("I")
                self._index.add(
                    answer.cache, answer.key, use, code, numbers, id(node.process), written.record if written else 0
                )  # fmt: skip
        return caches

    def read(self, compiles: tuple[Compile, ...]) -> Generator[None, None, None]:
        """Read the compiles of the scope."""
        for n, node in enumerate(compiles):
            caches = self._read_compile(node)
            if node.is_compile or caches.answers or caches.pgo_profiles:
                self.compiles.append(caches)
            if n % EVERY == EVERY - 1:
                yield

    def missed_with_components(self) -> bool:
        """Return whether a missed key has components to compare."""
        return any(
            answer.state == MISS and answer.key and self._index.components(answer.cache, answer.key)
            for compile_ in self.compiles for answer in compile_.answers
        )  # fmt: skip

    def index_rest(self, compiles: list[Compile]) -> Generator[None, None, None]:
        """Add the keys of the rest of the run to the index."""
        for n, node in enumerate(compiles):
            if any(name.endswith(("_hit", "_miss")) for name in node.counts):
                self._read_compile(node)
            if n % EVERY == EVERY - 1:
                yield

    def misses(self) -> Generator[None, None, tuple[CacheMiss, ...]]:
        """Return the cache misses, each with the nearest other key."""
        cache_misses: list[CacheMiss] = []
        nearest: dict[tuple[str, str], Nearest | None] = {}
        uses: dict[tuple[str, str], list[KeyUse]] = {}
        for n, compile_ in enumerate(self.compiles):
            if n % MANY_LINKS == MANY_LINKS - 1:
                yield
            for answer in compile_.answers:
                if answer.state != MISS:
                    continue
                key = (answer.cache, answer.key or "")
                if answer.key and key not in nearest and len(nearest) < COMPARED:
                    nearest[key] = self._index.nearest(*key)
                    yield
                if key not in uses:
                    uses[key] = sorted(self._index.uses(*key), key=lambda use: use.state != HIT)[: OTHERS + 1]
                others = tuple([use for use in uses[key] if use.ref != answer.ref][:OTHERS])
                cache_misses.append(
                    CacheMiss(compile_.ref, compile_.function, answer, others, nearest.get(key), self._index.components(*key))
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
    """The cache."""
    state: str
    """`hit`, `miss`, `bypass` …"""
    key: str | None
    """The key that was looked up."""
    reason: str | None
    """Why it was bypassed, or could not be used."""
    saved_s: float | None
    """The time that a hit saved, in seconds, as torch estimates it."""
    compile_s: float | None
    """The time of compiling after a miss, in seconds."""
    record: str | None
    """The address of the answer."""


def cache_rows(data: CachesReport) -> Iterator[CacheRow]:
    """Yield one row per cache answer."""
    for compile_ in data.compiles:
        for answer in compile_.answers:
            yield CacheRow(compile_.ref, compile_.function, answer.cache, answer.state, answer.key, answer.reason,
                           answer.saved_s,
                           answer.compile_s, answer.ref)  # fmt: skip


QUESTION = Question(
    name="caches",
    help="cache hits, misses, bypasses: reasons, time saved, cold start, differences of missed keys",
    key="7",
    group="find causes",
    order=70,
    sorts=("saved", "compile", "time", "name"),
    needs=Needs("has no cache hits, misses or keys", in_vllm_cache=True),
    document=document,
    answer=CachesReport,
    rows=CacheRow,
    records=cache_rows,
    doc="""
    Cache hits, misses, bypasses: a row per cache lookup of a compile. `data.misses` has the differences of
    missed keys, `data.cold_start` the compile time that the next process saves. `data.vllm` has the contents of vLLM's
    cache directories, and the factors that make their hashes differ.
    """,
)
