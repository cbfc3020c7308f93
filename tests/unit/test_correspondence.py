from __future__ import annotations

import random

from tltui.text.line_correspondence import Group, LineGroups, joined, letters, of_lines

THREE = LineGroups.of(3, [
    Group((((0, 0),), ((2, 3),), ((10, 12), (30, 30)))),
    Group((((0, 0),), ((5, 5),), ((10, 12),))),
    Group(((), ((7, 7),), ((40, 40),))),
])  # fmt: skip


def test_groups_of_a_line() -> None:
    assert list(THREE.groups(0, 0)) == [0, 1]
    assert list(THREE.groups(1, 3)) == [0]
    assert list(THREE.groups(2, 11)) == [0, 1]
    assert list(THREE.groups(2, 30)) == [0]
    assert list(THREE.groups(1, 4)) == list(THREE.groups(2, 9)) == list(THREE.groups(2, 99)) == []
    assert len(THREE) == 3


def test_lines_of_a_group() -> None:
    assert THREE.lines(0, 2) == [10, 11, 12, 30]
    assert THREE.ranges(0, 2) == [(10, 12), (30, 30)]
    assert THREE.lines(2, 0) == []


def test_matches_are_the_lines_of_all_groups() -> None:
    assert THREE.matches(2, 10, 1) == [(2, 3), (5, 5)]
    assert THREE.matches(1, 5, 2) == [(10, 12)]
    assert THREE.matches(0, 0, 0) == [(0, 0)]
    assert THREE.matches(0, 1, 2) == []


def test_letters_of_numbers() -> None:
    assert [letters(n) for n in (0, 1, 25, 26, 27, 701, 702)] == ["a", "b", "z", "aa", "ab", "zz", "aaa"]


def test_next_mapped_line() -> None:
    assert [THREE.next_line(1, n) for n in (-1, 2, 3, 5, 7)] == [2, 5, 5, 7, None]
    assert [THREE.next_line(1, n, back=True) for n in (2, 3, 5, 6, 99)] == [None, 2, 2, 5, 7]


def test_ranges_are_put_in_order() -> None:
    assert joined([(5, 6), (1, 2), (3, 3), (9, 8), (-1, 0)]) == [(1, 3), (5, 6)]
    assert of_lines([4, 2, 3, 9]) == ((2, 4), (9, 9))
    empty = LineGroups.of(2, [])
    assert (empty.groups(1, 0), empty.next_line(0, 0)) == ((), None)


def test_overlapping_ranges_as_a_slow_search_finds_them() -> None:
    seed = random.Random(7)
    groups = []
    for _ in range(40):
        first = seed.randrange(60)
        groups.append(Group((((first, first + seed.randrange(9)),), tuple((n, n) for n in seed.sample(range(60), 3)))))
    made = LineGroups.of(2, groups)
    for pane in range(2):
        for line in range(72):
            slow = [n for n, group in enumerate(groups) if any(a <= line <= b for a, b in group.ranges[pane])]
            assert list(made.groups(pane, line)) == slow


def test_large_ones_answer_right() -> None:
    """10,000 lines and 2,000 kernels with 40 lines of code each, five nodes a kernel."""
    groups = [Group(((), ((n, n),), ((n // 5 * 40, n // 5 * 40 + 39),))) for n in range(10_000)]
    made = LineGroups.of(3, groups)
    for n in range(0, 10_000, 10):
        assert made.matches(1, n, 2) == [(n // 5 * 40, n // 5 * 40 + 39)]
