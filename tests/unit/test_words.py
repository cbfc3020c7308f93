"""Plain words: what nobody outside of tltui understands stands nowhere, and every word of ours is explained."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from real import ROOT

from tltui.cli.schema import NAMES, schema_text
from tltui.model.status import TABLE
from tltui.questions.check.limits import MEASURES
from tltui.questions.index import QUESTIONS

BANNED = {
    r"\brungs?\b": "recompiles", r"\bladders?\b": "the recompiles of a function", r"\bstorms?\b": "many recompiles",
    r"\balone_seconds\b": "only_cause_seconds", r"[Nn]ever reached": "not written: the compile failed earlier",
    r"[Nn]othing to miss": "normally absent", r"one would look for": "such compiles can write",
    r"no condition of yours": "the bound comes from torch", r"→ plain\b": "→ inference tensor",
    r"nothing was gained|nothing lost": "no operations were captured", r"\bbars? holds?\b|\ballowed 0\b": "at most 0",
    r"torch logged no reason why": "torch before 2.5 does not write why", r"did not hold: it was": "what was it?",
    r"\bthe newest first\b.*reason": "the one that was used last first", r"\bclass of causes\b": "kind of cause",
    r"\bnotable\b": "say what it is", r"\bpayloads? lines?\b": "lines that belong to a record", r"\bregroup": "sort",
    r"\bput right\b": "corrected", r"\bfor want of\b": "because … ran out", r"\breckoned\b": "estimated",
    r"\bwhat helps\b": "how to fix", r"\bwith that:": "also:", r"\bneed a compile\b": "are compiled separately",
    r"fixed (it )?again to": "specialized to", r"\bat the left\b": "on the left",
    r"\bthis __main__": "a __main__", r"\bsubsystem\b|\bleverag|\butili[sz]e|\bsimply\b|\bplease\b": "say what to do",
}  # fmt: skip
"""What stood on a page once, or comes to one's mind while writing one → what to say instead."""
PLACES = (
    "documents", "questions", "tree", "writers", "cli", "screens", "commands.py", "model/status.py", "model/torch_versions.py",
)  # fmt: skip
EXPLAINED = (
    "compile", "frame", "attempt", "restart", "unit", "graph break", "eager mode", "recompile", "recompile limit", "guard",
    "symbol",
    "provenance", "epoch", "own time", "your line", "proven", "run", "launch", "rank", "process", "artifact", "record", "address",
    "own device", "diverge", "region", "lookup", "specialization", "recompile reason", "node mapping", "derived, `≈`",
    "layer, iteration",
    "static cost", "form of input", "case", "profile", "flight recorder", "dump", "missing ranks", "output", "index",
    "kind of ranks", "late, slow, wait", "open", "version",
)  # fmt: skip
"""Words of ours and of torch's that pages use without saying what they mean."""


def modules() -> Iterator[Path]:
    for place in PLACES:
        path = ROOT / "src" / "tltui" / place
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def said(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that may reach a reader: its literals of several words, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
        if isinstance(text, str) and " " in text.strip():
            yield getattr(node, "lineno", 0), text


def test_no_word_that_nobody_understands() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]!r}, say: {better}"
        for path in modules()
        for line, text in said(path)
        for pattern, better in BANNED.items()
        if (match := re.search(pattern, text))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["README.md", "docs/json.md", "docs/glossary.md", "docs/recompiles.md"])
def test_none_in_the_papers_either(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not [match[0] for pattern in BANNED if (match := re.search(pattern, text))]


def test_fields_of_json_have_plain_names() -> None:
    for command in NAMES:
        names = re.findall(r'"(\w+)": \{', schema_text(command))
        assert names and not [name for name in names if re.search(r"rung|ladder|storm|alone", name)], command


def test_the_search_for_words_finds_some() -> None:
    assert sum(len(text.split()) for path in modules() for _, text in said(path)) > 10_000


def entries(heading: str) -> set[str]:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    part = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    words = re.finditer(r'^\| (?:<a id="[\w.-]+"></a>)?([^|]+?) \|', part, re.MULTILINE)
    return {match[1] for match in words} - {"---", "word", "name", "status"}


def test_every_word_of_ours_is_explained() -> None:
    assert entries("Statuses") == {str(status) for status in TABLE}
    assert entries("Limits of `tltui check`") == set(MEASURES)
    assert entries("Pages") == {view.name for view in QUESTIONS}
    assert entries("What happened to a compile") | entries("Where something is") == set(EXPLAINED)
