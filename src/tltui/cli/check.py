"""`tltui check`: gates for CI."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.failure import Failure
from tltui.cli.loading import load, load_other, read_profiles
from tltui.cli.parser import Parser, add_json, add_paths
from tltui.cli.printing import as_json, as_text, layout

EXAMPLES = """\
limits on: error eager break distinct_break recompiles frame_recompiles recompile_limit cache_miss compile_time empty unfinished
           damage unknown no_compile_id diverge
with a profile (--profile FILE, or beside the log): guard_overhead eager_share wrapper_share, in percent; fallback_calls
           never_called
A name without a number allows none; with --baseline what OLD has, and +N or +N% that much more.
error: an exception reached the caller, or the output says that a process of the job failed. break: every graph break.
eager: torch gave a function up, it runs in eager mode.
diverge: functions that differ between ranks.
guard_overhead: guards, of the time of compiled code; eager_share: eager operators, of a step; wrapper_share: between kernels, of
the time of graphs. Of several profiles the one that has most of it counts.
Exit code: 0 when no limit is exceeded, 1 when one is, 2 for anything that could not be checked.

examples:
  tltui check /tmp/tracedir --fail-on error,eager,break,recompiles=2,cache_miss,compile_time=60
  tltui check /tmp/tracedir --profile profile.json --fail-on guard_overhead=5%,eager_share=20%
  tltui check new --baseline old --fail-on error,break,recompiles=+1,compile_time=+10%
"""


def add_arguments(parser: Parser) -> None:
    """PATH, the limits, and what they are compared with."""
    add_paths(parser)
    add_json(parser)
    parser.add_argument("--fail-on", metavar="LIMITS", action="append",
                        help="what to limit, and the most that is allowed, by commas (default: error,eager)")  # fmt: skip
    help_ = "a trace to compare with (again for another log of it): a name without a number allows what it has"
    parser.add_argument("--baseline", metavar="OLD", action="append", help=help_)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Which limits hold; exit code 1 when one does not."""
    from tltui.analyses.problems.gates import (
        DEFAULT,
        BadLimit,
        gates,
        needing_a_profile,
        needing_a_trace,
        parse_limits,
        why_a_profile,
        why_a_trace,
    )
    from tltui.analyses.told import untold
    from tltui.documents.check import check_document

    try:
        limits = parse_limits(",".join(options.fail_on or [DEFAULT]), options.baseline is not None)
    except BadLimit as bad:
        raise Failure(str(bad)) from None
    options.reads_profiles = bool(measured := needing_a_profile(limits))
    wanted = load(options)
    if untraced := needing_a_trace(wanted, limits):
        if options.fail_on:
            raise Failure(why_a_trace(wanted, untraced))
        limits = tuple(limit for limit in limits if limit.name not in untraced)
    baseline = load_other(options.baseline, options.latest) if options.baseline is not None else None
    if baseline is not None and measured:
        read_profiles(baseline)
    for own in (wanted, *([baseline] if baseline is not None else ())):
        if why := why_a_profile(own, measured):
            raise Failure(why if own is wanted else f"{own.title}: {why}")
    found = gates(wanted, limits, baseline)
    options.exit_code = 0 if found.passed else 1
    if options.json:
        yield from as_json(found)
    else:
        lacks = untold(list(wanted.processes()), "problems")
        yield from as_text(check_document(found, wanted.title, layout(options), len(wanted.failures), lacks), options)
