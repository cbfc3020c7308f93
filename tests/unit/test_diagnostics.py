"""`tltui problems --format sarif|rdjson|quickfix|github`: valid for its readers, whatever a trace contains."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import Log
from real import ROOT, TRACES, trace

from tltui.cli import main
from tltui.model.ref import Ref
from tltui.questions.index import BY_NAME
from tltui.questions.problems.page import ProblemRow
from tltui.questions.question import question_of, view_document
from tltui.text.document import Options
from tltui.writers.diagnostics import RULES, Diagnostic, annotation, diagnostics_of, quickfix, rdjson, sarif

SCHEMAS = Path(__file__).parents[1] / "kit" / "schemas"
BREAKS = "tests/traces/torch-2.13/breaks"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    for name in ("TORCH_TRACE", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


def schema(name: str) -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


SARIF, RDJSON = schema("sarif-schema-2.1.0.json"), schema("DiagnosticResult.json")


def results_of(diagnostics: list[Diagnostic]) -> list[Any]:
    log: Any = sarif(diagnostics)
    return list(log["runs"][0]["results"])


def assert_valid(rows: list[ProblemRow], base: str) -> None:
    diagnostics = diagnostics_of(rows, base)
    SARIF.validate(sarif(diagnostics))
    RDJSON.validate(rdjson(diagnostics))
    for one in diagnostics:
        assert "\n" not in quickfix(one) and "\r" not in quickfix(one)
        assert str(annotation(one)).startswith(("::error ", "::warning ", "::notice "))
        assert "\n" not in str(annotation(one))


@pytest.mark.parametrize("path", sorted({path.parent for path in (TRACES / "torch-2.13").glob("*/*.log")}), ids=lambda p: p.name)
def test_every_problem_of_a_trace_is_in_each_format(path: Path) -> None:
    run = trace(path)
    document = view_document(run, BY_NAME["problems"], Ref(), Options())
    while not document.advance():
        pass
    rows = list(question_of("problems").records(document.data()))
    assert_valid(rows, "/home/user")
    diagnostics = diagnostics_of(rows, "/home/user")
    assert [one.kind for one in diagnostics] == [row.kind for row in rows]
    for row, one in zip(rows, diagnostics, strict=True):
        if one.file:
            assert (row.file or "").endswith(one.file) and one.line == row.line
    for result, one in zip(results_of(diagnostics), diagnostics, strict=True):
        assert result["ruleId"] == f"tltui/{one.kind}" and bool(result["locations"]) == bool(one.file)


def test_sarif_of_graph_breaks(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["problems", BREAKS, "--format", "sarif"]) == 0
    (run,) = json.loads(capfd.readouterr().out)["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["tltui/break"]
    first, second = run["results"]
    place = {"artifactLocation": {"uri": "file:///home/user/models/breaks.py"}, "region": {"startLine": 11}}
    assert first["locations"] == [{"physicalLocation": place}]
    assert first["message"]["text"].splitlines()[0] == "Call to `torch._dynamo.graph_break()`"
    assert first["message"]["text"].splitlines()[-1] == "in compile 2/0, 3/0"
    assert second["message"]["text"].startswith("Failed to trace builtin operator\n")


def test_files_of_the_checkout_are_relative(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", "/home/user")
    assert main(["problems", BREAKS, "--format", "github"]) == 0
    first = capfd.readouterr().out.splitlines()[0]
    assert first.startswith("::warning file=models/breaks.py,line=11,title=tltui%3A Call to")
    assert main(["problems", BREAKS, "--format", "sarif"]) == 0
    place = json.loads(capfd.readouterr().out)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "models/breaks.py", "uriBaseId": "SRCROOT"}


def test_rdjson_leaves_out_what_has_no_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.log"
    Log(path).start().open()
    assert main(["problems", str(path), "--format", "rdjson"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out) == {"source": {"name": "tltui"}, "diagnostics": []}
    assert err == "tltui: rdjson leaves out 1 problem without a line of your code\n"


def test_a_run_without_problems_is_an_empty_list(capfd: pytest.CaptureFixture[str]) -> None:
    train = "tests/traces/torch-2.13/train"
    assert main(["problems", train, "--format", "sarif"]) == 0
    assert json.loads(capfd.readouterr().out)["runs"][0]["results"] == []
    assert main(["problems", train, "--format", "quickfix"]) == 0
    assert capfd.readouterr() == ("", "")


def test_it_is_written_to_any_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "tltui.sarif"
    assert main(["problems", BREAKS, "--format", "sarif", "-o", str(target)]) == 0
    SARIF.validate(json.loads(target.read_text(encoding="utf-8")))
    assert main(["problems", BREAKS, "--format", "sarif", "-o", str(target)]) == 2
    assert "--force" in capfd.readouterr().err


@pytest.mark.parametrize("flag", ["--json", "--markdown"])
def test_two_formats_conflict(flag: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["problems", BREAKS, "--format", "sarif", flag]) == 2
    assert capfd.readouterr() == ("", f"tltui: {flag} conflicts with --format: 'sarif'\n  leave one of them out\n")


NASTY = "\x00\x0b\x1b\r\n\t\ud800\udfff\ufffe\uffff\x85\u2028<>&\"'`:%,|/"
TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from(NASTY))
REFS = st.lists(st.from_regex(r"[0-9]/[0-9]", fullmatch=True), max_size=6).map(tuple)
ROW = st.builds(
    ProblemRow, kind=st.sampled_from(sorted(RULES)), headline=TEXT, reason=TEXT, function=TEXT | st.none(),
    file=TEXT | st.none(), line=st.integers(-1, 9) | st.none(), count=st.just(1), ranks=st.integers(1, 3), first_ref=st.just(""),
    refs=REFS, hints=st.lists(TEXT, max_size=2).map(tuple),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(ROW, max_size=3))
def test_any_text_is_valid(rows: list[ProblemRow]) -> None:
    assert_valid(rows, "/home/user")
    diagnostics = diagnostics_of(rows, "/home/user")
    for one, result in zip(diagnostics, results_of(diagnostics), strict=True):
        for location in result["locations"]:
            assert unquote(location["physicalLocation"]["artifactLocation"]["uri"]).removeprefix("file://") == one.file


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_vim_reads_the_quickfix_list(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "breaks.py"
    source.write_text("pass\n" * 20, encoding="utf-8")
    assert main(["problems", BREAKS, "--format", "quickfix"]) == 0
    errors = tmp_path / "errors"
    errors.write_text(capfd.readouterr().out.replace("/home/user/models/breaks.py", str(source)), encoding="utf-8")
    show = ("redir! > place", "echo expand('%:p') line('.')", "qa!")
    command = ["vim", "-u", "NONE", "-es", "-q", str(errors), *(word for one in show for word in ("-c", one))]
    subprocess.run(command, cwd=tmp_path, check=False, timeout=60, stdin=subprocess.DEVNULL, capture_output=True)
    assert (tmp_path / "place").read_text(encoding="utf-8").split() == [str(source), "11"]


def test_each_kind_of_row_has_a_rule() -> None:
    kinds = set(re.findall(r"`(\w+)`", _documentation_of_kind()))
    assert kinds == set(RULES)


def _documentation_of_kind() -> str:
    text = Path(ROOT / "src" / "tltui" / "questions" / "problems" / "page.py").read_text(encoding="utf-8")
    found = re.search(r"class ProblemRow:.*?    kind: str\n    \"\"\"(.*?)\"\"\"", text, re.DOTALL)
    assert found is not None
    return found[1]
