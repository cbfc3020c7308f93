"""What is measured through a terminal: 120×40, 256 colours, a key at a time."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from make import LINES, TRACES, made
from probe import Answer, Probe, median, worst
from rows import Bench, Row, at_most

DEMO = Path(__file__).resolve().parents[1] / "src" / "tltui" / "demo"
KB = 1000


@contextmanager
def opened(path: Path, wait: str = "compile", read: bool = True) -> Iterator[Probe]:
    """The UI on a log, read to its end if asked to."""
    with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
        probe.wait_for(wait, timeout=60)
        if read:
            probe.wait_gone("reading", timeout=120)
            probe.settle()
            probe.press("tab")  # it begins in the document
            probe.settle()
        yield probe


def ms(value: float) -> float:
    """Seconds as milliseconds."""
    return value * 1000


def keys(probe: Probe, key: str, times: int) -> list[Answer]:
    """Press a key some times; the first answer may warm something up and is left out."""
    probe.send(key)
    return [probe.send(key) for _ in range(times)]


def go(probe: Probe, ref: str, title: str) -> Answer:
    """Go to an address; what followed the last key."""
    probe.press("o")
    probe.wait_for("name, file, artifact or address")
    probe.press(ref)
    probe.settle()
    answer = probe.send("enter")
    probe.wait(lambda: title in probe.lines()[1], title)
    return answer


def line(what: str, answers: list[Answer], budget_ms: float, budget_bytes: float) -> list[Row]:
    """A row for the time and one for the bytes of the same keys."""
    most = f" (worst {worst(answers, 'bytes') / KB:.1f})"
    return [
        at_most(what, ms(median(answers, "last")), budget_ms, "ms", slowest(answers, "last")),
        at_most(f"{what}: bytes", median(answers, "bytes") / KB, budget_bytes, "KB", most),
    ]


def slowest(answers: list[Answer], which: str) -> str:
    """The worst time, to stand beside a median."""
    return f" (worst {ms(worst(answers, which)):.0f})"


def first_frame(keep: Path, quick: bool) -> list[Row]:
    """From the command to something on the screen, and to the tree of a 10 MB trace."""
    rows = []
    times = 3 if quick else 7
    large = made(keep, "cut" if quick else "large")
    for what, path in (("first frame, 600 KB", TRACES / "breaks"), (f"first frame, {large.size / 1e6:,.0f} MB", large.path)):
        took = []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
                took.append(probe.first_frame())
        rows.append(at_most(what, statistics.median(took), 0.35, "s", f" (best {min(took):.3f})"))
    took = []
    for _ in range(times):
        with opened(made(keep, "middle").path, wait="[34/0]", read=False) as probe:
            probe.wait_gone("reading")
            took.append(probe.now())
    rows.append(at_most("tree of a 10 MB trace", statistics.median(took), 0.6, "s", f" (best {min(took):.3f})"))
    return rows


def memory(keep: Path, quick: bool) -> list[Row]:
    """Browsing the large trace."""
    large = made(keep, "cut" if quick else "large")
    with opened(large.path) as probe:
        for key in ("pagedown", "pagedown", "G", "pageup", "j", "l", "]", "]", "g", "1", "tab", "G", "tab", "b"):
            probe.send(key)
        go(probe, "600/0:dynamo_output_graph", "dynamo_output_graph")
        what = f"memory while browsing {large.size / 1e6:,.0f} MB, {large.records:,} records"
        return [at_most(what, probe.memory() / 1e6, 200, "MB")]


def payload(keep: Path, quick: bool) -> list[Row]:
    """A payload of 100 MB in a million lines."""
    with opened(made(keep, "payload").path) as probe:
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
    """Lines and pages of a document."""
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
            whole = [(answer.bytes - answer.near_bytes) / KB for answer in follow]
            rows.append(at_most("the document has followed", statistics.median(after), 60, "ms", f" (worst {max(after):.0f})"))
            more = f" (worst {max(whole):.1f})"
            rows.append(at_most("the document has followed: bytes", statistics.median(whole), 12, "KB", more))
        else:
            rows.append(Row("the document has followed", "≤ 60 ms", "it did not", False))
    with opened(made(keep, "cut").path) as probe:
        probe.send("g")
        pages = keys(probe, "pagedown", 10) + keys(probe, "pageup", 10)
        rows.append(at_most("a page in the tree", ms(median(pages, "near")), 40, "ms", slowest(pages, "near")))
        rows.append(at_most("a page in the tree: bytes", median(pages, "near_bytes") / KB, 12, "KB"))
    return rows


def long_line(keep: Path, quick: bool) -> list[Row]:
    """A line of 1 MB."""
    with opened(made(keep, "long-line").path) as probe:
        longest, which = 0.0, ""
        opening = go(probe, "0/0:dynamo_output_graph", "dynamo_output_graph")
        probe.press("tab")
        probe.settle()
        for key in ("j", "j", "l", "l", "h", "j", "k", "k", "w", "pagedown", "pagedown", "G", "g", "j", "j", "w", "#", "#",
                    "V", "j", "k", "escape", "*", "n", "n", "N", "escape", "space", "G"):  # fmt: skip
            # esc by itself: a terminal waits 100 ms to know that nothing follows
            answer = probe.send(key)
            took = answer.last - (0.1 if key == "escape" else 0)
            if took > longest:
                longest, which = took, key
        return [
            at_most("a line of 1 MB: opening it", ms(opening.near), 100, "ms"),
            at_most("a line of 1 MB: the slowest key", ms(longest), 100, "ms", f" ({which})"),
        ]


def while_reading(keep: Path, quick: bool) -> list[Row]:
    """Keys while the index is being built."""
    large = made(keep, "cut" if quick else "large")
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
    """A move in the provenance view."""
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
