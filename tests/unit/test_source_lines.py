from __future__ import annotations

import os
from pathlib import Path

import pytest

from tltui.questions.provenance.records import Place
from tltui.questions.provenance.unit_sections import file_tails, read_file, source_lines
from tltui.text.document import Options

TEXT = "".join(f"line_{n} = {n}\n" for n in range(1, 41))


def shown(places: list[Place], text: str | None, width: int = 120) -> tuple[list[str], tuple[int, ...]]:
    found = source_lines("ref", "source", places, Options(width=width), lambda path: None if text is None else text.split("\n"))
    assert {line: n for n, line in enumerate(found.lines)} == found.places
    return list(found.document.text()), found.lines


def test_recorded_lines_alone() -> None:
    places = [Place("/home/user/m.py", 3, "f", "x = 1"), Place("/home/user/m.py", 120), Place("/home/user/n.py", 7, "g", "y")]
    text, lines = shown(places, None)
    assert text == [
        "…/user/m.py  (recorded)",
        "  3  x = 1",
        "  ⋮",
        "120  (torch recorded no code)",
        "",
        "…/user/n.py  (recorded)",
        "  7  y",
    ]
    assert lines == (1, 3, 6)


def test_surroundings_where_the_file_is_as_it_was() -> None:
    places = [Place("/m.py", n, "f", f"line_{n} = {n}") for n in (10, 12, 30)]
    text, lines = shown(places, TEXT)
    assert text[0] == "/m.py" and text[1] == " 5  line_5 = 5" and text[13:15] == ["17  line_17 = 17", " ⋮"]
    assert [text[n] for n in lines] == ["10  line_10 = 10", "12  line_12 = 12", "30  line_30 = 30"]
    assert text[-1] == "35  line_35 = 35"


def test_code_that_has_changed_is_shown_as_recorded() -> None:
    same, other = Place("/m.py", 10, "f", "line_10 = 10"), Place("/m.py", 30, "f", "was something else")
    text, lines = shown([same, other], TEXT)
    assert text[1] == "  the file on this machine has changed at 1 of 2 lines, shown as recorded"
    assert text[lines[1]] == "30  was something else" and "29  line_29 = 29" not in text
    text, _ = shown([other], TEXT)
    assert text[1] == "  the file on this machine has changed: shown as recorded by torch"
    assert text[2:] == ["30  was something else"]


def test_line_out_of_the_file() -> None:
    text, lines = shown([Place("/m.py", 4000, "f", "x")], TEXT)
    assert text[lines[0]] == "4000  x"


def test_generated_code_has_no_file() -> None:
    text, _ = shown([Place("<eval_with_key>.7", 3, "forward", "a = b")], None)
    assert text == ["<eval_with_key>.7", "  generated code, shown as recorded by torch", "3  a = b"]


def test_anchors_and_links() -> None:
    found = source_lines("ref", "source", [Place("/home/user/m.py", 3, "f", "x = 1")], Options(), lambda path: None)
    assert found.document.where("/home/user/m.py:3") == 1 and found.document.anchor(1) == "/home/user/m.py:3"
    assert found.document.line(1).links[0].target == "file:/home/user/m.py:3"
    assert found.headings == {0: "/home/user/m.py is not readable on this machine; its lines are those that torch recorded"}


def test_paths_are_shortened_to_ends_that_differ() -> None:
    files = ["/home/user/train/model.py", "/opt/a/llama/model.py", "/opt/b/llama/model.py", "/m.py", "m.py", "<eval_with_key>.7"]
    assert [file_tails(files)[file] for file in files] == [
        "…/train/model.py", "…/a/llama/model.py", "…/b/llama/model.py", "/m.py", "m.py", "<eval_with_key>.7",
    ]  # fmt: skip


def test_nothing_recorded() -> None:
    assert shown([], None) == (["torch recorded no source line for this."], ())


def test_hostile_code_is_sanitised() -> None:
    text, _ = shown([Place("/m\x1b[31m.py", 3, "f", "x\x1b]0;title\x07 = 1")], None)
    assert not any("\x1b" in line or "\x07" in line for line in text)


def test_only_regular_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.py"
    file.write_bytes(b"a\r\nb\xff\n")
    assert read_file(str(file)) == ["a", "b\ufffd", ""]
    monkeypatch.chdir(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in ("m.py", str(pipe), str(tmp_path), "/dev/zero", "/nowhere/x.py", "", "/a\0b"):
        assert read_file(path) is None, path
