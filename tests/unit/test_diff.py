"""Line diffs: covering, minimal enough, fast on few edits, and applied by the real `patch`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.text.diff import changes, hunks, unified, word_changes

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "", "x y"]), max_size=40)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(LINES, LINES)
def test_changes_cover_both_sides_in_order(left: list[str], right: list[str]) -> None:
    a = b = 0
    for change in changes(left, right):
        assert (change.a0, change.b0) == (a, b)
        a, b = change.a1, change.b1
        assert (left[change.a0 : a] == right[change.b0 : b]) == change.same
        assert a > change.a0 or b > change.b0
    assert (a, b) == (len(left), len(right))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(LINES)
def test_a_thing_does_not_differ_from_itself(lines: list[str]) -> None:
    assert all(change.same for change in changes(lines, lines))
    assert list(unified(lines, lines, "a", "b")) == []


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch here")
@settings(deadline=None, derandomize=True, max_examples=40)
@given(LINES, LINES)
def test_patch_makes_the_right_side_of_the_left(tmp_path_factory: pytest.TempPathFactory, left: list[str], right: list[str]) -> None:
    directory: Path = tmp_path_factory.mktemp("patch")
    old, new = directory / "old", directory / "new"
    old.write_text("".join(f"{line}\n" for line in left))
    text = "".join(f"{line}\n" for line in unified(left, right, "old", "new"))
    done = subprocess.run(
        ["patch", "-s", "-o", str(new), str(old)], input=text, text=True, capture_output=True, check=False
    )
    if text:
        assert done.returncode == 0, (done.stdout, done.stderr, text)
        assert (new.read_text() if new.exists() else "") == "".join(f"{line}\n" for line in right)


def test_unique_lines_anchor_what_moved_around_them() -> None:
    left = ["{", "one", "}", "{", "two", "}"]
    right = ["{", "one", "}", "{", "new", "}", "{", "two", "}"]
    added = [right[c.b0 : c.b1] for c in changes(left, right) if not c.same]
    assert added == [["{", "new", "}"]] or added == [["new", "}", "{"]]


def test_hunks_have_context() -> None:
    left = [str(n) for n in range(40)]
    right = [*left[:20], "new", *left[21:]]
    group = list(hunks(changes(left, right)))
    assert len(group) == 1 and group[0][0].a0 == 17 and group[0][-1].a1 == 24


def test_words() -> None:
    left, right = "TENSOR_MATCH size=[3] stride=[1]", "TENSOR_MATCH size=[None] stride=[1]"
    a, b = word_changes(left, right)
    assert [left[s:e] for s, e in a] == ["3"] and [right[s:e] for s, e in b] == ["None"]
    assert word_changes("abc", "x + y") == ([(0, 3)], [(0, 5)])


def test_many_lines_with_few_edits() -> None:
    left = [f"line {n}" if n % 3 else "same" for n in range(30_000)]
    right = [line if n % 20 else f"edit {n}" for n, line in enumerate(left)]
    found = changes(left, right)
    assert sum(c.a1 - c.a0 for c in found if c.same) == sum(a == b for a, b in zip(left, right, strict=True))
