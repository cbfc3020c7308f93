"""The overviews of a compile, an attempt, a phase and a unit."""

from __future__ import annotations

from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import called
from tltui.inputs.forms import DEBUG_DIR
from tltui.model.artifacts import artifacts_of, units_of
from tltui.model.input_coverage import untold
from tltui.model.kind import Phase
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID, BadAddress
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, BACKWARD, RECOMPILE_GLYPH, SOFT, TABLE, Status, colour, error_name
from tltui.questions.fusion.unit_fusion import has_fusion
from tltui.questions.job_failures.failure_sections import add_of_compile
from tltui.questions.overview.compile_sections import (
    Part,
    Study,
    add_absent,
    add_artifacts,
    add_caches,
    add_ids,
    add_inputs,
    add_symbols,
    part_name,
    parts_of,
    study,
)
from tltui.questions.overview.summary_sections import LEAST_SHOWN_S, at_least, open_phase
from tltui.questions.problems import reason_sections
from tltui.questions.problems.compile_problems import cached_breaks, compiled_nothing_below
from tltui.questions.problems.reason_sections import (
    FALLBACK_CAUSES,
    INTERRUPTED,
    NO_BREAKS,
    NO_RECOMPILES,
    SKIPS,
    UNSURE,
    add_called_from,
    limit_text,
)
from tltui.questions.question import question_of
from tltui.questions.recompiles.explanations import symbols_of
from tltui.questions.recompiles.failed_guard_text import strip_local
from tltui.questions.recompiles.recompile_reasons import Recompile
from tltui.questions.runtime.cost_sections import compile_sentence
from tltui.questions.runtime.costs import costs_of
from tltui.questions.shapes.shape_env import inputs_of
from tltui.questions.stacks.tracebacks import StackFrame, display_name
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument
from tltui.text.sanitize import sanitize


def phase_document(run: Run, node: Compile, phase: str, unit: int | None, options: Options) -> TextDocument:
    """Return the artifacts of one phase (its key), of one unit (its number from 1) or of all.

    Raises `BadAddress`.
    """
    artifacts = next((p for p in Phase if p.key == phase), None)
    if artifacts is None:
        raise BadAddress(f"unknown phase: {phase!r}", f"phases: {', '.join(p.key for p in Phase)}")
    name = None
    if unit is not None:
        name = next((u.name for u in units_of(artifacts_of(node)) if u.number == unit - 1), None)
        if name is None:
            raise BadAddress(f"unknown unit of {node.ref}: {unit}")
    parts = [part for part in parts_of(node) if part.phase == artifacts.title and (unit is None or part.unit == name)]
    title = f"{called(node)} {artifacts.title}" + (f" {name}" if name else "")
    page = Page(f"@phase:{node.ref}:{phase}" + (f"#{unit}" if unit else ""), title, options)
    page.add((artifacts.title, tokens.TITLE), (f" of the {name}" if name else "", tokens.DIM), " of ",
             (f"[{node.ref}]", tokens.LINK, str(node.ref)))  # fmt: skip
    _parts(page, parts)
    return page.document()


def unit_document(run: Run, node: Compile, n: int, options: Options) -> TextDocument:
    """Return the artifacts of one unit, numbered from 1. Raises `BadAddress`."""
    units = units_of(artifacts_of(node))
    unit = next((u for u in units if u.number == n - 1), None)
    if unit is None:
        names = ", ".join(f"{u.number + 1} {u.name}" for u in units) or "none"
        raise BadAddress(f"unknown unit of {node.ref}: {n}", f"units: {names}")
    parts = [part for part in parts_of(node) if part.unit == unit.name]
    page = Page(f"@unit:{node.ref}#{n}", f"{called(node)} {fmt.graph_title(unit.name)}", options)
    owner = (f"[{node.ref}]", tokens.LINK, str(node.ref))
    page.row([(fmt.graph_title(unit.name), tokens.TITLE), f", {n} of {len(units)} graphs of ", owner], "")
    page.say("A unit is one graph that Inductor lowered to code.", "", tokens.DIM)
    _parts(page, parts, phases=True)
    return page.document()


def _parts(page: Page, parts: list[Part], phases: bool = False) -> None:
    if not parts:
        page.blank()
        page.say("No artifacts.", "", tokens.DIM)
        return
    stored = sum(part.stored_bytes for part in parts)
    page.add((f"{fmt.plural(len(parts), 'artifact')}, {fmt.size_of(stored)}", tokens.DIM))
    last = ""
    for part in parts:
        if phases and part.phase != last:
            page.heading(part.phase)
            last = part.phase
        page.blank()
        size = fmt.size_of(part.stored_bytes)
        name = fmt.clip_middle(part_name(part), page.width - len(size) - 4)
        gap = " " * max(page.width - 2 - len(name) - len(size), 2)
        page.add("  ", (name, tokens.LINK, part.ref), gap if page.width <= 100 else "  ", (size, tokens.NUMBER))
        if part.title and part.title != part.name:
            page.add("    ", (fmt.clip(part.title, page.width - 4), tokens.STRONG))
        page.say(part.help, "    ", tokens.DIM)


def attempt_document(run: Run, node: Compile, attempt: int, options: Options) -> TextDocument:
    """Return one attempt of a compile. Raises `BadAddress` if there is no such attempt."""
    if attempt not in node.attempts and not (attempt == 0 and not node.attempts):
        numbers = ", ".join(map(str, sorted(node.attempts))) or "none"
        raise BadAddress(f"unknown attempt of {node.ref}: {attempt}", f"attempts: {numbers}")
    name = display_name(node.frame) or ""
    ref = str(node.ref) + (f"_{attempt}" if attempt else "")
    page = Page(f"@attempt:{ref}", f"{called(node)} attempt {attempt} {name}".strip(), options)
    last = max(node.attempts, default=0)
    total = max(len(node.attempts), 1)
    page.add((f"attempt {attempt}", tokens.STRONG), " of ",
             (f"[{node.ref}]", tokens.LINK, str(node.ref)), f" ({total} attempts)" if total > 1 else "")  # fmt: skip
    if attempt == last:
        page.say("The last attempt: the compile has its graphs and code.", "", tokens.DIM)
    else:
        page.say(f"Discarded: torch restarted the analysis as attempt {attempt + 1}.", "", tokens.DIM)
    breaks = [item for item in cached_breaks(node, 50) if item.attempt == attempt]
    if node.counts["dynamo_graph_break_reason"] and breaks:
        page.heading("Graph break" if attempt == last else "Reason of the restart")
        for item in breaks:
            reason_sections.add_break(page, item)
            page.blank()
    elif attempt != last:
        page.heading("Reason of the restart")
        _restarts(page, node)
    inputs = inputs_of(node, reader_of(node), attempt)
    add_inputs(page, inputs, None)
    add_symbols(page, inputs.symbols)
    parts: tuple[Part, ...] = tuple(part for part in parts_of(node) if part.attempt == attempt)
    add_artifacts(page, parts)
    log = node.process.log
    count = sum(1 for record in node.records if (log.context(record).attempt or 0) == attempt)
    page.heading("Records")
    page.add("  ", (fmt.plural(count, "record"), tokens.STRONG), " of this attempt  ",
             to_page("all records of the compile", f"@records:{node.ref}"))  # fmt: skip
    return page.document()


def _restarts(page: Page, node: Compile) -> None:
    """Add the restart reasons; the metrics have them as a set, without order and attempt."""
    reasons = node.facts.restarts
    if not reasons:
        when = " when a compile failed" if node.facts.failed else ""
        page.say(f"unknown (the metrics have no restart reason{when})", "  ", tokens.DIM)
        return
    if len(reasons) > 1:
        page.say("one of these (torch does not log which attempt had which reason):", "  ", tokens.DIM)
    for reason in reasons[:8]:
        page.say(next((line for line in reason.splitlines() if line.strip()), "no reason"), "  ")


def compile_document(run: Run, node: Compile, options: Options) -> TextDocument:
    """Return the overview of a compile, of a captured backward `[!0]`, or of records without an id."""
    facts = study(node)
    page = Page(str(node.ref), title_of(node, facts), options)
    _status(page, run, node, facts)
    # functions that fell back for a graph break are in the section of breaks
    failures = [
        candidate for candidate in facts.failures
        if node.status is not Status.EAGER or not reason_sections.is_listed_break(candidate, facts.breaks)
    ]
    if failures:
        page.heading("Failure" if len(failures) == 1 else "Failures")
        for failure in failures:
            if failure.is_backward and len(failures) > 1:
                page.add(("  of the backward", tokens.LABEL))
            reason_sections.add_failure(page, failure, breaks=facts.breaks, fold_advice=facts.facts.recompile_limit_hit)
    add_of_compile(page, run, str(node.ref))
    _breaks(page, node, facts)
    if facts.recompile is not None:
        page.heading("Why it recompiled" if node.is_recompile or node.is_compile else "Why")
        logged = {str(other.ref) for other in node.frame.compiles}
        reason_sections.add_recompile(page, facts.recompile, logged, _constants(node, facts.recompile))
        if facts.facts.recompile_limit_hit:
            link = to_page("recompiles", f"@recompiles:{node.frame.ref}")
            page.row([link, ("  all causes, and how to avoid them", tokens.DIM)])
    _function(page, node, facts)
    add_inputs(page, facts.inputs, facts.graph_inputs)
    add_symbols(page, facts.inputs.symbols)
    _time(page, node, facts, finished=run.finished)
    _add_run_time(page, run, node)
    _counts(page, node, facts)
    add_caches(page, facts.caches)
    if facts.cudagraph_skip_reason:
        page.heading("CUDA graphs")
        page.say(f"skipped: {facts.cudagraph_skip_reason}", "  ")
    _attempts(page, node, facts)
    add_artifacts(page, facts.parts)
    if facts.facts.has_trace:
        add_absent(page, facts.absent)
    add_ids(page, node, facts)
    return page.document(facts)


def title_of(node: Compile, study: Study) -> str:
    """Return the title: `[0/1] forward`."""
    return f"{called(node)} {study.qualified_name or study.function or ''}".rstrip()


def _status(page: Page, run: Run, node: Compile, study: Study) -> None:
    """Add the first line: the outcome of the compile."""
    if node.status is None:
        _no_compile(page, node)
        return
    pieces: list[Piece] = []
    for n, text in enumerate(_outcome(run, node, study)):
        pieces.append((text, colour(node.status)) if n == 0 else text)
    if node.is_recompile:
        mark = ASCII_RECOMPILE if page.ascii else RECOMPILE_GLYPH
        pieces.append((f"{mark} {_ordinal_of(node, study)}", tokens.RECOMPILE))
    glyph = page.status(node.status)
    first, remaining = pieces[0], pieces[1:]
    page.joined([(f"{glyph[0]} {first[0]}", colour(node.status)), *remaining])
    for note in _notes(node, study):
        page.say(note, "  ", tokens.DIM)
    page.untold = untold([node.process], question_of("summary").needs)
    page.say_untold()
    _epochs(page, node)


def _epochs(page: Page, node: Compile) -> None:
    """Add the other compiles with the same id."""
    process = node.process
    other_epochs = [compile_ for compile_ in process.epochs_of(node.id.of(0)) if compile_ is not node]
    if other_epochs:
        epoch = f"epoch {node.id.epoch} of {process.epochs}"
        page.say(f"{epoch}: compile ids restart after torch._dynamo.reset(). Other compiles with this id:", "  ", tokens.DIM)
        for compile_ in other_epochs[-8:]:
            name = display_name(compile_.frame)
            shown = f"  {fmt.clip_middle(sanitize(name), 32)}" if name else ""
            page.row([(compile_.label, tokens.LINK, str(compile_.ref)), shown], "    ")
    if node.doubtful:
        text = fmt.plural(node.doubtful, "record")
        page.say(
            f"{text} of a backward may belong to this compile or to another one with this id (the log does not record which).",
            "  ", tokens.WARN,
        )  # fmt: skip


def _outcome(run: Run, node: Compile, study: Study) -> list[str]:
    facts, status = study.facts, node.status
    seconds = node.duration_s
    took = f" in {fmt.seconds(seconds)}" if seconds is not None else ""
    after = f" after {fmt.seconds(seconds)}" if seconds is not None else ""
    if facts.recompile_limit_hit:
        limit = f" ({study.recompile_limit})" if study.recompile_limit is not None and study.recompile_limit < 1 << 31 else ""
        return [f"not compiled: the recompile limit{limit} was reached"]
    if status is Status.EAGER:
        return [f"fell back to eager mode{after}"]
    if not facts.has_trace:
        return _untraced_outcome(node)
    if status is Status.ERROR:
        if facts.failed:
            return [f"{'interrupted' if facts.interrupted else 'failed'}{after}"]
        return [f"compiled{took}, but its backward failed"]
    if status in (Status.UNFINISHED, Status.RUNNING) and facts.has_metrics:
        return [f"compiled{took}, but {_backward(study)}"]
    if status is Status.UNFINISHED:
        return [f"unfinished when the log ends{_open_phase(study)}"]
    if status is Status.RUNNING:
        return [f"running{_open_phase(study)}: no metrics yet, {run.goes_on}"]
    if status is Status.EMPTY:
        return [f"no operations were captured{took}"]
    text = "compiled" if facts.graph_op_count else "traced; nothing was left to compile"
    if not facts.has_metrics:
        text = "running" if facts.is_waiting else "unfinished when the log ends"
    breaks = [fmt.plural(facts.breaks, "graph break")] if facts.breaks else []
    backward = []
    if (later := node.backward_s) is not None:
        backward = [f"including {fmt.seconds(later)} for the backward graph"]
    if facts.backward_running or facts.backward_unfinished:
        backward.append(_backward(study))
    return [text + took, *breaks, *backward]


def _backward(study: Study) -> str:
    """Describe a backward without an end: `its backward is running, in inductor_compile`."""
    text = "is running" if study.facts.backward_running else "is unfinished when the log ends"
    return f"its backward {text}{_open_phase(study)}"


def _untraced_outcome(node: Compile) -> list[str]:
    """Describe the outcome of a compile without a trace."""
    facts = node.facts
    breaks = [fmt.plural(facts.breaks, "graph break")] if facts.breaks else []
    return ["failed (traceback in the output)" if facts.failed else TABLE[Status.SEEN].words, *breaks]


def _open_phase(study: Study) -> str:
    """Describe the open phase: `, in bytecode_tracing (dynamo)`."""
    return f", {open_phase(study.timing.open[-1])}" if study.timing.open else ""


def _ordinal_of(node: Compile, study: Study) -> str:
    number = (node.id.compile or 0) + 1
    name = fmt.clip_middle(sanitize(study.qualified_name or study.function), 32) if study.function else f"frame {node.id.frame}"
    limit = f" (limit {study.recompile_limit})" if study.recompile_limit is not None and study.recompile_limit < 1 << 20 else ""
    return f"{fmt.ordinal(number)} compile of {name}{limit}"


def _notes(node: Compile, study: Study) -> list[str]:
    """Explain status words that are easily misunderstood."""
    facts, status = study.facts, node.status
    if facts.recompile_limit_hit:
        return [limit_text(facts.eager_reason is not None, compiled_nothing_below(node))]
    if facts.eager_reason in FALLBACK_CAUSES:
        return [FALLBACK_CAUSES[facts.eager_reason], SKIPS]
    if facts.interrupted:
        return [INTERRUPTED]
    if facts.break_not_allowed:
        return [NO_BREAKS]
    if facts.fail_type == "RecompileError":
        return [NO_RECOMPILES]
    if facts.failed and facts.reached_caller is None and error_name(facts.fail_type) in SOFT:
        return [UNSURE]
    if status is Status.BREAK and not facts.graph_op_count and facts.has_metrics:
        return ["No operation came before the break. The code after it runs in eager mode or is compiled as a separate frame."]
    if status is Status.BREAK and facts.has_metrics:
        return ["The graph ends at the break. The code after it runs in eager mode or is compiled as a separate frame."]
    return _empty_notes(node) if status is Status.EMPTY else []


def _empty_notes(node: Compile) -> list[str]:
    if node.facts.has_guarded_code:
        return ["Calls that match its guards run as plain Python; others are compiled."]
    notes = ["Torch skips this function from now on, also for calls that have operations."]
    if not node.process.logs_breaks:
        notes.append("In logs of this torch version, a function with a graph break in a loop looks the same.")
    return notes


def _no_compile(page: Page, node: Compile) -> None:
    count = fmt.plural(len(node.records), "record")
    if node.id == NO_ID:
        page.add((f"{'·'} {count} without a compile id", tokens.STRONG))
        if node.process.origins == {DEBUG_DIR}:
            page.say("Files of the process, not of one graph.", "  ", tokens.DIM)
            return
        page.say(
            "Records outside of compiles: torch.export, AOTInductor, threads that compile kernels, the string table "
            "and the torch version have no compile id.", "  ", tokens.DIM,
        )  # fmt: skip
        return
    page.add((f"{'·'} compiled autograd captured a backward pass", tokens.STRONG))
    process = node.process
    followers = [c for c in process.compiles.values() if c.id[0] == node.id[0] and c.id.epoch == node.id.epoch and c.is_compile]
    if followers:
        pieces: list[Piece] = ["its graph is compiled as "]
        for follower in followers[:8]:
            pieces += [(follower.label, tokens.LINK, str(follower.ref)), " "]
        page.row(pieces)


def _constants(node: Compile, recompile: Recompile) -> set[str]:
    """Return the sources of numbers that varied and have no symbol in a complete compile: attributes of modules, globals."""
    if not node.is_traced or node.status not in (Status.OK, Status.BREAK) or not recompile.became_dynamic:
        return set()
    symbols = symbols_of(node)
    return {change.source for change in recompile.became_dynamic if strip_local(change.source) not in symbols}


def _breaks(page: Page, node: Compile, study: Study) -> None:
    if not study.breaks:
        return
    total = max(study.facts.breaks, len(study.breaks))
    page.heading("Graph break" if total == 1 else f"Graph breaks ({fmt.count(total)})")
    for n, graph_break in enumerate(study.breaks):
        if n:
            page.blank()
        reason_sections.add_break(page, graph_break)
    if total > len(study.breaks):
        page.blank()
        page.add("  ", (f"first {len(study.breaks)} of {total} graph breaks", tokens.DIM), " ",
                 to_page("all records", f"@records:{node.ref}"))  # fmt: skip


def _function(page: Page, node: Compile, study: Study) -> None:
    if study.function is None and not study.callers:
        return
    callers = study.callers or _callers_by_break(study)
    if study.function is None:
        page.heading("Called from, nearest first")
        add_called_from(page, callers)
        return
    page.heading("Function")
    pieces: list[Piece] = [(fmt.clip_middle(sanitize(study.qualified_name or study.function), page.width // 2), tokens.FUNCTION)]
    if study.file is not None:
        pieces += ["  ", page.place(study.file, study.line)]
    page.row(pieces)
    if node.frame.is_guessed:
        text = "Best guess: the last operation of the graph is on this line; the break may be inside a function called from it."
        page.say(text, "  ", tokens.DIM)
    if callers:
        page.add("  ", ("called from, nearest first", tokens.LABEL))
        add_called_from(page, callers, "    ")


def _callers_by_break(study: Study) -> tuple[StackFrame, ...]:
    """Return the callers from a graph break's stack: all frames before the compiled function."""
    for graph_break in study.breaks:
        for n, frame in enumerate(graph_break.stack):
            if frame.name == study.function and frame.file == study.file:
                return graph_break.stack[:n]
    return ()


def _time(page: Page, node: Compile, study: Study, finished: bool) -> None:
    timing = study.timing
    if not timing.phases and not timing.backward and not timing.open:
        return
    message = node.duration_s is None and timing.seconds >= LEAST_SHOWN_S
    total = f", {fmt.seconds(timing.seconds)}" if message else ""
    page.heading(f"Time by phase{total}{' so far' if total and timing.open else ''}")
    scale_s = max(sum(phase.self_s for phase in phases) for phases in (timing.phases, timing.backward))
    reason_sections.add_time(page, timing.phases, scale_s=scale_s)
    if timing.backward:
        so_far = " so far" if any(item.name in BACKWARD for item in timing.open) else ""
        page.add("  ", (f"backward, compiled later: {fmt.seconds(timing.backward_seconds)}{so_far}", tokens.LABEL))
        reason_sections.add_time(page, timing.backward, scale_s=scale_s)
    if timing.open:
        inner = timing.open[-1]
        state = "still running" if not finished else "started, no end logged"
        names = " › ".join(fmt.clip_middle(sanitize(item.name), 40) for item in timing.open[-4:])
        least = f", {time}" if (time := at_least(inner.duration_s)) else ""
        page.say(f"{state}{least}: {names}", "  ", tokens.WARN)
    if timing.source == "metrics":
        page.say("(totals from the metrics; the log has no timing events for this compile)", "  ", tokens.DIM)


def _add_run_time(page: Page, run: Run, node: Compile) -> None:
    """Add the run time from a profile."""
    costs, ref = costs_of(run), str(node.ref)
    if costs is not None and (message := compile_sentence(costs, ref)):
        page.heading("Run time")
        page.row([f"{message}  ", to_page("runtime", f"@runtime:{ref}")])


def _counts(page: Page, node: Compile, study: Study) -> None:
    facts = study.facts
    words: list[Piece] = []
    if facts.graph_op_count is not None:
        words.append(fmt.plural(facts.graph_op_count, "op"))
    if study.graph_nodes is not None:
        words.append(fmt.plural(study.graph_nodes, "graph node"))
    if facts.guard_count is not None:
        words.append(f"guard_count {fmt.count(facts.guard_count)}")
    if study.guard_latency_us is not None:
        words.append(f"guards take {study.guard_latency_us:.0f} µs per call")
    fused = has_fusion(node)
    if words or fused:
        page.heading("Graph and guards")
        page.joined(words, "  ")
    if fused:
        text = "  the operations of each kernel, and what prevented more fusion"
        page.row([to_page("fusion", f"@fusion:{node.ref}"), (text, tokens.DIM)])


def _attempts(page: Page, node: Compile, study: Study) -> None:
    facts = study.facts
    if not facts.restarts and len(node.attempts) < 2:
        return
    page.heading(f"Attempts ({max(len(node.attempts), 1)})")
    last = max(node.attempts, default=0)
    for number in sorted(node.attempts):
        ref = replace(node.ref, view="attempt", attempt=number or None)
        outcome = ("kept" if facts.has_trace else "last") if number == last else "discarded and restarted"
        page.add("  ", (f"attempt {number}", tokens.LINK, str(ref)), "  ", (outcome, tokens.DIM))
    if facts.restarts and not study.breaks:
        for reason in facts.restarts:
            page.say(f"restart reason: {reason.splitlines()[0] if reason.strip() else 'no reason'}", "  ")
