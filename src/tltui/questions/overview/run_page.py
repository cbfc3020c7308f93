"""The overview of a run: the first screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import FOLLOW, key_hint, key_of, link_hint, rank_count, stands_for
from tltui.inputs.debug_directory import AUTOTUNE_CACHE
from tltui.inputs.forms import DEBUG_DIR, TEXT
from tltui.model.expected_artifacts import FRESH
from tltui.model.input_coverage import title_of, untold
from tltui.model.nodes import Compile
from tltui.model.ref import NORANK, parse_ref
from tltui.model.run import Run, has_break, has_error, in_order, next_compile
from tltui.model.status import Eager, Status
from tltui.model.torch_version import version_of
from tltui.questions.coverage.input_sections import add_missing, holding_words, of_ranks
from tltui.questions.coverage.job_inputs import failed_files, holdings, is_plain, missing_ranks
from tltui.questions.hang.where import Where
from tltui.questions.hang.where_sections import dumps_sentence, is_cause_unknown, open_at_end, open_now, place_at_end
from tltui.questions.index import BY_NAME
from tltui.questions.job_failures.failure_sections import (
    CAUSE_UNKNOWN,
    add_ends,
    add_overlaps,
    add_warning_titles,
    has_torch,
    launches_in,
    next_step_of,
    size_of_output,
)
from tltui.questions.job_failures.job_failures import (
    RunFailure,
    ending_failure,
    failures_outside_trace,
    independent_failures,
    output_warnings,
)
from tltui.questions.overview.graphs_made import ranks_without_graph
from tltui.questions.overview.run_summary import Summary, summarise
from tltui.questions.overview.summary_sections import (
    add_caches,
    add_counts,
    add_outcomes,
    add_span,
    add_without_graph,
    open_phase,
)
from tltui.questions.overview.timeline_sections import add_timeline
from tltui.questions.problems.compile_problems import INTERRUPTED, headline_of
from tltui.questions.question import question_of
from tltui.questions.ranks.differences import differences_and_pace
from tltui.questions.ranks.pace import Clock, Pace
from tltui.questions.ranks.page import add_ranks, leading_sentence
from tltui.questions.ranks.stragglers_page import clock_sentence, worst
from tltui.questions.runtime.cost_sections import costliest_finding
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument
from tltui.text.sanitize import sanitize

START = "Start here"
"""Heading of the findings."""
RANKS_NAMED = 12
FILES_NAMED = 8
CLOCKS_NAMED = 2


def run_document(run: Run, options: Options) -> TextDocument:
    """Return the overview of all opened inputs."""
    diverging, pace = differences_and_pace(run)
    summary = replace(
        summarise(run.processes(), pace.offsets), rank_differences=diverging, missing_ranks=missing_ranks(run),
        without_graph=tuple(rank.number for rank in ranks_without_graph(run)),
    )  # fmt: skip
    page = Page("", run.title, options)
    page.add((fmt.clip_middle(run.title, page.width), tokens.TITLE))
    add_without_graph(page, summary.without_graph, len(run.ranks))
    _head(page, run, summary, pace.clocks)
    add_missing(page, summary.missing_ranks)
    page.untold = untold(list(run.processes()), question_of("summary").needs)
    page.say_untold()
    if run.is_sought:
        page.say("still looking for logs; everything below is preliminary", "", tokens.WARN)
    elif not run.is_read:
        share = fmt.percent(min(run.scanned, run.size), run.size)
        text = f"still reading: {share} of {fmt.size_of(run.size)}; everything below is preliminary"
        page.say(f"{_ranks_so_far(run)}{text}", "", tokens.WARN)
    elif page.goes_on and run.models:
        page.more("everything below is preliminary")
    if not run.models:
        if run.is_sought:
            return page.document(summary)
        _no_records(page, run)
    elif summary.tally.compiles:
        add_counts(page, summary.tally, summary.unfinished_count)
    elif run.finished:
        _no_compiles(page, run)
    failures = failures_outside_trace(run)
    add_overlaps(page, run)
    add_ends(page, run, failures)
    at_end = place_at_end(run) if run.finished and run.is_read and summary.unfinished else None
    if not failures and is_cause_unknown(run, at_end):
        page.say(CAUSE_UNKNOWN, "", tokens.WARN)
    add_timeline(page, run, pace, summary.unfinished_count + summary.tally.running)
    _start(page, run, summary, pace, independent_failures(failures), at_end)
    add_ranks(page, run, summary.rank_differences)
    add_outcomes(page, summary, run.finished, 3)
    add_caches(page, summary)
    add_warning_titles(page, output_warnings(run))
    _damage(page, run)
    _profiles(page, run)
    return page.document(summary)


def _ranks_so_far(run: Run) -> str:
    """Return `so far: 146 of 512 ranks; ` while ranks are missing that the names of the logs state."""
    count, total = rank_count(run), len({log.rank for log in run.discovered.logs} - {None})
    return f"so far: {fmt.count(count)} of {fmt.plural(total, 'rank')}; " if count < total else ""


def _head(page: Page, run: Run, summary: Summary, clocks: Sequence[Clock]) -> None:
    ranks = run.ranks
    versions, about = summary.versions, stands_for(run)
    words: list[Piece] = []
    if versions:
        words.append("torch " + ", ".join(versions[:3]) + (" and more" if len(versions) > 3 else ""))
    elif (first := next((p for rank in ranks for p in rank.processes), None)) and (message := version_of(first).description):
        page.say(message)
    numbered = rank_count(run)
    if numbered:
        words.append(fmt.plural(numbered, "rank"))
    processes = sum(len(rank.processes) for rank in ranks)
    if processes > max(numbered, 1):
        words.append(fmt.plural(processes, "process", "processes"))
    if (launches := launches_in(run)) > 1:
        words.append(fmt.plural(launches, "launch", "launches"))
    if summary.tally.compiles:
        words.append(fmt.plural(summary.tally.compiles, "compile"))
    if summary.tally.compile_s:
        scope_text = "compiling in all ranks" if numbered > 1 else "of compiling"
        scope_text = "of compiling in the ranks that were read" if about else scope_text
        words.append(f"{fmt.seconds(summary.tally.compile_s)} {scope_text}")
    page.joined(words)
    unranked = next((len(rank.processes) for rank in ranks if rank.number is None), 0)
    if unranked > 1:
        page.say(f"{fmt.plural(unranked, 'process', 'processes')} without a rank: norank.1 to norank.{unranked}", "", tokens.DIM)
    if about:
        page.say(about, "", tokens.DIM)
    if not is_plain(run):
        page.joined([(holding_words(held), tokens.DIM) for held in holdings(run)])
    add_span(page, summary)
    for clock in clocks[:CLOCKS_NAMED]:
        page.say(clock_sentence(clock), "", tokens.DIM)
    if clocks:
        more = f"{fmt.count(len(clocks) - CLOCKS_NAMED)} more clocks are off. " if len(clocks) > CLOCKS_NAMED else ""
        page.row([(f"{more}Times on this page are corrected: ", tokens.DIM), to_page("stragglers", "@stragglers")], "")
    again = summary.recompiled_after_reset
    if again is not None:
        text = f"{again.epochs} epochs: compile ids restart after torch._dynamo.reset(), which discards all compiles"
        page.say(text, "", tokens.WARN)
        if again.compiles:
            functions = "one function was" if again.functions == 1 else f"{fmt.count(again.functions)} functions were"
            took = f", {fmt.seconds(again.compile_s)}" if again.compile_s else ""
            text = f"{functions} compiled again after a reset: {fmt.plural(again.compiles, 'compile')}{took}"
            page.row([f"{text},", " last: ", (f"[{again.newest_ref}]", tokens.LINK, again.newest_ref)])


def _no_records(page: Page, run: Run) -> None:
    """Add an explanation for a job without a log."""
    where = fmt.home(run.discovered.paths[0])
    if run.is_awaited and run.discovered.outputs:
        page.say(f"Waiting for the first record in {where}.", "", tokens.RUNNING)
        page.say("Torch writes it at the first compile.")
    elif run.is_awaited:
        page.say(f"Waiting for a log in {where}.", "", tokens.RUNNING)
        page.say(f"A job started with TORCH_TRACE={where} writes one at its first compile.")
    else:
        why = "nothing was compiled, or the job did not get its environment variables"
        page.say(f"No log in {where}: {why}.", "", tokens.WARN)
    if run.discovered.outputs:
        page.blank()
        page.row([to_page("output", "@output"), "  the output of the job  ", key_hint(page.options, "app.output")], "")


ONLY_WARNINGS = " Torch wrote only warnings and errors: TORCH_LOGS was not set, or the ranks wrote elsewhere."
WARNINGS = "WEC"
LEVELS_READ = 100
NO_UNITS = (
    f"No compiles. On a cache hit Inductor lowers no graph and leaves no debug directory; set {FRESH} to compile everything. "
    "Failures before Inductor leave no directory either."
)


def _no_compiles(page: Page, run: Run) -> None:
    records = sum(process.records for process in run.processes())
    if run.models and all(model.form == DEBUG_DIR for model in run.models):
        page.blank()
        page.say(NO_UNITS)
    elif not records and any(model.form == TEXT for model in run.models):
        from tltui.questions.autotune.autotune_report import printed_tables
        from tltui.questions.vllm.startup import has_startup, startups_of

        page.blank()
        content = "No message of torch.compile"
        if has_torch(run):
            content = "No log of torch.compile, but a traceback through it,"
        elif output_warnings(run):
            content = "No log of torch.compile, but warnings of torch,"
        elif next(iter(printed_tables(run)), None) is not None:
            page.row(["Tables of autotuning: ", to_page("autotune", "@autotune")], "")
            content = "No log of torch.compile"
        if has_startup(run):
            for startup in startups_of(run):
                total = "unknown" if startup.total_s is None else fmt.seconds(startup.total_s)
                page.row([f"Start-up of {startup.engine}: {total}  ", to_page("vllm", "@vllm"), "  its steps"], "")
            content = "No log of torch itself"
        page.row([f"{content} in {size_of_output(run)}: ", to_page("log", "@log"), "  all its lines"], "")
        return
    elif not records:
        page.say("No records.", "", tokens.WARN)
        return
    else:
        page.blank()
        count = fmt.plural(records, "record")
        if page.untold:
            page.say(page.so_far("nothing was compiled.") + (ONLY_WARNINGS if _has_only_warnings(run) else ""))
        else:
            page.say(
                f"This trace has no compile of a Python frame. Its {count} have no compile id, like those of torch.export and "
                "AOTInductor."
            )
    for process in list(run.processes())[:RANKS_NAMED]:
        for compile_ in process.ordered():
            ref = str(compile_.ref)
            page.add("  ", (ref, tokens.LINK, ref), "  ", (fmt.plural(len(compile_.records), "record"), tokens.DIM))


def _has_only_warnings(run: Run) -> bool:
    """Return whether torch's loggers wrote only their output without TORCH_LOGS.

    Checks the first records.
    """
    for model in run.models:
        for record in range(min(len(model.log.columns.offset), LEVELS_READ)):
            prefix = model.log.prefix(record)
            if prefix is not None and prefix.level not in WARNINGS:
                return False
    return True


LONG_HINT = 0.4
"""Part of the width from which on a command has a line of its own."""
STARTS = 4
REASON_SHOWN = 100
"""Characters of a reason in a suggestion."""


class Hint(NamedTuple):
    """A suggestion with a link."""

    ref: str
    """The target of the link."""
    text: str
    """A fact."""
    shell: str
    """The command with more about it, for output without a screen."""
    walk: str = ""
    """The key that may lead there; it is named if it does."""
    fix: str = ""
    """The kind of the fix for the compile at `ref`, a key of `fix_sections.LABELS`; '' for none."""
    headline: str = ""
    """The graph break to fix: a compile can have several."""


WALKS: tuple[tuple[str, Callable[[Compile], bool]], ...] = (
    ("app.next_error", has_error), ("app.next_break", has_break), ("app.next_recompile", lambda compile_: compile_.is_recompile),
)  # fmt: skip
ERROR, BREAK, RECOMPILE = (command for command, _ in WALKS)
WHERE = "app.view_where"
RUNTIME = "app.view_runtime"


def _start(page: Page, run: Run, summary: Summary, pace: Pace, culprits: Sequence[RunFailure], at_end: Where | None) -> None:
    """Add one to four links to relevant facts, the most severe first."""
    is_named = any(culprit.ranks for culprit in culprits)
    ended, last = _ended(run, culprits), ending_failure(run)
    failed = [hint for hint in _failed(summary, last) if hint.ref not in {item.ref for item in ended}]
    if is_named:
        wrong = [*ended, *failed]
    elif last is not None and last in culprits:  # otherwise a failed compile may have ended the job
        wrong = [*_stuck(run, summary, at_end), *ended, *failed]
    else:
        wrong = [*failed, *_stuck(run, summary, at_end), *ended]
    apart, late = _differing_ranks(run, summary), _straggler(run, pace)
    wrong += late + apart if pace.extra else apart + late  # a compile that others do not have explains the difference
    wrong += _measured(run)
    wrong += _slowed(summary)
    recorded = [Hint("@where", text, "tltui where", WHERE)] if (text := dumps_sentence(run)) else []
    wrong += _warned(run) + _without_graphs(summary) + _printed(run, summary)
    hints = wrong + recorded + _most_expensive(summary, is_alone=not wrong)
    if title_of(run.processes()) == AUTOTUNE_CACHE:
        hints = [Hint("@autotune", "Configurations of Triton kernels in Inductor's cache.", "tltui autotune")]
    elif not wrong:
        hints = hints or _first(run, summary)
        read = " in the readable part" if run.damaged or run.failures else ""
        well = page.so_far(f"No error, graph break or recompile{read}.")
        hints[:1] = [hint._replace(text=f"{well} {hint.text}") for hint in hints[:1]]
    if not hints:
        return
    page.heading(START)
    leads = _targets_of_keys(run)
    page.begin_here()
    for hint in hints[:STARTS]:
        _add_hint(page, hint, leads)
        if hint.fix and run.is_read:
            _add_fix(page, run, hint)
    _add_legend(page, hints[:STARTS])


def _targets_of_keys(run: Run) -> dict[str, str]:
    """Map keys to the pages that they open from the run."""
    firsts = ((command, next_compile(run, None, targets)) for command, targets in WALKS)
    return {WHERE: "@where", RUNTIME: "@runtime", **{command: str(first.ref) for command, first in firsts if first is not None}}


def _add_hint(page: Page, hint: Hint, leads: dict[str, str]) -> None:
    label, shell = _hint_label(page.options, hint)
    if leads.get(hint.walk) == hint.ref and key_of(page.options, hint.walk):
        press = key_hint(page.options, hint.walk)
    else:
        view = hint.shell.removeprefix("tltui ")
        press = link_hint(page.options, hint.ref, _with_path(shell, page.options.path), f"@{view}" if view in BY_NAME else "")
    is_long = len(press[0]) > page.width * LONG_HINT
    lines = fmt.wrap(hint.text, page.width - 6 - len(label) - (0 if is_long else len(press[0])))
    for n, line in enumerate([*lines, ""] if is_long else lines):
        is_last = n == len(lines) - (not is_long)
        tail: list[Piece] = ["  " * bool(line), press] if is_last else []
        head: Piece = (label, tokens.LINK, hint.ref) if n == 0 else " " * len(label)
        page.add("  ", *([head, "  "] if label else []), line, *tail)


def _add_fix(page: Page, run: Run, hint: Hint) -> None:
    """Add the fix of a suggestion below it; the page that the suggestion leads to has it whole."""
    from tltui.questions.overview.fix_sections import LABELS, MORE, fix_at, fix_lines

    fix = fix_at(run, hint.ref, hint.fix, hint.headline)
    if not fix.advice:
        return
    label, _ = _hint_label(page.options, hint)
    indent, head = " " * (4 + len(label) if label else 2), LABELS[hint.fix]
    drawn = fix._replace(
        advice=page.drawn(fix.advice), effect=page.drawn(fix.effect), changes=tuple(map(page.drawn, fix.changes))
    )
    more = page.drawn(MORE)
    for n, line in enumerate(fix_lines(drawn, page.width - len(indent) - len(head), more)):
        before, link, after = line.partition(more)
        leads: list[Piece] = [(link, tokens.LINK, f"@recompiles:{fix.function}"), after] if link else []
        page.add(indent, (head if n == 0 else " " * len(head), tokens.LABEL), before, *leads)


def _with_path(shell: str, path: str) -> str:
    """Return a command with the path of the run: `tltui diff PATH 0:0/0 1:0/0`."""
    program, command, *refs = shell.split(" ")
    return " ".join([program, command, path, *refs])


def _add_legend(page: Page, hints: Sequence[Hint]) -> None:
    """Add the meaning of the first address of the suggestions."""
    for ref in (parse_ref(hint.ref) for hint in hints):
        if ref.view or ref.id is None or ref.id.autograd is not None or ref.id.frame is None or ref.id.compile is None:
            continue
        text = f"Compile ids: [{ref}] is compile {ref.id.compile} of function {ref.id.frame} (both numbers start at 0)"
        text += f" in epoch {ref.id.epoch}" if ref.id.epoch else ""
        process = f", process {ref.process}" if ref.process is not None else ""
        if ref.rank == NORANK:
            text += f"{process} of those without a rank" if process else ", without a rank"
        elif ref.rank is not None:
            text += f" on rank {ref.rank}{process}"
        page.say(f"{text}.", "  ", tokens.DIM)
        return


def _hint_label(options: Options, hint: Hint) -> tuple[str, str]:
    """Return the first column of a suggestion, and the command with more about it.

    The first column is the address of a node. A page without one is a link on a screen, and only the command in print.
    """
    target = parse_ref(hint.ref)
    if not target.view or target.view == "runtime":
        return f"[{hint.ref.removeprefix('@runtime:')}]", hint.shell
    is_comparison = target.view == "diff"
    label = f"→ {'compare' if is_comparison else target.view}" if key_of(options, FOLLOW) else ""
    command = f"tltui diff {target.artifact}"
    return label, command if is_comparison and len(command) <= options.width // 2 else hint.shell


def _ended(run: Run, culprits: Sequence[RunFailure]) -> list[Hint]:
    """Return a link to the compile of the first culprit, or to its error's page, with the next step."""
    if not culprits:
        return []
    first = culprits[0]
    if first.compile and first.ranks:
        rank = first.ranks if first.rank is None else first.rank
        text = f"the compile that failed on rank {rank}" if first.open is None else f"the compile in progress on rank {rank}"
        return [Hint(first.compile, text, "tltui where")]
    text = next_step_of(run, first) or "how the job ended: errors, tracebacks and exit codes"
    return [Hint("@problems", text, "tltui problems")]


def _failed(summary: Summary, last: RunFailure | None = None) -> list[Hint]:
    """Return links to the first failed compile and to fallbacks to eager mode. `last`: the exception at the end of the output."""
    hints: list[Hint] = []
    if summary.errors:
        first = summary.errors[0]
        where = f" in {first.function}" if first.function else ""
        count = sum(error.count for error in summary.errors)
        how = "was interrupted" if first.type == INTERRUPTED else f"with {first.type}" if count > 1 else f"failed with {first.type}"
        how = how.replace("with failure", "at the recompile limit") if first.recompile_limit_hit else how
        many = f"{fmt.plural(count, 'compile')} failed, the first " if count > 1 else ""
        ref, text = first.ref, f"{many}{how}{where}"
        most = max(summary.errors, key=lambda error: error.functions)
        if most.functions > 1:
            share = "all" if most.count == count else f"{fmt.count(most.count)} of them"
            same = f"with the same {most.type} in {fmt.count(most.functions)} functions"
            ref, text = most.ref, f"{fmt.plural(count, 'compile')} failed, {share} {same}"
        ending = next((error for error in summary.errors if last is not None and error.ref == last.compile), None)
        if ending is not None and count > 1:
            name = f" in {ending.function}" if ending.function else ""
            others = fmt.plural(count - 1, "other compile")
            ref, text = ending.ref, f"the output of the job ends with {ending.type}{name}; {others} failed"
        hints.append(Hint(ref, text, "tltui problems", ERROR, "failure"))
    fallen_back = [line for line in summary.eager if not line.recompile_limit_hit]
    limits = [line for line in summary.eager if line.recompile_limit_hit]
    if fallen_back:
        name, count = fallen_back[0].function or "a function", len({(line.function, line.file) for line in fallen_back})
        count += sum(line.functions - 1 for line in fallen_back)
        text = f"{f'{count} functions' if count > 1 else name} fell back to eager mode"
        first_eager = fallen_back[0]
        fix = ("break", headline_of(first_eager.reason)) if first_eager.eager_reason is Eager.SKIPPED else ("failure", "")
        hints.append(Hint(first_eager.ref, text, "tltui problems", ERROR, *fix))
    if limits:
        name = limits[0].function or "a function"
        text = f"{name} hit the recompile limit: calls that match none of its compiled versions run in eager mode"
        hints.append(Hint(limits[0].ref, text, "tltui recompiles", ERROR, "recompiles"))
    return hints


def _stuck(run: Run, summary: Summary, at_end: Where | None) -> list[Hint]:
    if not run.finished:
        if run.is_read and (doing := open_now(run)):
            return [Hint("@where", doing, "tltui where", WHERE)]
        running = summary.tally.counted(Status.RUNNING) if run.is_read else 0
        verb = "is" if running == 1 else "are"
        text = f"{fmt.plural(running, 'compile')} {verb} running: phases, start times and ranks"
        return [Hint("@where", text, "tltui where", WHERE)] if running else []
    if not summary.unfinished:
        return []
    ref, sentence = open_at_end(at_end)
    if ref:
        return [Hint(ref, sentence, "tltui where")]
    last = summary.unfinished[0]
    count = summary.unfinished_count
    name = last.code.shown or "a frame"
    rest = f", {'among them' if len(summary.unfinished) > 1 else 'the last is'} {name}"
    text = f"{name} did not finish compiling" if count == 1 else f"{fmt.plural(count, 'compile')} did not finish{rest}"
    if last.open_phase is not None:
        text += f"; {'its backward' if last.is_backward else 'it'} was {open_phase(last.open_phase)}"
    return [Hint(last.ref, text, "tltui where")]


def _differing_ranks(run: Run, summary: Summary) -> list[Hint]:
    result = leading_sentence(run, summary.rank_differences) if summary.rank_differences is not None else None
    return [Hint(*result, "tltui ranks")] if result is not None else []


def _straggler(run: Run, pace: Pace) -> list[Hint]:
    result = worst(run, pace)
    return [Hint(*result, "tltui stragglers")] if result is not None else []


def _measured(run: Run) -> list[Hint]:
    """Return the largest run-time costs from a profile."""
    ref, text = costliest_finding(run)
    return [Hint(str(parse_ref(ref).at("runtime")), text.removeprefix(f"[{ref}] "), "tltui runtime", RUNTIME)] if text else []


def _slowed(summary: Summary) -> list[Hint]:
    hints: list[Hint] = []
    if summary.breaks and summary.tally.breaks > summary.tally.skipped_frames:  # the others are why functions run in eager mode
        place = summary.breaks[0]
        location = (place.user_file, place.user_line) if place.user_file else (place.file, place.line)
        at = f", {fmt.place(*location)}" if location[0] else ""
        breaks = summary.tally.breaks
        is_first = len(summary.breaks) == 1 or place.count > summary.breaks[1].count
        how = "" if place.count == breaks else "most common: " if breaks == summary.breaks_read and is_first else "for example: "
        text = f"{fmt.plural(breaks, 'graph break')}, {how}{place.headline}{at}"
        hints.append(Hint(place.first_ref, text, "tltui problems", BREAK, "break", place.headline))
    worst = summary.most_recompiled
    if worst is not None and not worst.limit_hit and (worst.recompiles > 1 or not hints):
        text = f"{worst.code.shown or 'a frame'} was recompiled {_times(worst.recompiles)}{fmt.took(worst.recompile_s, ': ')}"
        hints.append(Hint(worst.newest_ref, text, "tltui recompiles", RECOMPILE, "recompiles"))
    return hints


def _most_expensive(summary: Summary, is_alone: bool) -> list[Hint]:
    """Return the longest compiles.

    With a single function only if there is no other hint.
    """
    if not summary.costs or not (is_alone or len(summary.costs) > 1):
        return []
    top = summary.costs[0]
    share = fmt.percent(top.compile_s, summary.tally.compile_s)
    name = top.code.shown or "one frame"
    text = f"Most expensive: {name}, {share} of the compile time ({fmt.seconds(top.slowest_s)} in this compile)"
    return [Hint(top.slowest_ref, text, "tltui timing")]


def _first(run: Run, summary: Summary) -> list[Hint]:
    """Return the first compile, for a run without times."""
    first = next(in_order(run), None)
    number = summary.tally.compiles
    text = "The only compile." if number == 1 else f"First of {fmt.count(number)} compiles."
    return [] if first is None else [Hint(str(first.ref), text, "tltui ls")]


def _warned(run: Run) -> list[Hint]:
    """Return a link to the warnings in the output."""
    warnings = output_warnings(run)
    return [Hint("@problems", f"{warnings[0].title}: torch's warning in the output", "tltui problems")] if warnings else []


def _without_graphs(summary: Summary) -> list[Hint]:
    """Return a link to the most frequent reason for which CUDA graphs were skipped or recorded too often."""
    if not summary.cudagraph_skips:
        return []
    reason = fmt.clip(sanitize(fmt.one_line(summary.cudagraph_skips[0].name)), REASON_SHOWN)
    return [Hint("@cudagraphs", f"CUDA graphs are not used as intended: {reason}", "tltui cudagraphs")]


def _printed(run: Run, summary: Summary) -> list[Hint]:
    """Return links to the tables of autotuning and the start-ups of engines in an output without a compile."""
    if summary.tally.compiles or not any(model.form == TEXT for model in run.models):
        return []
    from tltui.questions.autotune.autotune_report import report_of
    from tltui.questions.autotune.page import headline
    from tltui.questions.vllm.startup import has_startup, longest_step, startups_of

    hints: list[Hint] = []
    for startup in startups_of(run) if has_startup(run) else ():
        if (step := longest_step(startup)) is not None and step.duration_s:
            name = sanitize(f"{step.step} {step.subject}".strip())
            hints.append(Hint("@vllm", f"the longest step of the start-up is {name}: {fmt.seconds(step.duration_s)}", "tltui vllm"))
    report = report_of(run, [])
    return [*hints, Hint("@autotune", headline(report), "tltui autotune")] if report.tunings else hints


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _profiles(page: Page, run: Run) -> None:
    """Add the torch.profiler files that were not read; only run-time pages read them."""
    if not (unread := run.profiles.unread):
        return
    page.heading("Profiles")
    for file in unread[:FILES_NAMED]:
        page.labelled("not read", f"{fmt.home(file.export.name)} ({fmt.size_of(file.export.size)})", gap=9)
    if len(unread) > FILES_NAMED:
        page.add("  ", f"and {len(unread) - FILES_NAMED:,} more")
    page.add("  run time from profiles: ", to_page("runtime", "@runtime"))


def _damage(page: Page, run: Run) -> None:
    """Add the unreadable and unopened inputs."""
    skipped, notes, failed = run.discovered.skipped, run.discovered.notes, failed_files(run)
    if not run.damaged and not skipped and not notes and not failed:
        return
    page.heading("Not read")
    if run.damaged:
        page.add("  ", (fmt.plural(run.damaged, "damaged place"), tokens.LINK, "@damage"), " in the logs")
    for file in failed[:FILES_NAMED]:
        label = "cut off" if file.path in run.failures else "damaged"
        page.labelled(label, f"{fmt.home(file.path)}: {file.reason}{of_ranks(file.ranks)}", gap=9, style=tokens.ERROR)
    for item in skipped[:FILES_NAMED]:
        page.labelled("skipped", f"{fmt.home(item.path)}: {item.reason}", gap=9)
    if len(skipped) > FILES_NAMED:
        page.add("  ", (f"and {len(skipped) - FILES_NAMED} more", tokens.LINK, "@damage"))
    for note in notes:
        page.say(note, "  ")
