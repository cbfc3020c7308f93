"""`tltui PATH` and `tltui --version`: the UI, or the output of `tltui ls` without a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tltui import __version__
from tltui.cli.exits import Failure, print_error, printable
from tltui.cli.parser import Parser, add_paths
from tltui.cli.registry import COMMANDS, command, grouped
from tltui.inputs.archives import STANDARD_INPUT

if TYPE_CHECKING:
    from pathlib import Path


NEEDED = ("textual", "rich", "pygments", "platformdirs", "wcwidth", *(("tomli",) if sys.version_info < (3, 11) else ()))
MORE = (("dask", "distributed", "--engine dask://HOST:PORT"), ("mpi", "mpi4py", "--engine mpi"))
"""Extras: name, package and purpose."""


def version_lines(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield one line, or all."""
    if not options.version:
        raise Failure("--verbose goes with --version")
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
    yield f"config    {config}  {'is read' if config.is_file() else 'is not there: defaults'}"
    yield f"cache     {cache_path()}  {_writable(cache_path(), 'nothing packed can be opened, and there is no crash.log')}"
    yield f"state     {state_path()}  {_writable(state_path(), 'marks and widths of panes are not kept')}"


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
    return f"the program {program}" if program else "neither Python nor a program has it: no .zst file can be opened"


def _writable(path: Path, otherwise: str) -> str:
    """Return whether a directory is writable or can be created, without creating it."""
    ancestor = next(directory for directory in (path, *path.parents) if directory.exists())
    if ancestor.is_dir() and os.access(ancestor, os.W_OK | os.X_OK):
        return "can be written" if ancestor == path else "is made when it is needed"
    return f"cannot be written: {otherwise}"


EXAMPLES = """\
examples:
  tltui /tmp/tracedir                                 the terminal UI
  tltui --demo                                        the same on a small built-in trace
  tltui /tmp/traces --latest                          only the newest run in a directory
  tltui job.tar.gz                                    also .gz .xz .bz2 .zst .tar .zip, and reports of tlparse
  torchrun train.py 2>&1 | tltui -                    what comes through a pipe, while it comes
  tltui summary /tmp/tracedir                         what happened, and what to look at first
  tltui problems /tmp/tracedir                        errors and graph breaks, with what to try
  tltui ls /tmp/tracedir                              compiles with status and time
  tltui show /tmp/tracedir 0/1                        what happened in [0/1], and why
  tltui show /tmp/tracedir 0/1:inductor_output_code   an artifact
  tltui records rank_0.log rank_3.log 3:0/1           every record of [0/1] on rank 3
  tltui damage /tmp/tracedir                          what is broken in the logs
  tltui extract /tmp/tracedir -o out 0/1              payloads as files

Nearly every command that prints takes -o FILE (.txt, .md, .html, .json), --markdown (for an issue) and --json (for programs).

addresses: [RANK[.PROCESS]:]FRAME/COMPILE[~EPOCH][_ATTEMPT][:ARTIFACT[#N]], for example 0/1, 3:0/1_1, none:torch_version
What parses as an address is one, and a command's name is a command: files of such names are written ./0/1 and ./ls.
"""


def ui_parser() -> Parser:
    """Return the parser without a command."""
    listed = "\n".join(
        f"{heading}:\n" + "\n".join(f"  {name:<11} {COMMANDS[name].help}" for name in names) for heading, names in grouped().items()
    )
    about = "The terminal workbench for torch.compile. PATH is a log or a directory of logs, packed or not; - is standard input."
    parser = Parser("", about, f"commands (tltui COMMAND --help)\n\n{listed}\n\n{EXAMPLES}")
    add_paths(parser)
    parser.add_argument("--theme", metavar="NAME", help="auto, dark, light, high-contrast, ansi-dark, ansi-light or mono")
    parser.add_argument("--no-mouse", action="store_true", default=None, help="leave the mouse to the terminal")
    parser.add_argument("--version", action="store_true", help="print the version of tltui, and nothing else")
    parser.add_argument("--verbose", action="store_true",
                        help="with --version: also those of what it runs on, and where its files are")  # fmt: skip
    return parser


def check_paths(paths: Sequence[str]) -> None:
    """Raise `Failure` for a path that is no file, or a command that is not the first word."""
    for word in paths:
        if word in COMMANDS and not os.path.lexists(word):
            raise Failure(f"{word} is a command, and stands in front: tltui {word} PATH")


def open_ui(options: argparse.Namespace) -> int:
    """Start the UI; return the exit code."""
    from tltui.cli.loading import keys_from_terminal, no_path, no_terminal, search

    if not options.paths:
        no_path()
    if STANDARD_INPUT in options.paths:
        keys_from_terminal()
    why = no_terminal()
    if why:
        from tltui.cli.printing import write

        print_error(f"tltui: {why}; printing what `tltui ls` prints")
        options.json = options.check = False
        write(command("ls").run(options))
        return 0
    from tltui.config import THEMES
    from tltui.sources.discover import NothingFound

    if options.theme is not None and options.theme not in THEMES:
        raise Failure(f"--theme must be one of {', '.join(THEMES)}, not {options.theme}")
    discovered = search(options.paths, options.latest, options.profile)
    from tltui.app import start

    try:
        return start(discovered, options)
    except NothingFound as nothing:
        raise Failure(str(nothing)) from None
