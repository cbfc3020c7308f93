"""The outcome of `tltui try` as a page."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.questions.recompiles.predictions import DOUBTS, other_outcomes
from tltui.questions.trials.outcomes import COUNTED, DURATIONS, Numbers, Outcome, TrialReport, helps, noise_of
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.formatting import micros
from tltui.text.sanitize import sanitize


def _ending(outcome: Outcome) -> Piece:
    if outcome.timed_out:
        return ("no time left", tokens.WARN)
    return ("" if outcome.exit_code == 0 else f"code {outcome.exit_code}", tokens.ERROR)


RUNS: Table[Outcome] = Table((
    Column("run", lambda outcome: (outcome.label, tokens.STRONG), shrinks=False),
    Column("recompiles", lambda outcome: fmt.count(outcome.counts.recompilations), right=True),
    Column("breaks", lambda outcome: fmt.count(outcome.counts.graph_breaks), right=True),
    Column("eager", lambda outcome: fmt.count(outcome.counts.eager_fallbacks), right=True, drop=2),
    Column("compiles", lambda outcome: fmt.count(outcome.counts.compiles), right=True, drop=3),
    Column("compile time", lambda outcome: fmt.seconds(outcome.counts.compile_s), right=True),
    Column("per step", lambda outcome: "" if outcome.step_s is None else micros(outcome.step_s * 1e6), right=True,
           when=lambda rows: any(row.step_s is not None for row in rows)),
    Column("whole job", lambda outcome: fmt.seconds(outcome.wall_s), right=True, drop=1),
    Column("", _ending),
))  # fmt: skip


def trial_document(report: TrialReport, options: Options) -> Document:
    """Return the comparison of all runs."""
    page = Page("@try", f"try {sanitize(' '.join(report.command))}", options)
    helping = [outcome for outcome in report.changed if helps(report, outcome)]
    page.say(_headline(report, helping), style=tokens.OK if helping else "")
    if report.keeps_caches:
        page.say("The runs shared your caches (--keep-caches): compile times depend on the order of the runs.", style=tokens.WARN)
    page.blank()
    page.table(RUNS, [*report.unchanged, *report.changed])
    for outcome in report.changed:
        page.blank()
        page.add((f"  {outcome.label}  ", tokens.STRONG), sanitize(outcome.change))
        if outcome.reason:
            page.say(f"For {sanitize(outcome.reason)}.", "     ", tokens.DIM)
        for sentence in sentences(report, outcome):
            page.say(sentence, "     ")
    if report.skipped:
        page.blank()
        page.say(f"Not run, because the budget was used up: {sanitize('; '.join(report.skipped))}.", style=tokens.WARN)
    return page.document(report)


def _headline(report: TrialReport, helping: Sequence[Outcome]) -> str:
    if not report.changed:
        return "No automatic change applies to this job. `tltui problems` and `tltui recompiles` list changes of the code."
    if not helping:
        return f"None of {fmt.plural(len(report.changed), 'change')} removed recompilations, graph breaks or eager fallbacks."
    best = min(helping, key=lambda run: (run.counts.recompilations + run.counts.graph_breaks, run.counts.compile_s))
    old, new = report.unchanged[0].counts, best.counts
    return (
        f"Best: {best.label}. Recompilations {old.recompilations} → {new.recompilations}, graph breaks {old.graph_breaks} → "
        f"{new.graph_breaks}, compile time {fmt.seconds(old.compile_s)} → {fmt.seconds(new.compile_s)}."
    )


def sentences(report: TrialReport, outcome: Outcome) -> list[str]:
    """Return the effect of a change, one sentence a quantity."""
    if outcome.unsupported:
        return [f"This torch version lacks {', '.join(outcome.unsupported)}: the run does not test the change."]
    if outcome.timed_out:
        return ["The budget ran out, so tltui ended this run early. The counts are incomplete."]
    texts = []
    if outcome.exit_code:
        texts.append(f"The job failed with this change (exit code {outcome.exit_code}). Its output: {outcome.directory}/output.txt")
    before = report.unchanged[0].counts
    pairs = [(name, count(before), count(outcome.counts)) for name, count in COUNTED.items()]
    changed = ", ".join(f"{name} {old} → {new}" for name, old, new in pairs if old != new)
    if changed:
        texts.append(f"{_capitalized(changed)}.")
    else:
        texts.append("As many recompilations, graph breaks and fallbacks as before.")
    if outcome.predicted and outcome.expected is not None:
        fewest, most = outcome.predicted
        others = other_outcomes(fewest, most, outcome.expected, DOUBTS.get(outcome.condition, ""))
        texts.append(f"Predicted from the guards: {fmt.plural(outcome.expected, 'recompilation')}{others}.")
    for name, duration in DURATIONS.items():
        noise, value = noise_of(report, duration), duration(outcome)
        if noise is None or value is None:
            continue
        if noise.has(value):
            texts.append(f"{_capitalized(name)}: no difference beyond the noise.")
        else:
            texts.append(f"{_capitalized(name)}: {fmt.seconds(noise.middle)} → {fmt.seconds(value)}.")
    if outcome.numbers is not None:
        texts += _numbers(outcome.numbers)
    return texts


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _numbers(numbers: Numbers) -> list[str]:
    """Return whether the numbers that the job printed stayed equal."""
    if not numbers.compared:
        vary = "the numbers that the job prints vary between unchanged runs" if numbers.varying else "the job prints no numbers"
        return [f"Results: unknown ({vary})."]
    if numbers.are_equal:
        return [f"Results: all {fmt.plural(numbers.compared, 'compared number')} in the output are equal."]
    parts = []
    if numbers.differing:
        parts.append(
            f"{numbers.differing} of {fmt.plural(numbers.compared, 'compared number')} differ, "
            f"by at most {numbers.max_relative:.2g} of the value"
        )
    if numbers.missing:
        parts.append(f"{fmt.plural(numbers.missing, 'number')} printed a different number of times")
    texts = [f"Results: {'; '.join(parts)}."]
    for example in numbers.examples:
        texts.append(f"{sanitize(example.line.strip())[:80]}: {example.before:g} → {example.after:g}")
    return texts
