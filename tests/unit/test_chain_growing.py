"""Documents made of documents, and documents that are made while they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tltui.text.bytes_document import BytesDocument
from tltui.text.composite_documents import DocumentChain, GrowingDocument
from tltui.text.document import Builder, Document, Options
from tltui.text.payload import Payload


def chain() -> DocumentChain:
    head = Builder("", "")
    head.heading("Head")
    head.add("one x")
    body = BytesDocument(Payload.of(b"two x\nthree\nx four"), "text")
    return DocumentChain("ref", "title", [head.document(), body])


def test_a_chain_is_its_parts_one_after_another() -> None:
    document = chain()
    assert isinstance(document, Document)
    assert [document.line(n).text for n in range(len(document))] == ["Head", "one x", "two x", "three", "x four"]
    assert list(document.text()) == ["Head", "one x", "two x", "three", "x four"]
    assert list(document.text(1, 3)) == ["one x", "two x"]
    assert list(document.text(3)) == ["three", "x four"]
    assert [(s.first, s.last) for s in document.sections()] == [(0, 1)]
    assert document.where(document.anchor(3)) == 3 and document.where("9") is None


def test_search_crosses_the_parts_in_both_directions() -> None:
    document = chain()
    pattern = re.compile("x")
    assert [(h.line, h.start) for h in document.find(pattern)] == [(1, 4), (2, 4), (4, 0)]
    assert [(h.line, h.start) for h in document.find(pattern, 2)] == [(2, 4), (4, 0)]
    assert [(h.line, h.start) for h in document.find(pattern, 4, back=True)] == [(4, 0), (2, 4), (1, 4)]
    assert [(h.line, h.start) for h in document.find(pattern, 1, back=True)] == [(1, 4)]


def test_a_growing_page_begins_at_once_and_ends_with_its_result() -> None:
    def fill(builder: Builder) -> Iterator[None]:
        for number in range(2000):
            builder.add(f"line {number}")
            yield
        return {"lines": 2000}  # type: ignore[return-value]

    document = GrowingDocument("@x", "x", Options(), fill)
    assert isinstance(document, Document)
    assert len(document) > 0
    while not document.advance():
        assert document.data() is None
    assert len(document) == 2000 and document.complete and document.data() == {"lines": 2000}
    assert document.line(1999).text == "line 1999"
