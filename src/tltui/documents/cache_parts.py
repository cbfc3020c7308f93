"""Sections of the page of caches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tltui.analyses.cache_keys import ComponentDifference, KeyUse, Nearest, grouped_names
from tltui.analyses.cache_report import CacheMiss, CachesReport, CacheTotal, CompileCaches, Divergence
from tltui.analyses.caches import AOT, BYPASS, DISABLED_STATE, FX, HIT, MISS, STORED
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize
from tltui.text.word_diff import ChangedLine, Marks, around, changed_lines

GROUPS_SHOWN, REFS_SHOWN, ROWS_SHOWN, NAMED = 12, 8, 10, 400
DIFFERENCES_SHOWN, MANY_LINES = 4, 6
STYLES = {HIT: tokens.OK, MISS: tokens.WARN, BYPASS: tokens.WARN, DISABLED_STATE: tokens.DIM, STORED: tokens.DIM}


def add_totals(page: Page, totals: Sequence[CacheTotal]) -> None:
    """Hits, misses and bypasses of each cache."""
    for total in totals:
        words: list[Piece] = [(fmt.plural(total.hits, "hit"), tokens.OK if total.hits else tokens.DIM)]
        words.append((fmt.plural(total.misses, "miss", "misses"), tokens.WARN if total.misses else tokens.DIM))
        if total.bypassed:
            words.append((fmt.plural(total.bypassed, "bypass", "bypasses"), tokens.WARN))
        line: list[Piece] = [(total.cache.ljust(19), tokens.STRONG)]
        for n, word in enumerate(words):
            line += [", " if n else "", word]
        page.add(*line)


def add_divergences(page: Page, found: Sequence[Divergence]) -> None:
    """What some ranks found and others did not: a known cause of hangs."""
    if not found:
        return
    page.heading(f"Ranks got different answers ({fmt.plural(len(found), 'compile')})")
    page.say(
        "Ranks that hit go on at once, those that miss compile first. A collective in between waits for them, or hangs "
        "(pytorch issue 193043).", "  ", tokens.WARN,
    )  # fmt: skip
    for one in found[:ROWS_SHOWN]:
        _divergence(page, one)
    if len(found) > ROWS_SHOWN:
        what = f"{fmt.count(len(found) - ROWS_SHOWN)} more"
        page.open(what, folded=True)
        page.add("  ", (what, tokens.DIM))
        for one in found[ROWS_SHOWN:NAMED]:
            _divergence(page, one)
        page.close()


def _divergence(page: Page, one: Divergence) -> None:
    name = (fmt.clip_middle(sanitize(one.function or "?"), 40), tokens.FUNCTION)
    which = f"{fmt.ordinal(one.ordinal)} compile, {one.cache}"
    page.row([name, "  ", page.place(one.file, one.line), f"  {which}"], "  ")
    for state in (HIT, MISS, BYPASS):
        same = [answer for answer in one.answers if answer.state == state]
        if same:
            label = f"{state} on {fmt.plural(len(same), 'rank')} "
            refs: list[Piece] = [(f" [{answer.compile}]", tokens.LINK, answer.compile) for answer in same[:REFS_SHOWN]]
            more = f" and {len(same) - REFS_SHOWN} more" if len(same) > REFS_SHOWN else ""
            page.row([(label.ljust(15), STYLES[state]), *refs, (more, tokens.DIM)], "    ")


def add_misses(page: Page, report: CachesReport) -> None:
    """Keys that were not found: those that differ from their nearest in the same components are one group."""
    groups: dict[tuple[object, ...], list[CacheMiss]] = {}
    plain: list[CacheMiss] = []
    for miss in report.misses:
        if miss.nearest is None and not miss.others:
            plain.append(miss)
        else:
            names = miss.nearest.names if miss.nearest is not None else ()
            differs = () if miss.others else tuple(names)
            groups.setdefault((miss.answer.cache, bool(miss.others), differs), []).append(miss)
    if not report.misses:
        return
    took = f", after which compiling took {fmt.seconds(report.taken_s)}" if report.taken_s else ""
    page.heading(f"Misses ({fmt.count(len(report.misses))}){took}")
    ordered = sorted(groups.values(), key=lambda members: -sum(m.answer.seconds_taken or 0.0 for m in members))
    for members in ordered[:GROUPS_SHOWN]:
        _miss_group(page, members)
    rest = ordered[GROUPS_SHOWN:]
    if rest:
        what = f"{fmt.plural(len(rest), 'more group')} of misses"
        page.open(what, folded=True)
        page.add("  ", (what, tokens.DIM))
        for members in rest[:NAMED]:
            _miss_group(page, members)
        page.close()
    _plain_misses(page, plain)


def _miss_group(page: Page, members: list[CacheMiss]) -> None:
    members.sort(key=lambda miss: miss.nearest is not None and miss.nearest.before is False)
    first = members[0]
    _miss(page, first)
    if first.others:
        _same_key(page, first.others)
    if first.nearest is not None and not first.others:
        _nearest(page, first.nearest)
    if len(members) > 1:
        what = f"{fmt.plural(len(members) - 1, 'more miss', 'more misses')}"
        verb = "that differs" if len(members) == 2 else "that differ"
        what += " of keys that others asked for too" if first.others else f" {verb} in the same components"
        page.open(what, folded=True)
        page.add("    ", (what, tokens.DIM))
        for miss in members[1:NAMED]:
            _miss(page, miss, "      ")
            if miss.others:
                _same_key(page, miss.others, "        ")
        page.close()


def _miss(page: Page, miss: CacheMiss, indent: str = "  ") -> None:
    """`[0/1] f  FX graph cache miss  key fsqdzvbj…  compiling took 1.2 s`"""
    answer = miss.answer
    pieces: list[Piece] = [(f"[{miss.compile}]", tokens.LINK, miss.compile), " "]
    if miss.function:
        pieces += [(fmt.clip_middle(sanitize(miss.function), 30), tokens.FUNCTION), "  "]
    pieces += [(f"{answer.cache} miss", tokens.WARN, answer.ref or ""), "  "]
    if answer.key:
        pieces.append((f"key {fmt.clip(sanitize(answer.key), 12)}", tokens.DIM))
    if answer.seconds_taken is not None:
        pieces.append(f"  compiling took {fmt.seconds(answer.seconds_taken)}")
    page.row(pieces, indent)
    if answer.detail and answer.detail != "full_miss":
        said = {"guard_miss": "entries with this key are there, but their guards on sizes do not hold"}
        page.say(said.get(answer.detail, f"torch says: {answer.detail}"), indent + "  ")


def _same_key(page: Page, others: Sequence[KeyUse], indent: str = "    ") -> None:
    pieces: list[Piece] = ["the same key was asked for by"]
    for use in others[:4]:
        pieces += [(f" [{use.compile}]", tokens.LINK, use.ref), (f" ({use.state})", STYLES.get(use.state, ""))]
    if len(others) > 4:
        pieces.append((f" and {len(others) - 4} more", tokens.DIM))
    page.row(pieces, indent)
    if any(use.state == HIT for use in others):
        page.say("so nothing differs: the entry was not in the cache yet, or not in this one.", indent, tokens.DIM)


def _nearest(page: Page, nearest: Nearest) -> None:
    use = nearest.uses[0]
    pieces: list[Piece] = ["nearest other key ", (fmt.clip(sanitize(nearest.key), 12), tokens.LINK, use.ref)]
    pieces += [" of ", (f"[{use.compile}]", tokens.LINK, use.compile)]
    pieces.append(", of the same function" if nearest.same_code else ", of another function")
    if nearest.before is not None:
        pieces.append(", asked for before" if nearest.before else ", asked for later")
    page.row(pieces, "    ")
    what = f"{fmt.count(nearest.differ)} of {fmt.plural(nearest.of, 'component')}"
    page.add("    ", (f"{what} {'differs' if nearest.differ == 1 else 'differ'}", tokens.STRONG))
    for difference in nearest.differences[:DIFFERENCES_SHOWN]:
        _difference(page, difference)
    rest = nearest.names[DIFFERENCES_SHOWN:]
    if rest:
        names = ", ".join(grouped_names(rest))
        page.say(f"and {names}" + (" …" if nearest.differ > len(nearest.names) else ""), "      ", tokens.DIM, "        ")


def _difference(page: Page, difference: ComponentDifference) -> None:
    """One component, with the words in which it differs."""
    page.add("      ", (fmt.clip_middle(sanitize(difference.name), page.width - 6), tokens.NAME))
    if difference.here is None or difference.there is None:
        only, text = ("there", difference.there) if difference.here is None else ("here", difference.here)
        page.add("        ", (f"only {only}  ", tokens.LABEL), fmt.clip(sanitize(fmt.one_line(text or "")), page.width - 20))
        return
    lines, more = changed_lines(difference.here, difference.there)
    if more > MANY_LINES:  # another graph: pairs of lines mean nothing
        lines, more = lines[:1], more + len(lines) - 1
    if not lines:
        page.add("        ", ("the texts that torch wrote are the same as far as they were kept", tokens.DIM))
    for line in lines:
        _changed(page, line)
    if more:
        page.add("        ", (f"and {fmt.plural(more, 'more line')}", tokens.DIM))


def _changed(page: Page, line: ChangedLine) -> None:
    room = page.width - 15
    for label, text, marks, style in (
        ("here", line.left, line.left_marks, tokens.ADDED), ("there", line.right, line.right_marks, tokens.REMOVED)
    ):  # fmt: skip
        if text is not None:
            page.add("        ", (label.ljust(7), tokens.LABEL), *_pieces(text, marks, room, style))


def _pieces(text: str, marks: Marks, room: int, style: str) -> list[Piece]:
    shown, places = around(text, marks, room)
    pieces: list[Piece] = []
    at = 0
    for start, end in places:
        pieces += [shown[at:start], (shown[start:end], style)]
        at = end
    return [*pieces, shown[at:]]


def _plain_misses(page: Page, plain: Sequence[CacheMiss]) -> None:
    """Misses with nothing to compare with."""
    if not plain:
        return
    groups: dict[tuple[str, bool], list[CacheMiss]] = {}
    for miss in plain:
        groups.setdefault((miss.answer.cache, miss.components > 0), []).append(miss)
    for (cache, compared), members in groups.items():
        what = f"{fmt.plural(len(members), 'miss', 'misses')} of the {cache}"
        what += " with no other key to compare" if compared else ": torch wrote no components of its keys"
        page.open(what, folded=len(members) > ROWS_SHOWN)
        page.add("  ", (fmt.clip(what, page.width - 2), tokens.DIM))
        for miss in members[:NAMED]:
            _miss(page, miss, "    ")
        page.close()


def add_bypasses(page: Page, report: CachesReport) -> None:
    """Caches that could not be used, by reason."""
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
        refs: list[Piece] = [(f"[{own.ref}] ", tokens.LINK, ref) for own, ref in members[:REFS_SHOWN]]
        page.row([*refs, (f"and {len(members) - REFS_SHOWN} more" if len(members) > REFS_SHOWN else "", tokens.DIM)], "       ")


def add_answers(page: Page, compiles: Sequence[CompileCaches]) -> None:
    """Each answer of a compile, in order, with its whole key."""
    answers = [answer for own in compiles for answer in own.answers]
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
    for own, answer in found[:ROWS_SHOWN]:
        page.row([(f"[{own.ref}]", tokens.LINK, own.ref), "  ", (answer.cache, tokens.LINK, answer.ref or ""),
                  (f"  key {fmt.clip(sanitize(answer.key or '?'), 12)}", tokens.DIM)], "  ")  # fmt: skip
    if len(found) > ROWS_SHOWN:
        page.add("  ", (f"and {fmt.count(len(found) - ROWS_SHOWN)} more", tokens.DIM))


def add_off(page: Page, report: CachesReport) -> None:
    """Caches that were switched off, by what."""
    groups: dict[str, list[CompileCaches]] = {}
    for own in report.compiles:
        for why in own.off:
            groups.setdefault(why, []).append(own)
    if not groups:
        return
    page.heading("Switched off")
    for why, members in groups.items():
        page.say(why, "  ", tokens.WARN, "    ")
        refs: list[Piece] = [(f"[{own.ref}] ", tokens.LINK, own.ref) for own in members[:REFS_SHOWN]]
        page.row([f"in {fmt.plural(len(members), 'compile')}: ", *refs,
                  (f"and {len(members) - REFS_SHOWN} more" if len(members) > REFS_SHOWN else "", tokens.DIM)], "    ")  # fmt: skip


def add_hits(page: Page, report: CachesReport) -> None:
    """Compiles with hits, the most time saved first."""
    found = [own for own in report.compiles if any(answer.state == HIT for answer in own.answers)]
    if not found:
        return
    saved = f", which saved {fmt.seconds(report.saved_s)} of compiling" if report.saved_s else ""
    page.heading(f"Hits in {fmt.plural(len(found), 'compile')}{saved}")
    found.sort(key=lambda own: -(own.saved_s or 0.0))
    _rows(page, found[:ROWS_SHOWN], "  ")
    if len(found) > ROWS_SHOWN:
        what = f"{fmt.plural(len(found) - ROWS_SHOWN, 'more compile')} with hits"
        page.open(what, folded=True)
        page.add("  ", (what, tokens.DIM))
        _rows(page, found[ROWS_SHOWN : ROWS_SHOWN + NAMED], "    ")
        page.close()


def _rows(page: Page, compiles: Sequence[CompileCaches], indent: str) -> None:
    rows: list[list[Piece]] = []
    for own in compiles:
        saved = f"saved {fmt.seconds(own.saved_s)}" if own.saved_s else ""
        rows.append([
            (f"[{own.ref}]", tokens.LINK, own.ref),
            (fmt.clip_middle(sanitize(own.function or ""), 30), tokens.FUNCTION),
            (saved, tokens.NUMBER),
            (_said(own), tokens.DIM),
        ])  # fmt: skip
    page.table(rows, indent)


def _said(own: CompileCaches) -> str:
    """`AOTAutograd hit · FX graph 2 hits`"""
    counts = Counter((answer.cache.removesuffix(" cache"), answer.state) for answer in own.answers)
    words = [f"{cache} {state}" if count == 1 else f"{cache} {count}× {state}" for (cache, state), count in counts.items()]
    return " · ".join(words)


def add_backends(page: Page, report: CachesReport) -> None:
    """Where the answers came from, if a remote cache took part."""
    total: Counter[tuple[str, str, str]] = Counter()
    for own in report.compiles:
        for backend in own.backends:
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
    for own, answer in found[:ROWS_SHOWN]:
        what = "read" if answer.state == HIT else "stored"
        page.row([(f"[{own.ref}]", tokens.LINK, own.ref), "  ", (f"{answer.cache}: {what}", tokens.LINK, answer.ref or "")], "  ")
    if len(found) > ROWS_SHOWN:
        page.add("  ", (f"and {fmt.count(len(found) - ROWS_SHOWN)} more", tokens.DIM))


def add_triton(page: Page, report: CachesReport) -> None:
    """What became of autotuning, and kernels that came with cached graphs."""
    total: Counter[str] = Counter()
    for own in report.compiles:
        total.update(dict(own.triton))
    bundles = sum(own.bundles or 0 for own in report.compiles)
    if not total and not bundles:
        return
    page.heading("Triton")
    words = {HIT: "from the autotuning cache", MISS: "tuned anew", "only 1 config": "with nothing to tune",
             "force_disabled": "with the autotuning cache switched off"}  # fmt: skip
    for state, count in total.most_common():
        page.add("  ", f"{fmt.plural(count, 'kernel')} {words.get(state, state)}")
    if bundles:
        page.add("  ", f"{fmt.plural(bundles, 'bundle')} of compiled kernels with cached graphs")


def add_compiles(page: Page, report: CachesReport) -> None:
    """Every compile with its answers, folded."""
    found = [own for own in report.compiles if own.answers]
    if len(found) < 2:
        return
    page.blank()
    page.close(0)
    page.open("Every compile", folded=True)
    page.add((f"Every compile that asked a cache ({fmt.count(len(found))})", tokens.HEADING))
    _rows(page, found[: NAMED * 10], "  ")
    page.close(0)


def add_silent(page: Page, report: CachesReport, everyone: Sequence[CompileCaches]) -> None:
    """What can be said of the rest, and of a page with nothing on it."""
    if not any(own.answers or own.off for own in report.compiles):
        page.blank()
        page.say("No cache answered here." if everyone else "There is no compile here, so no cache was asked.")
    strange = [own for own in everyone if own.lowered and not own.answers and not own.off]
    if strange:
        page.blank()
        what = f"{fmt.plural(len(strange), 'compile')} lowered a graph without a record of any cache"
        page.say(f"{what}: torch before 2.5 writes none, and the log may be cut.", "", tokens.DIM)
    if report.silent:
        page.blank()
        what = f"{fmt.plural(len(report.silent), 'compile')} asked no cache: Inductor lowered nothing in them"
        page.add((fmt.clip(what, page.width), tokens.DIM))
        refs: list[Piece] = [(f"[{ref}] ", tokens.LINK, ref) for ref in report.silent[: REFS_SHOWN * 2]]
        page.row([*refs, (f"and {len(report.silent) - 2 * REFS_SHOWN} more" if len(report.silent) > 2 * REFS_SHOWN else "", tokens.DIM)], "  ")
