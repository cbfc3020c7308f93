"""Files that pack the contents of a run are for their owner only, whatever the umask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from real import TRACES

from tltui.cli import main

SOURCE = str(TRACES / "torch-2.13" / "breaks")


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("redact", [[], ["--redact"]], ids=["as it is", "redacted"])
@pytest.mark.parametrize(("command", "name"), [
    ("bundle", "x.log"), ("case", "x.zip"), ("index", "x.tlx"), ("report", "x.html"),
])  # fmt: skip
def test_what_packs_a_run_is_private(command: str, name: str, redact: list[str], tmp_path: Path) -> None:
    target = tmp_path / name
    assert main([command, SOURCE, "-o", str(target), *redact]) == 0
    assert target.stat().st_mode & 0o777 == 0o600
    if command == "index" and redact:  # it is written once: its hosts have substitutes that change
        return
    target.chmod(0o644)
    again = [] if command == "index" else ["--force"]
    assert main([command, SOURCE, "-o", str(target), *redact, *again]) == 0
    assert target.stat().st_mode & 0o777 == 0o600, "also in place of one that others could read"
    assert os.listdir(tmp_path) == [name]
