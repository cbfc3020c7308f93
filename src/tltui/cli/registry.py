"""The commands: names, summaries and declaring modules.

A module is imported when a command of it is used. Its `COMMANDS` has them by name (`parser.Command`).
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tltui.cli.parser import Command, Parser
from tltui.questions.index import QUESTIONS
from tltui.text.frozen import frozen


@frozen
class Entry:
    """A row of the table."""

    help: str
    module: str
    key: str = ""
    """The key of the terminal UI for the same."""


COMMANDS: dict[str, Entry] = {
    "run": Entry("run a job with a trace, then print its summary", "run"),
    "try": Entry("run a job again with each remedy that needs no code edit, and show the effect of each", "try_job"),
    **{question.name: Entry(question.help, "view", question.key) for question in QUESTIONS},
    "ls": Entry("list ranks, frames and compiles with status and time", "records"),
    "list": Entry("list the runs of a directory: date, torch, ranks, problems, time, change", "list_runs"),
    "show": Entry("print a compile, frame, rank or artifact", "records"),
    "source": Entry("follow a line of source to nodes, kernels, guards, graph breaks; or list a file by line", "records"),
    "records": Entry("list every record in file order, with time, code location and size", "records"),
    "log": Entry("print the output of the job: TORCH_LOGS text, tracebacks and everything else", "records", "O"),
    "grep": Entry("search the text of every record and every page", "records", "s"),
    "diff": Entry("compare two artifacts, compiles, ranks or runs", "records", "d"),
    "damage": Entry("check every record of the logs and list the damaged ones", "records"),
    "check": Entry("fail if a run exceeds limits on errors, graph breaks, recompilations … (for CI)", "check"),
    "tail": Entry("print events while the job runs, one line each", "tail"),
    "watch": Entry("print a line for each run of a directory that ends, and start a program for it", "watch_runs"),
    "extract": Entry("write artifacts to files", "records"),
    "case": Entry("pack traces, logs and debug directories of a job into one file; can be redacted", "share"),
    "index": Entry("build a saved index: one small file that opens instantly, without the logs", "index"),
    "repro": Entry("write a compiled graph as a standalone, runnable script", "share"),
    "report": Entry("write the whole run into one HTML file, for readers without tltui", "share"),
    "bundle": Entry("write a small log of some compiles to share; can be redacted", "share"),
    "mcp": Entry("answer the questions of a coding agent in 2 KB each (Model Context Protocol, or as text)", "mcp"),
    "guide": Entry("print the guide: slow, recompiling, breaking, diverging and hanging jobs", "about"),
    "glossary": Entry("explain a word of the pages, or all words", "about"),
    "config": Entry("list settings, environment variables and keys: the effective value and where it was set", "config"),
    "schema": Entry("print the JSON schema of the --json output of a command", "schema"),
    "completions": Entry("print a completion script for bash, zsh or fish", "about"),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "look at a run": ("ls", "list", "show", "records", "log", "damage"),
    "find causes": (),
    "ranks and hangs": (),
    "find and compare": ("grep", "source", "diff"),
    "share and save": ("report", "bundle", "case", "index", "extract", "repro"),
    "record and follow": ("run", "try", "tail", "watch"),
    "for coding agents": ("mcp",),
    "enforce limits (CI)": ("check",),
}
"""Heading of the help → its commands without a page; a page has its heading in its `QUESTION`. Other commands come last."""
PAGES_BEFORE = 500
"""Pages with a lower `help_order` precede the other commands of their heading in the help."""
OTHERS = "about tltui"


def grouped() -> dict[str, list[str]]:
    """Return heading → the commands below it, each of them once."""
    groups: dict[str, list[str]] = {}
    for heading, names in GROUPS.items():
        pages = sorted((question for question in QUESTIONS if question.group == heading), key=lambda question: question.help_order)
        first = [question.name for question in pages if question.help_order < PAGES_BEFORE]
        groups[heading] = [*first, *names, *(question.name for question in pages if question.help_order >= PAGES_BEFORE)]
    listed = {name for names in groups.values() for name in names}
    return groups | {OTHERS: [name for name in COMMANDS if name not in listed]}


def command(name: str) -> Command:
    """Import the module of a command; return its declaration."""
    return cast(Command, import_module(f"tltui.cli.{COMMANDS[name].module}").COMMANDS[name])


def parser_of(name: str) -> Parser:
    """Return the parser of a command."""
    declared, help_ = command(name), COMMANDS[name].help
    in_ui = f"\nIn the terminal UI: key {key}\n" if (key := COMMANDS[name].key) else ""
    parser = Parser(name, help_[0].upper() + help_[1:] + ".", declared.examples + in_ui)
    for add_argument in declared.arguments:
        add_argument(parser)
    return parser
