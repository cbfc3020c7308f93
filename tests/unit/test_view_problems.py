from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest
from golden import assert_golden
from made_logs import Log
from real import ROOT, opened, trace
from viewed import initial_text, text

from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.problems import problem_list as analysis
from tltui.questions.problems.problem_list import Problems, Registered, adds, problems, registered, registry
from tltui.questions.problems.reason_sections import ranks_text
from tltui.sources.discover import discover
from tltui.text.document import Document, Options
from tltui.text.torch_names import is_graph_break_page


def page(run: Run, ref: str = "@problems", width: int = 80, ascii_: bool = False) -> Document:
    return pages.page(run, ref, width, ascii_)


@pytest.fixture(autouse=True)
def _no_torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if no torch were installed, and paths relative to the repository."""
    monkeypatch.setattr("tltui.questions.problems.problem_list.installed_torch", lambda: None)
    monkeypatch.chdir(ROOT)
    yield


def everything(run: Run) -> Problems:
    return problems(list(run.compiles()))


@pytest.mark.parametrize(
    ("path", "ref", "width"),
    [
        ("tests/traces/torch-2.13/breaks", "@problems", 80),
        ("tests/traces/torch-2.13/errors", "@problems", 80),
        ("tests/traces/torch-2.13/ddp", "@problems", 60),
        ("tests/traces/torch-2.13/dyn", "@problems", 80),
        ("tests/traces/torch-2.13/recompiles", "@problems", 80),
        ("tests/traces/torch-2.13/aoti", "@problems", 80),
        ("tests/traces/tlparse/comp_metrics.log", "@problems", 80),
        ("tests/traces/tlparse/comp_failure.log", "@problems", 80),
        ("src/tltui/demo", "@problems", 80),
        ("src/tltui/demo", "@problems", 160),
        ("src/tltui/demo", "@problems:0:4/", 100),
    ],
)
def test_golden(path: str, ref: str, width: int) -> None:
    part = ref.partition(":")[2].strip("/").replace(":", "_").replace("/", "_")
    name = f"{path.rpartition('/')[2].removesuffix('.log')}_{part}_{width}"
    assert_golden(f"problems_{name}", initial_text(page(opened(path), ref, width)))


@pytest.mark.parametrize("width", [60, 80, 160])
def test_lines_fit(width: int) -> None:
    for path in ("src/tltui/demo", "tests/traces/torch-2.13/ddp", "tests/traces/torch-2.13/errors"):
        document = page(opened(path), width=width)
        wide = [line for line in document.text() if len(line) > width and not pages.is_url(line)]
        assert not wide


def test_ascii() -> None:
    document = page(opened("tests/traces/torch-2.13/breaks"), ascii_=True)
    own = [line for line in document.text() if not line.isascii()]
    assert not own


def test_breaks_are_grouped_by_kind_and_line() -> None:
    found = everything(trace("torch-2.13/breaks"))
    groups = [(group.graph_break.gb, group.user_line, len(group.occurrences)) for group in found.breaks]
    assert groups == [("gb0025", 11, 2), ("gb0059", 5, 1)]
    assert found.breaks[0].functions == ("inner_break", "g")
    assert found.breaks[0].graph_break.bytecode == "CALL: a function call, e.g. f(x, y)"
    assert found.breaks[0].graph_break.exceptions[-1].frames[-1].name == "unimplemented"
    assert not found.restarts  # each is explained by a break
    assert found.skipped == (), "inner_break broke before its first operation: that is a graph break"


def test_breaks_in_the_framework_are_grouped_by_the_users_line() -> None:
    found = everything(trace("torch-2.13/ddp"))
    for group in found.breaks:
        assert group.user_file is not None and group.user_file.endswith("models/ddp.py")
        assert group.graph_break.file != group.user_file
        assert {item.rank for item in group.occurrences} == {0, 1}


def test_errors_have_their_record_and_line() -> None:
    found = everything(trace("torch-2.13/errors"))
    assert [(g.failure.type, g.occurrences[0].ref, g.occurrences[0].record) for g in found.errors] == [
        ("Unsupported", "0/0", "0/0:dynamo_error"),
        ("BackendCompilerFailed", "1/0", "1/0:dynamo_error"),
        ("UserError", "2/0", "2/0:dynamo_error"),
    ]
    assert found.errors[0].graph_break is not None and found.errors[0].graph_break.gb == "gb0059"
    assert [(part.kind, part.type, len(part.frames)) for part in found.errors[0].failure.traceback] == [
        ("raised", "Unsupported", 21), ("user", "", 1),
    ]  # fmt: skip


def test_old_logs_give_the_reasons_of_restarts() -> None:
    found = everything(trace("tlparse/comp_metrics.log"))
    assert not found.breaks_logged
    (group,) = found.breaks
    assert group.graph_break.headline.startswith("skip function graph_break in file")
    assert [item.record for item in group.occurrences] == ["0/0:compilation_metrics", "1/0:compilation_metrics"]


def test_a_restart_that_no_break_explains(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start()
    log.artifact("dynamo_graph_break_reason", "Graph break in user code at /home/user/f.py:7\nGraph Break Reason: why so\n")
    log.metrics(restart_reasons=["why so", "TensorifyScalarRestartAnalysis"])
    found = everything(log.open())
    assert [group.graph_break.headline for group in found.breaks] == ["why so"]
    assert [group.reason for group in found.restarts] == ["TensorifyScalarRestartAnalysis"]
    assert "Other restarts (1)" in initial_text(page(log.open()))


def test_the_same_error_of_many_is_said_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    for number in range(9):
        log.start(compile_=number)
        log.metrics(compile_=number, fail_type="RuntimeError", fail_reason="no\nmore", restart_reasons=[])
    (group,) = everything(log.open()).errors
    assert len(group.occurrences) == 9
    text = initial_text(page(log.open()))
    assert "Errors (9 of 1 kind)" in text
    assert "3 more" in text


def test_a_backward_that_failed(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics()
    log.metrics("bwd_compilation_metrics", fail_type="LoweringException", fail_reason="no lowering", restart_reasons=None)
    found = everything(log.open())
    assert [group.failure.reason for group in found.backward] == ["no lowering"]
    assert not found.errors
    assert "Backward failures (1)" in initial_text(page(log.open()))


def test_frames_that_hit_the_limit() -> None:
    (group,) = everything(opened("src/tltui/demo")).limits
    assert (group.code.name, group.limit, group.last_reason) == ("sample", 8, "request == 'request 7'")
    assert group.occurrences[0].ref == "0:4/8"


def test_cudagraph_skips_and_unfinished(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics(cudagraph_skip_reason="skipping cudagraphs due to mutated inputs")
    log.start(compile_=1)
    found = everything(log.open())
    assert [(g.reason, len(g.occurrences)) for g in found.cudagraph_skips] == [("mutated inputs", 1)]
    assert [item.ref for item in found.unfinished] == ["0/1"]
    text = initial_text(page(log.open()))
    assert "CUDA graphs\n    once: mutated inputs" in text and "Unfinished (1)" in text


def test_nothing_wrong_is_said() -> None:
    text = initial_text(page(opened("tests/traces/torch-2.13/recompiles")))
    assert "5 compiles: no problems found. Checked for errors, eager fallbacks, graph breaks" in " ".join(text.split())


def test_odd_types_do_no_harm(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    log.start().metrics(fail_type=7, fail_reason=["x"], restart_reasons={"a": 1}, graph_op_count="many")
    log.start(frame=1).metrics(frame=1, fail_type="E", fail_reason=None, restart_reasons=[None, 3])
    log.artifact("dynamo_graph_break_reason", "", frame=2)
    log.artifact("dynamo_graph_break_reason", "\x00\udc00"[:1] + "\x1b[2J[red]", frame=2)
    log.artifact("dynamo_error", "", frame=3)
    log.artifact("dynamo_graph_break_reason", "no id", frame=None)
    run = log.open()
    document = page(run)
    assert "\x1b" not in "".join(document.text())
    assert json.loads(to_json(document.data()))


def test_a_truncated_log(tmp_path: Path) -> None:
    (source,) = (ROOT / "tests/traces/torch-2.13/breaks").iterdir()
    data = source.read_bytes()
    for size in range(400, len(data), len(data) // 23):
        path = tmp_path / "cut.log"
        path.write_bytes(data[:size])
        assert len(page(open_run(discover([str(path)])))) > 0


def test_json() -> None:
    found = json.loads(to_json(page(opened("tests/traces/torch-2.13/breaks")).data()))
    assert found["breaks"][0]["graph_break"]["gb"] == "gb0025"
    assert found["breaks"][0]["occurrences"][0] == {
        "ref": "2/0", "function": "inner_break", "rank": None, "attempt": 0, "record": "2/0:dynamo_graph_break_reason",
        "is_backward": False,
    }  # fmt: skip


def test_every_link_leads_somewhere() -> None:
    for path in ("src/tltui/demo", "tests/traces/torch-2.13/ddp"):
        run = opened(path)
        document = page(run)
        targets = {link.target for n in range(len(document)) for link in document.line(n).links}
        assert targets
        for target in targets:
            if not target.startswith("file:") and not is_graph_break_page(target):
                build(run, target, Options())


# torch's own registry


def torch_with(tmp_path: Path, entries: object) -> Path:
    directory = tmp_path / "torch"
    (directory / "_dynamo").mkdir(parents=True)
    (directory / "_dynamo" / "graph_break_registry.json").write_text(json.dumps(entries))
    (directory / "version.py").write_text("from typing import Optional\n__version__ = '2.99.0'\n")
    return directory


ENTRY = {
    "Gb_type": "Failed to trace builtin operator",
    "Context": "builtin {fn}",
    "Explanation": "Dynamo does not know {fn}",
    "Hints": ["Avoid calling builtin `{fn}`", "A hint of a newer torch."],
}


def test_the_registry_of_an_installed_torch_adds_what_the_trace_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = torch_with(tmp_path, {"GB0059": [ENTRY]})
    monkeypatch.setattr("tltui.questions.problems.problem_list.installed_torch", lambda: directory)
    text = initial_text(page(opened("tests/traces/torch-2.13/breaks")))
    assert "from the list of graph breaks of the torch 2.99.0 installed here" in " ".join(text.split())
    assert text.count("A hint of a newer torch.") == 1
    assert text.count("Dynamo does not know") == 1  # the trace says it better


def test_what_a_registry_says(tmp_path: Path) -> None:
    (found,) = registry(torch_with(tmp_path, {"GB0059": [ENTRY | {"Context": 7}]})).values()
    hints = ("Avoid calling builtin `{fn}`", "A hint of a newer torch.")
    assert found == Registered("gb0059", "Failed to trace builtin operator", "", "Dynamo does not know {fn}", hints, "2.99.0")


def test_what_a_registry_adds() -> None:
    known = Registered("gb1", "t", "c", "why", ("Avoid `{f}`.", "Try {x}, or"), "")
    assert adds(known, "", ()) == ("why", known.hints)
    assert adds(known, "said", ("Avoid `print`. Consider more", "Try this, or that")) == ("", ())
    assert adds(None, "", ()) == ("", ())


@pytest.mark.parametrize("entries", [[], 7, {"GB0059": None}, {"GB0059": []}, {"GB0059": [3]}, {"GB0059": [{"Hints": 7}]}])
def test_odd_registries(entries: object, tmp_path: Path) -> None:
    found = registry(torch_with(tmp_path, entries))
    assert all(isinstance(item, Registered) for item in found.values())


def test_no_registry(tmp_path: Path) -> None:
    assert registry(None) == {}
    assert registry(tmp_path) == {}
    assert registered("gb0059") is None
    assert registered(None) is None


def test_ranks_text() -> None:
    assert ranks_text({0, 1, 2, 3, 7}) == "ranks 0–3, 7"
    assert ranks_text({0, 1}) == "ranks 0, 1"
    assert ranks_text({5}) == "rank 5"
    assert ranks_text({None}) == "no rank"
    assert ranks_text({None, 2}) == "rank 2 and no rank"


def test_many_are_read_in_steps(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    for number in range(30):
        text = f"Graph break in user code at /f.py:{number}"
        log.start(compile_=number).artifact("dynamo_graph_break_reason", text, compile_=number)
        log.metrics(compile_=number, restart_reasons=[])
    run = log.open()
    steps = sum(1 for _ in analysis.break_groups(list(run.compiles())))
    assert steps == 30


def test_a_break_in_two_attempts_of_a_compile_is_one_compile(tmp_path: Path) -> None:
    record = "Graph break in user code at /home/user/f.py:5\nGraph Break Reason: Call to `torch._dynamo.graph_break()`\n"
    log = Log(tmp_path / "x.log").start().artifact("dynamo_graph_break_reason", record).metrics()
    log.start(compile_=1)
    for attempt in (0, 1):
        log.artifact("dynamo_graph_break_reason", record, compile_=1, attempt=attempt)
    found = text(page(log.metrics(compile_=1, attempt=1).open(), "@problems"))
    assert "3 times in 2 compiles" in found and "while compiling  [0/0] f  [0/1] f" in found and "[]" not in found


@pytest.mark.parametrize("width", [40, 80])
def test_a_url_of_a_message_is_whole_on_one_line(width: int) -> None:
    url = "https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.recompilation.html"
    lines = [line.strip() for line in page(opened("src/tltui/demo"), "@problems", width).text()]
    assert url in lines
