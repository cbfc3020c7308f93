"""A scripted client: from the first answer to the line and the fix of a planted cause, in at most five calls.

The causes are those of tests/live/programs/remedies.py, one function each, whose remedies a live test proves with torch.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from real import TRACES
from test_recompile_remedies import cases, frames

import tltui
from tltui.api.agent_answers import Answers

MOST_CALLS = 5
PLANTED = {name: remedy for name, remedy in cases().items() if remedy}


@pytest.fixture(scope="module")
def about() -> Answers:
    return Answers(tltui.open(TRACES / "torch-2.13" / "remedies"))


class Client:
    """Asks and counts its calls. Of the summary it reads the first part, of other answers all, or up to the first fix."""

    def __init__(self, about: Answers) -> None:
        self.about = about
        self.calls = 0

    def ask(self, tool: str, *words: Any) -> list[str]:
        lines: list[str] = []
        for page in range(1, MOST_CALLS + 1):
            self.calls += 1
            text = getattr(self.about, tool)(*words, page=page)
            lines += [line.removeprefix("> ") for line in text.split("\n")[1:] if line.startswith("> ")]
            if tool == "summary" or "continue with" not in text or any(line.startswith("{") for line in lines):
                break
        return lines


@pytest.mark.parametrize(("function", "remedy"), PLANTED.items())
def test_a_client_gets_from_the_summary_to_the_fix(function: str, remedy: str, about: Answers) -> None:
    client = Client(about)
    assert any("recompilations" in line for line in client.ask("summary"))
    fixes = [json.loads(line) for line in client.ask("recompile", function) if line.startswith("{")]
    frame = frames()[function]
    planted = next(variation for variation in frame.variations if variation.remedy == remedy)
    fix = next(fix for fix in fixes if planted.advice.startswith(fix["remedy"].rstrip("…")))
    assert (fix["file"], fix["line"], fix["code"]) == (frame.file, frame.line, [*planted.code])
    assert client.calls <= MOST_CALLS


@pytest.mark.parametrize(("name", "place", "step"), [
    ("breaks", "breaks.py:11", "Remove the `torch._dynamo.graph_break()` call"),
    ("errors", "errors.py:5", "Avoid calling builtin `print`"),
])  # fmt: skip
def test_a_client_gets_from_the_findings_to_the_line(name: str, place: str, step: str) -> None:
    client = Client(Answers(tltui.open(TRACES / "torch-2.13" / name)))
    listed = client.ask("findings")
    number = next(line.partition(".")[0] for line in listed if place in line)
    said = client.ask("finding", int(number))
    assert any(step in line for line in said)
    assert client.calls <= MOST_CALLS
