"""What must be known to read where a job is, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.hang.open_work import INTERRUPTED, Inside
from tltui.analyses.hang.results import INSIDE, Older, Where
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.stragglers import clock_said
from tltui.documents.parts.where import doing, short, subject, these
from tltui.text import tokens
from tltui.text.sanitize import sanitize

OTHERS_SHOWN = 3
PID_MAX = 1 << 22
"""No process of Linux has a greater number."""


def add_remarks(page: Page, found: Where) -> None:
    """What must be known to read it rightly: clocks, ranks without a log, older processes, others that have something open."""
    remarks = [f"{clock_said(clock)} Times here are put right." for clock in found.clocks[:OTHERS_SHOWN]]
    if len(found.clocks) > OTHERS_SHOWN:
        remarks.append(f"{len(found.clocks) - OTHERS_SHOWN} more clocks are apart, and put right too.")
    if found.missing:
        remarks.append(page.so_far(f"There is no log of {these(short(found.missing)).lower()}."))
    lines = [(text, "") for text in remarks]
    lines += _restarted(found.restarted) + _beside(found)
    if lines:
        page.blank()
    for text, ref in lines:
        if ref:
            page.row([f"{text} ", (f"[{ref}]", tokens.LINK, ref)], "")
        else:
            page.say(text, "", tokens.DIM)


Line = tuple[str, str]
"""A text, and the address that it leads to; '' for none."""


def _restarted(restarted: Sequence[Older]) -> list[Line]:
    """Older processes of ranks: those that ended inside of something, then how many there are."""
    stood = [one for one in restarted if one.open is not None]
    lines = []
    for one in stood[:OTHERS_SHOWN]:
        assert one.open is not None
        whose = f"Rank {one.rank} was started again" if one.rank is not None else "An older log"
        verb = "stood in" if one.over else "is in"
        lines.append((f"{whose}: its older process, pid {one.pid}, {verb} {_open(one.open)}", one.open.ref))
    rest = len(restarted) - len(lines)
    if rest:
        what = "older process of the same ranks" if restarted[0].rank is not None else "older log"
        many = "older processes of the same ranks" if restarted[0].rank is not None else "older logs"
        lines.append((f"{fmt.count(rest)}{' more' if lines else ''} {what if rest == 1 else many} left out.", ""))
    return lines


def _beside(found: Where) -> list[Line]:
    """Processes without a rank and forked ones, and other threads."""
    lines = []
    for one in found.beside[:OTHERS_SHOWN]:
        assert one.open is not None
        lines.append((f"Beside them process {one.pid} {'was' if one.over else 'is'} in {_open(one.open)}", one.open.ref))
    rest = len(found.beside) - len(lines)
    if rest:
        lines.append((f"{fmt.plural(rest, 'more process', 'more processes')} beside them with something open.", ""))
    if found.also:
        first, more = found.also[0], len(found.also) - 1
        whose = f"Also open on rank {first.rank}" if found.numbered else "Also open"
        said = f"{whose}, in another thread: {_open(first.open)}"
        lines.append((said + (f" (and {fmt.count(more)} more)" if more else ""), first.open.ref))
    return lines


def _open(one: Inside) -> str:
    said = doing(one, one.id)
    return f"{said}: {sanitize(one.trail)}" if one.trail else said


def add_advice(page: Page, found: Where, asked: bool = False, missing: tuple[int, int] | None = None) -> None:
    """What to do next, in a line or two. `asked`: what its processes do is on the page already. `missing`: a rank that others wait
    for by the flight recorder, and its process: it is the one to look at."""
    running = [group for group in found.groups if not group.over and group.what != INTERRUPTED]
    if not running:
        if not asked:
            _still_alive(page, found)
        return
    page.blank()
    first = running[0]
    if any(group.waits_for for group in running):
        waits = f"In {running[-1].collective} a rank does nothing but wait for the others"
        page.say(f"{waits}: look at {subject(first, found)}.", "", tokens.DIM)
    elif first.state == INSIDE and any(group.state != INSIDE for group in running):
        page.say(
            f"So far the logs do not show whether the ranks with nothing open compute, or wait for {subject(first, found)}.", "",
            tokens.DIM,
        )  # fmt: skip
    elif first.state != INSIDE:
        page.say(
            "If the job hangs now, then outside of torch.compile, as far as its logs tell: in a kernel, a collective, the "
            "loading of data, or code that is not compiled.", "", tokens.DIM,
        )  # fmt: skip
    rank, pid = missing or (first.first, first.pid)
    if not asked:
        _ask_it(page, pid, f"where rank {rank} runs" if found.numbered else "of the job")


def _still_alive(page: Page, found: Where) -> None:
    """A log that nobody wrote into for ten minutes may count as ended, and a job may hang for hours."""
    stood = next((group for group in found.groups if group.state == INSIDE and group.what != INTERRUPTED), None)
    if stood is not None:
        page.blank()
        _ask_it(page, stood.pid, "where it runs")


def _ask_it(page: Page, pid: int, which: str) -> None:
    """How one sees what a process does now. Old logs, as of torch 2.4, have the number of the thread in place of the process."""
    command = f" (py-spy dump --pid {pid})" if 0 < pid <= PID_MAX else ""
    page.say(
        f"On the machine {which}, tltui where PATH --pids (in the screen P) says whether it lives and what it does, "
        f"--stacks where its Python code is{command}.", "", tokens.DIM,
    )  # fmt: skip
