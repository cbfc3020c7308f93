"""`tltui try`: a job run again with each remedy that needs no edit, and a table of what each of them did.

The report goes to stdout, progress to stderr. The output of each run goes to a file. `--edit` prints a unified diff with the
remedies that need an edit of the program; no file is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error
from tltui.cli.options import add_command, add_json, add_text
from tltui.cli.parser import Command, argument
from tltui.cli.printing import as_json, as_text, layout
from tltui.text.safe_files import quoted, replacing

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.questions.trials.changes import Change
    from tltui.questions.trials.outcomes import Outcome, Series, TrialReport
    from tltui.running.trial import Surroundings, TrialRun

EXAMPLES = """\
The job runs twice unchanged, then once with each change that tltui recompiles and tltui problems propose without an edit. Such
changes are variables, options of torch and arguments of torch.compile. Arguments that the program passes itself take precedence.
The last run combines the changes that helped. The table shows recompilations, graph breaks and times, and whether the job printed
the same numbers.
Every run starts with empty, separate caches. Differences between the two unchanged runs do not count.
Your job runs several times, so it may write checkpoints, logs and uploads again. --until-step ends each process early.
The job gets no input. Ctrl+c ends it with all its processes.
Exit code: the job's exit code if it fails unchanged, otherwise 0.
No PATH is read: each run records its own trace below DIR.
With --edit nothing runs: the arguments are traces, and the output is a diff with the remedies that need an edit of the program.
The diff changes only regular files of your own below the working directory or --cwd, and only lines that equal those in the trace.

examples:
  tltui try -- python train.py
  tltui try --budget 1800 --until-step 50 -- torchrun --nproc-per-node 2 train.py
  tltui try --env WANDB_MODE=disabled -- -m package.train
  tltui try ./tltui-20260102-030405      # the command that tltui run recorded there
  tltui try --edit -o fix.diff ./tltui-20260102-030405 && patch -p1 < fix.diff
"""
BUDGET_S = 3600.0
UNCHANGED = 2


def try_job(options: argparse.Namespace) -> Iterator[bytes]:
    """Run the job with each change; yield the report."""
    if options.edit:

        yield from _write_edits(options)
        return
    from tltui.running.job import NotStarted, startable
    from tltui.running.job_trace import program_of, recording_obstacle
    from tltui.running.trial import Surroundings

    words, cwd = _command(options)
    words = program_of(words)
    environment = {**os.environ, **dict(map(_variable, options.env))}
    try:
        startable(words[0])
        directory = _directory(options.directory)
        shared = Surroundings(words, environment, directory, cwd, options.until_step, options.keep_caches)
        print_error("tltui: this runs your job several times: it may write checkpoints, logs and uploads again")
        print_error(f"tltui: the runs go to {directory}")
        yield from _Trials(shared, options, recording_obstacle(words)).report()
    except NotStarted as fault:
        print_error(f"tltui: {fault}")
        options.exit_code = fault.code


def _write_edits(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the diff, or write it to the file of -o."""
    from tltui.cli.loading import discover_logs
    from tltui.model.follow import open_run
    from tltui.questions.trials.edits import proposed_edits
    from tltui.writers.edit_diff import diff_of

    missing = next((word for word in options.words if not os.path.exists(word)), None)
    if missing is not None and missing.startswith("-"):
        raise Failure(f"with --edit, options go before the trace: '{missing}'", "tltui try --edit --cwd DIR -o FILE TRACE")
    if not options.words or missing is not None:
        raise Failure("--edit needs a trace" + (f", no such file: '{missing}'" if missing is not None else ""),
                      "tltui run -- COMMAND records a trace; then: tltui try --edit DIR")  # fmt: skip
    if options.cwd and not os.path.isdir(options.cwd):
        raise Failure(f"--cwd: no such directory: '{options.cwd}'", "give the directory of the sources in the trace")
    run = open_run(discover_logs(options.words, False))
    frames, others = proposed_edits(run)
    diff = diff_of(frames, options.cwd or ".")
    for text in diff.refused:
        print_error(f"tltui: left unchanged: {text}")
    for other in others:
        print_error(f"tltui: no edit for {other.function}: {other.source}: {other.advice}")
    if not diff.text:
        print_error("tltui: no edits" if diff.refused or others else "tltui: no recompilation has a remedy that needs an edit")
    data = diff.text.encode()
    if not options.directory:
        yield data
        return
    try:
        with replacing(Path(options.directory), force=False, private=True) as file:
            file.write(data)
    except OSError as error:
        raise Failure(f"{error.strerror}: '{options.directory}'") from None
    print_error(f"wrote {options.directory}\n  patch -p1 < {options.directory}")


def _command(options: argparse.Namespace) -> tuple[Sequence[str], str]:
    """Return the command and its directory, '' for ours. A directory as the only word has a command that `tltui run` recorded."""
    if not options.words:
        raise Failure("missing COMMAND", "for example: tltui try -- python train.py")
    cwd = os.path.abspath(options.cwd) if options.cwd else ""
    if cwd and not os.path.isdir(cwd):
        raise Failure(f"--cwd: no such directory: '{options.cwd}'", f"mkdir -p {quoted(options.cwd)}, or give another")
    is_confirmed = options.yes or options.words[1:] == ["--yes"]  # all words after the first one count as the command's
    if not os.path.isdir(options.words[0]) or (len(options.words) > 1 and not is_confirmed):
        return options.words, cwd
    from tltui.running.job_trace import Untrusted, read_job

    try:
        recorded = read_job(options.words[0])
    except Untrusted as untrusted:
        raise Failure(f"the recorded command is not run: {untrusted}\n  tltui try -- COMMAND") from None
    cwd = cwd or recorded.cwd
    print_error(f"tltui: recorded command: {' '.join(map(quoted, recorded.command))}")
    print_error(f"tltui: in {cwd}")
    missing = [name for name in recorded.variables if name not in os.environ]
    if missing:
        print_error(f"tltui: its environment had variables that are not set now: {' '.join(missing)}")
    if not os.path.isdir(cwd):
        raise Failure(f"no such directory: '{cwd}'\n  give another with --cwd")
    if not is_confirmed:
        _ask()
    return recorded.command, cwd


def _ask() -> None:
    """Ask whether the recorded command may run. Raises `Failure`."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure("a recorded command needs your confirmation, and there is no terminal\n  --yes runs it without confirmation")
    print_error("tltui: run it? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("not run")


def _variable(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise Failure(f"--env: not NAME=VALUE: '{text}'", f"use --env {quoted(text.strip('=') or 'NAME')}=VALUE")
    return name, value


def _directory(name: str) -> str:
    """Create the directory of all runs. Raises `Refused`."""
    from tltui.running.job_trace import named_directory, new_directory

    return named_directory(name)[0] if name else new_directory(time.localtime(), "tltui-try")


class _Trials:
    """The runs of a job, one after the other."""

    def __init__(self, shared: Surroundings, options: argparse.Namespace, obstacle: str) -> None:
        from tltui.questions.trials.changes import Predictor

        self._shared = shared
        self._options = options
        self._obstacle = obstacle
        self._end = time.monotonic() + options.budget
        self._longest_s = 0.0
        self._number = 0
        self._printed: list[Series] = []
        self._done: list[Outcome] = []
        self._skipped: list[str] = []
        self._predictor = Predictor(())

    def report(self) -> Iterator[bytes]:
        """Run everything; yield the report."""
        from tltui.questions.trials.changes import Change
        from tltui.questions.trials.outcomes import helps
        from tltui.questions.trials.page import trial_document
        from tltui.running.trial import run_of

        unchanged: list[TrialRun] = []
        for _ in range(UNCHANGED):
            unchanged.append(self._run(Change(""), "unchanged"))
            if self._done[-1].failed:
                break
            if run_of(unchanged[0]) is None:
                raise Failure(f"the job wrote no log: nothing was compiled, so there is nothing to try: {unchanged[0].output}")
        failed = self._done[-1].failed
        changes = () if failed else self._changes(run_of(unchanged[0]))
        first, helping = len(self._done), []
        for letter, change in zip(_letters(), changes, strict=False):
            if not self._has_time():
                self._skipped.append(change.title)
                continue
            self._run(change, letter)
            if helps(self._report(first), self._done[-1]):
                helping.append(change)
        if len(helping) > 1:
            together = sum(helping[1:], helping[0])
            if self._has_time():
                self._run(self._predictor.predicted(together), "all")
            else:
                self._skipped.append(together.title)
        report: TrialReport = self._report(first)
        self._save(report)
        if failed:
            last = self._done[-1]
            self._options.exit_code = last.exit_code or 1
            why = "did not end within --budget" if last.timed_out else f"fails even without a change (exit code {last.exit_code})"
            print_error(f"tltui: the job {why}: {unchanged[-1].output}")
        if self._options.json:
            yield from as_json(asdict(report))
        elif not failed:
            yield from as_text(trial_document(report, layout(self._options)), self._options)

    def _changes(self, run: Run | None) -> Sequence[Change]:
        """Return the changes that can be made to this job."""
        from tltui.running.trial import changes_of

        if run is None:
            return ()
        proposed, self._predictor = changes_of(run)
        if not self._obstacle:
            return proposed
        print_error(f"tltui: only environment variables are tried: {self._obstacle}")
        return [change for change in proposed if not (change.arguments or change.config)]

    def _has_time(self) -> bool:
        return bool(time.monotonic() + self._longest_s <= self._end)

    def _run(self, change: Change, label: str) -> TrialRun:
        """Run the job once and note what it did."""
        from tltui.questions.trials.outcomes import Outcome, compare, counts_of, series_of
        from tltui.running.trial import run_of, run_trial

        self._number += 1
        title = f": {change.title}" if change.title else ""
        print_error(f"tltui: run {self._number}, {label}{title}")
        ended = run_trial(self._shared, self._number, change, max(self._end - time.monotonic(), 1.0))
        self._longest_s = max(self._longest_s, ended.seconds)
        with open(ended.output, encoding="utf-8", errors="replace") as file:
            printed = series_of(file)
        is_changed = len(self._printed) >= UNCHANGED
        numbers = compare(self._printed[0], self._printed[1], printed) if is_changed else None
        self._printed.append(printed)
        self._done.append(Outcome(
            label, change.title, change.reason, ended.code, ended.timed_out, counts_of(run_of(ended)), ended.seconds, ended.step_s,
            numbers, ended.unsupported, change.predicted or (), ended.directory, change.expected, change.condition,
        ))  # fmt: skip
        return ended

    def _report(self, first: int) -> TrialReport:
        from tltui.questions.trials.outcomes import TrialReport

        shared = self._shared
        return TrialReport(
            1, tuple(shared.words), shared.keeps_caches, tuple(self._done[:first]), tuple(self._done[first:]), tuple(self._skipped)
        )

    def _save(self, report: TrialReport) -> None:
        """Store the report beside the runs."""
        path = Path(self._shared.directory) / "try.json"
        path.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="ascii")


def _letters() -> Iterator[str]:
    """Yield A … Z, A2 … Z2, …"""
    number = 1
    while True:
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            yield letter if number == 1 else f"{letter}{number}"
        number += 1


def _seconds(text: str) -> float:
    """Parse a positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise Failure(f"invalid number of seconds: {text!r}", "use a number, such as 600")
    return value


def _step(text: str) -> int:
    """Parse the number of a step."""
    if not text.isdecimal() or not 0 < int(text) < 1 << 31:
        raise Failure(f"invalid step: {text!r}", "use 1 or a larger number")
    return int(text)


COMMANDS = {
    "try": Command(try_job, (
        argument("-o", "--output", dest="directory", metavar="DIR", default="",
                 help="the directory of all runs, new or empty (default: ./tltui-try-DATE-TIME); with --edit the file of the diff"),
        argument("--edit", action="store_true", help="print a diff with the remedies that need an edit; run nothing"),
        argument("--budget", type=_seconds, metavar="SECONDS", default=BUDGET_S,
                 help=f"stop after this time and list the changes that were not tried (default: {BUDGET_S:g})"),
        argument("--until-step", type=_step, metavar="N", default=0, help="end each process after its step N"),
        argument("--env", action="append", metavar="NAME=VALUE", default=[],
                 help="an environment variable of the job; may be repeated"),
        argument("--cwd", metavar="DIR", default="", help="the directory of the job; with --edit, of the source files"),
        argument("--keep-caches", action="store_true", help="use your caches of torch and Triton instead of empty ones"),
        argument("--yes", action="store_true", help="run a recorded command without asking first"),
        partial(add_text, folds=False),
        add_json,
        add_command,
    ), EXAMPLES),
}  # fmt: skip
