"""Make docs/man/tltui.1 from the parsers of the command line: `python tools/renew.py` writes it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "man" / "tltui.1"
EXITS = (
    ("0", "Success."),
    ("1", "check, run or tail: a limit is exceeded. grep, source or log: no match. index: some logs could not be read."),
    ("2", "Wrong arguments, or nothing to read; the reason is on standard error."),
    ("70", "Internal error of tltui; details are in crash.log in the cache directory."),
    ("128+N", "Killed by signal N. run exits with the code of the job if that is not 0."),
)
FILES = (
    ("~/.config/tltui/config.toml", "Theme, keys and limits; $TLTUI_CONFIG names another file."),
    ("~/.cache/tltui", "Unpacked files while they are read; crash.log."),
    ("~/.local/state/tltui", "Marks, and the widths of panes."),
)


def text(words: str) -> str:
    """Escape a line of text for roff."""
    words = words.replace("\\", "\\e").replace("-", "\\-")
    words = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in words)
    return "\\&" + words if words.startswith((".", "'")) else words


def block(words: str) -> Iterator[str]:
    """Yield lines without filling."""
    yield from (".PP", ".nf", ".RS 2", *(text(line) for line in words.rstrip("\n").split("\n")), ".RE", ".fi")


def value(action: argparse.Action) -> str:
    """Return the metavar of an option."""
    if action.nargs == 0:
        return ""
    choices = "{" + "|".join(map(str, action.choices)) + "}" if action.choices is not None else ""
    return str(action.metavar or choices or action.dest.upper())


def listed(parser: argparse.ArgumentParser, actions: Iterable[argparse.Action]) -> Iterator[str]:
    """Yield these arguments of a parser, without the hidden ones."""
    for action in actions:
        names = list(action.option_strings) or [value(action)]
        if action.help in (None, argparse.SUPPRESS):
            continue
        shown = ", ".join(f"\\fB{text(name)}\\fR" if action.option_strings else f"\\fI{text(name)}\\fR" for name in names)
        behind = f" \\fI{text(value(action))}\\fR" if action.option_strings and value(action) else ""
        yield from (".TP", shown + behind, text(action.help % {"prog": parser.prog, "default": action.default}))


def synopsis(parser: argparse.ArgumentParser) -> str:
    """Return the synopsis of a command."""
    places = [action for action in parser._actions if not action.option_strings]
    words = " ".join(f"[\\fI{text(value(action))}\\fR{' ...' if action.nargs in ('*', '...') else ''}]" for action in places)
    return f"\\fB{text(parser.prog)}\\fR [\\fIoptions\\fR] {words}".rstrip()


def page() -> str:
    """Return the whole page."""
    from tltui import __version__
    from tltui.cli.registry import COMMANDS, parser_of
    from tltui.cli.ui import EXAMPLES, ui_parser
    from tltui.settings import SETTINGS

    ui = ui_parser()
    summary = parser_of("summary")
    shared = summary.common._group_actions
    lines = [
        f'.TH TLTUI 1 "" "tltui {__version__}" "User Commands"',
        ".SH NAME", r"tltui \- the terminal workbench for torch.compile",
        ".SH SYNOPSIS", synopsis(ui), ".br", r"\fBtltui\fR \fICOMMAND\fR [\fIoptions\fR] [\fIargument\fR ...]",
        ".SH DESCRIPTION", text(str(ui.description)),
        text("Without a command it opens the terminal UI; each command prints a page and needs no terminal."),
        ".SH OPTIONS", *listed(ui, ui._actions),
        ".SH COMMON OPTIONS", text("Each command below names those that it has."), *listed(summary, shared),
        ".SH COMMANDS", text("Each has --help."),
    ]  # fmt: skip
    for name in COMMANDS:
        parser = parser_of(name)
        lines += [f".SS {text(name)}", synopsis(parser), ".br", text(re.sub(r"\s+", " ", str(parser.description)))]
        common = [action for action in parser.common._group_actions if action.help in {each.help for each in shared}]
        lines += listed(parser, (action for action in parser._actions if action not in common))
        if names := ", ".join(action.option_strings[-1] for action in common if action.help != argparse.SUPPRESS):
            lines += [".PP", text(f"Common options: {names}")]
        lines += block(str(parser.epilog))
    lines += [".SH EXAMPLES", *block(EXAMPLES.removeprefix("examples:\n"))]
    public = [setting for setting in SETTINGS if not setting.is_internal]
    variables = [(setting.variable, f"{setting.help[0].upper()}{setting.help[1:]}.") for setting in public]
    for title, rows in (("EXIT STATUS", EXITS), ("ENVIRONMENT", variables), ("FILES", FILES)):
        lines.append(f".SH {title}")
        for term, explanation in rows:
            lines += [".TP", f"\\fB{text(term)}\\fR", text(explanation)]
    return "\n".join(lines) + "\n"


def generated() -> dict[Path, str]:
    """Return the file and its text."""
    return {PAGE: page()}
