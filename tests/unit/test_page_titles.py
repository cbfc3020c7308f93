"""A page has one name: its title, its command, its label in the list of keys, and the view in its JSON."""

from __future__ import annotations

import json

import pytest
from pages import complete
from real import opened

from tltui import cli
from tltui.commands import BY_ID
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.text import tokens
from tltui.text.document import Options

NAMES = [question.name for question in QUESTIONS]


@pytest.mark.parametrize("name", NAMES)
def test_title_and_heading_are_the_command(name: str) -> None:
    document = complete(build(opened("src/tltui/demo"), f"@{name}", Options()))
    if name == "summary":  # the page of the run, with the name of the run
        return
    assert document.title == name
    first = document.line(0)
    heading = [first.text for span in first.spans if span.style == tokens.TITLE]
    assert [text.lower().replace(" ", "") for text in heading] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_the_key_has_the_name_of_the_page(name: str) -> None:
    command = BY_ID[f"app.view_{name}"]
    assert command.title == f"page: {name}" and command.hint in ("", name)


@pytest.mark.parametrize("name", NAMES)
def test_json_has_the_name_of_the_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["view"] == name
