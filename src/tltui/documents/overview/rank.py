"""The pages of a rank and of a process."""

from __future__ import annotations

from tltui.analyses.summary import Summary, summarise
from tltui.analyses.told import untold
from tltui.analyses.torch_version import version_of
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.summary import (
    add_breaks,
    add_caches,
    add_costs,
    add_counts,
    add_eager,
    add_errors,
    add_recompiled,
    add_unfinished,
    place_piece,
)  # fmt: skip
from tltui.documents.titles import process_title, rank_title
from tltui.model.nodes import Process, Rank
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.model.status import TABLE, Status
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument

PROCESSES_SHOWN = 50


def rank_document(run: Run, node: Rank, options: Options) -> TextDocument:
    """The overview of a rank: all its processes together."""
    summary = summarise(node.processes)
    page = Page(str(node.ref), node.title, options)
    page.add((node.title, tokens.TITLE))
    if node.unread:
        page.say(f"It stands for {rank_title(node)}, which did the same, as their saved indexes say.", "", tokens.DIM)
    _head(page, run, summary, node.processes)
    if len(node.processes) > 1:
        _processes(page, node)
    _body(page, run, summary)
    if len(node.processes) == 1:
        _facts(page, node.processes[0])
    return page.document(summary)


def process_document(run: Run, node: Process, options: Options) -> TextDocument:
    """The overview of one process."""
    summary = summarise([node])
    title = f"{process_title(node)}, {fmt.pid(node.pid)}"
    page = Page(str(node.ref), title, options)
    page.add((title, tokens.TITLE))
    _head(page, run, summary, [node])
    _body(page, run, summary)
    _facts(page, node)
    return page.document(summary)


def _head(page: Page, run: Run, summary: Summary, processes: list[Process]) -> None:
    words: list[Piece] = [f"torch {summary.versions[0]}"] if summary.versions else []
    if not words and processes and (told := version_of(processes[0]).told):
        page.say(told)
    words.append(fmt.plural(summary.tally.compiles, "compile"))
    if summary.tally.seconds:
        words.append(f"{fmt.seconds(summary.tally.seconds)} of compiling")
    page.joined(words)
    page.untold = untold(processes, "summary")
    page.say_untold()
    if summary.start is not None and summary.end is not None:
        span = fmt.seconds(max(summary.end - summary.start, 0.0) / 1e6)
        what = f"{span} from the first compile to the end of the last, beginning {fmt.when(summary.start)}"
        page.say(what, "", tokens.DIM)
    if not all(process.log.ended for process in processes):
        page.more("everything below is preliminary")
    if summary.tally.compiles:
        add_counts(page, summary.tally)


def _body(page: Page, run: Run, summary: Summary) -> None:
    add_errors(page, summary)
    add_eager(page, summary)
    add_unfinished(page, summary, finished=run.finished)
    add_breaks(page, summary)
    add_recompiled(page, summary)
    add_costs(page, summary, 5, "Most expensive functions")
    if len(summary.slowest) > 1:
        page.heading("Slowest compiles")
        rows: list[list[Piece]] = [
            [
                (fmt.seconds(seconds), tokens.NUMBER),
                (f"[{ref}]", tokens.LINK, ref),
                (fmt.clip_middle(code.shown or "", 32), tokens.FUNCTION),
                place_piece(code),
            ]
            for ref, seconds, code in summary.slowest
        ]
        page.grid(rows, right=(0,))
    add_caches(page, summary)


def _processes(page: Page, node: Rank) -> None:
    page.heading(f"Processes ({len(node.processes)}), newest last")
    shown = node.processes[-PROCESSES_SHOWN:]
    if len(shown) < len(node.processes):
        page.add("  ", (f"the newest {len(shown)} are listed", tokens.DIM))
    rows: list[list[Piece]] = []
    for process in shown:
        ref = str(process.ref)
        tally = process.tally
        state = ", ".join(f"{tally.counted(s)} {TABLE[s].words}" for s in (Status.ERROR, Status.EAGER) if tally.counted(s))
        rows.append([
            (ref.rstrip(":"), tokens.LINK, ref), fmt.pid(process.pid), fmt.plural(tally.compiles, "compile"),
            (fmt.took(tally.seconds, ""), tokens.NUMBER), (state, tokens.ERROR),
            (process.launch, tokens.DIM), (fmt.when(process.started * 1e6) if process.is_dated else "", tokens.DIM),
            (fmt.file_name(process.log.path), tokens.DIM),
        ])  # fmt: skip
    page.grid(rows)


def _facts(page: Page, process: Process) -> None:
    """Where it comes from: what a bug report needs."""
    page.heading("Where")
    page.labelled("pid", str(process.pid) if process.pid else "not known")
    if process.launch:
        page.labelled("launch", process.launch)
    if process.is_dated:
        page.labelled("started", fmt.when(process.started * 1e6))
    if process.parent is not None:
        page.labelled("parent", f"pid {process.parent.pid} (its string table is used for what is undefined here)")
    page.file(process.log.path)
    number = process.ref.rank
    ref = Ref(number, process.ref.process)
    page.add("  ", ("records".ljust(9), tokens.LABEL), (fmt.plural(process.records, "record"), tokens.LINK,
             str(ref.at("records"))))  # fmt: skip
    if process.log.damage:
        places = (fmt.plural(len(process.log.damage), "place"), tokens.LINK, "@damage")
        page.add("  ", ("damaged".ljust(9), tokens.LABEL), places, " in this file")
