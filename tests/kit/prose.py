"""The sentences of tltui: texts of its modules, and prose of its documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from real import ROOT

LISTED = 4
SOURCES = ROOT / "src" / "tltui"
_SENTENCE_END = re.compile(r"""(?<=[.!?])["')*]*\s+(?=["'(`*]*(?:[A-Z{…‹≤]|--\w|\w+: |tltui\b|torch\b|tlparse\b|py-spy\b))""")
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(`+)[^`]+?\1")
_NAMES = re.compile(r"CODE(?:(?:,|;|,? and|,? or) CODE)+")
_ITEM = re.compile(r"[,;] (?=CODE\b)")
_LINK = re.compile(r"!?\[((?:[^\]\[]|\[[^\]]*\])*)\]\([^)]*\)")
_TAG = re.compile(r"</?[a-z][^<>]*>")
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*|#>]|\d+\.)[ \t|])|\n(?=[ \t]{2,}\S)")
_MARKER = re.compile(r"^\s*(?:[-*]|\d+\.|#+|>)\s+")
_QUOTED = re.compile(r"""^["“][^"”]*["”]$""")
EXCLUDED = (
    ("", re.compile(r"\(\?[:P=!<i]|\\[dSws\[(]|\[\^"), "regular expressions for messages of torch and other programs"),
    ("export/", re.compile(r"\.tltui[ {]|class="), "style sheets and tags"),
    ("writers/redact/", re.compile(r"^[\w\s]+$"), "names in torch's sources"),
    ("writers/repro/", re.compile(r"^[\w\s.]+$"), "names of torch's functions"),
)  # fmt: skip
"""Path prefix, pattern and description of literals without sentences of tltui."""


def module_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each literal of several words, without docstrings; `{}` replaces the values of f-strings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in skipped:
            skipped |= {id(value) for value in node.values}
            text = "".join(str(value.value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            text = node.value
        else:
            continue
        if " " in text.strip() and not is_excluded(path, text):
            yield node.lineno, text


def is_excluded(path: Path, text: str) -> bool:
    """Return whether a literal is none of tltui's sentences."""
    place = path.relative_to(SOURCES).as_posix()
    return any(place.startswith(prefix) and pattern.search(text) for prefix, pattern, _ in EXCLUDED)


def modules() -> Iterator[Path]:
    """Yield all modules of tltui."""
    yield from sorted(SOURCES.rglob("*.py"))


def documents() -> Iterator[Path]:
    """Yield the documents of the repository."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        yield ROOT / name
    yield from sorted((ROOT / "docs").rglob("*.md"))


def document_blocks(path: Path) -> Iterator[str]:
    """Yield the paragraphs, list items and table cells of a markdown document.

    Code and a list of names are one word. Code blocks are absent, and so are quotations of a reader as a whole paragraph.
    """
    text = _COMMENT.sub("", _FENCE.sub("", path.read_text(encoding="utf-8")))
    text = _NAMES.sub("CODE", _TAG.sub("", _LINK.sub(r"\1", _CODE.sub("CODE", text))))
    for block in _BLOCK.split(text):
        cells = block.strip().strip("|").split("|") if block.lstrip().startswith("|") else [block]
        for cell in cells:
            words = " ".join(_MARKER.sub("", cell).split())
            if words and not _QUOTED.match(words):
                yield words


def text_blocks(text: str) -> Iterator[str]:
    """Yield the paragraphs and indented lines of a literal."""
    for block in _BLOCK.split(text):
        yield " ".join(block.split())


def sentences(block: str) -> list[str]:
    """Split a block into sentences, and an enumeration of `LISTED` or more names with their meanings into its items."""
    found = []
    for sentence in _SENTENCE_END.split(block):
        found += _ITEM.split(sentence) if sentence.count("CODE") >= LISTED else [sentence]
    return [sentence for sentence in found if len(sentence.split()) > 1]
