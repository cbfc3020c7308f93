"""What torch prints without TORCH_LOGS (`tests/traces/inputs/printed`): the same answers as from the trace of the same run.

Damaged variants of each text are tested too.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from real import TRACES, fresh

from tltui.cli import main
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.job_failures.job_failures import output_warnings, run_failures
from tltui.questions.problems.problem_list import LimitGroup, problems
from tltui.questions.recompiles.recompile_reasons import cached_recompile

PRINTED = TRACES / "inputs" / "printed"
VERSIONS = sorted(path.parent.name for path in PRINTED.glob("*/limit.txt"))
SAME_REASON = ("torch-2.8", "torch-2.11", "torch-2.13", "torch-2.14")
"""Older versions print the guard of the oldest compile as the last reason."""


@cache
def data(version: str, name: str) -> bytes:
    path = PRINTED / version / name
    return path.read_bytes() if path.exists() else lzma.decompress(path.with_name(f"{name}.xz").read_bytes())


def opened(directory: Path, content: bytes, name: str = "job.out") -> Run:
    path = directory / name
    path.write_bytes(content)
    return fresh(path)


def limit_of(run: Run) -> LimitGroup:
    (group,) = problems(list(run.compiles())).limits
    return group


def hit(run: Run) -> Compile:
    (compile_,) = [compile_ for compile_ in run.compiles() if compile_.facts.recompile_limit_hit]
    return compile_


def test_the_texts_are_of_several_versions() -> None:
    assert {"torch-2.6", "torch-2.8", "torch-2.11", "torch-2.13", "torch-2.14"} <= set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["limit", "raises"])
def test_the_warning_of_the_limit_gives_what_the_trace_gives(version: str, name: str, tmp_path: Path) -> None:
    text = opened(tmp_path, data(version, f"{name}.txt"))
    trace = opened(tmp_path, data(version, f"{name}.log"), "dedicated_log_torch_trace_x.log")
    a, b = limit_of(text), limit_of(trace)
    assert b.limit in (3, None)  # torch 2.6 does not write it to its trace
    assert [item.ref for item in a.occurrences] == [item.ref for item in b.occurrences]
    assert (a.code.name, a.code.file, a.code.line) == (b.code.name, b.code.file, b.code.line)
    assert a.limit == 3 and a.code.name == "forward"
    assert hit(text).status is (Status.EAGER if name == "limit" else Status.ERROR)
    if (version, name) != ("torch-2.6", "raises"):  # its trace does not record that this is an error
        assert (a.is_eager, hit(text).status) == (b.is_eager, hit(trace).status)
    (reason,), reasons = cached_recompile(hit(text)).reasons, cached_recompile(hit(trace)).reasons  # type: ignore[union-attr]
    (same,) = [other for other in reasons if other.text == reason.text]
    assert (reason.file, reason.line, reason.stack) == (same.file, same.line, same.stack)
    if version in SAME_REASON:
        assert same is reasons[0] and a.last_reason == b.last_reason == "self.weight_function[0].key == 'blocks.2'"


@pytest.mark.parametrize("version", VERSIONS)
def test_check_fails_at_the_limit(version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.out"
    path.write_bytes(data(version, "limit.txt"))
    for limits in (["--fail-on", "recompile_limit"], []):
        assert main(["check", str(path), *limits]) == 1
        assert "[0/3]  forward reached the recompile limit" in capsys.readouterr().out
    path.write_bytes(data(version, "item.txt"))
    assert main(["check", str(path), "--fail-on", "recompile_limit"]) == 0
    assert main(["check", str(path), "--fail-on", "eager"]) == 2  # only a trace shows that there is none


@pytest.mark.parametrize("version", ["torch-2.4", *VERSIONS])
def test_the_accumulated_limit_is_one_too(version: str, tmp_path: Path) -> None:
    group = limit_of(opened(tmp_path, data(version, "accumulated.txt")))
    assert (group.limit, group.code.name) == (3, "forward")


def test_the_pages_name_the_function_the_guard_and_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.out"
    path.write_bytes(data("torch-2.13", "limit.txt"))
    pages = {}
    for page in ("summary", "problems", "recompiles"):
        assert main([page, str(path)]) == 0
        pages[page] = " ".join(capsys.readouterr().out.split())
    assert "forward hit the recompile limit" in pages["summary"]
    assert "The recompile limit of 3 was reached" in pages["problems"]
    assert "self.weight_function[0].key no longer 'blocks.2'" in pages["recompiles"]
    assert "from job/printed.py:21 return weight * len(self.key)" in pages["recompiles"]
    assert "from torch's warning, which has only the last reason: TORCH_LOGS=recompiles logs all" in pages["recompiles"]
    assert not any("functions called from those" in text for text in pages.values())  # the text does not show it


def crlf(text: bytes) -> bytes:
    return text.replace(b"\n", b"\r\n")


def wide(text: bytes) -> bytes:
    return ("\ufeff" + text.decode()).encode("utf-16-le")


def ranks(text: bytes) -> bytes:
    """Two ranks at once, line by line: one process hits the limit, the other prints."""
    return b"".join(line + b"[rank1]: epoch 1 loss 0.3\n" for line in text.splitlines(keepends=True))


def begins(text: bytes) -> bytes:
    return b"\xef\xbb\xbf" + text


def labelled(text: bytes) -> bytes:
    return b"".join(b"0: " + line for line in text.splitlines(keepends=True))


def in_much(text: bytes) -> bytes:
    """Among 20 MB of other lines."""
    line = b"2026-11-24 10:00:01 INFO step 1200 loss 0.31 lr 0.001 tokens/s 41000\n"
    much = line * (10_000_000 // len(line))
    return much + text + much


@pytest.mark.parametrize("damage", [crlf, wide, ranks, begins, labelled, in_much], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_damaged_text_gives_the_same(version: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    whole = opened(tmp_path, data(version, "limit.txt"), "whole.out")
    damaged = opened(tmp_path, damage(data(version, "limit.txt")), "damaged.out")
    a, b = limit_of(whole), limit_of(damaged)
    assert (a.limit, a.code, a.last_reason) == (b.limit, b.code, b.last_reason)
    first, second = cached_recompile(hit(whole)), cached_recompile(hit(damaged))
    assert first is not None and second is not None and first.reasons == second.reasons


def test_a_cut_text_gives_what_is_left_of_it(tmp_path: Path) -> None:
    text = data("torch-2.13", "limit.txt")
    begin, end = text.index(b"torch._dynamo hit config"), text.rindex(b"To log all")
    for at in range(begin + len(b"torch._dynamo hit config.recompile_limit (3)"), end, 41):
        run = opened(tmp_path, text[:at])
        group = limit_of(run)
        assert group.limit == 3
        assert group.code.name in (None, "forward")
        assert group.last_reason in "0/2: self.weight_function[0].key == 'blocks.2'"


@pytest.mark.parametrize("version", VERSIONS)
def test_other_warnings_and_exceptions(version: str, tmp_path: Path) -> None:
    (item,) = output_warnings(opened(tmp_path, data(version, "item.txt")))
    assert (item.title, Path(item.file or "").name, item.line) == ("Graph break at Tensor.item()", "printed.py", 57)
    assert item.compile == "0/0" and "capture_scalar_outputs = True" in item.fix
    suppressed = output_warnings(opened(tmp_path, data(version, "suppressed.txt")))
    assert {warning.detail for warning in suppressed} == {
        "BackendCompilerFailed: backend='failing' raised: ValueError: no kernel for this graph"
    } and all(Path(warning.file or "").name == "printed.py" for warning in suppressed)
    (failure,) = run_failures(opened(tmp_path, data(version, "backend.txt")))
    assert failure.is_compile and "backend='failing' raised: ValueError: no kernel for this" in failure.sentence
    (failure,) = run_failures(opened(tmp_path, data(version, "fullgraph.txt")))
    assert failure.is_compile and (Path(failure.file or "").name, failure.line) == ("printed.py", 47)


def test_the_exception_has_torchs_explanation_hints_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.out"
    path.write_bytes(data("torch-2.13", "fullgraph.txt"))
    assert main(["problems", str(path)]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "Unsupported: Data-dependent branching job/printed.py:47" in page
    assert "why Detected data-dependent branching" in page and "Use `torch.cond`" in page and "gb0170.html" in page


def barred(text: bytes) -> bytes:
    """Return a group as Python 3.13 and later print it: a bar before every line of a member (`emit` in Lib/traceback.py)."""
    return b"".join(
        line if line.lstrip().startswith((b"+", b"|")) or number < 4 else b"    | " + line
        for number, line in enumerate(text.splitlines(keepends=True))
    )


@pytest.mark.parametrize(("name", "form"), [("chained", bytes), ("group", bytes), ("group", barred)])
def test_notes_and_groups_keep_the_cause_and_its_explanation(name: str, form: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (failure,) = run_failures(opened(tmp_path, form(data("torch-2.13", f"noted_{name}.txt"))))
    assert failure.sentence == "Unsupported: Data-dependent branching"
    assert (failure.file, failure.line, failure.function) == ("/home/user/job/noted.py", 12, "branch")
    printed = (tmp_path / "job.out").read_bytes()[failure.offset_bytes :]
    assert printed.lstrip(b" |").startswith(b"Traceback (most recent call last):\n")


def test_output_after_an_exception_is_no_note(tmp_path: Path) -> None:
    text = data("torch-2.13", "noted_chained.txt")
    (alone,) = run_failures(opened(tmp_path, text + b"epoch 2\n"))
    first, second = run_failures(opened(tmp_path, text + b"epoch 2\n" * 60 + text))
    assert alone.sentence == first.sentence == second.sentence and second.offset_bytes == len(text) + 480
