"""The first screen: what happened in this run, and where to start."""

from __future__ import annotations

from dataclasses import replace

from tltui.analyses.problems.failures import INTERRUPTED
from tltui.analyses.ranks.diverging import diverging
from tltui.analyses.summary import Summary, summarise
from tltui.analyses.torch_version import version_of
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.ranks import add_ranks, told
from tltui.documents.parts.summary import (
    add_breaks,
    add_caches,
    add_costs,
    add_counts,
    add_eager,
    add_errors,
    add_recompiled,
    add_unfinished,
    standing,
)  # fmt: skip
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument

RANKS_NAMED = 12
FILES_NAMED = 8


def run_document(run: Run, options: Options) -> TextDocument:
    """The overview of everything that was opened."""
    summary = replace(summarise(run.processes()), diverging=diverging(run))
    page = Page("", run.title, options)
    page.add((fmt.clip_middle(run.title, page.width), tokens.TITLE))
    _head(page, run, summary)
    if not run.is_read:
        share = fmt.percent(min(run.scanned, run.size), run.size)
        what = f"still reading: {share} of {fmt.size_of(run.size)} so far, everything below is preliminary"
        page.say(what, "", tokens.WARN)
    elif page.goes_on and run.models:
        page.more("everything below is preliminary")
    if not run.models:
        _no_records(page, run)
    elif summary.tally.compiles:
        add_counts(page, summary.tally)
    elif run.finished:
        _no_compiles(page, run)
    _start(page, run, summary)
    add_ranks(page, summary.diverging)
    add_errors(page, summary)
    add_eager(page, summary)
    add_unfinished(page, summary, finished=run.finished)
    add_breaks(page, summary)
    add_recompiled(page, summary)
    add_costs(page, summary, 3, "Most expensive functions")
    add_caches(page, summary)
    _damage(page, run)
    return page.document(summary)


def _head(page: Page, run: Run, summary: Summary) -> None:
    ranks = run.ranks
    versions = summary.versions
    words: list[Piece] = []
    if versions:
        words.append("torch " + ", ".join(versions[:3]) + (" and more" if len(versions) > 3 else ""))
    elif (first := next((p for rank in ranks for p in rank.processes), None)) and (told := version_of(first).told):
        page.say(told)
    numbered = [rank for rank in ranks if rank.number is not None]
    if numbered:
        words.append(fmt.plural(len(numbered), "rank"))
    processes = sum(len(rank.processes) for rank in ranks)
    if processes > max(len(numbered), 1):
        words.append(fmt.plural(processes, "process", "processes"))
    launches = {model_launch for p in run.processes() if (model_launch := p.launch)}
    if len(launches) > 1:
        words.append(fmt.plural(len(launches), "launch", "launches"))
    if summary.tally.compiles:
        words.append(fmt.plural(summary.tally.compiles, "compile"))
    if summary.tally.seconds:
        together = " in all ranks together" if len(numbered) > 1 else ""
        words.append(f"{fmt.seconds(summary.tally.seconds)} of compiling{together}")
    page.joined(words)
    if summary.start is not None and summary.end is not None:
        span = fmt.seconds(max(summary.end - summary.start, 0.0) / 1e6)
        what = f"{span} from the first compile to the end of the last, beginning {fmt.when(summary.start)}"
        page.say(what, "", tokens.DIM)
    again = summary.forgotten
    if again is not None:
        what = f"{again.epochs} epochs: ids begin again after torch._dynamo.reset(), which throws all compiles away"
        page.say(what, "", tokens.WARN)
        if again.compiles:
            functions = "one function" if again.functions == 1 else f"{fmt.count(again.functions)} functions"
            what = f"{functions} compiled again for that: {fmt.plural(again.compiles, 'compile')}, {fmt.seconds(again.seconds)}"
            page.row([f"{what},", " the last ", (f"[{again.newest}]", tokens.LINK, again.newest)])


def _no_records(page: Page, run: Run) -> None:
    """A job that runs, or ran, and left no log."""
    where = fmt.home(run.found.paths[0])
    if run.is_awaited:
        page.say(f"Waiting for the first record in {where}.", "", tokens.RUNNING)
        page.say("torch writes it when it compiles for the first time.")
    else:
        why = "nothing was compiled, or what the job was started with did not reach it"
        page.say(f"There is no log in {where}: {why}.", "", tokens.WARN)
    if run.found.outputs:
        page.blank()
        page.add(("@output", tokens.LINK, "@output"), "  what the job printed  ", ("press O", tokens.KEY))


def _no_compiles(page: Page, run: Run) -> None:
    records = sum(process.records for process in run.processes())
    if not records:
        page.say("There are no records.", "", tokens.WARN)
        return
    page.blank()
    count = fmt.plural(records, "record")
    page.say(
        f"No compile of a Python frame is in this trace. Its {count} have no compile id, as torch.export and "
        "AOTInductor write them."
    )
    for process in list(run.processes())[:RANKS_NAMED]:
        for compile_ in process.ordered():
            ref = str(compile_.ref)
            page.add("  ", (ref, tokens.LINK, ref), "  ", (fmt.plural(len(compile_.records), "record"), tokens.DIM))


Hint = tuple[str, str, str]
"""An address, a fact, the key to press."""


def _start(page: Page, run: Run, summary: Summary) -> None:
    """One to four things to look at, each for a fact."""
    hints = _failed(summary) + _stuck(run, summary) + _parted(summary) + _slowed(summary)
    if not hints:
        return
    page.heading("Start here")
    for ref, what, key in hints[:4]:
        link, press = "[compare]" if ref.startswith("@diff") else f"[{ref}]", key if key == "enter" else f"press {key}"
        lines = fmt.wrap(what, page.width - 6 - len(link) - len(press))
        for n, line in enumerate(lines):
            tail: list[Piece] = ["  ", (press, tokens.KEY)] if n == len(lines) - 1 else []
            page.add("  ", (link, tokens.LINK, ref) if n == 0 else " " * len(link), "  ", line, *tail)


def _failed(summary: Summary) -> list[Hint]:
    hints: list[Hint] = []
    if summary.errors:
        first = summary.errors[0]
        where = f" in {first.function}" if first.function else ""
        count = sum(error.count for error in summary.errors)
        how = "was interrupted" if first.type == INTERRUPTED else f"with {first.type}" if count > 1 else f"failed with {first.type}"
        many = f"{fmt.plural(count, 'compile')} failed, the first " if count > 1 else ""
        hints.append((first.ref, f"{many}{how}{where}", "e"))
    given_up = [line for line in summary.eager if not line.recompile_limit]
    limits = [line for line in summary.eager if line.recompile_limit]
    if given_up:
        name, count = given_up[0].function or "a function", len({(line.function, line.file) for line in given_up})
        many = f"{count} functions run" if count > 1 else f"{name} runs"
        what = f"{many} in eager mode: torch gave {'them' if count > 1 else 'it'} up"
        hints.append((given_up[0].ref, what, "enter" if hints else "e"))
    if limits:
        name = f" of {limits[0].function}" if limits[0].function else ""
        what = f"the recompile limit{name} was reached: calls that fit no earlier compile run in eager mode"
        hints.append((limits[0].ref, what, "r" if hints else "e"))
    return hints


def _stuck(run: Run, summary: Summary) -> list[Hint]:
    if not run.finished:
        running = summary.tally.counted(Status.RUNNING) if run.is_read else 0
        verb = "is" if running == 1 else "are"
        what = f"{fmt.plural(running, 'compile')} {verb} running: in which phase, since when, on which ranks"
        return [("@where", what, "W")] if running else []
    if not summary.unfinished:
        return []
    last = summary.unfinished[0]
    count = summary.tally.missing
    name = last.code.shown or "a frame"
    what = f"{fmt.plural(count, 'compile')} did not finish; the last is {name}"
    if last.doing is not None:
        what += f": it stood {standing(last.doing)}"
    return [(last.ref, what, "enter")]


def _parted(summary: Summary) -> list[Hint]:
    found = summary.diverging
    return [(*told(found), "enter")] if found is not None and found.count else []


def _slowed(summary: Summary) -> list[Hint]:
    hints: list[Hint] = []
    if summary.breaks and summary.tally.breaks > summary.tally.skips:  # the others are why functions run in eager mode
        place = summary.breaks[0]
        own = (place.user_file, place.user_line) if place.user_file else (place.file, place.line)
        at = f", {fmt.place(*own)}" if own[0] else ""
        breaks = summary.tally.breaks
        how = "" if breaks == 1 else "most often: " if breaks == summary.breaks_read else "for example: "
        hints.append((place.first, f"{fmt.plural(breaks, 'graph break')}, {how}{place.headline}{at}", "b"))
    worst = summary.recompiled
    if worst is not None and not worst.limit_hit and (worst.recompiles > 1 or not hints):
        what = f"{worst.code.shown or 'a frame'} was recompiled {_times(worst.recompiles)}: {fmt.seconds(worst.seconds)}"
        hints.append((worst.last, what, "r"))
    if summary.costs and (len(summary.costs) > 1 or not hints):
        top = summary.costs[0]
        share = fmt.percent(top.seconds, summary.tally.seconds)
        name = top.code.shown or "one frame"
        what = f"{share} of the compile time went into {name}, {fmt.seconds(top.slowest_s)} of it here"
        hints.append((top.slowest, what, "enter"))
    return hints


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _damage(page: Page, run: Run) -> None:
    """What could not be read, and what was not opened."""
    skipped, notes = run.found.skipped, run.found.notes
    if not run.damaged and not skipped and not notes and not run.failures:
        return
    page.heading("Not read")
    if run.damaged:
        page.add("  ", (fmt.plural(run.damaged, "damaged place"), tokens.LINK, "@damage"), " in the logs")
    for path, reason in list(run.failures.items())[:FILES_NAMED]:
        page.labelled("cut off", f"{fmt.home(path)}: {reason}", gap=9, style=tokens.ERROR)
    for item in skipped[:FILES_NAMED]:
        page.labelled("skipped", f"{fmt.home(item.path)}: {item.reason}", gap=9)
    if len(skipped) > FILES_NAMED:
        page.add("  ", (f"and {len(skipped) - FILES_NAMED} more", tokens.LINK, "@damage"))
    for note in notes:
        page.say(note, "  ")
