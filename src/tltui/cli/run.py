"""`tltui run`: a job with a trace, and a summary of its compiles.

Our messages go to stderr: stdout, stdin and the terminal belong to the job.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING

from tltui.cli.exits import Ended, Failure, code_of, print_error
from tltui.cli.loading import discover_logs, limits_of, load_other, no_terminal
from tltui.cli.options import add_command, add_text, baseline, fail_on
from tltui.cli.parser import Command, RenamedOption, argument
from tltui.cli.printing import as_text, layout, write
from tltui.text.frozen import frozen

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.questions.check.limits import Gates, Limit
    from tltui.running.job import Ending, Job, OutputFile
    from tltui.running.job_trace import Prepared, Steps
    from tltui.trace.files import Identity

EXAMPLES = """\
The job keeps its terminal: output, input, ctrl+c, ctrl+z. With --view tltui has the terminal: the output of the job is a page, the
job gets no input, and it continues if the connection is lost. Quitting asks whether to end the job.
Write tltui run before the launcher (torchrun, srun …), so that all ranks are one run in one directory. TORCH_TRACE, TORCH_DTRACE
and INDUCTOR_PROVENANCE keep the values that you set. After -- comes the command; a script (train.py) or -m MODULE is run by the
python on PATH.
--record-steps records steps with torch.profiler, without a change to the program. It uses a start-up hook: a sitecustomize.py first
on PYTHONPATH, which also imports your own. A step ends with Optimizer.step; without an optimizer it begins with the next call of a
compiled function. Each process counts its steps from 1. A process that reaches FIRST writes DIR/profile_[rank_R_]PID.json for
tltui runtime DIR. If the hook cannot work (python -I, -E, -S, containers), tltui prints the lines to paste into the program.
Exit code: that of the job if it is not 0 (128 + N for signal N, 127 for an unknown command); otherwise 1 if a limit is exceeded.

examples:
  tltui run -- python train.py --lr 3e-4
  tltui run -- torchrun --nproc-per-node 8 train.py
  tltui run --fresh -o /tmp/trace -- -m package.train
  tltui run --logs recompiles,graph_breaks -- python train.py
  tltui run --view -- python train.py
  tltui run --record-steps 5:10 -- python train.py
  tltui run --fail-on error,break,recompiles=2 -- python -m pytest tests
  tltui run --keep-baseline train -- python train.py
"""
SHARE, LEAST, WIDEST = 0.36, 36, 64
"""Width of the tree on a wide screen (styles.tcss): its part, the fewest and the most cells, unless the user moved its border."""
NARROW = 100
MARGIN = 10
"""Columns beside the text of the document: the gutter, the scroll bar."""
STILL_SHOWN = 8
PROFILES_SHOWN = 4
KILLED = ": by the kernel if memory ran out (see dmesg), or by a scheduler at its time limit"


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Run the job. Prints nothing on stdout; stores the exit code."""
    from tltui.running.job import NotStarted, output_file, run_child, startable
    from tltui.running.job_trace import TraceOptions, files_in, parse_steps, prepare, program_of

    if not options.words:
        raise Failure("missing COMMAND", "for example: tltui run -- python train.py")
    if options.keep_baseline is not None and not options.keep_baseline.strip():
        raise Failure("empty name: --keep-baseline", "for example: tltui run --keep-baseline train -- python train.py")
    limits, words = _limits(options), program_of(options.words)
    try:
        steps = parse_steps(options.record_steps) if options.record_steps is not None else None
        if options.view:
            _check_terminal()
        startable(words[0])
        prepared = prepare(TraceOptions(options.directory, options.fresh, options.debug, ",".join(options.logs)), os.environ)
        for line in (*prepared.messages, *_record(steps, words, prepared)):
            print_error(f"tltui: {line}")
        before = frozenset() if prepared.is_new else files_in(prepared.directory)
        if prepared.is_new:
            _write_job(prepared, words)
        output, began = None if options.view else output_file(), time.time()
        ending = _view(words, prepared, options) if options.view else run_child(words, prepared.environment)
    except NotStarted as fault:
        print_error(f"tltui: {fault}")
        options.exit_code = fault.code
    else:
        if ending is not None:
            if output is not None and ending.status:
                _save_output_tail(output, prepared.directory, words, began, ending)
            options.paths = [prepared.directory]
            options.exit_code = _report_end(_Job(options, words, prepared, ending, limits), before)
    yield from ()


def _check_terminal() -> None:
    """Check that the UI can be drawn, before anything is made for the job."""
    why = no_terminal()
    if why:
        raise Failure(f"--view needs a terminal: {why}", "run without --view, and open DIR in another terminal: tltui DIR")


def _view(words: Sequence[str], prepared: Prepared, options: argparse.Namespace) -> Ending | None:
    """Start the job in a terminal of its own and show it; return its exit status.

    None, with a message, if it goes on or its end is unknown. Raises `NotStarted`.
    """
    from tltui.questions.records.output_page import how_it_ended
    from tltui.running.job import Ending, start
    from tltui.sources.discover import awaited

    job = start(words, prepared.environment, prepared.directory, _document_size())
    from tltui.app import start as start_ui

    try:
        ui_options = argparse.Namespace(theme=None, ascii=options.ascii, no_mouse=None)
        options.exit_code = start_ui(awaited([prepared.directory]), ui_options, job)
    except BaseException:  # whatever it is: the job runs, and somebody must be able to find it
        _print_farewell(job, prepared.directory)
        raise
    state = job.state
    if state is not None and state.ended is not None:
        held = "; processes that it started are still running" * state.held
        print_error(f"tltui: the job ended with {how_it_ended(state)}{held}")
        return Ending(state.code or 0)
    _print_farewell(job, prepared.directory)
    return None


def _document_size() -> tuple[int, int]:
    """Return the approximate size of the document pane. The UI sends the exact one after its first frame."""
    from tltui.config import TREE_PANE, read_share

    columns, rows = os.get_terminal_size(2)
    tree = min(max(int(columns * SHARE), LEAST), WIDEST) if columns >= NARROW else 0
    if tree:
        share = read_share(TREE_PANE)
        tree = (round(share * columns) if share else tree) + 1  # the line beside it
    return max(columns - tree - MARGIN, 20), max(rows - 3, 5)


def _print_farewell(job: Job, directory: str) -> None:
    """Report that the job goes on; the last line has the path of its trace."""
    from tltui.text.safe_files import quoted

    if job.is_lost:
        print_error(
            f"tltui: exit code of the job unknown: the process that saved its output was killed (the job was pid {job.pid})"
        )
    else:
        print_error(f"tltui: the job is still running, pid {job.pid}; its output: {job.output}")
        print_error(f"tltui: open it again: tltui {quoted(directory)}; interrupt it: kill -INT -- -{job.pid}")
    print_error(f"tltui: trace directory: {directory}")


def _save_output_tail(output: OutputFile, directory: str, words: Sequence[str], began: float, ending: Ending) -> None:
    """Store the end of the output of a failed job, if there is space."""
    from tltui.running.job import save_output_tail

    with suppress(OSError):
        save_output_tail(output, directory, words, began, ending.status)


def _write_job(prepared: Prepared, words: Sequence[str]) -> None:
    """Record the command for `tltui try DIR`, if there is space."""
    from tltui.running.job_trace import write_job

    with suppress(OSError):
        write_job(prepared.directory, words, prepared.environment)


def _record(steps: Steps | None, words: Sequence[str], prepared: Prepared) -> tuple[str, ...]:
    """Set up the recording of steps, if requested and possible; return messages."""
    if steps is None:
        return ()
    from tltui.running.job_trace import enable_recording, recording_obstacle

    if why := recording_obstacle(words):
        return (f"no steps are recorded: {why}. The lines to paste into the program are printed at the end",)
    return enable_recording(steps, prepared.environment, prepared.directory)


def _limits(options: argparse.Namespace) -> tuple[Limit, ...]:
    """Return the limits of --fail-on, validated before the job starts."""
    if options.fail_on is None:
        if options.baseline is not None:
            raise Failure("--baseline needs limits", "add --fail-on LIMITS, for example --fail-on error,break")
        return ()
    if options.baseline is not None:
        discover_logs(options.baseline, False)
    return limits_of(options.fail_on, options.baseline is not None)


@frozen
class _Job:
    """An ended job."""

    options: argparse.Namespace
    words: Sequence[str]
    prepared: Prepared
    ending: Ending
    limits: tuple[Limit, ...]


def _report_end(job: _Job, before: frozenset[Identity]) -> int:
    """Report the compiles and the trace; return the exit code, that of the job whatever fails here."""
    unchecked, code = bool(job.limits), 1 if job.limits else 0  # what could not be checked has not passed
    try:
        traces = _read_traces(job, before)
        unchecked, code = False, traces.code
        with redirect_stdout(sys.stderr or open(os.devnull, "w")):
            _print_outcome(job, traces)
    except (KeyboardInterrupt, Ended) as ended:
        signalled = code_of(ended)
        if unchecked:
            code = signalled
    except OSError as error:  # of our own output, too: nobody listens
        print_error(f"tltui: no summary: {error.strerror or error}")
    except Exception as error:
        from tltui.crash import last_words

        print_error(last_words(error))
    print_error(f"tltui: trace directory: {job.prepared.directory}")
    _discard_failing_stderr()
    return job.ending.code or code


def _discard_failing_stderr() -> None:
    """Redirect a failing stderr to /dev/null: otherwise Python fails at its exit, with its own code."""
    if sys.stderr is not None:
        try:
            sys.stderr.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


@frozen
class _Traces:
    """Traces of an ended job."""

    run: Run | None
    """None without a log."""
    earlier: int
    """Logs of earlier runs in the directory."""
    gates: Gates | None
    """None where nothing is limited, or there is nothing to check."""
    code: int


def _read_traces(job: _Job, before: frozenset[Identity]) -> _Traces:
    """Read the logs of this run, and check the limits."""
    from tltui.model.follow import open_run
    from tltui.running.job_trace import logs_in

    discovered, earlier = logs_in(job.prepared.directory, before)
    if discovered is None:
        return _Traces(None, earlier, None, 1 if job.limits else 0)
    run = open_run(discovered)
    if not job.limits:
        return _Traces(run, earlier, None, 0)
    from tltui.questions.check.limits import gates

    other = load_other(job.options.baseline, False) if job.options.baseline is not None else None
    checked = gates(run, job.limits, other)
    return _Traces(run, earlier, checked, checked.exit_code)


def _print_outcome(job: _Job, traces: _Traces) -> None:
    """Print the exit status, the summary, and the outcome of the limits."""
    from tltui.running.job_trace import is_full, still_written, why_no_log

    if job.ending.status < 0:
        print_error(f"tltui: {_signal_text(job)}")
    elif job.ending.status and not job.options.view:  # with --view that is printed when the screen closes
        before = " before anything was compiled" if traces.run is None else ""
        print_error(f"tltui: the job failed (exit code {job.ending.status}){before}")
        if traces.run is None:
            print_error("  Its own error is printed above.")
    if is_full(job.prepared.directory):
        print_error(
            f"tltui: no space left for {job.prepared.directory}: logs may be truncated, and compiles appear unfinished"
        )
    if traces.run is None:
        print_error(f"tltui: no log was written into {job.prepared.directory}")
        if job.ending.status <= 0:
            for line in why_no_log(job.words, job.prepared):
                print_error(_wrapped(line))
        if job.limits:
            print_error("tltui: check FAILED: no log to check")
        _print_recorded(job, None)
        return
    print_error("")
    _print_summary(traces.run, job.options)
    for process in still_written(traces.run.discovered)[:STILL_SHOWN]:
        print_error(f"tltui: started by the job and still writing: pid {process.pid}  {process.command}")
    if traces.earlier:
        logs = f"{traces.earlier} log{'s' * (traces.earlier != 1)} of earlier runs"
        print_error(f"tltui: that directory also has {logs}; --latest opens only the newest run")
    _print_recorded(job, traces.run)
    if traces.gates is not None:
        _print_checked(traces.run, traces.gates, job.options)
    if job.options.keep_baseline is not None:
        _keep_baseline(job, traces)


def _keep_baseline(job: _Job, traces: _Traces) -> None:
    """Keep the counts of a passing run as a baseline, or print why not; the exit code stays."""
    from tltui.config import baselines_path
    from tltui.running.baselines import BaselineError, keep

    name = job.options.keep_baseline
    if job.ending.status or traces.code or traces.run is None or not traces.run.tally.compiles:
        print_error(f"tltui: not kept as baseline {name!r}: only a passing run with compiles is kept")
        return
    try:
        path, runs = keep(traces.run, name, job.words, baselines_path(), time.time())
    except BaselineError as error:
        print_error(f"tltui: {error}")
        return
    print_error(f"tltui: kept as baseline {name!r}, run {runs} of its branch: {path}")


def _print_recorded(job: _Job, run: Run | None) -> None:
    """Print where the recorded steps are, or how else to record them."""
    if job.options.record_steps is None:
        return
    from tltui.questions.runtime.page import recording_document
    from tltui.text.safe_files import quoted

    profiles = run.discovered.profiles if run is not None else ()
    if not profiles:
        print_error("tltui: no profile was written. To record one:")
        write(as_text(recording_document(run, layout(job.options)), job.options))
        return
    for profile in profiles[:PROFILES_SHOWN]:
        print_error(f"tltui: recorded: {profile.path}")
    if len(profiles) > PROFILES_SHOWN:
        print_error(f"tltui: … and {len(profiles) - PROFILES_SHOWN} more profiles in the same directory")
    print_error(f"tltui: see where the time goes: tltui runtime {quoted(job.prepared.directory)}")


def _wrapped(line: str) -> str:
    """Wrap a long line into a paragraph without breaking words, which can be copied."""
    return textwrap.fill(line, 100, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _signal_text(job: _Job) -> str:
    """Return which signal ended the job, and its probable sender."""
    number = -job.ending.status
    try:
        name = signal.Signals(number).name
    except ValueError:  # a real-time signal
        name = f"signal {number}"
    return f"{job.words[0]} was killed by {name}" + (KILLED if number == signal.SIGKILL else "")


def _print_summary(run: Run, options: argparse.Namespace) -> None:
    from tltui.model.ref import Ref
    from tltui.questions.build import build

    write(as_text(build(run, Ref(), layout(options)), options))
    if not run.tally.compiles:
        print_error("tltui: nothing was compiled")


def _print_checked(run: Run, checked: Gates, options: argparse.Namespace) -> None:
    from tltui.writers.check_reports import check_document

    print_error("")
    write(as_text(check_document(checked, run.title, layout(options), len(run.failures)), options))


COMMANDS = {
    "run": Command(run, (
        argument("-o", "--output", dest="directory", metavar="DIR", default="",
                 help="the directory of the trace, new or empty (default: ./tltui-DATE-TIME)"),
        argument("--fresh", action="store_true",
                 help="bypass all caches and compile everything again (cache hits are logged with fewer graphs)"),
        argument("--debug", action="store_true", help="also write torch's debug directory, torch_compile_debug, into DIR"),
        argument("--logs", metavar="NAMES", action="append", default=[],
                 help="also write TORCH_LOGS text of these names to DIR/torch_logs.txt (and, as torch does, to stderr)"),
        argument("--record-steps", metavar="FIRST:LAST",
                 help="record these steps with torch.profiler (C++ kernels need a setting that changes the keys of "
                      "Inductor's caches)"),
        fail_on("exit code 1 if the run exceeds these limits, as in tltui check"),
        argument("--check", dest="fail_on", metavar="LIMITS", action=RenamedOption, new="--fail-on"),
        baseline("compare with the trace OLD: a limit without a number is the count of OLD"),
        argument("--keep-baseline", metavar="NAME",
                 help="if the run passes, keep its counts for tltui check --baseline auto (20 runs per name and branch)"),
        argument("--view", action="store_true",
                 help="open the terminal UI at once: the output of the job is a page, saved in DIR/output.txt, and the job "
                      "may continue after you quit"),
        add_text, add_command,
    ), EXAMPLES),
}  # fmt: skip
