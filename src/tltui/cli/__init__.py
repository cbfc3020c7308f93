"""The command line: `tltui PATH` opens the terminal UI, every other command prints a document and needs none.

A command is a module: `registry.py` has the table. Textual is imported only when the UI starts.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tltui.cli.exits import Ended, Failure, code_of, handled_signals, kill_children, print_error, reraised_signals
from tltui.cli.registry import COMMANDS, command, parser_of
from tltui.text.bad_input import BadInput

if TYPE_CHECKING:
    from tltui.model.ref import BadAddress

GARBAGE = (20_000, 20, 20)
"""Arguments of gc.set_threshold(): with the million objects of 20,000 compiles a default collection costs 20 % of a page."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code.

    0, that of the command, 2 with a message on stderr, 70 for an internal error, or 128 and the number of the signal that ended it.
    """
    gc.set_threshold(*GARBAGE)
    if argv is None:
        atexit.register(gc.freeze)  # Python's last collection would go through every object, to free what ends with the process
    arguments = list(sys.argv[1:] if argv is None else argv)
    is_ui = not arguments or arguments[0] not in COMMANDS
    try:
        with handled_signals(is_at_once=is_ui):
            return _run_guarded(arguments)
    except (KeyboardInterrupt, Ended) as ended:
        code = code_of(ended)
    finally:
        if argv is not None:  # the caller goes on in this process
            gc.enable()
    kill_children()
    return code


def _run_guarded(arguments: list[str]) -> int:
    """Run a command; turn its exceptions into a message and an exit code."""
    try:
        with reraised_signals():
            return _run(arguments)
    except Failure as failure:
        print_error(f"tltui: {failure}")
    except BrokenPipeError:  # `| head` closed our output: not an error
        _flush_output()
        return 0
    except SystemExit:  # argparse, after `--help` and what is no command
        _flush_output()
        raise
    except BadInput as bad:
        print_error(f"tltui: {Failure(bad.problem, bad.advice)}")
    except OSError as error:
        _flush_output()
        print_error(f"tltui: {Failure(_os_error_message(error), _os_error_advice(error))}")
    except Exception as error:
        from tltui.crash import CODE, last_words

        print_error(last_words(error))
        return CODE
    return 2


def _run(arguments: list[str]) -> int:
    arguments = _without_help_command(arguments)
    if arguments and arguments[0] in COMMANDS:
        name, *words = arguments
        parser = parser_of(name)
    else:
        from tltui.cli.ui import check_paths, ui_parser

        _check_command_name(arguments)
        name, words, parser = "", arguments, ui_parser()
    options = parser.read(words)
    if sys.stdout is None:
        raise Failure("standard output is closed")
    if not name and (options.version or options.verbose):
        from tltui.cli import ui

        if options.paths:
            raise Failure(f"--version takes no PATH: '{options.paths[0]}'", "tltui --version")
        sys.stdout.buffer.writelines(ui.version_lines(options))
        return 0
    if not name:
        check_paths(options.paths)

    # not before: `--help` and `--version` end above
    from tltui.cli.loading import resolve_arguments
    from tltui.cli.printing import deliver, resolve_output
    from tltui.model.ref import BadAddress

    resolve_arguments(options)
    if not name:
        from tltui.cli.ui import open_ui

        return open_ui(options)
    resolve_output(options)
    _apply_settings(options)
    try:
        deliver(command(name).run(options), options)
    except BadAddress as bad:
        raise Failure(bad.problem, f"{bad.advice}{_option_for(bad, options)}{options.hint}".lstrip()) from None
    return int(getattr(options, "exit_code", 0))


def _option_for(bad: BadAddress, options: argparse.Namespace) -> str:
    """Return the option that selects a meaning of an ambiguous address, if the command has it."""
    from tltui.model.ref import AmbiguousAddress

    return f", or add --{bad.option}" if isinstance(bad, AmbiguousAddress) and bad.option in vars(options) else ""


def _without_help_command(arguments: list[str]) -> list[str]:
    """Replace `help [COMMAND]` by `[COMMAND] --help`, unless a file has that name."""
    if arguments[:1] != ["help"] or os.path.lexists("help"):
        return arguments
    words = [word for word in arguments[1:] if word not in ("-h", "--help")]
    if words and words[0] not in COMMANDS:
        _check_command_name(words)
        raise Failure(f"unknown command: '{words[0]}'", "tltui help lists the commands")
    if len(words) > 1:
        raise Failure(f"unexpected argument: '{words[1]}'", "usage: tltui help [COMMAND]")
    return [*words, "--help"]


def _check_command_name(arguments: list[str]) -> None:
    """Raise `Failure` if the first word is no file but nearly a command, before its arguments are checked."""
    word = arguments[0] if arguments else ""
    if word.isalpha() and not os.path.lexists(word):
        from difflib import get_close_matches

        if near := get_close_matches(word, COMMANDS, 2, 0.7):
            raise Failure(f"unknown command (and no such file): '{word}'", f"did you mean tltui {' or tltui '.join(near)}?")


def _apply_settings(options: argparse.Namespace) -> None:
    """Apply the settings for printing from variables and the config file; the UI and `tltui config` read them themselves."""
    from tltui.settings import PREFIX, problems_of

    if options.command == "config":
        return
    if any(name.startswith(PREFIX) for name in os.environ):
        for problem in problems_of(os.environ):
            print_error(f"tltui: {problem}")
    if getattr(options, "ascii", False) is None:
        from tltui.config import read_config

        options.ascii = read_config(()).ascii or None  # else as the encoding of the output demands


def _flush_output() -> None:
    """Flush stdout; on failure redirect it to /dev/null, so that Python does not fail again at its exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _os_error_message(error: OSError) -> str:
    """Return the message of an OSError, with its file."""
    from tltui.inputs.index.indexed_log import Elsewhere

    return str(error) if isinstance(error, Elsewhere) else _quoted_file(error.strerror or str(error), error.filename)


def _quoted_file(reason: str, name: str | bytes | None) -> str:
    return f"{reason}: '{os.fsdecode(name)}'" if name else f"input or output: {reason}"


def _os_error_advice(error: OSError) -> str:
    """Return what to type instead, '' if it depends on more than the file."""
    from tltui.text.safe_files import quoted

    path = os.fsdecode(error.filename or "")
    if isinstance(error, FileExistsError):
        return "--force replaces it" if error.strerror == "exists" else "--force writes it there"
    if isinstance(error, FileNotFoundError):
        directory = path if error.strerror == "no such directory" else os.path.dirname(path)
        return f"mkdir -p {quoted(directory)}" if directory and not os.path.lexists(directory) else ""
    if isinstance(error, NotADirectoryError):
        return "give a new directory, or one that exists"
    if isinstance(error, IsADirectoryError):
        return "give the name of a file"
    return f"ls -ld {quoted(path)} shows its owner and permissions" if isinstance(error, PermissionError) and path else ""
