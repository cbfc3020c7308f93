from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pages
import pytest
from golden import assert_golden
from made_logs import Log
from real import ROOT, TRACES, fresh, opened, trace
from viewed import initial_text

from tltui.documents.scope import scope_of
from tltui.export import to_json
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.stacks.stack_tree import Stacks, Trie, part_of, stacks, without_suffix
from tltui.text.document import Document, Options
from tltui.text.steps import run_steps


def page(run: Run, ref: str = "@stacks", width: int = 80, ascii_: bool = False) -> Document:
    return pages.page(run, ref, width, ascii_)


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    yield


def found_in(run: Run, ref: str = "") -> Stacks:
    scope = scope_of(run, ref)
    return run_steps(stacks(scope.processes, scope.compiles))


def frame(name: str, line: int = 1, file: int = 0) -> dict[str, Any]:
    return {"line": line, "name": name, "filename": file, "loc": f"{name}()"}


def started(log: Log, names: str, **ids: Any) -> Log:
    """A compile with a stack of frames, one for each letter; capitals are torch's."""
    stack = [frame(name, file=int(name.isupper())) for name in names]
    log.add("dynamo_start", {"stack": stack}, **ids)
    return log.metrics(**ids)


def made(tmp_path: Path, *stacks_: str) -> Run:
    log = Log(tmp_path / "a.log")
    log.add("str", ["/home/user/f.py", 0], frame=None)
    log.add("str", ["/x/site-packages/torch/_dynamo/eval_frame.py", 1], frame=None)
    for number, names in enumerate(stacks_):
        started(log, names, frame=number)
    return log.open()


@pytest.mark.parametrize(
    ("path", "ref", "width"),
    [
        ("tests/traces/torch-2.13/breaks", "@stacks", 80),
        ("tests/traces/torch-2.13/ca", "@stacks", 80),
        ("tests/traces/torch-2.13/ddp", "@stacks", 80),
        ("tests/traces/torch-2.13/ddp", "@stacks", 160),
        ("tests/traces/torch-2.13/aoti", "@stacks", 80),
        ("tests/traces/tlparse/simple.log", "@stacks", 60),
        ("src/tltui/demo", "@stacks", 80),
        ("src/tltui/demo", "@stacks:0:#9", 80),
    ],
)
def test_golden(path: str, ref: str, width: int) -> None:
    part = ref.partition(":")[2].replace(":", "_").replace("#", "n")
    name = f"stacks_{path.rpartition('/')[2].removesuffix('.log')}_{part}_{width}"
    assert_golden(name, initial_text(page(opened(path), ref, width)))


def shape(found: Stacks) -> list[tuple[int, str, list[str]]]:
    return [(node.indent, node.frame.name, [item.id for item in node.compiles]) for node in found.nodes]


def test_stacks_share_what_they_begin_with(tmp_path: Path) -> None:
    found = found_in(made(tmp_path, "abc", "abd", "ab", "e"))
    assert shape(found) == [
        (0, "a", []), (1, "b", ["[2/0]"]), (1, "c", ["[0/0]"]), (1, "d", ["[1/0]"]), (0, "e", ["[3/0]"]),
    ]  # fmt: skip
    assert [node.parent for node in found.nodes] == [-1, 0, 1, 1, -1]
    assert [node.frame_number for node in found.nodes] == [1, 2, 3, 4, 5]


def test_a_single_stack_is_a_plain_list(tmp_path: Path) -> None:
    assert {node.indent for node in found_in(made(tmp_path, "abcdef")).nodes} == {0}


def test_frames_are_the_same_only_with_the_same_source_line(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    log.add("dynamo_start", {"stack": [frame("a"), frame("f")]}, frame=0)
    log.add("dynamo_start", {"stack": [frame("a") | {"loc": "other"}, frame("f")]}, frame=1)
    assert len(found_in(log.open()).nodes) == 4


def test_frames_of_the_framework_are_folded(tmp_path: Path) -> None:
    text = initial_text(page(made(tmp_path, "aXYZb", "aXYZc", "aWd")))
    assert "├ 3 torch frames" in text
    assert "W   W()" in text  # one alone is no longer than its fold
    assert "X   X()" not in text


def test_ranks_are_merged() -> None:
    found = found_in(opened("src/tltui/demo"))
    merged = next(node for node in found.nodes if node.frame.name == "forward")
    assert [(item.id, item.rank) for item in merged.compiles] == [("[0/0]", 0), ("[0/0]", 1), ("[0/1]", 1)]
    assert [item.ref for item in found.without_stack] == ["0:4/8"]


def test_compiles_without_a_stack_are_grouped_by_the_reason_that_the_trace_has() -> None:
    text = [line.strip() for line in initial_text(page(opened("tests/traces/torch-2.13/outcomes"))).split("\n")]
    at = text.index("The recompile limit was reached before torch logged a stack.")
    assert text[at - 1] == "Without a stack (4)" and text[at + 1] == "» [3/2]  ✗ [4/2]  ✗ [4/3]"
    assert text[at + 2].startswith("error_on_recompile made the recompilation an error") and text[at + 4] == "✗ [5/1]"
    cut = initial_text(page(opened("tests/traces/hangs/before_start")))
    assert "The log has no dynamo_start record of these compiles.\n" in cut and "recompile limit" not in cut


def test_in_memory_files_lead_to_their_source() -> None:
    run = opened("tests/traces/torch-2.13/ca")
    (node,) = [node for node in found_in(run).nodes if node.frame.file.startswith("<eval_with_key>")]
    assert node.source_ref is not None and node.source_ref.endswith(":dump_file")
    assert run.resolve(node.source_ref) is not None
    document = page(run)
    assert any(link.target == f"{node.source_ref}@L4" for n in range(len(document)) for link in document.line(n).links)


def test_only_a_dump_is_the_source_of_a_file_in_memory(tmp_path: Path) -> None:
    for event, found in (("dump_file", True), ("graph_dump", False)):
        log = Log(tmp_path / f"{event}.log").add("str", ["<eval_with_key>.5", 0], frame=None)
        log.add("dynamo_start", {"stack": [frame("f")]}).add(event, {"name": "<eval_with_key>.5"}, "def f(): pass").metrics()
        log.add("dump_file", {"name": "<eval_with_key>.6"}, "def g(): pass")
        (node,) = found_in(log.open()).nodes
        assert (node.source_ref is not None) is found


def test_in_memory_files_of_two_processes_are_not_the_same() -> None:
    trie = Trie()
    one, two = fresh(TRACES / "torch-2.13/ca"), fresh(TRACES / "torch-2.13/ca")
    stack = [{"line": 4, "name": "forward", "filename": "<eval_with_key>.5"}]
    for run in (one, two):
        (process,) = run.processes()
        number = next(n for n, text in process.strings.items() if text == "<eval_with_key>.5")
        trie.insert(process, [stack[0] | {"filename": number}])
    assert len(trie.root.children) == 2


def test_records_without_a_compile() -> None:
    found = found_in(trace("torch-2.13/aoti"))
    assert not found.nodes
    assert sum(node.record_count for node in found.without_compile) == 27
    assert all(ref.startswith("@record:") for node in found.without_compile for ref in node.records)


def test_a_part() -> None:
    run = opened("src/tltui/demo")
    nodes = found_in(run, "0:").nodes
    number = next(node.frame_number for node in nodes if node.frame.name == "train")
    part = part_of(nodes, number)
    assert [node.frame.name for node in part[:3]] == ["<module>", "main", "train"]
    assert [item.ref for node in part for item in node.compiles] == ["0:0/0"]
    assert [node.parent for node in part] == list(range(-1, len(part) - 1))
    assert part_of(nodes, 10_000) == ()
    assert len(page(run, "@stacks:0:#10000")) > 0


def test_frames_that_tlparse_cuts_off(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    log.add("str", ["/y/x#link-tree/torch/_dynamo/convert_frame.py", 7], frame=None)
    tail = [frame(name, file=7) for name in ("catch_errors", "_convert_frame", "_convert_frame_assert")]
    log.add("dynamo_start", {"stack": [frame("f"), *tail]})
    run = log.open()
    (process,) = run.processes()
    assert [item["name"] for item in without_suffix(process, [frame("f"), *tail])] == ["f"]
    assert len(without_suffix(process, [frame("f"), *tail[:2], frame("g", file=7)])) == 4


@pytest.mark.parametrize("stack", [None, 7, [], [None], [{}], [{"filename": -1, "line": None, "name": None}],
                                   [{"filename": [1], "line": "4", "name": 3, "loc": {"a": 1}}]])  # fmt: skip
def test_odd_stacks_do_no_harm(stack: Any, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    log.add("dynamo_start", {"stack": stack}).metrics()
    log.add("describe_tensor", {}, frame=None, stack=stack)
    run = log.open()
    document = page(run)
    assert len(document) > 0
    json.loads(to_json(document.data()))


def test_a_stack_may_be_deep(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    for number in range(3):
        log.add("dynamo_start", {"stack": [frame("f", line) for line in range(5000)] + [frame("g", number)]}, frame=number)
    document = page(log.open())
    assert len(document) > 5000
    json.loads(to_json(document.data()))


def test_lines_fit_and_ascii() -> None:
    traces = "tests/traces"
    for path in ("src/tltui/demo", f"{traces}/torch-2.13/ddp", f"{traces}/torch-2.13/aoti", f"{traces}/tlparse/simple.log"):
        for width in (60, 80, 160):
            assert not [line for line in page(opened(path), width=width).text() if len(line) > width]
        assert all(line.isascii() for line in page(opened(path), ascii_=True).text())


def test_every_link_leads_somewhere() -> None:
    for path in ("src/tltui/demo", "tests/traces/torch-2.13/ca", "tests/traces/torch-2.13/aoti"):
        run = opened(path)
        document = page(run)
        targets = {link.target for n in range(len(document)) for link in document.line(n).links}
        assert targets
        for target in targets:
            if not target.startswith(("file:", "https:")):
                build(run, target, Options())


def test_nothing_to_show(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").add("link", {"name": "a", "url": "b"}, frame=None)
    assert "No compiles and no other records with a stack" in initial_text(page(log.open()))
    text = " ".join(initial_text(page(Log(tmp_path / "b.log").metrics().open())).split())
    assert "No stack has been logged for 1 compile" in text
