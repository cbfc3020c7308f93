"""The declaration of a command, and shared parts of the parsers.

Paths and addresses are accepted in any order, and there may be several of each: `loading.py` separates them. argparse collects all
of them in `paths`; the others are declared for the help only.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

from tltui.cli.exits import print_error
from tltui.text.frozen import frozen

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([kKmMgG]?)(?:i?[bB])?")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
RECORD_HELP = """\
tltui reads what torch.compile wrote into a directory. To record one, run your job by

    tltui run -- python train.py

or, where there is no tltui, with

    TORCH_TRACE=/tmp/tracedir python train.py

(with torch 2.9 and later add INDUCTOR_PROVENANCE=1 to see which line became which kernel), then

    tltui /tmp/tracedir          look at it, also while the job runs
    tltui ls /tmp/tracedir       print what is in it
    tltui --demo                 look at a trace that comes with tltui
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines, whatever the arguments."""

    def __init__(self, command: str, description: str, epilog: str) -> None:
        super().__init__(prog=f"tltui {command}".rstrip(), description=description, epilog=epilog,
                         formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
        self.command = command
        """Its name, '' for the terminal UI."""
        self.starts_another = False
        """Whether it starts another command (`add_command`)."""
        self.set_defaults(command=command)

    def read(self, arguments: list[str]) -> argparse.Namespace:
        """Parse options, paths and addresses, in any order.

        For a command that starts another one all words after `--`, or from the first word that is no option, belong to the other.
        """
        if not self.starts_another:
            return self.parse_intermixed_args(arguments)
        at = arguments.index("--") if "--" in arguments else len(arguments)
        options = self.parse_args(arguments[:at])
        options.words = [*options.words, *arguments[at + (not options.words) :]]
        return options

    def has_option(self, option: str) -> bool:
        """Return whether it has an option of this name."""
        return any(option in action.option_strings for action in self._actions)

    def error(self, message: str) -> NoReturn:
        """Exit with the error and the usage."""
        with suppress(OSError):  # nobody listens: Python 3.10 raises it
            self.print_usage(sys.stderr)
        print_error(f"{self.prog}: {message}")
        self.exit(2)


Argument = Callable[[Parser], object]
"""Adds one argument, or several that belong together, to a parser."""


@frozen
class Command:
    """A command. The help lists its arguments in this order."""

    run: Callable[[argparse.Namespace], Iterator[bytes]]
    """Yield the output piece by piece: `| head` ends it early. A nonzero exit code is stored in `options.exit_code`."""
    arguments: tuple[Argument, ...]
    examples: str = ""
    """The text below the options in the help; '' for the examples of any page."""


def argument(*names: str, **settings: Any) -> Argument:
    """Return an argument of `ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **settings)


def defaults(**values: object) -> Argument:
    """Return options with fixed values, as those that a command lacks."""
    return lambda parser: parser.set_defaults(**values)


def refs(help_: str, several: bool = False) -> Argument:
    """Return the addresses of a command as an argument."""

    def add(parser: Parser) -> None:
        parser.add_argument("refs", nargs="*" if several else "?", metavar="REF",
                            help=f"{help_}; a path that looks like an address is written ./0/1")  # fmt: skip
        parser.set_defaults(takes_refs=True)

    return add


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for opening and printing that all commands share."""
    opens = "traces, TORCH_LOGS text, torch_compile_debug, archives, directories of them, as one run; - for standard input"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"{opens} (default: $TORCH_TRACE)")
    parser.add_argument("--demo", action="store_true", help="use the built-in demo trace instead of PATH")
    parser.add_argument("--profile", action="append", metavar="FILE", default=[],
                        help="what torch.profiler exported of the run, .json or .json.gz; may be repeated, one a rank")  # fmt: skip
    parser.add_argument("--latest", action="store_true", help="only the newest run in the directory")
    parser.add_argument("--ascii", action="store_true", default=None, help="draw with ASCII characters only")
    parser.add_argument("--color", action="store_true", help="colours even when the output is not a terminal")
    parser.add_argument("--all", action="store_true", help="on a terminal too: every frame of torch's own in a traceback")


def add_command(parser: Parser) -> None:
    """Add the command that a command of ours starts; no PATH is opened."""
    parser.starts_another = True
    parser.usage = "%(prog)s [options] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", default=[], help="what to run, with its arguments")
    parser.set_defaults(paths=[], profile=[], demo=False, ascii=None, color=False, all=False)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON (documented in docs/json.md)")


def add_markdown(parser: argparse.ArgumentParser) -> None:
    """Add `--markdown`."""
    parser.add_argument("--markdown", action="store_true",
                        help="print markdown to paste into an issue: folded, as much as it takes")  # fmt: skip


def add_output(parser: Parser) -> None:
    """Add the output file of a command that prints, unless its `-o` means something else."""
    formats = ".txt .ansi .md .html .json"
    parser.add_argument("-o", dest="to", metavar="FILE", help=f"write into FILE, in the format of its suffix: {formats}; - prints")
    if not parser.has_option("--markdown"):
        add_markdown(parser)
    if not parser.has_option("--force"):
        add_force(parser, "replace FILE if it exists")


def add_force(parser: argparse.ArgumentParser, help_: str = "replace files that exist") -> None:
    """Add `--force`, without which existing files are never replaced."""
    parser.add_argument("--force", action="store_true", help=help_)


def size(text: str) -> int:
    """Parse a number of bytes: `5M`, `800k`. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is not a size: use 800k, 5M or 1G")
    return int(float(match[1]) * _UNITS[match[2].lower()])
