"""What docs/ci.md has to copy, tried as a script: each step's command, in a clean directory, by bash, on real traces."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import real

PAGE = (real.ROOT / "docs" / "ci.md").read_text()
BREAKS, TRAINING = real.TRACES / "torch-2.13" / "breaks", real.TRACES / "torch-2.13" / "train"
INSTALLS, RECORDS = "pip install torch ./wheels/tltui-*.whl", "tltui run -o trace -- python train.py"


def block(heading: str) -> str:
    """The first block of code below a heading."""
    found = re.search(rf"^#+ {re.escape(heading)}\n.*?^```\w*\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, heading
    return found[1]


def steps(heading: str) -> list[str]:
    """The commands of a block, a step each."""
    text = block(heading)
    if heading == "GitHub Actions":
        return re.findall(r"^ +- run: (.*)$", text, re.MULTILINE)
    if heading == "GitLab":
        script = re.search(r"^  script:\n((?:    - .*\n)+)", text, re.MULTILINE)
        assert script is not None
        return [line.strip().removeprefix("- ") for line in script[1].splitlines()]
    return text.splitlines()


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """A directory with nothing in it, and beside it the one command that was installed."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "tltui").write_text(f'#!/bin/sh\nPYTHONPATH="{real.ROOT / "src"}" exec "{sys.executable}" -m tltui "$@"\n')
    (commands / "tltui").chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return home


def run(home: Path, command: str, trace: Path) -> subprocess.CompletedProcess[str]:
    """A step: as GitHub and GitLab run it, by bash that stops at the first failure. What installs is left out; for the job that is
    run stands the trace that it would leave."""
    if command == INSTALLS:
        command = "true"
    if command == RECORDS:
        shutil.copytree(trace, home / "trace")
        command = "true"
    path = os.pathsep.join((str(home.parent / "bin"), "/usr/bin", "/bin"))
    environment = {"PATH": path, "HOME": str(home), "GITHUB_WORKSPACE": "/home/user",
                   "GITHUB_STEP_SUMMARY": str(home / "summary.md"), "LC_ALL": "C.UTF-8"}  # fmt: skip
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
    return subprocess.run(words, cwd=home, env=environment, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("trace", "code"), [(BREAKS, 1), (TRAINING, 0)])
@pytest.mark.parametrize("heading", ["GitHub Actions", "GitLab", "Jenkins, and others"])
def test_each_snippet_fails_and_passes_as_it_should(heading: str, trace: Path, code: int, clean: Path) -> None:
    commands = steps(heading)
    assert RECORDS in commands and len(commands) == (2 if heading == "Jenkins, and others" else 3)
    done = [run(clean, command, trace) for command in commands]
    assert [step.returncode for step in done] == [0] * (len(done) - 1) + [code], [step.stderr for step in done]
    assert all(step.stderr == "" or step.stderr.startswith("wrote tltui.xml") for step in done)
    if heading == "GitHub Actions":
        assert ("::error file=models/breaks.py,line=11," in done[-1].stdout) is bool(code)
        assert (clean / "summary.md").read_text().startswith(f"### tltui check {'FAILED' if code else 'passed'}")
    else:
        (suite,) = ElementTree.parse(clean / "tltui.xml").getroot()
        assert suite.attrib["failures"] == str(code)


def test_what_is_recorded_is_what_is_kept() -> None:
    """The names of files that the steps write are those that the servers are told of."""
    assert "path: trace\n" in block("GitHub Actions")
    assert "paths: [trace, tltui.xml]" in block("GitLab") and "junit: tltui.xml" in block("GitLab")


def test_against_a_baseline(clean: Path) -> None:
    shutil.copytree(TRAINING, clean / "main-trace")
    shutil.copytree(BREAKS, clean / "trace")
    (command,) = steps("Against a baseline")
    done = run(clean, command, BREAKS)
    assert done.returncode == 1
    assert "new  gb0059 Failed to trace builtin operator" in done.stdout
