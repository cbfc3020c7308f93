"""`tltui check`: limits for CI."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error
from tltui.cli.loading import limits_of, load, load_other, read_profiles
from tltui.cli.options import add_json, add_output, add_paths, add_text, baseline, fail_on
from tltui.cli.parser import Command, argument
from tltui.cli.printing import as_json, as_text, layout, message
from tltui.documents.envelope import envelope
from tltui.questions.question import question_of

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.questions.check.limits import Limit
    from tltui.running.baselines import KeptBaseline

FORMATS = ("text", "json", "junit", "github", "markdown")
AUTO = "auto"
"""The value of --baseline that chooses a kept baseline, `auto:NAME` one of a name."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variables with the file that GitHub shows on a job's page, and the directory of the checkout."""
WORKSPACE = "GITHUB_WORKSPACE"
EXAMPLES = """\
limits on: error eager break distinct_break recompiles frame_recompiles recompile_limit cache_miss compile_time kernels no_graph
           empty unfinished damage unknown no_compile_id diverge
with a profile (--profile FILE, or next to the log): guard_overhead eager_share wrapper_share, in percent; fallback_calls
           never_called
A limit without a number allows none. With --baseline it allows as many as OLD has; +N or +N% allows that many more.
error: an exception reached the caller, or the output shows that a process of the job failed. break: every graph break.
eager: a function fell back to eager mode. no_graph: a rank on which no compile passed a graph with operations to a backend. It
is not a default limit, because all functions of a rank may be without operations.
diverge: functions that differ between ranks.
guard_overhead: percentage of the time of compiled code spent in guards. eager_share: percentage of a step spent in eager operators.
wrapper_share: percentage of the time in graphs spent between kernels. With several profiles, the highest value counts.
Exit code: 0 if no limit is exceeded, 1 if one is, 2 if something could not be checked; the same in all formats.
--format junit: XML with one test case per limit, for Jenkins, GitLab and others. --format github: annotations at your lines in a
job of GitHub Actions, and a job summary if $GITHUB_STEP_SUMMARY is set. --format markdown: a comment of at most 60 lines.
--baseline auto: the newest comparable run that `tltui run --keep-baseline NAME` saved (same command, torch, devices, ranks and
settings). Without --fail-on, error, eager, break, recompiles, recompile_limit, kernels and no_graph are then checked. With three or
more saved runs compile_time is also checked, against the range of their times. CI files to copy: docs/ci.md.

examples:
  tltui check /tmp/tracedir --fail-on error,eager,break,recompiles=2,cache_miss,compile_time=60
  tltui check /tmp/tracedir --profile profile.json --fail-on guard_overhead=5%,eager_share=20%
  tltui check new --baseline old --fail-on error,break,recompiles=+1,compile_time=+10%
  tltui check /tmp/tracedir --baseline auto:train --format markdown
  tltui check /tmp/tracedir --fail-on error,break --format junit -o results.xml
  tltui check /tmp/tracedir --fail-on error,break --format github
"""


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the outcome of the limits; exit code 1 if one is exceeded."""
    from tltui.export import lines_of
    from tltui.model.input_coverage import untold
    from tltui.questions.check.limits import DEFAULT, gates, needing_a_profile, needing_a_trace, why_a_profile, why_a_trace
    from tltui.writers.check_reports import check_document, comment, github, junit, summary, unsure

    began, format_ = time.monotonic(), _format(options)
    limits = limits_of(options.fail_on or [DEFAULT], options.baseline is not None)
    options.reads_profiles = bool(measured := needing_a_profile(limits))
    current = load(options)
    series = _kept_baseline(current, options, limits) if _is_kept(options) else None
    if series is not None and not options.fail_on:
        limits = limits_of([series.fail_on], True)
    if untraced := needing_a_trace(current, limits):
        if options.fail_on:
            raise Failure(why_a_trace(current, untraced))
        limits = tuple(limit for limit in limits if limit.name not in untraced)
    other = load_other(options.baseline, options.latest) if options.baseline is not None and series is None else None
    if other is not None and measured:
        read_profiles(other)
    for part in (current, *([other] if other is not None else ())):
        if why := why_a_profile(part, measured):
            raise Failure(why if part is current else f"{part.title}: {why}")
    result = gates(current, limits, series if series is not None else other)
    options.exit_code = result.exit_code
    if format_ == "json":
        yield from as_json(envelope("check", current.title, "", result))
        return
    lacks = untold(list(current.processes()), question_of("problems").needs)
    document = check_document(result, current.title, layout(options), len(current.failures), lacks)
    if format_ == "text":
        yield from as_text(document, options)
        return
    page = "\n".join(lines_of(document))
    if format_ == "junit":
        yield junit(result, current.title, page, time.monotonic() - began, time.time())
        return
    warnings = unsure(result, len(current.failures), lacks)
    if format_ == "markdown":
        yield from (message(line) for line in comment(result, current.title, warnings, str(series or "")))
        return
    if why := _write_summary(summary(result, current.title, warnings)):
        warnings = (*warnings, why)
    for line in github(result, page, warnings, os.environ.get(WORKSPACE, "")):
        yield (line + "\n").encode("utf-8", "backslashreplace")


def _is_kept(options: argparse.Namespace) -> bool:
    """Return whether the baseline is a kept one."""
    return options.baseline is not None and any(value.partition(":")[0] == AUTO for value in options.baseline)


def _kept_baseline(current: Run, options: argparse.Namespace, limits: Sequence[Limit]) -> KeptBaseline:
    """Choose the kept baseline of `--baseline auto[:NAME]`. Raises `Failure`."""
    from tltui.config import baselines_path
    from tltui.questions.check.limits import MEASURES
    from tltui.running.baselines import RUNS_OF_INTERVAL, BaselineError, choose
    from tltui.running.job_trace import Untrusted, read_job

    if len(options.baseline) > 1:
        raise Failure(f"--baseline {AUTO} conflicts with another --baseline: '{options.baseline[-1]}'", "leave one of them out")
    command: tuple[str, ...] = ()
    with suppress(Untrusted):
        command = read_job(options.paths[0]).command if len(options.paths) == 1 else ()
    try:
        series, problems = choose(current, options.baseline[0].partition(":")[2], command, baselines_path())
    except BaselineError as error:
        reason, _, remedy = str(error).partition("\n  ")
        raise Failure(reason, remedy) from None
    for problem in problems:
        print_error(f"tltui: {problem}")
    for limit in limits if options.fail_on else ():
        measure, is_open = MEASURES[limit.name], limit.at_most is None
        if measure.share and is_open:
            raise Failure(f"a stored baseline has no profile to compare with: '{limit.name}'", f"give a number: {limit.name}=5%")
        if measure.seconds and is_open and not limit.more and len(series.runs) < RUNS_OF_INTERVAL:
            needs = f"{limit.name} needs {RUNS_OF_INTERVAL} kept runs, but there are {len(series.runs)}"
            raise Failure(needs, f"allow a margin over the newest run: {limit.name}=+20%")
    print_error(f"tltui: baseline: {series}")
    return series


def _format(options: argparse.Namespace) -> str:
    """Return the output format. Raises `Failure` for conflicting options."""
    style = options.format or ("json" if options.json else "text")
    if options.json and style != "json":
        raise Failure(f"--json conflicts with --format: '{style}'", "leave one of them out")
    return str(style)


def _write_summary(text: str) -> str:
    """Append to the job summary if there is one; return why that failed, else ''."""
    if path := os.environ.get(SUMMARY):
        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            return f"{SUMMARY}: {error.strerror}: {path}"
    return ""


COMMANDS = {
    "check": Command(run, (
        add_paths,
        fail_on("limits separated by commas, such as error,recompiles=2 (default: error,eager)"),
        baseline("compare with a trace or a kept baseline (auto, auto:NAME): a limit without a number allows the baseline's value"),
        argument("--format", choices=FORMATS, help="the output format (default: text)"),
        add_text, add_json, add_output,
    ), EXAMPLES),
}  # fmt: skip
