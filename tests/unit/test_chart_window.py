"""The part of the time that charts show: zooming, moving, the axis of a part, bars and compiles in it."""

from __future__ import annotations

import random
import re

import pytest
from real import DEMO, trace

from tltui.documents.format import axis, ends, part_of_axis
from tltui.model.follow import open_run
from tltui.questions.build import build
from tltui.questions.ranks.rank_chart import ChartBar
from tltui.questions.ranks.rank_chart_sections import FURTHER, LETTERS, cells_of, letters_of, letters_of_part
from tltui.screens.main_screen import SHORTEST, WHOLE, moved, zoomed
from tltui.sources.discover import discover
from tltui.text.document import Document, Options, TextDocument


def _whole(document: Document) -> list[str]:
    while not document.advance():
        pass
    return list(document.text())


def flame(window: tuple[float, float], width: int = 120) -> list[str]:
    lines = _whole(build(trace("torch-2.13/breaks"), "@timing:0/0", Options(width=width, window=window)))
    start = next(number for number, line in enumerate(lines) if line.startswith("Flame"))
    return lines[start : lines.index("", start)]


def test_zooming_and_moving_stay_in_the_time() -> None:
    chosen = random.Random(7)
    for _ in range(300):
        window = WHOLE
        for _ in range(30):
            act = chosen.randrange(4)
            window = zoomed(window, act == 0) if act < 2 else moved(window, act == 2)
            low, high = window
            assert 0.0 <= low < high <= 1.0 and high - low >= SHORTEST * 0.999
    assert zoomed(WHOLE, inward=True) == (0.25, 0.75) and zoomed((0.25, 0.75), inward=False) == WHOLE
    assert moved((0.25, 0.75), later=True) == (0.5, 1.0) and moved((0.5, 1.0), later=True) == (0.5, 1.0)
    assert moved(WHOLE, later=False) == WHOLE == zoomed(WHOLE, inward=False)


@pytest.mark.parametrize("width", [12, 30, 60, 100])
def test_the_axis_of_a_part_has_its_ends_and_round_numbers_at_their_places(width: int) -> None:
    assert part_of_axis(0.0, 17.8, width) == axis(17.8, width)
    line = part_of_axis(11.1, 15.5, width)
    assert len(line) == max(width, len("11.1 s") + len("15.5 s")) and line.startswith("11.1 s") and line.endswith("15.5 s")
    for second in (12, 13, 14):
        at = line.find(f" {second} s")
        assert at < 0 or at + 1 == int(width * (second - 11.1) / 4.4)
    assert width < 60 or " 13 s" in line


@pytest.mark.parametrize("total", [0.5, 17.8, 95.5, 700.0, 5000.0, 90000.0])
def test_labels_of_the_axis_differ_however_short_the_part_is(total: float) -> None:
    chosen, window = random.Random(5), WHOLE
    for _ in range(14):
        begin, end = (share * total for share in window)
        labels = [label.strip() for label in part_of_axis(begin, end, 100).split("  ") if label.strip()]
        assert len(set(labels)) == len(labels) >= 3, labels
        assert not begin or (labels[0], labels[-1]) == ends(begin, end)
        window = moved(zoomed(window, inward=True), later=chosen.random() < 0.5)


def test_few_digits_suffice() -> None:
    assert ends(4.08, 4.82) == ("4.08 s", "4.82 s") and ends(300.0, 310.0) == ("5 min 00 s", "5 min 10 s")
    assert ends(30.0012, 30.0052) == ("30.0012 s", "30.0052 s")
    assert " 302 s " in part_of_axis(300.0, 310.0, 80) and " 31.5 min " in part_of_axis(1850.0, 2000.0, 80)
    assert " 15 min " in axis(3700.0, 80) and " 1 h " in axis(5000.0, 80)


def test_a_part_keeps_the_letters_of_the_whole_chart() -> None:
    whole = [number for number in range(20) for _ in range(20 - number)]
    letters, part = letters_of(whole), letters_of_part(whole, 40)
    assert all(part[number] == letter for number, letter in letters.items() if letter in LETTERS)
    assert [part[number] for number in range(11, 26)] == list(FURTHER) and {part[number] for number in range(26, 40)} == {"·"}
    run = open_run(discover([str(DEMO)]))
    names: dict[str, set[str]] = {}
    for window in (WHOLE, (0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0), (0.9, 0.925)):
        lines = _whole(build(run, "@timing", Options(width=100, window=window)))
        for line in lines[lines.index("Ranks over time") :]:
            for letter, name in re.findall(r"(?:^| )([a-z]) = (\S+(?: ↩\d+)?)", line):
                names.setdefault(letter, set()).add(name)
    assert len(names) >= 8 and all(len(each) == 1 for each in names.values()), names


def test_a_part_of_a_flame_has_the_events_in_it_at_their_places() -> None:
    all_lines, part = flame(WHOLE), flame((0.6875, 0.8125))
    assert all_lines[0] == part[0] == "Flame graph: 5.93 s"
    assert part[1].split() == ["4.08", "s", "4.2", "s", "4.4", "s", "4.6", "s", "4.82", "s"]
    assert "before and after: 46 events" in part[-1] and "before and after" not in "\n".join(all_lines)
    names = {line.split()[0] for line in all_lines}
    rows = [line for line in part[2:-1] if "%" in line]
    assert {row.split()[0] for row in rows} <= names
    assert next(row for row in rows if row.split()[0] == "compile_file").split()[1:4] == ["1.06", "s", "18%"]


def test_the_halves_of_a_flame_have_all_its_events() -> None:
    def events(lines: list[str]) -> int:
        listed = sum("%" in line and "shorter" not in line for line in lines[2:])
        return listed + int(next((line.split()[3].replace(",", "") for line in lines if "before and after" in line), "0"))

    assert events(flame(WHOLE)) == events(flame((0.0, 0.5))) == events(flame((0.5, 1.0))) == events(flame((0.3, 0.31)))


def test_events_too_short_for_the_whole_are_drawn_in_a_part() -> None:
    def cells(lines: list[str]) -> int:
        return next(line for line in lines if line.split()[0] == "bytecode_tracing").count("█")

    assert cells(flame((0.0, 0.01))) > 1 and cells(flame(WHOLE)) == 0


def test_a_part_of_the_chart_of_ranks_has_its_compiles() -> None:
    run = open_run(discover([str(DEMO)]))
    document = build(run, "@timing", Options(width=100, window=(0.625, 0.875)))
    lines = _whole(document)
    assert isinstance(document, TextDocument) and [round(each, 1) for each in document.chart_seconds] == [17.8]
    rows = [line.split()[2] for line in lines if line.startswith(("  rank 0", "  rank 1")) and "aaa" in line]
    assert [row[0] for row in rows] == ["a", "a"] and all(letter in rows[0] for letter in "de")
    assert any("d = attention" in line for line in lines)


def test_cells_of_a_part_are_those_of_the_whole_magnified() -> None:
    chosen = random.Random(3)
    at, bars = 0.0, []
    for number in range(40):
        at += chosen.random()
        end = at + chosen.random()
        bars.append(ChartBar(number, False, str(number), at, end, False))
        at = end
    every = cells_of(bars, 0.0, 64.0, 256)
    part = cells_of([bar for bar in bars if bar.start_s < 32.0 and bar.end_s >= 16.0], 16.0, 32.0, 64)
    assert part == every[64:128]
