"""The examples of the Python API give what they say, and what is made from its code is up to date."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from real import ROOT

import tltui
import tltui.api
from tltui.questions.index import BY_NAME

MODULES = ["tltui", *sorted(module.name for module in pkgutil.walk_packages(tltui.api.__path__, "tltui.api."))]


def tool() -> ModuleType:
    """The script, which is in no package."""
    spec = spec_from_file_location("make_api", ROOT / "tools" / "make_api.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_gives_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python tools/make_api.py --outputs` writes anew what its lines give."""
    monkeypatch.chdir(ROOT)
    made = tool()
    text = made.without_fences(made.PAGE.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/api.md", "docs/api.md", 0)
    said: list[str] = []
    done = doctest.DocTestRunner().run(test, out=said.append)
    assert done.attempted > 40 and not done.failed, "".join(said)


def test_each_block_of_the_page_is_run() -> None:
    """Nothing stands between fences that no test looks at."""
    made = tool()
    blocks = made.PAGE.read_text(encoding="utf-8").split("```")[1::2]
    assert all(block.startswith("python\n>>> ") for block in blocks) and len(blocks) > 10


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_give_what_they_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said: list[str] = []
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    assert runner.tries or name not in ("tltui", "tltui.api.runs", "tltui.api.commands")


def test_docstrings_of_questions_give_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said: list[str] = []
    runner = doctest.DocTestRunner()
    for name in BY_NAME:
        for test in doctest.DocTestFinder(exclude_empty=True).find(getattr(tltui, name), name):
            runner.run(test, out=said.append)
    assert runner.tries > 6 and not runner.failures, "".join(said)


def test_what_is_made_is_up_to_date() -> None:
    for path, text in tool().generated().items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is out of date: run python tools/renew.py"


def test_the_stub_names_what_the_package_has() -> None:
    stub = (ROOT / "src" / "tltui" / "__init__.pyi").read_text(encoding="utf-8")
    named = set(re.findall(r"^from tltui\.api import (\w+) as|^def (\w+)\(", stub, re.MULTILINE))
    assert {one or other for one, other in named} | {"__version__"} == set(tltui.__all__)
    assert set(tltui.__all__) - {"__version__"} == set(tltui.api.__all__)
    assert all(getattr(tltui, name) is getattr(tltui.api, name) for name in tltui.api.__all__)
