"""The page `warmup`: calls that compile the functions of a run in advance, and functions that no script can call."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.rank_groups import first_refs, flow
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.run import Run
from tltui.questions.question import Question
from tltui.questions.warmup.recorded_calls import Argument, Planning, RecordedCall, UncalledCompile, WarmupPlan, by_time
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

EVERY = 16
"""Compiles between two yields."""
SHOWN, FOLDED, REFS_SHOWN = 20, 400, 8
ARGUMENTS = 30
"""Columns of the arguments before which others give way: enough for the sizes of one tensor."""
VALUE = 40
"""Characters of a plain value in the table."""
USE = "A script that makes these calls can fill the caches before the first request. To write it:"
COMMAND = "tltui warmup {} --module NAME -o warmup.py"
READ = "NAME is the module that defines the functions. tltui never runs the script: read it before you run it."
OBJECTS = "Methods need an object: the script has a place where you supply it."


def argument_text(argument: Argument) -> str:
    """Return an argument in short: `x float32[4, 8] dim 0 mark_dynamic`, `scale 0.5`; with the strides of another layout."""
    if argument.size is None:
        return f"{argument.name} {fmt.clip(repr(argument.value), VALUE)}"
    marks = "".join(f" dim {one.dim} {one.mark}" for one in argument.marks)
    laid = ""
    if argument.stride is not None and not _is_contiguous(argument.size, argument.stride):
        laid = f" stride [{', '.join(map(str, argument.stride))}]"
    return f"{argument.name} {argument.dtype}[{', '.join(map(str, argument.size))}]{laid}{marks}"


def _is_contiguous(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether strides are those of a contiguous tensor; that of a dimension of one element does not matter."""
    expected = 1
    for many, step in zip(reversed(size), reversed(stride), strict=True):
        if many != 1 and step != expected:
            return False
        expected *= max(many, 1)
    return True


CALLS: Table[RecordedCall] = Table((
    Column("compile", lambda call: (f"[{call.ref}]", tokens.LINK, call.ref)),
    Column("time", lambda call: (fmt.seconds(call.duration_s), tokens.NUMBER), right=True, drop=3, sort="time",
           key=lambda call: -call.duration_s),
    Column("function", lambda call: (fmt.clip_middle(sanitize(call.name), 40), tokens.FUNCTION), sort="name",
           key=lambda call: short(call.name)),
    Column("arguments", lambda call: sanitize(", ".join(map(argument_text, call.arguments))), least=ARGUMENTS),
    Column("", lambda call: (", ".join(_notes(call)), tokens.DIM), drop=2, when=lambda calls: any(map(_notes, calls))),
    Column("after a break", lambda call: (", ".join(argument.name for argument in call.later), tokens.DIM), drop=1,
           when=lambda calls: any(call.later for call in calls)),
), "calls", SHOWN, FOLDED, order="began")  # fmt: skip


def _notes(call: RecordedCall) -> list[str]:
    notes = ["inference mode" if call.is_inference else "" if call.has_grad else "no_grad"]
    notes += ["with backward" if call.has_backward else "", "dynamic=True" if call.is_dynamic else ""]
    return [note for note in notes if note]


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `warmup` for the scope."""

    def fill(page: Page) -> Generator[None, None, WarmupPlan]:
        page.add((f"Warmup{scope.title}", tokens.TITLE))
        planning = Planning()
        for number, compile_ in enumerate(by_time(scope.compiles)):
            planning.add(compile_)
            if number % EVERY == EVERY - 1:
                yield
        plan = planning.result()
        _head(page, plan.calls, plan.uncalled)
        page.table(CALLS, plan.calls)
        if not page.goes_on:
            _uncalled(page, plan.uncalled)
        page.more()
        return plan

    return GrowingDocument(scope.page("warmup"), f"warmup{scope.title}", options, fill, Page)


def _head(page: Page, calls: Sequence[RecordedCall], uncalled: Sequence[UncalledCompile]) -> None:
    functions = len({(call.name, call.file, call.line) for call in calls})
    text = f"{fmt.plural(len(calls), 'call')} to {fmt.plural(functions, 'function')}" if calls else "No warmup calls"
    without = f"{fmt.plural(len(uncalled), 'compile')} without a call" if calls else "tltui cannot write one; the reasons are below"
    rest = f" · {without}" if uncalled and not page.goes_on else ""
    page.add((page.so_far(text), tokens.STRONG), rest)
    if calls:
        page.say(USE, "", tokens.DIM)
        page.add("  ", COMMAND.format(page.options.path))
        page.say(" ".join((READ, OBJECTS) if any(call.receiver for call in calls) else (READ,)), "", tokens.DIM)
        page.blank()


def _uncalled(page: Page, uncalled: Sequence[UncalledCompile]) -> None:
    """Add the compiles without a call and why; none while a job runs, whose later records can have what is absent."""
    groups: dict[str, list[UncalledCompile]] = {}
    for one in uncalled:
        groups.setdefault(one.reason, []).append(one)
    if groups:
        page.heading(f"Compiles without a call ({fmt.count(len(uncalled))})")
    for reason, members in groups.items():
        names = ", ".join(dict.fromkeys(fmt.clip_middle(sanitize(one.function or "?"), 30) for one in members[:SHOWN]))
        page.add("  ", (fmt.clip(names, page.width - 2), tokens.FUNCTION))
        page.say(sanitize(reason), "    ")
        flow(page, first_refs(page, [one.ref for one in members], REFS_SHOWN), "    ")


@frozen
class WarmupRow:
    """A compile, with its call or the reason against one."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function, a method with its class."""
    arguments: str
    """The arguments in short; '' without a call."""
    reason: str | None
    """Why no call can be written; empty with a call."""
    compile_s: float | None
    """The compile time in seconds; empty without a call."""


def warmup_rows(data: WarmupPlan) -> Iterator[WarmupRow]:
    """Yield a row per call, then those without one."""
    for call in data.calls:
        yield WarmupRow(call.ref, call.name, ", ".join(map(argument_text, call.arguments)), None, call.duration_s)
    for one in data.uncalled:
        yield WarmupRow(one.ref, one.function, "", one.reason, None)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options beyond those of every page."""
    parser.add_argument("--module", metavar="NAME", action="append", default=[],
                        help="a module that defines the functions, for -o warmup.py (repeat it for another one)")  # fmt: skip


QUESTION = Question(
    name="warmup",
    help="calls that compile the functions in advance, with the recorded shapes; as a script with -o warmup.py",
    group="record and follow",
    help_order=600,
    sorts=("began", "time", "name"),
    needs=Needs("has no guards, sizes or inputs"),
    document=document,
    add_arguments=add_arguments,
    answer=WarmupPlan,
    rows=WarmupRow,
    records=warmup_rows,
    doc="""
    Calls that compile the functions of a run in advance: a row per call, then a row per compile without one, with the reason.
    """,
)
