"""One way out for every view: text, ANSI, markdown, JSON."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from real import trace

from tltui.export import LEVELS, WouldOverwrite, ansi, format_of, lines_of, proposed_name, to_json, write
from tltui.model.status import Status
from tltui.questions.build import build
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Builder, Line, Options, Span
from tltui.text.payload import Payload
from tltui.text.safe_files import safe_name
from tltui.text.sanitize import sanitize


def page() -> Builder:
    builder = Builder("0/1", "a page")
    builder.heading("Head")
    builder.add("plain ", ("wrong", "error"), " ", ("a link", "link", "0/0"))
    builder.add("```")
    return builder


def test_text_and_ansi_and_markdown() -> None:
    document = page().document()
    assert list(lines_of(document)) == ["Head", "plain wrong a link", "```"]
    colored = list(lines_of(document, "ansi"))
    assert colored[1] == "plain \x1b[1;31mwrong\x1b[0m \x1b[36ma link\x1b[0m"
    assert list(lines_of(document, "markdown"))[:3] == ["## a page", "", "````"], "a longer fence than any in the text"
    assert list(lines_of(document, "text", 1, 2)) == ["plain wrong a link"]


def test_spans_may_overlap_and_lie_outside() -> None:
    line = Line("abcdef", (Span(2, 4, "error"), Span(3, 9, "ok"), Span(0, 1, "no such style")))
    assert ansi(line) == "ab\x1b[1;31mcd\x1b[0m\x1b[32mef\x1b[0m"


def test_a_long_line_is_exported_whole() -> None:
    document = BytesDocument(Payload.of(b"x" * 100_000 + b"\nend"), "text")
    assert [len(line) for line in lines_of(document)] == [100_000, 3]
    assert [len(line) for line in lines_of(document, "ansi")] == [100_000, 3]


def test_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = page().document()
    target = tmp_path / "out.md"
    assert write(document, str(target)) == 7 and target.read_text().startswith("## a page")
    with pytest.raises(WouldOverwrite):
        write(document, str(target))
    assert write(document, str(target), "text", force=True) == 3
    assert target.read_text() == "Head\nplain wrong a link\n```\n"
    monkeypatch.setenv("HOME", str(tmp_path))
    write(document, "~/home.txt")
    assert (tmp_path / "home.txt").exists()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    with pytest.raises(OSError, match="directory"):
        write(document, str(tmp_path), force=True)
    with pytest.raises(OSError):
        write(document, str(tmp_path / "missing" / "out.txt"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home.txt", "out.md"], "no leftovers"


def test_a_write_that_fails_loses_nothing(tmp_path: Path) -> None:
    class Failing(BytesDocument):
        def text(self, lo: int = 0, hi: int | None = None):  # type: ignore[no-untyped-def]
            yield "first"
            raise OSError(28, "No space left on device")

    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(OSError, match="No space"):
        write(Failing(Payload.of(b"x")), str(target), force=True)
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("0/1:inductor_output_code", "0_1_inductor_output_code.txt"),
        ("../../etc/passwd", "etc_passwd.txt"),
        ("/abs/olute", "abs_olute.txt"),
        ("a\x00b\x1b[2J", "a_b_2J.txt"),
        ("…", "unnamed.txt"),
        ("x" * 400, "x" * 116 + ".txt"),
        (".hidden", "hidden.txt"),
    ],
)
def test_names_of_files_are_never_paths(label: str, name: str) -> None:
    assert safe_name(label, ".txt") == name


def test_what_is_proposed() -> None:
    run = trace("torch-2.13/breaks")
    assert proposed_name(build(run, "0/0:dynamo_output_graph", Options())) == "0_0_dynamo_output_graph.py"
    assert proposed_name(build(run, "", Options())) == "breaks.txt"
    assert [format_of(name) for name in ("a.MD", "a.ansi", "a.py", "a")] == ["markdown", "ansi", "text", "text"]


def test_json_takes_whatever_a_result_holds() -> None:
    @dataclass(frozen=True)
    class Result:
        status: Status
        parts: tuple[int, ...]
        big: int = 2**70
        odd: str = "\ud800"

    value = json.loads(to_json({"result": Result(Status.OK, (1, 2)), "set": {3, 1}}))
    assert value == {"result": {"status": "ok", "parts": [1, 2], "big": 2**70, "odd": "\ud800"}, "set": [1, 3]}
    with pytest.raises(TypeError):
        to_json(object())


class Pair(NamedTuple):
    left: int
    right: float


@pytest.mark.parametrize("more", [None, 2**70, "\ud800"], ids=["orjson", "a large integer", "a surrogate"])
def test_json_has_names_and_no_words_of_its_own(more: object) -> None:
    """Named tuples are objects, whichever encoder is used; NaN and Infinity are no JSON."""

    @dataclass(frozen=True)
    class Result:
        pair: Pair
        pairs: tuple[Pair, ...]
        by_rank: dict[int | None, Pair]
        more: object

    pair = Pair(1, float("inf"))
    text = to_json(Result(pair, (pair, Pair(2, 0.5)), {3: pair, None: pair}, more))
    named = {"left": 1, "right": None}
    assert json.loads(text, parse_constant=pytest.fail) == {
        "pair": named, "pairs": [named, {"left": 2, "right": 0.5}], "by_rank": {"3": named, "null": named}, "more": more,
    }  # fmt: skip


@pytest.mark.parametrize("more", ["", "\ud800"], ids=["orjson", "a surrogate"])
def test_json_does_nothing_on_a_terminal(more: str) -> None:
    """And is the same JSON."""
    every = [chr(code) for code in (*range(0x20), *range(0x7F, 0x3000), *range(0xFD00, 0x10000), *range(0x1BC00, 0x1BCB0),
                                    *range(0xE0000, 0xE0100), 0x1F600) if sanitize(chr(code)) != chr(code)]  # fmt: skip
    every = [char for char in every if not "\ud800" <= char <= "\udfff"] + ["é✓漢😀", "\\u202e", more]
    text = to_json({char: f"x{char}y" for char in every}).decode()
    assert json.loads(text) == {char: f"x{char}y" for char in every}
    assert sanitize(text.replace("\n", " ")) == text.replace("\n", " ")
    assert "é✓漢😀" in text or more


def test_json_of_something_deep() -> None:
    deep: object = 1
    for _ in range(900):
        deep = [deep]
    assert to_json({"deep": deep, "beside": 2}).count(b"[") == LEVELS
    assert b"(nested too deeply)" in to_json(deep)
    deep = 1
    for _ in range(LEVELS - 10):
        deep = {"a": deep}
    assert json.loads(to_json(deep)) == deep
