"""Put real output into the guide: `python tools/make_guide.py`; with `--check` only say where it is stale. A test does the same.

In a chapter (`docs/guide/*.md`) stands, before a block of a command and its output:

    <!-- run: torch-2.13/recompiles as trace, lines 1-12 20-24 -->
    ```console
    $ tltui recompiles trace
    ```

The command is run in an empty directory that has the trace of `tests/traces` under the name behind `as` (several: `A as a,
B as b`; `demo` is the one that comes with tltui), in `WIDTH` columns, and what it prints stands below it. With `lines` (from 1)
others are left out, with `…` in their place: nothing else of an output is ever changed. `head 24` keeps at most the first 24.
`exit 1` demands that exit code (default 0). `first COMMAND` is run before, and not shown; `gone trace` then takes an input away.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "guide"
QUESTIONS = ROOT / "docs" / "questions"
TRACES = ROOT / "tests" / "traces"
DEMO = ROOT / "src" / "tltui" / "demo"
WIDTH = 92
LONG_AGO = 1_767_225_600.0
"""The last write of the logs: one younger than a minute counts as still being written."""
BLOCK = re.compile(r"(<!-- run: (?P<run>[^\n]*) -->\n```console\n\$ (?P<command>[^\n]*)\n)(?P<output>.*?)(?P<end>```\n)", re.DOTALL)
CUT = "…"


class Stale(Exception):
    """A block that cannot be made; the text says which, and why."""


@dataclass
class Block:
    """The comment above a command."""

    inputs: list[tuple[Path, str]] = field(default_factory=list)
    """Its files and their names."""
    lines: list[tuple[int, int]] = field(default_factory=list)
    """First and last line that stay, from 1; none: all."""
    head: int | None = None
    """How many of the first lines stay; None: all."""
    exit_code: int = 0
    before: list[str] = field(default_factory=list)
    """Commands that are run before."""
    removed: list[str] = field(default_factory=list)
    """Inputs that are removed after them."""


def parsed(text: str) -> Block:
    """Parse a comment: `torch-2.13/train as trace, lines 1-4 8, exit 1`."""
    block = Block()
    for part in filter(None, map(str.strip, text.split(","))):
        words = part.split()
        if words[0] == "lines":
            block.lines = [(int(first), int(last or first)) for first, _, last in (word.partition("-") for word in words[1:])]
        elif words[0] == "head":
            block.head = int(words[1])
        elif words[0] == "first":
            block.before.append(" ".join(words[1:]))
        elif words[0] == "gone":
            block.removed += words[1:]
        elif words[0] == "exit":
            block.exit_code = int(words[1])
        elif len(words) == 3 and words[1] == "as":
            block.inputs.append((DEMO if words[0] == "demo" else TRACES / words[0], words[2]))
        else:
            raise Stale(f"what is {part!r}?")
    return block


def output(command: str, block: Block) -> str:
    """Return the complete output of a command."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory, "home")
        here = Path(directory, "here")
        home.mkdir()
        here.mkdir()
        for source, name in block.inputs:
            _laid_out(source, here / name)
        variables = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV") if name in os.environ}
        environment = variables | {
            "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "COLUMNS": str(WIDTH), "HOME": str(home), "TZ": "UTC",
            "LC_ALL": "C.UTF-8", "TLTUI_WORKERS": "0", "TLTUI_HOST": "node0",
        }  # fmt: skip
        for earlier in block.before:
            _ran(earlier, here, environment, 0)
        for name in block.removed:
            shutil.rmtree(here / name)
        text = _ran(command, here, environment, block.exit_code)
        if directory in text:
            raise Stale(f"{command!r} prints a path of this machine")
        return text


def _ran(command: str, here: Path, environment: dict[str, str], exit_code: int) -> str:
    words = shlex.split(command)
    if words[0] != "tltui":
        raise Stale(f"{command!r} is no command of tltui")
    done = subprocess.run(
        [sys.executable, "-m", "tltui", *words[1:]], cwd=here, env=environment, capture_output=True, text=True, encoding="utf-8",
        timeout=120, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if done.returncode != exit_code:
        raise Stale(f"{command!r} ends with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout + done.stderr


def _laid_out(source: Path, target: Path) -> None:
    """Copy a trace, with a fixed time of its last write."""
    if not source.exists():
        raise Stale(f"{source} is not there")
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
    for path in (target, *target.rglob("*")):
        os.utime(path, (LONG_AGO, LONG_AGO))


def shortened(text: str, ranges: list[tuple[int, int]]) -> str:
    """Return the lines of the ranges, with `…` in place of the others."""
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    if not ranges:
        return "".join(line + "\n" for line in lines)
    shown: list[str] = []
    done = 0
    for first, last in ranges:
        if not done < first <= last <= len(lines):
            raise Stale(f"there are {len(lines)} lines, and {first}-{last} are wanted")
        if first > done + 1:
            shown.append(CUT)
        shown += lines[first - 1 : last]
        done = last
    if done < len(lines):
        shown.append(CUT)
    return "".join(line + "\n" for line in shown)


def with_output(text: str) -> str:
    """Return a chapter with new output. Raises `Stale`."""
    matches = list(BLOCK.finditer(text))

    def render(match: re.Match[str]) -> str:
        block = parsed(match["run"])
        text = output(match["command"], block)
        rows = text.rstrip("\n").count("\n") + 1
        return shortened(text, [(1, min(block.head, rows))] if block.head else block.lines)

    with ThreadPoolExecutor(2) as pool:
        outputs = list(pool.map(render, matches))
    pieces, at = [], 0
    for match, printed in zip(matches, outputs, strict=True):
        pieces += [text[at : match.start("output")], printed]
        at = match.end("output")
    return "".join(pieces) + text[at:]


def chapters() -> list[Path]:
    """Return the paths of all pages with outputs."""
    return [ROOT / "README.md", *sorted(GUIDE.glob("*.md")), *sorted(QUESTIONS.glob("*.md"))]


def main(arguments: list[str]) -> int:
    """Write the chapters, or with `--check` list the stale ones; of named chapters only these."""
    names = [word for word in arguments if not word.startswith("-")]
    code = 0
    for path in chapters():
        if names and path.stem not in names:
            continue
        text = path.read_text("utf-8")
        try:
            now = with_output(text)
        except Stale as stale:
            print(f"{path.name}: {stale}", file=sys.stderr)
            code = 1
            continue
        if now != text:
            if "--check" in arguments:
                print(f"{path.name} is stale: run python tools/make_guide.py", file=sys.stderr)
                code = 1
            else:
                path.write_text(now, "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
