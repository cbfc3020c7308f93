"""The worked examples of CONTRIBUTING.md work: each file, change and command as it stands there, in a copy of the tree."""

from __future__ import annotations

import ast
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
EXAMPLES = ("An artifact kind: one line in a table", "A page: one module", "A column: one line",
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
    for name in ("src", "docs", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)  # with what Python made of it: nothing is compiled anew
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "traces").mkdir()
    (tmp_path / "tests" / "kit").mkdir()
    for name in ("pyproject.toml", "tests/conftest.py", "tests/durations.py", "tests/kit/real.py", "tests/kit/make_trace.py"):
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
    done = subprocess.run([sys.executable, *begin, *words], capture_output=True, text=True, cwd=tree, env=environment, timeout=900,
                          check=False)  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("heading", EXAMPLES, ids=("kind", "page", "column", "input"))
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
                assert said.strip() if not printed else said == printed, f"{command}\n{said}"
                done += 1
    assert done


def carry_out(heading: str, tree: Path) -> None:
    """Make the changes and new files of an example, without its commands."""
    for block in blocks(heading):
        if block.language == "diff":
            apply(block.text, tree)
        elif block.language == "python":
            write(block.text, tree)


def question_tests() -> list[str]:
    """Return the tests of this folder that go through the list of questions, directly or by a function of their module."""
    nodes = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "QUESTIONS" not in text or path.name == Path(__file__).name:
            continue
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        names = {node.name: {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} for node in functions}
        users, before = {"QUESTIONS"}, 0
        while len(users) > before:
            before = len(users)
            users |= {name for name, used in names.items() if used & users}
        nodes += [f"tests/unit/{path.name}::{name}" for name in names if name in users and name.startswith("test_")]
    return nodes


CHEAPEST_OF_EACH = '''
import json

def pytest_collection_modifyitems(items):
    from durations import RECORD, split  # conftest.py has put it on the import path
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    def cost(item):
        file, function, case = split(item.nodeid)
        return recorded.get(file, {}).get(function, {}).get(case, 0)
    items[:] = {item.nodeid.partition("[")[0]: item for item in sorted(items, key=cost, reverse=True)}.values()
'''
"""A plugin of pytest: of a test with many parameters one, the cheapest in the record of durations."""


def test_a_new_page_and_a_new_column_pass_every_test_that_takes_the_list_of_questions(tree: Path) -> None:
    carry_out("A page: one module", tree)
    carry_out("A column: one line", tree)
    run(".venv/bin/python tools/renew.py", tree)
    shutil.rmtree(tree / "tests")
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=shutil.ignore_patterns("traces", "__pycache__", "golden"))
    (tree / "tests" / "traces").symlink_to(ROOT / "tests" / "traces")
    (tree / "cheapest_of_each.py").write_text(CHEAPEST_OF_EACH, encoding="utf-8")
    nodes = [*question_tests(), "tests/unit/test_renew.py", "tests/unit/test_view_timing.py::test_every_trace_at_every_width"]
    assert len(nodes) > 10
    run(f".venv/bin/python -m pytest -p cheapest_of_each -n0 -q {shlex.join(nodes)}", tree)


def test_the_checks_pass_on_what_is_shown(tree: Path) -> None:
    """ruff as everywhere else."""
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    shown = []
    for block in (block for heading in EXAMPLES for block in blocks(heading) if block.language == "python"):
        shown.append(write(block.text, tree))
    done = subprocess.run([ruff, "check", "--no-cache", *map(str, shown)], capture_output=True, text=True, cwd=tree, timeout=900,
                          check=False)  # fmt: skip
    assert done.returncode == 0 and len(shown) == 6, done.stdout


def test_each_file_that_it_names_is_there() -> None:
    shown = {name.removeprefix("# ") for name in re.findall(r"^# \S+\.py$", TEXT, re.MULTILINE)}
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    named = re.findall(r"`((?:inputs|model|tools|tests|text|docs|cli|trace|export|questions|documents)/[\w./]*)`", TEXT)
    for name in {*links, *named} - shown:
        assert (ROOT / name).exists() or (ROOT / "src" / "tltui" / name).exists(), name
