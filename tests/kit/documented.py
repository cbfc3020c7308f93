"""Command lines and code blocks of README and docs, each with its file and line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from real import ROOT

PAGES = [*(ROOT / name for name in ("README.md", "SECURITY.md", "CHANGELOG.md")), *sorted((ROOT / "docs").rglob("*.md"))]
"""CONTRIBUTING.md is tested with its worked examples in test_contributing."""
SHELL = ("sh", "console")
NOT_SHELL = ("docs/design.md", "docs/architecture.md")
"""Pages whose indented lines are text."""
OPERATOR = re.compile(r"[|&;<>()]+")
RENEWED = re.compile(r"<!-- run: [^\n]* -->")
"""Comment above a command that tools/make_guide.py runs, and a test too."""
INLINE = re.compile(r"(?<!`)`(tltui [^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A code block, or several lines of an indented one."""

    place: str
    """File and line of its first line of code, as an editor opens it."""
    language: str
    text: str
    is_renewed: bool = False
    """Whether tools/make_guide.py runs its command."""


@dataclass(frozen=True)
class Call:
    """The arguments of a call of tltui."""

    place: str
    words: tuple[str, ...]
    is_inline: bool = False
    is_renewed: bool = False

    @property
    def is_name(self) -> bool:
        """Whether a sentence names a command without its input."""
        return self.is_inline and len(self.words) == 1


def relative(path: Path) -> str:
    """Return a path below the repository, or the name of another file."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page, and its indented ones as `indented`."""
    name, lines = relative(path), path.read_text("utf-8").split("\n")
    first = language = None
    renewed = False
    indented = 0
    for number, line in enumerate([*lines, "end"], 1):
        if indented and line and not line.startswith("    "):
            text = re.sub(r"(?m)^ {4}", "", "\n".join(lines[indented - 1 : number - 1])).rstrip("\n") + "\n"
            yield Block(f"{name}:{indented}", "indented", text)
            indented = 0
        if line.startswith("```"):
            if first is None:
                first, language = number + 1, line[3:]
                renewed = RENEWED.fullmatch(lines[number - 2]) is not None
            else:
                yield Block(f"{name}:{first}", str(language), "\n".join(lines[first - 1 : number - 1]) + "\n", renewed)
                first = None
        elif first is None and name not in NOT_SHELL and line.startswith("    ") and not lines[number - 2]:
            indented = indented or number


def scripts(path: Path) -> Iterator[Block]:
    """Yield the shell scripts of a page: of an output only the commands, each on its line."""
    for block in blocks(path):
        if block.language == "console":
            commands = [line[2:] if line.startswith("$ ") else "" for line in block.text.split("\n")]
            yield Block(block.place, "sh", "\n".join(commands), block.is_renewed)
        elif block.language == "sh" or (block.language == "indented" and "tltui" in block.text):
            yield block


def calls(path: Path) -> Iterator[Call]:
    """Yield the calls of tltui on a page, in scripts and between backquotes."""
    for block in scripts(path):
        name, _, first = block.place.rpartition(":")
        for number, line in enumerate(block.text.split("\n"), int(first)):
            for words in commands_in(line):
                yield Call(f"{name}:{number}", words, is_renewed=block.is_renewed)
    text = path.read_text("utf-8")
    outside = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    for number, line in enumerate(outside.split("\n"), 1):
        for match in INLINE.finditer(line):
            for words in commands_in(match[1]):
                yield Call(f"{relative(path)}:{number}", words, is_inline=True)


def commands_in(line: str) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of each call of tltui on a line of a script, after wrappers (srun, kubectl) and in quoted commands."""
    if not re.search(r"\btltui\b", line):
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if OPERATOR.fullmatch(word):
            commands.append([])
        else:
            commands[-1].append(word)
    for words in commands:
        program = next((place for place, word in enumerate(words) if word == "tltui" or word.endswith("/bin/tltui")), None)
        if program is not None and words[0] != "man":
            yield tuple(words[program + 1 :])
        for word in words:
            if word.startswith("tltui "):
                yield from commands_in(word)
