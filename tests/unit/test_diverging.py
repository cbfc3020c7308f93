"""Which functions differ on which ranks: matched by code object, told with ranges, never of what may still come."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from made_logs import Log
from real import ROOT, opened
from replaying import HeldWriters
from viewed import lead_somewhere

from tltui import cli
from tltui.model.follow import open_run
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.overview.run_page import run_document
from tltui.questions.ranks import compile_facets
from tltui.questions.ranks.compile_facets import canonical
from tltui.questions.ranks.differences import Differing
from tltui.questions.ranks.differences import differences_of as diverging
from tltui.questions.ranks.rank_course import fact
from tltui.sources.discover import discover
from tltui.text.document import Options
from tltui.text.normalisation import RankIdentity

TORCH = "tests/traces/torch-2.13/"
GPUS = "tests/traces/tlparse/two_gpus"
AGAIN = "{}: 2 compiles, last reason: tensor 'x' size mismatch at index 0. expected 4, actual {}"


def told(found: Differing | None) -> list[tuple[str, int, str, list[str]]]:
    """Function, which compile, facets, sides."""
    assert found is not None
    return [
        (
            d.function.name,
            d.compile_number,
            "/".join(d.properties),
            [f"{side.ranks}: {side.description}".rstrip(": ") for side in d.groups],
        )
        for d in found.divergences
    ]


def text(run: Run, width: int = 100) -> str:
    return "\n".join(run_document(run, Options(width=width)).text())


# what is true of real ranks


def test_ranks_that_diverge() -> None:
    """What the script says: f, g and h differ, k does not; the ids of rank 1 are others, as it broke."""
    run = opened(TORCH + "diverge")
    found = diverging(run)
    assert told(found) == [
        ("f", 1, "graph/guards", ["0, 1: 4 nodes", "2: 5 nodes: .cos added at diverge.py:19 and 3 more nodes"]),
        ("g", 1, "breaks/graph/guards", ["0, 2: no break", "1: Failed to trace builtin operator, diverge.py:27"]),
        ("h", 0, "count", ["1, 2: 1 compile", AGAIN.format(0, 6)]),
    ]
    assert found is not None and all(d.has_majority for d in found.divergences)
    assert (found.ranks, found.functions, found.equal_functions, found.count, str(found.ranks_behind)) == (3, 5, 2, 3, "")
    assert [side.ref for side in found.divergences[2].groups] == ["1:3/0", "0:2/1"], "the ids on the ranks"
    document = run_document(run, Options(width=100))
    lead_somewhere(run, document)
    lines = list(document.text())
    assert "Ranks that differ (3 differences)" in lines
    assert "  2 of 5 functions are the same on all 3 ranks." in lines
    assert any(line.startswith("  ranks diverge at f: graphs differ (rank 2 differs from the other 2)") for line in lines)
    assert not [line for line in lines if "torch_dynamo_resume" in line], "it follows from the break"


def test_two_ranks_have_no_majority() -> None:
    found = diverging(opened(TORCH + "ddp"))
    assert told(found) == [
        ("DistributedDataParallel.__call__", 0, "count", ["0: 1 compile", AGAIN.format(1, 8).replace("'x'", "'args[0]'")]),
        ("only", 0, "missing", ["0: not compiled", "1: compiled"]),
    ]
    assert found is not None and not any(d.has_majority for d in found.divergences)


@pytest.mark.parametrize(("name", "expected"), [
    (TORCH + "mesh", []), ("tests/traces/tlparse/multi_rank_logs", []),
    (GPUS, [("inner", 2, "collectives/parity", ["0: collective 4: _c10d_functional.wait_tensor",
             "1: collective 4: _c10d_functional.reduce_scatter_tensor; collective 6: _c10d_functional.wait_tensor"]),
            ("inner", 0, "executed", ["0: ran inner (compile 2) as graph 1", "1: ran inner as graph 1"])]),
])  # fmt: skip
def test_healthy_ranks(name: str, expected: list[tuple[str, int, str, list[str]]]) -> None:
    assert told(diverging(opened(name))) == expected


def test_a_run_of_one_rank_has_no_section() -> None:
    run = opened(TORCH + "breaks")
    assert diverging(run) is None and "Ranks" not in text(run)


def test_that_all_ranks_are_alike_is_one_line() -> None:
    said = text(opened(TORCH + "mesh"), 160)
    same = "  Both ranks compiled the same 2 functions equally often and in the same order, with the same graphs and breaks."
    assert same in said
    assert "diverge" not in said


# ranks made of real ones


def as_rank(data: bytes, rank: int) -> bytes:
    return re.sub(rb'"rank": \d+', b'"rank": %d' % rank, data)


def signed(data: bytes) -> bytes:
    """The records with the md5s of what they hold now."""
    lines = data.split(b"\n")
    starts = [n for n, line in enumerate(lines) if line.startswith(b"V")] + [len(lines)]
    for first, end in pairwise(starts):
        body = [line[1:] for line in lines[first + 1 : end] if line.startswith(b"\t")]
        if body:
            md5 = hashlib.md5(b"\n".join(body)).hexdigest().encode()
            lines[first] = re.sub(rb'"has_payload": "\w+"', b'"has_payload": "' + md5 + b'"', lines[first])
    return b"\n".join(lines)


def log_of(name: str, rank: int) -> bytes:
    (path,) = (ROOT / name).glob(f"*_rank_{rank}[_.]*log")
    return path.read_bytes()


def ranks(directory: Path, logs: Sequence[bytes]) -> Run:
    directory.mkdir(exist_ok=True)
    for rank, data in enumerate(logs):
        (directory / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_bytes(as_rank(data, rank))
    return open_run(discover([str(directory)]))


def test_ranks_are_ranges_and_the_ids_are_those_of_the_rank(tmp_path: Path) -> None:
    """Twelve ranks like rank 2, and two outliers."""
    usual, breaks, recompiles = (log_of(TORCH + "diverge", rank) for rank in (2, 1, 0))
    run = ranks(tmp_path, [*([usual] * 5), breaks, *([usual] * 6), recompiles])
    found = told(diverging(run))
    assert ("g", 1, "breaks/graph/guards", ["0–4, 6–12: no break", "5: Failed to trace builtin operator, diverge.py:27"]) in found
    assert ("h", 0, "count", ["0–11: 1 compile", AGAIN.format(12, 6)]) in found
    assert ("f", 1, "graph/guards", ["0–4, 6–11: 5 nodes", "5, 12: 4 nodes: .sin added at diverge.py:20 and 3 more nodes"]) in found
    assert "ranks 0–4, 6–12 [0:1/0]: no break  |  rank 5 [5:1/0]: Failed to trace" in text(run, 140)


def test_the_newest_process_of_a_rank_counts(tmp_path: Path) -> None:
    usual, other = log_of(TORCH + "diverge", 0), log_of(TORCH + "diverge", 2)
    earlier = re.sub(rb"(?m)^(V\d{4} \S+ )\d+", rb"\g<1>77", other)
    ranks(tmp_path, [usual, usual, usual])
    old = tmp_path / "dedicated_log_torch_trace_rank_1_old.log"
    old.write_bytes(as_rank(earlier, 1))
    os.utime(old, (1_700_000_000, 1_700_000_000))
    run = open_run(discover([str(tmp_path)]))
    assert [len(rank.processes) for rank in run.ranks] == [1, 2, 1] and run.ranks[1].processes[0].pid == 77
    assert told(diverging(run)) == []


def test_a_device_that_is_not_the_ranks_own(tmp_path: Path) -> None:
    """The rank has its tensors on cuda:1, and in one graph some on cuda:5: not even the same text as rank 0's makes that right."""
    usual = log_of(GPUS, 0)
    other = signed(re.sub(rb"(cuda:|index=|float16, device=|stream|_stream\(|_DeviceGuard\(|set_device\()0\b", rb"\g<1>1", usual))
    run = ranks(tmp_path / "a", [usual, other, usual])
    assert told(diverging(run)) == []
    for number, device in enumerate((b"cuda:5", b"cuda:0")):
        at = other.index(b'"dynamo_output_graph"', other.index(b'"dynamo_output_graph"') + 1)
        wrong = signed(other[:at] + other[at:].replace(b']cuda:1"', b"]" + device + b'"', 2))
        found = diverging(ranks(tmp_path / f"b{number}", [usual, wrong, usual]))
        assert told(found) == [("inner", 2, "devices/graph", ["0, 2: all on its own device",
                                f"1: tensors on {device.decode()}, not the rank's own device"])]  # fmt: skip


def test_equal_graphs_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the md5 of their records says: those of 20 ranks with one device are not even laid out."""
    made: list[bytes] = []
    monkeypatch.setattr(compile_facets, "graph_fact", lambda graph, own: made.append(graph) or fact(["x"]))
    diverging(ranks(tmp_path / "a", [log_of(TORCH + "diverge", 2)] * 20))
    assert len(made) == 4, "one a compile"
    made.clear()
    diverging(ranks(tmp_path / "b", [log_of(GPUS, 0)] * 10 + [log_of(GPUS, 1)] * 10))
    assert len(made) == 4, "two compiles on each of two devices"


def test_what_is_no_part_of_a_graph() -> None:
    graph = "    # File: {}:{} in f, code: x\n    x: \"f32[2]{}\" = f(a, 'sum', {});  # {}\n"
    one, two = graph.format("/a/x.py", 3, "cuda:0", "'0'", "a"), graph.format("/b/x.py", 9, "cuda:1", "'0'", "b")
    assert canonical(one, RankIdentity("cuda", 0, True)) == canonical(two, RankIdentity("cuda", 1, True))
    assert canonical(one, RankIdentity("cuda", 0, True)) != canonical(two.replace("f32", "f16"), RankIdentity("cuda", 1, True))
    assert canonical(one, RankIdentity("cuda", 0, True)) != canonical(two, RankIdentity("cuda", 5, True))


def test_a_graph_that_only_moved_is_no_difference(tmp_path: Path) -> None:
    """A rank with one recompile more: its other graphs are those that the others have, a compile later."""

    def log(path: Path, graphs: Sequence[str]) -> bytes:
        made = Log(path)
        for n, graph in enumerate(graphs):
            made.start(compile_=n).add("dynamo_output_graph", {}, graph, compile_=n).metrics(compile_=n)
        made.open()
        return path.read_bytes()

    a, b = log(tmp_path / "a.log", ("one", "two")), log(tmp_path / "b.log", ("one", "other", "two"))
    logs = [re.sub(rb'(\{"(?:dynamo|compilation|str))', rb"\g<1>", data) for data in (a, a, b)]
    logs = [re.sub(rb"(?m)^(V.*\] \{)", rb'\g<1>"rank": 0, ', data) for data in logs]
    found = told(diverging(ranks(tmp_path / "run", logs)))
    assert ("f", 0, "count", ["0, 1: 2 compiles", "2: 3 compiles"]) in found
    assert [fact for fact in found if fact[2] == "graph"] == [("f", 2, "graph", ["0, 1: line 1: two", "2: line 1: other"])]


def test_breaks_that_differ_only_as_any_two_runs_do(tmp_path: Path) -> None:
    usual = log_of(TORCH + "diverge", 1)
    logs = [usual.replace(b"Failed to trace builtin operator", b"Cannot call <function at 0x7f00aa11bb%d2>" % n) for n in range(3)]
    assert told(diverging(ranks(tmp_path, list(map(signed, logs))))) == []


def begun(data: bytes, number: int) -> int:
    """Where the compile of that number (from 0) begins."""
    return [match.start() for match in re.finditer(rb"(?m)^V.*\{\"dynamo_start\"", data)][number]


def test_a_rank_that_was_killed_inside_of_a_compile(tmp_path: Path) -> None:
    """All that it lacks follows from that: one line."""
    usual = log_of(TORCH + "diverge", 2)
    end = usual.index(b'"dynamo_output_graph"', begun(usual, 1))
    killed = usual[: usual.rindex(b"\nV", 0, end) + 1]
    run = ranks(tmp_path, [usual, usual, killed, usual])
    assert told(diverging(run)) == [("g", 1, "unfinished", ["0, 1, 3: finished", "2: unfinished"])]


def test_a_rank_that_ended_between_two_compiles(tmp_path: Path) -> None:
    usual = log_of(TORCH + "diverge", 2)
    short = usual[: begun(usual, 1)]
    found = told(diverging(ranks(tmp_path, [usual, short, usual])))
    assert found == [("f", 0, "stopped", ["0, 2: continued", "1: stopped after this function, 3 before the others"])]


def test_functions_in_another_order(tmp_path: Path) -> None:
    def log(path: Path, names: Sequence[str]) -> bytes:
        made = Log(path)
        for n, name in enumerate(names):
            made.start(name, frame=n).metrics(frame=n)
        made.open()
        return re.sub(rb"(?m)^(V.*\] \{)", rb'\g<1>"rank": 0, ', path.read_bytes())

    usual, other = log(tmp_path / "a.log", "abcd"), log(tmp_path / "b.log", "acbd")
    found = told(diverging(ranks(tmp_path / "run", [usual, usual, other])))
    assert found == [("b", 0, "order", ["0, 1: before c", "2: after c"])]
    lacks = log(tmp_path / "c.log", "ad")
    found = told(diverging(ranks(tmp_path / "lacks", [usual, usual, usual, other, lacks])))
    assert ("b", 0, "order", ["0–2: before c", "3: after c"]) in found, "a rank without both has no say in it"
    both = [log(tmp_path / f"{n}.log", names) for n, names in enumerate(("ab", "cb", "cb", "db"))]
    found = told(diverging(ranks(tmp_path / "other", both)))
    assert ("c", 0, "missing", ["0, 3: not compiled", "1, 2: compiled"]) in found
    assert not [fact for fact in found if fact[2] == "order"]


def test_many_functions_with_one_difference_are_one_line(tmp_path: Path) -> None:
    def log(path: Path, count: int) -> bytes:
        made = Log(path)
        for n in range(40):
            if n % 2 or count == 40:
                made.start(f"block{n}", n, frame=n).metrics(frame=n)
        made.open()
        return re.sub(rb"(?m)^(V.*\] \{)", rb'\g<1>"rank": 0, ', path.read_bytes())

    usual, other = log(tmp_path / "a.log", 40), log(tmp_path / "b.log", 20)
    run = ranks(tmp_path / "run", [usual, usual, other])
    found = diverging(run)
    assert found is not None and len(found.divergences) == 1 and found.count == 20 and found.equal_functions == 20
    assert "block0  user/f.py:0  and block2, block4 and 17 more  compiled on some ranks only" in text(run)
    (outcome,) = gates(run, parse_limits("diverge")).limits
    assert outcome.value == 20 == len(outcome.reasons)


# a run that goes on


def test_a_rank_that_is_behind_is_no_difference_yet(tmp_path: Path) -> None:
    usual = log_of(TORCH + "diverge", 2)
    behind = usual[: usual.rindex(b"\nV", 0, usual.index(b'"dynamo_output_graph"', begun(usual, 1))) + 1]
    ranks(tmp_path, [usual, usual, behind])
    writers = HeldWriters()
    run = open_run(discover([str(tmp_path)]), writers)
    assert run.goes_on
    found = diverging(run)
    assert told(found) == [] and found is not None and str(found.ranks_behind) == "2"
    said = "\n".join(run_document(run, Options(width=100, goes_on=run.goes_on)).text())
    assert "Rank 2 compiled less than others and may still catch up." in said and "ranks diverge" not in said
    assert "So far, no differences in functions compiled by all of the 3 ranks." in said and "All 3 ranks" not in said
    assert gates(run, parse_limits("diverge")).passed
    writers.over = True
    assert told(diverging(open_run(discover([str(tmp_path)]), writers)))


def test_a_graph_that_differs_is_told_at_once(tmp_path: Path) -> None:
    ranks(tmp_path, [log_of(TORCH + "diverge", rank) for rank in (0, 1, 2)])
    run = open_run(discover([str(tmp_path)]), HeldWriters())
    found = diverging(run)
    assert ("f", 1, "graph/guards", ["0, 1: 4 nodes", "2: 5 nodes: .cos added at diverge.py:19 and 3 more nodes"]) in told(found)
    assert found is not None and str(found.ranks_behind) == "0–2", "each has less of something"
    assert not [fact for fact in told(found) if fact[2] in ("count", "missing")]


# commands


def test_ranges() -> None:
    assert ranges([]) == "" and ranges([3]) == "3" and ranges([1, 0, 2, 4, 5, 9]) == "0–2, 4, 5, 9"
    assert ranges(range(0, 24, 2)) == "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22"
    assert ranges(n * n for n in range(20)) == "0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144 and 7 more"


def test_ranks_of_one_device_of_each_node() -> None:
    """Where a range each would be too many, an even distance is said."""
    every = set(range(2, 512, 8))
    assert ranges(every) == "every 8th of 2–506"
    assert ranges(every - {122, 34}) == "every 8th of 2–506 but 34, 122"
    assert ranges(set(range(512)) - every) == "0–511 but every 8th of 2–506"
    assert ranges(range(0, 64, 2)) == "every 2nd of 0–62" and ranges(range(1, 100, 3)) == "every 3rd of 1–97"
    assert ranges([*every, 3]).endswith("90 and 52 more")


def test_check(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "160")
    assert cli.main(["check", TORCH + "diverge", "--fail-on", "diverge"]) == 1
    out, err = capfd.readouterr()
    assert err == "" and "diverge  3  (limit 0)" in out
    assert "(/home/user/models/diverge.py:16): graphs differ: ranks 0, 1: 4 nodes | rank 2: 5 nodes: .cos" in " ".join(out.split())
    assert cli.main(["check", TORCH + "diverge", "--fail-on", "diverge=3"]) == 0
    assert cli.main(["check", TORCH + "mesh", "--fail-on", "diverge"]) == 0
    assert cli.main(["check", TORCH + "breaks", "--fail-on", "diverge"]) == 0
    assert cli.main(["check", TORCH + "diverge", "--baseline", TORCH + "diverge", "--fail-on", "diverge"]) == 0


def test_json(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert cli.main(["summary", TORCH + "diverge", "--json"]) == 0
    found = json.loads(capfd.readouterr()[0])["result"]["rank_differences"]
    assert set(found) == {
        "ranks", "rank_kinds", "agreeing_ranks", "agreeing_count", "differing_ranks", "compiles_per_rank", "functions",
        "equal_functions", "count", "divergences", "ranks_behind", "restarted", "parity", "is_cut", "stages",
        "ranks_with_received_code",
    }  # fmt: skip
    first = found["divergences"][1]
    assert set(first) == {
        "id", "function", "other_functions", "compile_number", "properties", "groups", "has_majority", "ranks_in_no_group",
        "compile_count", "start_at_us",
    }  # fmt: skip
    assert first["groups"][1] == {
        "ranks": [1],
        "count": 1,
        "description": "Failed to trace builtin operator, diverge.py:27",
        "ref": "1:1/0",
    }
    assert cli.main(["summary", TORCH + "breaks", "--json"]) == 0
    assert json.loads(capfd.readouterr()[0])["result"]["rank_differences"] is None
