"""The options of the command line, and the texts of its help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

from tltui import __version__
from tltui.documents.pages.table import BY_NAME

RECORD_HELP = """\
tltui reads what torch.compile wrote into a directory. To record one, run your job with

    TORCH_TRACE=/tmp/tracedir python train.py

(add INDUCTOR_PROVENANCE=1 to see later which line became which kernel), then

    tltui /tmp/tracedir          look at it, also while the job runs
    tltui ls /tmp/tracedir       print what is in it
    tltui --demo                 look at a trace that comes with tltui
"""

EXAMPLES = """\
examples:
  tltui /tmp/tracedir                                 the terminal UI
  tltui --demo                                        the same on a small built-in trace
  tltui /tmp/traces --latest                          only the newest run in a directory
  tltui summary /tmp/tracedir                         what happened, and what to look at first
  tltui problems /tmp/tracedir                        errors and graph breaks, with what to try
  tltui ls /tmp/tracedir                              compiles with status and time
  tltui show /tmp/tracedir 0/1                        what happened in [0/1], and why
  tltui show /tmp/tracedir 0/1:inductor_output_code   an artifact
  tltui records /tmp/tracedir 3:0/1                   every record of [0/1] on rank 3
  tltui damage /tmp/tracedir                          what is broken in the logs
  tltui extract /tmp/tracedir -o out 0/1              payloads as files

addresses: [RANK[.PROCESS]:]FRAME/COMPILE[_ATTEMPT][:ARTIFACT[#N]], for example 0/1, 3:0/1_1, none:torch_version
"""

EPILOGS = {
    "timing": """\
examples:
  tltui timing /tmp/tracedir
  tltui timing /tmp/tracedir 0/1
  tltui timing /tmp/tracedir --perfetto trace.json        open it in ui.perfetto.dev
""",
    "ls": """\
examples:
  tltui ls /tmp/tracedir
  tltui ls /tmp/tracedir --json | jq '.ranks[].processes[].compiles[] | select(.status=="error").ref'
""",
    "show": """\
examples:
  tltui show /tmp/tracedir                    the whole run
  tltui show /tmp/tracedir 0/1                one compile
  tltui show /tmp/tracedir 0/0:inductor_output_code --unit backward
  tltui show --demo 0:0/0:dynamo_output_graph --raw > graph.py
""",
    "records": """\
examples:
  tltui records /tmp/tracedir 0/1
  tltui records /tmp/tracedir 3: --json
""",
    "source": """\
examples:
  tltui source /tmp/tracedir train.py:42
  tltui source /tmp/tracedir models/block.py:7 0/1 --json
""",
    "damage": """\
example:
  tltui damage /tmp/tracedir
""",
    "grep": """\
examples:
  tltui grep addmm /tmp/tracedir
  tltui grep 'extern_kernels\\.\\w+' /tmp/tracedir --artifact inductor_output_code
""",
    "check": """\
bars: error break distinct_break recompiles frame_recompiles recompile_limit cache_miss compile_time empty unfinished damage
A bar without a number allows none; with --baseline what OLD has, and +N or +N% that much more.
Exit code: 0 when every bar holds, 1 when one is broken, 2 for anything that could not be checked.

examples:
  tltui check /tmp/tracedir --fail-on error,break,recompiles=2,cache_miss,compile_time=60
  tltui check new --baseline old --fail-on error,break,recompiles=+1,compile_time=+10%
""",
    "diff": """\
examples:
  tltui diff /tmp/tracedir 0/0 0/1
  tltui diff /tmp/tracedir 0: 3:
  tltui diff /tmp/tracedir 0/0:dynamo_cpp_guards_str 0/1:dynamo_cpp_guards_str
  tltui diff /tmp/before --with /tmp/after
""",
    "bundle": """\
The preview says what leaves and how large it is; nothing is written beside the trace.

examples:
  tltui bundle /tmp/tracedir 0/1 --redact --preview
  tltui bundle /tmp/tracedir 0/1 0/2 --redact -o bundle.log
""",
    "extract": """\
examples:
  tltui extract /tmp/tracedir -o out
  tltui extract /tmp/tracedir -o out 0/1 0/2:inductor_output_code
""",
}
"""What stands below the options in the help of a command."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")


def hook(view: str, name: str) -> Any:
    """What the module of a view adds to its command: `add_arguments(parser)` for options of its own, and
    `instead(run, scope, options)`, which gives what to print in place of the page, or None. None where there is none.
    """
    return getattr(import_module(f"tltui.documents.pages.{view}"), name, None)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--demo", action="store_true", help="use the built-in demo trace instead of PATH")
    parser.add_argument("--latest", action="store_true", help="only the newest run in the directory")


def _looks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ascii", action="store_true", default=None, help="draw with ASCII characters only")
    parser.add_argument("--color", action="store_true", help="colours even when the output is not a terminal")


def main_parser(commands: Mapping[str, str]) -> argparse.ArgumentParser:
    """The parser without a command: open the terminal UI."""
    listed = "\n".join(f"  {name:<10} {help_}" for name, help_ in commands.items())
    parser = _Parser(
        prog="tltui",
        description="The terminal workbench for torch.compile. PATH is a directory of TORCH_TRACE logs, or such logs.",
        epilog=f"commands (tltui COMMAND --help):\n{listed}\n\n{EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="default: $TORCH_TRACE")
    _common(parser)
    _looks(parser)
    parser.add_argument("--theme", metavar="NAME", help="auto, dark, light, ansi-dark, ansi-light or mono")
    parser.add_argument("--no-mouse", action="store_true", default=None, help="leave the mouse to the terminal")
    parser.add_argument("--version", action="version", version=f"tltui {__version__}")
    return parser


def command_parser(name: str, help_: str) -> argparse.ArgumentParser:
    """The parser of a command."""
    epilog = EPILOGS.get(name, f"examples:\n  tltui {name} /tmp/tracedir\n  tltui {name} /tmp/tracedir 0/1 --json\n")
    description = help_[0].upper() + help_[1:] + "."
    parser = _Parser(prog=f"tltui {name}", description=description, epilog=epilog,
                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    if name == "grep":
        parser.add_argument("pattern", metavar="PATTERN", help="a regular expression; small letters match capitals too")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a log or a directory of logs (default: $TORCH_TRACE)")
    _common(parser)
    _looks(parser)
    if name in BY_NAME:
        parser.add_argument("rest", nargs="*", metavar="REF", help="a rank, process, frame or compile (default: the run)")
        parser.add_argument("--rank", metavar="N", help="only this rank; `none` for processes without one")
        parser.add_argument("--frame", metavar="F", type=int, help="only this frame")
        parser.add_argument("--markdown", action="store_true", help="print markdown, to paste into an issue")
        if (add_arguments := hook(name, "add_arguments")) is not None:
            add_arguments(parser)
    if name != "extract":
        parser.add_argument("--json", action="store_true", help="print JSON (documented in docs/json.md)")
    if name == "diff":
        parser.add_argument("rest", nargs="*", metavar="REF", help="two addresses; with --with one or none")
        parser.add_argument("--with", dest="other", metavar="OTHER", help="compare with another run")
        parser.add_argument("--raw", action="store_true", help="two artifacts as a patch, nothing left out")
    if name == "grep":
        parser.add_argument("-C", "--context", metavar="N", type=int, default=0, help="show N lines around each hit")
        parser.add_argument("--artifact", metavar="GLOB", default="*", help="only artifacts of this name")
        parser.add_argument("--status", choices=["ok", "break", "error", "empty", "missing"], help="only such compiles")
        parser.add_argument("--rank", metavar="N", type=int, help="only this rank")
        parser.add_argument("--frame", metavar="F", type=int, help="only this frame")
    if name == "ls":
        parser.add_argument("--check", action="store_true", help="read every payload: size, lines, md5")
    elif name == "show":
        parser.add_argument("rest", nargs="*", metavar="REF", help="an address, e.g. 0/1 or 0/1:inductor_output_code")
        parser.add_argument("--unit", metavar="U", help="which unit is meant: forward, backward, inference …")
        parser.add_argument("--raw", action="store_true", help="the bytes as torch wrote them")
    elif name == "source":
        help_ = "the line (the end of a path is enough: train.py:42), and the part of the run (default: all)"
        parser.add_argument("rest", nargs="*", metavar="FILE:LINE [REF]", help=help_)
        parser.add_argument("--markdown", action="store_true", help="print markdown, to paste into an issue")
    elif name == "records":
        parser.add_argument("rest", nargs="*", metavar="REF", help="a compile, frame, process or rank")
    elif name == "check":
        parser.add_argument("--fail-on", metavar="BARS", action="append", help="bars with the most that is allowed, by commas "
                            "(default: error)")  # fmt: skip
        parser.add_argument("--baseline", metavar="OLD", help="a trace to compare with: a bar without a number allows what it has")
    elif name == "bundle":
        parser.add_argument("rest", nargs="*", metavar="REF", help="compiles, frames or ranks (default: the whole run)")
        parser.add_argument("-o", "--output", metavar="FILE", help="the log to write; of several processes a directory")
        parser.add_argument("--redact", action="store_true", help="replace paths, source lines, names and hosts, everywhere alike")
        parser.add_argument("-n", "--preview", action="store_true", help="only say what would leave, write nothing")
        parser.add_argument("--force", action="store_true", help="replace files that exist")
    elif name == "extract":
        parser.add_argument("rest", nargs="*", metavar="REF", help="what to extract (default: everything)")
        parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory to write into")
        parser.add_argument("--force", action="store_true", help="replace files that exist")
    return parser
