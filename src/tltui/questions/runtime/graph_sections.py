"""Sections about compiled graphs and eager code in a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.nodes import Compile
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.runtime.costs import own_us, whole_us
from tltui.questions.runtime.eager_code import BreakTime, FallbackTime, break_times, fallback_times
from tltui.questions.runtime.profile_results import (
    CompileTime,
    EagerTime,
    GraphTime,
    KernelTime,
    LineTime,
    Runtime,
    Spread,
    compile_at,
    layer_times,
    line_times,
)
from tltui.questions.runtime.runtime_report import estimated_us, unseen
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.formatting import micros
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

SORTS = ("time", "mean", "calls", "name", "code")
"""`code`: kernels in the order of the code, compiles in that of the tree."""
COMPILES_SHOWN, KERNELS_SHOWN, LINES_SHOWN = 12, 10, 6
FOLDED = 400
"""Rows of a table that are there folded."""
MIDDLING, WIDE = 62, 90
"""Columns from which on tables have more columns."""
PATHS = 110
"""Columns from which on a file has its directory."""
NARROW = 48
"""Columns up to which there are only those that must be."""

_Key = Callable[[Spread, str, int], tuple[object, ...]]
_ORDERS: dict[str, _Key] = {
    "time": lambda time, name, place: (-time.us, place),
    "mean": lambda time, name, place: (-time.mean_us, place),
    "calls": lambda time, name, place: (-time.calls, place),
    "name": lambda time, name, place: (name, place),
    "code": lambda time, name, place: (place,),
}


@frozen
class Told:
    """What the tables of a profile need to know besides."""

    run: Run
    runtime: Runtime
    sort: str

    @property
    def steps(self) -> int:
        """What times are divided by."""
        return max(len(self.runtime.steps), 1)

    @property
    def of(self) -> str:
        """What a time is of: `a step`, `in all`."""
        return "a step" if self.runtime.steps else "in all"

    def has_total(self, page: Page) -> bool:
        """Whether tables say what it was in all, beside what it is of a step."""
        return bool(self.runtime.steps) and page.width >= WIDE

    def us(self, us: float) -> str:
        """A time of the window, as it is told."""
        return micros(us / self.steps)

    def share(self, us: float) -> str:
        """Of a step, or of the window."""
        return fmt.percent(us, whole_us(self.runtime))


def by_cost(compiles: Sequence[CompileTime], sort: str) -> list[CompileTime]:
    """Compiles in the order that is asked for."""
    if sort == "code":
        return list(compiles)
    if sort == "name":
        return sorted(compiles, key=lambda own: own.ref)
    if sort == "mean":
        return sorted(compiles, key=lambda own: -own.regions.mean_us)
    return sorted(compiles, key=lambda own: -(own.regions.calls if sort == "calls" else own_us(own)))


def add_compiles(page: Page, told: Told, compiles: Sequence[CompileTime]) -> None:
    """One row a compile: what is its own, its guards as measured and as torch estimated them."""
    if not compiles:
        return
    page.heading("Compiles")
    wide, middling = page.width >= WIDE, page.width >= MIDDLING
    of_calls = ["total", "mean", "median"] if wide else ["mean"] if middling else []
    shown = {own.ref: compile_at(told.run, own.ref) for own in compiles[: COMPILES_SHOWN + FOLDED]}
    estimates = {ref: us for ref, c in shown.items() if c is not None and (us := estimated_us(c)) is not None} if middling else {}
    guards = ["guards"] if page.width > NARROW else []
    own_label = f"own {told.of}" if wide else "own"
    names = ["compile", own_label, "", "calls", *of_calls, *guards, *(["estimate"] if estimates else []), "function"]
    rows: list[list[Piece]] = [[(name, tokens.LABEL) for name in names]]
    for own in compiles[: COMPILES_SHOWN + FOLDED]:
        compile_ = shown[own.ref]
        estimate = (micros(estimates[own.ref]) if own.ref in estimates else "", tokens.DIM)
        times = [micros(own.regions.us), micros(own.regions.mean_us), micros(own.regions.median_us)]
        rows.append([
            (f"[{own.ref}]", tokens.LINK, f"@runtime:{own.ref}"),
            (told.us(own_us(own)), tokens.NUMBER),
            (told.share(own_us(own)), tokens.DIM),
            (fmt.count(own.regions.calls), tokens.NUMBER),
            *((text, tokens.NUMBER) for text in (times if wide else times[1:2] if middling else ())),
            *([(micros(own.lookups.mean_us) if own.lookups.calls else "", tokens.PHASE_GUARDS)] if guards else []),
            *([estimate] if estimates else []),
            _name(compile_, wide),
        ])  # fmt: skip
    more = f"{fmt.count(len(compiles) - COMPILES_SHOWN)} more compiles"
    first = 1 + COMPILES_SHOWN if len(compiles) > COMPILES_SHOWN + 2 else -1
    page.grid(rows, right=range(1, len(names) - 1), shown=first, more=more)
    said = f"own: {told.of}, without compiles that run inside of it, with its guards and its backward. Guards are of a call"
    said = said if guards else said.partition(" Guards")[0].rstrip(".")
    page.say(f"{said}{', beside what torch estimated when it compiled' if estimates else ''}.", "  ", tokens.DIM)


def _name(compile_: Compile | None, wide: bool) -> Piece:
    if compile_ is None:
        return ""
    name, (_, file, line) = display_name(compile_.frame) or "", compile_.frame.code
    where = f"  {fmt.place(file, line)}" if file and wide else ""
    return (sanitize(name) + where, tokens.FUNCTION)


def add_compile(page: Page, told: Told, own: CompileTime, layers: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Iterator[None]:
    """The graphs of a compile. `layers`: unit → key of a kernel → its layers. Yields between graphs."""
    compile_ = compile_at(told.run, own.ref)
    name = fmt.clip_middle(sanitize(display_name(compile_.frame) or ""), 40) if compile_ is not None else ""
    page.close(0)
    page.blank()
    page.open(f"[{own.ref}] {name}".rstrip())
    head: list[Piece] = [(f"[{own.ref}]", tokens.LINK, own.ref), " ", (name, tokens.FUNCTION)]
    if compile_ is not None and compile_.frame.code[1] is not None:
        head += ["  ", page.place(*compile_.frame.code[1:])]
    page.row(head, "")
    page.joined(list(_facts(told, own, compile_)), "  ")
    if not own.graphs:
        page.say("no graph of it ran in this window", "  ", tokens.DIM)
    for graph in own.graphs:
        _graph(page, told, own.ref, graph, _Targets(compile_, graph.unit), layers.get(graph.unit, {}), unseen(compile_, graph))
        yield


def _facts(told: Told, own: CompileTime, compile_: Compile | None) -> Iterator[Piece]:
    regions = own.regions
    yield f"{fmt.plural(regions.calls, 'call')}, {_each(regions)}" if regions.calls else "its calls are not in this window"
    yield (f"{told.us(own_us(own))} {told.of} its own, {told.share(own_us(own))}", tokens.STRONG)
    if own.lookups.calls:
        estimate = estimated_us(compile_) if compile_ is not None else None
        said = f" (torch estimated {micros(estimate)})" if estimate is not None else ""
        yield (f"guards {micros(own.lookups.mean_us)} a call{said}", tokens.PHASE_GUARDS)
    if own.overhead_us:
        yield f"prologues {told.us(own.overhead_us)} {told.of}"


def _each(time: Spread) -> str:
    """`4.31 ms each`, and the median where it is another."""
    middle = f" (median {micros(time.median_us)})" if abs(time.median_us - time.mean_us) > 0.05 * time.mean_us else ""
    return f"{micros(time.mean_us)} each{middle}"


class _Targets:
    """Where the calls of the kernels of a unit stand in its code."""

    def __init__(self, compile_: Compile | None, unit: str) -> None:
        found = provenance_of(compile_).unit(unit) if compile_ is not None and unit else None
        self._found = {}
        for kernel in found.kernels if found is not None and found.unit == unit else ():
            ref = found.panes[kernel.call_pane].ref if found is not None else ""
            if ref and kernel.call_lines:
                self._found[kernel.key] = at_line(ref, kernel.call_lines[0])

    def of(self, key: str) -> str:
        """The address of a call, '' where it is not known."""
        return self._found.get(key, "")


def _graph(
    page: Page, told: Told, ref: str, graph: GraphTime, targets: _Targets, layers: Mapping[str, tuple[str, ...]],
    lacking: tuple[int, int, bool],
) -> None:
    unit = sanitize(graph.unit) or "graph"
    page.blank()
    page.open(f"{unit} of [{ref}]")
    words: list[Piece] = [
        (unit, tokens.STRONG), f"{fmt.plural(graph.time.calls, 'call')}, {_each(graph.time)}",
        f"{told.us(graph.time.us)} {told.of}, {told.share(graph.time.us)}",
    ]  # fmt: skip
    page.joined(words, "  ")
    page.joined(list(_between(graph)), "    ")
    _lacking(page, *lacking)
    _kernels(page, told, graph, targets)
    _lines(page, told, "line", line_times([graph]), graph)
    _lines(page, told, "layer", layer_times(graph, dict(layers)), graph)
    page.close()


def _lacking(page: Page, count: int, of: int, is_cpp: bool) -> None:
    """What the profile does not show of a graph: it counts as no kernel."""
    if count:
        verb = "is" if count == 1 else "are"
        said = f"{fmt.count(count)} of {fmt.plural(of, 'kernel')} of its code {verb} not in the profile: their time is not known"
        why = ". C++ kernels are, with torch._inductor.config.cpp.enable_kernel_profile = True" if is_cpp else ""
        page.say(said + why, "    ", tokens.WARN)


def _between(graph: GraphTime) -> Iterator[Piece]:
    whole = graph.time.us
    yield (f"{fmt.percent(graph.kernels_us, whole)} in kernels", tokens.PHASE_KERNELS)
    gap = f", {micros(graph.gap_us)} between two" if graph.gap_us else ""
    yield (f"{fmt.percent(graph.wrapper_us, whole)} in no kernel{gap}", tokens.PHASE_INDUCTOR)
    if graph.device_us:
        yield f"{micros(graph.device_us / max(graph.time.calls, 1))} a call on the device"
    if graph.key is None:
        yield ("no cache key: told apart by its compile and its kernels", tokens.DIM)


def _kernels(page: Page, told: Told, graph: GraphTime, targets: _Targets) -> None:
    if not graph.kernels:
        return
    order = _ORDERS[told.sort]
    placed = sorted(enumerate(graph.kernels), key=lambda item: order(item[1].time, item[1].name, item[0]))
    kernels = [kernel for _, kernel in placed]
    wide, middling = page.width >= WIDE, page.width >= MIDDLING
    labels = [told.of, "", *(["total"] if told.has_total(page) else []), *(["calls"] if wide else []), "mean",
              *(["median"] if middling else []), "kernel"]  # fmt: skip
    with_lines = middling and any(kernel.lines for kernel in kernels)
    devices = {kernel.device for kernel in kernels}
    rows: list[list[Piece]] = [[(name, tokens.LABEL) for name in (*labels, *(["from"] if with_lines else []))]]
    for kernel in kernels[: KERNELS_SHOWN + FOLDED]:
        time, target = kernel.time, targets.of(kernel.key)
        name = sanitize(_called(kernel)) + (f" on {sanitize(kernel.device)}" if len(devices) > 1 else "")
        rows.append([
            (told.us(time.us), tokens.NUMBER),
            (told.share(time.us), tokens.DIM),
            *([(micros(time.us), tokens.NUMBER)] if told.has_total(page) else []),
            *([(fmt.count(time.calls), tokens.NUMBER)] if wide else []),
            (micros(time.mean_us), tokens.NUMBER),
            *([(micros(time.median_us), tokens.WARN if _uneven(time) else tokens.NUMBER)] if middling else []),
            (name, tokens.LINK if target else tokens.NAME, target),
            *([_from(kernel, page.width >= PATHS)] if with_lines else []),
        ])  # fmt: skip
    page.add("    ", (_title(len(kernels), told), tokens.LABEL))
    more = f"{fmt.count(len(kernels) - KERNELS_SHOWN)} more kernels"
    shown = 1 + KERNELS_SHOWN if len(kernels) > KERNELS_SHOWN + 2 else -1
    page.grid(rows, "    ", range(len(labels) - 1), shown, more)
    if any(kernel.nth < 0 and kernel.time.calls for kernel in kernels):
        page.say("×: all calls of that name together, as they cannot be told apart.", "    ", tokens.DIM)


def _title(count: int, told: Told) -> str:
    order = {"code": "in the order of the code"}.get(told.sort, f"by {told.sort}")
    return f"{fmt.plural(count, 'kernel')} {order}"


def _called(kernel: KernelTime) -> str:
    """`name:12`, a number where it is called several times without one, `×` for all calls together."""
    if kernel.nth < 0:
        return f"{kernel.name} ×"
    if kernel.key:
        return kernel.key
    return kernel.name if kernel.handle is None else f"{kernel.name}:{kernel.handle}"


def _uneven(time: Spread) -> bool:
    """Whether single calls took so long that the mean says little: the process was interrupted."""
    return time.calls > 2 and time.mean_us > 2 * time.median_us


def _from(kernel: KernelTime, with_directory: bool) -> Piece:
    if not kernel.lines:
        return ""
    first = kernel.lines[0]
    more = f" +{len(kernel.lines) - 1}" if len(kernel.lines) > 1 else ""
    place = _place(first) if with_directory else fmt.file_name(_place(first))
    return (place + more, tokens.LINK, _target(first))


def _place(line: str) -> str:
    file, _, number = line.rpartition(":")
    return fmt.place(sanitize(file), int(number)) if number.isdecimal() else sanitize(line)


def _target(line: str) -> str:
    file, _, number = line.rpartition(":")
    return fmt.place_target(file, int(number)) if number.isdecimal() else ""


def _lines(page: Page, told: Told, noun: str, times: Sequence[LineTime], graph: GraphTime) -> None:
    """Lines or layers, each with the whole time of its kernels."""
    if not times or not graph.time.us:
        return
    if told.sort == "name":
        times = sorted(times, key=lambda own: own.name)
    elif told.sort in ("mean", "calls"):
        times = sorted(times, key=lambda own: -(own.mean_us if told.sort == "mean" else own.calls))
    wide, middling = page.width >= WIDE, page.width >= MIDDLING
    total = ["total"] if told.has_total(page) else []
    calls, median = ["calls"] if middling else [], ["median"] if wide else []
    labels = [told.of, "", *total, *calls, "mean", *median, *(["alone"] if middling else []), "kernels", noun]
    rows: list[list[Piece]] = [[(name, tokens.LABEL) for name in labels]]
    for own in times[: LINES_SHOWN + FOLDED]:
        line = noun == "line"
        rows.append([
            (told.us(own.us), tokens.NUMBER),
            (told.share(own.us), tokens.DIM),
            *([(micros(own.us), tokens.NUMBER)] if told.has_total(page) else []),
            *([(fmt.count(own.calls), tokens.NUMBER)] if middling else []),
            (micros(own.mean_us), tokens.NUMBER),
            *([(micros(own.median_us), tokens.NUMBER)] if wide else []),
            *([(told.us(own.alone_us) if own.alone_us else "", tokens.DIM)] if middling else []),
            (fmt.count(len(own.kernels)), tokens.NUMBER),
            (_place(own.name), tokens.LINK, _target(own.name)) if line else (sanitize(own.name), tokens.NAME),
        ])  # fmt: skip
    what = fmt.plural(len(times), noun)
    page.blank()
    page.open(what)
    page.say(f"{what}, each with all of its kernels: not to be added", "    ", tokens.LABEL)
    shown = 1 + LINES_SHOWN if len(times) > LINES_SHOWN + 2 else -1
    page.grid(rows, "    ", range(len(labels) - 1), shown, f"{fmt.count(len(times) - LINES_SHOWN)} more {noun}s")
    page.close()


OPS_SHOWN = 6
BREAKS_SHOWN = 8
NEVER_SHOWN = 8
EAGER_FOLDED = 200
NOT_TOLD = "why these are not in its graph is not in the trace"
OTHER_BACKEND = "no graph of Inductor ran for it: its backend runs operators one by one, as eager and aot_eager do"


def add_breaks(page: Page, told: Told, refs: set[str] | None) -> None:
    """Each graph break that ran: what it costs, where it is, which operators ran eagerly there."""
    found = [item for item in break_times(told.run, told.runtime) if refs is None or item.ref in refs]
    if not found:
        return
    page.heading(f"Eager between regions: {told.us(sum(item.eager_us for item in found))} {told.of}")
    for number, item in enumerate(found[: BREAKS_SHOWN + EAGER_FOLDED]):
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
        for item in ops[: OPS_SHOWN + EAGER_FOLDED]
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
        name = sanitize(display_name(compile_.frame) or "") if compile_ is not None else ""
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
    for compile_, ref in found[: NEVER_SHOWN + EAGER_FOLDED]:
        seconds = compile_.tally.seconds if compile_ is not None else 0.0
        name = sanitize(display_name(compile_.frame) or "") if compile_ is not None else ""
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
