"""The suffixes of tlparse's compile_directory.json (hit ✅, miss ❌, bypass ❓) agree with the answers in the view `caches`."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from real import opened
from tlparse_pages import LOGS, label, page

from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.caches.cache_report import CachesReport
from tltui.text.document import Options

SUFFIXES = {"✅": "hit", "❌": "miss", "❓": "bypass"}


def theirs(text: str) -> dict[str, Counter[tuple[str, str]]]:
    """Compile id without attempt → (name, state) of the artifacts with a suffix."""
    found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for name, entry in json.loads(text or "{}").items():
        for artifact in entry["artifacts"]:
            if artifact["suffix"]:
                plain = re.sub(r"_\d+\.\w+$", "", artifact["name"])
                found[re.sub(r"_\d+\]$", "]", name)][plain, SUFFIXES[artifact["suffix"]]] += 1
    return dict(found)


def ours(run: Run) -> dict[str, Counter[tuple[str, str]]]:
    document = build(run, "@caches", Options())
    while not document.advance():
        pass
    report = document.data()
    assert isinstance(report, CachesReport)
    found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for own in report.compiles:
        node = run.resolve(own.ref)
        assert isinstance(node, Compile)
        for answer in own.answers:
            name = (answer.ref or "").rpartition(":")[2].partition("#")[0]
            if not name.endswith("_hash"):  # torch 2.5 names no state there, and tlparse shows none
                found[bracketed(node)][name, answer.state] += 1
    return dict(found)


def bracketed(node: Compile) -> str:
    """The id as tlparse prints it: `[!0]` is `[!0/-/-]`."""
    text = str(node.id.of(0))
    return f"[{text}/-/-]" if text.startswith("!") and "/" not in text else f"[{text}]"


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_suffixes(path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert ours(opened(path)) == theirs(page(path, "compile_directory.json", tmp_path_factory))
