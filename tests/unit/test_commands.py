"""One registry: the table of docs/keys.md, the bindings and the methods must agree with it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tltui.commands import BY_ID, COMMANDS, Where, commands_of

ROOT = Path(__file__).parents[2]
# keys that tmux, screen or the terminal itself takes: allowed only beside another key
TAKEN = {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "ctrl+i", "ctrl+m", "ctrl+left_square_bracket"}


def test_the_table_of_keys_is_todays() -> None:
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "tools" / "make_tables.py")
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    keys = ROOT / "docs" / "keys.md"
    text = keys.read_text("utf-8")
    assert "go to the next compile that failed" in text.lower()
    assert tool.generated()[keys] == text, "run python tools/renew.py"


def test_ids_are_unique_and_keys_are_clear() -> None:
    assert len(BY_ID) == len(COMMANDS)
    for where in (Where.TREE, Where.DOCUMENT):
        keys = [key for command in (*commands_of(Where.EVERYWHERE), *commands_of(where)) for key in command.keys]
        assert len(keys) == len(set(keys)), sorted(key for key in keys if keys.count(key) > 1)


def test_nothing_has_only_a_key_that_others_take() -> None:
    for command in COMMANDS:
        assert not command.keys or set(command.keys) - TAKEN, command.id


def test_every_command_has_its_method() -> None:
    from tltui.screens.browser import Browser
    from tltui.screens.compare import CompareScreen
    from tltui.screens.provenance import ProvenanceScreen
    from tltui.screens.run_list import RunListScreen
    from tltui.widgets.document_view import DocumentView
    from tltui.widgets.trace_tree import TraceTree

    owners = {
        Where.EVERYWHERE: Browser, Where.TREE: TraceTree, Where.DOCUMENT: DocumentView, Where.PROVENANCE: ProvenanceScreen,
        Where.COMPARE: CompareScreen, Where.LIST: RunListScreen,
    }  # fmt: skip
    for command in COMMANDS:
        method = command.action.partition("(")[0]
        assert callable(getattr(owners[command.where], f"action_{method}", None)), command.id
        assert command.title and command.help.endswith("."), command.id
