"""Wrong usages of the command line: an exit code, the problem with its value, and what to type. No traceback, never silence."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from real import TRACES

from tltui.cli import main

DDP = str(TRACES / "torch-2.13" / "ddp")
NO_MATCH = 1
WRONG: tuple[tuple[str, str, str], ...] = (
    # options
    ("summary T --jsn", "unknown option of tltui summary: '--jsn'", "did you mean --json?"),
    ("ls T --rnk 0", "unknown option of tltui ls: '--rnk'", "did you mean --rank?"),
    ("ls T --theme dark", "unknown option of tltui ls: '--theme'", "see tltui ls --help"),
    ("T --nomouse", "unknown option of tltui: '--nomouse'", "did you mean --no-mouse?"),
    ("timing T --sort foo", "invalid value of --sort: 'foo'", "use one of own, total, count, name"),
    ("timing T --sort totl", "invalid value of --sort: 'totl'", "did you mean total?"),
    ("timing T --perfetto", "missing value of --perfetto", "see tltui timing --help"),
    ("summary T --rank x", "invalid rank: 'x'", "use a number, or norank for processes without a rank"),
    ("summary T --frame 0/1", "invalid frame: '0/1'", "use a number: frame 3 has the compiles 3/0, 3/1 …"),
    ("grep foo T -C two", "invalid number of lines: 'two'", "use a number, such as 10"),
    ("tail T -n some", "invalid number of lines: 'some'", "use a number, such as 10 or all"),
    ("report T -o r.html --max-size 5X", "invalid size: '5X'", "use 800k, 5M or 1G"),
    ("index T -o x.tlx --workers 0", "invalid number of workers: '0'", "use a number from 1 to 4096"),
    ("T --theme purple", "unknown theme: 'purple'", "use one of auto, dark, light"),
    ("--verbose", "--verbose needs --version", "tltui --version --verbose"),
    # options that conflict
    ("summary T --json --markdown", "--json and --markdown cannot be combined", "leave one of them out"),
    ("summary T --json -o x.html", "--json conflicts with the suffix of the file: 'x.html'", "change one of them"),
    ("summary T --rank 0 1:0/0", "--rank conflicts with the address: '1:0/0'", "leave one of them out"),
    ("summary T --frame 2 1:0/0", "--frame 2 conflicts with the address: '1:0/0'", "leave one of them out"),
    ("tail T --baseline T", "--baseline needs limits", "add --fail-on LIMITS"),
    ("run --baseline T -- true", "--baseline needs limits", "add --fail-on LIMITS"),
    ("ls --demo T", "--demo replaces PATH: 'T'", "leave one of them out"),
    ("diff T 0:0/0", "diff takes two addresses, not 1", "tltui diff T 0/0 0/1"),
    # output files
    ("summary T -o out", "unknown format of the output file: 'out'", "use a name that ends in .txt"),
    ("extract T", "missing -o DIR", "for example: tltui extract PATH -o out"),
    ("repro T 0:0/0", "missing -o FILE", "-o repro.py writes the script, -o - prints it"),
    ("report T -o r.md", "a report is an HTML file, not 'r.md'", "use -o r.html"),
    ("index T -o x.%q", "unknown %q in -o: 'x.%q'", "use %h for the name of the host"),
    # commands and paths
    ("sumary T", "unknown command (and no such file): 'sumary'", "did you mean tltui summary?"),
    ("T summary", "a command comes first: 'summary'", "tltui summary PATH"),
    ("help sumary", "unknown command (and no such file): 'sumary'", "did you mean tltui summary?"),
    ("help nothing", "unknown command: 'nothing'", "tltui help lists the commands"),
    ("summary /no/where", "/no/where: No such file or directory", ""),
    ("guide hangs there", "unexpected argument: 'there'", "usage: tltui guide [options] [CHAPTER]"),
    ("completions", "missing SHELL", "use one of bash, zsh, fish"),
    ("grep", "missing PATTERN", "for example: tltui grep addmm PATH"),
    ("source T", "missing FILE:LINE", "for example: tltui source PATH train.py:42"),
    ("run", "missing COMMAND", "for example: tltui run -- python train.py"),
    # addresses
    ("show T 0/0", "ambiguous address: '0/0'", "use 0:0/0 (rank 0), 1:0/0 (rank 1), or add --rank"),
    ("show T 9:", "rank 9 is not in this run", "ranks: 0:, 1:"),
    ("ls T --frame 99", "unknown frame: '99'", "tltui ls without --frame lists all compiles"),
    ("ls T 0:0/0", "this command takes no address: '0:0/0'", "write a file of that name as ./0:0/0"),
    ("show T 0/0:", "missing artifact name after the colon: '0/0:'", "use 0/0:inductor_output_code, or 0/0"),
    ("show T 0/x", "0/x: No such file or directory", "not an address either; examples: 0/1"),
    ("show T 0:0/0 1:0/0", "too many addresses: 0:0/0 1:0/0", "give one address"),
    ("repro T 0:99/9", "unknown address: '0:99/9'", "near it: 0:"),
    ("summary T 0:0/0:dynamo_output_graph", "summary takes a rank, process, frame or compile", "tltui show T 0:0/0:dyn"),
    ("timing T 0:0/0_1", "timing takes a rank, process, frame or compile, not an attempt", "tltui show T 0:0/0_1"),
)
"""The command line (T: a trace), and the two lines of the error."""


@pytest.fixture
def failed(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[int, str]]:
    """Run a command line in a directory with the trace T; return exit code and stderr."""
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    monkeypatch.chdir(tmp_path)
    os.symlink(DDP, "T")

    def run(line: str) -> tuple[int, str]:
        code = main(shlex.split(line))
        out, error = capfd.readouterr()
        assert out == "" or code == NO_MATCH
        return code, error

    return run


@pytest.mark.parametrize(("line", "problem", "advice"), WRONG, ids=[line for line, _, _ in WRONG])
def test_a_wrong_usage_is_a_problem_and_what_to_type(
    line: str, problem: str, advice: str, failed: Callable[[str], tuple[int, str]], tmp_path: Path
) -> None:
    code, error = failed(line)
    first, *more = error.splitlines()
    assert code == 2
    assert first.startswith(f"tltui: {problem}")
    assert len(more) == (1 if advice else 0)
    assert "".join(more).startswith(f"  {advice}" if advice else "")
    assert os.listdir(tmp_path) == ["T"], "nothing is written"


@pytest.mark.parametrize("line", ["grep zzqqzz T", "source T nosuch.py:3", "log T"])
def test_no_match_is_exit_code_1_as_of_grep(line: str, failed: Callable[[str], tuple[int, str]]) -> None:
    assert failed(line) == (NO_MATCH, "")


def test_an_option_of_an_old_name_is_accepted_with_a_warning(failed: Callable[[str], tuple[int, str]]) -> None:
    code, error = failed("run --check nonsense -- true")
    assert code == 2
    assert error.startswith("tltui: --check was renamed and will be removed in 0.3: use --fail-on\ntltui: unknown limit")
    code, error = failed("extract T --color")
    assert error.startswith("tltui: --color has no effect on tltui extract and will be an error in 0.3: leave it out\n")
    assert code == 2 and "tltui: missing -o DIR" in error


@pytest.mark.parametrize("command", ["ranks", "matrix"])
def test_pages_of_all_ranks_tell_that_they_ignore_a_part(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--demo", "--rank", "1"]) == 0
    assert capsys.readouterr().err == f"tltui: {command} compares all ranks and ignores the part of the run: '1:'\n"
    assert main([command, "--demo"]) == 0
    assert capsys.readouterr().err == ""
