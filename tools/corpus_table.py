"""The page docs/advice-corpus.md, made from the reports of tools/corpus.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tltui.questions.recompiles.predictions import DOUBTS

HEAD = """\
# What each remedy does to real programs

`tools/corpus.py` makes this page. The programs of tests/live/corpus use torch.compile as people do; most have tiny models made from
config objects. Each program was written before tltui's page about it was seen. The tool runs a program unchanged, applies every
remedy that `tltui recompiles` and `tltui try` print for it, one by one and in the sets that the page names, and runs it again.

- **predicted**: recompilations that the page predicts for the function, and `tltui try` for the program. `1 (1–4)`: the guards in
  the log do not decide it. 1 is the number that the page names first; 1–4 are all that it names.
- **after**: the recompilations that torch logged in that run.
- **numbers**: whether the program printed the same numbers, as `tltui try` compares them.

A mark (`mark_dynamic`, `mark_unbacked`) runs before each compile of the function, as if the program had called it before the call.
Remedies that are edits are in tools/corpus_edits.py. "Only cause": at each recompilation a hook evaluates all guards of the older
versions in torch's cache. The claim is false if a guard of another value failed too.

"""


def table(reports: Sequence[dict[str, Any]]) -> str:
    """Return the Markdown page of all programs."""
    ran = [report for report in reports if not report.get("skipped")]
    lines = [*_figures(ran), "", "## Ranges", "", *_ranges(ran), "", "## Programs", ""]
    lines += ["| program | remedy | before | predicted | after | numbers |", "| --- | --- | --: | --: | --: | --- |"]
    for report in reports:
        lines += _rows(report)
    lines += ["", "## Not applied", "", "Remedies in words for which the corpus has no edit, and remedies that were not run.", ""]
    for report in ran:
        lines += [f"- {report['program']}: {_cell(text.removeprefix('no edit: '), 160)}" for text in report["not_applied"]]
    return HEAD + "\n".join(lines) + "\n"


def _figures(reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the totals."""
    trials = [trial for report in reports for trial in report["trials"]]
    verdicts = Counter(trial["verdict"] for trial in trials)
    predicted = verdicts["exact"] + verdicts["range"] + verdicts["wrong"]
    recompilations = sum(report["recompilations"] for report in reports)
    explained = sum(report["explained"] for report in reports)
    broken = [trial for trial in trials if trial["verdict"] == "broke"]
    differing = [trial for trial in trials if trial["verdict"] != "broke" and trial["differing"]]
    claims, false = sum(report["claims"] for report in reports), sum(len(report["false_only"]) for report in reports)
    removed = sum(report["recompilations"] - _fewest(report) for report in reports)
    yield "| figure | value |\n| --- | --- |"
    yield f"| programs | {len(reports)} |"
    yield f"| recompilations in the unchanged programs | {recompilations} |"
    yield f"| of these with a remedy or a reason for none | {explained} ({_share(explained, recompilations)}) |"
    yield f"| of these removed by the best tried remedy of each program | {removed} ({_share(removed, recompilations)}) |"
    yield f"| runs with remedies | {len(trials)} |"
    yield f"| predictions | {predicted} |"
    yield f"| exact | {verdicts['exact']} ({_share(verdicts['exact'], predicted)}) |"
    yield f"| a range that contains the result | {verdicts['range']} ({_share(verdicts['range'], predicted)}) |"
    yield f"| wrong | {verdicts['wrong']} ({_share(verdicts['wrong'], predicted)}) |"
    yield f"| predictions of one number that are right | {_share(verdicts['exact'], verdicts['exact'] + _wrong_numbers(trials))} |"
    right = sum(trial["expected"] == trial["actual"] for trial in trials)
    yield f"| predictions whose number, or whose first of several, is right | {right} ({_share(right, predicted)}) |"
    yield f"| remedies that could not be carried out | {verdicts['unmarked']} |"
    yield f"| remedies that broke a working program | {len(broken)} |"
    yield f"| runs that printed other numbers | {len(differing)} |"
    yield f'| claims "the only cause" that were checked | {claims} |'
    yield f"| false ones | {false} |"


def _ranges(reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the ranges by reason, with the position of the result in them."""
    by_reason: dict[str, Counter[str]] = {}
    for trial in (trial for report in reports for trial in report["trials"]):
        if trial["fewest"] is not None and trial["fewest"] < trial["most"]:
            counts = by_reason.setdefault(trial["condition"], Counter())
            counts["all"] += 1
            counts["first"] += trial["expected"] == trial["actual"]
            counts["fewest"] += trial["fewest"] == trial["actual"]
            counts["most"] += trial["most"] == trial["actual"]
    yield "| another number if … | ranges | the first number is right | result: fewest | result: most |"
    yield "| --- | --: | --: | --: | --: |"
    for reason, counts in sorted(by_reason.items(), key=lambda item: -item[1]["all"]):
        text = DOUBTS.get(reason, "(several reasons, or a sum over functions)")
        yield f"| {text} | {counts['all']} | {counts['first']} | {counts['fewest']} | {counts['most']} |"


def _fewest(report: dict[str, Any]) -> int:
    """Return the fewest recompilations of a program with one remedy or one set of them."""
    totals = [trial["total"] for trial in report["trials"] if trial["verdict"] != "broke"]
    return int(min([report["recompilations"], *totals]))


def _wrong_numbers(trials: Sequence[dict[str, Any]]) -> int:
    return sum(trial["verdict"] == "wrong" and trial["fewest"] == trial["most"] for trial in trials)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "–"


def _rows(report: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of a program."""
    name = f"`{report['program']}`"
    if report.get("skipped"):
        yield f"| {name} | skipped: {_cell(report['skipped'].strip().splitlines()[-1], 100)} | | | | |"
        return
    yield f"| {name} | {_cell(report['title'], 200)} | {report['recompilations']} | | | |"
    for trial in report["trials"]:
        fewest, most = trial["fewest"], trial["most"]
        predicted = "" if fewest is None else str(fewest) if fewest == most else f"{trial['expected']} ({fewest}–{most})"
        after = str(trial["actual"]) + (" **wrong**" if trial["verdict"] == "wrong" else "")
        yield f"| | {_cell(trial['label'], 120)} | {trial['before']} | {predicted} | {after} | {_numbers(trial)} |"
    for text in report["false_only"]:
        yield f"| | {_cell(text, 160)} | | | | **false** |"


def _numbers(trial: dict[str, Any]) -> str:
    if trial["verdict"] == "broke":
        return f"**failed**: {_cell(trial['problem'], 100)}"
    if trial["verdict"] == "unmarked":
        return f"not carried out: {_cell(trial['problem'], 100)}"
    if trial["differing"]:
        return f"{trial['differing']} of {trial['compared']} differ, by {trial['relative']:.1g}"
    return "equal"


def _cell(text: str, most: int) -> str:
    """Return a text for a cell of a table."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain if len(plain) <= most else plain[: most - 1] + "…"
