"""The page of one compile: what became of it and why, before what it consists of."""

from __future__ import annotations

from tltui.analyses.stacks.stacks import StackFrame
from tltui.analyses.study import Study, study
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts import reports
from tltui.documents.parts.compiles import add_absent, add_artifacts, add_caches, add_ids, add_inputs, add_symbols
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, Status
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument
from tltui.text.sanitize import sanitize


def compile_document(run: Run, node: Compile, options: Options) -> TextDocument:
    """The overview of a compile, of a captured backward `[!0]`, or of the records without an id."""
    known = study(node)
    page = Page(str(node.ref), title_of(node, known), options)
    _status(page, run, node, known)
    if known.failures:
        page.heading("Failure" if len(known.failures) == 1 else "Failures")
        for failure in known.failures:
            if failure.backward and len(known.failures) > 1:
                page.add(("  of the backward", tokens.LABEL))
            reports.add_failure(page, failure)
    _breaks(page, node, known)
    if known.recompile is not None:
        page.heading("Why it recompiled" if node.is_recompile or node.is_compile else "Why")
        reports.add_recompile(page, known.recompile, {str(other.ref) for other in node.frame.compiles})
    _function(page, known)
    add_inputs(page, known.inputs, known.graph_inputs)
    add_symbols(page, known.inputs.symbols)
    _time(page, known, finished=run.finished)
    _counts(page, known)
    add_caches(page, known.caches, node)
    if known.cudagraph_skip_reason:
        page.heading("CUDA graphs")
        page.say(f"skipped: {known.cudagraph_skip_reason}", "  ")
    _attempts(page, node, known)
    add_artifacts(page, known.parts)
    add_absent(page, known.absent)
    add_ids(page, node, known)
    return page.document(known)


def title_of(node: Compile, known: Study) -> str:
    """`[0/1] forward`"""
    return f"{node.id.bracketed} {known.function}" if known.function else node.id.bracketed


def _status(page: Page, run: Run, node: Compile, known: Study) -> None:
    """The first line says what became of it."""
    if node.status is None:
        _no_compile(page, node)
        return
    pieces: list[Piece] = []
    for n, text in enumerate(_outcome(run, node, known)):
        pieces.append((text, str(node.status)) if n == 0 else text)
    if node.is_recompile:
        mark = ASCII_RECOMPILE if page.ascii else RECOMPILE_GLYPH
        pieces.append((f"{mark} {_which(node, known)}", tokens.RECOMPILE))
    glyph = page.status(node.status)
    first, rest = pieces[0], pieces[1:]
    page.joined([(f"{glyph[0]} {first[0]}", str(node.status)), *rest])
    for note in _notes(node, known):
        page.say(note, "  ", tokens.DIM)


def _outcome(run: Run, node: Compile, known: Study) -> list[str]:
    facts, status = known.facts, node.status
    took = f" in {fmt.seconds(facts.duration_s)}" if facts.duration_s is not None else ""
    if facts.recompile_limit:
        limit = f" ({known.limit})" if known.limit is not None and known.limit < 1 << 31 else ""
        return [f"not compiled: the recompile limit{limit} was reached"]
    if status is Status.ERROR:
        if facts.failed:
            return [f"failed after {fmt.seconds(facts.duration_s)}" if facts.duration_s is not None else "failed"]
        return [f"compiled{took}, but its backward failed"]
    if status is Status.MISSING:
        return ["not finished when the log ends"]
    if status is Status.RUNNING:
        return [f"running: no metrics yet, {run.goes_on}"]
    if status is Status.EMPTY:
        return [f"nothing to compile: no operation was captured{took}"]
    what = "compiled" if facts.graph_op_count else "traced; nothing was left to compile"
    if not facts.has_metrics:
        what = "running" if facts.waiting else "not finished when the log ends"
    breaks = [fmt.plural(facts.breaks, "graph break")] if facts.breaks else []
    backward = []
    if facts.backward_s is not None:
        backward = [f"of that {fmt.seconds(facts.backward_s)} for the backward"]
    return [what + took, *breaks, *backward]


def _which(node: Compile, known: Study) -> str:
    number = (node.id.compile or 0) + 1
    name = fmt.clip_middle(sanitize(known.function), 32) if known.function else f"frame {node.id.frame}"
    limit = f" (limit {known.limit})" if known.limit is not None and known.limit < 1 << 20 else ""
    return f"{fmt.ordinal(number)} compile of {name}{limit}"


def _notes(node: Compile, known: Study) -> list[str]:
    """What the status means, where a word of it would be misunderstood."""
    facts = known.facts
    if facts.recompile_limit:
        return ["Calls that fit none of the earlier compiles run in eager mode; those that fit one still use it."]
    if node.status is Status.BREAK and not facts.graph_op_count and facts.has_metrics:
        return ["No graph came out of this frame: it runs in eager mode, and what it calls is compiled by itself."]
    if node.status is Status.BREAK and facts.has_metrics:
        return ["The graph ends at the break. What follows runs in eager mode or is compiled as a frame of its own."]
    return []


def _no_compile(page: Page, node: Compile) -> None:
    count = fmt.plural(len(node.records), "record")
    if node.id == NO_ID:
        page.add((f"{'·'} {count} without a compile id", tokens.STRONG))
        page.say(
            "Written outside of any compile: torch.export and AOTInductor have no ids, and neither have the threads "
            "that compile kernels, the string table and the torch version.", "  ", tokens.DIM,
        )  # fmt: skip
        return
    page.add((f"{'·'} compiled autograd captured a backward pass", tokens.STRONG))
    process = node.process
    followers = [c for c in process.compiles.values() if c.id.autograd == node.id.autograd and c.is_compile]
    if followers:
        pieces: list[Piece] = ["its graph is compiled as "]
        for follower in followers[:8]:
            pieces += [(follower.id.bracketed, tokens.LINK, str(follower.ref)), " "]
        page.row(pieces)


def _breaks(page: Page, node: Compile, known: Study) -> None:
    if not known.breaks:
        return
    total = max(known.facts.breaks, len(known.breaks))
    page.heading("Graph break" if total == 1 else f"Graph breaks ({fmt.count(total)})")
    for n, found in enumerate(known.breaks):
        if n:
            page.blank()
        reports.add_break(page, found)
    if total > len(known.breaks):
        page.blank()
        page.add("  ", (f"the first {len(known.breaks)} of {total} are shown", tokens.DIM), " ",
                 ("all records", tokens.LINK, f"@records:{node.ref}"))  # fmt: skip


def _function(page: Page, known: Study) -> None:
    if known.function is None and not known.callers:
        return
    callers = known.callers or _callers_by_break(known)
    if known.function is None:
        page.heading("Called from, nearest first")
        reports.add_called_from(page, callers)
        return
    page.heading("Function")
    pieces: list[Piece] = [(fmt.clip_middle(sanitize(known.function), page.width // 2), tokens.FUNCTION)]
    if known.file is not None:
        pieces += ["  ", page.place(known.file, known.line)]
    page.row(pieces)
    if callers:
        page.add("  ", ("called from, nearest first", tokens.LABEL))
        reports.add_called_from(page, callers, "    ")


def _callers_by_break(known: Study) -> tuple[StackFrame, ...]:
    """The callers as the stack of a graph break has them: all frames before the compiled function."""
    for found in known.breaks:
        for n, frame in enumerate(found.stack):
            if frame.name == known.function and frame.file == known.file:
                return found.stack[:n]
    return ()


def _time(page: Page, known: Study, finished: bool) -> None:
    timing = known.timing
    if not timing.phases and not timing.backward and not timing.open:
        return
    total = "" if known.facts.duration_s is not None else f", {fmt.seconds(timing.seconds)}"
    page.heading(f"Time by phase{total}{' so far' if total and timing.open else ''}")
    reports.add_time(page, timing.phases)
    if timing.backward:
        page.add("  ", (f"backward, compiled later: {fmt.seconds(timing.backward_seconds)}", tokens.LABEL))
        reports.add_time(page, timing.backward)
    if timing.open:
        inner = timing.open[-1]
        state = "still running" if not finished else "begun and not seen to end"
        names = " › ".join(fmt.clip_middle(sanitize(item.name), 40) for item in timing.open[-4:])
        page.say(f"{state}, for at least {fmt.seconds(inner.seconds)}: {names}", "  ", tokens.WARN)
    if timing.source == "metrics":
        page.say("(from the totals in the metrics: this log has no timing events for it)", "  ", tokens.DIM)


def _counts(page: Page, known: Study) -> None:
    facts = known.facts
    words: list[Piece] = []
    if facts.graph_op_count is not None:
        words.append(fmt.plural(facts.graph_op_count, "op"))
    if known.nodes is not None:
        words.append(fmt.plural(known.nodes, "graph node"))
    if facts.guard_count is not None:
        words.append(fmt.plural(facts.guard_count, "guard"))
    if known.guard_latency_us is not None:
        words.append(f"guards take {known.guard_latency_us:.0f} µs a call")
    if words:
        page.heading("Graph and guards")
        page.joined(words, "  ")


def _attempts(page: Page, node: Compile, known: Study) -> None:
    facts = known.facts
    if not facts.restarts and len(node.attempts) < 2:
        return
    page.heading(f"Attempts ({max(len(node.attempts), 1)})")
    last = max(node.attempts, default=0)
    for number in sorted(node.attempts):
        ref = str(node.process.ref_of(node.id)) + (f"_{number}" if number else "")
        kept = "this one was kept" if number == last else "given up and started again"
        page.add("  ", (f"attempt {number}", tokens.LINK, f"@attempt:{ref}"), "  ", (kept, tokens.DIM))
    if facts.restarts and not known.breaks:
        for reason in facts.restarts:
            page.say(f"restarted for: {reason.splitlines()[0] if reason.strip() else 'no reason'}", "  ")
