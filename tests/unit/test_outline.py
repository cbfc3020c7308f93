"""The tree: nodes, labels, opening, filtering, walking; judged as text on real traces."""

from __future__ import annotations

import pytest
from golden import assert_golden
from real import demo, trace

from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile
from tltui.model.run import (
    has_break,
    has_error,
    in_order,
    next_artifact,
    next_compile,
    next_in_frame,
    on_next_rank,
)
from tltui.questions.recompiles.failed_guard_text import short_change
from tltui.tree.outline import Node, children, label, path_to, root
from tltui.tree.rows import OutlineRows, compiled


def text(pieces: tuple[object, ...]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)  # type: ignore[index]


def drawn(node: Node, depth: int = 0) -> list[str]:
    said = label(node)
    lines = [f"{'  ' * depth}{text(said.left)}{text(said.detail)} | {text(said.right)} | {node.ref}"]
    for child in children(node):
        lines += drawn(child, depth + 1)
    return lines


def test_the_whole_tree_of_a_training_step() -> None:
    assert_golden("tree_train", "\n".join(drawn(root(trace("torch-2.13/train")))))


def test_the_whole_tree_of_graph_breaks() -> None:
    assert_golden("tree_breaks", "\n".join(drawn(root(trace("torch-2.13/breaks")))))


def test_every_node_has_a_key_of_its_own_and_every_artifact_is_in_the_tree_once() -> None:
    run = demo()
    nodes: list[Node] = []

    def collect(node: Node) -> None:
        nodes.append(node)
        for child in children(node):
            collect(child)

    collect(root(run))
    keys = [node.key for node in nodes]
    assert len(keys) == len(set(keys)) > 300
    from tltui.model.artifacts import artifacts_of

    shown = sorted(str(node.target.ref) for node in nodes if isinstance(node.target, Artifact))
    assert shown == sorted(str(a.ref) for c in run.compiles() for a in artifacts_of(c))


def test_rows_open_close_and_keep_what_was_open() -> None:
    rows = OutlineRows(root(demo()))
    opened = len(rows)  # the first of several ranks is open
    place = next(n for n, row in enumerate(rows.rows) if row.node.ref == "0:")
    rows.collapse(place)
    closed = len(rows)
    assert opened > closed
    rows.refresh()
    assert len(rows) == closed, "what was closed stays so"
    rows.expand(place)
    assert len(rows) == opened
    rows.collapse(place)
    assert len(rows) == closed
    rows.expand(place)
    rows.refresh()
    assert len(rows) == opened
    rows.collapse(0)
    assert len(rows) == opened, "the root stays open"
    assert rows.expand_all()
    everything = len(rows)
    assert everything > 300 and rows.parent(everything - 1) < everything - 1
    rows.collapse_all()
    assert len(rows) == closed
    assert not OutlineRows(root(demo())).expand_all(limit=10)


def test_a_filter_leaves_matches_and_what_is_above_them() -> None:
    rows = OutlineRows(root(demo()))
    rows.set_filter("perplexity")
    assert [row.node.ref for row in rows.rows] == ["", "0:", "0:10/0"]
    rows.set_filter("error")
    refs = [row.node.ref for row in rows.rows]
    assert {"0:9/0", "0:10/0"} <= set(refs) and not {"0:0/0", "0:4/8"} & set(refs)
    rows.set_filter("eager")
    assert [row.node.ref for row in rows.rows][-1] == "0:4/8"
    rows.set_filter("no such thing")
    assert [row.node.ref for row in rows.rows] == [""]
    rows.set_filter("")
    assert len(rows) > 2


def shown(text: str) -> tuple[list[str], tuple[int, int]]:
    rows = OutlineRows(root(demo()))
    rows.set_filter(text)
    return [row.node.ref for row in rows.rows], rows.filter_counts


def test_compiles_of_a_frame_that_matches_are_counted() -> None:
    """Also where it is closed, and the lines of its compiles do not say its name."""
    left, (count, seen) = shown("sample")
    assert "0:4/" in left and "0:4/0" not in left
    assert (count, seen) == (9, 25)


def test_a_filter_by_status() -> None:
    run = demo()
    compiles = [c for c in run.compiles() if c.is_compile]
    for status in ("error", "break", "ok", "empty", "unfinished"):
        wanted = {str(c.ref) for c in compiles if str(c.status) == status}
        refs, counts = shown(status)
        assert {ref for ref in refs if "/" in ref and not ref.endswith("/")} == wanted, status
        assert counts == (len(wanted), len(compiles))
        others, counts = shown(f"!{status}")
        assert {ref for ref in others if "/" in ref and not ref.endswith("/")} == {str(c.ref) for c in compiles} - wanted
        assert counts == (len(compiles) - len(wanted), len(compiles))


def test_a_filter_can_be_turned_round() -> None:
    refs, (left, seen) = shown("!resume|sample")
    assert "0:0/0" in refs and "0:4/1" not in refs and "0:4/" not in refs, "a frame goes with its compiles"
    assert 0 < left < seen
    assert shown("!")[1] == (0, 0) and shown("! ")[1] == (0, 0), "nothing to leave out yet"
    assert shown("!error")[1] == shown("! error")[1]


def test_opening_below_a_filter_shows_all_of_a_compile() -> None:
    below = []
    for text in ("", "break", "0:1/0"):
        rows = OutlineRows(root(demo()))
        rows.expand(next(n for n, row in enumerate(rows.rows) if row.node.ref == "0:"))
        rows.set_filter(text)
        before = rows.filter_counts
        place = next(n for n, row in enumerate(rows.rows) if row.node.ref == "0:1/0")
        rows.expand(place)
        depth = rows.rows[place].depth
        inside = [row.node.key for row in rows.rows[place + 1 :] if row.node.key.startswith(rows.rows[place].node.key)]
        below.append(inside)
        assert rows.filter_counts == before and depth == 2
    assert below[0] and below[0] == below[1] == below[2]


def test_patterns_are_smart_about_case_and_never_fail() -> None:
    assert compiled("abc").search("xABC") and not compiled("Abc").search("xabc")
    assert compiled("a[").search("xa[y")


def test_every_node_can_be_revealed() -> None:
    run = demo()
    from tltui.model.artifacts import artifacts_of

    for compile_ in run.compiles():
        for target in (compile_, compile_.frame, compile_.process, *artifacts_of(compile_)):
            rows = OutlineRows(root(run))
            place = rows.reveal(path_to(run, target))
            assert place is not None, target
            shown = rows.rows[place].node.target
            assert shown is target or shown in compile_.frame.compiles or getattr(shown, "record", 0) == getattr(
                target, "record", 1) or shown in run.ranks  # fmt: skip


def test_walking() -> None:
    run = demo()
    first = run.resolve("0:9/0")
    assert isinstance(first, Compile)
    errors: list[str] = []
    at: Compile | None = None
    while (at := next_compile(run, at, has_error)) is not None:
        errors.append(str(at.ref))
    assert errors == ["0:4/8", "0:9/0", "0:10/0"]
    last = next_compile(run, None, has_error, back=True)
    assert last is not None and str(last.ref) == "0:10/0"
    limit = next_compile(run, first, has_error, back=True)
    assert limit is not None and str(limit.ref) == "0:4/8" and next_compile(run, limit, has_error, back=True) is None
    breaks = [str(c.ref) for c in in_order(run) if has_break(c)]
    assert "0:2/0" in breaks and "0:6/0" in breaks
    assert next_in_frame(limit) is None
    before = next_in_frame(limit, back=True)
    assert before is not None and str(before.ref) == "0:4/7"


def test_the_same_code_on_another_rank() -> None:
    run = demo()
    here = run.resolve("0:13/0")
    assert isinstance(here, Compile)
    found, remark = on_next_rank(run, here)
    assert found is not None and str(found.ref) == "1:1/0"
    assert remark == "on this rank the compile is [1/0], not [13/0]"
    assert on_next_rank(run, found) == (None, "no later rank")
    back, _ = on_next_rank(run, found, back=True)
    assert back is here
    assert on_next_rank(run, here, back=True) == (None, "no earlier rank")
    only_here = run.resolve("0:1/0")
    assert isinstance(only_here, Compile)
    assert on_next_rank(run, only_here) == (None, "no later rank compiled clip_gradient that many times")


def test_artifacts_one_after_another() -> None:
    run = trace("torch-2.13/breaks")
    compile_ = run.resolve("0/0")
    assert isinstance(compile_, Compile)
    names: list[str] = []
    at: Artifact | None = None
    while (at := next_artifact(compile_, at)) is not None:
        names.append(at.name)
    assert names[0] == "dynamo_graph_break_reason" and names[-1] == "compilation_metrics" and len(names) > 10
    last = next_artifact(compile_, None, back=True)
    assert last is not None and last.name == "compilation_metrics"


def test_back_over_the_artifacts_and_from_another_compile() -> None:
    run = trace("torch-2.13/breaks")
    compile_, other = run.resolve("0/0"), run.resolve("2/0")
    assert isinstance(compile_, Compile) and isinstance(other, Compile)
    forth = [next_artifact(compile_, None)]
    while (at := next_artifact(compile_, forth[-1])) is not None:
        forth.append(at)
    back = [next_artifact(compile_, None, back=True)]
    while (at := next_artifact(compile_, back[-1], back=True)) is not None:
        back.append(at)
    assert back == forth[::-1]
    assert next_artifact(compile_, next_artifact(other, None)) == forth[0], "one of another compile: begin"


def test_ranks_are_set_off_from_their_compiles() -> None:
    ranks = children(root(demo()))
    assert [label(node).rule for node in ranks] == ["─"] * len(ranks)
    assert {label(node).rule for node in children(ranks[0])} == {""}


@pytest.mark.parametrize(("reason", "change"), [
    ("tensor 'kwargs['input_ids']' size mismatch at index 1. expected 8, actual 12", "input_ids dim 1: 8 → 12"),
    ("tensor 'L['x']' stride mismatch at index 0. expected 6, actual 1", "x stride dim 0: 6 → 1"),
    ("tensor 'x' dtype mismatch. expected Float, actual Double", "x dtype: float32 → float64"),
    ("tensor 'x' rank mismatch. expected 1, actual 2", "x rank: 1 → 2"),
    ("n == 7", ""), ("___check_type_id(n, 1403), type=<class 'int'>", ""), ("", ""),
])  # fmt: skip
def test_a_reason_is_shortened_to_its_change(reason: str, change: str) -> None:
    assert short_change(reason) == change


def test_the_row_of_a_recompile_has_the_change_and_a_filter_finds_the_reason_too() -> None:
    run = trace("torch-2.13/reasons")
    rows = OutlineRows(root(run))
    assert rows.expand_all()
    shown = [text(label(row.node).detail) for row in rows.rows]
    assert " x dim 0: 3 → 5" in shown and " x dtype: float32 → float64" in shown and " up == True" in shown
    for words in ("size mismatch at index 0", "x dim 0: 3"):
        rows.set_filter(words)
        assert rows.filter_counts[0], words
