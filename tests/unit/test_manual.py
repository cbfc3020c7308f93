"""The guide and the glossary as documents: rendered plainly, linked, each word found, and in the wheel."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import real
from real import ROOT

from tltui.documents.manual import CHAPTERS, entries, glossary_document, guide_document, render, target_of
from tltui.documents.page import Page
from tltui.model.ref import BadAddress, Ref
from tltui.questions.build import build
from tltui.text.document import Options
from tltui.text.formatting import cells

NOT_ON_PAGES = {
    "open tail": "what is incomplete is not shown",
    "news": "a line of tail, a remark",
    "status": "the statuses have a table of their own",
    "part": "how pages are made",
    "page": "what the screen shows",
    "label": "how a cache names files",
    "log state": "said as a sentence: live, quiet since, ended",
    "untold": "said as a sentence: as far as it is told",
    "crowd": "said as: stands for",
    "course": "what ranks are compared by", "facet": "what ranks are compared by", "lane": "what ranks are compared by",
    "class of ranks": "pages say kind of ranks",
    "origin": "a form of input",
    "failure in the output": "said as a sentence", "role": "said as a sentence: failed first, lost the connection, ended",
    "counts": "a rule", "own": "a rule: your line", "library": "a rule: your line", "python": "a rule: your line",
    "torch": "a rule: your line",
    "kernels → nodes": "said in full on the page", "kernels → lines": "said in full on the page",
    "nodes → kernels": "said in full on the page",
}  # fmt: skip
"""Words of design.md §2 that no page uses alone, and what stands there instead."""


def test_every_word_of_the_design_that_pages_use_is_explained() -> None:
    text = (ROOT / "docs" / "design.md").read_text("utf-8")
    table = text.split("## 2. Words\n", 1)[1].split("\n\n| status", 1)[0]
    words = {word.strip(" `") for row in re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[2:] for word in row.split(", ")}
    explained = {part.strip(" `") for entry in entries().values() for part in entry.word.split(", ")}
    assert len(words) > 40
    assert words - set(NOT_ON_PAGES) - explained == set()
    assert set(NOT_ON_PAGES) <= words


def test_every_chapter_is_listed_and_there() -> None:
    assert set(CHAPTERS) == {path.stem for path in (ROOT / "docs" / "guide").glob("*.md")}
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert [name for name in CHAPTERS if f"(guide/{name}.md)" not in index] == []
    listed = guide_document("", Options(width=80))
    assert [link.target for line in listed.lines for link in line.links][:-1] == [f"@guide::{name}" for name in CHAPTERS]


@pytest.mark.parametrize("name", ["", *CHAPTERS])
def test_every_link_of_a_chapter_is_a_page(name: str) -> None:
    run = real.demo()
    document = guide_document(name, Options(width=80))
    targets = {link.target for line in document.lines for link in line.links}
    assert "@glossary" in targets
    assert all(len(build(run, target, Options(width=80))) > 1 for target in targets)


@pytest.mark.parametrize("width", [40, 80, 130])
def test_prose_and_tables_fit_the_width(width: int) -> None:
    for document in (guide_document("tlparse", Options(width=width)), glossary_document("", Options(width=width))):
        code = ("  $ ", "  tl_out.zip", "    ⚑", "    ✓", "    ·")
        assert [line for line in document.text() if cells(line) > width and not line.startswith(code)] == []


def test_markdown_becomes_plain_lines() -> None:
    page = Page("@x", "x", Options(width=40))
    render(page, "# Head\n\nSome `code` and a [link](ranks.md), **strong**.\n\n## Part\n\n> said\n\n- one\n- two\n  1. three\n\n"
                 "```sh\ntltui x\n```\n\n| a | b |\n| --- | --- |\n| 1 | two words |\n\n<!-- not shown -->\n", "ci")  # fmt: skip
    document = page.document()
    assert [line for line in document.text() if line] == [
        "Head", "Some code and a link, strong.", "Part", "  said", "- one", "- two", "  1. three", "  tltui x", "  a  b",
        "  1  two words",
    ]  # fmt: skip
    assert [section.title for section in document.sections()] == ["Part"]
    assert [link.target for line in document.lines for link in line.links] == ["@guide::ranks"]


def test_links_of_the_docs_are_addresses() -> None:
    assert target_of("../glossary.md#graph-break", "ci") == "@glossary::graph-break"
    assert target_of("hangs.md#while-it-still-runs", "ci") == "@guide::hangs"
    assert target_of("guide/hangs.md") == "@guide::hangs"
    assert target_of("../ranks.md", "ci") == target_of("https://example.org/guide/x.md", "ci") == ""


def test_a_word_is_found_as_it_is_typed() -> None:
    def words(term: str) -> list[str]:
        return [found.strip() for found in glossary_document(term, Options(width=80)).text()]

    assert words("Graph-Break")[0] == words("graph breaks")[0] == words("graph break")[0] == "graph break"
    assert "recompile limit" in words("limit")
    assert str(Ref(view="glossary", artifact="graph break")) == "@glossary::graph%20break"
    assert build(real.demo(), "@glossary::graph%20break", Options()).line(0).text == "graph break"
    with pytest.raises(BadAddress, match="perhaps guard"):
        glossary_document("gard", Options())
    with pytest.raises(BadAddress, match="perhaps hangs"):
        guide_document("hang", Options())


def test_the_commands_print_them() -> None:
    def said(*words: str) -> str:
        return subprocess.run([sys.executable, "-m", "tltui", *words], capture_output=True, text=True, check=True, env={
            "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "HOME": "/dev/null",
        }).stdout  # fmt: skip

    assert said("guide", "hangs").startswith("It hangs\n")
    assert said("glossary", "own", "time").startswith("own time\n")
