"""`-o FILE`: every command that prints writes files too, whole or not at all."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from made_logs import Log
from real import TRACES, trace
from results import result_in

from tltui.cli import COMMANDS, main
from tltui.cli.registry import parser_of
from tltui.export import write
from tltui.export.html import page as html_page
from tltui.questions.build import build
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Options
from tltui.text.payload import Payload

BREAKS = str(TRACES / "torch-2.13" / "breaks")
OWN = {"extract", "case", "index", "repro", "bundle", "run", "try", "report"}
"""Commands whose `-o` means something else."""
NONE = {"tail", "watch", "completions", "schema", "mcp"}
"""Commands without one: what goes on, and what opens no run."""
CODE = "0/0:dynamo_output_graph"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TORCH_TRACE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


def test_each_command_has_it_or_says_what_else_it_means() -> None:
    for name in COMMANDS:
        parser = parser_of(name)
        to = any(action.dest == "to" for action in parser._actions)
        assert to == (name not in OWN | NONE), name
        assert parser.has_option("-o") == (name not in NONE), name
        assert not to or (parser.has_option("--force") and parser.has_option("--markdown")), name
    assert main(["guide", "-o", "a.json"]) == 2 and not Path("a.json").exists(), "it has no result"


@pytest.mark.parametrize("words", [("problems",), ("ls",), ("show", CODE), ("diff", "0/0", "1/0"), ("grep", "x"), ("damage",)])
def test_each_format(words: tuple[str, ...], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    command, *rest = words
    arguments = [command, *rest[:1], BREAKS, *rest[1:]]
    assert main([*arguments, *(["--all"] if parser_of(command).has_option("--all") else [])]) == 0
    printed = capfdbinary.readouterr().out
    for suffix in ("txt", "ansi", "md", "html", "json"):
        assert main([*arguments, "-o", f"a.{suffix}"]) == 0
        out, said = capfdbinary.readouterr()
        assert out == b"" and said == f"wrote a.{suffix}  {Path(f'a.{suffix}').stat().st_size:,} bytes\n".encode()
    assert Path("a.txt").read_bytes() == printed
    assert Path("a.md").read_text().startswith("## ") and Path("a.html").read_text().startswith("<!DOCTYPE html>")
    assert any(f"of {word} · tltui" in Path("a.html").read_text() for word in arguments)
    assert main([*arguments, "--json"]) == 0
    assert capfdbinary.readouterr().out == Path("a.json").read_bytes() and json.loads(Path("a.json").read_bytes())
    assert main([*arguments, "-o", "-"]) == 0
    folded = capfdbinary.readouterr().out
    assert folded == printed if b"--all" not in folded else len(folded) < len(printed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ls", "-o", "a"), "unknown format of the output file: 'a'\n  use a name that ends in .txt, .ansi, .md"),
        (("ls", "-o", "."), "Is a directory: '.'\n  add the name of a file that ends in .txt"),
        (("ls", "-o", "a.docx"), "unknown format of the output file: 'a.docx'"),
        (("check", "-o", "a.xml"), "for XML use --format junit"),
        (("check", "--format", "json", "-o", "a.md"), "--format json conflicts with the suffix of the file: 'a.md'"),
        (("ls", "--json", "-o", "a.txt"), "--json conflicts with the suffix of the file: 'a.txt'"),
        (("ls", "--markdown", "-o", "a.html"), "--markdown conflicts with the suffix of the file: 'a.html'"),
        (("ls", "--markdown", "--json"), "--json and --markdown cannot be combined"),
        (("ls", "--check", "-o", "a.txt"), "--check conflicts with the suffix of the file: 'a.txt'"),
        (("show", CODE, "--raw", "-o", "a.html"), "--raw conflicts with the suffix of the file: 'a.html'"),
        (("timing", "--perfetto", "p.json", "-o", "a.md"), "--perfetto and -o cannot be combined"),
        (("ls", "-o", "nowhere/a.txt"), "No such file or directory"),
        (("show", "9/9", "-o", "a.txt"), "9/9"),
        (("grep", "(", "-o", "a.txt"), "("),
    ],
)
def test_what_does_not_go_is_said_and_nothing_is_left(
    words: tuple[str, ...], said: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command, *rest = words
    assert main([command, *(rest[:1] if command == "grep" else []), BREAKS, *(rest[1:] if command == "grep" else rest)]) == 2
    out, error = capfd.readouterr()
    assert said in error and out == ""
    assert not list(tmp_path.iterdir())


def test_files_are_replaced_with_force_only(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.md").write_text("mine")
    assert main(["ls", BREAKS, "-o", "a.md"]) == 2
    assert Path("a.md").read_text() == "mine" and "--force replaces it" in capfd.readouterr().err
    assert main(["ls", BREAKS, "-o", "a.md", "--force"]) == 0 and Path("a.md").read_text() != "mine"


def test_bytes_go_into_a_file_of_any_name() -> None:
    assert main(["show", BREAKS, CODE, "--raw", "-o", "graph.py"]) == 0
    assert main(["check", BREAKS, "--format", "junit", "-o", "r.xml"]) == 0
    assert "class GraphModule" in Path("graph.py").read_text() and Path("r.xml").read_text().startswith("<?xml")


def test_markdown_for_an_issue_is_cut_and_a_file_is_not(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start()
    log.add("inductor_output_code", {}, "x = 1  # a line of some length\n" * 9_000).metrics().open()
    words = ["show", "x.log", "0/0:inductor_output_code"]
    assert main([*words, "-o", "whole.md"]) == 0 and main([*words, "--markdown", "-o", "issue.md"]) == 0
    assert Path("whole.md").stat().st_size > 65_536 >= len(Path("issue.md").read_text().replace("\n", "\r\n"))
    assert "omitted" in Path("issue.md").read_text() and "left out" not in Path("whole.md").read_text()


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    target.write_text("old")

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))

    command = [sys.executable, "-m", "tltui", "problems", BREAKS, "-o", str(target), "--force"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, preexec_fn=small, check=False)
    assert done.returncode == 2 and "tltui: File too large: '" in done.stderr and "a.html'" in done.stderr
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_x_writes_the_same_files() -> None:
    """What the UI calls: a page has its result as JSON, a part of one and an artifact their text; JSON of torch's is as it is."""
    run = trace("torch-2.13/breaks")
    page = build(run, "@problems", Options())
    write(page, "p.json")
    write(page, "part.json", lo=0, hi=2)
    write(page, "p.html")
    shown, part = json.loads(Path("p.json").read_text()), json.loads(Path("part.json").read_text())
    assert list(shown) == ["view", "schema_version", "run", "ref", "result"] and shown["result"]["breaks"]
    assert part["result"] == {"title": page.title, "text": "\n".join(page.text(0, 2))}
    assert Path("p.html").read_text() == "".join(html_page(page))
    code = build(run, CODE, Options())
    write(code, "c.json")
    assert result_in(Path("c.json").read_text())["text"] == "\n".join(code.text())
    own = BytesDocument(Payload.of(b'{"a": 1}'), "json")
    write(own, "own.json")
    assert Path("own.json").read_text() == '{"a": 1}\n'
