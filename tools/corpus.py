"""Apply every remedy that tltui prints to the programs of tests/live/corpus, run them again, and compare with its predictions.

    python tools/corpus.py [--jobs N] [--table FILE] [NAME ...]

Needs torch and the libraries of the programs, in the `python` on PATH or in that of TLTUI_TORCH_PYTHON. A program without its
library is listed as skipped. Runs are kept in build/corpus: a second call repeats only what has changed, and computes predictions
and table again. A second call at the same time ends with exit code 2.
`--table FILE` writes the table of all programs whose runs are kept.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpus_edits import EDITS
from corpus_runs import Application, Ended, FrameKey, InUse, Mark, NotRun, frame_keys, lines_of, lock, run_of, run_program
from corpus_table import table

from tltui.model.run import Run
from tltui.questions.recompiles.dynamic_sources import CONFIGS
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.frame_recompiles import FrameRecompiles, frame_recompiles, frames_of, recompiles_of
from tltui.questions.recompiles.guard_table import guards_of
from tltui.questions.recompiles.predictions import Prediction
from tltui.questions.recompiles.recompile_sections import ALL_DYNAMIC
from tltui.questions.recompiles.variations import Variation, name_of_cause
from tltui.questions.trials.changes import Change
from tltui.questions.trials.outcomes import compare
from tltui.running.trial import changes_of
from tltui.text.steps import run_steps

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "live" / "corpus"
RUNS = ROOT / "build" / "corpus"
FAILED = ("wrong", "broke", "unmarked")


@dataclass(frozen=True)
class Trial:
    """A remedy or a set of them, with what the page predicts."""

    label: str
    how: Application
    frame: FrameKey | None
    """None: the prediction is about the whole program, as `tltui try` makes it."""
    fewest: int | None
    most: int | None
    expected: int | None
    before: int
    condition: str = ""
    """The reason for a range: a key of `predictions.DOUBTS`; '' for none, or several."""


def main() -> int:
    """Run the programs; print what each did. Returns 1 if a prediction or a claim is wrong, or a remedy breaks a program.

    Returns 2 if another process uses the directory of the runs.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table of all programs as Markdown")
    parser.add_argument("--kept", action="store_true", help="run nothing: only compute predictions and results of kept runs again")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in PROGRAMS.glob("*.py"))
    RUNS.mkdir(parents=True, exist_ok=True)
    try:
        locked = lock(RUNS)
    except InUse as reason:
        print(f"tools/corpus.py: {reason}", file=sys.stderr)
        return 2
    failed = False
    with locked, ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
        running = {pool.submit(examine, name, RUNS, options.kept): name for name in names}
        for done in as_completed(running):
            report = done.result()
            (RUNS / f"{report['program']}.json").write_text(json.dumps(report, indent=1))
            failed |= bool(report.get("false_only")) or any(trial["verdict"] in FAILED for trial in report.get("trials", ()))
            print(json.dumps(report) if report.get("skipped") else "\n".join(_lines(report)), flush=True)
    if options.table:
        options.table.write_text(table([_kept(path.stem) for path in sorted(PROGRAMS.glob("*.py"))]))
    return int(failed)


def _kept(name: str) -> dict[str, Any]:
    """Return the kept report of a program."""
    path = RUNS / f"{name}.json"
    report: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"program": name, "skipped": "not run"}
    return report


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield a report for the eye."""
    yield f"{report['program']}: {report['recompilations']} recompilations, {report['explained']} with a remedy or a reason"
    for trial in report["trials"]:
        predicted = f"{trial['fewest']}–{trial['most']}" if trial["fewest"] is not None else "-"
        effect = f"{trial['before']} → {trial['actual']} (predicted {predicted})"
        yield f"   {trial['verdict']:<9} {trial['label'][:110]}: {effect} {trial['problem']}"
    for line in (*report["not_applied"], *report["false_only"]):
        yield f"   {line}"


def examine(name: str, place: Path = RUNS, is_kept: bool = False) -> dict[str, Any]:
    """Run a program unchanged and with each remedy; return the report.

    `place`: the directory of the runs; `is_kept`: without new ones.
    """
    program = PROGRAMS / f"{name}.py"
    title = ast.get_docstring(ast.parse(program.read_text())) or ""
    report: dict[str, Any] = {"program": name, "title": title.split("\n")[0]}
    try:
        return report | _examined(program, place, is_kept)
    except NotRun:
        return report | {"skipped": "not run"}
    except Exception:
        return report | {"skipped": "".join(traceback.format_exc())[-900:]}


def _examined(program: Path, place: Path, is_kept: bool) -> dict[str, Any]:
    unchanged = [run_program(program, place, how, is_kept) for how in (Application(), Application(reports_guards=True))]
    if unchanged[0].code:
        return {"skipped": unchanged[0].problem}
    run = run_of(Path(unchanged[0].directory))
    if run is None:
        return {"skipped": "nothing was compiled"}
    keys = frame_keys(run)
    frames = _frames(run)
    results: list[dict[str, Any]] = []
    not_applied: list[str] = []
    of_pages = _of_one_rank(_of_pages(program.stem, frames, keys, not_applied))
    for trial in (*of_pages, *(trial for trial in _trials(run) if not _is_marked(trial, of_pages))):
        try:
            ended = run_program(program, place, trial.how, is_kept)
        except NotRun:
            not_applied.append(f"not run: {trial.label}")
            continue
        results.append(_result(trial, unchanged, ended))
    false, checked = _false_claims(frames, lines_of(Path(unchanged[1].directory), "guards"))
    causes = [(frame, recompile) for frame in frames for recompile in frame.recompiles]
    return {
        "recompilations": unchanged[0].counts.recompilations, "graph_breaks": unchanged[0].counts.graph_breaks,
        "varies": unchanged[0].frames != unchanged[1].frames,
        "explained": sum(_is_explained(frame, recompile.ref) for frame, recompile in causes),
        "unexplained": [recompile.ref for frame, recompile in causes if not _is_explained(frame, recompile.ref)],
        "claims": checked, "false_only": false, "not_applied": not_applied, "trials": results,
    }  # fmt: skip


def _frames(run: Run) -> list[FrameRecompiles]:
    """Return the frames as the page `recompiles` has them."""
    results = []
    for frame, _ in frames_of(run.compiles()):
        explained = [explained_of(compile_) for compile_ in recompiles_of(frame)]
        results.append(frame_recompiles(frame, explained, explained, run_steps(guards_of(frame, explained))))
    return results


def _trials(run: Run) -> Iterator[Trial]:
    """Yield the changes of `tltui try` with its predictions."""
    proposed, predictor = changes_of(run)
    for change in proposed:
        fewest, most = change.predicted or (None, None)
        yield Trial(change.title, Application(change), None, fewest, most, change.expected, predictor.before, change.condition)


def _of_one_rank(trials: Iterator[Trial]) -> list[Trial]:
    """Return trials without those of a second rank with equal predictions."""
    different: dict[tuple[object, ...], Trial] = {}
    for trial in trials:
        frame = trial.frame[1:] if trial.frame is not None else None
        different.setdefault((trial.label, trial.how, frame, trial.fewest, trial.most), trial)
    return list(different.values())


def _is_marked(trial: Trial, others: Sequence[Trial]) -> bool:
    """Return whether a change lists sources that another trial marks: the effect is the same, and each run takes a while."""
    return bool(trial.how.change.environment) and any(other.how.marks or other.how.change.environment for other in others)


def _of_pages(
    program: str, frames: Sequence[FrameRecompiles], keys: dict[str, FrameKey], not_applied: list[str]
) -> Iterator[Trial]:
    """Yield the remedies of the page `recompiles`, alone and together."""
    for frame in frames:
        ways: dict[tuple[str, str], Application] = {}
        for variation in frame.variations:
            name = name_of_cause(variation.cause, variation.source, variation.dim)
            if variation.prediction is None or not variation.remedy:
                continue
            how = _application(program, frame, variation, name)
            if how is None:
                not_applied.append(f"no edit: [{frame.ref}] {frame.function} {name} ({variation.remedy}): {variation.advice}")
                continue
            ways[(name, variation.remedy)] = how
            if not variation.covered_by:
                yield _trial(f"{frame.function}: {name} ({variation.remedy})", how, keys[frame.ref], variation.prediction)
        together = frame.together
        if together is not None:
            parts = [ways.get(key) for key in zip(together.names, together.remedies, strict=True)]
            present = [part for part in parts if part is not None]
            label = f"{frame.function}: {' + '.join(together.names)} (together)"
            if len(present) == len(parts):
                how = sum(present[1:], present[0])
                yield _trial(label, replace(how, change=replace(how.change, title="")), keys[frame.ref], together)
            else:
                not_applied.append(f"no edit: [{frame.ref}] {label}")
        if frame.all_dynamic is not None and "dynamic=False" not in (PROGRAMS / f"{program}.py").read_text():
            yield _trial(f"{frame.function}: {ALL_DYNAMIC}", Application(DYNAMIC), keys[frame.ref], frame.all_dynamic)


DYNAMIC = Change(ALL_DYNAMIC, arguments=(("dynamic", True),))


def _trial(label: str, how: Application, key: FrameKey, prediction: Prediction) -> Trial:
    return Trial(label, how, key, prediction.fewest, prediction.most, prediction.expected, prediction.before, prediction.condition)


VARIABLES = {config: variable for variable, config in CONFIGS.items()}
_SETTING = re.compile(r"^(torch\.[\w.]+) = (.+)$")
_CALL = re.compile(r"^torch\._dynamo\.[\w.]+\(.*\)$")


def _application(program: str, frame: FrameRecompiles, variation: Variation, name: str) -> Application | None:
    """Return how a remedy is carried out: by settings, by calls before each compile of the frame, or by an edit of this corpus."""
    edits = EDITS.get((program, name, variation.remedy))
    if edits is not None:
        return Application(edits=tuple(edits))
    if variation.remedy == "dynamic=True" and "dynamic=False" in (PROGRAMS / f"{program}.py").read_text():
        return Application(edits=(("dynamic=False", "dynamic=True"),))
    if variation.remedy == "dynamic=True":
        return Application(DYNAMIC)
    settings, calls, variables = [], [], []
    for line in variation.code:
        if (match := _SETTING.match(line)) and match[1] in VARIABLES:
            variables.append((VARIABLES[match[1]], ast.literal_eval(match[2])))
        elif match:
            settings.append((match[1], ast.literal_eval(match[2])))
        elif _CALL.match(line) and variation.remedy != "wider mark":
            calls.append(line)
        elif not line.startswith("import "):
            return None
    marks = (Mark(frame.function or "", frame.line or 0, tuple(calls)),) if calls else ()
    change = Change("", config=tuple(settings), environment=tuple(variables))
    return Application(change, marks) if settings or calls or variables else None


def _result(trial: Trial, unchanged: Sequence[Ended], ended: Ended) -> dict[str, Any]:
    """Compare a run with its prediction, and its numbers with those of the unchanged runs."""
    numbers = compare(unchanged[0].printed, unchanged[1].printed, ended.printed)
    actual = ended.counts.recompilations if trial.frame is None else ended.frames[trial.frame]
    verdict = "none"
    if trial.fewest is not None and trial.most is not None:
        is_in = trial.fewest <= actual <= trial.most
        verdict = "wrong" if not is_in else "exact" if trial.fewest == trial.most else "range"
    if ended.code:
        verdict = "broke"
    elif ended.problem:
        verdict = "unmarked"
    return {
        "label": trial.label, "before": trial.before, "fewest": trial.fewest, "most": trial.most, "actual": actual,
        "expected": trial.expected, "condition": trial.condition,
        "total": ended.counts.recompilations, "graph_breaks": ended.counts.graph_breaks, "verdict": verdict,
        "compared": numbers.compared, "differing": numbers.differing + numbers.missing, "relative": numbers.max_relative,
        "problem": ended.problem, "directory": ended.directory, "edited": bool(trial.how.edits),
    }  # fmt: skip


def _is_explained(frame: FrameRecompiles, ref: str) -> bool:
    """Return whether the page has a remedy with an effect, or a reason for none, for a recompilation."""
    return any(ref in variation.refs and variation.advice for variation in frame.variations)


def _false_claims(frames: Sequence[FrameRecompiles], reports: Sequence[dict[str, Any]]) -> tuple[list[str], int]:
    """Check each "only cause" against the guards that failed in torch's cache; return the false ones and the number of claims."""
    false: list[str] = []
    checked = 0
    for frame in frames:
        seen = [report for report in reports if (report["name"], report["line"]) == (frame.function, frame.line)]
        numbers = {recompile.ref: number for number, recompile in enumerate(frame.recompiles)}
        for variation in frame.variations:
            for ref in variation.only_cause_refs if variation.is_proven else ():
                number = numbers[ref]
                if len(seen) != len(numbers):
                    continue
                checked += 1
                texts = [text for texts in seen[number]["versions"] for text in texts
                         if not text.startswith("? ") and not _is_about(text, variation)]
                if texts:
                    false.append(f"not only {variation.cause} {variation.source} dim {variation.dim} in [{ref}]: {texts[:3]}")
    return false, checked


def _is_about(text: str, variation: Variation) -> bool:
    """Return whether a failed guard is one on the source of a variation."""
    plain = re.sub(r"L\['(\w+)'\]", r"\1", text)
    if variation.cause == "global state":
        return "global_state" in plain or "grad_mode" in plain or "torch_function" in plain
    return any(source in plain for source in variation.sources or (variation.source,))


if __name__ == "__main__":
    sys.exit(main())
