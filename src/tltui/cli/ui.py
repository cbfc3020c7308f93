"""`tltui PATH` and `tltui --version`: the UI, or the output of `tltui summary` without a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tltui import __version__
from tltui.cli.exits import Failure, print_error, printable
from tltui.cli.options import add_paths, add_unused
from tltui.cli.parser import Parser
from tltui.cli.registry import COMMANDS, command, grouped, parser_of
from tltui.inputs.archives import STANDARD_INPUT

if TYPE_CHECKING:
    from pathlib import Path


NEEDED = ("textual", "rich", "pygments", "platformdirs", "wcwidth", *(("tomli",) if sys.version_info < (3, 11) else ()))
MORE = (("dask", "distributed", "--engine dask://HOST:PORT"), ("mpi", "mpi4py", "--engine mpi"))
"""Extras: name, package and purpose."""


def version_lines(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield one line, or all."""
    if not options.version:
        raise Failure("--verbose needs --version", "tltui --version --verbose")
    lines = [f"tltui {__version__}", *(_verbose() if options.verbose else ())]
    yield ("\n".join(printable(line) for line in lines) + "\n").encode(sys.stdout.encoding or "utf-8", "backslashreplace")


def _verbose() -> Iterator[str]:
    import platform

    from tltui.config import cache_path, config_path, state_path
    from tltui.text.json_codec import BACKEND

    yield f"python    {platform.python_version()} ({platform.python_implementation()})  {sys.executable}"
    yield f"system    {platform.system()} {platform.release()} {platform.machine()}"
    yield f"code      {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}"
    for name in NEEDED:
        yield f"          {name} {_installed(name) or 'is not installed'}"
    yield f"json      {BACKEND}"
    yield f"zstd      {_zstd()}"
    for extra, name, use in MORE:
        yield f"{extra:<9} {name} {version}" if (version := _installed(name)) else f"{extra:<9} {name} is not installed: no {use}"
    config = config_path()
    yield f"config    {config}  {'in use' if config.is_file() else 'does not exist: defaults apply'}"
    yield f"cache     {cache_path()}  {_writable(cache_path(), 'no archive can be opened, and no crash.log is written')}"
    yield f"state     {state_path()}  {_writable(state_path(), 'marks and widths of panes are not saved')}"


def _installed(name: str) -> str:
    """Return the version of a package; '' if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _zstd() -> str:
    import shutil

    from tltui.inputs.archives.decompress import zstd_decompressor

    if (make := zstd_decompressor()) is not None:
        return str(make.__module__)
    program = shutil.which("zstd")
    return f"the program {program}" if program else "no Python package and no program: .zst files cannot be opened"


def _writable(path: Path, otherwise: str) -> str:
    """Return whether a directory is writable or can be created, without creating it."""
    ancestor = next(directory for directory in (path, *path.parents) if directory.exists())
    if ancestor.is_dir() and os.access(ancestor, os.W_OK | os.X_OK):
        return "writable" if ancestor == path else "created when needed"
    return f"not writable: {otherwise}"


EXAMPLES = """\
examples:
  tltui /tmp/tracedir                                 the terminal UI
  tltui --demo                                        the same on a small built-in trace
  tltui /tmp/traces --latest                          only the newest run in a directory
  tltui job.tar.gz                                    also .gz .xz .bz2 .zst .tar .zip, and reports of tlparse
  torchrun train.py 2>&1 | tltui -                    read from a pipe, live
  tltui summary /tmp/tracedir                         findings, the most important first
  tltui problems /tmp/tracedir                        errors and graph breaks, with fixes
  tltui ls /tmp/tracedir                              compiles with status and time
  tltui show /tmp/tracedir 0/1                        one compile: why it recompiled, broke or failed
  tltui show /tmp/tracedir 0/1:inductor_output_code   an artifact
  tltui records rank_0.log rank_3.log 3:0/1           every record of [0/1] on rank 3
  tltui damage /tmp/tracedir                          damaged records of the logs
  tltui extract /tmp/tracedir -o out 0/1              payloads as files

Commands that print take -o FILE (.txt, .md, .html, .json), --markdown (for an issue) and --json (for programs).

addresses: [RANK[.PROCESS]:]FRAME/COMPILE[~EPOCH][_ATTEMPT][:ARTIFACT[#N]], for example 0/1, 3:0/1_1, none:torch_version.
A word in the form of an address or a command is not read as a path. For files with such names, write ./0/1 and ./ls.
"""


def ui_parser() -> Parser:
    """Return the parser without a command."""
    listed = "\n".join(
        f"{heading}:\n" + "\n".join(f"  {name:<11} {COMMANDS[name].help}" for name in names) for heading, names in grouped().items()
    )
    about = "Shows what torch.compile did, from its logs: a terminal UI. Without a terminal it prints the summary."
    parser = Parser("", about, f"commands (tltui help COMMAND)\n\n{listed}\n\n{EXAMPLES}")
    add_paths(parser)
    add_unused(parser, "--all", "--color")
    parser.add_argument("--ascii", action="store_true", default=None, help="draw with ASCII characters only")
    parser.add_argument("--theme", metavar="NAME", help="colors: auto, dark, light, high-contrast, ansi-dark, ansi-light or mono")
    parser.add_argument("--no-mouse", action="store_true", default=None, help="do not use the mouse")
    parser.add_argument("--version", action="store_true", help="print the version of tltui")
    parser.add_argument("--verbose", action="store_true",
                        help="with --version: also the versions of Python and packages, and the paths of files")  # fmt: skip
    return parser


def check_paths(paths: Sequence[str]) -> None:
    """Raise `Failure` for a path that is no file, or a command that is not the first word."""
    from tltui.text.safe_files import quoted

    for word in paths:
        if word in COMMANDS and not os.path.lexists(word):
            others = " ".join(quoted(other) for other in paths if other != word)
            raise Failure(f"a command comes first: '{word}'", f"tltui {word} {others or 'PATH'}")


def open_ui(options: argparse.Namespace) -> int:
    """Start the UI; return the exit code."""
    from tltui.cli.loading import keys_from_terminal, no_path, no_terminal, search
    from tltui.config import THEMES

    if options.theme is not None and options.theme not in THEMES:
        raise Failure(f"invalid value of --theme: '{options.theme}'", f"use one of {', '.join(THEMES)}")
    if not options.paths:
        no_path()
    if STANDARD_INPUT in options.paths:
        keys_from_terminal()
    why = no_terminal()
    if why:
        from tltui.cli.printing import write

        print_error(f"tltui: {why}: printing the summary")
        summary = parser_of("summary").read([])
        write(command("summary").run(argparse.Namespace(**vars(summary) | vars(options) | {"command": "summary"})))
        return 0
    from tltui.sources.discover import NothingFound

    discovered = search(options.paths, options.latest, options.profile)
    from tltui.app import start

    try:
        return start(discovered, options)
    except NothingFound as nothing:
        raise Failure(str(nothing)) from None
