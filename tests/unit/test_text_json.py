"""JSON is laid out without losing anything."""

from __future__ import annotations

import json

import pytest

from tltui.text.bytes_document import json_document, lay_out
from tltui.text.payload import Payload


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'{"a": 18446744073709551616}', '  "a": 18446744073709551616'),
        (b'{"a": -99999999999999999999999999}', '  "a": -99999999999999999999999999'),
        (b'{"a": NaN}', '  "a": NaN'),
        (b'{"a": Infinity}', '  "a": Infinity'),
        (b'{"a": "\\ud800 x"}', '  "a": "\\ud800 x"'),
        (b'{"a": "{\\"b\\": 1}"}', '  "a": "{\\"b\\": 1}"'),
        ('{"a": "é字"}'.encode(), '  "a": "é字"'),
        (b'{"a": 1.5}', '  "a": 1.5'),
    ],
)
def test_values_stay_what_they_are(text: bytes, line: str) -> None:
    document = json_document(Payload.of(text))
    assert list(document.text()) == ["{", line, "}"]
    assert document.badge == ""


@pytest.mark.parametrize(
    ("text", "badge"),
    [
        (b"L['x'] == 3", "not JSON"),
        (b"", "not JSON"),
        (b'{"a": ', "not JSON"),
        (b"[" * 100_000, "nested too deeply to reformat"),
        (b'"\xff"', "not UTF-8"),
        (b"[" + b"1" * 10_000 + b"]", "a number is too long to reformat"),
    ],
)
def test_what_cannot_be_laid_out_is_shown_as_stored(text: bytes, badge: str) -> None:
    document = json_document(Payload.of(text), badge="md5 ✓")
    assert document.badge in (f"md5 ✓ · {badge}", "md5 ✓ · not JSON")
    assert len(document) == 1


def test_large_and_raw_payloads_are_shown_as_stored() -> None:
    text = json.dumps({"a": "x" * (5 << 20)}).encode()
    document = json_document(Payload.of(text))
    assert document.badge == "5.0 MB: as stored"
    assert len(document) == 1
    raw = json_document(Payload.of(b'{"a":1}'), raw=True)
    assert list(raw.text()) == ['{"a":1}']
    assert raw.badge == ""


def test_sections_are_the_keys() -> None:
    value = {"a": {"b": [1, {"c": 2}], "d": 3}, "e": [], "f": [[1], [2]], "g": "x {"}
    document = json_document(Payload.of(json.dumps(value).encode()))
    assert [(s.level, s.title) for s in document.sections()] == [
        (0, "a"), (1, "b"), (2, "[1]"), (0, "f"), (1, "[0]"), (1, "[1]"),
    ]  # fmt: skip
    lines = list(document.text())
    for section in document.sections():
        assert lines[section.first].endswith(("{", "["))
        assert lines[section.last].strip()[0] in "}]"


def test_indented_without_blanks() -> None:
    data, note = lay_out(b'[\n{\n"a": 1\n},\n{\n"b": 2\n}\n]')
    assert note == ""
    assert data.count(b"\n") == 7
    stored = json_document(Payload.of(b'{\n"a": [\n1,\n2\n]\n}'), raw=True)
    assert [(s.first, s.last, s.title) for s in stored.sections()] == [(1, 4, "a")]
