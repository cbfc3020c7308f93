"""The section of cache misses: how a missed key differs from the nearest other key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.rank_groups import first_refs, flow, on_ranks
from tltui.questions.caches.cache_lookups import HIT, ComponentDifference, KeyUse, Nearest, grouped_names
from tltui.questions.caches.cache_report import CacheMiss, CachesReport
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.line_diff import ChangedLine, Marks, around, changed_lines
from tltui.text.sanitize import sanitize

GROUPS_SHOWN, REFS_SHOWN, ROWS_SHOWN, NAMED = 12, 8, 10, 400
DIFFERENCES_SHOWN, MANY_LINES = 4, 6
EVERY = 2000
"""Misses between two yields."""


def add_misses(page: Page, report: CachesReport) -> Iterator[None]:
    """Keys that were not found: those that differ from their nearest in the same components are one group."""
    if not report.misses:
        return
    took = f", after which compiling took {fmt.seconds(report.taken_s)}" if report.taken_s else ""
    page.heading(f"Misses ({fmt.count(len(report.misses))}){took}")
    by_key: dict[tuple[str, str | None], list[CacheMiss]] = {}
    for n, miss in enumerate(report.misses):
        if n % EVERY == EVERY - 1:
            yield
        by_key.setdefault((miss.answer.cache, miss.answer.key or miss.answer.ref), []).append(miss)
    groups: dict[tuple[object, ...], list[list[CacheMiss]]] = {}
    plain: list[list[CacheMiss]] = []
    for n, same in enumerate(by_key.values()):
        if n % EVERY == EVERY - 1:
            yield
        first = same[0]
        if _elsewhere(first):
            groups.setdefault((first.answer.cache,), []).append(same)
        elif first.nearest is None or first.nearest.before is False:
            plain.append(same)
        else:
            groups.setdefault((first.answer.cache, first.nearest.names), []).append(same)
    ordered = sorted(groups.values(), key=lambda group: -sum(m.answer.seconds_taken or 0.0 for same in group for m in same))
    yield
    for group in ordered[:GROUPS_SHOWN]:
        _miss_group(page, group)
    rest = ordered[GROUPS_SHOWN:]
    if rest:
        text = f"{fmt.plural(len(rest), 'more group')} of misses"
        page.open(text, folded=True)
        page.add("  ", (text, tokens.DIM))
        for group in rest[:NAMED]:
            _miss_group(page, group)
            yield
        page.close()
    _plain_misses(page, plain)


def _elsewhere(miss: CacheMiss) -> list[KeyUse]:
    """Compiles that found the very key."""
    return [use for use in miss.others if use.state == HIT]


def _miss_group(page: Page, group: Sequence[Sequence[CacheMiss]]) -> None:
    first = group[0][0]
    _miss(page, group[0])
    if found := _elsewhere(first):
        records = {use.compile: use.ref for use in found}
        flow(page, first_refs(page, records, REFS_SHOWN, records.__getitem__), "    ", ["the same key was found by "])
        page.say("so nothing differs: the entry was not in the cache yet, or not in this one.", "    ", tokens.DIM)
    elif first.nearest is not None:
        _nearest(page, first.nearest)
    if len(group) > 1:
        what = fmt.plural(len(group) - 1, "more key")
        verb = "differs" if len(group) == 2 else "differ"
        what += " that others found" if found else f" that {verb} in the same components"
        page.open(what, folded=True)
        page.add("    ", (what, tokens.DIM))
        for keys in _on_ranks(group[1:])[:NAMED]:
            _misses(page, keys, "      ")
        page.close()


def _on_ranks(group: Sequence[Sequence[CacheMiss]]) -> list[list[Sequence[CacheMiss]]]:
    """Keys that the same compiles of several ranks asked for together: each device has keys of its own."""
    found: dict[object, list[Sequence[CacheMiss]]] = {}
    for same in group:
        rank, _, rest = same[0].compile.partition(":")
        key = (rest, same[0].function, same[0].answer.detail) if rank.partition(".")[0].isdecimal() and rest else id(same)
        found.setdefault(key, []).append(same)
    return list(found.values())


def _misses(page: Page, keys: Sequence[Sequence[CacheMiss]], indent: str) -> None:
    """One key, or those that differ with the ranks: `[0/1] f  FX graph cache miss  8 keys  compiling took 0.9–1.1 s  ranks 0–63`"""
    if len(keys) == 1:
        _miss(page, keys[0], indent)
        return
    miss = keys[0][0]
    first, *others = on_ranks((own.compile for same in keys for own in same), page.newest)
    link, *ranks = first.pieces()
    lead: list[Piece] = [link, " "]
    if miss.function:
        lead += [(fmt.clip_middle(sanitize(miss.function), 30), tokens.FUNCTION), "  "]
    took = [own.answer.seconds_taken for same in keys for own in same if own.answer.seconds_taken is not None]
    lead += [(f"{miss.answer.cache} miss", tokens.WARN, miss.answer.ref or ""), f"  {fmt.plural(len(keys), 'key')}"]
    flow(page, [ranks, *(group.pieces() for group in others)], indent, [*lead, fmt.took_from_to(took, "  compiling took "), " "])


def _miss(page: Page, same: Sequence[CacheMiss], indent: str = "  ") -> None:
    """`[0/1] f  FX graph cache miss  key fsqdzvbj…  compiling took 1.2 s`, then who missed the same key."""
    miss = same[0]
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
    if len(same) > 1:
        records = {other.compile: other.answer.ref or "" for other in same[1:]}
        flow(page, first_refs(page, records, REFS_SHOWN, records.__getitem__), indent + "  ", ["missed the same key: "])


def _nearest(page: Page, nearest: Nearest) -> None:
    use = nearest.uses[0]
    pieces: list[Piece] = ["nearest: key ", (fmt.clip(sanitize(nearest.key), 12), tokens.LINK, use.ref)]
    pieces += [" of ", (f"[{use.compile}]", tokens.LINK, use.compile)]
    said = ["same function" if nearest.same_code else "another function"]
    if nearest.before is not None:
        said.append("asked for before" if nearest.before else "asked for later")
    page.row([*pieces, " ", (f"({', '.join(said)})", tokens.DIM)], "    ")
    text = f"{fmt.count(nearest.differ)} of {fmt.plural(nearest.of, 'component')}"
    page.add("    ", (f"{text} {'differs' if nearest.differ == 1 else 'differ'}", tokens.STRONG))
    graph = "gm" in nearest.names
    shown = 0 if graph and not nearest.same_code else DIFFERENCES_SHOWN  # of another graph the texts say nothing
    for difference in nearest.differences[:shown]:
        _difference(page, difference)
    rest = nearest.names[shown:]
    if rest:
        names = ", ".join(grouped_names(rest))
        more = " …" if nearest.differ > len(nearest.names) else ""
        page.say(f"and {names}{more}" if shown else f"{names}{more}", "      ", tokens.DIM, "        ")


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
        page.add("        ", ("torch wrote the same text of both; only the hashes differ", tokens.DIM))
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


def _plain_misses(page: Page, plain: Sequence[Sequence[CacheMiss]]) -> None:
    """Misses with nothing to compare with."""
    if not plain:
        return
    groups: dict[tuple[str, bool], list[Sequence[CacheMiss]]] = {}
    for same in plain:
        groups.setdefault((same[0].answer.cache, same[0].components > 0), []).append(same)
    for (cache, compared), members in groups.items():
        what = f"{cache}: {fmt.plural(sum(map(len, members)), 'miss', 'misses')}"
        what += " with no earlier key to compare" if compared else ", torch wrote no components"
        what = page.so_far(what)
        rows = _on_ranks(members)
        page.open(what, folded=len(rows) > ROWS_SHOWN)
        page.add("  ", (fmt.clip(what, page.width - 2), tokens.DIM))
        for keys in rows[:NAMED]:
            _misses(page, keys, "    ")
        page.close()
