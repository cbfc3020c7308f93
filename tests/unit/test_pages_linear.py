"""No page does more than twice the work for twice the input. Work is counted, in calls of functions: nothing is timed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import pytest
from made_logs import Log
from pages import page

from tltui.model.run import Run
from tltui.questions.passes import page as passes
from tltui.questions.provenance import provenance
from tltui.questions.recompiles.explanations import Explained, Reason
from tltui.questions.recompiles.recompile_sections import differing
from tltui.questions.timing.timing_report import ProcessTime, outliers_of
from tltui.text import composite_documents
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Builder, Options

SLACK = 1.3
"""What a page may do beyond twice the work for twice the input."""
GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[3]"):
        # File: /home/user/f.py:4 in f, code: return x + 1
        add: "f32[3]" = l_x_ + 1;  l_x_ = None
        return (add,)
"""


def calls(work: Callable[[], object]) -> int:
    """How often a function was called or a generator went on, in Python."""
    count = 0

    def seen(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def assert_linear(make: Callable[[int], Callable[[], object]], size: int) -> None:
    """`make(n)` gives the work for an input of that size; what was set up for it does not count."""
    calls(make(size))  # tables that are made once
    few, many, more = (calls(make(n)) for n in (size, 2 * size, 4 * size))
    assert many - few > 0
    assert more - many <= 2 * SLACK * (many - few), (few, many, more)


def pages(log: Callable[[int], Run], *refs: str) -> Callable[[int], Callable[[], object]]:
    def make(n: int) -> Callable[[], object]:
        run = log(n)
        return lambda: [page(run, ref) for ref in refs]

    return make


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.log"


def test_reasons_of_one_recompile(path: Path) -> None:
    def log(n: int) -> Run:
        reasons = [f"0/0: L['x{i}'] == {i}  # y = x{i}  # a/f.py:{i} in f" for i in range(n)]
        made = Log(path).start().metrics().start(compile_=1)
        return made.add("recompile_reasons", {}, json.dumps(reasons), compile_=1).metrics(compile_=1).open()

    assert_linear(pages(log, "@recompiles", "0/1"), 60)


def test_graph_breaks_of_one_compile(path: Path) -> None:
    def log(n: int) -> Run:
        made = Log(path).start()
        for number in range(n):
            made.artifact("dynamo_graph_break_reason", f"Graph break in user code at /home/user/f.py:{number}")
        return made.metrics(restart_reasons=[]).open()

    assert_linear(pages(log, "@problems", ""), 40)


def recompiles(path: Path, n: int) -> Run:
    made = Log(path)
    for number in range(n):
        ids = {"compile_": number}
        made.start(**ids).add("dynamo_output_graph", {}, GRAPH, **ids)
        if number:
            made.add("recompile_reasons", {}, json.dumps([f"0/{number - 1}: L['x'] == {number - 1}"]), **ids)
        made.add("chromium_event", {}, f'{{"name":"dynamo","ph":"B","ts":{number}00.0,"args":{{}}}}', **ids)
        made.add("chromium_event", {}, f'{{"name":"dynamo","ph":"E","ts":{number}50.0,"args":{{}}}}', **ids)
        made.metrics(**ids)
    return made.open()


@pytest.mark.parametrize(
    "ref", ["", "0/", "@problems", "@recompiles", "@timing", "@stacks", "@passes", "@provenance", "@source::f.py:4"]
)
def test_recompiles_of_one_frame(ref: str, path: Path) -> None:
    assert_linear(pages(lambda n: recompiles(path, n), ref), 50)


def test_equal_graphs_are_compared_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes and provenance of any number of compiles with the same texts."""
    read: list[str] = []
    for module, name in ((passes, "graph_text"), (provenance, "parse_graph")):
        plain = getattr(module, name)
        monkeypatch.setattr(module, name, lambda lines, plain=plain, name=name: read.append(name) or plain(lines))
    made = Log(path)
    for number in range(40):
        ids = {"frame": number}
        made.start(**ids).add("dynamo_output_graph", {}, GRAPH, **ids)
        made.add("aot_inference_graph", {}, GRAPH.replace("l_x_ + 1", "torch.ops.aten.add.Tensor(arg0_1, 1)"), **ids)
        made.add("inductor_post_grad_graph", {}, GRAPH, **ids).metrics(**ids)
    run = made.open()
    page(run, "@passes")
    page(run, "@provenance")
    assert 0 < len(read) < 12, len(read)


def test_medians_of_ranks() -> None:
    """What a rank is compared with is worked out once."""
    def make(n: int) -> Callable[[], object]:
        processes = [ProcessTime(str(rank), rank, rank, 1.0 + 9 * (rank % 2), 1, (), None, None) for rank in range(n)]
        return lambda: outliers_of(processes)

    assert_linear(make, 50)


def test_causes_of_one_recompile() -> None:
    def make(n: int) -> Callable[[], object]:
        plain = Reason(
            None, False, "", "int value", "", None, "", "", "", (), "", "", None, "", (), None, "", None, None, None, "", "",
            "", "", (), "",
        )  # fmt: skip
        reasons = tuple(replace(plain, source=f"x{i}") for i in range(n))
        found = Explained("0/1", "ok", 1.0, reasons, "artifact", None, (), False, "", ())
        return lambda: differing(found)

    assert_linear(make, 50)


class Clock:
    """Each look at it takes 11 ms: a slice is one step or two."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.011
        return self.now


def test_sections_and_width_of_a_growing_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice costs what it adds, and the sections are in their order after each."""
    monkeypatch.setattr(composite_documents, "time", Clock())

    def make(n: int) -> Callable[[], object]:
        def fill(builder: Builder) -> Generator[None, None, None]:
            for number in range(n):
                builder.heading(f"{number}")
                builder.open("inner")
                builder.add("head")
                builder.add("x" * number)
                builder.close()
                yield

        def work() -> None:
            document = GrowingDocument("", "", Options(), fill)
            while not document.advance():
                document.width()
                near = [(section.first, section.level) for section in document.sections()[-4:]]
                assert near == sorted(near)
            assert document.width() == n - 1

        return work

    assert_linear(make, 50)
