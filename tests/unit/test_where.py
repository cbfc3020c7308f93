"""Where a job hangs, or stood when it was killed: real programs that ended at a known place, and ranks with known trouble."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import runpy
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pages import page
from ranked import ranked
from real import ROOT, opened
from replaying import HeldWriters, read, texts_of
from viewed import lead_somewhere, text

from tltui.documents.format import clock
from tltui.documents.scope import scope_of
from tltui.model.follow import Follower, open_run
from tltui.model.record_reader import Reader
from tltui.model.ref import Ranks
from tltui.model.run import Run
from tltui.questions.hang.open_phases import Inside, Phase, all_inside, begun, inside, last_record, trail
from tltui.questions.hang.page import where_document
from tltui.questions.hang.process_sections import Here, files_of, sample_processes
from tltui.questions.hang.where import Where, place_of, where
from tltui.questions.hang.where_sections import answer
from tltui.sources.discover import Discovery, discover
from tltui.sources.local_processes import LogProcesses
from tltui.text.document import Options

HANGS = ROOT / "tests" / "traces" / "hangs"
KNOWN: dict[str, tuple[str, str | None, str, str] | None] = runpy.run_path(str(ROOT / "tests/live/programs/hangs.py"))["KNOWN"]
STACK = ("dynamo", "entire_frame_compile", "compile_attempt_0", "backend_compile", "inductor_compile", "fx_codegen_and_compile")
DAY = 1_795_166_400.0
"""2026-11-20, 09:20 UTC."""


# programs that were killed


@pytest.mark.parametrize("name", KNOWN)
def test_a_program_that_ended_at_a_known_place(name: str) -> None:
    run = opened(HANGS / name)
    (process,) = run.processes()
    found = next(iter(place_of(process).inside), None)
    assert inside(process) == (None if name == "interrupted" else found), "an interrupted compile is not open any more"
    if KNOWN[name] is None:
        assert found is None
        assert answer(where(run)).startswith("The process was not compiling at the end of its log. Its last compile was ")
        return
    assert found is not None
    assert (found.activity, found.function, found.id, found.phases[-1].name) == KNOWN[name]
    said = answer(where(run))
    when = "When interrupted," if name == "interrupted" else "At the end of its log,"
    assert said.startswith(f"{when} the process was in ") and found.trail in said and found.id in said
    document = page(run, "@where")
    lead_somewhere(run, document)
    lines = text(document).splitlines()
    assert any(found.phases[-1].name in line for line in lines[3:]), "all of its phases, one in the other"


def test_every_trace_has_its_program() -> None:
    assert {path.name for path in HANGS.iterdir()} == {*KNOWN, "ranks"}


def test_threads_of_a_compile_are_named_after_it() -> None:
    """Kernels are compiled in threads, whose events have no id: the compile that waits for them is the answer."""
    run = opened(HANGS / "kernels")
    (process,) = run.processes()
    first, second = all_inside(process)
    assert first.phases[-1].name == "async_compile.wait" and (second.activity, second.trail) == ("outside", "compile_file")
    assert "Also open, in another thread: work without a compile id: compile_file" in text(page(run, "@where", 100))


def test_a_backward_of_which_nobody_knows_whose_it_is() -> None:
    """Two epochs have a compile with this id and no backward so far: both are named."""
    (process,) = opened(HANGS / "epoch_backward").processes()
    found = inside(process)
    assert found is not None and (found.function, found.id, found.file) == ("f or g", "[0/0]", None)


def test_ranks_of_which_one_hangs() -> None:
    """Rank 2 compiles more, its ids are others: ranks are matched by code."""
    run = opened(HANGS / "ranks")
    found = where(run)
    assert answer(found).startswith("At the end of its log, rank 2 was in block1 [2/0]: backend_compile since ")
    end = "Ranks 0, 1, 3 were not compiling at the end of their logs. Their last compile was block1 [1/0]."
    assert answer(found).endswith(f". {end}")
    stuck, others = found.groups
    assert (stuck.finished_ranks, stuck.not_begun_ranks, stuck.finished_compiles, others.finished_compiles, found.clocks) == (
        (0, 1, 3),
        (),
        2,
        2,
        (),
    )
    lead_somewhere(run, page(run, "@where"))


@pytest.mark.parametrize("path", sorted(
    path for group in ("torch-2.13", "tlparse", "versions", "torch-2.8") for path in (HANGS.parent / group).iterdir()
    if path.is_dir()
), ids=lambda path: path.name)  # fmt: skip
def test_nothing_is_open_in_whole_logs(path: Path) -> None:
    """But for those that end in the middle of a compile, or of which parts were left out."""
    run = opened(path)
    for process in run.processes():
        assert [one for one in all_inside(process) if one.phases] == []


# made ranks


def stamped(micros: float) -> str:
    seconds = micros / 1e6 - DAY + 9 * 3600
    return f"V1120 {int(seconds // 3600):02}:{int(seconds % 3600 // 60):02}:{seconds % 60:09.6f}"


def line_of(name: str) -> int:
    return int(name[-1]) * 10 if name[-1].isdigit() else 1


@dataclass
class Rank:
    """The log of one rank: compiles of `block0`, `block1` … one after the other. `clock`: seconds that its clock is ahead."""

    number: int | None
    pid: int = 0
    clock: float = 0.0
    at: float = DAY
    frame: int = 0
    lines: list[str] = field(default_factory=list)
    strings: int = 0

    def add(self, event: str, value: object, payload: str | None = None, ids: bool = True, **more: Any) -> Rank:
        envelope: dict[str, Any] = {event: value} | ({"rank": self.number} if self.number is not None else {})
        if ids:
            envelope |= {"frame_id": self.frame, "frame_compile_id": 0, "attempt": 0} | more
        if payload is not None:
            envelope["has_payload"] = hashlib.md5(payload.encode()).hexdigest()
        pid = self.pid or 1000 + (self.number or 0)
        self.lines.append(f"{stamped((self.at + self.clock) * 1e6)} {pid} torch/_dynamo/x.py:1] {json.dumps(envelope)}")
        if payload is not None:
            self.lines.append("\t" + payload)
        return self

    def event(self, sign: str, name: str, **ids: Any) -> Rank:
        value = {"name": name, "ts": (self.at + self.clock) * 1e6, "args": {}, "ph": sign, "tid": 0, "pid": 0}
        return self.add("chromium_event", {}, json.dumps(value), **ids)

    def begin(self, name: str, phases: Sequence[str] = STACK) -> Rank:
        for number, phase in enumerate(phases):
            self.event("B", phase)
            if number == 1 or len(phases) == 1:
                if not self.strings:
                    self.add("str", ["/home/user/blocks.py", 0], ids=False)
                self.strings = 1
                self.add("dynamo_start", {"stack": [{"line": line_of(name), "name": name, "filename": 0}]})
        return self

    def end(self, name: str, phases: Sequence[str] = STACK) -> Rank:
        start = self.at
        self.at += 1
        for phase in reversed(phases[1:]):
            self.event("E", phase)
        self.add("compilation_metrics", {
            "co_name": name, "co_filename": "/home/user/blocks.py", "co_firstlineno": line_of(name),
            "start_time_us": (start + self.clock) * 1e6, "duration_us": 1_000_000, "graph_op_count": 2,
        })  # fmt: skip
        self.event("E", phases[0])
        self.frame += 1
        self.at += 1
        return self

    def compiled(self, *names: str) -> Rank:
        for name in names:
            self.begin(name).end(name)
        return self

    def write(self, directory: Path, name: str = "") -> Path:
        directory.mkdir(exist_ok=True, parents=True)
        rank = f"rank_{self.number}_" if self.number is not None else ""
        path = directory / f"dedicated_log_torch_trace_{rank}{name}x.log"
        path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return path


def going_on(directory: Path) -> Run:
    """A run that somebody writes."""
    run = Run(Discovery([str(directory)]).discover())
    read(run, Follower(run, Discovery([str(directory)]), HeldWriters()))
    return run


def ended(directory: Path) -> Run:
    writers = HeldWriters()
    writers.over = True
    return open_run(discover([str(directory)]), writers)


def stuck(number: int, after: Sequence[str], block: str, phases: Sequence[str] = STACK, **rank: Any) -> Rank:
    return Rank(number, **rank).compiled(*after).begin(block, phases)


def job(directory: Path, *ranks: Rank) -> Path:
    for rank in ranks:
        rank.write(directory)
    return directory


def others(*numbers: int, names: Sequence[str] = ("block0", "block1"), **rank: Any) -> list[Rank]:
    return [Rank(number, **rank).compiled(*names) for number in numbers]


def said(run: Run) -> str:
    return answer(where(run))


def test_one_rank_is_in_a_compile_that_the_others_have_not_begun(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(*range(7)), stuck(7, ["block0", "block1"], "block2")))
    found = where(run)
    assert said(run).startswith("Rank 7 is in block2 [2/0]: inductor_compile ▸ fx_codegen_and_compile since ")
    assert said(run).endswith(". Ranks 0–6 have started no other compile since block1 [1/0] so far.")
    assert (str(found.groups[0].finished_ranks), str(found.groups[0].not_begun_ranks), found.goes_on) == ("", "0–6", True)
    lines = text(page(run, "@where", 100))
    assert "So far, ranks 0–6 have not begun it." in lines and "py-spy dump --pid 1007" in lines
    assert "compute or wait for rank 7" in " ".join(lines.split())


def test_all_are_in_the_same_place(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *(stuck(n, [], "block0", at=DAY + n) for n in range(3))))
    assert said(run).startswith("All 3 ranks are in block0 [0/0]: inductor_compile ▸ fx_codegen_and_compile since ")
    group = where(run).groups[0]
    assert (
        group.since_at_us is not None and group.last_since_at_us is not None and group.last_since_at_us - group.since_at_us == 2e6
    )


def test_a_phase_that_began_on_another_day(tmp_path: Path) -> None:
    rank = Rank(0).begin("block0")
    rank.at += 3 * 86_400
    rank.event("i", "still_here")
    run = going_on(job(tmp_path, rank))
    assert re.search(r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.$", said(run))


def test_phases_of_one_compile_differ(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, stuck(0, [], "block0"), stuck(1, [], "block0", STACK[:4]), stuck(2, [], "block0", STACK[:3])))
    assert said(run).endswith(". 2 more ranks are also in it, in other phases or logs.")


def test_a_rank_behind_with_nothing_open(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0, 1, 2), Rank(3).compiled("block0")))
    assert said(run) == (
        "Rank 3 has started no other compile since block0 [0/0] so far. Ranks 0–2 have started no other compile "
        "since block1 [1/0] so far."
    )
    assert str(where(run).ranks_behind) == "3"
    lines = text(page(run, "@where", 120))
    assert "rank 3  so far no other compile since block0 [0/0]  user/blocks.py:0  behind: 1 compile finished" in lines


def test_what_a_rank_never_compiles_leaves_it_behind_nobody(tmp_path: Path) -> None:
    """It came to the same place, or finished as much in another order."""
    less, turned = Rank(2).compiled("block0", "block2"), Rank(3).compiled("block0", "block2", "block1")
    run = going_on(job(tmp_path, *others(0, 1, names=["block0", "block1", "block2"]), less, turned))
    assert str(where(run).ranks_behind) == ""
    assert "the job is not compiling" in text(page(run, "@where", 100))


def test_a_rank_that_has_not_begun(tmp_path: Path) -> None:
    late = Rank(1)
    late.add("str", ["/home/user/blocks.py", 0], ids=False)
    run = going_on(job(tmp_path, *others(0, 2), late))
    assert said(run).startswith(
        "Rank 1 has not started a compile yet. Ranks 0, 2 have started no other compile since block1 [1/0] so far"
    )


def test_ids_that_differ_stand_beside(tmp_path: Path) -> None:
    run = going_on(job(
        tmp_path, stuck(0, ["block0"], "block1"), stuck(1, ["block0"], "block1"), stuck(2, ["extra", "block0"], "block1"),
    ))  # fmt: skip
    assert said(run).startswith("All 3 ranks are in block1 [1/0], [2/0] on rank 2: ")


@pytest.mark.parametrize("torn", [False, True])
def test_a_rank_that_was_killed_while_the_others_went_on(tmp_path: Path, torn: bool) -> None:
    path = stuck(3, ["block0"], "block1").write(tmp_path)
    if torn:
        with path.open("ab") as file:
            file.write(b'V1120 09:20:05.000000 1003 torch/_dynamo/x.py:1] {"chromium_ev')
    run = ended(job(tmp_path, *others(0, 1, 2)))
    assert said(run).startswith("At the end of its log, rank 3 was in block1 [1/0]: inductor_compile ▸ fx_codegen_and_compile ")
    assert str(where(run).groups[0].finished_ranks) == "0–2"
    assert "py-spy dump --pid 1003" in text(page(run, "@where", 200)), "who is quiet for long may hang"


def test_clocks_are_put_right_before_ranks_are_compared(tmp_path: Path) -> None:
    """A node whose clock is 62 s ahead, and a rank that begins one compile late, which is no clock's doing."""
    ranks = [stuck(n, ["block0", "block1"], "block2", clock=62.0 if n in (2, 3) else 0.0) for n in range(6)]
    late = Rank(6).compiled("block0")
    late.at += 30
    late.begin("block1").end("block1")
    late.at -= 30
    run = going_on(job(tmp_path, *ranks, late.begin("block2")))
    found = where(run)
    assert [(str(clock.ranks), clock.ahead_s, clock.compiles) for clock in found.clocks] == [("2, 3", 62.0, 3)]
    (group,) = found.groups
    assert group.count == 7 and group.since_at_us == group.last_since_at_us == (DAY + 4) * 1e6
    said = " ".join(text(page(run, "@where", 100)).split())
    clocks = "The clocks of ranks 2, 3 are 62 s ahead of the others', or they started that much later: 3 compiles agree"
    assert f"{clocks} (± 0 ms)." in said


def test_one_compile_alone_tells_nothing_of_a_clock(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, stuck(0, [], "block0"), stuck(1, [], "block0"), stuck(2, [], "block0", at=DAY + 20)))
    assert where(run).clocks == ()


def test_of_a_rank_that_was_started_again_the_newest_process_counts(tmp_path: Path) -> None:
    old = stuck(1, ["block0"], "block1", at=DAY - 600, pid=77)
    job(tmp_path, *others(0, 2), Rank(1).compiled("block0", "block1"))
    old.write(tmp_path, "old_")
    run = going_on(tmp_path)
    assert said(run) == "All 3 ranks have started no other compile since block1 [1/0] so far."
    assert "Rank 1 was started again: its earlier process, pid 77, is in block1 [1/0]" in text(page(run, "@where", 100))


def test_a_rank_without_a_log(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0, 1, 4)))
    assert str(where(run).ranks_without_log) == "2, 3"
    assert "So far, no log of ranks 2, 3." in text(page(run, "@where", 100))


def test_processes_without_a_rank(tmp_path: Path) -> None:
    """That ran together; what ended before the newest one began is another run."""
    for number, at in ((1, DAY - 9000), (2, DAY), (3, DAY)):
        rank = Rank(None, pid=number, at=at)
        (rank.compiled("block0") if number < 3 else rank.begin("block0")).write(tmp_path, f"p{number}_")
    found = where(going_on(tmp_path))
    assert answer(found).startswith("Process 3 is in block0 [0/0]") and found.ranks == 3
    found = where(ended(tmp_path))
    assert answer(found).startswith("At the end of its log, process 3 was in block0 [0/0]")


def test_a_process_without_a_rank_beside_ranks(tmp_path: Path) -> None:
    Rank(None, pid=5).begin("block9").write(tmp_path)
    found = where(going_on(job(tmp_path, *others(0, 1))))
    assert (found.ranks, [one.pid for one in found.other_processes]) == (2, [5])


def test_one_process(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, stuck(0, ["block0"], "block1")))
    lines = text(page(run, "@where")).splitlines()
    assert lines[1].startswith("Rank 0 is in block1 [1/0]: inductor_compile")
    assert [line.split()[-1] for line in lines if line.startswith("    ") and line.split()[-1] in STACK] == list(STACK)


def test_the_summary_leads_there_while_compiles_run(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0), stuck(1, ["block0"], "block1")))
    shown = " ".join(text(page(run, "", 100)).split())
    since = clock((DAY + 2) * 1e6)
    assert f"rank 1 is in block1 [1/0]: inductor_compile ▸ fx_codegen_and_compile since {since}; rank 0 has" in shown
    assert "rank 0 has finished it" in shown
    assert "@where" not in text(page(ended(tmp_path), ""))


def test_a_part_of_the_run(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0, 1), stuck(2, ["block0"], "block1")))
    assert text(page(run, "@where:2:")).startswith("Where of rank 2\nRank 2 is in block1 [1/0]")


def test_without_timing_events(tmp_path: Path) -> None:
    """The beginning of a compile is known, its phases are not. A later compile tells that it is over."""
    rank = Rank(0).compiled("block0").begin("block1", ())
    rank.add("dynamo_start", {"stack": [{"line": 1, "name": "block1", "filename": 0}]})
    run = going_on(job(tmp_path, rank))
    (process,) = run.processes()
    found = inside(process)
    assert found is not None and (found.function, found.phases, found.trail) == ("block1", (), "")
    assert "no timing events yet, so its progress is unknown" in text(page(run, "@where", 100))
    rank.frame += 1
    run = going_on(job(tmp_path, rank.compiled("block2")))
    assert inside(next(run.processes())) is None


def test_metrics_that_are_damaged(tmp_path: Path) -> None:
    """All events have their ends: the compile is over, and the rank did compile something."""
    rank = Rank(0).compiled("block0")
    rank.lines = [line for line in rank.lines if "compilation_metrics" not in line]
    run = ended(job(tmp_path, rank))
    assert said(run) == "Rank 0 was not compiling at the end of its log. Its last compile was block0 [0/0]."


def test_work_at_run_time(tmp_path: Path) -> None:
    rank = Rank(0).compiled("block0")
    rank.frame = 0
    run = going_on(job(tmp_path, rank.event("B", "CachingAutotuner.benchmark_all_configs")))
    assert "in the compiled code of block0 [0/0]: CachingAutotuner.benchmark_all_configs" in said(run)


def test_many_ranks_at_many_places_take_few_lines(tmp_path: Path) -> None:
    ranks = [stuck(n, ["block0"] * (n % 7), f"block{n % 9}", STACK[: 3 + n % 4]) for n in range(300)]
    run = going_on(job(tmp_path, *ranks, *others(*range(300, 320), clock=20.0)))
    lines = text(page(run, "@where", 100)).splitlines()
    before_chart = lines[: lines.index("Ranks over time, so far") - 1]  # without the blank line
    assert len(before_chart) <= 31 and len(lines) <= 49
    assert sum(group.count for group in where(run).groups) == 320


# following


def test_asked_after_each_piece_it_reads_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record by record: the answer is that of a fresh start, and no event is read a second time."""
    rank = Rank(0).compiled("block0").begin("block1")
    for number in range(40):
        rank.event("B", f"pass{number}").event("E", f"pass{number}")
    rank.at += 1
    lines = rank.lines
    path = tmp_path / "dedicated_log_torch_trace_rank_0_x.log"
    path.write_text("", encoding="utf-8")
    run: Run | None = None
    follower: Follower | None = None
    reads: list[int] = []
    json_ = Reader.json

    def counted(self: Reader, record: int, limit: int = 1 << 20) -> Any:
        reads.append(record)
        return json_(self, record, limit)

    for count in range(1, len(lines) + 1):
        path.write_text("\n".join(lines[:count]) + "\n", encoding="utf-8")
        if run is None or follower is None:
            run = Run(Discovery([str(tmp_path)]).discover())
            follower = Follower(run, Discovery([str(tmp_path)]), HeldWriters())
        read(run, follower)
        process = next(run.processes(), None)
        if process is None:
            continue
        fresh = next(going_on(tmp_path).processes())
        expected = all_inside(fresh)
        with monkeypatch.context() as patch:
            patch.setattr(Reader, "json", counted)
            assert all_inside(process) == expected
        assert last_record(process) == last_record(fresh)
    assert len(reads) == len(set(reads)), "none twice"


def test_what_cannot_be_read_is_not_taken_for_an_end(tmp_path: Path) -> None:
    rank = Rank(0).begin("block0")
    rank.add("chromium_event", {}, "{no json")
    run = going_on(job(tmp_path, rank))
    (process,) = run.processes()
    (compile_,) = [own for own in process.ordered() if own.is_compile]
    phases, events = begun(compile_)
    assert [phase.name for phase in phases] == list(STACK) and events == len(STACK) + 1


def test_the_phases_that_tell_most() -> None:
    assert trail(["dynamo", "entire_frame_compile", "compile_attempt_3"]) == "compile_attempt_3"
    assert trail([*STACK, "GraphLowering.run"]) == "inductor_compile ▸ fx_codegen_and_compile ▸ GraphLowering.run"
    assert trail([*STACK, "a", "b", "c"]) == "inductor_compile ▸ fx_codegen_and_compile ▸ … ▸ b ▸ c"
    assert trail(["compile_file", "compile_file", "compile_file"]) == "compile_file ×3"
    assert trail([]) == ""


def test_the_innermost_phase_is_since_when() -> None:
    one = Inside("0/0", "[0/0]", "compile", "f", None, None, (Phase("dynamo", 1.0), Phase("gc", 2.0)), "", "")
    assert (one.since, one.trail) == (2.0, "gc")


def test_no_records(tmp_path: Path) -> None:
    found = Where(False, 0, False, (), Ranks(), (), Ranks(), 0, (), (), 0, ())
    assert answer(found) == "No trace records."


@pytest.mark.parametrize("name", ["train", "ca", "ddp", "breaks", "errors", "recompiles", "resets", "ddp_split", "cache_hit"])
def test_a_log_that_is_cut_anywhere(name: str, tmp_path: Path) -> None:
    """What is open is what the whole log ends later."""
    for source in sorted((HANGS.parent / "torch-2.13" / name).glob("*.log")):
        data = source.read_bytes()
        starts = [match.start() for match in re.finditer(rb"^V", data, re.MULTILINE)]
        for cut in random.Random(source.name).sample(range(1, len(starts)), 25):
            directory = tmp_path / f"{source.name}{cut}"
            directory.mkdir()
            (directory / source.name).write_bytes(data[: starts[cut]])
            (process,) = ended(directory).processes()
            found = Counter(phase.name for one in all_inside(process) for phase in one.phases)
            assert found == ending_after(source, cut), cut


def ending_after(source: Path, cut: int) -> Counter[str]:
    """What the log begins before the cut and ends after it, as the whole log tells. Metrics end what is open in a compile."""
    log = next(opened(source).processes()).log
    reader, open_ = Reader(log), defaultdict[object, list[tuple[str, int]]](list)
    spans, metrics = [], []
    for record in range(len(log)):
        context, event = log.context(record), log.kind(record).event
        own = context.autograd, context.frame, context.compile
        if event.endswith("compilation_metrics") or event == "compiled_autograd_graph":
            metrics.append((own, record))
        elif event == "chromium_event":
            value = reader.json(record, 1 << 25)
            if value["ph"] == "B":
                open_[own].append((value["name"], record))
            elif value["ph"] == "E":
                begin = next(one for one in reversed(open_[own]) if one[0] == value["name"])
                open_[own].remove(begin)
                spans.append((own, *begin, record))
    assert not any(open_.values()), "it is whole"
    ended_by = {(own, begin) for own, _, begin, _ in spans if any(o == own and begin < at < cut for o, at in metrics)}
    return Counter(name for own, name, begin, end in spans if begin < cut <= end and (own, begin) not in ended_by)


def test_what_its_processes_do_is_asked_of_the_machine(tmp_path: Path) -> None:
    """This very process holds the log open; its pid in the log is another one."""
    source = next((HANGS / "backend").glob("*.log"))
    log = tmp_path / source.name
    log.write_bytes(source.read_bytes())
    with log.open("ab"):
        run = open_run(discover([str(tmp_path)]))
        here = sample_processes(files_of(run), stacks=False)
        lines = "\n".join(texts_of(where_document(run, scope_of(run), Options(width=100), here)))
    assert f"pid {os.getpid()}" in lines and " thread" in lines and "on this machine" in lines
    assert "Python stack" not in lines


def test_the_processes_of_ranks_stand_in_their_order(tmp_path: Path) -> None:
    """Whatever the order in which their logs were found."""
    run = going_on(job(tmp_path, *others(0, 1, 2, 10)))
    logs = {process.rank: process.log.path for process in run.processes()}
    here = Here(tuple(LogProcesses(logs[rank], (), other_process_count=1) for rank in (1, 10, 2, 0)))
    lines = texts_of(where_document(run, scope_of(run), Options(width=100), here))
    headings = [line.split("Rank ")[1].split()[0] for line in lines if "on this machine" in line and "Rank " in line]
    assert headings == ["0", "1", "2", "10"]


def test_what_processes_did_is_said_of_the_time_when_they_were_asked(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0, 1)))
    here = Here(
        tuple(LogProcesses(process.log.path, (), other_process_count=1) for process in run.processes()), sampled_at="04:48:10"
    )

    def headings() -> list[str]:
        lines = texts_of(where_document(run, scope_of(run), Options(width=100), here))
        return [line.strip(" ▾") for line in lines if "on this machine" in line and "Rank" in line]

    assert headings() == [f"Rank {rank} on this machine at 04:48:10" for rank in (0, 1)]
    for model in run.models:
        model.end()
    assert headings() == [f"Rank {rank} on this machine at 04:48:10, before its log ended" for rank in (0, 1)]


def test_a_log_that_nobody_here_writes(tmp_path: Path) -> None:
    source = next((HANGS / "backend").glob("*.log"))
    (tmp_path / source.name).write_bytes(source.read_bytes())
    run = open_run(discover([str(tmp_path)]))
    lines = " ".join(texts_of(where_document(run, scope_of(run), Options(width=100), sample_processes(files_of(run), stacks=True))))
    assert "has the log open for writing. The job has ended, or runs on another machine" in " ".join(lines.split())


def test_of_several_logs_that_nobody_here_writes(tmp_path: Path) -> None:
    run = open_run(discover([str(job(tmp_path, *others(0, 1)))]))
    here = sample_processes(files_of(run), stacks=False)
    lines = " ".join(texts_of(where_document(run, scope_of(run), Options(width=200), here)))
    assert "No process on this machine has any of the 2 logs open for writing" in lines


def test_who_is_inside_of_a_compile_is_asked_first(tmp_path: Path) -> None:
    """Of 16 processes at most py-spy tells the stacks."""
    run = open_run(discover([str(job(tmp_path, *others(0, 1, 2, 10), stuck(3, ["block0"], "block1")))]))
    ranks = {process.log.path: process.rank for process in run.processes()}
    assert [ranks[path] for path in files_of(run)] == [3, 0, 1, 2, 10]


def test_the_number_of_a_thread_is_not_given_for_that_of_a_process(tmp_path: Path) -> None:
    """It stands in the logs of torch 2.4."""
    run = going_on(job(tmp_path, stuck(0, ["block0"], "block1", pid=140386553469824)))
    told = text(page(run, "@where", 100))
    assert "Add --stacks for its Python stacks." in told and "140386553469824" not in told


def test_the_command_asks_for_processes(tmp_path: Path) -> None:
    source = next((HANGS / "backend").glob("*.log"))
    log = tmp_path / source.name
    log.write_bytes(source.read_bytes())
    with log.open("ab"):
        command = [sys.executable, "-m", "tltui", "where", str(tmp_path), "--pids"]
        ran = subprocess.check_output(command, text=True)
        found = subprocess.check_output([*command, "--json"])
    assert f"pid {os.getpid()}" in ran
    assert json.loads(found)["result"]["processes"]["logs"][0]["processes"][0]["pid"] == os.getpid()


def test_the_answer_has_each_id_of_the_compile(tmp_path: Path) -> None:
    """A rank that lacks an earlier function has another id for the last compile."""
    ranked(tmp_path, "--ranks", 4, "--compiles", 4, "--detail", "tiny", "--plant", "missing_compile:ranks=0,compile=1")
    text_ = answer(where(open_run(discover([str(tmp_path)]))))
    assert text_ == "None of the 4 ranks was compiling at the end of its log. Their last compile was block3 [3/0], [2/0] on rank 0."
