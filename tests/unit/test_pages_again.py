"""Pages are joined from parts that are kept: nothing is made twice, and what changed is made again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_logs import Log
from pages import page
from real import TRACES
from viewed import text

from tltui.model.follow import open_run
from tltui.model.run import Run, settle
from tltui.questions.index import QUESTIONS
from tltui.sources.discover import discover

PAGES = ("", *(f"@{view.name}" for view in QUESTIONS))
MINE = ("", "@problems", "@recompiles", "@stacks", "@timing", "@provenance", "@passes", "@source::f.py:4")
REAL = ("recompiles", "breaks", "errors", "ca", "train", "vllm_like")
GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[{n}]"):
        # File: /home/user/f.py:4 in f, code: return x + {n}
        add: "f32[{n}]" = l_x_ + {n};  l_x_ = None
        return (add,)
"""


def growing(path: Path, sizes: list[int]) -> Iterator[Run]:
    """A run that is read in steps of these sizes, after each step, and at its end."""
    run = Run(discover([str(path)]))
    [scanner] = run.scanners()
    for size in sizes:
        run.apply(0, scanner.step(size))
        settle(run)
        yield run
    while not run.models[0].log.ended:
        run.apply(0, scanner.step(1 << 20))
    settle(run)
    yield run


def compiles_of(run: Run, many: int = 3) -> list[str]:
    found = [compile_ for compile_ in run.compiles() if compile_.is_compile]
    return [str(node.ref) for compile_ in found[:many] for node in (compile_, compile_.frame)]


@pytest.mark.parametrize("share", [0.6, 1.0])
@pytest.mark.parametrize("name", REAL)
def test_a_page_that_grew_is_the_page_of_a_fresh_start(name: str, share: float, tmp_path: Path) -> None:
    """Whatever was kept while the log was read: at the end nothing of it shows, wherever the log ends."""
    [source] = (TRACES / "torch-2.13" / name).glob("*.log")
    data = source.read_bytes()
    begins = [match.start() + 1 for match in re.finditer(rb"\nV", data)]
    whole = data if share == 1.0 else data[: begins[int(len(begins) * share)]]
    path = tmp_path / source.name
    path.write_bytes(whole)
    steps = [len(whole) // 4] * 3
    *_, run = [(_looked(run), run)[1] for run in growing(path, steps)]
    fresh = open_run(discover([str(path)]))
    for ref in (*PAGES, *compiles_of(fresh)):
        assert text(page(run, ref)) == text(page(fresh, ref)), ref


def _looked(run: Run) -> None:
    for ref in (*PAGES, *compiles_of(run)):
        page(run, ref)


def job(path: Path, frames: int) -> Path:
    """A log of frames with a recompile each; the last frame is the last thing that was logged."""
    log = Log(path)
    for frame in range(frames):
        for number in (0, 1):
            ids = {"frame": frame, "compile_": number}
            log.start(**ids)
            log.add("chromium_event", {}, f'{{"name":"dynamo","ph":"B","ts":{frame}00.0,"args":{{}}}}', **ids)
            log.add("chromium_event", {}, f'{{"name":"dynamo","ph":"E","ts":{frame}50.0,"args":{{}}}}', **ids)
            log.add("dynamo_output_graph", {}, GRAPH.format(n=number), **ids)
            log.artifact("dynamo_graph_break_reason", "Graph break in user code at /home/user/f.py:4\n", **ids)
            if number:
                log.add("recompile_reasons", {}, f"[\"{frame}/0: L['x'] == 0\"]", **ids)
            log.metrics(**ids)
    path.write_text("\n".join(log.lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("ref", MINE)
def test_what_did_not_change_is_not_made_again(ref: str, tmp_path: Path) -> None:
    run = open_run(discover([str(job(tmp_path / "a.log", 5))]))
    first = text(page(run, ref))
    made = run.parts.computed
    assert text(page(run, ref)) == first
    assert run.parts.computed == made


def made_by_the_last_frame(path: Path, frames: int, ref: str) -> int:
    """How many parts are made again for a page when one frame is added."""
    data = job(path, frames).read_bytes()
    begin = data.index(b'\nV', data.rindex(f'"frame_id": {frames - 2}'.encode())) + 1
    runs = growing(path, [begin])
    run = next(runs)
    page(run, ref)
    made = run.parts.computed
    run = next(runs)
    assert made or not ref
    page(run, ref)
    return run.parts.computed - made


@pytest.mark.parametrize("ref", MINE[1:])
def test_a_batch_makes_only_what_it_touched(ref: str, tmp_path: Path) -> None:
    """However many compiles there were before."""
    few = made_by_the_last_frame(tmp_path / "few.log", 20, ref)
    many = made_by_the_last_frame(tmp_path / "many.log", 45, ref)  # of more than 50 frames, equal ones are one line each
    assert few == many
    assert 0 < few < 25
