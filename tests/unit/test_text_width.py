from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.text.width import cells, crop, fit, fit_left, pad

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
    assert cells(fit_left(text, width)) <= width
    assert cells(pad(text, width)) == width
    assert cells(pad(text, width, right=True)) == width
    assert text.startswith(crop(text, width))
    if cells(text) <= width:
        assert fit(text, width) == fit_left(text, width) == text


def test_what_is_kept() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("abcdef", 4, "...") == "a..."
    assert fit("abcdef", 1, "...") == "."
    assert fit_left("/home/user/train.py", 9) == "…train.py"
    assert fit_left("ae\u0301b", 2) == "…b"
    assert pad("字", 4) == "字  "
    assert pad("7", 3, right=True) == "  7"
    assert crop("e\u0301x", 1) == "e\u0301"
