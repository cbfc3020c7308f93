"""Arguments that several commands share, each declared once."""

from __future__ import annotations

import argparse
import re
from functools import partial

from tltui.cli.exits import Failure
from tltui.cli.parser import Argument, Parser, UnusedOption, argument

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([kKmMgG]?)(?:i?[bB])?")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
INPUTS = "traces, TORCH_LOGS text, torch_compile_debug, archives, directories of them, opened as one run; - is standard input"
REDACT = "replace everything that is not torch's own: names, paths, source lines, strings, hosts"
FORMATS = ".txt .ansi .md .html .json"


def add_paths(parser: Parser, profile: bool = True) -> None:
    """Add PATH and the options for opening it."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"{INPUTS} (default: $TORCH_TRACE)")
    common = parser.common
    common.add_argument("--demo", action="store_true", help="use the built-in demo trace instead of PATH")
    common.add_argument("--latest", action="store_true", help="open only the newest run in a directory")
    if profile:
        common.add_argument("--profile", action="append", metavar="FILE",
                            help="a torch.profiler export of the run, .json or .json.gz; repeat it for more ranks")  # fmt: skip
    else:
        parser.add_argument("--profile", action=UnusedOption, nargs=None)


def path_words(options: argparse.Namespace) -> str:
    """Return the paths as given, quoted for the shell: `--demo` for the demo trace, PATH without one."""
    from tltui.text.safe_files import quoted

    return "--demo" if options.demo else " ".join(map(quoted, options.paths)) or "PATH"


def refs(help_: str, several: bool = False) -> Argument:
    """Return the addresses of a command as an argument."""

    def add(parser: Parser) -> None:
        parser.add_argument("refs", nargs="*" if several else "?", metavar="REF",
                            help=f"{help_}; write ./0/1 for a file named like an address")  # fmt: skip
        parser.set_defaults(takes_refs=True)

    return add


def rank(text: str) -> int:
    """Parse the number of a rank."""
    if text in ("norank", "none"):
        from tltui.model.ref import NORANK

        return NORANK
    if not text.isdecimal():
        raise Failure(f"invalid rank: {text!r}", "use a number, or norank for processes without a rank")
    return int(text)


def frame(text: str) -> int:
    """Parse the number of a frame."""
    if not text.isdecimal():
        raise Failure(f"invalid frame: {text!r}", "use a number: frame 3 has the compiles 3/0, 3/1 …")
    return int(text)


def count(text: str, or_: str = "") -> int:
    """Parse a number of lines. `or_`: the words that are accepted instead."""
    if not text.isdecimal() or len(text) > 9:
        raise Failure(f"invalid number of lines: {text!r}", f"use a number, such as 10{or_}")
    return int(text)


def add_part(parser: Parser) -> None:
    """Add the options that select a part of the run."""
    parser.add_argument("--rank", metavar="N", type=rank, help="only this rank; norank for processes without a rank")
    parser.add_argument("--frame", metavar="F", type=frame, help="only this frame")


def add_command(parser: Parser) -> None:
    """Add the command that a command of ours starts; no PATH is opened."""
    parser.starts_another = True
    parser.usage = "%(prog)s [options] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", default=[], help="the job, with its arguments")


def add_text(parser: Parser, folds: bool = True) -> None:
    """Add the options of printed text. `folds`: the output may be cut."""
    if folds:
        parser.common.add_argument("--all", action="store_true", help="print all rows of tables and all frames of tracebacks")
    else:
        add_unused(parser, "--all")
    parser.common.add_argument("--ascii", action="store_true", default=None, help="draw with ASCII characters only")
    parser.common.add_argument("--color", action="store_true", help="print colors even if the output is not a terminal")


def add_unused(parser: Parser, *names: str) -> None:
    """Accept flags without effect on the command, with a warning."""
    for name in names:
        parser.add_argument(name, action=UnusedOption)


def no_text(parser: Parser) -> None:
    """Accept the options of printed text on a command that prints none, with a warning."""
    add_unused(parser, "--all", "--ascii", "--color")


def add_json(parser: Parser) -> None:
    """Add `--json`."""
    parser.common.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def add_output(parser: Parser) -> None:
    """Add the output file of a command that prints."""
    parser.common.add_argument("-o", "--output", dest="to", metavar="FILE",
                               help=f"write to FILE in the format of its suffix: {FORMATS}; - is standard output")  # fmt: skip
    parser.common.add_argument("--markdown", action="store_true", help="print markdown for a GitHub issue, cut at its size limit")
    add_force(parser)


def add_force(parser: Parser, help_: str = "replace existing files") -> None:
    """Add `--force`, without which existing files are never replaced."""
    parser.common.add_argument("--force", action="store_true", help=help_)


def add_baseline(parser: Parser, help_: str) -> None:
    """Add the trace to compare with."""
    parser.add_argument("--baseline", "--with", metavar="OLD", action="append", help=f"{help_} (repeat it for another log)")


def baseline(help_: str) -> Argument:
    """Return `--baseline` as an argument."""
    return partial(add_baseline, help_=help_)


def fail_on(help_: str) -> Argument:
    """Return `--fail-on` as an argument."""
    return argument("--fail-on", metavar="LIMITS", action="append", help=help_)


def size(text: str) -> int:
    """Parse a number of bytes: `5M`, `800k`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise Failure(f"invalid size: {text!r}", "use 800k, 5M or 1G")
    return int(float(match[1]) * _UNITS[match[2].lower()])
