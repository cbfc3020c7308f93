"""Line diffs: covering, minimal enough, fast on few edits, and applied by the real `patch`."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.text.line_diff import changes, hunks, line_pairs, myers, unified, word_changes

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
    text = "\n".join(lines).encode()
    assert list(unified(text, text, "a", "b")) == []


TEXT = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))
PATCH = shutil.which("patch")


@pytest.mark.skipif(PATCH is None, reason="there is no patch here")
@settings(deadline=None, derandomize=True, max_examples=60)
@given(TEXT, TEXT)
def test_patch_makes_the_right_side_of_the_left(tmp_path_factory: pytest.TempPathFactory, left: str, right: str) -> None:
    directory: Path = tmp_path_factory.mktemp("patch")
    old, new = directory / "old", directory / "new"
    old.write_bytes(left.encode())
    text = b"".join(line + b"\n" for line in unified(left.encode(), right.encode(), "old", "new"))
    if not text:
        assert left == right
        return
    done = subprocess.run(["patch", "-s", "-o", str(new), str(old)], input=text, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr, text)
    assert (new.read_bytes() if new.exists() else b"") == right.encode()


def test_lines_that_repeat_are_found_by_few_edits() -> None:
    block = [f"op {n % 50}" for n in range(4000)]
    edited = [line for n, line in enumerate(block) if n % 97] + ["new"]
    found = changes(block, edited)
    assert sum(c.a1 - c.a0 for c in found if c.same) >= len(edited) - 40


@settings(deadline=None, derandomize=True, max_examples=200)
@given(LINES, LINES)
def test_myers_pairs_equal_lines_in_order(left: list[str], right: list[str]) -> None:
    pairs = myers(left, right)
    assert all(left[a] == right[b] for a, b in pairs)
    assert all(x < a and y < b for (x, y), (a, b) in pairwise(pairs))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(LINES, LINES)
def test_rows_of_a_changed_stretch_hold_each_line_once_in_order(left: list[str], right: list[str]) -> None:
    rows = line_pairs(left, right)
    assert [a for a, _ in rows if a >= 0] == list(range(len(left)))
    assert [b for _, b in rows if b >= 0] == list(range(len(right)))


def test_lines_that_resemble_each_other_stand_side_by_side() -> None:
    left = ["#pragma GCC ivdep", "for(int x0 = 0; x0 < 3; x0 += 1)"]
    assert line_pairs(left, ["for(int x0 = 0; x0 < ks0; x0 += 16)"]) == [(0, -1), (1, 0)]


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
