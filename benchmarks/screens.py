"""Benchmarks through a terminal: 120×40, 256 colours, a key at a time."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from make import LINES, TRACES, ensure_log
from probe import Answer, Probe, median, worst
from rows import Bench, Row, at_most

DEMO = Path(__file__).resolve().parents[1] / "src" / "tltui" / "demo"
KB = 1000


@contextmanager
def opened(path: Path, wait: str = "compile", read: bool = True) -> Iterator[Probe]:
    """Open the UI on a log; with `read` wait until it is read."""
    with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
        probe.wait_for(wait, timeout=60)
        if read:
            probe.wait_gone("reading", timeout=120)
            probe.settle()
            probe.press("tab")  # it begins in the document
            probe.settle()
        yield probe


def ms(value: float) -> float:
    """Convert seconds to milliseconds."""
    return value * 1000


def keys(probe: Probe, key: str, times: int) -> list[Answer]:
    """Press a key several times; the first answer may fill caches and is left out."""
    probe.send(key)
    return [probe.send(key) for _ in range(times)]


def go(probe: Probe, ref: str, title: str) -> Answer:
    """Go to an address; return the answer to the last key."""
    probe.press("o")
    probe.wait_for("name, file, artifact or address")
    probe.press(ref)
    probe.settle()
    answer = probe.send("enter")
    probe.wait(lambda: title in probe.lines()[1], title)
    return answer


def line(label: str, answers: list[Answer], budget_ms: float, budget_bytes: float) -> list[Row]:
    """Return rows for the time and the bytes of the same keys."""
    most = f" (worst {worst(answers, 'bytes') / KB:.1f})"
    return [
        at_most(label, ms(median(answers, "last")), budget_ms, "ms", slowest(answers, "last")),
        at_most(f"{label}: bytes", median(answers, "bytes") / KB, budget_bytes, "KB", most),
    ]


def slowest(answers: list[Answer], figure: str) -> str:
    """Return the worst time, as a note on a median."""
    return f" (worst {ms(worst(answers, figure)):.0f})"


def first_frame(keep: Path, quick: bool) -> list[Row]:
    """Measure the first frame, and the tree of a 10 MB trace."""
    rows = []
    times = 3 if quick else 7
    large = ensure_log(keep, "cut" if quick else "large")
    for label, path in (("first frame, 600 KB", TRACES / "breaks"), (f"first frame, {large.size / 1e6:,.0f} MB", large.path)):
        took = []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
                took.append(probe.first_frame())
        rows.append(at_most(label, statistics.median(took), 0.35, "s", f" (best {min(took):.3f})"))
    took = []
    for _ in range(times):
        with opened(ensure_log(keep, "middle").path, wait="[34/0]", read=False) as probe:
            probe.wait_gone("reading")
            took.append(probe.now())
    rows.append(at_most("tree of a 10 MB trace", statistics.median(took), 0.6, "s", f" (best {min(took):.3f})"))
    return rows


def memory(keep: Path, quick: bool) -> list[Row]:
    """Measure the memory while browsing the large trace."""
    large = ensure_log(keep, "cut" if quick else "large")
    with opened(large.path) as probe:
        for key in ("pagedown", "pagedown", "G", "pageup", "j", "l", "]", "]", "g", "1", "tab", "G", "tab", "b"):
            probe.send(key)
        go(probe, "600/0:dynamo_output_graph", "dynamo_output_graph")
        label = f"memory while browsing {large.size / 1e6:,.0f} MB, {large.records:,} records"
        return [at_most(label, probe.memory() / 1e6, 200, "MB")]


def payload(keep: Path, quick: bool) -> list[Row]:
    """Measure a payload of 100 MB in a million lines."""
    with opened(ensure_log(keep, "payload").path) as probe:
        answer = go(probe, "0/0:inductor_output_code", "inductor_output_code")
        rows = [at_most("open a 100 MB payload: first page", ms(answer.near), 100, "ms")]
        probe.press("tab")
        probe.wait_for(f"/{LINES:,}", "md5 ✓", timeout=60)
        probe.settle()
        jumps = [probe.send(key) for key in ("G", "g", "G", "pageup", "g")]
        lines = []
        for number in ("500000", "123456", "999000"):
            probe.press(":")
            probe.wait_for("line")
            probe.press(number)
            probe.settle()
            lines.append(probe.send("enter"))
        rows.append(at_most("the slowest jump in it with g, G", ms(worst(jumps, "last")), 50, "ms"))
        more = f" (first byte {ms(worst(lines, 'first')):.0f}; the prompt goes, which repaints the screen)"
        rows.append(at_most("the slowest jump in it with :line", ms(worst(lines, "last")), 50, "ms", more))
        probe.send("g")
        rows += line("a page in it", keys(probe, "pagedown", 10), 40, 12)
        return rows


def document(keep: Path, quick: bool) -> list[Row]:
    """Measure lines and pages of a document."""
    with opened(DEMO) as probe:
        go(probe, "0:0/0:inductor_output_code#1", "inductor_output_code")
        probe.press("tab")
        probe.settle()
        rows = line("a line down in a document", keys(probe, "j", 20), 20, 1)
        rows += line("a page in a document", keys(probe, "pagedown", 6) + keys(probe, "pageup", 6), 40, 12)
        return rows


def tree(keep: Path, quick: bool) -> list[Row]:
    """Lines and pages of the tree; the document follows."""
    with opened(DEMO) as probe:
        probe.send("g")
        answers = keys(probe, "j", 20)
        follow = [answer for answer in answers if answer.bytes > answer.near_bytes]
        rows = [
            at_most("a line down in the tree: first byte", ms(median(answers, "first")), 20, "ms", slowest(answers, "first")),
            at_most("a line down in the tree: bytes of the tree", median(answers, "near_bytes") / KB, 1, "KB"),
        ]
        if follow:
            after = [ms(answer.last - answer.near) for answer in follow]
            sizes = [(answer.bytes - answer.near_bytes) / KB for answer in follow]
            rows.append(at_most("the document has followed", statistics.median(after), 60, "ms", f" (worst {max(after):.0f})"))
            more = f" (worst {max(sizes):.1f})"
            rows.append(at_most("the document has followed: bytes", statistics.median(sizes), 12, "KB", more))
        else:
            rows.append(Row("the document has followed", "≤ 60 ms", "it did not", False))
    with opened(ensure_log(keep, "cut").path) as probe:
        probe.send("g")
        pages = keys(probe, "pagedown", 10) + keys(probe, "pageup", 10)
        rows.append(at_most("a page in the tree", ms(median(pages, "near")), 40, "ms", slowest(pages, "near")))
        rows.append(at_most("a page in the tree: bytes", median(pages, "near_bytes") / KB, 12, "KB"))
    return rows


def long_line(keep: Path, quick: bool) -> list[Row]:
    """Measure a line of 1 MB."""
    with opened(ensure_log(keep, "long-line").path) as probe:
        longest, slowest_key = 0.0, ""
        opening = go(probe, "0/0:dynamo_output_graph", "dynamo_output_graph")
        probe.press("tab")
        probe.settle()
        for key in ("j", "j", "l", "l", "h", "j", "k", "k", "w", "pagedown", "pagedown", "G", "g", "j", "j", "w", "#", "#",
                    "V", "j", "k", "escape", "*", "n", "n", "N", "escape", "space", "G"):  # fmt: skip
            # esc by itself: a terminal waits 100 ms to know that nothing follows
            answer = probe.send(key)
            took = answer.last - (0.1 if key == "escape" else 0)
            if took > longest:
                longest, slowest_key = took, key
        return [
            at_most("a line of 1 MB: opening it", ms(opening.near), 100, "ms"),
            at_most("a line of 1 MB: the slowest key", ms(longest), 100, "ms", f" ({slowest_key})"),
        ]


def while_reading(keep: Path, quick: bool) -> list[Row]:
    """Measure keys while the index is being built."""
    large = ensure_log(keep, "cut" if quick else "large")
    answers = []
    with opened(large.path, wait="reading", read=False) as probe:
        for key in ("j", "j", "k", "j", "j", "tab", "j", "tab", "j", "k") * 20:
            answers.append(probe.send(key, idle=0.03, limit=0.15))
            if "reading" not in probe.text():
                break
    if len(answers) < 4:
        return [Row("a key while an index is being built", "≤ 60 ms", "the index was ready before a key", None)]
    first = sorted(ms(answer.first) for answer in answers[:-1] if answer.bytes)
    more = f" (median {statistics.median(first):.0f}, {len(first)} keys)"
    return [at_most("a key while an index is being built: slowest first byte", first[-1], 60, "ms", more)]


def provenance(keep: Path, quick: bool) -> list[Row]:
    """Measure a move in the provenance view."""
    with opened(DEMO) as probe:
        go(probe, "0:0/0", "[0:0/0]")
        probe.press("p")
        probe.wait_for("with nodes")
        probe.settle()
        moves = keys(probe, ".", 12) + keys(probe, ",", 6)
        most = worst(moves, "bytes") / KB
        return [
            at_most("a provenance move", ms(median(moves, "last")), 60, "ms", slowest(moves, "last")),
            at_most("a provenance move: bytes when panes scroll", most, 24, "KB"),
            at_most("a provenance move: bytes when they do not", min(move.bytes for move in moves if move.bytes) / KB, 3, "KB"),
        ]


BENCHES: dict[str, Bench] = {
    "first-frame": first_frame,
    "memory": memory,
    "payload": payload,
    "document": document,
    "tree": tree,
    "long-line": long_line,
    "while-reading": while_reading,
    "provenance": provenance,
}
