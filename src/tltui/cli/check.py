"""`tltui check`: gates for CI."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.failure import Failure
from tltui.cli.loading import load, load_other
from tltui.cli.parser import Parser, add_json, add_paths
from tltui.cli.printing import as_json, as_text, layout

EXAMPLES = """\
bars: error break distinct_break recompiles frame_recompiles recompile_limit cache_miss compile_time empty unfinished damage
      diverge
A bar without a number allows none; with --baseline what OLD has, and +N or +N% that much more.
Exit code: 0 when every bar holds, 1 when one is broken, 2 for anything that could not be checked.

examples:
  tltui check /tmp/tracedir --fail-on error,break,recompiles=2,cache_miss,compile_time=60
  tltui check new --baseline old --fail-on error,break,recompiles=+1,compile_time=+10%
"""


def add_arguments(parser: Parser) -> None:
    """PATH, the bars, and what they are compared with."""
    add_paths(parser)
    add_json(parser)
    parser.add_argument("--fail-on", metavar="BARS", action="append",
                        help="bars with the most that is allowed, by commas (default: error)")  # fmt: skip
    help_ = "a trace to compare with (again for another log of it): a bar without a number allows what it has"
    parser.add_argument("--baseline", metavar="OLD", action="append", help=help_)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Which bars hold; exit code 1 when one does not."""
    from tltui.analyses.problems.gates import BadBar, gates, parse_bars
    from tltui.documents.check import check_document

    try:
        bars = parse_bars(",".join(options.fail_on or ["error"]), options.baseline is not None)
    except BadBar as bad:
        raise Failure(str(bad)) from None
    wanted = load(options)
    found = gates(wanted, bars, load_other(options.baseline, options.latest) if options.baseline is not None else None)
    options.exit_code = 0 if found.passed else 1
    if options.json:
        yield from as_json(found)
    else:
        yield from as_text(check_document(found, wanted.title, layout(options), len(wanted.failures)), options)
