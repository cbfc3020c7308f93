"""Where the lines of a page are after it was made again."""

from __future__ import annotations

import pytest

from tltui.text.document import Builder, TextDocument
from tltui.text.line_correspondence import Renewed


def page(text: str) -> TextDocument:
    """A page: `# title` begins a section, `> title` one that is closed at first, `[0/1]` is a link, `name@…` an anchor."""
    builder = Builder("", "")
    for line in text.strip("\n").split("\n"):
        name, at, rest = line.rpartition("@")
        if line.startswith("# "):
            builder.heading(line[2:])
        elif line.startswith("> "):
            builder.heading(line[2:], folded=True)
        elif "[" in line:
            before, _, link = line.partition("[")
            target, _, after = link.partition("]")
            builder.add(before, (f"[{target}]", "link", target), after)
        else:
            builder.add(rest, anchor=name if at else None)
    return builder.document()


def becomes(old: str, new: str, line: str) -> str:
    """What the line with this text has become."""
    before, after = page(old), page(new)
    at = next(n for n in range(len(before)) if before.lines[n].text.strip() == line)
    return after.lines[Renewed(before, after).line(at)].text.strip()


@pytest.mark.parametrize(
    ("old", "new", "line", "now"),
    [
        ("a\nb\nc", "x\na\nb\nc", "b", "b"),  # inserted above
        ("a\nx\nb\nc", "a\nb\nc", "c", "c"),  # removed above
        ("run\n4 compiles\nend", "run\n5 compiles\n1 failed\nend", "4 compiles", "5 compiles"),  # another number
        ("1 s  [0/0] f\n2 s  [0/1] f", "9 s  [0/1] f\n1 s  [0/0] f", "2 s  [0/1] f", "9 s  [0/1] f"),  # in another order
        ("f [0/0] running\nf [0/1] running", "f [0/0] 3 s\nf [0/1] ok, 4 s", "f [0/1] running", "f [0/1] ok, 4 s"),
        ("run\n1 compile\nend", "run\nsince 11:01\n2 compiles, 1 failed\nend", "1 compile", "2 compiles, 1 failed"),
        ("a\nhere@one\nb", "a\nx\ny\nhere@two\nb", "one", "two"),
        ("a\nsame\nb\nsame\nc", "new\na\nsame\nb\nsame\nc\nsame", "c", "c"),
        # each in its own section, and the one above it now says the same
        ("# A\n  one\n  2 s\n# B\n  (none)", "# A\n  (none)\n# B\n  1 s", "2 s", "(none)"),
        ("# A\n  x\n  5 s\n# B\n  x\n  5 s", "# A\n  x\n  y\n  6 s\n# B\n  x\n  7 s", "5 s", "6 s"),
        ("1 running\n# Running\n  r\n# B\n  y", "1 break\n# B\n  y", "Running", "B"),
        ("# Breaks (1)\n  at model.py\n# E", "# Breaks (3 at 2 places)\n  more\n  at model.py\n# E", "at model.py", "at model.py"),
        # what went away: what stands in its place, a heading rather than the empty line before it
        ("a\ngone\nb", "a\nb", "gone", "b"),
        ("# A\n  x\n# Running\n  gone\n# B\n  y", "# A\n  x\n# B\n  y", "gone", "B"),
        ("a\nb\ngone", "a\nb", "gone", "b"),
    ],
)
def test_a_line_is_found_again(old: str, new: str, line: str, now: str) -> None:
    assert becomes(old, new, line) == now


def test_sections_stay_open_and_closed_as_they_were() -> None:
    old = page("# Errors (1)\n  x\n> More (3)\n  y\n# Breaks (2)\n  z\n# Times\n  t")
    new = page("top\n# Errors (2)\n  x\n  xx\n# Running (1)\n  r\n> More (4)\n  y\n# Breaks (2)\n  z\n> Late\n  l\n# Times\n  t")
    heads = {section.title: section.first for section in old.section_list}
    closed = {heads["Errors (1)"], heads["Breaks (2)"]}  # and the one that was closed at first was opened
    found = Renewed(old, new).folded(old.section_list, closed, new.section_list)
    titles = {section.title for section in new.section_list if section.first in found}
    assert titles == {"Errors (2)", "Breaks (2)", "Late"}


def test_every_line_of_a_page_that_only_grew_at_its_end_is_kept() -> None:
    old, new = page("a\nb\n\nb\nc"), page("a\nb\n\nb\nc\nb\nc")
    renewed = Renewed(old, new)
    assert [renewed.counterpart(n) for n in range(5)] == [0, 1, 2, 3, 4]
    assert [renewed.was(n) for n in range(7)] == [0, 1, 2, 3, 4, None, None]


def test_empty_pages() -> None:
    empty, full = TextDocument("", ""), page("a")
    assert Renewed(empty, full).line(0) == 0
    assert Renewed(full, empty).line(0) == 0
