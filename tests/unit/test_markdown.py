"""Markdown for an issue: what a trace says stays in fences, long parts are folded, and it fits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hostile_html import TEXT, hostile
from real import trace

from tltui.export.files import LIMIT, LONG, markdown
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Builder, Document, Options
from tltui.text.payload import Payload


def outside(document: Document) -> tuple[list[str], list[str]]:
    """Lines outside of the fences, and inside, as a reader of markdown tells them apart."""
    out: list[str] = []
    inside: list[str] = []
    fence = ""
    for line in markdown(document):
        opening = re.match("`{3,}", line)
        if fence and line == fence:
            fence = ""
        elif fence:
            inside.append(line)
        elif opening:
            fence = opening[0]
        else:
            out.append(line)
    assert not fence, "every fence ends"
    return out, inside


@pytest.mark.parametrize("ref", ["", "0/0", "0/0:inductor_output_code", *(f"@{view.name}" for view in QUESTIONS)])
def test_nothing_of_a_hostile_trace_is_outside_of_code(ref: str, tmp_path: Path) -> None:
    out, inside = outside(build(hostile(tmp_path / "x.log"), ref, Options()))
    fold = r"<details><summary>(<code>[^<>]*</code>|[\d,]+ lines)</summary>"
    allowed = re.compile(rf"## (\[[0-9:/]+\] )?(`+)?[^`].*|{fold}|</details>|")
    assert all(allowed.fullmatch(line) for line in out), out
    for line in out:
        bare = re.sub(r"(`+).*?\1|<code>[^<>]*</code>", "", line)
        assert "@" not in bare and not re.search(r"#\d|www\.|https?:", bare), line
    if ref.endswith("code"):
        assert any("@everyone #12" in line for line in inside) and "````" in TEXT


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("the summary", "the summary"),
        ("[0/1] forward, train.py", "[0/1] forward, train.py"),
        ("[1:0/1~2_0] __init__", "[1:0/1~2_0] `__init__`"),
        ("ask @torvalds", "`ask @torvalds`"),
        ("fixes #12", "`fixes #12`"),
        ("GH-12", "`GH-12`"),
        ("see deadbeefcafe", "`see deadbeefcafe`"),
        ("www.example.org", "`www.example.org`"),
        ("[x](y)", "`[x](y)`"),
        ("a ` b", "``a ` b``"),
        ("`a`", "`` `a` ``"),
        ("<b>", "`<b>`"),
        ("\x1b[2J\u202e", "`␛[2J␦`"),
    ],
)
def test_titles_call_nobody(title: str, heading: str) -> None:
    assert next(markdown(Builder("r", title).document())) == f"## {heading}"


def test_folds_and_long_sections() -> None:
    builder = Builder("r", "page")
    builder.add("first")
    builder.heading("Short")
    builder.add("text")
    builder.open("f", folded=True)
    builder.add(" head @x")
    builder.add("hidden")
    builder.close()
    builder.heading("Long")
    for n in range(LONG + 1):
        builder.add(f"line {n}")
    lines = list(markdown(builder.document()))
    assert lines[:7] == ["## page", "", "```", "first", "", "Short", "text"]
    assert lines[7:16] == [
        "```", "<details><summary><code>head @x</code></summary>", "", "```", "hidden", "```", "", "</details>", "",
    ]  # fmt: skip
    assert lines[16] == "<details><summary><code>Long</code></summary>" and lines[-2:] == ["</details>", ""]
    assert outside(builder.document())[1].count("line 7") == 1
    code = list(markdown(BytesDocument(Payload.of(b"x\n" * LONG + b"x"), "python", title="t")))
    assert code[2:5] == [f"<details><summary>{LONG + 1} lines</summary>", "", "```python"]
    assert "<details>" not in "".join(markdown(BytesDocument(Payload.of(b"x\n" * (LONG - 1)), "python", title="t")))


@pytest.mark.parametrize(
    "text", ["a line of ordinary text\n" * 9_000, "x" * 200_000, "\U0001f525\n" * 60_000, "`" * 70_000, "\n" * 50_000]
)
def test_it_fits_into_an_issue_and_says_what_is_left_out(text: str) -> None:
    document = BytesDocument(Payload.of(text.encode()), "text", title="t")
    found = "\n".join(markdown(document, limit=LIMIT)) + "\n"
    as_sent = found.replace("\n", "\r\n")
    assert len(as_sent.encode("utf-16-le")) // 2 <= LIMIT
    assert found.count("<details>") == found.count("</details>")
    assert re.search(r"omitted: a GitHub issue holds 65,536 characters", found)
    if text.startswith("a line"):
        kept = found.count("a line of")
        assert kept > 2_500 and f"{len(document) - kept:,} of {len(document):,} lines are omitted" in found


def test_what_fits_is_whole() -> None:
    document = build(trace("torch-2.13/breaks"), "@problems", Options())
    assert list(markdown(document, limit=LIMIT)) == list(markdown(document))
