"""One line that is being typed."""

from __future__ import annotations

import pytest

from tltui.widgets.key_input import LONGEST_LINE, LineEdit


@pytest.mark.parametrize(
    ("text", "at", "key", "wanted", "then"),
    [
        ("abc", 3, "left", "abc", 2),
        ("abc", 0, "left", "abc", 0),
        ("abc", 3, "right", "abc", 3),
        ("abc", 2, "home", "abc", 0),
        ("abc", 1, "end", "abc", 3),
        ("abc", 2, "backspace", "ac", 1),
        ("abc", 0, "backspace", "abc", 0),
        ("abc", 1, "delete", "ac", 1),
        ("abc", 3, "delete", "abc", 3),
        ("one two  three", 14, "ctrl+w", "one two  ", 9),
        ("one two  ", 9, "ctrl+w", "one ", 4),
        ("one", 3, "ctrl+w", "", 0),
        ("", 0, "ctrl+w", "", 0),
        ("one two", 4, "ctrl+left", "one two", 0),
        ("one two", 7, "ctrl+left", "one two", 4),
        ("one two", 0, "ctrl+right", "one two", 3),
        ("one  two x", 3, "ctrl+right", "one  two x", 8),
        ("one two", 4, "ctrl+u", "two", 0),
        ("one two", 4, "ctrl+k", "one ", 4),
    ],
)
def test_a_key(text: str, at: int, key: str, wanted: str, then: int) -> None:
    line = LineEdit(text, at)
    assert line.key(key)
    assert (line.text, line.at) == (wanted, then)


def test_typing() -> None:
    line = LineEdit("ad", 1)
    line.insert("bc")
    assert (line.text, line.at) == ("abcd", 3)
    line.replace("x")
    assert (line.text, line.at) == ("x", 1)
    assert not line.key("f5")
    assert (line.text, line.at) == ("x", 1)


def test_a_long_text_is_cut_at_the_length_of_a_line() -> None:
    line = LineEdit("ab", 1)
    line.insert("x" * 2 * LONGEST_LINE)
    assert (len(line.text), line.at, line.text[-1]) == (LONGEST_LINE, LONGEST_LINE - 1, "b")
