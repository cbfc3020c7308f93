"""Commands in README and docs: tltui's parser accepts all, those that need only a trace run, bash and Python parse all blocks."""

from __future__ import annotations

import contextlib
import doctest
import glob
import gzip
import io
import itertools
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from documented import PAGES, Call, blocks, calls, relative, scripts
from real import DAY, ROOT, TRACES

from tltui.cli import main
from tltui.cli.exits import Failure
from tltui.cli.registry import COMMANDS, parser_of
from tltui.cli.ui import ui_parser

STAND_INS = {"trace": "profiler/recompiles", "ranks": "torch-2.13/diverge", "layers": "layers"}
"""Traces that take the place of a reader's own, in the order of trial: some addresses need several ranks or layers."""
PLACEHOLDERS = {
    "REF": "0/0", "REF_A": "0/0", "REF_B": "0/1", "PATH": "trace", "DIR": "trace", "OLD": "old", "NEW": "new", "COMMAND": "ls",
    "WORD": "guard",
    "PATTERN": "import", "FILE:LINE": "recompiles.py:13", "LIMITS": "break", "train.py:9": "recompiles.py:13",
    "layers.3.attn": "layers.0", "/tmp/tracedir": "trace", "/tmp/fr": "job.err", "N": "1", "SIZE": "5M",
}  # fmt: skip
"""Words of the docs → words that lead to an input of the test."""
WRITTEN = {"DIR": "out", "FILE": "out.log"}
"""Placeholders after an option that names an output."""
OUTPUTS = ("-o", "--perfetto")
NEEDS_MORE = {
    "run": "starts a job", "try": "runs a job several times", "watch": "waits for runs", "--allow-run": "waits for messages",
    "--engine": "needs a cluster", "--stacks": "needs a process",
    "--pids": "needs a process", "-": "reads standard input", "/tmp/pytest-of-you/…": "is made by pytest", "FILE": "is any file",
    "NAME": "is a kernel or a kept run", "auto": "needs a kept run", "auto:train": "needs a kept run",
}  # fmt: skip
"""Words of commands that are parsed only, with the reason."""
NEED_NO_INPUT = ("guide", "config", "glossary")
MAY_END_WITH_1 = ("check", "tail", "log", "source")
"""Commands that end with 1 if a limit is exceeded, or if nothing was found."""


def refusal(words: tuple[str, ...]) -> str:
    """Return why tltui does not accept a command line; '' if it does."""
    if words[:1] == ("help",):
        words = (*words[1:], "--help")
    is_command = bool(words) and words[0] in COMMANDS
    parser = parser_of(words[0]) if is_command else ui_parser()
    error = io.StringIO()
    try:
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
            parser.read(words[1:] if is_command else words)
    except Failure as failed:
        return str(failed)
    except SystemExit as ended:  # --help and --version
        return error.getvalue() if ended.code else ""
    return ""


def is_a_command(word: str) -> bool:
    """Return whether the first word of a call can be a command; other words are paths."""
    is_path = not re.fullmatch(r"[a-z]{3,}", word) or word in ("trace", "traces", "indexes", "small")
    return is_path or word in COMMANDS or word == "help"


def parsed(call: Call) -> tuple[str, ...]:
    """Return the words for the parser: optional ones without their brackets."""
    words = [word.strip("[]…") for word in call.words]
    return tuple(PLACEHOLDERS.get(word, word) for word in words if word)


def refused_calls(path: Path) -> list[str]:
    """Return the calls of a page that tltui does not accept, each as `file:line: words: reason`."""
    refused = []
    for call in calls(path):
        words = parsed(call)
        if words and not is_a_command(words[0]):
            refused.append(f"{call.place}: tltui {' '.join(words)}: no such command")
        elif not call.is_name and (reason := refusal(words)):
            refused.append(f"{call.place}: tltui {' '.join(words)}: {reason.strip()}")
    return refused


def runnable(call: Call) -> tuple[str, ...] | None:
    """Return the words with which a call runs on the stand-ins; None if it needs more than a trace."""
    words = list(call.words)
    names_no_input = call.is_inline and len([word for word in words if word[0] != "-"]) == 1 and words[0] not in NEED_NO_INPUT
    if call.is_renewed or names_no_input or any(word in NEEDS_MORE for word in words):
        return None
    if any("[" in word for word in words):
        words = re.sub(r"\[[^]]*\]", "", " ".join(words)).split()
    replaced: list[str] = []
    for word in words:
        target = WRITTEN.get(word) if replaced and replaced[-1] in OUTPUTS else None
        word = target or PLACEHOLDERS.get(word, word)
        word = re.sub(r"^(\$SHARED|\$indexes|/shared)(/indexes|/4242|/\$JOB)?(?=/|$)", "indexes", word)
        word = re.sub(r"^(/tmp/trace(-4242)?|/trace|\$TORCH_TRACE|/shared/traces|indexes/traces)$", "trace", word)
        word = word.removeprefix("/tmp/")
        replaced += sorted(glob.glob(word)) if "*" in word else [word]
    return tuple(word for word in replaced if word != "…")


def laid_out(top: Path) -> None:
    """Make the files that the docs name, as old as those of a finished job."""
    for name, source in STAND_INS.items():
        shutil.copytree(TRACES / source, top / name)
    for name in ("old", "new", "main-trace", "torch_compile_debug", "traces/job", "more/job", "logs/job"):
        shutil.copytree(top / "trace", top / name)
    for rank, log in enumerate(sorted((top / "ranks").glob("*.log"))[:2]):
        shutil.copyfile(log, top / f"rank_{rank}.log")
    (top / "outputs").mkdir()
    output = lzma.decompress((TRACES / "inputs" / "breaks" / "stderr.txt.xz").read_bytes())
    for name in ("job.err", "slurm-4242.out", "train-4242.out", "outputs/train-0.out"):
        (top / name).write_bytes(output)
    for name in ("job.tar.gz", "tl_out.zip"):
        shutil.copyfile(TRACES / "inputs" / "archives" / name, top / name)
    shutil.copyfile(top / "trace" / "profile.json", top / "profile.json")
    (top / "profile.json.gz").write_bytes(gzip.compress((top / "profile.json").read_bytes()))
    for path in top.rglob("*"):
        os.utime(path, (path.stat().st_mtime - DAY,) * 2)
    (top / "indexes").mkdir()
    assert outcome(["index", str(top / "trace"), "-o", str(top / "old.tlx")])[0] == 0


def outcome(words: Sequence[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and its messages."""
    errors = io.StringIO()
    output = io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = main(list(words))
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, errors.getvalue()


def failure(words: tuple[str, ...]) -> str:
    """Return why a command fails on every stand-in that could take the place of its trace; '' if it works on one."""
    reasons = []
    for option, target in itertools.pairwise(words):
        if option in OUTPUTS:  # another line has written it
            shutil.rmtree(target) if os.path.isdir(target) else Path(target).unlink(missing_ok=True)
    for name in STAND_INS if "trace" in words else ("trace",):
        code, errors = outcome([name if word == "trace" else word for word in words])
        if code == 0 or (code == 1 and words[0] in MAY_END_WITH_1 and not errors):
            return ""
        reasons.append(f"exit code {code}: {errors.strip()}")
    return "; ".join(reasons)


def failed_calls(pages: Sequence[Path]) -> list[str]:
    """Run the calls of some pages, equal ones once; return those that fail, each as `file:line: words: reason`."""
    first: dict[tuple[str, ...], Call] = {}
    for path in pages:
        for call in calls(path):
            if (words := runnable(call)) is not None:
                first.setdefault(words, call)
    order = sorted(first, key=lambda words: words[:1] != ("index",))  # other lines open the indexes
    return [f"{first[words].place}: tltui {' '.join(words)}: {reason}" for words in order if (reason := failure(words))]


def broken_scripts(path: Path) -> list[str]:
    """Return the shell blocks of a page that bash does not parse, each as `file:line: message`."""
    broken = []
    for block in scripts(path):
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
        if done.returncode:
            name, _, first = block.place.rpartition(":")
            line = int((re.search(r"line (\d+)", done.stderr) or [0, 1])[1])
            last = int(first) + block.text.count("\n") - 1
            broken.append(f"{name}:{min(int(first) + line - 1, last)}: {done.stderr.strip()}")
    return broken


def broken_python(path: Path) -> list[str]:
    """Return the Python blocks of a page that do not compile, each as `file:line: message`."""
    broken = []
    for block in blocks(path):
        if block.language != "python":
            continue
        is_session = block.text.startswith(">>> ")
        parts = doctest.DocTestParser().get_examples(block.text) if is_session else [doctest.Example(block.text, "")]
        name, _, first = block.place.rpartition(":")
        for part in parts:
            try:
                compile(part.source, name, "single" if is_session else "exec")
            except SyntaxError as error:
                broken.append(f"{name}:{int(first) + part.lineno + (error.lineno or 1) - 1}: {error.msg}")
    return broken


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay out the inputs of the docs in the working directory; return it."""
    variables = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "100", "TLTUI_WORKERS": "0", "TORCH_TRACE": "trace"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    top = tmp_path / "docs"
    top.mkdir()
    laid_out(top)
    monkeypatch.chdir(top)
    return top


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_the_parser_accepts_every_command_of_a_page(path: Path) -> None:
    assert refused_calls(path) == []


def test_commands_that_need_only_a_trace_run(directory: Path) -> None:
    assert failed_calls(PAGES) == []


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_bash_and_python_parse_the_blocks_of_a_page(path: Path) -> None:
    assert broken_scripts(path) + broken_python(path) == []


INSTALLS = re.compile(
    r"(?:pip3?|pipx|uv tool|uv pip|uvx?)\s+(?:install|run|add)?\s*(?:-\S+\s+)*['\"]?tltui(?![-\w.…]*(?:\.whl|\.pyz|-…))"
)
FROM_AN_INDEX = ("pip install tltui", "pip3 install -U tltui", "pipx install 'tltui[zstd]'", "uv tool install tltui", "uvx tltui")
FROM_FILES = ("pip install .", "pip install torch ./wheels/tltui-*.whl", "pipx install git+URL", "pip install tltui-….whl")


def test_no_text_installs_tltui_from_a_package_index() -> None:
    """No package index has it."""
    files = [*PAGES, ROOT / "CONTRIBUTING.md", *(ROOT / "src").rglob("*.py")]
    assert [f"{relative(path)}: {match[0]}" for path in files for match in INSTALLS.finditer(path.read_text("utf-8"))] == []
    assert all(INSTALLS.search(text) for text in FROM_AN_INDEX) and not any(INSTALLS.search(text) for text in FROM_FILES)


# each check notices a fault

PAGE = """\
# A page

```sh
tltui ls trace --no-such-option
tltui summry trace
```

Use `tltui show trace 99/0`, and in a script:

    for one in a b; do
        tltui ls trace

```console
$ tltui ls nowhere
```

```python
a = 1
b = = 2
```
"""


def test_faults_of_a_page_are_reported_with_their_lines(directory: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert [line.split(": ")[:2] for line in refused_calls(page)] == [
        ["page.md:4", "tltui ls trace --no-such-option"], ["page.md:5", "tltui summry trace"],
    ]  # fmt: skip
    assert sorted(line.split(": ")[0] for line in failed_calls([page])) == ["page.md:14", "page.md:4", "page.md:5", "page.md:8"]
    assert [line.split(": ")[0] for line in broken_scripts(page)] == ["page.md:11"]
    assert broken_python(page) == ["page.md:19: invalid syntax"]


def test_most_commands_run() -> None:
    """The rules that leave commands out leave most in."""
    every = [call for path in PAGES for call in calls(path)]
    run = {words for call in every if (words := runnable(call)) is not None}
    assert len(every) > 250 and len(run) > 90
