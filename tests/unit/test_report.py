"""`tltui report`: a run in one file. Links lead somewhere, nothing is loaded or run, its size holds, what is left out is said."""

from __future__ import annotations

import html
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from tempfile import gettempdir

import pytest
from hostile_html import BAR
from made_logs import Log
from real import DEMO, TRACES, demo, fresh, trace

from tltui.cli import main
from tltui.cli.printing import result_of
from tltui.export.report_book import LEAST, Book, ReportSummary, TooSmall
from tltui.model.artifacts import artifacts_of
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.text.document import Options
from tltui.writers.report import Ids, command_for, compiles_document, contents_of, equal_compiles, has_findings, worth_of_compiles

EMPTY = frozenset(("meta", "br", "hr", "link", "img", "input"))
UNCLOSED = frozenset(("li", "p", "html"))
RUNS_OR_LOADS = frozenset(("script", "link", "img", "iframe", "frame", "object", "embed", "form", "base", "svg", "video", "audio"))


class Read(HTMLParser):
    """What a browser would find in a file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.hrefs: list[str] = []
        self.titles: list[str] = []
        self.wrong: list[str] = []
        self._open: list[str] = []
        self.feed(BAR.sub("", text))
        self.close()
        self.wrong += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if tag in RUNS_OR_LOADS or name.startswith("on") or name in ("src", "srcset", "action", "style"):
                self.wrong.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids[value or ""] += 1
            elif name == "href":
                self.hrefs.append(value or "")
            elif name == "title":
                self.titles.append(value or "")
        if tag not in EMPTY | UNCLOSED:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in UNCLOSED and (not self._open or self._open.pop() != tag):
            self.wrong.append(f"/{tag} at {self.getpos()}")


def report(run: Run, limit: int = 5_000_000) -> tuple[str, ReportSummary]:
    file = BytesIO()
    told = Book(run, limit, "PLACE", Options(width=100)).write(file)
    return file.getvalue().decode(), told


@cache
def of_demo() -> str:
    return report(demo())[0]


def is_sound(text: str) -> Read:
    """Whether it is well-formed, with links that lead somewhere, and with nothing that is run or loaded."""
    found = Read(text)
    assert not found.wrong
    assert [name for name, count in found.ids.items() if count > 1] == []
    assert {href[1:] for href in found.hrefs if href.startswith("#")} <= set(found.ids)
    assert all(href.startswith(("#", "https://", "http://")) for href in found.hrefs)
    assert "default-src 'none'" in html.unescape(text[:600])
    return found


@pytest.mark.parametrize("name", ["torch-2.13/errors", "torch-2.13/export_failed", "torch-2.13/resets", "tlparse/simple.log"])
def test_a_report_is_sound(name: str) -> None:
    found = is_sound(report(trace(name))[0])
    assert len(found.hrefs) >= 20


def test_what_the_summary_names_is_a_section_of_the_file() -> None:
    text = of_demo()
    found = is_sound(text)
    assert {"summary", "problems", "compiles", "recompiles", "ranks", "matrix", "left-out", "at-0-9-0", "at-0-4"} <= set(found.ids)
    summary = text[text.index('<section id="summary">') : text.index('<section id="problems">')]
    for way in ('<a href="#at-0-9-0">', '<a href="#problems">', '<a href="#diff-', '<a href="#at-0-4">'):
        assert way in summary, way
    # the guard of an earlier compile that failed is a line of its guards
    assert re.search(r'<a href="#at-\d-[a-z0-9-]*guards-str-l\d+">', text)


def test_what_is_not_in_the_file_says_how_to_get_it() -> None:
    titles = Read(of_demo()).titles
    assert any(title.startswith("tltui show PATH '@record:") for title in titles)
    assert "/home/user/train/train.py:52" in titles


def test_each_artifact_is_in_the_file_or_counted_as_left_out() -> None:
    run = demo()
    text, told = report(run, 400_000)
    found = is_sound(text)
    assert len(text.encode()) == told.bytes <= 400_000
    left = html.unescape(re.sub("<[^>]*>", "", text[text.index('<section id="left-out">') :]))
    there = contents_of(run)
    assert sum(there.kinds.values()) == sum(len(artifacts_of(own)) for own in there.equal.compiles)
    rows = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^ *(\S+) +(\d+) of (\d+)$", left, re.M)}
    names = re.findall(r"<details class=rep-artifact><summary>([^<#·]*?)(?: [#·][^<]*)?(?: <|</)", text)
    here = Counter(re.sub(r".*(?=_(ORIGINAL|MODIFIED)_BYTECODE)", "*", name) for name in names)
    for name, count in there.kinds.items():
        assert here[name] == count or rows[name] == (here[name], count)
    assert told.artifacts == sum(here[name] for name in there.kinds) < told.of_artifacts
    assert "Pages without data for this run" in left
    assert len(found.ids) > 30


def test_the_size_holds_and_what_is_worth_most_stays() -> None:
    small, told = report(demo(), LEAST)
    assert told.bytes == len(small.encode()) <= LEAST
    is_sound(small)
    assert 'id="summary"' in small and 'id="problems"' in small and 'id="left-out"' in small
    with pytest.raises(TooSmall):
        report(demo(), LEAST - 1)


def test_errors_come_first_and_equal_ones_are_worth_less() -> None:
    worth = worth_of_compiles(demo().compiles())
    assert list(worth)[:2] == ["0:9/0", "0:10/0"]
    assert worth["0:4/8"] > worth["0:4/7"] > worth["0:7/0"] > worth["0:12/0"]
    reasons = [worth[f"0:4/{n}"] for n in range(1, 8)]
    assert len(set(reasons)) == 7 and max(reasons) > 1.5 * min(reasons)


def test_equal_compiles_of_ranks_stand_once() -> None:
    run = trace("torch-2.13/ddp")
    equal = equal_compiles(run)
    assert len(equal.compiles) < sum(1 for _ in run.compiles())
    assert equal.representatives
    text, told = report(run)
    is_sound(text)
    assert "the same on ranks 0, 1" in text
    # a link that names another rank than it leads to says so; one to the rank that is here does not
    said = html.unescape(text)
    says = "[0:4/0] is shown in place of [1:4/0]: its graphs, guards and code are the same"
    assert f'<a href="#at-0-4-0" class=stands title="{says}">' in said
    assert '<a href="#at-0-4-0">' in said and "stands here for [0:4/0]" not in said
    assert "A link with a double underline leads to a compile of another rank" in said
    assert 'title="tltui timing PATH 1:4/0"' in said
    assert "double underline" not in report(trace("torch-2.13/errors"))[0]
    listed = "\n".join(compiles_document(run, equal, worth_of_compiles(equal.compiles), 100, Options(width=100)).text())
    for ref, others in equal.refs.items():
        assert others[0] == ref and len(others) > 1
    assert "ranks 0–" in listed or "ranks 0, " in listed
    assert told.of_compiles == sum(own.is_compile for own in equal.compiles)


def test_many_compiles_are_listed_up_to_a_number() -> None:
    run = demo()
    equal = equal_compiles(run)
    worth = worth_of_compiles(equal.compiles)
    text = list(compiles_document(run, equal, worth, 3, Options(width=100)).text())
    assert "21 more compiles: tltui ls PATH" in " ".join(text)
    assert sum("[9/0]" in line or "[10/0]" in line for line in text) == 2
    assert not any("[12/0]" in line for line in text)


HOSTILE = """</pre></section></details><script>alert(1)</script><img src=x onerror="alert(1)">'"&#39;`javascript:x\x1b[31m"""


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    log = Log(tmp_path / "<script>'\"><b onclick=z>.log")
    log.add("str", [f"/home/{HOSTILE}.py", 0], frame=None)
    for number in range(3):
        stack = [{"line": 4, "name": HOSTILE, "filename": 0}]
        log.add("dynamo_start", {"stack": stack}, compile_=number)
        log.artifact("recompile_reasons", f"0/0: {HOSTILE} == 1  # {HOSTILE}", compile_=number)
        log.artifact(HOSTILE, HOSTILE, compile_=number)
        log.artifact("dynamo_output_graph", f"class GraphModule():\n  # File: {HOSTILE}\n  x = {HOSTILE}", compile_=number)
        failed = {"fail_type": HOSTILE, "fail_reason": HOSTILE} if number == 2 else {}
        log.metrics(co_name=HOSTILE, co_filename=HOSTILE, co_firstlineno=4, compile_=number, **failed)
    text, _ = report(log.open())
    is_sound(text)
    assert "\x1b" not in text and "<script" not in text and "<img" not in text and text.count("onerror=") > 5
    assert text.count("&lt;script&gt;") > 5


def test_a_log_that_was_cut_off(tmp_path: Path) -> None:
    source = next((TRACES / "tlparse").glob("simple.log"))
    for part in (0.2, 0.55, 0.9):
        data = source.read_bytes()
        (tmp_path / "cut.log").write_bytes(data[: int(len(data) * part)])
        is_sound(report(fresh(tmp_path / "cut.log"))[0])


def test_a_redacted_report_has_nothing_of_the_user(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    source = str(TRACES / "torch-2.13" / "errors")
    assert main(["report", source, "-o", str(target), "--redact"]) == 0
    text = target.read_text()
    is_sound(text)
    assert "errors.py" not in text and "/home/user" not in text and "Unsupported" in text
    assert gettempdir() not in text and source not in text and "a redacted copy of the trace" in text
    assert main(["report", str(TRACES / "torch-2.13" / "errors"), "-o", str(target), "--force"]) == 0
    assert "errors.py" in target.read_text()


def test_ids_and_ways() -> None:
    ids = Ids()
    names = [ids.of(ref) for ref in ("0/1", "0-1", "0/1", "@problems", "@1", "é", "x" * 200, "x" * 201)]
    assert names[0] == names[2] and len(set(names)) == 7
    assert all(re.fullmatch("[a-z][a-z0-9-]{0,70}", name) for name in names)
    assert command_for("0/1:a b") == "" or "PATH" in command_for("0/1:a b")
    assert command_for("@guards:0/1") == "tltui guards PATH 0/1"
    assert command_for("@record:0:#3") == "tltui show PATH '@record:0:#3'"
    assert command_for("@layers:0/0#2") == "tltui show PATH '@layers:0/0#2'"
    assert command_for("file:/a b.py:3") == "/a b.py:3"
    assert command_for("key:app.quit") == command_for("line:3") == ""


def test_what_says_something() -> None:
    assert has_findings("summary", None)
    assert not has_findings("vllm", {"calls": [], "why": "there is none"})
    assert has_findings("vllm", {"calls": [1]})
    assert not has_findings("ranks", None)
    pages = {page.name: result_of(build(trace("torch-2.13/errors"), page.ref, Options())) for page in contents_of(demo()).pages}
    assert not any(has_findings(name, pages[name]) for name in ("ranks", "matrix", "stragglers", "recompiles", "vllm", "exports"))
    assert all(has_findings(name, pages[name]) for name in ("summary", "problems", "stacks", "timing", "metrics", "absent"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    assert main(["report", str(DEMO), "-o", str(target), "--max-size", "300k"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"wrote .*report.html  \d+(\.\d)? KB: \d+ pages, \d+ of 24 compiles, \d+ of \d+ artifacts", out)
    first = target.read_bytes()
    assert len(first) <= 300_000
    assert main(["report", str(DEMO), "-o", str(target)]) == 2
    assert "--force" in capsys.readouterr().err
    assert target.read_bytes() == first
    for arguments in (["-o", str(tmp_path / "x.pdf")], ["-o", str(target), "--force", "--max-size", "1k"],
                      ["-o", str(tmp_path / "none" / "x.html")]):  # fmt: skip
        assert main(["report", str(DEMO), *arguments, *(() if "1k" in arguments else ("--max-size", "300k"))]) == 2
        assert capsys.readouterr().err
    assert target.read_bytes() == first
    assert main(["report", str(tmp_path / "nothing"), "-o", str(tmp_path / "y.html")]) == 2
    assert sorted(own.name for own in tmp_path.iterdir()) == ["report.html"]
