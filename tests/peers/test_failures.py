"""Every row of tlparse's page "failures and restarts" is in the view `problems`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from real import opened
from tlparse_pages import LOGS, label, page

from tltui.model.ref import parse_ref
from tltui.questions.build import build
from tltui.questions.problems.compile_problems import from_restart
from tltui.questions.problems.problem_list import Problems, problems
from tltui.text.document import Options

_ROW = re.compile(r"<tr> <td>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)


@dataclass(frozen=True)
class Row:
    compile: str
    """As tlparse prints the id, with the attempt: `0/0_1`."""
    type: str
    text: str
    place: str


def rows_of(html: str) -> list[Row]:
    found = []
    for row in _ROW.findall(html):
        cells = [re.sub(r"</?(?:pre|a)[^>]*>", "", cell).strip() for cell in _CELL.findall(f"<td>{row}")]
        name, kind, text, place = cells
        if kind != "RestartAnalysis":  # tlparse does not escape the reasons of restarts
            kind, text, place = unescape(kind), unescape(text), unescape(place)
        found.append(Row(unescape(name).strip("[]"), kind, text, place))
    return found


@cache
def found_in(path: Path) -> Problems:
    return problems(list(opened(path).compiles()))


def same_compile(ref: str, row: Row) -> bool:
    """Attempts are not told apart: the metrics carry the number of the last one."""
    ours, theirs = parse_ref(ref.partition("~")[0]).id, parse_ref(row.compile).id
    return ours == theirs


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def failure_is_in(found: Problems, row: Row) -> bool:
    for group in (*found.errors, *found.limits, *found.eager):
        failure = group.failure
        if failure is None:
            continue
        frames = (failure, failure.innermost_frame) if failure.innermost_frame is not None else (failure,)
        places = {f"{frame.file}:{frame.line}" for frame in frames} | {"N/A:0"}  # tlparse knows the innermost one of metrics only
        same = failure.type == row.type and squeezed(failure.reason) == squeezed(row.text) and row.place in places
        if same and any(same_compile(item.ref, row) for item in group.occurrences):
            return True
    return False


def restart_is_in(found: Problems, row: Row) -> bool:
    said = from_restart(row.text)
    for group in found.breaks:
        wordings = (group.graph_break, *group.variants)
        same = any(
            (one.headline, one.gb, one.explanation, one.hints, one.context)
            == (said.headline, said.gb, said.explanation, said.hints, said.context)
            for one in wordings
        )
        if same and any(same_compile(item.ref, row) for item in group.occurrences):
            return True
    return any(
        group.reason == row.text and any(same_compile(item.ref, row) for item in group.occurrences) for group in found.restarts
    )


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_every_row_is_in_the_result(path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for row in rows_of(page(path, "failures_and_restarts.html", tmp_path_factory)):
        check = restart_is_in if row.type == "RestartAnalysis" else failure_is_in
        assert check(found_in(path), row), row


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_every_word_of_a_row_is_on_the_page(path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for row in rows_of(page(path, "failures_and_restarts.html", tmp_path_factory)):
        ref = str(parse_ref(row.compile.partition("_")[0]))
        document = build(opened(path), f"@problems:{ref}", Options(width=4000))
        while not document.advance():
            pass
        text = squeezed("".join(document.text()))
        if row.type != "RestartAnalysis":
            assert row.type in text
        said = from_restart(row.text) if "Explanation:" in row.text else None
        parts = [said.headline, said.explanation, *said.hints] if said else row.text.split("\n")
        for part in parts:
            named = re.fullmatch(r"<class '(?:\w+\.)*(\w+)'>", part)  # of some restarts the class is all that torch gives as reason
            # a string of an older torch comes with its quotes
            assert (named[1] if named else squeezed(part).strip("'")) in text, part


def test_rows_were_compared(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = [row for path in LOGS for row in rows_of(page(path, "failures_and_restarts.html", tmp_path_factory))]
    assert len(found) > 15
    assert {"RestartAnalysis", "Unsupported", "BackendCompilerFailed"} <= {row.type for row in found}
