"""Every page of a run that is known from text alone: what it says, and what it does not."""

from __future__ import annotations

import lzma
import os
import re
from dataclasses import replace
from pathlib import Path

import pages
import pytest
from real import demo
from text_runs import INPUTS, text_run, unpacked

from tltui.cli import main
from tltui.documents.scope import in_output
from tltui.model.artifacts import Artifact
from tltui.model.follow import Follower, open_run
from tltui.model.record_reader import Reader
from tltui.model.ref import parse_ref, split_line
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.build import build
from tltui.questions.check.limits import gates, needing_a_trace, parse_limits, why_a_trace
from tltui.questions.compare.page import compare_nodes
from tltui.questions.index import QUESTIONS
from tltui.questions.job_failures.job_failures import independent_failures, printed_of, run_failures
from tltui.questions.ranks.differences import differences_of as diverging
from tltui.questions.recompiles.recompile_reasons import Became, became_of, instants_of
from tltui.questions.records.log_page import LogDocument
from tltui.sources.discover import Found, FoundLog, discover
from tltui.text.document import Document, Options
from tltui.tree.header import Live, header

RUNS = {
    "ranks": ("ranks_merged/stderr.txt.xz",),
    "crash": ("crash/stderr.txt.xz",),
    "recompiles": ("recompiles/stderr.txt.xz",),
    "breaks": ("breaks/stderr.txt.xz",),
    "recorded": ("other/torchrun_recorded.txt",),
}
WRONG = re.compile(
    r"\bkilled|\bmissing|\b0\.0 s\b|\b0 ms\b|no metrics|not finished|[0-9] unfinished|log ends|cut off", re.IGNORECASE
)
PAGES = ["", "@pages", "@damage", "@records", "@log", *(f"@{view.name}" for view in QUESTIONS)]


def page(run: Run, ref: str, width: int = 100, ascii_: bool = False) -> Document:
    return pages.page(run, ref, width, ascii_)


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest) -> Run:
    return text_run(*RUNS[request.param])


def said(run: Run, ref: str) -> str:
    return "\n".join(page(run, ref).text())


def joined(run: Run, ref: str) -> str:
    """Without the line ends of wrapping."""
    return " ".join(said(run, ref).split())


def test_no_page_says_what_text_cannot_tell(run: Run) -> None:
    compiles = [str(compile_.ref) for compile_ in run.compiles() if compile_.is_compile]
    frames = [str(frame.ref) for process in run.processes() for frame in process.frames.values()]
    refs = [*PAGES, *compiles, *frames, *(f"@{view.name}:{compiles[0]}" for view in QUESTIONS)]
    for ref in refs:
        for line in page(run, ref).text():
            assert not WRONG.search(line) or ref in ("@log", "@pages"), f"{ref}: {line}"


def test_each_compile_is_seen_or_broke_or_failed(run: Run) -> None:
    found = {compile_.status for compile_ in run.compiles() if compile_.is_compile}
    assert found <= {Status.SEEN, Status.BREAK, Status.ERROR}


@pytest.mark.parametrize("view", ["timing", "caches", "metrics", "where", "exports", "vllm", "absent"])
def test_a_page_that_text_has_nothing_of_is_one_sentence_and_the_way_to_the_lines(view: str) -> None:
    lines = list(page(text_run(*RUNS["breaks"]), f"@{view}").text())
    assert " ".join(lines[:-2]).startswith("TORCH_LOGS text ")
    assert "To record a trace, set TORCH_TRACE=DIR." in " ".join(lines[:-2])
    assert lines[-1] == "Available page: @log every line as it was written"


def test_an_empty_page_does_not_claim_that_there_is_nothing() -> None:
    run = text_run("other/torchrun_recorded.txt")  # TORCH_LOGS=graph_code,guards
    assert "lacks the reasons for recompiles. To log them as text, set TORCH_LOGS=recompiles." in joined(run, "@recompiles")
    assert "As far as the logs show, torch recorded no recompilation" in joined(run, "@recompiles")
    assert "The text lacks graph breaks. To log them as text, set TORCH_LOGS=graph_breaks" in joined(run, "@problems")
    assert "lacks symbols and specializations. To log them as text, set TORCH_LOGS=dynamic" in joined(run, "@shapes")
    assert "TORCH_LOGS" not in joined(run, "@guards")  # they are there


def test_the_first_lines_name_the_rank_that_failed_first() -> None:
    run = text_run(*RUNS["ranks"])
    first = "✗ rank 1 failed first (exit code 1): RuntimeError: rank 1 gives up  job/ranks.py:15"
    lines = list(page(run, "").text())
    assert first in lines[:9]
    problems = joined(run, "@problems")
    assert "rank 1 failed first (exit code 1): RuntimeError: rank 1 gives up" in problems
    assert "rank 0 lost the connection to another rank (SIGTERM)" in problems
    assert [item.rank for item in independent_failures(run_failures(run))] == [1]


def test_the_failure_in_a_file_of_its_own_belongs_to_what_torchrun_says_in_another() -> None:
    logs = sorted((unpacked("ranks_redirect/log")).rglob("stderr.*"))
    assert len(logs) == 2
    run = text_run("ranks_redirect/stderr.txt.xz", *(str(log.relative_to(unpacked("ranks_redirect").parent)) for log in logs))
    first, other = run_failures(run)
    assert first.sentence == "rank 1 failed first (exit code 1): RuntimeError: rank 1 gives up"
    assert (other.rank, other.is_consequence) == (0, True)
    assert Path(first.log).parent.name == "1" or "_1_" in first.log


def test_torchruns_own_log_says_whom_it_ended_where_its_summary_is_not_there() -> None:
    first, other = run_failures(text_run("made/slurm_label.txt.xz"))
    assert first.sentence == "rank 1 failed first: RuntimeError: rank 1 gives up"
    assert other.is_consequence and other.sentence.startswith("rank 0 lost the connection to another rank")


def test_a_failed_compile_is_probably_the_last_one_without_an_end() -> None:
    run = text_run(*RUNS["crash"])
    (failure,) = run_failures(run)
    assert (failure.compile, failure.is_compile) == ("1/0", True)
    assert "[1/0] probably" in said(run, "")
    statuses = {str(own.ref): own.status for own in run.compiles() if own.is_compile}
    assert statuses == {"0/0": Status.SEEN, "1/0": Status.ERROR}
    assert said(run, "1/0").startswith("✗ failed (traceback in the output)")
    assert "BackendCompilerFailed" in said(run, "1/0")
    assert "BackendCompilerFailed" not in said(run, "0/0")


def test_a_limit_on_errors_sees_what_the_output_says() -> None:
    def passed(name: str) -> bool:
        return gates(text_run(*RUNS[name]), parse_limits("error")).passed

    assert not passed("crash") and not passed("ranks") and passed("recompiles")
    (limit,) = gates(text_run(*RUNS["crash"]), parse_limits("error")).limits
    assert limit.value == 1 and limit.reasons[0].ref == "1/0"


def test_limits_on_what_text_does_not_tell_are_no_limits(capsys: pytest.CaptureFixture[str]) -> None:
    run = text_run(*RUNS["breaks"])
    assert needing_a_trace(run, parse_limits("error,break,recompiles")) == ()
    assert needing_a_trace(demo(), parse_limits("compile_time=5,eager")) == ()
    said = "compile_time: needs a trace. TORCH_LOGS text does not record it. To record a trace, set TORCH_TRACE=DIR"
    assert why_a_trace(run, needing_a_trace(run, parse_limits("compile_time=5,break"))) == said
    path = str(unpacked(RUNS["breaks"][0]))
    assert main(["check", path, "--fail-on", "compile_time=5,break=9"]) == 2
    assert said in capsys.readouterr().err
    assert main(["check", path, "--fail-on", "break=9"]) == 0
    capsys.readouterr()
    assert main(["check", path]) == 0
    out = capsys.readouterr().out
    assert "✓  error" in out and "✓  eager" not in out  # it is not said to have passed


# the page of all lines


def test_the_log_has_every_line_as_it_was_written() -> None:
    for name in ("ranks_merged/stderr.txt.xz", "breaks/stderr.txt.xz"):
        written = unpacked(name).read_text(encoding="utf-8")
        assert [line.rstrip() for line in page(text_run(name), "@log").text()][: written.count("\n")] == [
            line.rstrip().replace("\t", "    ") for line in written.split("\n")
        ][: written.count("\n")]


def test_colours_and_carriage_returns_are_not_shown_unless_raw() -> None:
    for name in ("tty_pty/terminal.txt.xz", "tty_stdout/stderr.txt.xz"):
        run = text_run(name)
        assert not any("␛" in line or "␍" in line for line in page(run, "@log").text())
        raw = build(run, "@log", Options(raw=True))
        assert any("␛" in line for line in raw.text())


def test_a_line_leads_to_what_became_of_it_and_back(run: Run) -> None:
    document = page(run, "@log")
    assert isinstance(document, LogDocument)
    links = (link.target for n in range(len(document)) for link in document.line(n).links)
    targets = {target for target in links if not target.startswith(("file:", "https:"))}
    assert any(":" in target.rpartition("/")[2] for target in targets)  # artifacts
    for target in targets:
        run.resolve(parse_ref(target))
    for link in (link for n in range(len(page(run, "@problems"))) for link in page(run, "@problems").line(n).links):
        if link.target.startswith("@log@L"):
            number = split_line(link.target)[1]
            assert number is not None and "Traceback" in document.line(number - 1).text


def test_a_line_leads_to_the_artifact_that_holds_it() -> None:
    run = text_run(*RUNS["breaks"])
    document = page(run, "@log")
    seen = 0
    for n in range(len(document)):
        line = document.line(n)
        targets = (link.target for link in line.links if ":" in link.target)
        target = next((target for target in targets if not target.startswith(("file:", "https:"))), "")
        if "dynamo_output_graph" in target:
            text = line.text.partition("[__graph_code] ")[2].strip()
            if text.startswith(("def ", "return ")):
                assert text in said(run, target)
                seen += 1
    assert seen > 4


def test_the_lines_of_a_compile_and_of_a_rank() -> None:
    run = text_run(*RUNS["ranks"])
    own = list(page(run, "@log:1:1/1").text())
    assert own and all("[1/1" in line for line in own if re.match(r"\[rank1\]:[VIWE]\d", line))
    assert not any(line.startswith("[rank0]") for line in own)
    everything, first, second = (list(page(run, ref).text()) for ref in ("@log", "@log:0:", "@log:1:"))
    assert not any(line.startswith("[rank1]") for line in first) and not any(line.startswith("[rank0]") for line in second)
    for rank, lines in ((0, first), (1, second)):
        mine = [line for line in everything if line.startswith(f"[rank{rank}]")]
        assert [line for line in lines if line.startswith("[rank")] == mine


def test_sections_are_compiles_and_failures() -> None:
    document = page(text_run(*RUNS["crash"]), "@log")
    titles = [section.title for section in document.sections()]
    assert titles[0] == "[0/0] ok" and "[1/0] g" in titles
    assert titles[-1].startswith("BackendCompilerFailed")
    last = -1
    for section in document.sections():
        assert last < section.first < section.last
        last = section.last


def test_several_outputs_stand_one_below_the_other() -> None:
    run = text_run("crash/stderr.txt.xz", "breaks/stderr.txt.xz")
    heads = [line for line in page(run, "@log").text() if line.startswith("==> ")]
    assert len(heads) == 2


def test_a_run_without_output_says_how_to_have_it() -> None:
    text = said(demo(), "@log")
    assert "No job output was opened." in text
    assert "2> job.err" in text


def test_what_was_read_of_an_output_is_not_read_again(tmp_path: Path) -> None:
    whole = unpacked("ranks_merged/stderr.txt.xz").read_bytes()
    log = text_run(*RUNS["ranks"]).models[0].log
    assert printed_of(log) is printed_of(log)
    assert printed_of(log).tracebacks[0].headline == "RuntimeError: rank 1 gives up"
    cut = tmp_path / "cut.txt"
    cut.write_bytes(whole[: whole.index(b"[rank1]: RuntimeError")])
    assert printed_of(text_run(cut).models[0].log).tracebacks[0].headline == ""


def test_an_artifact_knows_its_lines() -> None:
    run = text_run(*RUNS["ranks"])
    node = run.resolve("1:1/1:recompile_reasons")
    assert isinstance(node, Artifact)
    ref = in_output(run, node.owner.process, node.record)
    document = page(run, ref)
    assert isinstance(document, LogDocument)
    assert "[__recompiles] Recompiling function" in document.line(document.start).text
    assert ref in {link.target for n in range(6) for link in page(run, f"@record:{ref.partition(':')[2]}").line(n).links}


def test_the_log_goes_on_while_the_job_prints(tmp_path: Path) -> None:
    whole = unpacked("ranks_merged/stderr.txt.xz").read_bytes()
    file = tmp_path / "job.err"
    file.write_bytes(whole[:50_000])
    run = Run(Found((str(file),), (FoundLog(str(file), 50_000, None, "", 0.0, 0.0, form="text"),), ()))
    with file.open("ab") as job:
        follower = Follower(run)
        for event in follower.read(1 << 20):
            run.update(event)
        document = page(run, "@log")
        assert isinstance(document, LogDocument) and document.is_live and not document.refresh()
        before = list(document.text())
        job.write(whole[50_000:])
        job.flush()
        for event in follower.poll():
            run.update(event)
    assert document.refresh() and document.advance()
    after = list(document.text())
    assert after[: len(before) - 1] == before[:-1] and len(after) == whole.count(b"\n")
    assert run_failures(run)[0].is_first


def test_a_debug_directory_alone_has_its_own_words() -> None:
    run = open_run(discover([str(unpacked("mlp/torch_compile_debug"))]))
    assert said(run, "@guards").startswith("A torch_compile_debug directory lacks guards. To record a trace")
    assert "Available pages: summary provenance layers memory fusion passes" in said(run, "@timing")
    assert (
        "A torch_compile_debug directory has no timestamps "
        "and does not record whether a compilation succeeded"
    ) in joined(run, "")
    for view in QUESTIONS:
        assert not WRONG.search(said(run, f"@{view.name}")), view.name
        assert "TORCH_LOGS text" not in said(run, f"@{view.name}"), view.name


def test_torchruns_own_process_compiled_nothing_and_is_not_missed() -> None:
    run = text_run(*RUNS["ranks"])
    assert sum(len(model.processes) for model in run.models) == 3 and len(list(run.processes())) == 2
    for view in QUESTIONS:
        assert "of 3 processes" not in said(run, f"@{view.name}")


def test_what_a_trace_says_of_a_failure_is_not_said_again(tmp_path: Path) -> None:
    (trace,) = unpacked("crash/trace").glob("*.xz")
    (tmp_path / trace.stem).write_bytes(lzma.decompress(trace.read_bytes()))
    (tmp_path / "job.err").write_bytes(unpacked("crash/stderr.txt.xz").read_bytes())
    found = discover([str(tmp_path / trace.stem)])
    text = FoundLog(str(tmp_path / "job.err"), 1, None, "", 0.0, 0.0, form="text", is_final=True)
    run = open_run(replace(found, logs=(*found.logs, text), is_over=True))
    assert [item.compile for item in run_failures(run)] == ["1/0"]
    for ref in ("", "@problems", "1/0"):
        assert "probably" not in said(run, ref)
    assert gates(run, parse_limits("error")).limits[0].value == 1
    for view in QUESTIONS:
        assert "TORCH_LOGS text has" not in said(run, f"@{view.name}"), view.name


def test_ranks_are_compared_by_what_was_logged() -> None:
    """Rank 1 alone breaks its graph: without metrics none of its compiles is known to have ended."""
    reason_text = joined(text_run("ranks_diverge/stderr.txt.xz"), "")
    head = "Ranks that differ (1 difference) [0/0] step job/ranks_c.py:4 graph break on rank 1 only"
    assert f"{head} also different: guards rank 0 [0:0/0]: no break" in reason_text
    assert "same graphs" not in reason_text


def test_ranks_are_not_compared_where_the_text_leaves_out_what_their_functions_are_called() -> None:
    assert "Ranks" not in said(text_run("ranks_merged/stderr.txt.xz"), "").split()


def test_ranks_that_a_trace_tells_of_are_not_compared_with_others(tmp_path: Path) -> None:
    """Of rank 1 there is text alone: that its compiles did not finish is not told."""
    for packed in (INPUTS / "ranks_redirect" / "trace").glob("*.xz"):
        (tmp_path / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
    both = open_run(discover([str(tmp_path)]))
    assert (found := diverging(both)) is not None and found.ranks == 2
    [of_rank_1] = [process.log.path for process in both.processes() if process.rank == 1]
    os.unlink(of_rank_1)
    [text] = (INPUTS / "ranks_redirect" / "log").glob("**/1/stderr.log.xz")
    (tmp_path / "rank_1.err").write_bytes(lzma.decompress(text.read_bytes()))
    mixed = open_run(discover([str(tmp_path)]))
    assert [process.is_traced for process in mixed.processes()] == [True, False]
    assert diverging(mixed) is None


def test_what_became_dynamic_is_told_as_in_the_trace() -> None:
    became = re.compile(r"(\S+(?: dim \d)? became dynamic: \w+)|(It became dynamic at \S+)")
    trace = said(open_run(discover([str(INPUTS / "recompiles" / "trace")])), "@recompiles")
    text = said(text_run("recompiles/stderr.txt.xz"), "@recompiles")
    assert became.findall(text) == became.findall(trace) != []
    assert "?" not in said(text_run("recompiles/stderr.txt.xz"), "@shapes")


VARIED = """\
I1122 12:49:27.373000 16873 torch/_dynamo/pgo.py:483] [1/2] marking L['x'] as dynamic (from automatic dynamic/PGO)
V1122 12:49:27.373000 16873 torch/_dynamo/pgo.py:487] [1/2] automatic dynamic size L['x'] size(0) 7 != 4
I1122 12:49:27.380000 16873 torch/_dynamo/pgo.py:444] [1/2] marking L['s'].scale as dynamic (from automatic dynamic/PGO)
V1122 12:49:27.380000 16873 torch/_dynamo/pgo.py:448] [1/2] automatic dynamic int L['s'].scale val 2.0 != 1.0
I1122 12:49:27.390000 16873 torch/_dynamo/pgo.py:444] [1/2] marking L['k'] as dynamic (from automatic dynamic/PGO)
I1122 12:49:27.391000 16873 torch/fx/experimental/symbolic_shapes.py:5743] [1/2] create_symbol s16 = 4 for L['k'] [2, int_oo]
"""


def test_what_varied_is_told_where_torch_logged_it(tmp_path: Path) -> None:
    (tmp_path / "job.err").write_text(VARIED)
    [compile_] = [own for process in text_run(tmp_path / "job.err").processes() for own in process.ordered() if own.is_compile]
    assert [became_of(event) for event in instants_of(compile_, Reader(compile_.process.log))] == [
        Became("L['x']", 0, "size change", 4, 7), Became("L['s'].scale", None, "scalar change", 1.0, 2.0),
        Became("L['k']", None, "scalar change", None, None),
    ]  # fmt: skip


def test_where_nothing_was_compiled_it_is_said_why(capsys: pytest.CaptureFixture[str]) -> None:
    """What torchrun itself printed."""
    reason_text = joined(text_run("ranks_redirect/stderr.txt.xz"), "")
    assert "nothing was compiled. Torch wrote only warnings and errors: TORCH_LOGS was not set, or" in reason_text
    main(["check", str(unpacked("ranks_redirect/stderr.txt.xz"))])
    printed = " ".join(capsys.readouterr().out.split())
    assert "only the printed failures and functions in eager mode" in printed
    assert "given up" not in printed


def test_an_order_by_time_is_not_claimed_of_text(tmp_path: Path) -> None:
    text = said(text_run("planted/stderr.txt.xz"), "@recompiles")
    assert "most expensive" not in text


def test_epochs_of_text_took_no_time_that_is_known() -> None:
    twice = unpacked("levels/stderr.txt.xz")
    doubled = twice.with_suffix(".twice")
    doubled.write_bytes(twice.read_bytes() * 2)
    reason_text = said(text_run(doubled), "")
    assert "compiled again after a reset: 6 compiles, last" in reason_text and not WRONG.search(reason_text)


def test_text_has_no_md5s_to_be_compared_with() -> None:
    assert "md5" not in said(text_run("breaks/stderr.txt.xz"), "@damage")


def test_what_was_not_logged_is_no_difference_of_a_trace_and_a_text() -> None:
    trace, text = open_run(discover([str(INPUTS / "breaks" / "trace")])), text_run("breaks/stderr.txt.xz")
    for ref in ("", "0/0"):
        for left, right, side in ((trace, text, "right"), (text, trace, "left")):
            document = compare_nodes(left, ref, right, ref, Options())
            while not document.advance():
                pass
            sentence = f"TORCH_LOGS text is the only source of the {side} side. Records missing there are not differences."
            assert sentence in list(document.text())
        document = compare_nodes(text, ref, text, ref, Options())
        while not document.advance():
            pass
        assert "not logged" not in "\n".join(document.text())


def test_lines_of_text_in_a_trace_are_named(tmp_path: Path) -> None:
    [packed] = (INPUTS / "breaks" / "trace").glob("*.xz")
    (tmp_path / "mixed.log").write_bytes(lzma.decompress(packed.read_bytes()) + unpacked("breaks/stderr.txt.xz").read_bytes())
    reason_text = joined(open_run(discover([str(tmp_path / "mixed.log")])), "@damage")
    assert "× a line of TORCH_LOGS text inside of a trace: tltui reads such text only from a separate file" in reason_text
    assert "not JSON" not in reason_text


def test_what_has_no_rank_is_counted_as_none() -> None:
    """torchrun's own lines stand in the stream of its ranks."""
    run = text_run("ranks_diverge/stderr.txt.xz")
    assert [rank.number for rank in run.ranks] == [0, 1]
    assert len([process for model in run.models for process in model.processes]) == 3
    left, _ = header(run, "", Live(), 200, False)
    assert "  2 ranks" in [piece if isinstance(piece, str) else piece[0] for piece in left]


def test_a_report_without_its_trace_has_no_damaged_record() -> None:
    reason_text = said(open_run(discover([str(INPUTS / "tlparse_out" / "without_raw")])), "@damage")
    assert reason_text.startswith("No record is damaged.") and "tlparse" in reason_text


def test_who_asked_for_a_guard_on_sizes_is_told_as_in_the_trace() -> None:
    """The text states the one line of torch that asked; what fixed a size stands with the guard before it."""
    trace = said(open_run(discover([str(INPUTS / "dyn" / "trace")])), "@shapes")
    text = said(text_run("dyn/stderr.txt.xz"), "@shapes")
    for words in (
        "s77 < 10  at job/dyn.py:10  your code branches on it", "specialized by Eq(s77, 5) at job/dyn.py:3 in fn",
        "requested by infer_size", "u0 < 10  at job/dyn.py:17  asserted at run time",
        "A size that fails a condition asserted at run time raises an error, without a recompilation.",
    ):  # fmt: skip
        assert words in trace and words in text, words
    assert trace.count("broadcasting: sizes that meet") == text.count("broadcasting: sizes that meet")


def test_what_torch_advises_of_an_uncaught_failure_is_shown() -> None:
    run = text_run("fullgraph/stderr.txt.xz")
    for ref in ("@problems", "2/0"):
        reason_text = joined(run, ref)
        assert "why Dynamo does not know how to trace builtin operator `print` with argument types ['str']" in reason_text
        assert "try 1 Avoid calling builtin `print`" in reason_text and "3 Please report an issue to PyTorch." in reason_text


@pytest.mark.parametrize(
    "before", ["(Worker pid=7, ip=10.0.0.1) ", "2026-11-21T18:55:22.123456789Z stderr F ", "worker-0  | ", "0: ", "[1,0]<stderr>:"]
)
def test_a_failed_compile_behind_what_launchers_put_in_front(before: str, tmp_path: Path) -> None:
    lines = unpacked("fullgraph/stderr.txt.xz").read_text().splitlines(keepends=True)
    (tmp_path / "job.err").write_text("".join(before + line for line in lines))
    run = text_run(tmp_path / "job.err")
    [failed] = [own for process in run.processes() for own in process.ordered() if own.status is Status.ERROR]
    assert str(failed.ref) == "2/0" and failed.frame.code[0] == "bad"
    [item] = independent_failures(run_failures(run))
    assert item.compile == "2/0" and "Failed to trace builtin operator" in item.sentence
