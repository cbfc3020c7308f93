"""The overviews of a rank, a process and a frame."""

from __future__ import annotations

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.scope import called, process_title, rank_title
from tltui.model.input_coverage import untold
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, TABLE, Eager, Status, Tally, error_name
from tltui.model.torch_version import version_of
from tltui.questions.overview.run_summary import Code, Summary, is_cut, summarise
from tltui.questions.overview.summary_sections import add_caches, add_counts, add_outcomes, add_span, place_piece
from tltui.questions.problems.compile_problems import compiled_nothing_below
from tltui.questions.problems.problem_list import limit_stated
from tltui.questions.problems.reason_sections import SKIPS, limit_text, no_reason
from tltui.questions.question import question_of
from tltui.questions.recompiles.recompile_reasons import cached_recompile, parse_reason
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument
from tltui.text.sanitize import sanitize

PROCESSES_SHOWN = 50


def rank_document(run: Run, node: Rank, options: Options) -> TextDocument:
    """Return the overview of a rank with all its processes."""
    summary = summarise(node.processes)
    page = Page(str(node.ref), node.title, options)
    page.add((node.title, tokens.TITLE))
    if node.unread:
        text = f"This rank represents {rank_title(node)}, which have the same compiles according to their saved indexes."
        page.say(text, "", tokens.DIM)
    _head(page, summary, node.processes)
    if len(node.processes) > 1:
        _processes(page, node)
    _body(page, run, summary)
    if len(node.processes) == 1:
        _facts(page, node.processes[0])
    return page.document(summary)


def process_document(run: Run, node: Process, options: Options) -> TextDocument:
    """Return the overview of one process."""
    summary = summarise([node])
    title = f"{process_title(node)}, {fmt.pid(node.pid)}"
    page = Page(str(node.ref), title, options)
    page.add((title, tokens.TITLE))
    _head(page, summary, [node])
    _body(page, run, summary)
    _facts(page, node)
    return page.document(summary)


def _head(page: Page, summary: Summary, processes: list[Process]) -> None:
    words: list[Piece] = [f"torch {summary.versions[0]}"] if summary.versions else []
    if not words and processes and (message := version_of(processes[0]).description):
        page.say(message)
    words.append(fmt.plural(summary.tally.compiles, "compile"))
    if summary.tally.compile_s:
        words.append(f"{fmt.seconds(summary.tally.compile_s)} of compiling")
    page.joined(words)
    page.untold = untold(processes, question_of("summary").needs)
    page.say_untold()
    add_span(page, summary)
    if not all(process.log.ended for process in processes):
        page.more("everything below is preliminary")
    if summary.tally.compiles:
        add_counts(page, summary.tally, summary.unfinished_count)


def _body(page: Page, run: Run, summary: Summary) -> None:
    add_outcomes(page, summary, run.finished, 5)
    if len(summary.slowest) > 1:
        page.heading("Slowest compiles")
        page.table(SLOWEST, summary.slowest)
    add_caches(page, summary)


def _processes(page: Page, node: Rank) -> None:
    page.heading(f"Processes ({len(node.processes)}), newest last")
    shown = node.processes[-PROCESSES_SHOWN:]
    if len(shown) < len(node.processes):
        page.add("  ", (f"the newest {len(shown)} are listed", tokens.DIM))
    page.table(PROCESSES, shown)


def _bad_outcomes(tally: Tally) -> str:
    """Return the counts of errors and of functions in eager mode: `2 failed, 1 fell back to eager`."""
    counted = ((tally.counted(status), status) for status in (Status.ERROR, Status.EAGER))
    return ", ".join(f"{count} {TABLE[status].words}" for count, status in counted if count)


SLOWEST: Table[tuple[str, float, Code]] = Table((
    Column("", lambda row: (fmt.seconds(row[1]), tokens.NUMBER), right=True),
    Column("", lambda row: (f"[{row[0]}]", tokens.LINK, row[0])),
    Column("", lambda row: (fmt.clip_middle(row[2].shown or "", 32), tokens.FUNCTION)),
    Column("", lambda row: place_piece(row[2])),
))  # fmt: skip
PROCESSES: Table[Process] = Table((
    Column("", lambda process: (str(process.ref).rstrip(":"), tokens.LINK, str(process.ref))),
    Column("", lambda process: fmt.pid(process.pid)),
    Column("", lambda process: fmt.plural(process.tally.compiles, "compile")),
    Column("", lambda process: (fmt.took(process.tally.compile_s, ""), tokens.NUMBER)),
    Column("", lambda process: (_bad_outcomes(process.tally), tokens.ERROR)),
    Column("", lambda process: (process.launch, tokens.DIM)),
    Column("", lambda process: (fmt.when(process.started * 1e6) if process.is_dated else "", tokens.DIM)),
    Column("", lambda process: (fmt.file_name(process.log.path), tokens.DIM)),
))  # fmt: skip


def _facts(page: Page, process: Process) -> None:
    """Add the origin of a process for a bug report."""
    page.heading("Where")
    page.labelled("pid", str(process.pid) if process.pid else "unknown")
    if process.launch:
        page.labelled("launch", process.launch)
    if process.is_dated:
        page.labelled("started", fmt.when(process.started * 1e6))
    if process.parent is not None:
        page.labelled("parent", f"pid {process.parent.pid} (its string table defines strings that are missing here)")
    page.file(process.log.path)
    number = process.ref.rank
    ref = Ref(number, process.ref.process)
    page.add("  ", ("records".ljust(9), tokens.LABEL), (fmt.plural(process.records, "record"), tokens.LINK,
             str(ref.at("records"))))  # fmt: skip
    if process.log.damage:
        places = (fmt.plural(len(process.log.damage), "place"), tokens.LINK, "@damage")
        page.add("  ", ("damaged".ljust(9), tokens.LABEL), places, " in this file")


RUNGS = 500
"""Maximum number of compiles listed; of more the first and the last ones."""
REASONS_READ = 64
REASONS_SHOWN = 2
UNLIMITED = 1 << 20


def frame_document(run: Run, node: Frame, options: Options) -> TextDocument:
    """Return all compiles of one code object."""
    name, file, line = node.code
    page = Page(str(node.ref), f"{called(node)} {name or ''}".strip(), options)
    title = fmt.clip_middle(sanitize(name or f"frame {node.key.frame}"), page.width - 20)
    pieces: list[Piece] = [(title, tokens.FUNCTION)]
    if file is not None:
        pieces += ["  ", page.place(file, line)]
    page.row(pieces, "")
    tally = node.tally
    recompiles = [c for c in node.compiles if c.is_recompile]
    spent = sum(c.compile_s for c in recompiles)
    total = f"{fmt.plural(len(node.compiles), 'compile')}{fmt.took(tally.compile_s)}"
    words: list[Piece] = [total]
    if recompiles:
        words.append(f"including {fmt.plural(len(recompiles), 'recompile')}{fmt.took(spent, ' (', ')')}")
    limit = limit_of(node)
    hit = next((c for c in node.compiles if c.facts.recompile_limit_hit), None)
    fallen_back = next((c for c in node.compiles if c.facts.eager_reason not in (None, Eager.LIMIT)), None)
    if limit is not None and limit < UNLIMITED and recompiles and not hit:
        words.append(f"limit {limit}")
    page.joined(words)
    add_counts(page, tally, sum(map(is_cut, node.compiles)))
    if fallen_back is not None:
        page.say(f"It fell back to eager mode at {fallen_back.label}. {SKIPS}", "", tokens.WARN)
    if hit is not None:
        of = f" of {limit}" if limit is not None else ""
        consequence = limit_text(hit.facts.eager_reason is not None, compiled_nothing_below(hit))
        page.say(f"The recompile limit{of} was reached. {consequence}", "", tokens.WARN)
    elif limit is not None and limit < UNLIMITED and recompiles:
        with_code = sum(1 for c in node.compiles if c.facts.has_guarded_code is not False)
        if 0 < limit - with_code <= 3:
            remaining = fmt.plural(limit - with_code, "more compile")
            page.say(f"{remaining} until the recompile limit of {limit}, or more if torch dropped compiled code.", "", tokens.WARN)
    page.heading("Compiles")
    _ladder(page, node)
    return page.document()


def limit_of(node: Frame) -> int | None:
    """Return the recompile limit in the newest metrics."""
    stated = (limit_stated(compile_) for compile_ in reversed(node.compiles) if compile_.metrics)
    return next((limit for limit in stated if limit is not None), None)


def _ladder(page: Page, node: Frame) -> None:
    compiles = node.compiles
    head, tail = (compiles, []) if len(compiles) <= RUNGS else (compiles[: RUNGS // 2], compiles[-RUNGS // 2 :])
    read = 0
    for compile_ in [*head, *tail]:
        if tail and compile_ is tail[0]:
            page.add("  ", (f"… {len(compiles) - len(head) - len(tail)} more", tokens.DIM))
        reasons, was_read = _reasons(compile_, read < REASONS_READ)
        read += was_read
        _rung(page, compile_, reasons)


def _reasons(compile_: Compile, may_read: bool) -> tuple[list[str], bool]:
    """Return recompile reasons; only the one in the metrics beyond the read limit."""
    if not compile_.is_recompile:
        return [], False
    if may_read:
        result = cached_recompile(compile_)
        if result is not None and result.reasons:
            return [f"[{r.earlier}] {r.text}" if r.earlier else r.text for r in result.reasons], True
        if result is not None and result.reasons_from == "never":
            return [no_reason(result)], True
    texts = [m.recompile_reason for m in compile_.metrics if m.recompile_reason]
    parsed = [parse_reason(text) for text in texts]
    return [f"[{r.earlier}] {r.text}" if r.earlier else r.text for r in parsed] or ["torch logged no reason"], may_read


def _rung(page: Page, compile_: Compile, reasons: list[str]) -> None:
    ref = str(compile_.ref)
    facts = compile_.facts
    seconds = compile_.duration_s
    took = fmt.seconds(seconds) if seconds is not None else ""
    again = (ASCII_RECOMPILE if page.ascii else RECOMPILE_GLYPH) if compile_.is_recompile else " "
    pieces: list[Piece] = [
        "  ", page.status(compile_.status), " ", (f"[{ref}]", tokens.LINK, ref), " ", (again, tokens.RECOMPILE), " ",
        (f"{took:>8}", tokens.NUMBER),
    ]  # fmt: skip
    words = []
    if facts.recompile_limit_hit:
        words.append("recompile limit reached")
    elif facts.failed:
        words.append("interrupted" if facts.interrupted else error_name(facts.fail_type) or "failed")
    elif facts.backward_failed:
        words.append("its backward failed")
    elif facts.backward_running or facts.backward_unfinished:
        words.append("its backward is running" if facts.backward_running else "its backward is unfinished")
    if facts.eager_reason and not facts.recompile_limit_hit:
        words.append(TABLE[Status.EAGER].words)
    if facts.breaks:
        words.append(fmt.plural(facts.breaks, "graph break"))
    if facts.graph_op_count is not None:
        words.append(fmt.plural(facts.graph_op_count, "op"))
    if facts.guard_count is not None:
        words.append(f"guard_count {fmt.count(facts.guard_count)}")
    pieces += ["  ", (fmt.clip(sanitize(" · ".join(words)), page.width - len(ref) - 20), tokens.DIM)]
    page.add(*pieces)
    for n, reason in enumerate(reasons[:REASONS_SHOWN]):
        lead = "because " if n == 0 else "    and "
        page.add("      ", (lead, tokens.LABEL), page.clip(sanitize(fmt.one_line(reason)), page.width - 14))
    if (more := len(reasons) - REASONS_SHOWN) > 0:
        page.add("          ", (f"{fmt.plural(more, 'more earlier compile')} did not match either", tokens.DIM))
