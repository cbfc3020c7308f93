"""Numbers of graph breaks lead to torch's documentation, in every format."""

from __future__ import annotations

import pytest
from real import opened

from tltui.export.files import lines_of
from tltui.export.html import fragment
from tltui.questions.build import build
from tltui.text.document import Builder, Document, Options
from tltui.text.torch_names import graph_break_page, is_graph_break_page

GB0059 = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
PAGES = ("", "@problems", "5/0")


def page(ref: str) -> Document:
    return build(opened("src/tltui/demo"), "0:5/0" if ref == "5/0" else ref, Options(width=80))


@pytest.mark.parametrize("text", [
    "", "gb", "gb1", "GB0059", "gb0059 ", "gb0059\n", "gb\u0661\u0662\u0663\u0664", "gb0059/../x", "gb12345678", "gb0059.html",
])  # fmt: skip
def test_only_a_number_of_torch_makes_an_address(text: str) -> None:
    assert graph_break_page(text) == ""
    assert not is_graph_break_page(text)


def test_the_address_is_the_one_of_torch() -> None:
    assert graph_break_page("gb0059") == GB0059 and is_graph_break_page(GB0059)
    assert graph_break_page(None) == ""
    for other in (f"{GB0059}?x", f"{GB0059}\n", f" {GB0059}", GB0059.replace("https", "http"), GB0059.replace("meta", "x")):
        assert not is_graph_break_page(other)


@pytest.mark.parametrize("ref", PAGES)
def test_a_terminal_gets_a_hyperlink(ref: str) -> None:
    text = "\n".join(lines_of(page(ref), "ansi"))
    assert f"\x1b]8;;{GB0059}\x1b\\\x1b[33mgb0059\x1b[0m\x1b]8;;\x1b\\" in text
    assert text.count("\x1b]8;;https") == text.count("\x1b]8;;\x1b\\")


@pytest.mark.parametrize("ref", PAGES)
def test_html_has_an_href(ref: str) -> None:
    assert f'<a href="{GB0059}" rel="noopener noreferrer"><span class=break>gb0059</span></a>' in "".join(fragment(page(ref)))


@pytest.mark.parametrize("style", ["text", "markdown"])
@pytest.mark.parametrize("ref", PAGES)
def test_text_has_the_address(ref: str, style: str) -> None:
    assert GB0059 in [line.strip() for line in lines_of(page(ref), style)]


def test_no_other_target_becomes_a_hyperlink() -> None:
    builder = Builder("r", "t")
    builder.add(("a", "link", "https://evil.example/"), (" b", "", "0/0"), (" c", "", "file:/etc/passwd:1"))
    document = builder.document()
    assert list(lines_of(document, "ansi")) == ["\x1b[36ma\x1b[0m b c"]
    assert "href" not in "".join(fragment(document))
