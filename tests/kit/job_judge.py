"""Judges what tltui reports about a job by the truth about it (`job_truths.py`).

A statement is a command, patterns that its first lines must have, and patterns that they must never have. Line breaks and
indentation do not count: the text is joined by single spaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from job_truths import ACCIDENTS, TRUTHS, Failure, Truth, Wait
from printing_all import output_of

ALONE, OUTPUT, LIVE = "trace", "output", "live"
"""What is opened: the logs of a job that has ended; these and what it printed; the logs of a job that hangs, while it is alive."""
FIRST_SCREEN = 30
"""Lines of `summary` that a terminal shows at first."""
PAGES = ("summary", "where", "problems", "ranks", "matrix", "stragglers")
"""Pages that may not have anything false."""
NEVER = (r"clock is (?!.{0,60}, or (it|they) started)",)
"""False about each job: its processes are on one machine and have one clock. Some of them started later."""


@dataclass(frozen=True)
class Statement:
    """Patterns that the first lines of a command must have, and must not have."""

    command: str
    must: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    lines: int | None = None

    def faults(self, text: str) -> list[str]:
        """List what is missing from this output, and what is false in it."""
        joined = " ".join(" ".join(text.splitlines()[: self.lines]).split())
        missing = [f"{self.command}: missing: {pattern}" for pattern in self.must if not re.search(pattern, joined)]
        false = [(pattern, re.search(pattern, joined)) for pattern in self.never]
        return missing + [
            f"{self.command}: false: {pattern}: … {joined[max(match.start() - 100, 0) : match.end() + 100]} …"
            for pattern, match in false if match
        ]  # fmt: skip


def statements(name: str, form: str, has_stacks: bool = False) -> Iterator[Statement]:
    """Yield what must be reported about a job, and what must not. `has_stacks`: py-spy is installed, and the job runs here."""
    truth = (TRUTHS | ACCIDENTS)[name]
    for page in PAGES:
        yield Statement(page, never=(*truth.never, *NEVER))
    if truth.wait and name.startswith("flight_recorder"):
        places = {"allreduce": "all_reduce", "barrier": "barrier"}
        yield Statement("where", (rf"Rank {truth.wait.missing} ha[sd] not entered {places[truth.wait.place]}",), lines=6)
    if form == LIVE and truth.wait:
        yield from _of_wait(name, truth.wait)
        if has_stacks and truth.wait.phase == "outside":
            late = rf"^.{{0,200}}[Rr]ank {truth.wait.missing} has not reached .{{0,200}}[Rr]anks 0, 2 wait"
            yield Statement("where --stacks", (late,))
        if name == "compiler_hangs":
            yield Statement("where --pids", (r"Rank 1 on this machine .{0,400}(g\+\+|cc1plus)",))
    if form == OUTPUT:
        yield Statement("summary", never=(r"skipped \S*out\.txt",))
        yield from _of_output(truth)
    elif form == ALONE:
        yield from _of_trace_alone(name, truth)
    if form != LIVE:
        yield from _of_end(name, truth, form)


def _of_wait(name: str, wait: Wait) -> Iterator[Statement]:
    """Yield statements about a live job: the rank that has not arrived, and what the others wait for."""
    waiting = "ranks " + ", ".join(map(str, wait.waiting))
    if wait.function:
        names = (rf"[Rr]ank {wait.missing} is .{{0,60}}\b{wait.function}\b.{{0,200}}since \d\d:\d\d:\d\d",)
        yield Statement("where", names, lines=8)
        yield Statement("summary", names, lines=FIRST_SCREEN)
    if wait.place == "compiler_collective":
        late = rf"[Rr]ank {wait.missing} has not .{{0,160}}{waiting} wait"
        yield Statement("where", (late,), (rf"^{waiting.capitalize()} (are|is) in",), 8)
        yield Statement("summary", (rf"[Rr]ank {wait.missing} (has|had) not (come|entered|arrived)",), lines=FIRST_SCREEN)


def _of_output(truth: Truth) -> Iterator[Statement]:
    """Yield statements about the output of a job: which rank failed first, how, and in which compile."""
    if len(truth.failures) > 1 and len({each.error for each in truth.failures}) == 1:
        error = re.escape(truth.failures[0].error)
        ranks = rf"([Rr]anks 0[,–] ?(1, )?2|[Aa]ll {truth.ranks} ranks)"
        yield Statement("summary", (rf"{ranks}.{{0,120}}{error}|{error}.{{0,120}}{ranks}",), lines=FIRST_SCREEN)
        yield Statement("problems", (error,), (rf"{error}.*{error}.*{error}.*{error}",))
        return
    for number, failure in enumerate(truth.failures):
        texts = tuple(_of_failure(failure))
        yield Statement("problems", texts)
        if number == 0 or truth.launches > 1:
            yield Statement("summary", texts, lines=FIRST_SCREEN)
    if truth.failures:
        yield Statement("where", tuple(_of_failure(truth.failures[0 if truth.launches == 1 else -1])), lines=10)


def _of_failure(failure: Failure) -> Iterator[str]:
    """Yield patterns for how a rank ended, and in which compile."""
    ending = re.escape(failure.error[:60]) if failure.ending == "exception" else failure.ending
    yield rf"[Rr]ank {failure.rank}\b.{{0,200}}{ending}"
    if failure.function:
        function = rf"\b(\w+\.)*{failure.function}\b"  # with its class where the source is at hand
        place = rf"(backward of {function}|{function}.{{0,60}}its backward)" if failure.phase == "backward" else function
        yield rf"[Rr]ank {failure.rank}\b.{{0,260}}{place}"


def _of_trace_alone(name: str, truth: Truth) -> Iterator[Statement]:
    """Yield statements about logs without the output: what was open, and what they do not show."""
    for failure in truth.failures:
        if failure.function and failure.ending == "SIGKILL":
            yield Statement("where", tuple(_of_failure(failure))[1:])
            yield Statement("problems", (r"([Uu]nfinished(?! compiles, and functions)|did not finish)",))
            if failure.phase == "backward":
                yield Statement("tail -n all", (r"rank 1 [^✓✗]{0,60}its backward is unfinished",))
    if name == "killed_backward_early":
        yield Statement("where", (r"do not show which rank failed first",), lines=10)


def _of_end(name: str, truth: Truth, form: str) -> Iterator[Statement]:
    """Yield statements about a job that has ended: launches, two jobs, compiles that other ranks do not have."""
    if truth.launches > 1 and (form == OUTPUT or truth.logged_launches > 1):
        yield Statement("summary", (r"started again|restarted|launch 2|2 launches",), lines=FIRST_SCREEN)
    if name == "two_jobs":
        yield Statement("summary", (r"[Tt]wo jobs",), lines=FIRST_SCREEN)
    if name == "uneven_batch":
        yield Statement("stragglers", (r"[Rr]ank 2\b.{0,200}recompil", r"8 → 5"))
        yield Statement("summary", (r"[Rr]ank 2\b.{0,200}recompil",), lines=FIRST_SCREEN)
    if name.startswith("pipeline"):
        yield Statement("summary", (r"[Pp]ipeline|stage",), lines=FIRST_SCREEN)
    if name == "rank0_logging":
        yield Statement("ranks", (r"rank 0\b.{0,300}(break|print)",))


def faults(name: str, form: str, show: Callable[[str], str], has_stacks: bool = False) -> list[str]:
    """Compare what commands print with the truth, and list what is missing or false."""
    wanted = list(statements(name, form, has_stacks))
    printed = {command: show(command) for command in dict.fromkeys(each.command for each in wanted)}
    result = [fault for each in wanted for fault in each.faults(printed[each.command])]
    truth = (TRUTHS | ACCIDENTS)[name]
    return result + _of_json(truth, show("problems --json")) if form == OUTPUT else result


def _of_json(truth: Truth, text: str) -> list[str]:
    """Compare the JSON of `problems` with the truth: which rank failed first in each launch, and in which compile."""
    failures = json.loads(text)["result"]["output_failures"]
    printed = [failure for failure in failures if failure["role"] == "first" and failure["ranks"]]
    got = [(failure["launch"], failure["rank"], _phase(failure)) for failure in printed]
    alike = len({failure.error for failure in truth.failures}) == 1 and len(truth.failures) > 1
    expected = [(each.launch, each.rank, each.phase) for each in truth.failures]
    if alike and len(got) == 1 and printed[0]["ranks"] == list(range(truth.ranks)):
        return []
    return [] if got == expected else [f"problems --json: failed first: {got}, not {expected}"]


def _phase(failure: dict[str, Any]) -> str:
    """Return what the rank was compiling: `forward`, `backward` or `outside`."""
    if failure["open"]:
        return "backward" if failure["open"]["activity"] == "backward" else "forward"
    return "outside" if not failure["compile"] else "backward" if failure["is_backward"] else "forward"


def printing(*paths: Path) -> Callable[[str], str]:
    """Return a function that runs a command on these paths and returns what it prints."""

    def show(command: str) -> str:
        head, text = output_of([*command.split(), *map(str, paths)]).decode().lstrip().split("\n", 1)
        assert head.endswith(": 0 ") or "tail" in command, f"{head} {text}"
        return text

    return show
