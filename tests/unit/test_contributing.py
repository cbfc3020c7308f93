"""The worked examples of CONTRIBUTING.md work: each file, change and command as it stands there, in a copy of the tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from real import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = ("An artifact kind: one line in a table", "A page: one function, one page, one line in a table",
            "A form of input: a folder, and one line in a table")  # fmt: skip


@dataclass
class Block:
    language: str
    text: str


def blocks(heading: str) -> list[Block]:
    """Those below a heading, in their order."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [Block(*found) for found in re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy in which things can be changed."""
    for name in ("src", "docs/schema", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)  # with what Python made of it: nothing is compiled anew
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "traces").mkdir()
    for name in ("pyproject.toml", "tests/conftest.py", "tests/durations.py", "tests/real.py", "tests/make_trace.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def apply(change: str, tree: Path) -> None:
    """A change: what was there is there once, and what is to be takes its place."""
    name, *lines = change.splitlines()
    path = tree / name.removeprefix("--- ")
    text = path.read_text(encoding="utf-8")
    for hunk in "\n".join(lines).split("\n@@\n"):
        old = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if not line.startswith("+"))
        new = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if not line.startswith("-"))
        assert text.count(old) == 1, f"{name}: this is not there once:\n{old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def write(text: str, tree: Path) -> Path:
    """A new file; its first line says where it goes."""
    name, _, text = text.partition("\n")
    path = tree / name.removeprefix("# ")
    assert not path.exists() and path.suffix == ".py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Command, and what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def run(command: str, tree: Path) -> str:
    program, *words = shlex.split(command)
    begin = {"tltui": ["-m", "tltui"], ".venv/bin/python": []}[program]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "TLTUI", "COV"))}
    environment |= {"PYTHONPATH": str(tree / "src"), "COLUMNS": "80"}
    done = subprocess.run([sys.executable, *begin, *words], capture_output=True, text=True, cwd=tree, env=environment, timeout=120,
                          check=False)  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("heading", EXAMPLES, ids=("kind", "page", "input"))
def test_a_worked_example_works(heading: str, tree: Path) -> None:
    done = 0
    for block in blocks(heading):
        if block.language == "diff":
            apply(block.text, tree)
        elif block.language == "python":
            write(block.text, tree)
        else:
            for command, printed in commands(block.text):
                said = run(command, tree)
                assert said.strip() if not printed else said == printed, command
                done += 1
    assert done


def test_the_checks_pass_on_what_is_shown(tree: Path) -> None:
    """ruff as everywhere else."""
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    shown = []
    for block in (block for heading in EXAMPLES for block in blocks(heading) if block.language == "python"):
        shown.append(write(block.text, tree))
    done = subprocess.run([ruff, "check", "--no-cache", *map(str, shown)], capture_output=True, text=True, cwd=tree, timeout=120,
                          check=False)  # fmt: skip
    assert done.returncode == 0 and len(shown) >= 7, done.stdout


def test_each_file_that_it_names_is_there() -> None:
    shown = {name.removeprefix("# ") for name in re.findall(r"^# \S+\.py$", TEXT, re.MULTILINE)}
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    named = re.findall(r"`((?:inputs|model|tools|tests|text|docs|cli|trace|export|analyses|documents)/[\w./]*)`", TEXT)
    for name in {*links, *named} - shown:
        assert (ROOT / name).exists() or (ROOT / "src" / "tltui" / name).exists(), name
