from __future__ import annotations

import subprocess
import sys

import pytest
import wcwidth
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tltui.text.formatting import _NARROW, cells, crop, crop_left, fit, fitting

pure = settings(deadline=None, derandomize=True, max_examples=300)
texts = st.text(st.sampled_from("ab字é\u0301漢ｗ…🙂\u200d "), max_size=20)


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("字", 2), ("e\u0301", 1), ("ｗ", 2), ("…", 1), ("é", 1)]
)
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


@pure
@given(texts, st.integers(0, 25))
def test_nothing_is_wider_than_asked(text: str, width: int) -> None:
    assert cells(crop(text, width)) <= width
    assert cells(fit(text, width)) <= width
    assert cells(crop_left(text, width)) <= width
    assert text.startswith(crop(text, width))
    assert text.endswith(crop_left(text, width))
    if cells(text) <= width:
        assert fit(text, width) == text


def test_what_is_kept() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("abcdef", 4, "...") == "a..."
    assert fit("abcdef", 1, "...") == "."
    assert crop_left("/home/user/train.py", 8) == "train.py"
    assert crop_left("ae\u0301b", 1) == "b"
    assert crop("e\u0301x", 1) == "e\u0301"


def test_the_quick_way_and_the_tables_say_the_same() -> None:
    quick = [chr(code) for code in range(0x20, 0x110000) if _NARROW(chr(code))]
    assert len(quick) > 1500
    assert [char for char in quick if wcwidth.wcwidth(char) != 1] == []


@pytest.mark.parametrize("text", ["plain ASCII", "├─ ✓ 3 µs · naïve → Ωβ …"])
def test_text_of_narrow_characters_needs_no_table(text: str) -> None:
    program = f"""
import sys
from tltui.text.formatting import cells, fit
print(cells({text!r}), fit({text!r}, 40) == {text!r}, 'wcwidth' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(len(text)), "True", "False"]


@pure
@given(st.lists(st.sampled_from(["ab", "字", "é", "e\u0301", "❤", "❤\ufe0f", "☎", "☎\ufe0f", "🙂", "🙂\ufe0f"])).map("".join))
def test_the_tables_are_those_that_the_screen_is_cut_by(text: str) -> None:
    assert cells(text) == cell_len(text)
    assert all(cells(text[: fitting(text, width)]) <= width for width in range(25))
    assert fitting(text, cells(text)) == len(text) or not cells(text)
