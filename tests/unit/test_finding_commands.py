"""Which commands are offered where, and which of them a word finds."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tltui.commands import (
    _NOT_SIDE_BY_SIDE,
    _REQUIREMENTS,
    BY_ID,
    COMMANDS,
    Command,
    Situation,
    Where,
    commands_for,
    key_labels,
    match_commands,
)

ALL = replace(Situation(), **{field.name: True for field in fields(Situation) if field.name != "where"})
"""Where there is everything."""


def ids(commands: list[Command]) -> list[str]:
    return [command.id for command in commands]


def found(query: str, now: Situation = ALL) -> list[str]:
    return ids(match_commands(query, commands_for(now)))


def test_what_is_asked_for_is_known() -> None:
    assert BY_ID.keys() >= _REQUIREMENTS.keys() | _NOT_SIDE_BY_SIDE


def test_what_does_nothing_here_is_not_offered() -> None:
    bare, everything = set(ids(commands_for(Situation()))), set(ids(commands_for(ALL)))
    assert everything - bare == _REQUIREMENTS.keys() - {"provenance.next_unit", "app.other_down", "app.other_up", "app.zoom"}
    for field, name in (
        ("has_errors", "app.next_error"), ("has_breaks", "app.previous_break"), ("has_recompiles", "app.compare_previous"),
        ("has_ranks", "app.next_rank"), ("has_compile", "app.next_artifact"), ("is_live", "app.follow"),
        ("has_output", "app.output"),
        ("has_orders", "app.sort"), ("has_sections", "document.fold"), ("has_hits", "document.next_hit"), ("has_past", "app.back"),
        ("has_future", "app.forward"), ("shows_graph", "app.compare_previous"),
        ("has_stored_text", "app.raw"),
    ):  # fmt: skip
        assert name not in bare
        assert name in ids(commands_for(replace(Situation(), **{field: True})))  # type: ignore[arg-type]


@pytest.mark.parametrize("where", [Where.TREE, Where.DOCUMENT])
def test_the_other_pane_is_offered_only_where_it_is_in_sight(where: Where) -> None:
    other = {Where.TREE: "document.wrap", Where.DOCUMENT: "tree.by_stacks"}[where]
    here = replace(ALL, where=where)
    assert other in ids(commands_for(here))
    narrow = ids(commands_for(replace(here, shows_both=False)))
    assert other not in narrow and "app.other_pane" in narrow and "app.zoom" not in narrow


@pytest.mark.parametrize("where", list(Where))
def test_the_best_is_first_and_each_is_named_once(where: Where) -> None:
    if where is Where.EVERYWHERE:
        return  # no pane
    offered = commands_for(replace(ALL, where=where))
    titles = [command.title for command in offered]
    assert len(set(titles)) == len(titles)
    assert all(command.hint for command in offered[:5]), "what the line below names"
    assert offered[-1].id.rpartition(".")[2].startswith(("cursor", "page", "half", "other", "top", "bottom", "close", "enter",
                                                         "command", "expand", "collapse"))  # fmt: skip


def test_in_a_mode_its_own_commands_and_those_of_documents() -> None:
    provenance = ids(commands_for(replace(ALL, where=Where.PROVENANCE)))
    assert "provenance.next_unit" in provenance and "document.ask_search" in provenance
    assert not [name for name in provenance if name.startswith(("app.", "tree."))]
    assert "provenance.next_unit" not in ids(commands_for(Situation(where=Where.PROVENANCE)))
    compare = ids(commands_for(replace(ALL, where=Where.COMPARE)))
    assert "compare.next_change" in compare and "document.select_lines" in compare
    assert "document.wrap" not in compare and "document.next_section" not in compare, "its keys are those of the next change"


def test_names_come_before_help_and_nothing_is_guessed() -> None:
    assert found("quit") == ["app.leave"]
    assert found("export")[0] == "app.export" and "app.view_exports" in found("export")
    assert found("mark")[:3] == ["app.compare", "app.mark", "app.marks"]
    graph = found("graph")
    assert graph[:2] == ["app.next_break", "app.previous_break"] and "app.provenance" in graph, "in its help only"
    assert found("next er") == ["app.next_error"] == found("er ne")
    assert found("rank")[:2] == ["app.next_rank", "app.previous_rank"]
    assert found("nxt") == found("zzz") == found("§") == []
    for query in ("error", "fold", "page", "search"):
        for command in match_commands(query, commands_for(ALL)):
            assert query in f" {command.title} {command.help}".lower()


def test_what_has_the_page_and_the_mode_says_which_it_is() -> None:
    assert found("provenance")[:2] == ["app.provenance", "app.view_provenance"]
    assert BY_ID["app.provenance"].title == "provenance mode" and BY_ID["app.view_provenance"].title == "page: provenance"
    assert len({command.title for command in COMMANDS if command.where is Where.EVERYWHERE}) == len(
        [command for command in COMMANDS if command.where is Where.EVERYWHERE]
    )


def test_a_key_finds_its_command_by_what_it_is_now() -> None:
    assert found("W")[0] == "app.view_where" and found("w")[0] == "document.wrap"
    assert found("ctrl+r") == ["app.read_again"]
    keys = {"app.sort": ("f8",)}
    own = match_commands("f8", commands_for(ALL), lambda command: keys.get(command.id, command.keys))
    assert ids(own) == ["app.sort"]
    assert found("") == ids(commands_for(ALL))


def test_keys_that_do_something_else_here_say_where_they_work() -> None:
    tree, document = replace(ALL, where=Where.TREE), replace(ALL, where=Where.DOCUMENT)
    fold, export = BY_ID["document.fold"], BY_ID["app.export"]
    assert (key_labels(fold, tree), key_labels(fold, document)) == ("space in the document", "space")
    assert key_labels(fold, replace(ALL, where=Where.PROVENANCE)) == "space" and key_labels(export, tree, ("f8",)) == "f8"
    assert key_labels(BY_ID["app.records"], tree) == ""
    assert "document.fold" in ids(commands_for(tree))
