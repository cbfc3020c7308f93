"""The line that calls a compiled function of torch itself: an optimizer's step, `clip_grad_norm_`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tltui.model.nodes import Compile
from tltui.questions.provenance.links import Texts
from tltui.questions.provenance.records import Place
from tltui.questions.stacks.tracebacks import StackFrame, callers_of, is_end_of
from tltui.text.torch_names import Owner, owner_of
from tltui.trace.grammar import is_entry

_GUARDED = re.compile(r"  # (?P<file>[^\s#][^\n#]*?):\d{1,9} in \S+(?: \(HINT: [^\n]*)?$", re.M)
_TELLING = (Owner.USER, Owner.LIBRARY)
Key = tuple[str, int]


def call_site(compile_: Compile) -> Place | None:
    """Return the line outside of torch that calls the compiled function through `torch.compile`'s wrapper.

    Torch leaves the innermost callers out of some stacks. Without the wrapper, the last frame may be a caller of the
    caller: then None.
    """
    frames = callers_of(compile_)
    end = len(frames)
    while end and frames[end - 1].owner is Owner.TORCH:
        end -= 1
    if not 0 < end < len(frames) or not is_entry(frames[end].file):
        return None
    frame = frames[end - 1]
    if frame.owner not in _TELLING or frame.line is None:
        return None
    return Place(frame.file, frame.line, frame.name, (frame.code or "").strip(), frame.is_framework)


def lines_below(site: Place, texts: Texts, guards: str) -> dict[Key, Place]:
    """Map torch's lines in the graphs of a unit to the call site, if only torch's code ran in between.

    Recorded stacks prove that of each line. Without them, all comments in the graphs and all guards must name torch's
    files: a comment has only the innermost line, but code that is called from another file leaves a guard.
    """
    graphs = [graph for graph in (texts.pre, texts.post) if graph is not None]
    lines = {(origin.path, origin.place) for graph in graphs for origin in graph.graph.origins}
    stacks = [
        stack for recorded in (texts.stacks, texts.left.stacks) for of_kernel in recorded.frames.values() for stack in of_kernel
    ]
    if stacks:
        lines &= _innermost(stacks, has_owner=False) - _innermost(stacks, has_owner=True)
    elif any(owner_of(path) is not Owner.TORCH for path, _ in lines) or not _is_all_of_torch(guards, site.file):
        lines = set()
    return dict.fromkeys(lines, site)


def _innermost(stacks: Iterable[tuple[StackFrame, ...]], has_owner: bool) -> set[Key]:
    """Return the innermost lines of the stacks with a line of the user or a library, or of those without."""
    ends = (stack[-1] for stack in stacks if any(frame.owner in _TELLING for frame in stack) is has_owner)
    return {(frame.file, frame.line) for frame in ends if frame.line is not None}


def _is_all_of_torch(guards: str, file: str) -> bool:
    """Return whether there are guards, and all of them name files of torch or Python.

    Guards shorten paths: torch's are relative to its own directory. `file` is a file that is not torch's.
    """
    files = guarded_files(guards)
    return bool(files) and not any(_is_of_others(path, file) for path in files)


def guarded_files(guards: str) -> set[str]:
    """Return the files of the lines that guards name, as guards shorten them."""
    return {match["file"] for match in _GUARDED.finditer(guards)}


def _is_of_others(path: str, file: str) -> bool:
    owners = {owner_of(f"torch/{path}"), owner_of(f"/{path}")}
    return is_end_of(path, file) or not owners & {Owner.TORCH, Owner.PYTHON}
