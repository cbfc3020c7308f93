"""What tlparse writes a file for is in a report, as often and under the same name, where there is room for all of it."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from io import BytesIO
from pathlib import Path

import pytest
from real import opened
from tlparse_pages import TRACES, names_of

from tltui.export.report_book import Book
from tltui.text.document import Options

LOGS = (TRACES / "tlparse" / "simple.log", *sorted((TRACES / "torch-2.13" / "train").glob("*.log"))[:1])
_NUMBER = re.compile(r"_\d+\.\w+$")
_KEY = re.compile(r"(?<=^inductor_output_code)_.*")


@pytest.mark.parametrize("path", LOGS, ids=[path.parent.name for path in LOGS])
def test_every_file_of_tlparse_is_in_the_report(path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    theirs = Counter(_KEY.sub("", _NUMBER.sub("", name)) for name in names_of(path, tmp_path_factory) if "_readable" not in name)
    file = BytesIO()
    Book(opened(path), 50_000_000, "PATH", Options(width=100)).write(file)
    summaries = re.findall(r"<details class=rep-artifact><summary>([^<]*)", file.getvalue().decode())
    ours = Counter(re.split(r" [#·]", unescape(summary))[0].strip() for summary in summaries)
    assert sum(theirs.values()) >= 10
    assert {name: ours[name] for name in theirs} == theirs
