"""The command line starts without the libraries of the terminal UI: they cost more time than a listing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TRACE = Path(__file__).resolve().parents[1] / "traces" / "torch-2.13" / "breaks"
UI = "sorted({name.split('.')[0] for name in sys.modules} & {'textual', 'rich'})"


def imported(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_importing_the_command_line() -> None:
    assert imported(f"import sys, tltui.cli; print({UI})") == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["ls"], ["ls", "--json", "--check"], ["show"], ["show", "REF"], ["records", "REF"], ["damage"], ["--help"], []],
    ids=" ".join,
)
def test_running_a_command(arguments: list[str]) -> None:
    given = [*arguments[:1], str(TRACE), *("0/0" if text == "REF" else text for text in arguments[1:])]
    given = arguments if arguments == ["--help"] else given
    program = f"""
import sys, tltui.cli
try:
    assert tltui.cli.main({given!r}) == 0
except SystemExit as end:
    assert end.code == 0
print()
print({UI})
"""
    assert imported(program) == "[]"
