"""Sections about compiled graphs and eager code in a profile, and about what ran on devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table, to_page
from tltui.model.nodes import Compile
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.runtime.costs import self_us, window_us
from tltui.questions.runtime.profile_results import (
    BreakTime,
    CompileTime,
    DeviceOp,
    DeviceTime,
    EagerTime,
    FallbackTime,
    GraphTime,
    KernelTime,
    LineTime,
    Runtime,
    Spread,
    StreamTime,
    break_times,
    compile_at,
    fallback_times,
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

SORTS = ("time", "mean", "median", "calls", "alone", "kernels", "line", "name", "code")
"""`code`: kernels in the order of the code, compiles in that of the tree."""
COMPILES_SHOWN, KERNELS_SHOWN, LINES_SHOWN = 12, 10, 6
FOLDED = 400
"""Rows of a table that are there folded."""
MIDDLING, WIDE = 62, 90
"""Width in cells from which on tables have more columns."""
PATHS = 110
"""Width in cells from which on a file has its directory."""
NARROW = 48
"""Width in cells up to which there are only those that must be."""

OPS_SHOWN = 6
BREAKS_SHOWN = 8
NEVER_SHOWN = 8
EAGER_FOLDED = 200
NOT_LOGGED = "The trace has no graph break that explains why these operators ran eagerly."
OTHER_BACKEND = "no Inductor graph ran: the compile's backend runs operators one by one, like eager and aot_eager"

BAR_MOST = 30
DEVICE_OPS_SHOWN, DEVICE_KERNELS_SHOWN, STREAMS_SHOWN = 6, 8, 4
OVERLAP = 1.01
"""Times the busy time that all parts take, from which on streams overlap."""
PARTS: tuple[tuple[str, str, str, str], ...] = (
    ("compiled", "compiled_us", tokens.PHASE_KERNELS, "launched by compiled graphs"),
    ("eager", "eager_us", tokens.PHASE_CACHE, "launched by operators outside of graphs"),
    ("direct", "bare_us", tokens.PHASE_OTHER, "launched outside of operators and graphs"),
    ("tuning", "compiling_us", tokens.PHASE_DYNAMO, "launched while torch was compiling"),
    ("unknown", "unknown_us", tokens.PHASE_OTHER, "launch not in the profile, or its graph not in the trace"),
)
"""Name, field of `DeviceTime`, style, meaning."""


@frozen
class Figures:
    """The format of times in the tables of a profile: per step if it has steps."""

    run: Run
    runtime: Runtime
    sort: str

    @property
    def steps(self) -> int:
        """The divisor of times."""
        return max(len(self.runtime.steps), 1)

    @property
    def of(self) -> str:
        """The basis of a time: `a step`, `in all`."""
        return "per step" if self.runtime.steps else "in total"

    def has_total(self, page: Page) -> bool:
        """Return whether tables have the time of all steps too."""
        return bool(self.runtime.steps) and page.width >= WIDE

    def us(self, us: float) -> str:
        """Format a time of the window (in µs) as one of a step."""
        return micros(us / self.steps)

    def share(self, us: float) -> str:
        """Format the share of a time (in µs) in the window."""
        return fmt.percent(us, window_us(self.runtime))


def by_cost(compiles: Sequence[CompileTime], sort: str) -> list[CompileTime]:
    """Return compiles in the order `sort`."""
    if sort == "code":
        return list(compiles)
    if sort == "name":
        return sorted(compiles, key=lambda compile_: compile_.ref)
    if sort == "mean":
        return sorted(compiles, key=lambda compile_: -compile_.regions.mean_us)
    return sorted(compiles, key=lambda compile_: -(compile_.regions.calls if sort == "calls" else self_us(compile_)))


def add_compiles(page: Page, figures: Figures, compiles: Sequence[CompileTime]) -> None:
    """Add one row a compile: its self time, its guards as measured and as torch estimated them."""
    if not compiles:
        return
    page.heading("Compiles")
    nodes = {row.ref: compile_at(figures.run, row.ref) for row in compiles[: COMPILES_SHOWN + FOLDED]}
    with_estimates = nodes if page.width >= MIDDLING else {}
    estimates = {ref: us for ref, node in with_estimates.items() if node is not None and (us := estimated_us(node)) is not None}
    page.table(_compiles_table(page, figures, nodes, estimates), compiles)
    note = f"own: {figures.of}, excluding nested compiles, including guards and backward"
    note += ". Guards: per call" if page.width > NARROW else ""
    page.say(f"{note}{', next to the estimate of torch at compile time' if estimates else ''}.", "  ", tokens.DIM)


def _compiles_table(
    page: Page, figures: Figures, nodes: Mapping[str, Compile | None], estimates: Mapping[str, float]
) -> Table[CompileTime]:
    wide, middling = page.width >= WIDE, page.width >= MIDDLING
    return Table((
        Column("compile", lambda row: (f"[{row.ref}]", tokens.LINK, f"@runtime:{row.ref}")),
        Column(f"own {figures.of}" if wide else "own", lambda row: (figures.us(self_us(row)), tokens.NUMBER), right=True),
        Column("", lambda row: (figures.share(self_us(row)), tokens.DIM), right=True),
        Column("calls", lambda row: (fmt.count(row.regions.calls), tokens.NUMBER), right=True),
        Column("total", lambda row: (micros(row.regions.us), tokens.NUMBER), right=True, when=lambda _: wide),
        Column("mean", lambda row: (micros(row.regions.mean_us), tokens.NUMBER), right=True, when=lambda _: middling),
        Column("median", lambda row: (micros(row.regions.median_us), tokens.NUMBER), right=True, when=lambda _: wide),
        Column("guards", lambda row: (micros(row.lookups.mean_us) if row.lookups.calls else "", tokens.PHASE_GUARDS), right=True,
               when=lambda _: page.width > NARROW),
        Column("estimate", lambda row: (micros(estimates[row.ref]) if row.ref in estimates else "", tokens.DIM), right=True,
               when=lambda _: bool(estimates)),
        Column("device", lambda row: (figures.us(us) if (us := _device_us(row)) else "", tokens.NUMBER), right=True,
               when=lambda _: figures.runtime.device is not None),
        Column("function", lambda row: _name(nodes[row.ref], wide)),
    ), "compiles", COMPILES_SHOWN, FOLDED)  # fmt: skip


def _device_us(compile_: CompileTime) -> float:
    return sum(graph.device_us for graph in compile_.graphs)


def _name(compile_: Compile | None, wide: bool) -> Piece:
    if compile_ is None:
        return ""
    name, (_, file, line) = display_name(compile_.frame) or "", compile_.frame.code
    where = f"  {fmt.place(file, line)}" if file and wide else ""
    return (sanitize(name) + where, tokens.FUNCTION)


def add_compile(
    page: Page, figures: Figures, compile_: CompileTime, layers: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> Iterator[None]:
    """Add the graphs of a compile, and yield between them. `layers` has the layers of each kernel key of each unit."""
    node = compile_at(figures.run, compile_.ref)
    name = fmt.clip_middle(sanitize(display_name(node.frame) or ""), 40) if node is not None else ""
    page.close(0)
    page.blank()
    page.open(f"[{compile_.ref}] {name}".rstrip())
    head: list[Piece] = [(f"[{compile_.ref}]", tokens.LINK, compile_.ref), " ", (name, tokens.FUNCTION)]
    if node is not None and node.frame.code[1] is not None:
        head += ["  ", page.place(*node.frame.code[1:])]
    page.row(head, "")
    page.joined(list(_facts(figures, compile_, node)), "  ")
    if not compile_.graphs:
        page.say("none of its graphs ran in this window", "  ", tokens.DIM)
    for graph in compile_.graphs:
        _graph(page, figures, compile_.ref, graph, _Targets(node, graph.unit), layers.get(graph.unit, {}), unseen(node, graph))
        yield


def _facts(figures: Figures, compile_: CompileTime, node: Compile | None) -> Iterator[Piece]:
    regions = compile_.regions
    yield f"{fmt.plural(regions.calls, 'call')}, {_each(regions)}" if regions.calls else "no calls in this window"
    yield (f"own {figures.us(self_us(compile_))} {figures.of}, {figures.share(self_us(compile_))}", tokens.STRONG)
    if compile_.lookups.calls:
        estimate = estimated_us(node) if node is not None else None
        estimated = f" (torch estimated {micros(estimate)})" if estimate is not None else ""
        yield (f"guards {micros(compile_.lookups.mean_us)} per call{estimated}", tokens.PHASE_GUARDS)
    if compile_.overhead_us:
        yield f"prologues {figures.us(compile_.overhead_us)} {figures.of}"


def _each(time: Spread) -> str:
    """Format the mean per call, and the median if it differs: `4.31 ms each`."""
    middle = f" (median {micros(time.median_us)})" if abs(time.median_us - time.mean_us) > 0.05 * time.mean_us else ""
    return f"{micros(time.mean_us)} each{middle}"


class _Targets:
    """The addresses of kernel calls in the code of a unit."""

    def __init__(self, compile_: Compile | None, unit: str) -> None:
        self._refs: dict[str, str] = {}
        joined = provenance_of(compile_).unit(unit) if compile_ is not None and unit else None
        if joined is None or joined.unit != unit:
            return
        for kernel in joined.kernels:
            if (ref := joined.panes[kernel.call_pane].ref) and kernel.call_lines:
                self._refs[kernel.key] = at_line(ref, kernel.call_lines[0])

    def of(self, key: str) -> str:
        """Return the address of a call; '' if unknown."""
        return self._refs.get(key, "")


def _graph(
    page: Page, figures: Figures, ref: str, graph: GraphTime, targets: _Targets, layers: Mapping[str, tuple[str, ...]],
    lacking: tuple[int, int, bool],
) -> None:
    unit = sanitize(fmt.graph_title(graph.unit)) or "graph"
    page.blank()
    page.open(f"{unit} of [{ref}]")
    words: list[Piece] = [
        (unit, tokens.STRONG), f"{fmt.plural(graph.time.calls, 'call')}, {_each(graph.time)}",
        f"{figures.us(graph.time.us)} {figures.of}, {figures.share(graph.time.us)}",
    ]  # fmt: skip
    page.joined(words, "  ")
    page.joined(list(_kernel_shares(graph)), "    ")
    _add_unprofiled(page, *lacking)
    _kernels(page, figures, graph, targets)
    _lines(page, figures, "line", line_times([graph]), graph)
    _lines(page, figures, "layer", layer_times(graph, dict(layers)), graph)
    page.close()


def _add_unprofiled(page: Page, count: int, of: int, is_cpp: bool) -> None:
    """Add how many kernels of a graph the profile lacks: they count as no kernel."""
    if count:
        verb = "is" if count == 1 else "are"
        text = f"{fmt.count(count)} of {fmt.plural(of, 'kernel')} of its code {verb} not in the profile: time unknown"
        why = ". To record C++ kernels, set torch._inductor.config.cpp.enable_kernel_profile = True" if is_cpp else ""
        page.say(text + why, "    ", tokens.WARN)


def _kernel_shares(graph: GraphTime) -> Iterator[Piece]:
    """Yield the device's side first where there is one; there the host only launches the kernels."""
    total = graph.time.us
    if graph.device_us:
        yield (f"{micros(graph.device_us / max(graph.time.calls, 1))} per call on the device", tokens.STRONG)
    where = "the host spends {} in kernel calls" if graph.device_us else "{} in kernels"
    yield (where.format(fmt.percent(graph.kernels_us, total)), tokens.PHASE_KERNELS)
    gap = f", {micros(graph.gap_us)} between kernels" if graph.gap_us else ""
    yield (f"{fmt.percent(graph.wrapper_us, total)} outside {'them' if graph.device_us else 'kernels'}{gap}", tokens.PHASE_INDUCTOR)
    if graph.key is None:
        yield ("no cache key: matched by compile and kernels", tokens.DIM)


def _kernels(page: Page, figures: Figures, graph: GraphTime, targets: _Targets) -> None:
    if not graph.kernels:
        return
    table = _kernels_table(page, figures, graph.kernels, targets)
    page.add("    ", (_title(len(graph.kernels), table.applied(figures.sort)), tokens.LABEL))
    page.table(table, graph.kernels, sort=figures.sort)
    if any(kernel.nth < 0 and kernel.time.calls for kernel in graph.kernels):
        page.say("×: all calls of that name together (the profile does not separate them).", "    ", tokens.DIM)


def _kernels_table(page: Page, figures: Figures, kernels: Sequence[KernelTime], targets: _Targets) -> Table[KernelTime]:
    wide, middling = page.width >= WIDE, page.width >= MIDDLING
    has_devices = len({kernel.device for kernel in kernels}) > 1
    has_lines = middling and any(kernel.lines for kernel in kernels)

    def name(row: KernelTime) -> Piece:
        target = targets.of(row.key)
        device = f" on {sanitize(row.device)}" if has_devices else ""
        return (sanitize(_kernel_label(row)) + device, tokens.LINK if target else tokens.NAME, target)

    def median(row: KernelTime) -> Piece:
        return (micros(row.time.median_us), tokens.WARN if row.time.is_uneven else tokens.NUMBER)

    return Table((
        Column(figures.of, lambda row: (figures.us(row.time.us), tokens.NUMBER), right=True,
               sort="time", key=lambda row: -row.time.us),
        Column("", lambda row: (figures.share(row.time.us), tokens.DIM), right=True),
        Column("total", lambda row: (micros(row.time.us), tokens.NUMBER), right=True, when=lambda _: figures.has_total(page)),
        Column("calls", lambda row: (fmt.count(row.time.calls), tokens.NUMBER), right=True, when=lambda _: wide,
               sort="calls", key=lambda row: -row.time.calls),
        Column("mean", lambda row: (micros(row.time.mean_us), tokens.NUMBER), right=True,
               sort="mean", key=lambda row: -row.time.mean_us),
        Column("median", median, right=True, when=lambda _: middling, sort="median", key=lambda row: -row.time.median_us),
        Column("kernel", name, sort="name", key=lambda row: row.name),
        Column("from", lambda row: _line_link(row, page.width >= PATHS), when=lambda _: has_lines, sort="line",
               key=lambda row: _line_order(row.lines)),
    ), "kernels", KERNELS_SHOWN, FOLDED, "    ", order="code")  # fmt: skip


def _title(count: int, order: str) -> str:
    return f"{fmt.plural(count, 'kernel')} {'in code order' if order == 'code' else f'by {order}'}"


def _kernel_label(kernel: KernelTime) -> str:
    """Return `name:12`, with the handle that tells its calls apart; `name ×` for all calls together."""
    if kernel.nth < 0:
        return f"{kernel.name} ×"
    if kernel.key:
        return kernel.key
    return kernel.name if kernel.handle is None else f"{kernel.name}:{kernel.handle}"


def _line_link(kernel: KernelTime, with_directory: bool) -> Piece:
    if not kernel.lines:
        return ""
    first = kernel.lines[0]
    more = f" +{len(kernel.lines) - 1}" if len(kernel.lines) > 1 else ""
    place = _place(first) if with_directory else fmt.file_name(_place(first))
    return (place + more, tokens.LINK, _target(first))


def _line_order(lines: Sequence[str]) -> tuple[bool, str, int]:
    """Return file and number of the first line; kernels without a line come last."""
    file, _, number = lines[0].rpartition(":") if lines else ("", "", "")
    return not lines, file, int(number) if number.isdecimal() else 0


def _place(line: str) -> str:
    file, _, number = line.rpartition(":")
    return fmt.place(sanitize(file), int(number)) if number.isdecimal() else sanitize(line)


def _target(line: str) -> str:
    file, _, number = line.rpartition(":")
    return fmt.place_target(file, int(number)) if number.isdecimal() else ""


def _lines(page: Page, figures: Figures, noun: str, times: Sequence[LineTime], graph: GraphTime) -> None:
    """Add lines or layers, each with the full time of its kernels."""
    if not times or not graph.time.us:
        return
    title = fmt.plural(len(times), noun)
    page.blank()
    page.open(title)
    page.say(f"{title}, each with the full time of its kernels (do not add them up)", "    ", tokens.LABEL)
    table = _lines_table(page, figures, noun)
    page.table(table, times, sort=figures.sort)
    page.close()


def _lines_table(page: Page, figures: Figures, noun: str) -> Table[LineTime]:
    wide, middling = page.width >= WIDE, page.width >= MIDDLING

    def name(row: LineTime) -> Piece:
        return (_place(row.name), tokens.LINK, _target(row.name)) if noun == "line" else (sanitize(row.name), tokens.NAME)

    return Table((
        Column(figures.of, lambda row: (figures.us(row.us), tokens.NUMBER), right=True, sort="time"),
        Column("", lambda row: (figures.share(row.us), tokens.DIM), right=True),
        Column("total", lambda row: (micros(row.us), tokens.NUMBER), right=True, when=lambda _: figures.has_total(page)),
        Column("calls", lambda row: (fmt.count(row.calls), tokens.NUMBER), right=True, when=lambda _: middling,
               sort="calls", key=lambda row: -row.calls),
        Column("mean", lambda row: (micros(row.mean_us), tokens.NUMBER), right=True, sort="mean", key=lambda row: -row.mean_us),
        Column("median", lambda row: (micros(row.median_us), tokens.NUMBER), right=True, when=lambda _: wide,
               sort="median", key=lambda row: -row.median_us),
        Column("alone", lambda row: (figures.us(row.alone_us) if row.alone_us else "", tokens.DIM), right=True,
               when=lambda _: middling, sort="alone", key=lambda row: -row.alone_us),
        Column("kernels", lambda row: (fmt.count(len(row.kernels)), tokens.NUMBER), right=True,
               sort="kernels", key=lambda row: -len(row.kernels)),
        Column(noun, name, sort="name", key=lambda row: row.name),
    ), f"{noun}s", LINES_SHOWN, FOLDED, "    ", order="time")  # fmt: skip


def add_breaks(page: Page, figures: Figures, refs: set[str] | None) -> None:
    """Add the graph breaks that ran: cost, place, operators that ran eagerly there."""
    breaks = [item for item in break_times(figures.run, figures.runtime) if refs is None or item.ref in refs]
    if not breaks:
        return
    of_host = " on the host" if figures.runtime.device is not None else ""
    page.heading(f"Eager between regions{of_host}: {figures.us(sum(item.eager_us for item in breaks))} {figures.of}")
    for number, item in enumerate(breaks[: BREAKS_SHOWN + EAGER_FOLDED]):
        if number == BREAKS_SHOWN:
            title = f"{fmt.count(len(breaks) - BREAKS_SHOWN)} more"
            page.open(title, folded=True)
            page.add("  ", (title, tokens.DIM))
        _break(page, figures, item)
    if len(breaks) > BREAKS_SHOWN:
        page.close()


def _is_uncompiled(figures: Figures, ref: str) -> bool:
    """Return whether no graph of Inductor ran for a compile: all of its operators are in the profile."""
    return all(not compile_.graphs for compile_ in figures.runtime.compiles if compile_.ref == ref)


def _break(page: Page, figures: Figures, item: BreakTime) -> None:
    places = [(broke.lead, broke) for broke in item.breaks]
    head: list[Piece] = [(f"[{item.ref}]", tokens.LINK, item.ref)]
    for number, (lead, broke) in enumerate(places):
        head.append(" breaks at " if number == 0 else ", or at ")
        head.append(page.place(lead.file, lead.line) if lead is not None else "an unknown line (not logged)")
        if broke.ref:
            head += [" ", to_page("record", broke.ref)]
    head.append((f": {figures.us(item.eager_us)} eager {figures.of}, {figures.share(item.eager_us)}", tokens.STRONG))
    page.row(head)
    if not places:
        page.say(OTHER_BACKEND if _is_uncompiled(figures, item.ref) else NOT_LOGGED, "    ", tokens.DIM)
    if len(places) == 1:
        lead, broke = places[0]
        page.code(lead.code if lead is not None else None, "    ")
        page.say(fmt.clip(sanitize(broke.headline), 2 * page.width), "    ", tokens.DIM)
    if item.resumed:
        pieces: list[Piece] = ["continues in"]
        for ref in item.resumed[:OPS_SHOWN]:
            pieces += [" ", (f"[{ref}]", tokens.LINK, ref)]
        page.row([*pieces, f", guards take {figures.us(item.guards_us)} {figures.of}"], "    ")
    _add_eager_ops(page, figures, item.ops)


def _add_eager_ops(page: Page, figures: Figures, ops: Sequence[EagerTime]) -> None:
    page.table(Table((
        Column(figures.of, lambda row: (figures.us(row.total_us), tokens.NUMBER), right=True),
        Column("", lambda row: (figures.share(row.total_us), tokens.DIM), right=True),
        Column("calls", lambda row: (fmt.count(row.calls), tokens.NUMBER), right=True),
        Column("mean", lambda row: (micros(row.total_us / max(row.calls, 1)), tokens.NUMBER), right=True),
        Column("operator", lambda row: (sanitize(row.op), tokens.NAME)),
    ), "operators", OPS_SHOWN, EAGER_FOLDED, "    "), ops)  # fmt: skip


def add_outside(page: Page, figures: Figures) -> None:
    """Add operators that ran outside of regions."""
    ops = sorted((item for item in figures.runtime.eager if item.inside_ref is None), key=lambda item: -item.total_us)
    if ops:
        of_host = " on the host" if figures.runtime.device is not None else ""
        page.heading(f"Eager outside regions{of_host}: {figures.us(sum(item.total_us for item in ops))} {figures.of}")
        page.say("never compiled, or fell back to eager mode", "  ", tokens.DIM)
        _add_eager_ops(page, figures, ops)


def add_fallbacks(page: Page, figures: Figures, refs: set[str] | None) -> None:
    """Add calls for which guards were tried and no compile ran."""
    fallbacks = fallback_times([item for item in figures.runtime.fallbacks if refs is None or item.ref in refs])
    if not fallbacks:
        return
    page.heading(f"Fell back to eager mode: {fmt.plural(sum(item.calls for item in fallbacks), 'call')}")
    why = "Guards were checked, but no compiled version ran: the recompile limit was reached, or torch skips the function."
    page.say(why, "  ", tokens.DIM)
    for item in fallbacks[:BREAKS_SHOWN]:
        _fallback(page, figures, item)
    if len(fallbacks) > BREAKS_SHOWN:
        page.add("  ", (f"and {fmt.count(len(fallbacks) - BREAKS_SHOWN)} more: --json has all of them", tokens.DIM))


def _fallback(page: Page, figures: Figures, item: FallbackTime) -> None:
    pieces: list[Piece] = [(fmt.plural(item.calls, "call"), tokens.STRONG)]
    if item.ref:
        compile_ = compile_at(figures.run, item.ref)
        name = sanitize(display_name(compile_.frame) or "") if compile_ is not None else ""
        pieces += [" of ", (name or f"[{item.ref}]", tokens.LINK, item.ref)]
    else:
        pieces.append(" of a function that the profile does not name")
    pieces.append(f", {micros(item.lookup_us / item.calls)} of guard checks each")
    page.row(pieces)
    if item.ops:
        more = f" and {fmt.count(len(item.ops) - OPS_SHOWN)} more" if len(item.ops) > OPS_SHOWN else ""
        page.say(f"ran {', '.join(map(sanitize, item.ops[:OPS_SHOWN]))}{more}", "    ", tokens.DIM)


def add_never(page: Page, figures: Figures, refs: set[str] | None) -> None:
    """Add compiles that were done and did not run, the slowest to compile first."""
    never = [(compile_at(figures.run, ref), ref) for ref in figures.runtime.never_called if refs is None or ref in refs]
    if not never:
        return
    never.sort(key=lambda row: -_compile_s(row[0]))
    page.heading(f"Compiled and never called ({fmt.count(len(never))})")
    page.table(NEVER, never)
    page.say("not called while the profiler ran; they may run at other times", "  ", tokens.DIM)


def _compile_s(node: Compile | None) -> float:
    return node.tally.compile_s if node is not None else 0.0


NEVER: Table[tuple[Compile | None, str]] = Table((
    Column("", lambda row: (fmt.seconds(seconds) if (seconds := _compile_s(row[0])) else "", tokens.NUMBER), right=True),
    Column("", lambda row: (f"[{row[1]}]", tokens.LINK, row[1])),
    Column("", lambda row: _name(row[0], False)),
), "compiles", NEVER_SHOWN, EAGER_FOLDED)  # fmt: skip


def add_device(page: Page, figures: Figures, device: DeviceTime) -> None:
    """Add the side of the devices: busy and idle, by what launched it, streams, eager operators, kernels."""
    window = device.window_us * device.devices
    title = "The device" if device.devices == 1 else f"The {fmt.count(device.devices)} devices"
    of = f" of the time, {figures.us(device.busy_us)} {figures.of}" if page.width >= MIDDLING else ""
    page.heading(f"{title}: busy {fmt.percent(device.busy_us, window)}{of}")
    _parts(page, figures, device, window)
    for text in _remarks(figures, device):
        page.say(text, "  ", tokens.DIM)
    if len(device.streams) > 1:
        page.blank()
        page.table(_streams_table(figures), device.streams)
    if device.ops:
        page.blank()
        page.say("Eager operators by device time", "  ", tokens.LABEL)
        page.table(_device_ops_table(page, figures, "operator", device.total_us, DEVICE_OPS_SHOWN), device.ops)
    page.blank()
    page.say("Kernels and copies by name, compiled ones too", "  ", tokens.LABEL)
    page.table(_device_ops_table(page, figures, "kernel", device.total_us, DEVICE_KERNELS_SHOWN), device.kernels)


def _parts(page: Page, figures: Figures, device: DeviceTime, window: float) -> None:
    parts = [(name, float(getattr(device, field)), style, meaning) for name, field, style, meaning in PARTS]
    rows = [*(row for row in parts if row[1]), ("idle", device.idle_us, tokens.DIM, "nothing runs on the device")]
    widest = max(len(figures.us(us)) for _, us, _, _ in rows)
    explained = max(len(meaning) for *_, meaning in rows)
    room = min(page.width - 21 - widest - explained - 2, BAR_MOST)
    for name, us, style, meaning in rows:
        bar = fmt.bar(max(room, 0) * us / max(window, device.total_us)) if window > 0 else ""
        legend: list[Piece] = [(" " * (room - len(bar) + 2), ""), (meaning, tokens.DIM)] if room > 0 else []
        page.add(
            "  ", (name.ljust(8), tokens.LABEL), "  ", (figures.us(us).rjust(widest), tokens.NUMBER), "  ",
            (fmt.percent(us, window).rjust(5), tokens.DIM), "  ", (bar, style), *legend,
        )  # fmt: skip


def _remarks(figures: Figures, device: DeviceTime) -> Iterator[str]:
    """Yield sentences on what the parts contain."""
    if device.name:
        yield f"{sanitize(device.name)}."
    if device.total_us > OVERLAP * device.busy_us:
        yield f"Streams overlap: the parts add up to {figures.us(device.total_us)}, more than the busy time."
    if device.collective_us:
        yield f"Only collectives ran for {figures.us(device.collective_us)} of the busy time."
    if device.copies_us:
        yield f"The parts include {figures.us(device.copies_us)} of copying and setting memory."
    if device.replays:
        yield f"The parts include {figures.us(device.replayed_us)} in {fmt.plural(device.replays, 'replay')} of CUDA graphs."


def _streams_table(figures: Figures) -> Table[StreamTime]:
    return Table((
        Column(figures.of, lambda row: (figures.us(row.us), tokens.NUMBER), right=True),
        Column("", lambda row: (figures.share(row.us), tokens.DIM), right=True),
        Column("events", lambda row: (fmt.count(row.events), tokens.NUMBER), right=True),
        Column("device", lambda row: (sanitize(row.device), tokens.NAME)),
        Column("stream", lambda row: (sanitize(row.stream), tokens.NAME)),
    ), "streams", STREAMS_SHOWN, FOLDED)  # fmt: skip


def _device_ops_table(page: Page, figures: Figures, noun: str, total_us: float, shown: int) -> Table[DeviceOp]:
    return Table((
        Column(figures.of, lambda row: (figures.us(row.us), tokens.NUMBER), right=True, sort="time"),
        Column("of all", lambda row: (fmt.percent(row.us, total_us), tokens.DIM), right=True),
        Column("events", lambda row: (fmt.count(row.calls), tokens.NUMBER), right=True, sort="calls", key=lambda row: -row.calls),
        Column("mean", lambda row: (micros(row.us / max(row.calls, 1)), tokens.NUMBER), right=True,
               when=lambda _: page.width >= MIDDLING, sort="mean", key=lambda row: -row.us / max(row.calls, 1)),
        Column(noun, lambda row: (sanitize(row.name), tokens.NAME), sort="name", key=lambda row: row.name),
    ), f"{noun}s", shown, FOLDED, order="time")  # fmt: skip
