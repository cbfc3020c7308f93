"""The records of the shape environment: symbols, the guards added on them, and what they were fixed to.

Torch logs them as they happen, with the user's stack and its own. Of its own stack one frame is worth showing: the one
that asked, below the machinery of symbolic shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tltui.analyses.records import Reader, list_in, named, record_ref, text_in
from tltui.analyses.shapes.meanings import meaning_of
from tltui.analyses.stacks.stacks import StackFrame, frames_of, user_frames
from tltui.model.nodes import Compile, Process

CREATED, UNBACKED, FIXED = "create_symbol", "create_unbacked_symbol", "symbolic_shape_specialization"
GUARD, DTRACE_GUARD, REAL = "guard_added_fast", "guard_added", "propagate_real_tensors"
DTRACE_REAL = "propagate_real_tensors_provenance"
EVENTS = (CREATED, UNBACKED, FIXED, GUARD, DTRACE_GUARD, REAL, DTRACE_REAL)
GUARDS_READ = 2000
"""Guards of one compile that are read; the rest is counted."""
EXPRESSION = 2000
"""Characters of an expression that are kept."""
_MACHINERY = re.compile(
    r"torch/(?:fx/experimental/|fx/_symbolic_trace\.py|fx/interpreter\.py|_logging/|__init__\.py|_compile\.py|utils/_stats\.py"
    r"|_dynamo/eval_frame\.py|_dynamo/guards\.py|_inductor/sizevars\.py|_library/(?:custom_ops|fake_impl)\.py"
    r"|_subclasses/(?:fake_tensor|meta_utils)\.py|export/_trace\.py|utils/_config_module\.py)|contextlib\.py$|<string>$"
)
_DEFERS = "guard_or_defer_runtime_assert"
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class ShapeGuard:
    """A condition that torch noted down while it traced: the code made is right only where it holds."""

    expr: str
    """In symbols: `Eq(s77, 5)`, `s77 < 10`."""
    symbols: tuple[str, ...]
    user: StackFrame | None
    """The user's line that was being traced."""
    by: StackFrame | None
    """The line of torch that asked."""
    deferred: bool
    """It is checked by an assertion in the graph at run time; breaking it is an error, not a recompile."""
    ref: str
    why: str = ""
    """What the line of torch is about, as far as it is known."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A symbol that was fixed to one number."""

    symbol: str
    sources: tuple[str, ...]
    value: str
    reason: str | None
    """Torch's name of the rule: `range_refined_to_singleton`, `find`, `solve` …"""
    user: StackFrame | None
    by: StackFrame | None
    ref: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class NewSymbol:
    """A symbol as it was made."""

    name: str
    source: str | None
    """The expression that it stands for; None for an unbacked one, whose value depends on data."""
    hint: str | None
    range: str | None
    user: StackFrame | None
    by: StackFrame | None
    ref: str
    input: str | None = None
    """Of an unbacked one: the tensor that torch was taking in as an input when it made the symbol."""


@dataclass(frozen=True, slots=True)
class RealValue:
    """An unbacked expression that torch put a real value in for, since it could not decide without one."""

    expr: str
    result: str
    user: StackFrame | None
    by: StackFrame | None
    ref: str


@dataclass(frozen=True, slots=True)
class ShapeRecords:
    """What one attempt of a compile logged about shapes."""

    symbols: tuple[NewSymbol, ...]
    guards: tuple[ShapeGuard, ...]
    more_guards: int
    """Guards that were not read."""
    fixed: tuple[Fixed, ...]
    real: tuple[RealValue, ...]


def shape_records(compile_: Compile, reader: Reader) -> ShapeRecords:
    """The shape records of the last attempt: what an earlier one found out, it finds out again."""
    log = compile_.process.log
    records = [(n, name) for n, name in named(compile_, (*EVENTS, "describe_source"))]
    attempt = max((log.context(n).attempt or 0 for n, _ in records), default=0)
    records = [(n, name) for n, name in records if (log.context(n).attempt or 0) == attempt]
    if any(name == GUARD for _, name in records):  # both are written for one guard where TORCH_DTRACE is set
        records = [(n, name) for n, name in records if name != DTRACE_GUARD]
    if any(name == DTRACE_REAL for _, name in records):
        records = [(n, name) for n, name in records if name != REAL]
    found = _Records(compile_.process)
    guards = 0
    for number, name in records:
        guards += name in (GUARD, DTRACE_GUARD)
        if guards <= GUARDS_READ or name not in (GUARD, DTRACE_GUARD):
            found.take(name, reader.event(number), record_ref(compile_.process, number))
    return found.result(max(guards - GUARDS_READ, 0))


def names_in(expression: str) -> tuple[str, ...]:
    """The names in an expression, each once."""
    return tuple(dict.fromkeys(_NAME.findall(expression)))


def asked_by(stack: Iterable[StackFrame]) -> StackFrame | None:
    """The frame of torch that asked: the innermost one above the machinery of symbolic shapes."""
    for frame in reversed(list(stack)):
        path = frame.file.replace("\\", "/")
        if not _MACHINERY.search(path):
            return frame if frame.framework else None
    return None


def meaning(by: StackFrame | None, user: StackFrame | None, expression: str = "") -> str:
    """What a line of torch that asked is about; '' where that is not known."""
    if by is None:
        return ""
    code, framework = (user.code or "", user.framework and not user.file.startswith("<")) if user is not None else ("", False)
    return meaning_of(by.file, by.name, expression, code, framework)


class _Records:
    """The records of an attempt while they are read."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._symbols: dict[str, NewSymbol] = {}
        self._guards: list[ShapeGuard] = []
        self._fixed: dict[str, Fixed] = {}
        self._real: list[RealValue] = []
        self._input: str | None = None

    def take(self, event: str, fields: dict[str, Any], ref: str) -> None:
        """One record."""
        if event == "describe_source":
            self._input = text_in(fields, "source")
            return
        stack = frames_of(self._process, list_in(fields, "stack"))
        user, by = self._user(fields), asked_by(stack)
        expr = (text_in(fields, "expr") or "")[:EXPRESSION]
        why = meaning(by, user, expr)
        if event in (CREATED, UNBACKED):
            self._symbol(event, fields, stack, NewSymbol("", None, None, None, user, by, ref))
        elif event == FIXED:
            name = text_in(fields, "symbol") or "?"
            sources = tuple(str(source) for source in list_in(fields, "sources"))
            value = str(fields.get("value"))[:80]
            if user is None and by is None:  # TORCH_LOGS text states the place with the guard before it alone
                equal = next((own for own in reversed(self._guards) if own.expr == f"Eq({name}, {value})"), None)
                user, by, why = (equal.user, equal.by, equal.why) if equal is not None else (user, by, why)
            self._fixed.setdefault(name, Fixed(name, sources, value, text_in(fields, "reason"), user, by, ref, why))
        elif event in (GUARD, DTRACE_GUARD) and expr:
            deferred = any(frame.name == _DEFERS for frame in stack[-8:]) or fields.get("prefix") == "runtime_assert"
            self._guards.append(ShapeGuard(expr, names_in(expr), user, by, deferred, ref, why))
        elif event in (REAL, DTRACE_REAL) and expr:
            self._real.append(RealValue(expr, str(fields.get("result"))[:80], user, by, ref))

    def _user(self, fields: dict[str, Any]) -> StackFrame | None:
        """The innermost line of the user's own; of a library's model the innermost at all."""
        frames = frames_of(self._process, list_in(fields, "user_stack"))
        own = user_frames(frames)
        return own[0] if own else frames[-1] if frames else None

    def _symbol(self, event: str, fields: dict[str, Any], stack: tuple[StackFrame, ...], made: NewSymbol) -> None:
        name = text_in(fields, "symbol")
        if name is None:
            return
        hint = fields.get("val") if event == CREATED else None
        # made while Dynamo takes an input in: the tensor is the one described last
        wrapping = event == UNBACKED and any(frame.name.startswith("wrap_to_fake_tensor") for frame in stack)
        self._symbols.setdefault(
            name,
            replace(
                made,
                name=name,
                source=text_in(fields, "source"),
                hint=None if hint is None else str(hint)[:80],
                range=text_in(fields, "vr"),
                input=self._input if wrapping else None,
            ),
        )

    def result(self, more_guards: int) -> ShapeRecords:
        """What was read. Names in guards that are no symbols (`Eq`, `Mod`) are dropped."""
        known = self._symbols.keys() | self._fixed.keys()
        guards = tuple(
            replace(guard, symbols=tuple(name for name in guard.symbols if name in known or _is_symbol(name)))
            for guard in self._guards
        )
        return ShapeRecords(
            tuple(self._symbols.values()), guards, more_guards, tuple(self._fixed.values()), tuple(self._real)
        )


def _is_symbol(name: str) -> bool:
    """Whether a name looks like torch's symbols: `s77`, `u0`, `zf1`, `zuf0`."""
    return bool(re.fullmatch(r"(?:s|u|zf|zuf)\d+", name))
