"""Remedies that need an edit of the program: the calls to edit, and the recompilations that remain."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import list_in, records_of
from tltui.model.run import Run
from tltui.questions.problems.problem_list import run_steps
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.frame_recompiles import frame_recompiles, frames_of, prediction_for, recompiles_of
from tltui.questions.recompiles.guard_table import guards_of
from tltui.questions.recompiles.predictions import Prediction
from tltui.questions.recompiles.variations import Variation
from tltui.questions.stacks.tracebacks import StackFrame, start_stack
from tltui.questions.stacks.tracebacks import frames_of as stack_frames
from tltui.questions.trials.call_edits import ArgumentEdit
from tltui.text.frozen import frozen
from tltui.text.torch_names import PREFIX

METHODS = {"contiguous": "contiguous", "dense": "to_dense"}
"""Remedy → the method of a tensor that carries it out on an argument."""
_MARK = re.compile(
    r"(?P<call>torch\._dynamo\.(?:(?:maybe_)?mark_dynamic|decorators\.mark_unbacked))\((?P<source>[^\W\d]\w*)(?P<path>[^,()]*), "
    r"(?P<rest>\d+)\)"
)
_MARK_DYNAMIC, _MARK_UNBACKED = re.compile(r"^torch\._dynamo\.(?:maybe_)?mark_dynamic"), "torch._dynamo.decorators.mark_unbacked"
"""A size with both marks is unbacked: the first one is left out."""
_NAME = re.compile(r"[^\W\d]\w*")
_PASSED_ON = ("torch/_dynamo/eval_frame.py", "torch/nn/modules/module.py", "torch/_dynamo/external_utils.py")
"""Files of torch between a call and the compiled function that hand the arguments on unchanged."""
_COMPILE_WRAPPER, _ENTRY = "torch/_dynamo/eval_frame.py", "torch/_dynamo/convert_frame.py"
_WITH_STACK = ("create_symbol", "guard_added_fast", "symbolic_shape_specialization")


@frozen
class Remedy:
    """A remedy as edits of arguments."""

    code: tuple[str, ...]
    """The remedy in Python: `torch._dynamo.mark_dynamic(x, 0)`."""
    edits: tuple[ArgumentEdit, ...]


@frozen
class FrameEdits:
    """All edits for the recompilations of one function."""

    ref: str
    function: str
    file: str
    line: int
    code: tuple[str, ...]
    """The remedies in Python."""
    edits: tuple[ArgumentEdit, ...]
    calls: tuple[StackFrame, ...]
    """The lines that call the function; empty where the trace does not record them."""
    before: int
    """Recompilations in the trace."""
    predicted: Prediction | None
    """The recompilations that remain with all of these remedies; None without guards in the log."""


@frozen
class OtherRemedy:
    """A remedy without an edit of a call."""

    function: str
    source: str
    advice: str


def proposed_edits(run: Run) -> tuple[list[FrameEdits], list[OtherRemedy]]:
    """Return the edits for each recompiled function, and the remedies that are no edit of a call."""
    compiles = [compile_ for compile_ in run.compiles() if compile_.is_compile]
    compiled = {compile_.frame.code for compile_ in compiles}
    results: list[FrameEdits] = []
    others: list[OtherRemedy] = []
    for frame, _ in frames_of(compiles):
        explained = [explained_of(compile_) for compile_ in recompiles_of(frame)]
        guards = run_steps(guards_of(frame, explained))
        variations = frame_recompiles(frame, explained, explained, guards).variations
        edited = [(variation, remedy) for variation in variations if (remedy := remedy_of(variation)) is not None]
        name, file, line = frame.code
        meant = {variation.source for variation, _ in edited}
        others += [
            OtherRemedy(name or "?", variation.source, variation.advice) for variation in variations
            if variation.remedy and variation.source not in meant
        ]  # fmt: skip
        if edited and name and file and line:
            calls = tuple(dict.fromkeys(call for compile_ in frame.compiles for call in _calls(compile_)))
            calls = tuple(call for call in calls if not _is_compiled(call, compiled))
            chosen = [variation for variation, _ in edited]
            predicted = prediction_for(frame, explained, guards, chosen) if guards is not None else None
            code = tuple(dict.fromkeys(each for _, remedy in edited for each in remedy.code))
            code = tuple(each for each in code if _MARK_DYNAMIC.sub(_MARK_UNBACKED, each) not in {*code} - {each})
            edits = tuple(dict.fromkeys(
                edit for _, remedy in edited for edit, each in zip(remedy.edits, remedy.code, strict=True) if each in code
            ))  # fmt: skip
            results.append(FrameEdits(str(frame.ref), name, file, line, code, edits, calls, len(explained), predicted))
    return results, others


def remedy_of(variation: Variation) -> Remedy | None:
    """Return the remedy of a cause as edits of arguments; None if it is no such edit."""
    if variation.prediction is not None and not variation.prediction.may_help:
        return None
    if method := METHODS.get(variation.remedy):
        if not _NAME.fullmatch(variation.source):
            return None
        return Remedy((f"{variation.source}.{method}()",), (ArgumentEdit(variation.source, "", method=method),))
    if variation.remedy not in ("mark dynamic", "mark unbacked"):
        return None
    matches = [_MARK.fullmatch(line) for line in variation.code]
    edits = tuple(
        ArgumentEdit(match["source"], match["path"], f"{match['call']}({{}}, {match['rest']})") for match in matches if match
    )
    return Remedy(variation.code, edits) if edits and len(edits) == len(matches) else None


def _calls(compile_: Compile) -> Iterator[StackFrame]:
    """Yield the line that called the function of a compile, where the stack shows that nothing but torch is in between.

    Torch 2.13 omits the innermost callers from `dynamo_start`: a stack without torch's wrapper of compiled functions is incomplete.
    """
    stacks = [start_stack(compile_)[:-1]]
    for record, _ in records_of(compile_, _WITH_STACK):
        frames = stack_frames(compile_.process, list_in(reader_of(compile_).event(record), "stack"))
        inside = next((n for n, frame in enumerate(frames) if _ENTRY in frame.file.replace("\\", "/")), 0)
        stacks.append(frames[:inside])
        break
    for stack in stacks:
        wrappers: list[str] = []
        for frame in reversed(stack):
            if not frame.file.replace("\\", "/").endswith(_PASSED_ON):
                if frame.line and frame.code and any(file.endswith(_COMPILE_WRAPPER) for file in wrappers):
                    yield frame
                break
            wrappers.append(frame.file.replace("\\", "/"))


def _is_compiled(call: StackFrame, compiled: set[tuple[str | None, str | None, int | None]]) -> bool:
    """Return whether the caller itself was compiled: a mark inside of compiled code raises an error."""
    return call.name.startswith(PREFIX) or any((name, file) == (call.name, call.file) for name, file, _ in compiled)

