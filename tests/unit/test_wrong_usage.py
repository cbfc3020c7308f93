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
    ("timing T --sort foo", "invalid value of --sort: 'foo'", "use one of own, total, count, longest, ranks, phase, name"),
    ("timing T --sort totl", "invalid value of --sort: 'totl'", "did you mean total?"),
    ("timing T --perfetto", "missing value of --perfetto", "see tltui timing --help"),
    ("summary T --rank x", "invalid rank: 'x'", "use a number, or norank for processes without a rank"),
    ("summary T --frame 0/1", "invalid frame: '0/1'", "use a number: frame 3 has the compiles 3/0, 3/1 …"),
    ("grep foo T -C two", "invalid number of lines: 'two'", "use a number, such as 10"),
    ("tail T -n some", "invalid number of lines: 'some'", "use a number, such as 10 or all"),
    ("report T -o r.html --max-size 5X", "invalid size: '5X'", "use 800k, 5M or 1G"),
    ("index T -o x.tlx --workers 0", "invalid number of workers: '0'", "use a number from 1 to 4096"),
    ("T --theme purple", "invalid value of --theme: 'purple'", "use one of auto, dark, light"),
    ("--verbose", "--verbose needs --version", "tltui --version --verbose"),
    # options that conflict
    ("summary T --json --markdown", "--json and --markdown cannot be combined", "leave one of them out"),
    ("summary T --json -o x.html", "--json conflicts with the suffix of the file: 'x.html'", "change one of them"),
    ("summary T --rank 0 1:0/0", "--rank conflicts with the address: '1:0/0'", "leave one of them out"),
    ("summary T --frame 2 1:0/0", "--frame 2 conflicts with the address: '1:0/0'", "leave one of them out"),
    ("tail T --baseline T", "--baseline needs limits", "add --fail-on LIMITS"),
    ("run --baseline T -- true", "--baseline needs limits", "add --fail-on LIMITS"),
    ("ls --demo T", "--demo replaces PATH: 'T'", "leave one of them out"),
    ("diff T 0:0/0", "diff needs two addresses: '0:0/0'", "tltui diff T 0/0 0/1"),
    # output files
    ("summary T -o out", "unknown format of the output file: 'out'", "use a name that ends in .txt"),
    ("extract T", "missing -o DIR", "for example: tltui extract T -o out"),
    ("repro T 0:0/0", "missing -o FILE", "-o repro.py writes the script, -o - prints it"),
    ("report T -o r.md", "not the name of an HTML file: 'r.md'", "use -o r.html"),
    ("index T -o x.%q", "unknown %q in -o: 'x.%q'", "use %h for the name of the host"),
    # commands and paths
    ("sumary T", "unknown command (and no such file): 'sumary'", "did you mean tltui summary?"),
    ("T summary", "a command comes first: 'summary'", "tltui summary T"),
    ("help sumary", "unknown command (and no such file): 'sumary'", "did you mean tltui summary?"),
    ("help nothing", "unknown command: 'nothing'", "tltui help lists the commands"),
    ("summary /no/where", "No such file or directory: '/no/where'", "give a file or a directory that exists, or --demo"),
    ("guide hangs there", "unexpected argument: 'there'", "usage: tltui guide [options] [CHAPTER]"),
    ("completions", "missing SHELL", "use one of bash, zsh, fish"),
    ("grep", "missing PATTERN", "for example: tltui grep addmm PATH"),
    ("source T", "missing source FILE or FILE:LINE", "for example: tltui source T train.py:42"),
    ("run", "missing COMMAND", "for example: tltui run -- python train.py"),
    # addresses
    ("show T 0/0", "ambiguous address: '0/0'", "use 0:0/0 (rank 0), 1:0/0 (rank 1), or add --rank"),
    ("show T 9:", "unknown rank: '9'", "ranks of this run: 0, 1"),
    ("ls T --frame 99", "unknown frame: '99'", "tltui ls without --frame lists all compiles"),
    ("ls T 0:0/0", "this command takes no address: '0:0/0'", "write a file of that name as ./0:0/0"),
    ("show T 0/0:", "missing artifact name after the colon: '0/0:'", "use 0/0:inductor_output_code, or 0/0"),
    ("show T 0/x", "No such file or directory: '0/x'", "not an address either; examples: 0/1"),
    ("show T 0:0/0 1:0/0", "too many addresses: '0:0/0 1:0/0'", "give one address"),
    ("repro T 0:99/9", "unknown address: '0:99/9'", "near it: 0:"),
    ("summary T 0:0/0:dynamo_output_graph", "summary takes a rank, process, frame or compile", "tltui show T 0:0/0:dyn"),
    ("timing T 0:0/0_1", "timing takes a rank, process, frame or compile, not an attempt", "tltui show T 0:0/0_1"),
    # the same on other commands, and combinations
    ("problems T --frame 99 --json", "unknown frame: '99'", "near it: 0:2/0, 0:3/0, 0:4/0, 1:3/0, 1:4/0, 1:5/0"),
    ("recompiles T --rank", "missing value of --rank", "see tltui recompiles --help"),
    ("summary T extra", "No such file or directory: 'extra'", "not an address either; examples: 0/1, 3:0/1_1, none, 0/1:ind"),
    ('summary ""', "empty PATH: ''", "give a file or a directory"),
    ("summary - -", "standard input is given twice: '-'", "give - once"),
    ("summary T --baseline T", "unknown option of tltui summary: '--baseline'", "see tltui summary --help"),
    ("summary T -o no/x.html", "No such file or directory: 'no/x.html'", "mkdir -p no"),
    ("summary T -o T", "Is a directory: 'T'", "add the name of a file that ends in .txt, .ansi, .md, .html,"),
    (
        "summary T -o x.xml",
        "unknown format of the output file: 'x.xml'",
        "use a name that ends in .txt, .ansi, .md, .html, .htm, .json",
    ),
    ("summary T --json=yes", "--json takes no value: 'yes'", "use --json"),
    (
        "summary T --profile nosuch.json",
        "--profile: No such file or directory: 'nosuch.json'",
        "to record a profile: tltui run --record-steps 5:10 -- python train.py",
    ),
    (
        "summary T --profile T",
        "--profile: no torch.profiler profile in the directory: 'T'",
        "to record a profile: tltui run --record-steps 5:10 -- python train.py",
    ),
    ("guards T --filter", "missing value of --filter", "see tltui guards --help"),
    ("layers T 0:0/0 nosuch.layer", "unknown layer of [0:0/0]: 'nosuch.layer'", "the layers page of a compile lists its layers"),
    ("provenance T 0:0/0 --unit sideways", "unknown unit of 0:0/0: 'sideways'", "units: none"),
    ("provenance T 0:0/0 --kernel nosuch", "0:0/0 has no kernel 'nosuch'", "the page without a kernel lists all kernels"),
    ("matrix T --show foo", "invalid value of --show: 'foo'", "use one of difference, status, graph, time, cache"),
    ("caches T --baseline T", "--baseline is not a cache directory of vLLM: 'T'", "to compare two runs: tltui diff T --baseline T"),
    ("caches T --baseline no", "No such file or directory: 'no'", "give a file or a directory that exists"),
    ("grep [ T", "invalid regular expression: '['", "unterminated character set at position 0; a backslash makes"),
    ('grep "" T', "empty pattern: ''", "give at least one character"),
    ("grep foo T --status bad", "invalid value of --status: 'bad'", "use one of error, eager, break, empty, running, seen, ok, un"),
    ("grep foo T -C -1", "invalid number of lines: '-1'", "use a number, such as 10"),
    ("grep foo T 0/0", "this command takes no address: '0/0'", "write a file of that name as ./0/0"),
    ("source T nosuch.py:x", "not FILE:LINE: 'nosuch.py:x'", "for example train.py:42"),
    ("source T train.py:0", "not FILE:LINE: 'train.py:0'", "for example train.py:42"),
    (
        "diff T --baseline T --with T",
        "--baseline and --with cannot be combined",
        "--baseline OLD is the left side, --with NEW the right side",
    ),
    ("diff T 0:0/0 1:0/0 --baseline T", "too many addresses: '0:0/0 1:0/0'", "with another run give one address for both, or none"),
    ("diff T --baseline no", "No such file or directory: 'no'", "give a file or a directory that exists"),
    ("diff T --raw --json", "--raw and --json cannot be combined", "leave one of them out"),
    ("show T @summry", "unknown page: '@summry'", "pages: @absent, @attempt, @autotune, @blocks, @caches, @cudagraphs, @"),
    (
        "show T 0:0/0:dynamo_output_grph",
        "unknown address: '0:0/0:dynamo_output_grph'",
        "artifacts of 0:0/0: dynamo_cpp_guards_str, dynamo_graph_brea",
    ),
    ("show T 0:0/0 --unit forward", "--unit needs the address of an artifact: '0:0/0'", "for example 0/0:inductor_output_code"),
    ("show T 0:0/0 --raw", "--raw needs the address of an artifact: '0:0/0'", "for example 0/0:inductor_output_code"),
    ("log T --raw --json", "--raw and --json cannot be combined", "leave one of them out"),
    (
        "records T 0:0/0:dynamo_output_graph",
        "records takes a rank, process, frame or compile, not an artifact: '0:0/0:dynamo_output_graph'",
        "tltui show T 0:0/0:dynamo_output_graph",
    ),
    ("summary T --jso", "unknown option of tltui summary: '--jso'", "did you mean --json?"),
    ("run --fail=error -- true", "unknown option of tltui run: '--fail'", "did you mean --fail-on?"),
    ("grep foo T --f 1", "unknown option of tltui grep: '--f'", "did you mean --frame or --force?"),
    ("damage T 0/0", "this command takes no address: '0/0'", "write a file of that name as ./0/0"),
    ("check T --fail-on eror", "unknown limit: 'eror'", "did you mean error? tltui check --help lists the limits"),
    ("check T --fail-on break=x", "not a number: 'break=x'", "use break=2, or with --baseline break=+2 or break=+10%"),
    ("check T --fail-on break=+1", "a number after + needs --baseline: 'break=+1'", "add --baseline OLD, or leave out the +"),
    ("check T --fail-on compile_time", "missing number of seconds: 'compile_time'", "for example compile_time=60, or add"),
    (
        "check T --fail-on guard_overhead=200%",
        "not a percentage from 0% to 100%: 'guard_overhead=200%'",
        "use guard_overhead=5%, or with --baseline guard_overhead=+2%",
    ),
    ('check T --fail-on ""', "no limit given", "for example error,break; tltui check --help lists the limits"),
    ("check T --format xml", "invalid value of --format: 'xml'", "use one of text, json, junit, github"),
    ("check T --format junit --json", "--json conflicts with --format: 'junit'", "leave one of them out"),
    (
        "check T --format junit -o x.json",
        "--format junit conflicts with the suffix of the file: 'x.json'",
        "use a name that ends in .xml",
    ),
    ("tail T --until-idle x", "invalid number of seconds: 'x'", "use a number, such as 60 or 0.5"),
    ("extract T 99/9 -o out", "unknown address: '99/9'", "near it: 0:2/0, 0:3/0, 0:4/0, 1:3/0, 1:4/0, 1:5/0"),
    ("extract T --json", "unknown option of tltui extract: '--json'", "see tltui extract --help"),
    ("case T", "missing -o FILE", "--preview lists the contents without writing them"),
    ("case no -o c.zip", "No such file or directory: 'no'", "give a file or a directory that exists, or --demo"),
    ("index T", "missing -o FILE.tlx", "for example: tltui index T -o run.tlx"),
    ("index T -o no/x.tlx", "No such file or directory: 'no'", "mkdir -p no"),
    ("index T -o x.tlx --engine foo", "unknown engine: 'foo'", "engines: process, serial, dask://HOST:PORT, mpi"),
    ("index T -o x.tlx --node-local", "--node-local needs --engine mpi and %h in FILE", "without MPI run tltui index on each node"),
    (
        "repro T 0:0/0 -o repro.py",
        "0:0/0 has no graph: Dynamo hit a graph break before it captured an operation",
        "tltui repro T lists all compiles",
    ),
    ("repro T 0:0/0 --from nosuch -o -", "not a graph of 0:0/0: 'nosuch'", "graphs: none"),
    ("repro T 0:0/0 --max-bytes x -o -", "invalid size: 'x'", "use 800k, 5M or 1G"),
    ("report T", "missing -o FILE.html", "for example: tltui report T -o report.html"),
    ("report T -o r.html --max-size 10", "--max-size: too small for a report: '10 B'", "the minimum is 201k"),
    ("report T -o no/r.html", "No such file or directory: 'no/r.html'", "mkdir -p no"),
    ("bundle T", "missing -o FILE", "--preview lists the contents without writing them"),
    ("guide hang", "unknown chapter: 'hang'", "perhaps hangs; chapters: first-trace, recompiles, graph-brea"),
    ("glossary gard", "not in the glossary: 'gard'", "perhaps guard, guards"),
    ("config thme", "unknown setting, variable or command: 'thme'", "did you mean theme?"),
    ("config --theme purple", "invalid value of --theme: 'purple'", "use one of auto, dark, light, high-contrast, ansi-dark, ansi"),
    ("schema sumary", "no command with JSON output: 'sumary'", "did you mean summary?"),
    ("schema summary extra", "unexpected argument: 'extra'", "usage: tltui schema [options] [COMMAND]"),
    ("help summary extra", "unexpected argument: 'extra'", "usage: tltui help [COMMAND]"),
    ("completions tcsh", "invalid value of SHELL: 'tcsh'", "use one of bash, zsh, fish"),
    ("timing T summary", "No such file or directory: 'summary'", "not an address either; examples: 0/1, 3:0/1_1, none, 0/1:ind"),
    ("run -o T -- true", "the directory of -o is not empty (2 files): 'T'", "give a new or empty directory"),
    ("run --fail-on eror -- true", "unknown limit: 'eror'", "did you mean error? tltui check --help lists the limits"),
    ("run --record-steps 5 -- true", "invalid steps: '5'", "use FIRST:LAST, for example --record-steps 5:10"),
    ("run --record-steps 5:2 -- true", "the last step precedes the first: '5:2'", "use --record-steps 2:5"),
    ("run --record-steps 0:2 -- true", "steps count from 1: '0:2'", "use --record-steps 1:2"),
    ("run --freshh -- true", "unknown option of tltui run: '--freshh'", "did you mean --fresh?"),
    ("run --fail-on error --baseline no -- true", "No such file or directory: 'no'", "give a file or a directory that exists"),
    ("try --budget x -- true", "invalid number of seconds: 'x'", "use a number, such as 600"),
    ("try --env NAME -- true", "--env: not NAME=VALUE: 'NAME'", "use --env NAME=VALUE"),
    ("try --until-step 0 -- true", "invalid step: '0'", "use 1 or a larger number"),
    ("try --cwd no -- true", "--cwd: no such directory: 'no'", "mkdir -p no, or give another"),
    ("try --edit no", "--edit needs a trace, no such file: 'no'",
     "tltui run -- COMMAND records a trace; then: tltui try --edit DIR"),
    ("try --edit T --cwd no", "with --edit, options go before the trace: '--cwd'", "tltui try --edit --cwd DIR -o FILE TRACE"),
    ("try -o T -- true", "the directory of -o is not empty (2 files): 'T'", "give a new or empty directory"),
    ("--version extra", "--version takes no PATH: 'extra'", "tltui --version"),
    ("nosuch", "No such file or directory: 'nosuch'", "give a file or a directory that exists, or --demo"),
    ("./Tt", "No such file or directory: './Tt'", "did you mean ./T?"),
    ("T --latest --demo", "--demo replaces PATH: 'T'", "leave one of them out"),
    ("ls T --check -o x.html", "--check conflicts with the suffix of the file: 'x.html'", "use a name that ends in .json"),
    ("ls T --check --markdown", "--check and --markdown cannot be combined", "leave one of them out"),
    ("timing T --perfetto x.json -o y.txt", "--perfetto and -o cannot be combined", "leave one of them out"),
    ("timing T --perfetto x.json --json", "--perfetto and --json cannot be combined", "leave one of them out"),
    ("timing T --perfetto no/x.json", "No such file or directory: 'no/x.json'", "mkdir -p no"),
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
    values = [word for word in shlex.split(line)[1:] if word and word != "T" and not word.startswith("-")]
    assert first.endswith("'") or "has no graph" in first or not any(value in first for value in values), "the value is quoted"
    assert advice and len(more) == 1
    assert more[0].startswith(f"  {advice}")
    assert os.listdir(tmp_path) == ["T"], "nothing is written"


@pytest.mark.parametrize("line", ["grep zzqqzz T", "source T nosuch.py:3", "source T nosuch.py", "log T"])
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
