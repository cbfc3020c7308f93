"""Sections about what ran on devices."""

from __future__ import annotations

from collections.abc import Iterator

from tltui.documents import format as fmt
from tltui.documents.columns import Column, Table
from tltui.documents.page import Page
from tltui.questions.runtime.graph_sections import FOLDED, MIDDLING, Figures
from tltui.questions.runtime.profile_results import DeviceOp, DeviceTime, StreamTime
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.formatting import micros
from tltui.text.sanitize import sanitize

BAR_MOST = 30
OPS_SHOWN, KERNELS_SHOWN, STREAMS_SHOWN = 6, 8, 4
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
        page.table(_streams(figures), device.streams)
    if device.ops:
        page.blank()
        page.say("Eager operators by device time", "  ", tokens.LABEL)
        page.table(_ops(page, figures, "operator", device.total_us, OPS_SHOWN), device.ops)
    page.blank()
    page.say("Kernels and copies by name, compiled ones too", "  ", tokens.LABEL)
    page.table(_ops(page, figures, "kernel", device.total_us, KERNELS_SHOWN), device.kernels)


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


def _streams(figures: Figures) -> Table[StreamTime]:
    return Table((
        Column(figures.of, lambda row: (figures.us(row.us), tokens.NUMBER), right=True),
        Column("", lambda row: (figures.share(row.us), tokens.DIM), right=True),
        Column("events", lambda row: (fmt.count(row.events), tokens.NUMBER), right=True),
        Column("device", lambda row: (sanitize(row.device), tokens.NAME)),
        Column("stream", lambda row: (sanitize(row.stream), tokens.NAME)),
    ), "streams", STREAMS_SHOWN, FOLDED)  # fmt: skip


def _ops(page: Page, figures: Figures, noun: str, total_us: float, shown: int) -> Table[DeviceOp]:
    return Table((
        Column(figures.of, lambda row: (figures.us(row.us), tokens.NUMBER), right=True, sort="time"),
        Column("of all", lambda row: (fmt.percent(row.us, total_us), tokens.DIM), right=True),
        Column("events", lambda row: (fmt.count(row.calls), tokens.NUMBER), right=True, sort="calls", key=lambda row: -row.calls),
        Column("mean", lambda row: (micros(row.us / max(row.calls, 1)), tokens.NUMBER), right=True,
               when=lambda _: page.width >= MIDDLING, sort="mean", key=lambda row: -row.us / max(row.calls, 1)),
        Column(noun, lambda row: (sanitize(row.name), tokens.NAME), sort="name", key=lambda row: row.name),
    ), f"{noun}s", shown, FOLDED, order="time")  # fmt: skip
