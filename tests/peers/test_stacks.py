"""The view `stacks` nests as tlparse's stack trie does."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from real import fresh, opened
from tlparse_pages import LOGS, label, page

from tltui.documents.scope import scope_of
from tltui.questions.stacks import stack_tree
from tltui.questions.stacks.stack_tree import TrieNode, simplified, stacks
from tltui.text.steps import run_steps

_BLOCK = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
WITHOUT_FUNCTIONS = re.compile(r"/torch-2\.4|/(?:artifacts|comp_metrics)\.log$")
"""Logs of torch 2.4 and before, whose stacks end in Dynamo: tlparse shows them so, here the compiled function is put behind its
caller, and its own frames are left out."""
Line = tuple[int, str]


class Lists(HTMLParser):
    """(depth of its list, text) of every `<li>`, without what is in the lists below it."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = -1
        self.items: list[list[str]] = []
        self.found: list[tuple[int, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "ul":
            self.depth += 1
        elif tag == "li":
            self.items.append([])
            self.found.append((self.depth, self.items[-1]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "ul":
            self.depth -= 1
        elif tag == "li":
            self.items.pop()

    def handle_data(self, data: str) -> None:
        if self.items:
            self.items[-1].append(data)


def theirs(html: str) -> list[list[Line]]:
    """Of each stack trie on the page: (depth, ids, place, function and source line as one text)."""
    tries = []
    for _, block in _BLOCK.findall(html):
        parser = Lists()
        parser.feed(block)
        tries.append([(depth, plain("".join(parts))) for depth, parts in parser.found])
    return tries


def plain(text: str) -> str:
    return " ".join(text.replace("\xa0", " ").split())


def ours(nodes: tuple[TrieNode, ...]) -> list[Line]:
    found = []
    for node in nodes:
        ids = [re.sub(r"~\d+", "", item.id) for item in node.compiles]  # tlparse knows no epochs
        ids += ["(unknown)"] * node.record_count
        frame = node.frame
        code = frame.code or ""
        if frame.file.startswith("<eval_with_key>"):
            code = ""  # tlparse links these to the source instead
        found.append((node.indent, plain(f"{' '.join(ids)} {simplified(frame.file)}:{frame.line} in {frame.name} {code}")))
    return found


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_the_same_nesting(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = theirs(page(path, "index.html", tmp_path_factory))
    old = WITHOUT_FUNCTIONS.search(str(path)) is not None
    if old:
        monkeypatch.setattr(stack_tree, "full_stack", lambda compile_, stack: stack)
    scope = scope_of(fresh(path) if old else opened(path))
    found = run_steps(stacks(scope.processes, scope.compiles))
    expected = [one for one in there if one]
    assert [one for one in (ours(found.without_compile), ours(found.nodes)) if one] == expected or [
        one for one in (ours(found.nodes), ours(found.without_compile)) if one
    ] == expected


def test_tries_were_compared(tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = [line for path in LOGS for one in theirs(page(path, "index.html", tmp_path_factory)) for line in one]
    assert len(lines) > 200
    assert max(depth for depth, _ in lines) >= 2
    assert any("(unknown)" in text for _, text in lines)
