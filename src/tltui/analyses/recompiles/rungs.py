"""One recompile: every reason that torch gives, with the guard that it is about and what was expected and met."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tltui.analyses.guards.guard_lines import GuardText, guard_text
from tltui.analyses.parts import part, reader_of, reads
from tltui.analyses.recompiles import causes
from tltui.analyses.recompiles.causes import Cause, cause_of, strip_local
from tltui.analyses.recompiles.reasons import Became, Recompile, RecompileReason, instants_of, recompile_of, ref_named
from tltui.analyses.records import Reader, named, text_in
from tltui.analyses.stacks.stacks import StackFrame
from tltui.model.nodes import Compile, Frame
from tltui.model.ref import at_line


@dataclass(frozen=True, slots=True)
class Reason:
    """A guard of an earlier compile that failed."""

    earlier: str | None
    """The address of the earlier compile."""
    there: bool
    """Whether the log has that compile."""
    text: str
    """Torch's words."""
    cause: str
    """The class: a key of `tltui.analyses.recompiles.causes.CAUSES`."""
    source: str
    """The Python expression that the guard looks at, `L['x']` written as `x`."""
    dim: int | None
    expected: str
    actual: str
    """'' where neither torch's words nor the guards of the new compile tell."""
    value: str
    """Of an attribute, a global, a closure: the class that the value alone would have."""
    guard: str | None
    """The address of the guard's line: `0/0:dynamo_cpp_guards_str@L12`."""
    guard_kind: str
    """`TENSOR_MATCH` …; '' where the guard was not found."""
    file: str | None
    line: int | None
    code: str | None
    """The user's line that the guard comes from."""
    stack: tuple[StackFrame, ...]
    hint: str
    """What torch adds about the guard."""

    @property
    def key(self) -> tuple[str, str, int | None]:
        """What two reasons for the same cause share."""
        return self.cause, "" if self.cause == causes.STATE else self.source, self.dim


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A size or number that torch made dynamic in a compile, as it had varied."""

    source: str
    dim: int | None
    before: str
    now: str
    symbol: str


@dataclass(frozen=True, slots=True)
class Rung:
    """One recompile."""

    ref: str
    status: str | None
    seconds: float | None
    reasons: tuple[Reason, ...]
    """One for each earlier compile that torch tried, the newest first."""
    logged: str
    """Where the reasons are from: `artifact`, `metrics`, '' for nowhere."""
    record: str | None
    """The address of the record with the reasons."""
    became: tuple[Dynamic, ...]
    limit_hit: bool

    @property
    def keys(self) -> frozenset[tuple[str, str, int | None]]:
        """Its causes."""
        return frozenset(reason.key for reason in self.reasons)


@part
def rung_of(compile_: Compile, reader: Reader) -> Rung:
    """The rung of a recompile. It rests on the guards of the earlier compiles that its reasons name."""
    texts = _Texts(compile_)
    found = recompile_of(compile_, instants_of(compile_, reader), reader) or Recompile((), "")
    symbols = _symbols(compile_, reader)
    reasons = tuple(_reason(reason, compile_, texts, symbols, found.became) for reason in found.reasons)
    became = tuple(dynamic for change in found.became if (dynamic := _dynamic(change, symbols)) is not None)
    facts, status = compile_.facts, compile_.status
    return Rung(
        str(compile_.ref), str(status) if status else None, facts.duration_s, reasons, found.logged, found.ref, became,
        facts.recompile_limit,
    )  # fmt: skip


class _Texts:
    """The guard trees of a compile and of those that it could not use. Most recompiles of a frame ask for the same few: the
    reader of the log keeps them for a while."""

    def __init__(self, compile_: Compile) -> None:
        self._compile = compile_
        self._earlier: dict[str, Compile | None] = {}

    def of(self, compile_: Compile) -> GuardText | None:
        reads(self._compile, compile_)
        kept = reader_of(compile_).kept
        found = kept.get(compile_)
        if found is None or found[0] != (compile_.stamp, compile_.process.naming.stamp):
            text = guard_text(compile_, reader_of(compile_))
            found = (compile_.stamp, compile_.process.naming.stamp), text
            kept.put(compile_, found, text.size if text else 1)
        tree: GuardText | None = found[1]
        return tree

    def earlier(self, ref: str | None) -> Compile | None:
        """The compile at an address that a reason names: of the frame, or of the same frame of the process that this one was
        forked from."""
        if not ref:
            return None
        if ref not in self._earlier:
            self._earlier[ref] = self._find(ref)
        return self._earlier[ref]

    def _find(self, ref: str) -> Compile | None:
        named_by = ref_named(ref)
        wanted = named_by.id if named_by is not None else None
        process, key = self._compile.process, self._compile.frame.key
        for owner in (process, process.parent):
            found = owner.find(wanted) if owner is not None and wanted is not None else None
            if found is not None and found.frame.key == key and str(found.ref) == ref:
                return found
        return None

    def at(self, ref: str | None) -> GuardText | None:
        """That of an earlier compile."""
        earlier = self.earlier(ref)
        return self.of(earlier) if earlier is not None else None


def _symbols(compile_: Compile, reader: Reader) -> dict[str, tuple[str, str]]:
    """Source (`L[…]` shortened) → (symbol, its value in this compile)."""
    found: dict[str, tuple[str, str]] = {}
    for record, _ in named(compile_, ("create_symbol",)):
        fields = reader.event(record)
        symbol, source, value = text_in(fields, "symbol"), text_in(fields, "source"), fields.get("val")
        if symbol and source:
            found[strip_local(source)] = symbol, str(value)[:80]
    return found


def _dynamic(change: Became, symbols: dict[str, tuple[str, str]]) -> Dynamic | None:
    """Torch wanted it dynamic; it is where it got a symbol (an attribute of a module, a global does not)."""
    source = strip_local(change.source)
    symbol = symbols.get(source if change.dim is None else f"{source}.size()[{change.dim}]")
    if symbol is None or change.why not in ("size change", "scalar change"):
        return None
    return Dynamic(source, change.dim, change.before, change.now, symbol[0])


def _reason(
    reason: RecompileReason, compile_: Compile, texts: _Texts, symbols: dict[str, tuple[str, str]],
    became: tuple[Became, ...],
) -> Reason:  # fmt: skip
    cause = cause_of(reason.text, reason.hint)
    earlier = texts.at(reason.earlier)
    guard = earlier.failed(cause, reason.text) if earlier else None
    if earlier is not None and cause.kind in causes.VALUES and earlier.is_module(cause.source):
        cause = causes.as_attribute(cause)
    if earlier is not None and cause.kind == causes.TYPE and (said := earlier.tensor_class(cause.source)):
        cause = replace(cause, expected=said)
    cause = replace(cause, actual=_actual(cause, compile_, texts, symbols, became))
    file, line, code, hint = reason.file, reason.line, reason.code, reason.hint
    if guard is not None:
        hint = hint or guard.node.hint.removeprefix("HINT: ")
        if file is None and guard.node.path:
            file, line, code = _whole(guard.node.path, compile_.frame), guard.node.place, guard.node.code or None
    if file is not None and not reason.stack:
        file = _whole(file, compile_.frame)
    return Reason(
        reason.earlier, texts.earlier(reason.earlier) is not None, reason.text,
        cause.kind, cause.source, cause.dim, cause.expected, cause.actual, cause.value,
        at_line(earlier.ref, guard.line) if earlier and guard else None, guard.node.kind if guard else "",
        file, line, code, reason.stack, hint,
    )  # fmt: skip


def _actual(
    cause: Cause, compile_: Compile, texts: _Texts, symbols: dict[str, tuple[str, str]], became: tuple[Became, ...]
) -> str:
    """What it was this time: torch's words, else what the new compile was made for."""
    if cause.actual:
        return cause.actual
    if cause.kind in causes.VALUES and cause.source in symbols:
        return symbols[cause.source][1]
    if cause.kind == causes.CONDITION and (size := symbols.get(f"{cause.source}.size()[{cause.dim}]")):
        return size[1]
    for change in became:
        if strip_local(change.source) == cause.source and change.dim is None and change.why == "scalar change":
            return change.now
    own = texts.of(compile_)
    return own.actual(cause) if own else ""


def _whole(path: str, frame: Frame) -> str:
    """Guards have only the end of a path; that of the compiled function is known whole."""
    file = frame.code[1]
    return file if file is not None and file.endswith(path) else path
