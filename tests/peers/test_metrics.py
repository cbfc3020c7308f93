"""Everything that tlparse's pages of compilation metrics say is in the view `metrics`."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from real import opened
from tlparse_pages import LOGS, label, pages_of

from tltui.model.ref import CompileId
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.metrics.metric_sums import CompileMetrics
from tltui.text.document import Options

FIELDS = {
    "Entire Frame": "entire_frame_compile_time_s", "Backend": "backend_compile_time_s", "Inductor": "inductor_compile_time_s",
    "Code Gen Time": "code_gen_time_s", "Dynamo Time Before Restart": "dynamo_time_before_restart_s",
    "Cache Size": "cache_size", "Accumulated Cache Size": "accumulated_cache_size", "Guard Count": "guard_count",
    "Shape Env Guards": "shape_env_guard_count", "Graph Ops": "graph_op_count", "Graph Nodes": "graph_node_count",
    "Graph Inputs": "graph_input_count", "Failure Exception": "fail_type", "Failure Reason": "fail_reason",
}  # fmt: skip
"""What tlparse calls a field → its name."""
EVENTS = {
    "compilation_metrics": "compilation_metrics", "bwd_compilation_metrics": "bwd_compilation_metrics",
    "aot_autograd_backward_compilation_metrics": "aot_autograd_backward_compilation_metrics",
}  # fmt: skip
_FIELD = re.compile(r"<(?:p|div)>([A-Z][A-Za-z ]*?) ?(?:<abbr[^>]*>\[\?\]</abbr>)?: (.*?)</(?:p|div)>", re.DOTALL)
_ROW = re.compile(r"<tr>\s*<td>(.*?)</td>\s*(?:<td>(.*?)</td>\s*<td>(.*?)</td>)?", re.DOTALL)


def stated(html: str) -> dict[str, str]:
    """The fields of a page, by their names in the log."""
    found = {}
    for name, value in _FIELD.findall(html):
        assert name in FIELDS, name
        found[FIELDS[name]] = unescape(re.sub(r"</?pre>", "", value))
    return found


def compile_at(run: Run, directory: str) -> CompileId | None:
    parts = [None if part == "-" else int(part) for part in re.findall(r"\d+|-", directory)]
    return CompileId(*parts[:3]) if len(parts) == 4 else None


def same(ours: Any, theirs: str) -> bool:
    """tlparse prints nothing for null."""
    if ours is None:
        return theirs == ""
    if isinstance(ours, float):
        return float(theirs) == pytest.approx(ours)
    return str(ours).split() == theirs.split()


@pytest.mark.parametrize("path", LOGS, ids=label)
@pytest.mark.parametrize("event", EVENTS)
def test_the_fields_of_tlparse(path: Path, event: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = opened(path)
    for directory, html in pages_of(path, f"{event}_[0-9]*.html", tmp_path_factory):
        compile_id = compile_at(run, directory)
        compiles = [c for c in run.compiles() if c.id.of(0) == compile_id]
        assert compiles, directory
        documents = [build(run, f"@metrics:{c.ref}", Options(width=100)) for c in compiles]
        views = [view for document in documents if isinstance(view := document.data(), CompileMetrics)]
        named = [(r.ref.rpartition(":")[2].partition("#")[0], r) for view in views for r in view.records]
        records = [{f.name: f.value for f in r.fields} for name, r in named if name == EVENTS[event]]
        theirs = stated(html)
        assert any(all(same(values.get(name), value) for name, value in theirs.items()) for values in records), theirs
        shown = " ".join("\n".join(text for document in documents for text in document.text()).split())
        for name, value in theirs.items():  # a field that the log lacks is blank there
            assert name in shown or not value
        specialized, _, added = html.partition("<h2>Symbolic shape specializations</h2>")[2].partition("<h2>Guards added fast</h2>")
        for symbol, sources, value in _ROW.findall(specialized):
            expected = unescape(symbol).strip(), unescape(re.sub(r"<[^>]*>", " ", sources)).split()
            ours = [s for view in views for s in view.specializations if (s.symbol, " ".join(s.sources).split()) == expected]
            assert any(same(specialization.value, unescape(value)) for specialization in ours), expected
        for expression, *_ in _ROW.findall(added):
            assert unescape(expression).strip() in [guard.expression for view in views for guard in view.guards_added]
