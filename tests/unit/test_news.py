"""News: each fact of a growing run once, in the order of its records, and none that more bytes make wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import make_trace as mt
import pytest
from made_logs import Log
from real import TRACES
from replaying import HeldWriters, Replay

from tltui.model.follow import DELETED, Follower
from tltui.model.nodes import Compile
from tltui.model.run import Run, settle
from tltui.model.status import Status, status_of
from tltui.questions.news.news_sections import Layout, Sentence, TailLine, in_order, line_of, sentence_of
from tltui.questions.news.run_news import News, NewsKind, Watch
from tltui.sources.discover import Discovery, NothingFound
from tltui.text.document import Options
from tltui.trace.files import CUT_OFF, REPLACED, WRITTEN_ANEW, FileBytes

ENDS = (NewsKind.ENDED, NewsKind.ERROR, NewsKind.EAGER, NewsKind.LIMIT, NewsKind.UNFINISHED)
TORCH = TRACES / "torch-2.13"
SOME = [
    *(TORCH / name for name in ("breaks", "errors", "recompiles", "ddp", "ca", "cache_hit", "resets", "outcomes", "reasons")),
    *(TRACES / "versions" / f"torch-{version}" for version in ("2.4", "2.4_breaks", "2.5", "2.6", "2.7", "2.9", "2.15")),
    TRACES / "torch-2.8" / "skips",
]


class Followed:
    """A directory that is followed, what was told of it, and the clock in the test's hand."""

    def __init__(self, directory: Path, quiet: bool = False, size: int = 1 << 16) -> None:
        self.writers, self.now, self.size = HeldWriters(), 1000.0, size
        discovery = Discovery([str(directory)])
        self.run = Run(discovery.discover())
        self.watch = Watch(self.run, quiet)
        self.follower = Follower(self.run, discovery, self.writers, clock=lambda: self.now)
        self.news: list[News] = []
        self.lines: list[TailLine] = []

    def look(self, everything: bool = True) -> list[News]:
        """One look at the files; what it brought."""
        found: list[News] = []
        self.now += 10.0
        for event in self.follower.read(self.size) if everything else self.follower.poll():
            found += self.watch.read_event(event, self.run.update(event))
        settle(self.run)
        self.news += found
        self.lines += [line_of(self.run, news) for news in found]
        return found

    def said(self, news: News) -> Sentence:
        return sentence_of(self.run, news)


def fact(line: TailLine) -> tuple[object, ...]:
    """What a line says, but for how the compile is called by then."""
    ref = re.sub(r"~\d+", "", line.ref).rpartition(":")[2] if "/" in line.ref else ""
    name = Path(line.log).name
    return (line.kind, ref, line.function, line.status, line.duration_s, line.text, line.file, line.line, line.time, name)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("trace", SOME, ids=lambda path: path.name)
def test_pieces_tell_what_a_fresh_start_tells(trace: Path, seed: int, tmp_path: Path) -> None:
    replay = Replay(sorted(trace.glob("*.log")), tmp_path / "trace", seed)
    followed: Followed | None = None
    for _ in replay.play():
        try:
            followed = followed or Followed(replay.target, size=(1 << 16, 300, 5000)[seed])
        except NothingFound:
            continue
        followed.look()
    assert followed is not None
    followed.writers.over = True
    followed.look()
    fresh = Followed(replay.target)
    fresh.writers.over = True
    fresh.look()
    assert Counter(map(fact, followed.lines)) == Counter(map(fact, fresh.lines))
    for one in (followed, fresh):
        for log in range(len(one.run.models)):
            records = [news.record for news in one.news if news.log == log]
            assert records == sorted(record for record in records if record is not None), "in the order of the records"
    assert_agrees(fresh)
    assert followed.watch._open == {}


def assert_agrees(followed: Followed) -> None:
    """Each compile has one end, and it is what the pages say of it, but for its backward."""
    ends: dict[str, Status | None] = {}
    for news, line in zip(followed.news, followed.lines, strict=True):
        if news.kind in ENDS and not line.text.startswith("backward"):
            assert line.ref not in ends
            compile_ = followed.run.resolve(line.ref)
            assert isinstance(compile_, Compile) and line.function == compile_.frame.code[0]
            ends[line.ref] = line.status
    compiles = [compile_ for compile_ in followed.run.compiles() if compile_.is_compile]
    assert ends == {str(c.ref): status_of(replace(c.facts, backward_failed=False)) for c in compiles}
    breaks = sum(compile_.tally.breaks for compile_ in followed.run.compiles())
    assert sum(line.kind is NewsKind.BREAK for line in followed.lines) == breaks
    recompiles = {str(compile_.ref) for compile_ in compiles if compile_.is_recompile}
    assert {line.ref for line in followed.lines if line.kind is NewsKind.RECOMPILE} == recompiles


class Writing:
    """A log that is written record by record, and followed."""

    def __init__(self, directory: Path, *ready: bytes, quiet: bool = False) -> None:
        directory.mkdir(exist_ok=True)
        self.path = directory / "dedicated_log_torch_trace_a.log"
        self.path.write_bytes(b"".join(ready) or mt.string("/home/user/f.py", 0))
        self.followed = Followed(directory, quiet)
        self.followed.look()

    def write(self, *records: bytes) -> list[str]:
        """Write on; what is told of it."""
        with self.path.open("ab") as file:
            file.write(b"".join(records))
        return self.look()

    def look(self) -> list[str]:
        return [f"{news.kind} {news.label} {self.followed.said(news).text}".replace("  ", " ") for news in self.followed.look()]


@pytest.fixture
def writing(tmp_path: Path) -> Writing:
    return Writing(tmp_path / "trace")


def ids(compile_: int = 0, frame: int = 0, attempt: int = 0) -> dict[str, int]:
    return {"frame": frame, "compile": compile_, "attempt": attempt}


def ended(compile_: int = 0, frame: int = 0, event: str = "compilation_metrics", attempt: int = 0, **fields: object) -> bytes:
    usual = {"graph_op_count": 2, "restart_reasons": [], "duration_us": 1_500_000, "pytorch_version": "2.13.0", "co_name": "f"}
    return mt.record(event, usual | fields, **ids(compile_, frame, attempt))


def test_a_compile_begins_and_ends_once(writing: Writing) -> None:
    assert writing.write(mt.start(**ids())) == ["begun [0/0] begun"]
    assert writing.write(mt.start(**ids(attempt=1))) == [], "a restart is no beginning"
    assert writing.write(mt.record("dynamo_output_graph", {}, "graph", **ids())) == []
    assert writing.write(ended()) == ["ended [0/0] ended 1.50 s"]
    assert writing.write(ended(event="bwd_compilation_metrics", duration_us=2_000)) == ["backward [0/0] backward ended 2 ms"]


def test_a_backward_that_fails_takes_nothing_back(writing: Writing) -> None:
    assert writing.write(mt.start(**ids()), ended())[-1] == "ended [0/0] ended 1.50 s"
    failed = ended(event="bwd_compilation_metrics", fail_type="RuntimeError", fail_reason="no\nmore", duration_us=None)
    assert writing.write(failed) == ["error [0/0] backward failed: RuntimeError: no"]
    assert writing.followed.news[-1].status is Status.ERROR


def test_a_backend_that_fails_is_told_with_what_it_raised(writing: Writing) -> None:
    """The first line of the reason names the backend alone."""
    failed = ended(fail_type="torch._dynamo.exc.BackendCompilerFailed", fail_reason="backend='bad' raised:\nRuntimeError: no\nmore")
    found = writing.write(mt.start(**ids()), failed)
    assert found[-1].endswith("BackendCompilerFailed: backend='bad' raised: RuntimeError: no")


def test_a_backward_that_cannot_be_compiled_ahead(writing: Writing) -> None:
    raised = 'Traceback (most recent call last):\n  File "/home/user/f.py", line 7, in g\n    h()\nRuntimeError: no\n'
    writing.write(mt.start(**ids()))
    assert writing.write(mt.artifact("eager_compile_backwards_failure", raised, **ids())) == [
        "backward [0/0] the backward could not be compiled ahead of its first call: RuntimeError: no",
    ]  # fmt: skip


def test_what_the_caches_answered(writing: Writing) -> None:
    for number, answers in enumerate((("hit", "hit"), ("hit", "miss"), ("miss", "miss"))):
        writing.write(mt.start(**ids(frame=number)))
        names = ("fx_graph_cache_", "aotautograd_cache_")
        asked = [name + answer for name, answer in zip(names, answers, strict=True)]
        records = [mt.artifact(name, "{}", **ids(frame=number)) for name in asked]
        said = ", from the cache" if number == 0 else ""
        assert writing.write(*records, ended(frame=number)) == [f"ended [{number}/0] ended 1.50 s{said}"]
    assert [news.cached for news in writing.followed.news if news.kind is NewsKind.ENDED] == ["hit", "", "miss"]


def test_a_recompile_is_told_when_its_graph_is_there(writing: Writing) -> None:
    writing.write(mt.start(**ids()), ended())
    reasons = mt.artifact("recompile_reasons", '["0/0: n == 2"]', **ids(1))
    assert writing.write(reasons) == []
    assert writing.write(mt.start(**ids(1))) == ["begun [0/1] begun again"]
    assert writing.write(mt.record("create_symbol", {"symbol": "s0", "val": "5", "source": "L['n']"}, **ids(1))) == []
    graph = mt.record("dynamo_output_graph", {}, "graph", **ids(1))
    assert writing.write(graph) == ["recompile [0/1] recompile: int value, n: 2 → 5"]
    assert writing.write(graph) == []
    assert writing.write(ended(1)) == ["ended [0/1] ended 1.50 s"]


def test_a_recompile_without_a_graph_is_told_with_its_end(writing: Writing) -> None:
    writing.write(mt.start(**ids()), ended())
    writing.write(mt.artifact("recompile_reasons", '["0/0: n == 2"]', **ids(1)), mt.start(**ids(1)))
    assert writing.write(ended(1, graph_op_count=None)) == [
        "recompile [0/1] recompile: int value, n no longer 2", "ended [0/1] ended 1.50 s, no operations were captured",
    ]  # fmt: skip


def test_reasons_that_come_after_the_start(writing: Writing) -> None:
    writing.write(mt.start(**ids()), ended())
    assert writing.write(mt.start(**ids(1)), mt.record("dynamo_output_graph", {}, "graph", **ids(1))) == ["begun [0/1] begun again"]
    reasons = mt.artifact("recompile_reasons", '["0/0: tensor \'x\' size mismatch at index 0. expected 3, actual 5"]', **ids(1))
    assert writing.write(reasons) == []
    assert writing.write(ended(1))[0] == "recompile [0/1] recompile: tensor size, x dim 0: 3 → 5"


def test_a_function_that_is_given_up_and_one_at_the_limit(writing: Writing) -> None:
    reason = "Unsupported builtin\n  Explanation: no\n  Hint: yes\n"
    text = "Graph break in user code at /home/user/f.py:7\nGraph Break Reason: Unsupported builtin\n  Explanation: no\n"
    assert writing.write(mt.start(**ids()), mt.artifact("dynamo_graph_break_reason", text, **ids())) == [
        "begun [0/0] begun", "break [0/0] graph break: Unsupported builtin",
    ]  # fmt: skip
    found = writing.write(ended(fail_type="Unsupported", fail_reason=reason, graph_op_count=None))
    assert found == ["eager [0/0] fell back to eager mode after 1.50 s: Unsupported: Unsupported builtin"]
    limit = ended(1, fail_type="RecompileLimitExceeded", fail_reason="recompile_limit reached", graph_op_count=None)
    assert writing.write(limit) == ["limit [0/1] recompile limit reached: calls that match no compiled version run in eager mode"]


def test_what_the_end_of_a_log_means(writing: Writing) -> None:
    """Until it is known that nobody writes any more nothing is said of what is not there."""
    writing.write(mt.start(**ids()), ended(), mt.start(frame=1, compile=0, attempt=0), b"V1120 09:2")
    writing.followed.writers.over = True
    name = writing.path.name
    assert writing.look() == ["unfinished [1/0] unfinished when the log ends", f"over {name}: no process writes to it anymore"]
    assert writing.look() == []


def test_a_limit_that_torch_25_does_not_say_is_told_when_the_log_has_ended(tmp_path: Path) -> None:
    (log,) = (TRACES / "versions" / "torch-2.5").glob("*.log")
    writing = Writing(tmp_path / "trace", log.read_bytes())
    assert not any(news.kind is NewsKind.LIMIT for news in writing.followed.news)
    writing.followed.writers.over = True
    assert [text.partition(" ")[0] for text in writing.look()] == ["recompile", "limit", "over"]


def test_a_restart_is_a_graph_break_only_where_torch_logs_it_so(tmp_path: Path) -> None:
    kinds = {}
    for version in ("2.5", "2.6"):
        followed = Followed(TRACES / "versions" / f"torch-{version}")
        followed.look()
        kinds[version] = [line.kind.value for line in followed.lines if line.ref == "0/0"], followed.news[1].kind
    assert kinds == {version: (["begun", "break", "ended"], NewsKind.BEGUN) for version in kinds}
    log = Log(tmp_path / "a.log").start().metrics(restart_reasons=["why\nnot"], pytorch_version=None)
    log.open()
    followed = Followed(tmp_path)
    followed.look()
    assert [(line.kind, line.text, line.status) for line in followed.lines][2:] == [
        (NewsKind.RESTART, "restarted analysis: why", None), (NewsKind.ENDED, "ended 1.50 s", Status.OK),
    ]  # fmt: skip


def test_ids_that_begin_again_are_said_once(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "trace", mt.string("/home/user/f.py", 0), mt.start(**ids()), ended())
    assert writing.write(mt.start(**ids())) == [
        "epoch compile ids restarted, as after torch._dynamo.reset(): epoch 2", "begun [0/0~2] begun",
    ]  # fmt: skip
    assert writing.write(mt.start(frame=1, compile=0, attempt=0)) == ["begun [1/0~2] begun"]


def test_reasons_of_an_id_that_begins_again_are_not_those_of_the_older_compile(writing: Writing) -> None:
    writing.write(mt.start(**ids()), ended(), mt.start(**ids(1)), ended(1))
    writing.write(mt.start(**ids()), ended())
    assert writing.write(mt.artifact("recompile_reasons", '["0/0: n == 2"]', **ids(1))) == []
    assert writing.write(mt.start(**ids(1))) == ["begun [0/1~2] begun again"]
    graph = mt.record("dynamo_output_graph", {}, "graph", **ids(1))
    assert writing.write(graph) == ["recompile [0/1~2] recompile: int value, n no longer 2"]


def test_what_was_there_is_not_told_to_who_came_later(tmp_path: Path) -> None:
    reasons = mt.artifact("recompile_reasons", '["0/0: n == 2"]', **ids(1))
    ready = (mt.string("/home/user/f.py", 0), mt.start(**ids()), ended(), reasons, mt.start(**ids(1)))
    writing = Writing(tmp_path / "trace", *ready, quiet=True)
    assert writing.followed.news == []
    graph = mt.record("dynamo_output_graph", {}, "graph", **ids(1))
    assert writing.write(graph) == ["recompile [0/1] recompile: int value, n no longer 2"]
    assert Watch(writing.followed.run, quiet=True)._open.popitem()[1].reported, "its graph was there"
    assert writing.write(ended(1)) == ["ended [0/1] ended 1.50 s"]
    late = Watch(writing.followed.run, quiet=True)
    assert late.size > 0
    rank = writing.path.with_name("dedicated_log_torch_trace_rank_3_b.log")
    rank.write_bytes(mt.record("dynamo_start", {"stack": []}, rank=3, frame=0, compile=0, attempt=0, pid=7))
    assert writing.look() == [f"process process 7: {rank.name}", "begun [0/0] begun"], "a new rank is told from its beginning"
    assert {news.rank for news in writing.followed.news[-2:]} == {3}


def test_nothing_is_read_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    followed = Followed(TORCH / "outcomes")

    def read(*_: object) -> bytes:
        raise AssertionError("a payload was read")

    found = []
    for event in followed.follower.read(5000):
        delta = followed.run.update(event)
        with monkeypatch.context() as patched:
            patched.setattr(FileBytes, "read", read)
            found += followed.watch.read_event(event, delta)
    assert [news.text for news in found if news.is_trouble][2:5] == [
        "graph break", "fell back to eager mode after a graph break", "graph break",
    ]  # fmt: skip


def faults(followed: Followed) -> list[tuple[str, str]]:
    told_of = (NewsKind.LOST, NewsKind.MOVED, NewsKind.UNREADABLE, NewsKind.READABLE)
    return [(str(line.kind), line.text) for line in followed.lines if line.kind in told_of]


@pytest.fixture
def job(tmp_path: Path) -> Writing:
    return Writing(tmp_path / "trace", mt.string("/home/user/f.py", 0), mt.start(**ids()), ended(), mt.start(**ids(1)))


def looks(followed: Followed) -> None:
    for _ in range(8):
        followed.look(everything=False)


def test_a_log_that_is_cut_off(job: Writing) -> None:
    job.path.write_bytes(mt.start(frame=5, compile=0, attempt=0))
    looks(job.followed)
    assert faults(job.followed) == [("lost", f"{job.path.name}: {CUT_OFF}")]
    assert [(str(news.kind), news.label) for news in job.followed.news[4:]] == [
        ("lost", ""), ("unfinished", "[0/1]"), ("process", ""), ("begun", "[5/0]"),
    ]  # fmt: skip


def test_a_log_that_another_file_replaces(job: Writing, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_bytes(mt.start(frame=5, compile=0, attempt=0) * 40)
    other.replace(job.path)
    looks(job.followed)
    assert faults(job.followed) == [("lost", f"{job.path.name}: {REPLACED}")]


def test_a_log_that_is_written_anew(job: Writing) -> None:
    job.path.write_bytes(mt.start(frame=5, compile=0, attempt=0) * 40)
    looks(job.followed)
    assert faults(job.followed) == [("lost", f"{job.path.name}: {WRITTEN_ANEW}")]


def test_a_log_that_is_rotated(job: Writing) -> None:
    moved = job.path.with_name(f"{job.path.name}.1")
    job.path.rename(moved)
    job.path.write_bytes(mt.start(frame=5, compile=0, attempt=0, pid=9))
    looks(job.followed)
    assert faults(job.followed) == [("moved", f"log renamed to {moved.name}")]
    with moved.open("ab") as file:
        file.write(ended(1))
    looks(job.followed)
    assert {news.label for news in job.followed.news[5:] if news.kind is not NewsKind.PROCESS} == {"[5/0]", "[0/1]"}


def test_a_log_that_is_deleted_and_comes_back(job: Writing, tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere"
    job.path.rename(kept)
    looks(job.followed)
    kept.rename(job.path)
    with job.path.open("ab") as file:
        file.write(ended(1))
    looks(job.followed)
    name = job.path.name
    assert faults(job.followed) == [("unreadable", f"{name}: {DELETED}"), ("readable", f"{name}: it can be read again")]


def test_a_day_of_compiles_leaves_nothing(tmp_path: Path) -> None:
    """24 hours at a compile each 40 s; what is kept is of those that are open."""
    writing = Writing(tmp_path / "trace")
    sizes = set()
    for hour in range(24):
        for n in range(90):
            number = 90 * hour + n
            reasons = mt.artifact("recompile_reasons", '["0/0: n == 2"]', **ids(number))
            again = (reasons, mt.start(**ids(number))) if number else (mt.start(**ids()),)
            with writing.path.open("ab") as file:
                file.write(b"".join((*again, mt.record("dynamo_output_graph", {}, "graph", **ids(number)), ended(number))))
        writing.followed.look()
        sizes.add(writing.followed.watch.size)
    assert len(sizes) == 1
    assert Counter(news.kind for news in writing.followed.news) == {
        NewsKind.PROCESS: 1, NewsKind.BEGUN: 2160, NewsKind.ENDED: 2160, NewsKind.RECOMPILE: 2159,
    }  # fmt: skip


def laid_out(run: Run, streams: Iterable[list[News]], options: Options, width: int) -> list[str]:
    rows = [(news, line_of(run, news)) for _, news in in_order(run, streams)]
    return list(Layout(options, width).document(run, rows).text())


def test_hostile_and_long_texts_are_one_line_that_steers_nothing(writing: Writing) -> None:
    evil = "\x1b]0;pwned\x07\u202e" + "x" * 100_000
    stack = {"stack": [{"line": 1, "name": f"f\n\x1b[2J{evil}", "filename": 0}]}
    writing.write(mt.record("dynamo_start", stack, **ids()))
    writing.write(ended(fail_type=evil, fail_reason=f"{evil}\n{evil}", co_name=f"g\x1b[31m{evil}"))
    run, news = writing.followed.run, writing.followed.news
    for width, ascii_ in ((80, False), (400, True)):
        lines = laid_out(run, [news], Options(ascii=ascii_), width)
        assert len(lines) == 3
        assert max(map(len, lines)) <= width
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", "".join(lines))
    assert all(len(line.text) <= 400 for line in writing.followed.lines)


def test_lines_of_several_logs_stand_by_time(tmp_path: Path) -> None:
    for rank, second in ((0, 30), (1, 20)):
        records = (mt.start(frame=n, compile=0, attempt=0, rank=rank, pid=rank + 1, time=f"1120 09:22:{second + n}.000000")
                   for n in range(3))  # fmt: skip
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_bytes(b"".join(records))
    followed = Followed(tmp_path)
    followed.look()
    streams = [[news for news in followed.news if news.log == log] for log in (0, 1)]
    lines = laid_out(followed.run, streams, Options(), 100)
    assert [line.split()[:5:2] for line in lines if "begun" in line] == [
        ["09:22:20", "1", "f"], ["09:22:21", "1", "f"], ["09:22:22", "1", "f"],
        ["09:22:30", "0", "f"], ["09:22:31", "0", "f"], ["09:22:32", "0", "f"],
    ]  # fmt: skip
    assert {line.index("begun") for line in lines if "begun" in line} == {30}
