"""`tltui try --edit`: a diff that patch accepts, of the user's own files below one directory only."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from viewed import opened

from tltui.cli import main
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.frame_recompiles import frame_recompiles, recompiles_of
from tltui.questions.recompiles.guard_table import guards_of
from tltui.questions.recompiles.predictions import Prediction
from tltui.questions.stacks.tracebacks import StackFrame
from tltui.questions.trials.edits import ArgumentEdit, FrameEdits, proposed_edits, remedy_of
from tltui.text.steps import run_steps
from tltui.writers.edit_diff import EditDiff, diff_of

MARK = "torch._dynamo.mark_dynamic({}, 0)"
PROGRAM = """\
import torch

@torch.compile
def f(x, n=1):
    return x * n

def main(batch):
\tfor size in (2, 3):
\t\tx = torch.ones(size)
\t\ty = CALL
\treturn y
"""


def _edits(path: Path, code: str, *edits: ArgumentEdit, line: int = 10) -> FrameEdits:
    call = StackFrame("main", str(path), line, code)
    meant = edits or (ArgumentEdit("x", "", MARK),)
    return FrameEdits("0", "f", str(path), 3, ("mark",), meant, (call,), 3, Prediction((), (), 3, 1, 1, 1))


def _diff(path: Path, call: str, *edits: ArgumentEdit, program: str = PROGRAM) -> EditDiff:
    path.write_bytes(program.replace("CALL", call).encode())
    return diff_of([_edits(path, f"y = {call}", *edits)], str(path.parent))


def _patched(path: Path, diff: EditDiff) -> list[str]:
    """Apply a diff; return the lines that it added."""
    before = path.read_bytes().decode().split("\n")
    done = subprocess.run(["patch", "-p1"], cwd=path.parent, input=diff.text.encode(), capture_output=True, check=False)
    assert done.returncode == 0 and b"fuzz" not in done.stdout, done.stdout
    return [line for line in path.read_bytes().decode().split("\n") if line not in before]


@pytest.mark.parametrize(("call", "added"), [
    ("f(x)", ["\t\ttorch._dynamo.mark_dynamic(x, 0)"]),
    ("f(n=2, x=x)", ["\t\ttorch._dynamo.mark_dynamic(x, 0)"]),
    ("f(batch['x'].data, 2).sum()", ["\t\ttorch._dynamo.mark_dynamic(batch['x'].data, 0)"]),
    ("print(f(x))", ["\t\ttorch._dynamo.mark_dynamic(x, 0)"]),
    ("f(x[:size], 2)",
     ["\t\tx_argument = x[:size]", "\t\ttorch._dynamo.mark_dynamic(x_argument, 0)", "\t\ty = f(x_argument, 2)"]),
    ("f('ä' and x) if False else f(x)", []),
    ("f('ä', n=x)", ["\t\tx_argument = 'ä'", "\t\ttorch._dynamo.mark_dynamic(x_argument, 0)", "\t\ty = f(x_argument, n=x)"]),
])  # fmt: skip
def test_the_mark_comes_before_the_call(tmp_path: Path, call: str, added: list[str]) -> None:
    path = tmp_path / "train.py"
    diff = _diff(path, call)
    assert bool(diff.text) == bool(added) == (not diff.refused)
    if added:
        assert diff.text.startswith("# f: mark; recompilations 3 → 1\n--- a/train.py\n+++ b/train.py\n")
        assert _patched(path, diff) == added
        compile(path.read_text(), "train.py", "exec")


def test_a_method_is_called_on_the_argument(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    diff = _diff(path, "f(x.t(), 2)", ArgumentEdit("x", "", method="contiguous"))
    assert _patched(path, diff) == ["\t\ty = f(x.t().contiguous(), 2)"]


def test_crlf_and_a_missing_last_newline_stay(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    program = PROGRAM.rstrip("\n").replace("\n", "\r\n")
    assert _patched(path, _diff(path, "f(x)", program=program)) == ["\t\ttorch._dynamo.mark_dynamic(x, 0)\r"]
    assert path.read_bytes().endswith(b"return y")
    done = tmp_path / "last.py"
    last = "import torch\n\n@torch.compile\ndef f(x):\n    return x\nx = torch.ones(1)\n\n\n\ny = f(x)"
    diff = _diff(done, "f(x)", program=last)
    assert "\\ No newline at end of file\n" in diff.text
    assert _patched(done, diff) == ["torch._dynamo.mark_dynamic(x, 0)"] and done.read_bytes().endswith(b"y = f(x)")


@pytest.mark.parametrize(("call", "reason"), [
    ("f(*batch)", "the call unpacks x with *"),
    ("f(**batch)", "the call has no argument for x"),
    ("g(x)", "no call on the line can be identified as the call of f"),
    ("f(x) + f(y)", "2 calls on the line could be the call of f"),
    ("[f(x) for x in batch]", "no call on the line can be identified as the call of f"),
    ("x and f(x)", "no call on the line can be identified as the call of f"),
    ("g(h(), f(x[:2]))", "another call in the statement runs before the argument is computed"),
    ("f((x := batch))", "the statement assigns, awaits or yields inside of an expression"),
    ("f(x); y = 2", "the line has several statements"),
    ("f(x) if", "not valid syntax"),
    ("f(x", "not valid syntax"),
])  # fmt: skip
def test_a_call_in_doubt_is_refused(tmp_path: Path, call: str, reason: str) -> None:
    diff = _diff(tmp_path / "train.py", call)
    assert not diff.text and reason in diff.refused[0]


def test_a_changed_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM.replace("CALL", "f(x)"))
    for edits in (_edits(path, "y = f(x )"), _edits(path, "y = f(x)", line=9), _edits(path, "y = f(x)", line=99)):
        diff = diff_of([edits], str(tmp_path))
        assert not diff.text and "is not the recorded line" in diff.refused[0]
    moved = replace(_edits(path, "y = f(x)"), line=7)
    assert "line 7 does not define f" in diff_of([moved], str(tmp_path)).refused[0]


def _refusal(frame: FrameEdits, root: Path) -> str:
    diff = diff_of([frame], str(root))
    assert not diff.text
    return diff.refused[0]


def test_links_and_files_elsewhere_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / "package").mkdir(parents=True)
    path = root / "package" / "train.py"
    path.write_text(PROGRAM.replace("CALL", "f(x)"))
    assert diff_of([_edits(path, "y = f(x)")], str(root)).text.splitlines()[1] == "--- a/package/train.py"
    (root / "link.py").symlink_to(path)
    assert "link.py is a symbolic link" in _refusal(_edits(root / "link.py", "y = f(x)"), root)
    (root / "other").symlink_to("package")
    assert "other is a symbolic link" in _refusal(_edits(root / "other" / "train.py", "y = f(x)"), root)
    assert "not below" in _refusal(_edits(path, "y = f(x)"), root / "other2")
    assert "not below" in _refusal(_edits(Path(f"{root}-2/train.py"), "y = f(x)"), root)
    assert "unusual file name" in _refusal(_edits(Path(f"{root}/../{root.name}/package/train.py"), "y = f(x)"), root)
    for name in ("a\nb.py", "a\tb.py", 'a"b.py', "a\x1b[0m.py", "a\0b.py"):
        assert "unusual file name" in _refusal(_edits(Path(f"{root}/{name}"), "y = f(x)"), root)
    os.mkfifo(root / "pipe.py")
    assert "is not a regular file" in _refusal(_edits(root / "pipe.py", "y = f(x)"), root)
    assert "No such file" in _refusal(_edits(root / "missing.py", "y = f(x)"), root)
    (root / "latin.py").write_bytes(b"# \xe9\n")
    assert "not UTF-8" in _refusal(_edits(root / "latin.py", "y = f(x)"), root)
    alias = tmp_path / "alias"
    alias.symlink_to(root)  # the directory itself is the user's choice
    assert diff_of([_edits(alias / "package" / "train.py", "y = f(x)")], str(alias)).text


def test_files_of_other_users_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM.replace("CALL", "f(x)"))
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)
    assert "train.py belongs to another user" in _refusal(_edits(path, "y = f(x)"), tmp_path)


def test_a_name_with_blanks_is_patched(tmp_path: Path) -> None:
    path = tmp_path / "my train.py"
    assert _patched(path, _diff(path, "f(x)")) == ["\t\ttorch._dynamo.mark_dynamic(x, 0)"]


def test_a_file_without_torch_is_refused(tmp_path: Path) -> None:
    diff = _diff(tmp_path / "train.py", "f(x)", program=PROGRAM.replace("import torch\n", "from torch import compile\n"))
    assert diff.refused == ("f: mark: train.py:10: the file does not import torch",)


def test_a_trace_proposes_edits_and_lists_the_other_remedies() -> None:
    frames, others = proposed_edits(opened("tests/traces/torch-2.13/recompiles"))
    assert [(frame.function, frame.code, frame.before) for frame in frames] == [("f", ("torch._dynamo.mark_dynamic(x, 0)",), 4)]
    assert frames[0].predicted is not None and frames[0].predicted.expected == 3
    assert [other.source for other in others] == ["n"]


@pytest.mark.parametrize("name", ["torch-2.13/guards", "torch-2.13/outcomes", "torch-2.13/shapes", "recompiled/matcher_targets"])
def test_the_prediction_of_an_edit_is_that_of_the_page(name: str) -> None:
    """The page counts all sizes that a remedy marks together; so does the edit that marks them."""
    run = opened(f"tests/traces/{name}")
    frames = {str(c.frame.ref): c.frame for c in run.compiles() if c.is_recompile}
    compared = 0
    for edit in proposed_edits(run)[0]:
        explained = [explained_of(c) for c in recompiles_of(frames[edit.ref])]
        page = frame_recompiles(frames[edit.ref], explained, explained, run_steps(guards_of(frames[edit.ref], explained)))
        alone = {v.prediction for v in page.variations if remedy_of(v) is not None and set(v.code) == set(edit.code)}
        if alone and edit.predicted is not None:
            compared += 1
            assert [prediction.condition for prediction in alone] == [edit.predicted.condition]
            assert {(p.expected, p.fewest, p.most) for p in alone if p is not None} == {
                (edit.predicted.expected, edit.predicted.fewest, edit.predicted.most)
            }
    assert compared or name == "recompiled/matcher_targets"


def test_a_size_has_one_mark() -> None:
    """Torch takes a size with both marks for unbacked."""
    (both,) = proposed_edits(opened("tests/traces/recompiled/matcher_targets"))[0]
    assert both.code == ("torch._dynamo.decorators.mark_unbacked(labels, 0)",) and len(both.edits) == 1


def test_the_command_writes_no_file_but_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = os.path.abspath("tests/traces/torch-2.13/recompiles")
    assert main(["try", "--edit", "-o", str(tmp_path / "fix.diff"), trace]) == 0
    shown = capsys.readouterr()
    assert "tltui: left unchanged: f: torch._dynamo.mark_dynamic(x, 0): " in shown.err and not shown.out
    assert os.listdir(tmp_path) == ["fix.diff"]
    assert main(["try", "--edit", "-o", str(tmp_path / "fix.diff"), trace]) == 2
    assert main(["try", "--edit", "--", "python", "train.py"]) == 2
    assert "--edit needs a trace, no such file: 'python'" in capsys.readouterr().err


def test_an_option_after_the_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "--edit", str(tmp_path), "--cwd", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("tltui: with --edit, options go before the trace: '--cwd'\n  tltui try")
