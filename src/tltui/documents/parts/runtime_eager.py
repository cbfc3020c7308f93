"""What the page `runtime` says of what did not run compiled: graph breaks, fallbacks, eager operators, what never ran."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.runtime.eager import BreakTime, FallbackTime, break_times, fallback_times
from tltui.analyses.runtime.nodes import compile_at
from tltui.analyses.runtime.result import EagerTime
from tltui.analyses.stacks.known_as import shown_name
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.runtime_graphs import Told
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize
from tltui.text.times import micros

OPS_SHOWN = 6
BREAKS_SHOWN = 8
NEVER_SHOWN = 8
FOLDED = 200
NOT_TOLD = "why these are not in its graph is not in the trace"
OTHER_BACKEND = "no graph of Inductor ran for it: its backend runs operators one by one, as eager and aot_eager do"


def add_breaks(page: Page, told: Told, refs: set[str] | None) -> None:
    """Each graph break that ran: what it costs, where it is, which operators ran eagerly there."""
    found = [item for item in break_times(told.run, told.runtime) if refs is None or item.ref in refs]
    if not found:
        return
    page.heading(f"Eager between regions: {told.us(sum(item.eager_us for item in found))} {told.of}")
    for number, item in enumerate(found[: BREAKS_SHOWN + FOLDED]):
        if number == BREAKS_SHOWN:
            what = f"{fmt.count(len(found) - BREAKS_SHOWN)} more"
            page.open(what, folded=True)
            page.add("  ", (what, tokens.DIM))
        _break(page, told, item)
    if len(found) > BREAKS_SHOWN:
        page.close()


def _is_uncompiled(told: Told, ref: str) -> bool:
    """Whether no graph of Inductor ran for a compile: all of its operators are in the profile."""
    return all(not own.graphs for own in told.runtime.compiles if own.ref == ref)


def _break(page: Page, told: Told, item: BreakTime) -> None:
    places = [(broke.lead, broke) for broke in item.breaks]
    head: list[Piece] = [(f"[{item.ref}]", tokens.LINK, item.ref)]
    for number, (lead, broke) in enumerate(places):
        head.append(" breaks at " if number == 0 else ", or at ")
        head.append(page.place(lead.file, lead.line) if lead is not None else "a line that is not logged")
        if broke.ref:
            head += [" ", ("record", tokens.LINK, broke.ref)]
    head.append((f": {told.us(item.eager_us)} eager {told.of}, {told.share(item.eager_us)}", tokens.STRONG))
    page.row(head)
    if not places:
        page.say(OTHER_BACKEND if _is_uncompiled(told, item.ref) else NOT_TOLD, "    ", tokens.DIM)
    if len(places) == 1:
        lead, broke = places[0]
        page.code(lead.code if lead is not None else None, "    ")
        page.say(fmt.clip(sanitize(broke.headline), 2 * page.width), "    ", tokens.DIM)
    if item.resumed:
        pieces: list[Piece] = ["goes on in"]
        for ref in item.resumed[:OPS_SHOWN]:
            pieces += [" ", (f"[{ref}]", tokens.LINK, ref)]
        page.row([*pieces, f", whose guards take {told.us(item.guards_us)} {told.of}"], "    ")
    _ops(page, told, item.ops)


def _ops(page: Page, told: Told, ops: Sequence[EagerTime]) -> None:
    rows: list[list[Piece]] = [
        [
            (told.us(item.us), tokens.NUMBER), (told.share(item.us), tokens.DIM), (fmt.count(item.calls), tokens.NUMBER),
            (micros(item.us / max(item.calls, 1)), tokens.NUMBER), (sanitize(item.op), tokens.NAME),
        ]
        for item in ops[: OPS_SHOWN + FOLDED]
    ]  # fmt: skip
    if rows:
        rows.insert(0, [(name, tokens.LABEL) for name in (told.of, "", "calls", "mean", "operator")])
        shown = 1 + OPS_SHOWN if len(ops) > OPS_SHOWN + 2 else -1
        page.grid(rows, "    ", (0, 1, 2, 3), shown, f"{fmt.count(len(ops) - OPS_SHOWN)} more operators")


def add_outside(page: Page, told: Told) -> None:
    """Operators that no region held."""
    found = sorted((item for item in told.runtime.eager if item.inside is None), key=lambda item: -item.us)
    if found:
        page.heading(f"Eager outside regions: {told.us(sum(item.us for item in found))} {told.of}")
        page.say("never compiled, or fallen back to eager mode", "  ", tokens.DIM)
        _ops(page, told, found)


def add_fallbacks(page: Page, told: Told, refs: set[str] | None) -> None:
    """Calls for which guards were tried and no compile ran."""
    found = fallback_times([item for item in told.runtime.fallbacks if refs is None or item.ref in refs])
    if not found:
        return
    page.heading(f"Fell back to eager mode: {fmt.plural(sum(item.calls for item in found), 'call')}")
    why = "Guards were tried, and no compile ran: the recompile limit was reached, or torch skips the function."
    page.say(why, "  ", tokens.DIM)
    for item in found[:BREAKS_SHOWN]:
        _fallback(page, told, item)
    if len(found) > BREAKS_SHOWN:
        page.add("  ", (f"and {fmt.count(len(found) - BREAKS_SHOWN)} more: --json has all of them", tokens.DIM))


def _fallback(page: Page, told: Told, item: FallbackTime) -> None:
    pieces: list[Piece] = [(fmt.plural(item.calls, "call"), tokens.STRONG)]
    if item.ref:
        compile_ = compile_at(told.run, item.ref)
        name = sanitize(shown_name(compile_.frame) or "") if compile_ is not None else ""
        pieces += [" of ", (name or f"[{item.ref}]", tokens.LINK, item.ref)]
    else:
        pieces.append(" of a function that the profile does not name")
    pieces.append(f", {micros(item.lookup_us / item.calls)} of guards each")
    page.row(pieces)
    if item.ops:
        more = f" and {fmt.count(len(item.ops) - OPS_SHOWN)} more" if len(item.ops) > OPS_SHOWN else ""
        page.say(f"then ran {', '.join(map(sanitize, item.ops[:OPS_SHOWN]))}{more}", "    ", tokens.DIM)


def add_never(page: Page, told: Told, refs: set[str] | None) -> None:
    """Compiles that were done and did not run, those first that took longest."""
    found = [(compile_at(told.run, ref), ref) for ref in told.runtime.never_called if refs is None or ref in refs]
    if not found:
        return
    found.sort(key=lambda item: -(item[0].tally.seconds if item[0] is not None else 0.0))
    page.heading(f"Compiled and never called ({fmt.count(len(found))})")
    rows: list[list[Piece]] = []
    for compile_, ref in found[: NEVER_SHOWN + FOLDED]:
        seconds = compile_.tally.seconds if compile_ is not None else 0.0
        name = sanitize(shown_name(compile_.frame) or "") if compile_ is not None else ""
        took = (fmt.seconds(seconds) if seconds else "", tokens.NUMBER)
        rows.append([took, (f"[{ref}]", tokens.LINK, ref), (name, tokens.FUNCTION)])
    shown = NEVER_SHOWN if len(found) > NEVER_SHOWN + 2 else -1
    page.grid(rows, right=(0,), shown=shown, more=f"{fmt.count(len(found) - NEVER_SHOWN)} more compiles")
    page.say("while the profiler ran; they may run at other times", "  ", tokens.DIM)


def add_unmatched(page: Page, told: Told) -> None:
    """What of the profile belongs to nothing in the trace."""
    found = {name: count for name, count in told.runtime.unmatched.items() if count}
    if found:
        page.heading("Of nothing in the trace")
        page.grid([[(fmt.count(count), tokens.NUMBER), sanitize(name)] for name, count in sorted(found.items())], right=(0,))
