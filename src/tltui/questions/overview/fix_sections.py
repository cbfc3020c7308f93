"""The fix of a finding, for the first screen: of recompilations by their guards, of graph breaks by torch's hints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tltui.documents import format as fmt
from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import Reader, records_of
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.questions.guards.guard_report import TREE
from tltui.questions.problems.compile_problems import cached_breaks, cached_failures, from_restart
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.frame_recompiles import frame_recompiles, recompiles_of
from tltui.questions.recompiles.guard_grammar import whose, without_numpy
from tltui.questions.recompiles.guard_table import guards_of
from tltui.questions.recompiles.predictions import Prediction
from tltui.questions.recompiles.recompile_sections import ALL_DYNAMIC, names_of_remedies, remaining_text
from tltui.questions.recompiles.variations import Variation
from tltui.text.sanitize import sanitize
from tltui.text.steps import run_steps

RECOMPILES_READ = 16
GUARD_BYTES_READ = 4 << 20
"""Recompilations of a function, and bytes of all its guards, up to which they are read: the first screen must not wait for more."""
_NO_STEP = (
    "Please report", "Please file", "This graph break is fundamental", "Your code may result in an error",
    "It may be possible to write Dynamo tracing rules",
)  # fmt: skip
"""Beginnings of hints that are no change to the program."""
_USER_STACK = re.compile(r"^User [Ss]tack", re.MULTILINE)
_ADVICE = re.compile(
    r"(?:^|[.\n]\s{0,8})((?:If you're using mark_dynamic|Consider|Try|Please (?:use|set|wrap|call|make))\b[^\n]{0,300}?\.)(?=\s|\Z)"
)
"""A sentence with advice in the message of an error that has no list of hints (torch/fx/experimental/symbolic_shapes.py)."""


INSTRUCTIONS = {
    "wider mark": "widen min and max of mark_dynamic for {}",
    "mark first": "mark {} before the first call",
    "no mark_static": "remove mark_static of {}",
    "dynamic=True": "use torch.compile(dynamic=True), or leave dynamic out",
    "pad": "pad {} to a multiple before the call",
    "contiguous": "pass {}.contiguous()",
    "reshape": "pass {} always with the same number of dimensions",
    "one dtype": "pass {} always with the same dtype",
    "one device": "pass {} always on the same device",
    "one value": "give {} the same requires_grad in each call; detach() would stop its gradients",
    "no inference tensor": "clone {} outside of torch.inference_mode",
    "resolve": "call resolve_conj() or resolve_neg() on {} before the call",
    "dense": "pass {}.to_dense()",
    "one type": "pass {} always as the same type",
    "tensor": "make {} a tensor",
    "argument": "pass {} as an argument",
    "keep strings out": "pass a value computed from {} instead of the string",
    "stack": "pass {} as one stacked tensor, and replace loops over it",
    "same keys": "give {} the same keys in the same order",
    "hooks first": "register hooks before the first call",
    "buffer": "make {} a buffer of the module",
    "clone": "clone {}, which shares memory with another argument",
    "one backend": "pass the same backend object to each torch.compile",
    "keep alive": "keep {} alive while the compiled function is used",
    "same mode": "call the function always under the same modes",
    "set first": "set global modes once, before the first call",
}
"""Remedy of docs/recompiles.md without code → the instruction, with a place for the source."""


class Fix(NamedTuple):
    """A change to the program or to the job, and its effect."""

    advice: str
    """An imperative sentence without its period; '' for no fix."""
    effect: str = ""
    """The predicted effect; '' for a hint of torch."""
    has_code: bool = False
    """Whether the advice contains code to be copied."""
    changes: tuple[str, ...] = ()
    """The changes that the advice names, where it is a set of several."""
    function: str = ""
    """The address of the function that such a set is for."""


NO_FIX = Fix("")
LEAST_NAME = 12
"""Characters of the clipped name of a changed value."""
UNBROKEN = "\u00a0"
"""A blank at which no line is broken."""


@part
def fix_of_recompiles(frame: Frame, reader: Reader) -> Fix:
    """Return the change that removes most recompilations of a function; `NO_FIX` for none, or too many to read."""
    recompiles = recompiles_of(frame)
    if not 0 < len(recompiles) <= RECOMPILES_READ or _guard_bytes(frame) > GUARD_BYTES_READ:
        return NO_FIX
    explained = [explained_of(each) for each in recompiles]
    guards = run_steps(guards_of(frame, explained))
    result = frame_recompiles(frame, explained, explained, guards)
    best = next((variation for variation in result.variations if _has_effect(variation)), None)
    prediction = best.prediction if best is not None else None
    if result.all_dynamic is not None:
        return Fix(f"Use {ALL_DYNAMIC}", _predicted(result.all_dynamic), has_code=True)
    if result.together is not None and (prediction is None or result.together.expected < prediction.expected):
        changes = names_of_remedies(result.together)
        return Fix(_advice_of(changes), _predicted(result.together), changes=changes, function=str(frame.ref))
    if best is None or prediction is None:
        return NO_FIX
    if best.environment:
        return Fix(f"Set {sanitize(best.environment)} for the job", _predicted(prediction), has_code=True)
    if best.code:
        code = sanitize("; ".join(best.code))
        return Fix(f"{_verb(best.code)} {code} before the first call", _predicted(prediction), has_code=True)
    name = fmt.clip(fmt.one_line(sanitize(without_numpy(best.source or best.cause))), 40)
    instruction = INSTRUCTIONS.get(best.remedy, best.remedy)
    return Fix(f"{instruction[:1].upper()}{instruction[1:]}".format(name), _predicted(prediction))


def _advice_of(changes: tuple[str, ...]) -> str:
    """Return the advice to make all changes."""
    return f"Make {fmt.plural(len(changes), 'change')}: {fmt.joined(changes)}"


def _advices_of(changes: tuple[str, ...], more: str) -> Iterator[str]:
    """Yield shorter forms of this advice: the first changes, the first with a clipped name, its name alone, none; `more`."""
    make = f"Make {fmt.plural(len(changes), 'change')}: "
    for shown in range(len(changes) - 1, 0, -1):
        yield f"{make}{fmt.joined(changes[:shown])} and {len(changes) - shown} {more}"
    if not changes:
        return
    name, bracket, action = changes[0].partition(" (")
    for length in range(len(name) - 1, LEAST_NAME - 1, -1):
        yield f"{make}{fmt.clip_middle(name, length)}{bracket}{action} and {len(changes) - 1} {more}"
    yield f"{make}{fmt.clip_middle(name, LEAST_NAME)} and {len(changes) - 1} {more}"
    yield f"{make}{more}"


def _predicted(prediction: Prediction) -> str:
    return f"predicted: {remaining_text(prediction, is_brief=True)}"


def _verb(code: tuple[str, ...]) -> str:
    """Return the verb for statements: they are calls, assignments, or begin with an import."""
    if code[0].startswith("import "):
        return "Run"
    return "Call" if all(statement.endswith(")") for statement in code) else "Set"


MORE = "more → recompiles"
"""The end of a set of changes that is too long for two lines; it links to the page with all of them."""


def fix_lines(fix: Fix, room: int, more: str = MORE) -> list[str]:
    """Break a fix into at most two lines of `room` columns. Code is never broken or cut: its line may be longer.

    Of a set of changes, those that do not fit are counted, and the first is shortened; `more`: `MORE` as it is drawn.
    """
    text = f"{fix.advice}; {fix.effect}" if fix.effect else fix.advice
    if len(text) <= room:
        return [text]
    if fix.has_code and fix.effect:
        return [f"{fix.advice};", fix.effect]
    if len(lines := fmt.wrap(text, room)) <= 2:
        return lines
    unbroken = more.replace(" ", UNBROKEN)
    for advice in _advices_of(fix.changes, unbroken):
        lines = fmt.wrap(f"{advice}; {fix.effect}", room)
        if len(lines) <= 2:
            return [line.replace(UNBROKEN, " ") for line in lines]
    first, *others = fmt.wrap(text, room)
    rest = " ".join(others)
    if len(rest) > room and fix.effect:
        advice = rest.removesuffix(fix.effect).removesuffix("; ")
        rest = f"{fmt.clip(advice, room - len(fix.effect) - 2)}; {fix.effect}" if advice else fix.effect
    return [first, fmt.clip(rest, room)]


def _guard_bytes(frame: Frame) -> int:
    """Return the bytes of the guards of all compiles of a function."""
    sizes = frame.process.log.columns.size
    return sum(sizes[record] for compile_ in frame.compiles for record, _ in records_of(compile_, (TREE,)))


def _has_effect(variation: Variation) -> bool:
    """Return whether the remedy removes recompilations by itself."""
    prediction = variation.prediction
    return prediction is not None and prediction.may_help


def fix_of_break(compile_: Compile, headline: str) -> str:
    """Return torch's first hint on the graph break with this headline, if it is in the user's own code; '' for none."""
    breaks = (each for each in cached_breaks(compile_) if each.headline == headline)
    users = (each for each in breaks if each.file is None or not whose(each.file))
    return _step(hint for each in users for hint in each.hints)


def fix_of_failure(compile_: Compile) -> str:
    """Return torch's first hint on the error of a compile; '' for none."""
    failures = cached_failures(compile_)
    explained = (from_restart(each.reason) for each in failures if "Explanation:" in each.reason)
    if step := _step(hint for each in explained for hint in each.hints):
        return step
    advice = (match[1] for each in failures if (match := _ADVICE.search(_USER_STACK.split(each.reason, 1)[0])))
    return fmt.one_line(sanitize(next(advice, "")))


def _step(hints: Iterator[str]) -> str:
    """Return the first hint that is a change to the program."""
    return fmt.one_line(sanitize(next((hint for hint in hints if not hint.startswith(_NO_STEP)), "")))


LABELS = {"recompiles": "fix: ", "break": "torch's hint: ", "failure": "torch's hint: "}
"""Kind of a fix → its label: those of torch are quoted."""


def fix_at(run: Run, ref: str, kind: str, headline: str = "") -> Fix:
    """Return the fix of a kind for the compile at an address; `NO_FIX` for none, or where the address is none of a compile."""
    try:
        node = run.resolve(ref)
    except BadAddress:
        return NO_FIX
    if not isinstance(node, Compile):
        return NO_FIX
    if kind == "recompiles":
        return fix_of_recompiles(node.frame)
    return Fix(fix_of_break(node, headline) if kind == "break" else fix_of_failure(node))
