"""`tltui check --format junit|github`: what the readers of CI servers take, whatever a trace says."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import Log
from real import ROOT, trace
from results import result_in

from tltui.cli import main
from tltui.questions.check.limits import Gates, Outcome, Reason, gates, parse_limits
from tltui.writers.check_reports import SHOWN, errors, github, junit, summary

LIMITS = "error,break,recompiles=2,eager"
TRACES = "tests/traces/torch-2.13"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("TORCH_TRACE", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tltui.questions.problems.problem_list.installed_torch", lambda: None)


def made(*reasons: Reason, name: str = "break", value: float = 1, count: int = 1) -> Gates:
    """An outcome in which `count` limits are exceeded."""
    one = Outcome(name, "graph breaks", value, 0, None, True, False, reasons, "@problems")
    return Gates(False, 1, tuple(dataclasses.replace(one, name=f"{name}{n or ''}") for n in range(count)))


# JUnit


ELEMENTS: dict[str, tuple[set[str], list[str]]] = {
    "testsuites": (set(), ["testsuite"]),
    "testsuite": (
        {"package", "id", "name", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"},
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "time"}, ["failure"]),
    "failure": ({"message", "type"}, []),
    "system-out": (set(), []),
    "system-err": (set(), []),
}
"""What Ant's schema and that of Jenkins both allow: attributes, all of them required, and what may stand inside, in this order."""


def assert_valid(data: bytes) -> ElementTree.Element:
    """The suite of a report, which is as both schemas want it."""
    root = ElementTree.fromstring(data)
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, inside = ELEMENTS[element.tag]
        assert set(element.attrib) == attributes
        places = [inside.index(child.tag) for child in element]
        assert places == sorted(places)
    suite = root[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    assert all(re.fullmatch(r"[0-9]{0,3}\.[0-9]{3}", element.attrib["time"]) for element in (suite, *suite.iter("testcase")))
    assert suite.attrib["name"] == " ".join(suite.attrib["name"].split()) != ""
    assert [child.tag for child in suite].count("system-out") == [child.tag for child in suite].count("system-err") == 1
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
    return suite


def test_junit_has_a_case_for_each_limit(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["check", f"{TRACES}/breaks", "--fail-on", LIMITS, "--format", "junit"]) == 1
    suite = assert_valid(capfdbinary.readouterr().out)
    assert (suite.attrib["name"], suite.attrib["hostname"]) == ("tltui check of breaks", "localhost")
    assert [case.attrib["name"] for case in suite.iter("testcase")] == ["error", "break", "recompiles", "eager"]
    (failure,) = suite.iter("failure")
    assert failure.attrib == {"message": "break: 3, limit 0", "type": "break"}
    assert (failure.text or "").splitlines() == [
        "[2/0]  gb0025 Call to `torch._dynamo.graph_break()` at /home/user/models/breaks.py:11",
        "[3/0]  gb0025 Call to `torch._dynamo.graph_break()` at /home/user/models/breaks.py:11",
        "[0/0]  gb0059 Failed to trace builtin operator at /home/user/models/breaks.py:5",
    ]
    assert "FAILED: 1 of 4 limits exceeded" in (suite.findtext("system-out") or "")


def test_junit_of_a_run_that_passes(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["check", f"{TRACES}/train", "--fail-on", LIMITS, "--format", "junit"]) == 0
    suite = assert_valid(capfdbinary.readouterr().out)
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("4", "0")


def test_a_hostile_trace_makes_a_good_report(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    hostile = "\x00\x0b\x1b[2J ]]> <&\"' \ufffe \u2028 & end"
    path = tmp_path / "a \x07<b>.log"
    text = f"Graph break in user code at /home/user/{hostile}.py:3\nGraph Break Reason: {hostile}\n"
    log = Log(path).start().artifact("dynamo_graph_break_reason", text)
    log.metrics(fail_type="\ud800" + hostile, fail_reason=hostile).open()
    assert main(["check", str(path), "--fail-on", LIMITS, "--format", "junit"]) == 1
    suite = assert_valid(capfdbinary.readouterr().out)
    assert any("end" in (failure.text or "") for failure in suite.iter("failure"))


NASTY = "\x00\x0b\x1b\r\n\t\ud800\udfff\ufffe\uffff\x85\u2028<>&\"'`:%,|"
TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from(NASTY))
REASON = st.builds(Reason, ref=TEXT, text=TEXT, is_new=st.booleans(), file=TEXT | st.none(), line=st.integers(0, 9) | st.none())


@settings(max_examples=150, deadline=None)
@given(reasons=st.lists(REASON, max_size=4), title=TEXT, page=TEXT)
def test_any_text_is_good_xml(reasons: list[Reason], title: str, page: str) -> None:
    suite = assert_valid(junit(made(*reasons), title, page, 0.5, 0))
    (failure,) = suite.iter("failure")
    assert len((failure.text or "").split("\n")) == max(len(reasons), 1), "a line each"
    assert (suite.findtext("system-out") or "").count("\n") == page.count("\n")


# GitHub


def command(line: str) -> tuple[str, dict[str, str], str]:
    """What GitHub's runner reads in a line (`ActionCommand.TryParseV2`): the command, its properties, its text."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    name, _, rest = head.partition(" ")
    properties = dict(item.split("=", 1) for item in rest.split(",")) if rest else {}
    for code, meant in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        properties = {key: value.replace(code, meant) for key, value in properties.items()}
        data = data.replace(code, meant) if code not in ("%3A", "%2C") else data
    return name, properties, data


def commands(lines: list[str]) -> list[tuple[str, dict[str, str], str]]:
    """The commands that the runner acts on: none between `stop-commands` and its token."""
    found, stopped = [], ""
    for line in "\n".join(lines).split("\n"):
        if stopped:
            stopped = "" if line == f"::{stopped}::" else stopped
        elif line.lstrip().startswith("::"):
            name, properties, data = command(line.lstrip())
            if name == "stop-commands":
                stopped = data
            else:
                found.append((name, properties, data))
    assert not stopped
    return found


def test_annotations_are_at_the_users_lines(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", "/home/user")
    assert main(["check", f"{TRACES}/breaks", "--fail-on", LIMITS, "--format", "github"]) == 1
    out = capfd.readouterr().out
    title = "tltui: break: 3, limit 0"
    assert commands(out.splitlines()) == [
        ("error", {"file": "models/breaks.py", "line": "11", "title": title},
         "gb0025 Call to `torch._dynamo.graph_break()` at /home/user/models/breaks.py:11\nin 2/0, 3/0"),
        ("error", {"file": "models/breaks.py", "line": "5", "title": title},
         "gb0059 Failed to trace builtin operator at /home/user/models/breaks.py:5\nin 0/0"),
    ]  # fmt: skip
    assert "FAILED: 1 of 4 limits exceeded" in out


@pytest.mark.parametrize(("file", "workspace", "expected"), [
    ("/w/a/b.py", "/w", "a/b.py"), ("/w/a/b.py", "/w/", "a/b.py"), ("/w/./a/../b.py", "/w", "b.py"),
    ("/www/b.py", "/w", "/www/b.py"),
    ("/w/b.py", "", "/w/b.py"), ("a/b.py", "/w", "a/b.py"), ("<string>", "/w", ""), (None, "/w", ""),
    ("/w/.venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", "/w", ""),
])  # fmt: skip
def test_files_are_relative_to_the_checkout(file: str | None, workspace: str, expected: str) -> None:
    (error,) = errors(made(Reason("0/0", "why", False, file, 3)), workspace)
    assert error.file == expected
    assert ("line=3" in str(error)) is bool(expected)


def test_every_kind_of_limit_names_a_line() -> None:
    """Where one is known: of the function at least."""
    names = "error=0,eager=0,break=0,recompiles=0,frame_recompiles=0,recompile_limit=0,cache_miss=0,compile_time=0,empty=0"
    lines: dict[str, int | None] = {}
    for name in ("breaks", "errors", "recompiles", "cache_miss", "outcomes"):
        for outcome in gates(trace(f"torch-2.13/{name}"), parse_limits(names)).limits:
            for reason in outcome.reasons:
                lines[outcome.name] = lines.get(outcome.name) or (reason.line if reason.file else None)
    assert lines and all(lines.values()), lines
    assert {"error", "eager", "break", "recompiles", "frame_recompiles", "cache_miss", "compile_time"} <= lines.keys()


def test_no_more_than_github_shows() -> None:
    many = [Reason(f"{n}/0", f"reason {n}", False, "a.py", n) for n in range(30)]
    shown = errors(made(*many, value=30, count=3), "")
    assert len(shown) == SHOWN
    assert [error.text.partition("\n")[0] for error in shown[:4]] == ["reason 0"] * 3 + ["reason 1"], "of each limit"
    assert shown[-1].text == "81 more places are in the output of this step and in the job summary."
    assert len(errors(made(*many[:10], value=10), "")) == 10


def test_what_is_alike_is_one_annotation() -> None:
    (error,) = errors(made(*(Reason(f"{n}:0/0", "why", False, "a.py", 3) for n in range(8)), value=8), "")
    assert error.text == "why\nin 0:0/0, 1:0/0, 2:0/0, 3:0/0 and 4 more"


@settings(max_examples=150, deadline=None)
@given(reasons=st.lists(REASON, max_size=12), page=TEXT, warning=TEXT)
def test_no_text_is_a_command(reasons: list[Reason], page: str, warning: str) -> None:
    """The runner sees our annotations, whatever a trace says, and nothing else."""
    injected = f"{page}\n::add-mask::x\n ::set-env name=A::b\n##[error]x"
    lines = list(github(made(*reasons), injected, (warning,), "/w"))
    found = commands(lines)
    assert [name for name, _, _ in found] == ["warning"] + ["error"] * len(errors(made(*reasons), "/w"))
    assert all(set(properties) <= {"file", "line", "title"} for _, properties, _ in found)
    assert lines[0].removeprefix("::stop-commands::") not in injected


def test_the_summary_of_the_job(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is added to what other steps wrote; without the variable, and in other formats, none is written."""
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    assert main(["check", f"{TRACES}/breaks", "--format", "junit"]) == 0
    assert path.read_text() == "before\n"
    assert main(["check", f"{TRACES}/breaks", "--fail-on", LIMITS, "--format", "github"]) == 1
    text = path.read_text()
    assert text.startswith("before\n### tltui check FAILED: 1 of 4 limits exceeded\n")
    assert "| ✗ | `break` | 3 | 0 | graph breaks |" in text
    assert "[0/0]  gb0059 Failed to trace builtin operator at /home/user/models/breaks.py:5" in text
    capfd.readouterr()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "where"))
    assert main(["check", f"{TRACES}/breaks", "--fail-on", LIMITS, "--format", "github"]) == 1
    assert "::warning title=tltui check::GITHUB_STEP_SUMMARY: No such file or directory" in capfd.readouterr().out


def test_the_summary_quotes_what_a_trace_says() -> None:
    hostile = "``` </details> ![x](http://example.com/) | ````"
    text = summary(made(Reason("0/0", hostile)), hostile, (hostile,))
    fence = "`" * 5
    assert f"\n{fence}\n[0/0]  {hostile}\n{fence}\n" in text
    assert f"{fence} {hostile} {fence}" in text


# the command


def test_one_way_to_print(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{TRACES}/breaks", "--format", "json"]) == 0
    assert result_in(capfd.readouterr().out)["passed"] is True
    assert main(["check", f"{TRACES}/breaks", "--json", "--format", "json"]) == 0
    capfd.readouterr()
    assert main(["check", f"{TRACES}/breaks", "--json", "--format", "junit"]) == 2
    assert capfd.readouterr().err == "tltui: --json conflicts with --format: 'junit'\n  leave one of them out\n"
    assert main(["check", f"{TRACES}/breaks", "--format", "github"]) == 0
    assert "::error" not in capfd.readouterr().out


def test_what_cannot_be_checked_is_no_report(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "/nowhere", "--format", "junit"]) == 2
    assert capfd.readouterr().out == ""
