from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import real
from golden import assert_golden
from made_logs import Log
from pages import is_url
from ranked import ranked
from real import ROOT, TRACES

from tltui.documents import format as fmt
from tltui.model.artifacts import artifacts_of, units_of
from tltui.model.follow import open_run
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.questions.overview.compile_page import attempt_document, compile_document, phase_document, unit_document
from tltui.questions.overview.rank_page import frame_document, process_document, rank_document
from tltui.questions.overview.run_page import run_document
from tltui.sources.discover import discover
from tltui.text.document import Options, TextDocument
from tltui.text.torch_names import is_graph_break_page

NAMES = sorted(
    str(path.relative_to(TRACES))
    for group in ("torch-2.13", "tlparse")
    for path in (TRACES / group).iterdir()
    if path.name != "LICENSE"
)


@pytest.fixture(autouse=True)
def _neutral(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Paths relative to the repository, times in UTC."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def opened(name: str) -> Run:
    return real.opened(f"tests/traces/{name}")


def page(run: Run, node: object, options: Options | None = None) -> TextDocument:
    options = options or Options(width=80)
    if isinstance(node, str):
        node = run.resolve(node)
    if isinstance(node, Compile):
        return compile_document(run, node, options)
    if isinstance(node, Frame):
        return frame_document(run, node, options)
    if isinstance(node, Process):
        return process_document(run, node, options)
    if isinstance(node, Rank):
        return rank_document(run, node, options)
    return run_document(run, options)


def every_page(run: Run, options: Options) -> Iterator[TextDocument]:
    yield run_document(run, options)
    for rank in run.ranks:
        yield rank_document(run, rank, options)
        for process in rank.processes:
            yield process_document(run, process, options)
            for frame in process.frames.values():
                yield frame_document(run, frame, options)
                for compile_ in frame.compiles:
                    yield compile_document(run, compile_, options)
                    yield from pages_below(run, compile_, options)


def pages_below(run: Run, node: Compile, options: Options) -> Iterator[TextDocument]:
    for attempt in sorted(node.attempts):
        yield attempt_document(run, node, attempt, options)
    artifacts = artifacts_of(node)
    for phase in {artifact.kind.phase for artifact in artifacts}:
        yield phase_document(run, node, phase.key, None, options)
    for unit in units_of(artifacts):
        yield unit_document(run, node, unit.number + 1, options)


def text_of(document: TextDocument) -> str:
    return "\n".join(document.text())


def visible(document: TextDocument) -> list[str]:
    """The lines that are seen at first."""
    hidden = {n for s in document.sections() if s.folded for n in range(s.first + 1, s.last + 1)}
    return [line.text for n, line in enumerate(document.lines) if n not in hidden]


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("torch-2.13/breaks", ""),
        ("torch-2.13/breaks", "0/0"),
        ("torch-2.13/cache_hit", "0/0"),
        ("torch-2.13/ca", "a0"),
        ("torch-2.13/ddp", ""),
        ("torch-2.13/ddp", "1:"),
        ("torch-2.13/dyn", "0/0"),
        ("torch-2.13/errors", ""),
        ("torch-2.13/errors", "0/0"),
        ("torch-2.13/errors", "1/0"),
        ("torch-2.13/recompiles", "0/"),
        ("torch-2.13/recompiles", "0/3"),
        ("torch-2.13/aoti", "none"),
        ("tlparse/comp_metrics.log", "0/0"),
        ("tlparse/comp_metrics.log", ""),
    ],
)
def test_golden(name: str, ref: str) -> None:
    run = opened(name)
    title = re.sub(r"\W+", "_", f"{name.partition('/')[2]} {ref or 'run'}").strip("_")
    assert_golden(f"overview_{title}", text_of(page(run, ref)))


def test_golden_of_attempt_phase_and_unit() -> None:
    options = Options(width=80)
    run = opened("torch-2.13/breaks")
    node = run.resolve("0/0")
    assert isinstance(node, Compile)
    assert_golden("overview_breaks_attempt_0", text_of(attempt_document(run, node, 0, options)))
    run = opened("torch-2.13/train")
    node = run.resolve("0/0")
    assert isinstance(node, Compile)
    assert_golden("overview_train_inductor_1", text_of(phase_document(run, node, "inductor", 1, options)))
    assert_golden("overview_train_unit_2", text_of(unit_document(run, node, 2, options)))
    for wrong in (lambda: attempt_document(run, node, 9, options), lambda: unit_document(run, node, 9, options),
                  lambda: phase_document(run, node, "x", None, options),
                  lambda: phase_document(run, node, "inductor", 9, options)):  # fmt: skip
        with pytest.raises(BadAddress):
            wrong()


@pytest.mark.parametrize("name", NAMES)
def test_every_page_fits_its_width_and_its_links_lead_somewhere(name: str) -> None:
    run = opened(name)
    for width in (60, 80, 120):
        for document in every_page(run, Options(width=width)):
            for line in document.lines:
                is_code = "  fix: " in line.text  # code to be copied has one line
                assert len(line.text) <= width or is_url(line.text) or is_code, (document.ref, line.text)
    for document in every_page(run, Options(width=100)):
        for line in document.lines:
            for link in line.links:
                if not link.target.startswith("file:") and not is_graph_break_page(link.target):
                    ref = parse_ref(link.target)
                    assert ref.view or run.resolve(ref) is not None, link.target


@pytest.mark.parametrize("name", NAMES)
def test_the_essentials_are_on_the_first_screen(name: str) -> None:
    run = opened(name)
    for compile_ in run.compiles():
        if not compile_.is_compile:
            continue
        facts = compile_.facts
        lines = 30
        top = "\n".join(visible(compile_document(run, compile_, Options(width=80)))[:lines])
        expected = {
            "Failure": facts.failed and not (facts.eager_reason and facts.breaks),
            "Graph break": bool(facts.breaks), "Why it recompiled": compile_.is_recompile,
            "Function": compile_.frame.code[0] is not None,
        }  # fmt: skip
        for wanted, there in expected.items():
            assert not there or wanted in top, (str(compile_.ref), wanted)


@pytest.mark.parametrize("name", ["torch-2.13/breaks", "torch-2.13/recompiles", "torch-2.13/ddp"])
def test_ascii_pages_have_only_ascii(name: str) -> None:
    run = opened(name)
    for document in every_page(run, Options(width=60, ascii=True)):
        assert text_of(document).isascii(), document.ref


def test_pages_know_their_address_and_result() -> None:
    run = opened("torch-2.13/breaks")
    assert page(run, "0/0").ref == "0/0" and page(run, "0/0").data() is not None
    assert page(run, "").ref == "" and page(run, "").data() is not None
    assert page(run, "0/").ref == "0/"


def test_a_run_that_is_still_read_counts_the_ranks_so_far(tmp_path: Path) -> None:
    ranked(tmp_path, "--ranks", 4, "--compiles", 1, "--detail", "tiny")
    run = Run(discover([str(tmp_path)]))
    shares = []
    for number, scanner in enumerate(run.scanners()):
        text = text_of(page(run, ""))
        assert f"so far: {number} of 4 ranks; still reading: " in text
        shares.append(int(re.search(r"still reading: (\d+)%", text)[1]))  # type: ignore[index]
        while not run.models[number].log.ended:
            run.apply(number, scanner.step(1 << 20))
    assert shares == sorted(shares) and "so far" not in text_of(page(run, ""))


def test_a_run_that_is_still_read_says_so_at_every_step() -> None:
    run = Run(discover(["tests/traces/torch-2.13/errors"]))
    assert "still reading" in text_of(page(run, ""))
    for number, scanner in enumerate(run.scanners()):
        while not run.models[number].log.ended:
            run.apply(number, scanner.step(8192))
            for document in every_page(run, Options(width=80)):
                assert len(document)
            assert ("still reading" in text_of(page(run, ""))) is not run.finished


def test_a_compile_that_was_killed(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().event("dynamo", "B", 0).event("backend_compile", "B", 1)
    run = log.event("x", "B", 1).event("x", "E", 63).open()
    wide = Options(width=200)
    text = text_of(page(run, "0/0", wide))
    assert "? unfinished when the log ends" in text
    assert "started, no end logged, for at least 62.0 s: dynamo › backend_compile" in text
    text = text_of(page(run, "", wide))
    assert "f did not finish compiling; it was in backend_compile, for at least 62.0 s  tltui where PATH" in text
    assert "Unfinished (1)" in text


def first_finding(output: Path, text: str) -> str:
    output.write_text(text, encoding="utf-8")
    run = real.fresh(TRACES / "torch-2.13" / "errors", output)
    return text_of(page(run, "", Options(width=200))).partition("Start here\n")[2].partition("\n")[0].strip()


def test_the_error_that_ended_the_job_comes_before_those_that_were_caught(tmp_path: Path) -> None:
    """The trace has three failed compiles; the output ends with the traceback of the second, or with another one.

    The sentence must hold for a program that caught the last error, too, printed its traceback and succeeded.
    """
    run, output = real.trace("torch-2.13/errors"), tmp_path / "job.err"
    error = real.compile_at(run, "1/0")
    record = next(number for number in error.records if error.process.log.kind(number).name == "dynamo_error")
    raised = error.process.log.text(record)
    ended = "[1/0]  the output of the job ends with BackendCompilerFailed in g; 2 other compiles failed"
    assert first_finding(output, raised).startswith(ended)
    caught = f"{raised}\nthe program goes on\n"
    assert first_finding(output, caught).startswith("[0/0]  3 compiles failed, the first with Unsupported in f")
    other = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 15, in <module>\nValueError: no data\n'
    assert first_finding(output, other).startswith("how the job ended: ")
    assert first_finding(output, f"{other}the program goes on\n").startswith("[0/0]  3 compiles failed")


def test_the_recompile_limit(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    for number in range(8):
        log.start(compile_=number).metrics(compile_=number)
    reason = "Dynamo recompile limit exceeded\n  Explanation: too often.\n  Hint: Look."
    config = '{"recompile_limit": 8}'
    log.artifact("recompile_reasons", "0/7: n == 8", compile_=8)
    log.metrics(compile_=8, fail_type="Unsupported", fail_reason=reason, dynamo_config=config, graph_op_count=None)
    run = log.open()
    text = text_of(page(run, "0/8"))
    assert "» not compiled: the recompile limit (8) was reached" in text
    assert "9th compile of f (limit 8)" in text and "why  too often." in text and "try  1 Look." in text
    assert "The recompile limit of 8 was reached" in text_of(page(run, "0/"))
    assert "f hit the recompile limit" in text_of(page(run, ""))


def test_an_empty_reason_is_said_to_be_empty(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start(compile_=1).artifact("recompile_reasons", "[\n\n]", compile_=1)
    text = text_of(page(log.metrics(compile_=1).open(), "0/1"))
    assert "torch logged an empty list of reasons" in text


def test_only_some_breaks_are_read(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    for frame in range(60):
        log.start(frame=frame)
        text = "Graph break in user code at /a.py:3\nGraph Break Reason: x\n"
        log.artifact("dynamo_graph_break_reason", text, frame=frame)
        log.metrics(frame=frame)
    text = text_of(page(log.open(), ""))
    assert "Graph breaks (60)" in text and "grouped from the first 50 of 60" in text and "50× " in text
    assert "for example: x" in text


def test_the_same_error_on_many_ranks_is_one_line(tmp_path: Path) -> None:
    for rank in range(4):
        log = Log(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").start(rank=rank)
        log.metrics(fail_type="Bad", fail_reason="because")
        log.open()
    text = text_of(page(open_run(discover([str(tmp_path)])), ""))
    assert "[0:0/0] Bad  f  4 compiles on 4 ranks" in text and "[1:0/0]" not in text


def test_hostile_text_is_made_visible(tmp_path: Path) -> None:
    bad = "a\x1b[31mb\u202ec\x85d [red]x[/red]"
    log = Log(tmp_path / "a.log").start(name=bad).artifact("recompile_reasons", f"0/0: {bad}")
    log.artifact("dynamo_graph_break_reason", f"Graph break in user code at /{bad}.py:3\nGraph Break Reason: {bad}\n")
    log.event(bad, "B", 0).metrics(fail_type=bad, fail_reason=bad, cudagraph_skip_reason=bad)
    run = log.add("describe_source", {"id": 0, "describer_id": 0, "source": bad}).add(
        "describe_tensor", {"id": 0, "describer_id": 0, "dtype": bad, "size": [bad], "device": bad}
    ).open()  # fmt: skip
    for document in every_page(run, Options(width=100)):
        for text in document.text():
            assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", text)
    text = text_of(page(run, "0/0"))
    assert "a␛[31mb␦c␦d [red]x[/red]" in text


VALUES = (
    "null", "true", "-1", "1e400", "[]", "{}", '""', '"\\ud800"', "[[[1]]]", '{"a": 1}', '"x"', "99999999999999999999",
)  # fmt: skip


@pytest.mark.parametrize("name", ["torch-2.13/recompiles", "torch-2.13/errors", "torch-2.13/ca", "tlparse/simple.log"])
@pytest.mark.parametrize("seed", range(4))
def test_mutated_logs_never_raise(name: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    source = TRACES / name
    data = (source if source.is_file() else next(source.iterdir())).read_text("utf-8", "replace")

    def odd(match: re.Match[str]) -> str:
        return match[1] + chance.choice(VALUES) if chance.random() < 0.08 else match[0]

    lines = []
    for line in data.split("\n"):
        if line.startswith("V") or chance.random() < 0.2:
            line = re.sub(r'(": ?)("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|\[\])', odd, line)
        if chance.random() > 0.004:
            lines.append(line[: chance.randrange(len(line))] if line and chance.random() < 0.004 else line)
    path = tmp_path / "mutated.log"
    path.write_text("\n".join(lines), "utf-8")
    run = open_run(discover([str(path)]))
    for document in every_page(run, Options(width=80)):
        assert len(document)


@pytest.mark.parametrize("name", ["torch-2.13/breaks", "torch-2.13/cache_hit", "tlparse/comp_failure.log"])
def test_cut_off_logs_never_raise(name: str, tmp_path: Path) -> None:
    source = TRACES / name
    data = (source if source.is_file() else next(source.iterdir())).read_bytes()
    chance = random.Random(7)
    for _ in range(12):
        path = tmp_path / "cut.log"
        path.write_bytes(data[: chance.randrange(2000, len(data))])
        run = open_run(discover([str(path)]))
        for document in every_page(run, Options(width=80)):
            assert len(document)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 ms"), (0.0001, "<1 ms"), (0.085, "85 ms"), (1.4149, "1.41 s"), (38.24, "38.2 s"), (99.97, "1 min 40 s"),
     (200, "3 min 20 s"), (3900, "1 h 05 min"), (float("nan"), "?"), (-1.5, "-1.50 s")],
)  # fmt: skip
def test_seconds(value: float, text: str) -> None:
    assert fmt.seconds(value) == text


def test_other_formats() -> None:
    sizes = [fmt.size_of(n) for n in (0, 812, 12595, 4_300_000, 99 << 30)]
    assert sizes == ["0 B", "812 B", "12.3 KB", "4.1 MB", "99.0 GB"]
    assert [fmt.ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 102, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "102nd", "111th",
    ]  # fmt: skip
    assert fmt.plural(1, "break") == "1 break" and fmt.plural(2000, "miss", "misses") == "2,000 misses"
    assert fmt.place("/a/b/c.py", 3) == "b/c.py:3" and fmt.place("c.py", None) == "c.py" and fmt.place(None, 3) == "?"
    assert fmt.short_path("C:\\x\\y\\z.py") == "y/z.py"
    assert fmt.place_target("<string>", 3) == "" and fmt.place_target("/a b.py", 3) == "file:/a b.py:3"
    assert fmt.clip("abcdef", 4) == "abc…" and fmt.clip_middle("abcdefgh", 5) == "ab…gh" and fmt.clip("a", 0) == ""
    assert fmt.wrap("a bb " + "c" * 25, 10) == ["a bb", "c" * 10, "c" * 10, "c" * 5]
    assert fmt.when(None) == "?" and fmt.when(1e300) == "?" and fmt.when(0) == "1970-01-01 00:00:00"
    assert fmt.percent(1, 1000) == "<1%" and fmt.percent(1, 0) == "0%" and fmt.percent(0, 5) == "0%"


@pytest.mark.parametrize(
    ("width", "reason"), [(70, "x dtype: float64 → float32"), (120, "tensor 'x' dtype mismatch. expected Double, actual Float")]
)
def test_the_last_reason_is_not_cut_before_its_numbers(width: int, reason: str) -> None:
    document = run_document(real.trace("torch-2.13/recompiles"), Options(width=width))
    while not document.advance():
        pass
    assert f"  last reason: [0/4] {reason}" in list(document.text())


@pytest.mark.parametrize(
    ("name", "words"), [("outcomes", "3 graph breaks, for example: "), ("breaks", "3 graph breaks, most common: ")]
)
def test_the_first_of_equally_frequent_breaks_is_an_example(name: str, words: str) -> None:
    document = run_document(opened(f"torch-2.13/{name}"), Options(width=160))
    assert any(words in document.line(n).text for n in range(len(document)))


@pytest.mark.parametrize(
    ("compile_", "words"),
    [
        ("9/1", "torch saw that L['module'].index varies: it was 3, then 4. It is a constant in this compile."),
        ("4/1", "torch marked L['n'] as dynamic: it was 7, then 9"),
    ],
)
def test_a_number_that_torch_noted_but_kept_is_called_a_constant(compile_: str, words: str) -> None:
    run = opened("torch-2.13/reasons")
    node = run.resolve(parse_ref(compile_))
    assert isinstance(node, Compile)
    document = compile_document(run, node, Options(width=160))
    lines = [document.line(n).text for n in range(len(document))]
    assert any(words in line for line in lines), [line for line in lines if "torch " in line]
