"""The commands: names, summaries and declaring modules.

A module is imported when a command of it is used. Its `COMMANDS` has them by name (`parser.Command`).
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tltui.cli.parser import Command, Parser, add_output
from tltui.questions.index import QUESTIONS
from tltui.text.frozen import frozen


@frozen
class Entry:
    """A row of the table."""

    help: str
    module: str


ENDLESS = ("tail",)
"""Commands that print as long as the job runs, so that an atomic output file would never appear."""
COMMANDS: dict[str, Entry] = {
    "run": Entry("run a job so that it leaves a trace, then print its summary", "run"),
    "try": Entry("run a job again with each remedy that needs no edit, and show what each did", "try_job"),
    **{question.name: Entry(question.help, "view") for question in QUESTIONS},
    "ls": Entry("list ranks, frames and compiles with status and time", "records"),
    "show": Entry("print what an address shows: an overview, or an artifact", "records"),
    "source": Entry("what became of a line of source: nodes, kernels, guards, graph breaks, recompiles", "records"),
    "records": Entry("list every record in file order, with time, site and size", "records"),
    "log": Entry("print what the job printed: TORCH_LOGS text, tracebacks and all else, of all or of a part", "records"),
    "grep": Entry("search every payload, envelope and page", "records"),
    "diff": Entry("compare two artifacts, compiles, ranks or runs", "records"),
    "damage": Entry("check every payload and list what is damaged", "records"),
    "check": Entry("fail when a run has more errors, breaks, recompiles … than allowed (for CI)", "check"),
    "tail": Entry("print what happens while the job runs, a line each", "tail"),
    "extract": Entry("write payloads to files", "records"),
    "case": Entry("pack traces, logs and debug directories of a job into one file, on request redacted", "share"),
    "index": Entry("write what logs tell into one file that opens without them, and at once", "index"),
    "repro": Entry("write the graph of a compile as a script that runs", "share"),
    "report": Entry("write the whole run into one HTML file, for somebody without tltui", "share"),
    "bundle": Entry("write a small log of some compiles to share, on request redacted", "share"),
    "guide": Entry("print the guide: what to look at when it is slow, recompiles, breaks, differs or hangs", "about"),
    "glossary": Entry("print what a word on a page means, or all words", "about"),
    "config": Entry("list settings, variables and keys: what holds, and where that is said", "config"),
    "schema": Entry("print the JSON schema of what a command prints with --json", "schema"),
    "completions": Entry("print what bash, zsh or fish needs to complete commands, options and paths", "about"),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "look at a run": ("ls", "show", "records", "log", "damage"),
    "why is it so": (),
    "many ranks, and hangs": (),
    "find and compare": ("grep", "source", "diff"),
    "share, keep": ("report", "bundle", "case", "index", "extract", "repro"),
    "record, follow": ("run", "try", "tail"),
    "hold a limit (CI)": ("check",),
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
    examples = declared.examples or f"examples:\n  tltui {name} /tmp/tracedir\n  tltui {name} /tmp/tracedir 0/1 --json\n"
    parser = Parser(name, help_[0].upper() + help_[1:] + ".", examples)
    for add_argument in declared.arguments:
        add_argument(parser)
    if parser.has_option("--color") and not parser.has_option("-o") and name not in ENDLESS:
        add_output(parser)
    return parser
