"""The same run known from its text and from its trace: what a page's JSON says of the text is what it says of the trace, or
nothing.

What may differ is named here, with what the text lacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs import unpacked
from real import fresh

from tltui.export import to_json
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.text.document import Options

JOBS = ("recompiles", "breaks", "dyn", "crash", "mlp", "errors", "killed", "levels", "cache_hit")
LACKING: dict[str, dict[str, str]] = {
    "": {
        "status": "no text tells what became of a compile",
        "ref": "records are numbered within a log",
        "without_outcome": "the status again, counted",
        "file": "symbols name the last parts of a path only",
    },
    "guards": {"without_guards": "guards are there only with TORCH_LOGS=guards"},
    "stacks": {
        "without_stack": "there are no stacks of dynamo_start", "nodes": "a message of a start states callers only sometimes",
    },
    "provenance": {"": "there is no mapping: nodes are found by names and comments"},
    "fusion": {"": "a trace has no IR and no log of fusion: there the text says more"},
    "passes": {"": "some graphs are not in the text: its steps are longer"},
    "where": {"answer": "no text tells what is open", "failures": "what the job printed stands only in the text"},
    "shapes": {
        "": "guards name the line of the symbol, not its whole stack",
    },
    "layers": {"": "the text lacks what names parameters and modules: pre-grad graphs, guards, maps"},
    "memory": {"": "the text lacks what names parameters and layers, and with them the kernels of the wrapper"},
    "caches": {"new_sizes": "the text has no qualified names"},
    "warmup": {"uncalled": "the status again, and guards only with TORCH_LOGS=guards"},
    "problems": {"output_failures": "what the job printed stands only in the text"},
    "summary": {"ok": "the status", "output_failures": "what the job printed stands only in the text"},
}  # fmt: skip
NOTHING = (None, "", 0, [], {}, False)


def view_of(run: Run, name: str) -> Any:
    document = build(run, f"@{name}", Options())
    while not document.advance():
        pass
    return json.loads(to_json(document.data()))


def differences(trace: Any, text: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Where the text says something, and something else than the trace."""
    if text in NOTHING:
        return
    if isinstance(trace, dict) and isinstance(text, dict):
        for key, value in text.items():
            yield from differences(trace.get(key), value, (*keys, key))
    elif isinstance(trace, list) and isinstance(text, list) and len(trace) == len(text):
        for one, other in zip(trace, text, strict=True):
            yield from differences(one, other, keys)
    elif trace != text:
        yield keys, trace, text


@pytest.mark.parametrize("name", JOBS)
def test_each_page_says_of_the_text_what_it_says_of_the_trace(name: str, tmp_path: Path) -> None:
    job = unpacked(name, tmp_path)
    trace, text = fresh(job / "trace"), fresh(job / "stderr.txt")
    for view in QUESTIONS:
        lacking = {**LACKING[""], **LACKING.get(view.name, {})}
        if "" in lacking:
            continue
        found = differences(view_of(trace, view.name), view_of(text, view.name))
        assert [item for item in found if not set(item[0]) & set(lacking)] == [], view.name
