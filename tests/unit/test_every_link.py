"""Every link leads to a page, and every link of that page too: also where records lack ids, are damaged or are gone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import make_trace as t
import pytest
from large_numbers import changed, many_ranks, records_of
from real import TRACES, fresh

from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.text.document import Options
from tltui.tree.outline import children, root

OUTSIDE = ("file:", "line:", "http:", "https:", "does:")
"""Links that lead to no page of the run."""


def followed(run: Run) -> int:
    """Follow all links from the views and the tree on; how many pages there are."""
    waiting = [(ref, "") for ref in ("", "@pages", "@records", *(f"@{view.name}" for view in QUESTIONS))]
    nodes = [root(run)]
    for node in nodes:
        waiting.append((node.ref, "the tree"))
        nodes += children(node)
    pages: set[str] = set()
    while waiting:
        ref, page = waiting.pop()
        if ref in pages or ref.startswith(OUTSIDE):
            continue
        pages.add(ref)
        try:
            document = build(run, ref, Options())
        except BadAddress as bad:
            raise AssertionError(f"{ref!r}, a link on {page!r}: {bad}") from None
        waiting += [(link.target, ref) for n in range(len(document)) for link in document.line(n).links]
    return len(pages)


def incomplete_ids() -> bytes:
    """Each part of an id alone and with others, with two attempts."""
    parts: list[dict[str, int]] = [
        {}, {"frame": 0}, {"compile": 3}, {"autograd": 1}, {"autograd": 1, "frame": 0}, {"autograd": 1, "compile": 0},
        {"frame": 2, "compile": 0}, {"autograd": 1, "frame": 2, "compile": 0},
    ]  # fmt: skip
    out = [t.string("/a.py", 0)]
    for part in parts:
        for attempt in (0, 1):
            ids = {**part, "attempt": attempt}
            out += [t.start(**ids), t.chromium("dynamo", "B", **ids), t.artifact("dynamo_graph_break_reason", "Graph break", **ids)]
            out.append(t.record("dynamo_output_graph", {"sizes": {"l_x_": [3]}}, "class GraphModule:\n    pass\n", **ids))
        out.append(t.metrics(fields={"restart_reasons": ["again"]}, **part))
    return b"".join(out)


def one_epoch(data: bytes) -> bytes:
    """Without what begins a second epoch: addresses then name none."""
    return b"".join(record for record in records_of(data) if b"dynamo_start" not in record and b"compilation_metrics" not in record)


def damaged(seed: int) -> Callable[[], bytes]:
    """A log of a real job of which records are gone, cut, twice or in another place."""

    def made() -> bytes:
        chance = random.Random(seed)
        log = next((TRACES / "torch-2.13" / ("errors", "breaks", "dyn")[seed % 3]).glob("*.log"))
        records = [record for record in records_of(log.read_bytes()) if b'"chromium_event"' not in record[:300]]
        out = []
        first, rest = records[:60], records[60:]
        for record in first + chance.sample(rest, min(len(rest), 60)):
            how = chance.random()
            out += [record] * (0 if how < 0.1 else 2 if how > 0.9 else 1)
            if 0.1 < how < 0.2:
                out[-1] = record[: chance.randrange(len(record))] + b"\n"
        return b"".join(out)

    return made


LOGS: dict[str, Callable[[], bytes]] = {
    "incomplete ids": incomplete_ids,
    "incomplete ids in one epoch": lambda: one_epoch(incomplete_ids()),
    "no strings": lambda: b"".join(record for record in records_of(t.small()) if b'"str"' not in record),
    "lines that are none": lambda: t.small().replace(b"frame_id", b"frame", 3),
    **{f"{field} is {number}": (lambda field=field, number=number: changed(t.small(), field, number))  # type: ignore[misc]
       for field in ("rank", "frame_id", "frame_compile_id", "attempt", "line") for number in (-1, 2**31, 10**30)},
    **{f"damaged {seed}": damaged(seed) for seed in range(3)},
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
def test_links_of_a_log(name: str, tmp_path: Path) -> None:
    assert followed(fresh(t.write(tmp_path, LOGS[name]()))) > 30


def test_links_of_several_ranks(tmp_path: Path) -> None:
    assert followed(fresh(many_ranks(tmp_path, incomplete_ids(), (0, 2, 2**31)))) > 100
