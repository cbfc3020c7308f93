"""`tltui run`: start a job so that it leaves a trace, and say afterwards what the compiler did.

What tltui says goes to stderr: stdout, stdin and the terminal belong to the job.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tltui.cli.ending import Ended
from tltui.cli.failure import Failure, tell
from tltui.cli.loading import load_other, look
from tltui.cli.parser import Parser, add_command
from tltui.cli.printing import as_text, layout, write

if TYPE_CHECKING:
    from tltui.analyses.problems.gates import Limit
    from tltui.model.run import Run
    from tltui.running.child import Ending
    from tltui.running.environment import Prepared
    from tltui.trace.files import Identity

EXAMPLES = """\
The job gets the terminal as if tltui were not there: output, input, ctrl+c, ctrl+z. Put tltui run in front of the launcher, not
behind it: one directory is one run, with all its ranks. TORCH_TRACE, TORCH_DTRACE and INDUCTOR_PROVENANCE that you have set stay.
Behind -- stands the command; a script (train.py) or -m MODULE is run by the python on PATH.
Exit code: that of the job where it is not 0 (128 and its number for a signal, 127 not found), else 1 when --check fails.

examples:
  tltui run -- python train.py --lr 3e-4
  tltui run -- torchrun --nproc-per-node 8 train.py
  tltui run --fresh -o /tmp/trace -- -m package.train
  tltui run --logs recompiles,graph_breaks -- python train.py
  tltui run --check error,break,recompiles=2 -- python -m pytest tests
"""
STILL_SHOWN = 8


def add_arguments(parser: Parser) -> None:
    """How the job is started, and the command itself."""
    directory = "where the trace goes: a new or an empty directory (default: ./tltui-DATE-TIME)"
    logs = "also write TORCH_LOGS text of these names to DIR/torch_logs.txt (and, as torch does, to stderr)"
    check = "exit code 1 when the run exceeds them; the same as --fail-on of tltui check"
    parser.add_argument("-o", dest="directory", metavar="DIR", default="", help=directory)
    parser.add_argument("--fresh", action="store_true", help="compile everything anew: what comes from a cache has fewer graphs")
    parser.add_argument("--debug", action="store_true", help="also write torch's debug directory, torch_compile_debug, into DIR")
    parser.add_argument("--logs", metavar="NAMES", action="append", default=[], help=logs)
    parser.add_argument("--check", metavar="BARS", action="append", help=check)
    parser.add_argument("--baseline", metavar="OLD", action="append", help="for --check: a trace to compare with")
    add_command(parser)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Run the job. Prints nothing on stdout; leaves the exit code."""
    from tltui.running.child import NotStarted, run_child, startable
    from tltui.running.command import program_of
    from tltui.running.environment import Refused, Wanted, prepare
    from tltui.running.left import files_in

    if not options.words:
        raise Failure("no COMMAND is given: tltui run -- python train.py")
    limits, words = _limits(options), program_of(options.words)
    try:
        startable(words[0])
        prepared = prepare(Wanted(options.directory, options.fresh, options.debug, ",".join(options.logs)), os.environ)
        for line in prepared.said:
            tell(f"tltui: {line}")
        before = frozenset() if prepared.made else files_in(prepared.directory)
        ending = run_child(words, prepared.environment)
    except Refused as refused:
        raise Failure(str(refused)) from None
    except NotStarted as fault:
        tell(f"tltui: {fault}")
        options.exit_code = fault.code
    else:
        options.exit_code = _afterwards(_Job(options, words, prepared, ending, limits), before)
    yield from ()


def _limits(options: argparse.Namespace) -> tuple[Limit, ...]:
    """What --check allows. A mistake in it is said before the job starts."""
    if options.check is None:
        if options.baseline is not None:
            raise Failure("--baseline is for --check, which is not given")
        return ()
    from tltui.analyses.problems.gates import BadLimit, parse_limits

    if options.baseline is not None:
        look(options.baseline, False)
    try:
        return parse_limits(",".join(options.check), options.baseline is not None)
    except BadLimit as bad:
        raise Failure(f"--check: {bad}") from None


@dataclass(frozen=True, slots=True)
class _Job:
    """A job that has ended."""

    options: argparse.Namespace
    words: Sequence[str]
    prepared: Prepared
    ending: Ending
    limits: tuple[Limit, ...]


def _afterwards(job: _Job, before: frozenset[Identity]) -> int:
    """Say what the compiler did, and where the trace is; the exit code. Whatever fails here, the job's own code stays."""
    code = unchecked = 1 if job.limits else 0  # what could not be checked has not passed
    try:
        with redirect_stdout(sys.stderr):
            code = _report(job, before)
    except KeyboardInterrupt:
        code = 130 if unchecked else 0
    except Ended as ended:
        code = ended.code if unchecked else 0
    except OSError as error:  # of our own output, too: nobody listens
        tell(f"tltui: no summary: {error.strerror or error}")
    except Exception as error:
        from tltui.crash import last_words

        tell(last_words(error))
    tell(job.prepared.directory)
    return job.ending.code or code


def _report(job: _Job, before: frozenset[Identity]) -> int:
    """Print the summary and what --check found; 1 where that is more than allowed."""
    from tltui.model.follow import open_run
    from tltui.running.left import left_in, still_written, why_no_log

    if job.ending.status < 0:
        tell(f"tltui: {_killed(job)}")
    found, earlier = left_in(job.prepared.directory, before)
    if found is None:
        tell(f"tltui: no log was written into {job.prepared.directory}")
        for line in why_no_log(job.words, job.prepared):
            tell(_wrapped(line))
        if job.limits:
            tell("tltui: --check FAILED: there is no log to check")
        return 1 if job.limits else 0
    run = open_run(found)
    tell("")
    _print_summary(run, job.options)
    for process in still_written(found)[:STILL_SHOWN]:
        tell(f"tltui: left behind by the job, and still writing: pid {process.pid}  {process.command}")
    if earlier:
        tell(f"tltui: {earlier} log{'s' * (earlier != 1)} of earlier runs in that directory: --latest opens the newest run alone")
    return _check(run, job) if job.limits else 0


def _wrapped(line: str) -> str:
    """A long line as a paragraph; what is there to be copied stays whole."""
    return textwrap.fill(line, 100, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _killed(job: _Job) -> str:
    """By which signal the job was ended, and who may have sent it."""
    number = -job.ending.status
    try:
        name = signal.Signals(number).name
    except ValueError:  # a real-time signal
        name = f"signal {number}"
    who = ": when nobody did that by hand, memory ran out (dmesg tells)" if number == signal.SIGKILL else ""
    return f"{job.words[0]} was ended by {name}{who}"


def _print_summary(run: Run, options: argparse.Namespace) -> None:
    from tltui.documents.build import build
    from tltui.model.ref import Ref

    write(as_text(build(run, Ref(), layout(options)), options))
    if not run.tally.compiles:
        tell("tltui: nothing was compiled")


def _check(run: Run, job: _Job) -> int:
    from tltui.analyses.problems.gates import gates
    from tltui.documents.check import check_document

    other = load_other(job.options.baseline, False) if job.options.baseline is not None else None
    found = gates(run, job.limits, other)
    print()
    write(as_text(check_document(found, run.title, layout(job.options), len(run.failures)), job.options))
    return 0 if found.passed else 1
