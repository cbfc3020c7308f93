"""The command line: `tltui PATH` opens the terminal UI, every other command prints a document and needs no terminal.

Textual is imported only when the UI starts. What a command prints is in `cli_commands.py`, its options in `cli_options.py`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tltui.cli_commands import COMMANDS, Failure, no_path, write
from tltui.cli_options import command_parser, main_parser

DEMO = Path(__file__).parent / "demo"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code: 0, or 2 with a message on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except Failure as failure:
        print(f"tltui: {failure}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # `| head` closed our output: not an error, and nothing may be written any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"tltui: {error.filename or 'input or output'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS:
        name, *rest = arguments
        parser = command_parser(name, COMMANDS[name][0])
        options = parser.parse_intermixed_args(rest)
        _take_demo(options)
        write(COMMANDS[name][1](options))
        return int(getattr(options, "exit_code", 0))
    options = main_parser({name: help_ for name, (help_, _) in COMMANDS.items()}).parse_intermixed_args(arguments)
    _take_demo(options)
    if not options.paths:
        no_path()
    return _open(options)


def _take_demo(options: argparse.Namespace) -> None:
    """`--demo` stands wherever PATH may stand; without either, TORCH_TRACE does."""
    single = hasattr(options, "path")
    if options.demo:
        if single and options.path is not None:
            # the first positional was not PATH but what follows it
            options.rest = [options.path, *getattr(options, "rest", [])]
        found = [str(DEMO)]
    else:
        given = [options.path] if single and options.path is not None else getattr(options, "paths", [])
        found = given or ([os.environ["TORCH_TRACE"]] if os.environ.get("TORCH_TRACE") else [])
    options.paths = found


def _open(options: argparse.Namespace) -> int:
    """The terminal UI, or its listing where there is no terminal."""
    why = _no_terminal()
    if why:
        print(f"tltui: {why}; printing what `tltui ls` prints", file=sys.stderr)
        options.json = options.check = False
        write(COMMANDS["ls"][1](options))
        return 0
    from tltui.sources.discover import NothingFound, discover

    try:
        found = discover(options.paths, options.latest)
    except NothingFound as nothing:
        raise Failure(str(nothing)) from None
    from tltui.app import start

    return start(found, options)


def _no_terminal() -> str:
    """Why the UI cannot run here; '' when it can."""
    if not sys.stdin.isatty():
        return "standard input is not a terminal"
    if not sys.stdout.isatty():
        return "standard output is not a terminal"
    if not sys.stderr.isatty():
        return "standard error is not a terminal, and the UI is drawn there"
    if os.environ.get("TERM", "dumb") in ("dumb", ""):
        return "TERM=dumb: this terminal cannot draw"
    return ""
