"""The manual page is that of the parsers, and `man` prints it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from real import ROOT

from tltui.cli.registry import COMMANDS

PAGE = ROOT / "docs" / "man" / "tltui.1"


def test_the_page_is_ascii_and_has_no_line_that_roff_would_take_for_an_order() -> None:
    lines = PAGE.read_text("ascii").splitlines()
    orders = {line.split(" ")[0] for line in lines if line.startswith((".", "'"))}
    assert orders == {".TH", ".SH", ".SS", ".TP", ".PP", ".br", ".nf", ".fi", ".RS", ".RE"}


def test_man_prints_every_command() -> None:
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    order = ["man", "--warnings", "-P", "cat", "-l", str(PAGE)]
    done = subprocess.run(order, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        pytest.skip(f"man prints nothing here: {done.stderr.strip()[:100]}")
    assert done.stderr == ""
    said = re.sub(r".\x08|\x1b\[[\d;]*m", "", done.stdout)
    assert set(COMMANDS) <= set(re.findall(r"^   (\S+)$", said, re.MULTILINE))
    assert "--perfetto FILE" in said
    assert "tltui show /tmp/tracedir 0/1:inductor_output_code" in said


def test_the_page_has_no_warnings() -> None:
    program = shutil.which("mandoc") or shutil.which("groff")
    if program is None:
        pytest.skip("neither mandoc nor groff is installed")
    order = [program, "-Tlint", "-Wwarning"] if program.endswith("mandoc") else [program, "-man", "-ww", "-z", "-Tutf8"]
    done = subprocess.run([*order, str(PAGE)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
