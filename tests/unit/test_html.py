"""HTML of documents: it says what the document says, and nothing in a trace becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_html import Read, hostile
from real import trace

from tltui.export.html import GONE, MANY, STYLE, embedded, fragment, html_file, line_id, page
from tltui.model.artifacts import artifacts_of
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument
from tltui.text.composite_documents import DocumentPart
from tltui.text.document import Builder, Document, Line, Link, Options, Span, TextDocument
from tltui.text.payload import Payload
from tltui.text.sanitize import BEYOND

OPTIONS = Options(width=100)
ACTED_ON = re.compile(f"[\x00-\x09\x0b-\x1f{BEYOND}]")
"""What a terminal, or the order of text, would act on; but for ends of lines."""


def said(document: Document) -> list[str]:
    """The lines of a document that say something, as far as HTML keeps them: without what only indents."""
    return [line.strip() for line in document.text() if line.strip()]


def told(text: str) -> list[str]:
    """The lines of a fragment's text."""
    return [line.strip() for line in Read(text).text.split("\n") if line.strip()]


def addresses(run: Run) -> Iterator[str]:
    """The addresses of all pages and artifacts of a run."""
    yield ""
    yield from (f"@{view.name}" for view in QUESTIONS)
    for compile_ in run.compiles():
        yield str(compile_.ref)
        yield from (str(own.ref) for own in artifacts_of(compile_))


def pages(run: Run) -> Iterator[Document]:
    return (build(run, ref, OPTIONS) for ref in addresses(run))


def test_nothing_of_a_hostile_trace_becomes_markup(tmp_path: Path) -> None:
    run = hostile(tmp_path / "'><script>alert(0)<.log")
    count = 0
    for document in pages(run):
        text = "".join(page(document))
        Read(text).harmless()
        assert not ACTED_ON.search(text)
        assert told("".join(fragment(document, heading=False))) == said(document)
        count += 1
    assert count > 20
    code = Read("".join(page(build(run, "0/0:inductor_output_code", OPTIONS)))).text
    assert "<script>alert(5)</script><!--" in code and "␛[2J" in code, "all of it is there to be read"


def test_a_target_that_is_no_place_leads_nowhere() -> None:
    line = Line("abc", links=(Link(0, 3, "to"),))
    for to in (
        "javascript:alert(1)", "data:text/html,x", "//evil.example", "file:///etc/passwd", "vbscript:x", "#a b", "#1", "https://",
        'https://x/"onclick="y', "https://x/<script>", " https://x", "HTTPS://x", "https://x/\u202ey", "https://x\\@y",
    ):  # fmt: skip
        document = TextDocument("r", "t", lines=[line])
        assert "<a" not in "".join(fragment(document, target=lambda _, to=to: to)), to
    good = "".join(fragment(TextDocument("r", "t", lines=[line]), target=lambda _: "https://x.example/?a=1&b=2"))
    assert '<a href="https://x.example/?a=1&amp;b=2" rel="noopener noreferrer">abc</a>' in good
    gone = "".join(fragment(TextDocument("r", "t", lines=[line]), target=lambda _: GONE + 'run "x" <y>'))
    assert '<span class=gone title="run &quot;x&quot; &lt;y&gt;">abc</span>' in gone


@pytest.mark.parametrize("name", ["torch-2.13/breaks", "torch-2.13/errors"])
def test_pages_of_real_traces_say_what_the_document_says(name: str) -> None:
    for document in pages(trace(name)):
        assert told("".join(fragment(document, "x1", heading=False))) == said(document)
        Read("".join(page(document))).harmless()


def paged() -> Builder:
    builder = Builder("@page", "a <page>")
    builder.add("first ", ("to the last", "link", "line:9"))
    builder.heading("Open & shut")
    builder.add("  inside ", ("own", "link", "@page"), " ", ("own line", "link", "@page@L1"))
    builder.open("folded", folded=True)
    builder.add("  ", ("head of it", "dim"))
    builder.add("  hidden")
    builder.close()
    builder.heading("Another")
    builder.add("last")
    return builder


def test_folds_headings_and_links_inside_a_page() -> None:
    text = "".join(fragment(paged().document(), "p", lambda target: "#p" if target == "@page" else ""))
    read = Read(text)
    assert text.startswith('<section id="p"><h2>a &lt;page&gt;</h2>')
    assert '<h3 id="p-l3">Open &amp; shut</h3>' in text and '<h3 id="p-l8">Another</h3>' in text
    assert "<details><summary><span class=dim>head of it</span></summary>\n<pre>  hidden\n</pre>\n</details>" in text
    assert read.links == [f"#{line_id('p', 9)}", "#p", f"#{line_id('p', 1)}"] and {"p-l1", "p-l9"} <= set(read.ids)


def test_a_part_of_a_document_links_to_no_line_of_the_whole() -> None:
    whole_page = paged().document()
    assert not Read("".join(fragment(DocumentPart(whole_page, range(1, len(whole_page))), "p"))).links
    assert Read("".join(fragment(whole_page, "p", hi=4))).links == ["#p-l1"], "line 9 is not in it"


def test_a_file_has_contents_where_it_has_headings() -> None:
    builder = Builder("@page", "page")
    for n in range(4):
        builder.heading(f"Part {n}")
        builder.add("text")
    read = Read("".join(page(builder.document())))
    read.harmless()
    assert [link for link in read.links if link != "#page"] == [f"#page-l{1 + 3 * n}" for n in range(4)]
    assert "nav" not in Read("".join(page(paged().document()))).tags


def test_what_looks_like_a_link_is_one_and_the_foot_names_what_was_opened() -> None:
    builder = Builder("@page", "page")
    builder.add(("there", "link", "@page"), " ", ("elsewhere", "link", "@other"))
    document = builder.document()
    text = "".join(page(document, of="<job>"))
    assert '<a href="#page"><span class=link>there</span></a> elsewhere' in text
    assert "<footer>@page of &lt;job&gt; · tltui" in text and "<footer>@page · tltui" in "".join(page(document))


def test_the_head_of_a_file() -> None:
    text = "".join(html_file("</title><script>", ["x"], ".rep-x{}"))
    assert text.startswith("<!DOCTYPE html>\n<html lang=en class=tltui>")
    assert "default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;" in text
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in text and "</style>\n</head>" in text
    assert "url(" not in text and "@import" not in text and "script" not in Read(text).tags


@pytest.mark.parametrize("name", ['a"b', "a b", "1", "a<b", "-x", "é"])
def test_what_is_no_id_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no id"):
        next(fragment(paged().document(), name))


def test_long_lines_and_long_documents_are_whole() -> None:
    line = "<&>" + "x" * 200_000
    text = "".join(fragment(BytesDocument(Payload.of(f"{line}\nend".encode()), "text")))
    assert Read(text).text.split() == [line, "end"]
    lines = [str(n) if n % 7 else "" for n in range(3 * MANY)]
    document = BytesDocument(Payload.of("\n".join(lines).encode()), "text", title="t")
    text = "".join(page(document))
    Read(text).harmless()
    assert text.count("<span class=many>") >= 3
    inside = Read("".join(fragment(document, heading=False))).text
    assert inside.strip("\n").split("\n") == "\n".join(lines).strip("\n").split("\n"), "empty lines inside stay"


def test_a_document_is_written_piece_by_piece() -> None:
    read = 0

    class Counting(BytesDocument):
        def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
            nonlocal read
            read += n == 5000
            return super().line(n, lo, hi)

    pieces = fragment(Counting(Payload.of(b"x\n" * 10_000), "text"))
    while "<pre" not in next(pieces):
        pass
    assert not read


def test_every_token_has_a_look_or_none_on_purpose() -> None:
    plain = {tokens.VALUE, tokens.NAME, tokens.NUMBER, tokens.OPERATOR}
    looks = set(re.findall(r"^\.tltui \.([\w-]+)\{", STYLE, re.MULTILINE))
    assert set(tokens.ALL) - looks == plain
    variables = set(re.findall(r"var\(--([\w-]+)\)", STYLE))
    for theme in re.findall(r"--page:[^}]*", STYLE):
        assert variables - {"in"} <= {"page", *re.findall(r"--([\w-]+):", theme)}, "light and dark have all colours"
    assert "}}" in STYLE and "{{" not in STYLE


def test_a_fragment_for_somebody_elses_page_has_its_styles_to_itself() -> None:
    text = "".join(embedded(paged().document()))
    Read(text)
    rules = re.sub(r"@media[^{]*\{", "", STYLE)
    selectors = re.findall(r"(?:^|\})\s*([^{}]+)\{", rules)
    assert selectors and all(part.strip().startswith(".tltui") for rule in selectors for part in re.split(r",(?![^(]*\))", rule))
    assert text.startswith("<div class=tltui><style>")


def test_bars_are_drawn_over_their_text() -> None:
    line = Line("a ██▌ ▂█ <b>", (Span(2, 5, tokens.OK),))
    html = "".join(fragment(TextDocument("r", "t", lines=[line])))
    image = '<svg viewBox="0 0 {} 8" preserveAspectRatio=none aria-hidden=true><path d="{}"/></svg>'
    assert f"<span class=ok><span class=bars>██▌{image.format(24, 'M0 0h20v8h-20z')}</span></span>" in html
    assert f"<span class=bars>▂█{image.format(16, 'M0 6h8v2h-8zM8 0h8v8h-8z')}</span> &lt;b&gt;" in html
    assert "<svg" not in "".join(fragment(TextDocument("r", "t", language="python", lines=[line]))), "code stays text"
    assert "a ██▌ ▂█ <b>" in told(html)
