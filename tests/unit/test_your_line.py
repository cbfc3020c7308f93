"""Which line leads, what a function is called, what a line caused: on the trace `texts`, whose script tells the truth."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path

import pages
import pytest
from made_logs import Log
from real import TRACES, trace

from tltui.export import folded_lines, lines_of
from tltui.model.nodes import Compile, Frame
from tltui.model.run import Run
from tltui.questions.problems.problem_list import problems
from tltui.questions.provenance.line_groups import places_of
from tltui.questions.provenance.links import KernelLink, Links, Texts
from tltui.questions.provenance.unit_artifacts import Stacks
from tltui.questions.source_lines.page import source_line_steps
from tltui.questions.stacks.tracebacks import StackFrame, display_name, qualified_name
from tltui.text.document import Document
from tltui.text.steps import run_steps
from tltui.text.torch_names import Owner, owner_of

TEXTS = "torch-2.13/texts"
PROGRAM = "/home/user/models/texts.py"


def page(run: Run, ref: str = "@problems", width: int = 110, ascii_: bool = False) -> Document:
    return pages.page(run, ref, width, ascii_)


def line_with(text: str) -> int:
    source = (TRACES / "scripts" / "texts.py").read_text(encoding="utf-8").split("\n")
    return next(n for n, line in enumerate(source, 1) if text in line and not line.startswith("- `"))


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/home/user/models/train.py", Owner.USER),
        ("/home/user/torch/train.py", Owner.USER),
        ("/tmp/ipykernel_12/3.py", Owner.USER),
        ("/opt/venv/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py", Owner.LIBRARY),
        ("C:\\venv\\Lib\\site-packages\\x.py", Owner.LIBRARY),
        ("/usr/lib/python3.11/contextlib.py", Owner.PYTHON),
        ("<frozen runpy>", Owner.PYTHON),
        ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", Owner.TORCH),
        ("/home/user/pytorch/torch/_dynamo/convert_frame.py", Owner.TORCH),
        ("/home/user/pytorch/torch/compiler/__init__.py", Owner.TORCH),
        ("_dynamo/output_graph.py", Owner.TORCH),
        ("nn/modules/container.py", Owner.TORCH),
        ("<eval_with_key>.5", Owner.TORCH),
        ("/tmp/torchinductor_user/ab/cabcdef.py", Owner.TORCH),
    ],
)
def test_whose_a_file_is(path: str, owner: Owner) -> None:
    assert owner_of(path) is owner


def test_an_error_inside_of_torch_leads_with_the_line_of_the_program() -> None:
    group = next(group for group in problems(list(trace(TEXTS).compiles())).errors if group.occurrences[0].ref == "2/0")
    failure = group.failure
    assert (failure.file, failure.line, failure.code) == (PROGRAM, line_with("return lin("), "return lin(x.sin())")
    assert failure.owner is Owner.USER and not failure.is_raise_location
    assert failure.innermost_frame is not None and failure.innermost_frame.file.endswith("torch/nn/modules/linear.py")
    text = "\n".join(page(trace(TEXTS)).text())
    assert f"your line models/texts.py:{failure.line}" in text
    assert f"it failed in torch, modules/linear.py:{failure.innermost_frame.line} in forward" in text


def test_without_a_line_of_the_program_it_is_said_whose_the_line_is(tmp_path: Path) -> None:
    place = {"fail_user_frame_filename": "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py"}
    log = Log(tmp_path / "a.log").add("dynamo_start", {"stack": []})
    log.metrics(fail_type="<class 'torch._dynamo.exc.Unsupported'>", fail_reason="no", fail_user_frame_lineno=134, **place)
    text = "\n".join(page(log.open()).text())
    assert "torch's own line modules/linear.py:134" in text and "your line" not in text
    assert "    Unsupported\n" in text and "<class" not in text


def test_a_kernel_comes_from_a_line_of_a_library_before_one_of_torch() -> None:
    site = "/opt/venv/lib/python3.11/site-packages"
    frames = [StackFrame(name, file, 7, None, True) for name, file in (
        ("model", f"{site}/transformers/llama.py"), ("linear", f"{site}/torch/nn/modules/linear.py"),
    )]  # fmt: skip
    stacks = Stacks({"k": (tuple(frames),)})
    places = places_of(Texts("forward", stacks=stacks), Links((KernelLink("k", None),), {}, False, frozenset()))
    assert places.kernels == [((frames[0].file, 7),)] and places.from_stacks == [True]


def test_who_called_is_said_of_a_failure() -> None:
    group = next(group for group in problems(list(trace(TEXTS).compiles())).errors if group.occurrences[0].ref == "2/0")
    assert [frame.code for frame in group.failure.stack] == ["return lin(x.sin())", "attempt(wronglinear, torch.randn(2, 5))"]


@pytest.mark.parametrize(
    ("ref", "gb", "says"),
    [("0/0", "gb0066", "Attempted to graph break in an active context manager(s)"), ("1/0", "gb7000", "graph break in loop")],
)
def test_both_reasons_of_a_nested_break_are_shown(ref: str, gb: str, says: str) -> None:
    found = next(g.graph_break for g in problems(list(trace(TEXTS).compiles())).breaks if g.occurrences[0].ref == ref)
    assert found.headline == "Call to `torch._dynamo.graph_break()`" and found.gb == "gb0025"
    (later,) = found.while_handling
    assert later.gb == gb and later.headline.startswith(says) and found.skips_frame
    text = "\n".join(page(trace(TEXTS), f"@problems:{ref}").text())
    assert f"Cause of the fallback to eager mode: {says}" in text
    assert "Failed to handle graph break gracefully" not in text
    assert "Graph break under" not in text


def test_a_chain_of_exceptions_is_shown_as_one() -> None:
    lines = list(page(trace(TEXTS), "@problems:1/0").text())
    at = next(n for n, line in enumerate(lines) if line.strip() == "while handling it, another exception was raised:")
    assert lines[at - 1].strip() == "Unsupported: Call to `torch._dynamo.graph_break()`"
    assert any(line.strip() == "Unsupported: graph break in loop" for line in lines[at:])


def named_frames(run: Run) -> dict[str, str | None]:
    (process,) = run.processes()
    return {str(frame.ref): qualified_name(frame) for frame in process.frames.values() if frame.code[0]}


def test_functions_are_named_so_that_one_knows_them() -> None:
    assert named_frames(trace(TEXTS)) == {
        "0/": None, "1/": None, "2/": None, "3/": None, "4/": "Net.forward and others", "5/": "Decorated.forward (wrapper)",
        "6/": "wrapper (runs scaled)", "7/": None,
    }  # fmt: skip


def test_a_name_is_shown_and_the_identity_stays() -> None:
    run = trace(TEXTS)
    frame = run.resolve("5/")
    assert isinstance(frame, (Frame, Compile))
    frame = frame.frame if isinstance(frame, Compile) else frame
    assert frame.code == ("wrapper", PROGRAM, line_with("def wrapper(self")) and display_name(frame) == qualified_name(frame)
    assert "Decorated.forward (wrapper)" in "\n".join(page(run, "5/0").text())
    assert "Net.forward and others" in "\n".join(page(run, "@summary").text())


GUARD = (
    "| +- GuardManager: source=L['{0}'], accessed_by=FrameLocalsGuardAccessor(key='{0}', framelocals_idx={1}),"
    " type=<class '{2}'>, tag_safe=(False, False)"
)


def guards(*lines: tuple[str, int, str]) -> str:
    return "\n".join(("TREE_GUARD_MANAGER:", "+- RootGuardManager", *(GUARD.format(*line) for line in lines)))


@pytest.mark.parametrize(
    ("name", "tree", "known"),
    [
        ("forward", guards(("self", 0, "a.b.Net")), "Net.forward"),
        ("forward", guards(("x", 0, "torch.Tensor")), None),
        # a closure's `self` is none of its own
        ("forward", guards(("self", 3, "a.b.Net")), None),
        # a function, not a method, whatever its argument is
        ("train_step", guards(("self", 0, "a.b.Net")), None),
        ("wrapper", guards(("self", 0, "a.b.Net"), ("fn", 2, "function")), None),
        ("wrapper", "", None),
    ],
)
def test_names_follow_from_what_is_known(name: str, tree: str, known: str | None, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start(name)
    log.add("dynamo_cpp_guards_str", {}, tree).metrics()
    assert qualified_name(log.compile().frame) == known


def test_a_wrapper_is_that_of_what_the_stack_has_below_it(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start("wrapper")
    frames = [{"line": n, "name": name, "filename": 0} for n, name in enumerate(("wrapper", "inner", "scaled", "helper"), 4)]
    log.add("create_symbol", {"symbol": "s1", "user_stack": frames}).metrics()
    assert qualified_name(log.compile().frame) == "scaled (wrapper)"


def test_a_graph_of_several_functions_names_no_one(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start("wrapper").add("dynamo_cpp_guards_str", {}, guards(("fn", 1, "function")))
    origin = "        # File: /home/user/f.py:{} in {}, code: y = x\n"
    log.add("dynamo_output_graph", {}, origin.format(3, "scaled") + origin.format(9, "helper")).metrics()
    assert qualified_name(log.compile().frame) is None


def test_a_line_is_told_to_have_fixed_a_size() -> None:
    found = run_steps(source_line_steps(list(trace(TEXTS).compiles()), "texts.py", line_with("# FIXES s")))
    first, second = found.compiles
    assert [(t.text, t.detail) for t in first.results if t.kind == "fixed"] == [
        ("s77 = L['x'].size()[0] was specialized to 8", "by Eq(s77, 8)")
    ]
    assert [t.text for t in second.results if t.kind == "condition"] == ["Ne(s77, 8)"]
    assert [(t.text, t.detail) for t in second.results if t.kind == "recompile"] == [
        ("tensor 'x' size mismatch at index 0. expected 8, actual 9", "the failed guard of [3/0] comes from this line")
    ]
    text = "\n".join(page(trace(TEXTS), f"@source::texts.py:{found.line}").text())
    assert "sizes specialized here\n    s77 = L['x'].size()[0] was specialized to 8\n" in text


def test_a_line_is_told_to_have_failed() -> None:
    found = run_steps(source_line_steps(list(trace(TEXTS).compiles()), "texts.py", line_with("return lin(")))
    assert [(t.kind, t.text) for own in found.compiles for t in own.results if t.kind == "failure"] == [
        ("failure", "TorchRuntimeError")
    ]
    inner = run_steps(source_line_steps(list(trace(TEXTS).compiles()), "nn/modules/linear.py", 134))
    assert [own.ref for own in inner.compiles] == ["2/0"]


# torch's own frames


def test_on_a_terminal_torchs_own_frames_are_a_line() -> None:
    document = page(trace(TEXTS), "@problems:2/0")
    whole, brief = list(lines_of(document)), list(folded_lines(document, 80))
    assert sum("_dynamo/" in line for line in whole) == 30 and not any("_dynamo/" in line for line in brief)
    assert "    traceback of 42 frames, outermost first  (hidden: --all shows the lines)" in brief
    places = [set(re.findall(r"texts\.py:\d+", " ".join(lines))) for lines in (whole, brief)]
    assert places[0] == places[1] == {"texts.py:42", "texts.py:44", "texts.py:104"}


@pytest.mark.parametrize("ref", ["torch-2.13/breaks @metrics", "torch-2.13/ddp @metrics", "torch-2.13/train @timing"])
def test_the_option_after_a_folded_line_does_not_exceed_the_width(ref: str) -> None:
    """On a line of its own where the first line leaves no room."""
    name, address = ref.split()
    brief = [line for line in folded_lines(page(trace(name), address), 80) if "--all" in line]
    assert "(hidden: --all shows the lines)" in [line.strip() for line in brief] and max(map(len, brief)) <= 80
    beyond = [line.strip() for line in folded_lines(page(trace(name), address), 20)]
    assert "(--all)" in beyond, "on a line of its own wherever there is no room"


def test_so_they_are_in_a_traceback_that_torch_wrote() -> None:
    document = page(trace(TEXTS), "2/0:dynamo_error")
    brief = list(folded_lines(document, 80))
    assert any(line.strip().startswith("40 torch frames: ") for line in brief)
    assert not any("convert_frame.py\", line" in line for line in brief)
    assert any("return lin(x.sin())" in line for line in brief)


@pytest.mark.parametrize(("arguments", "all_of_them"), [([], False), (["--all"], True)])
def test_the_command_line_on_a_terminal(arguments: list[str], all_of_them: bool) -> None:
    said = on_a_terminal(["problems", str(TRACES / TEXTS), "2/0", *arguments])
    assert ("convert_frame.py:" in said) is all_of_them
    assert ("40 torch frames" in said) is all_of_them and "your line" in said
    assert "traceback of 42 frames, outermost first" in said


def test_a_pipe_gets_what_a_terminal_gets(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from tltui.cli import main

    for arguments, everything in (([], False), (["--all"], True)):
        assert main(["problems", str(TRACES / TEXTS), "2/0", *arguments]) == 0
        assert (b"convert_frame.py:" in capfdbinary.readouterr().out) is everything


def on_a_terminal(arguments: list[str]) -> str:
    """What a command prints on a terminal of its own."""
    import subprocess
    import sys

    ours, theirs = pty.openpty()
    environment = dict(os.environ, NO_COLOR="1", COLUMNS="100", TERM="xterm")
    child = subprocess.Popen(
        [sys.executable, "-m", "tltui", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        said += data
    os.close(ours)
    assert child.wait(30) == 0
    return said.decode()
