"""Explanation of a recompile: each reason with its guard, expected and actual value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from tltui.model.node_answers import part, reader_of, reads
from tltui.model.nodes import Compile, frame_key
from tltui.model.record_reader import Reader, list_in, records_of, text_in
from tltui.model.ref import at_line
from tltui.questions.guards.guard_report import GuardLine, GuardText, guard_text
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.failed_guard_text import OBJECTS, cause_of, class_name, strip_local
from tltui.questions.recompiles.guard_grammar import Asked, Cause, Comment, Condition, asked, comment_of, condition_of, whose
from tltui.questions.recompiles.recompile_reasons import (
    Became,
    Recompile,
    RecompileReason,
    guards_at,
    instants_of,
    parse_reason,
    parsed_ref,
    selected_reasons,
    versions_compared,
)
from tltui.questions.shapes.shape_env import Value, meaning_of, value_of
from tltui.questions.stacks.tracebacks import StackFrame, frames_of, is_end_of, user_frames
from tltui.text.frozen import frozen

Key = tuple[str, str, int | None]
"""Identity of a cause: class, source, dimension; for the global state the setting."""
FAILED = 500
"""Characters that a cached failed guard counts for, beside those of its reason."""


@frozen
class Met:
    """Term of a condition with its value."""

    term: str
    source: str
    dim: int | None
    value: str
    """'' if unknown."""


@frozen
class Reason:
    """A guard of an earlier compile that failed."""

    earlier: str | None
    """The address of the earlier compile."""
    earlier_is_logged: bool
    """Whether the log has that compile."""
    text: str
    """Torch's words."""
    cause: str
    """The class: a key of `tltui.questions.recompiles.guard_grammar.CAUSES`."""
    source: str
    """The Python expression that the guard checks, `L['x']` written as `x`."""
    dim: int | None
    expected: str
    actual: str
    """'' if neither torch's message nor the guards of the new compile have it."""
    value: str
    """The class of the value alone (attribute, global, closure), the kind of an object, `static` for a size marked so, or the
    type of the container of a length."""
    settings: tuple[str, ...]
    """The settings that differed, of the global state."""
    failed_part: str
    """The part of a condition that did not hold, if the values show it."""
    condition: str
    """The kind of that part (range, equality, divisibility …)."""
    bound: int | float | None
    """The number in a range or a divisibility."""
    origin: str
    """The origin of a condition (`your line`, `torch`, `sizes 0 and 1` …); '' if torch does not log it."""
    terms: tuple[Met, ...]
    """The terms of a condition."""
    guard: str | None
    """The address of the guard's line: `0/0:dynamo_cpp_guards_str@L12`."""
    guard_kind: str
    """`TENSOR_MATCH` …; '' where the guard was not found."""
    file: str | None
    line: int | None
    code: str | None
    """The line that was being traced when the guard was made."""
    owner: str
    """The owner of that line, if not the user: `torch`, `a library`."""
    torch_line: str
    """The line of torch that asked for the guard, as torch names it."""
    purpose: str
    """The purpose of that line of torch, if known."""
    fixed_by: str
    """The line that fixed a dynamic size in the earlier compile."""
    stack: tuple[StackFrame, ...]
    note: str
    """Torch's note on the guard."""

    @property
    def is_of_program(self) -> bool:
        """Whether its line is proven to be one of the program."""
        return not self.owner and self.file is not None and is_complete(self.file)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The identity of its cause; of the global state one for each setting."""
        if self.cause == guard_grammar.STATE and self.settings:
            return tuple((self.cause, setting, None) for setting in self.settings)
        return ((self.cause, self.source, self.dim),)


@frozen
class Dynamic:
    """A size or number that torch made dynamic in a compile, as it had varied."""

    source: str
    dim: int | None
    before: Value | None
    now: Value | None
    symbol: str
    fixed: Value | None
    """The value that it was fixed to again in the same compile; null if it stayed free."""
    needs_number: bool = False
    """Whether it was fixed because code needs the number itself: a symbol then never stays free."""


@frozen
class Explained:
    """One recompile."""

    ref: str
    status: str | None
    duration_s: float | None
    reasons: tuple[Reason, ...]
    """One for each earlier compile that torch tried, in torch's order: the one that was used last comes first."""
    reasons_from: str
    """The source of the reasons: `artifact`, `metrics`, '' for none."""
    record: str | None
    """The address of the record with the reasons."""
    became_dynamic: tuple[Dynamic, ...]
    limit_hit: bool
    failure: str
    """The exception with which this compile failed; '' where it did not, or where the limit stopped it."""
    settings: tuple[str, ...]
    """The settings of torch that differed from every earlier compile that was tried: those were set for this call."""
    contexts: tuple[str, ...] = ()
    """The texts that the program's hooks gave at this recompilation."""
    other_reasons: int = 0
    """Reasons for further older compiles that are left out: `reasons` has their causes."""

    @property
    def keys(self) -> frozenset[Key]:
        """Its causes."""
        keys: set[Key] = set()
        for reason in self.reasons:
            keys.update(self.keys_of(reason))
        return frozenset(keys)

    def keys_of(self, reason: Reason) -> tuple[Key, ...]:
        """Return the causes of a reason.

        For settings of torch, only those changed for this call: the others were changed for an older one.
        """
        if reason.cause != guard_grammar.STATE:
            return reason.keys
        return tuple(key for key in reason.keys if key[1] in self.settings) or reason.keys


@part
def explained_of(compile_: Compile, reader: Reader, with_guards: bool = True) -> Explained:
    """Explain a recompile from the guards of the earlier compiles that its reasons name.

    Without `with_guards`, records that the compile writes after its graph are not used.
    """
    texts = _Texts(compile_, with_guards)
    selected, others = selected_reasons(compile_, instants_of(compile_, reader), reader, versions_compared(compile_))
    recompile = selected or Recompile((), "")
    symbols = symbols_of(compile_)
    reasons = tuple(_reason(reason, compile_, texts, symbols, recompile.became_dynamic) for reason in recompile.reasons)
    changes = recompile.became_dynamic if compile_.is_traced else _varied(recompile.became_dynamic, reasons, symbols)
    guards = texts.of(compile_) if changes else None
    fixed_here = fixed_in(compile_) if changes else {}
    free = texts.free(reasons[0].earlier) if reasons and changes else frozenset()
    sizes = {(reason.source, reason.dim) for reason in reasons}
    became = (
        dynamic for change in changes if (dynamic := _dynamic(change, symbols, guards, fixed_here)) is not None
        and (dynamic.fixed is not None or sized(dynamic.source, dynamic.dim) not in free)
        and (not change.lacks_values or (dynamic.source, dynamic.dim) in sizes)  # another dim may have varied, or their number
    )  # fmt: skip
    facts, status = compile_.facts, compile_.status
    failure = class_name(facts.fail_type or "?").rpartition(".")[2] if facts.failed and not facts.recompile_limit_hit else ""
    return Explained(
        compile_.address, str(status) if status else None, compile_.duration_s, reasons, recompile.reasons_from, recompile.ref,
        _distinct(became), facts.recompile_limit_hit, failure, _settings(reasons), recompile.contexts, others,
    )  # fmt: skip


def _distinct(changes: Iterable[Dynamic]) -> tuple[Dynamic, ...]:
    """Return each size or number once: a trace and a text of one job both record that it became dynamic."""
    return tuple({(change.source, change.dim, change.symbol): change for change in changes}.values())


def reason_for(compile_: Compile, earlier: str, text: str) -> Reason:
    """Return the reason for a guard that torch did not name, in the words that torch has for it."""
    texts, symbols = _Texts(compile_, True), symbols_of(compile_)
    return _reason(replace(parse_reason(text, compile_), earlier=earlier), compile_, texts, symbols, ())


def _varied(
    became: tuple[Became, ...], reasons: Iterable[Reason], symbols: dict[str, tuple[str, str]]
) -> tuple[Became, ...]:
    """Return the sizes that torch made dynamic, where no event records it: a failed guard whose source has a symbol now."""
    by_source: dict[tuple[str, int | None], Became] = {}
    for reason in reasons:
        if (
            reason.cause in (guard_grammar.SIZE, guard_grammar.INT, guard_grammar.FLOAT)
            and sized(strip_local(reason.source), reason.dim) in symbols
        ):
            why = "scalar change" if reason.dim is None else "size change"
            change = Became(reason.source, reason.dim, why, value_of(reason.expected), value_of(reason.actual))
            by_source.setdefault((reason.source, reason.dim), change)
    exact = {(strip_local(change.source), change.dim): change for change in by_source.values()}
    changes = tuple(
        exact.get((strip_local(change.source), change.dim), change) if change.lacks_values else change for change in became
    )
    return changes or tuple(by_source.values())


def _settings(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the settings of torch that all state reasons name."""
    settings = [reason.settings for reason in reasons if reason.cause == guard_grammar.STATE]
    return tuple(name for name in settings[0] if all(name in other for other in settings)) if settings else ()


class _Texts:
    """Guard trees of a compile and of the earlier compiles that it could not use.

    Most recompiles of a frame need the same few trees; the reader of the log caches them.
    """

    def __init__(self, compile_: Compile, with_guards: bool) -> None:
        self._compile, self._with_guards = compile_, with_guards
        self.cache = reader_of(compile_).cache
        """The texts of the log that were used last."""
        self._actual: dict[tuple[str, str, int | None], str] = {}
        self._earlier: dict[str, Compile | None] = {}
        self._guards: list[GuardText | None] = []  # those of the compile itself, once they were asked for
        self.file = compile_.frame.code[1]
        """The file of the function."""
        self._matching: dict[str, frozenset[str]] = {}  # the end of a path → the files with it that the graphs of the compile name

    def actual(self, cause: Cause, symbols: dict[str, tuple[str, str]], became: tuple[Became, ...]) -> str:
        """Return the value in the new compile, cached: most reasons are about one source."""
        if cause.kind == guard_grammar.CONDITION:
            return ""
        key = (cause.kind, cause.source, cause.dim)
        if key not in self._actual:
            self._actual[key] = self._value(cause, symbols, became)
        return self._actual[key]

    def _value(self, cause: Cause, symbols: dict[str, tuple[str, str]], became: tuple[Became, ...]) -> str:
        if cause.source in symbols and (cause.kind in guard_grammar.VALUES or cause.kind in guard_grammar.NAMED):
            return symbols[cause.source][1]
        for change in became:
            if strip_local(change.source) == cause.source and change.dim is None and change.reason == "scalar change":
                return "" if change.now is None else str(change.now)
        guards = self.of(self._compile)
        return guards.actual(cause) if guards else ""

    def of(self, compile_: Compile) -> GuardText | None:
        if compile_ is self._compile:
            if not self._guards:
                self._guards.append(self._tree(compile_) if self._with_guards else None)
            return self._guards[0]
        return self._tree(compile_)

    def _tree(self, compile_: Compile) -> GuardText | None:
        reads(self._compile, compile_)
        cache = reader_of(compile_).cache
        entry = cache.get(compile_)
        if entry is None or entry[0] != (compile_.stamp, compile_.process.naming.stamp):
            text = guard_text(compile_, reader_of(compile_))
            entry = (compile_.stamp, compile_.process.naming.stamp), text
            cache.put(compile_, entry, text.characters if text else 1)
        tree: GuardText | None = entry[1]
        return tree

    def full_path(self, path: str, in_earlier: frozenset[str]) -> str:
        """Complete the path of a source file from its end in a guard: by the function, else by the only match in the graphs.

        `in_earlier`: the files with this end in the graphs of the earlier compile.
        """
        if self.file is not None and self.file.endswith(path):
            return self.file
        if path.startswith(("/", "<")):
            return path
        matching = self._matching.get(path)
        if matching is None:
            matching = self._matching[path] = _files_with(path, self._compile)
        if in_earlier:
            matching = matching | in_earlier
        return next(iter(matching)) if len(matching) == 1 else path

    def earlier(self, ref: str | None) -> Compile | None:
        """Return the compile that a reason names: of this frame, or of the same frame in the parent process."""
        if not ref:
            return None
        if ref not in self._earlier:
            self._earlier[ref] = self._find(ref)
        return self._earlier[ref]

    def _find(self, ref: str) -> Compile | None:
        parsed = parsed_ref(ref)
        wanted = parsed.id if parsed is not None else None
        process, key = self._compile.process, self._compile.frame.key
        for owner in (process, process.parent):
            results = owner.find(wanted) if owner is not None and wanted is not None else None
            if results is not None and frame_key(results.id) == key and guards_at(results)[0] == ref:
                return results
        return None

    def fixed(self, ref: str | None, cause: Cause) -> str:
        """Return the line that specialized a dynamic size in an earlier compile; '' if none did."""
        earlier = self.earlier(ref) if cause.kind == guard_grammar.SIZE and cause.dim is not None else None
        fixed = fixed_in(earlier).get(f"{cause.source}.size()[{cause.dim}]") if earlier is not None else None
        return fixed.line if fixed is not None else ""

    def free(self, ref: str | None) -> frozenset[str]:
        """Return the sources with a symbol in an earlier compile: a later one does not make them dynamic."""
        earlier = self.earlier(ref)
        return frozenset(symbols_of(earlier)) - frozenset(fixed_in(earlier)) if earlier is not None else frozenset()

    def at(self, ref: str | None) -> GuardText | None:
        """Return the guards of an earlier compile."""
        earlier = self.earlier(ref)
        return self.of(earlier) if earlier is not None else None


class Fixed(NamedTuple):
    """A size or number with a symbol that a compile specialized."""

    line: str
    """The responsible line."""
    needs_number: bool
    """Whether code needed the number itself. Otherwise it was compared with a constant, as the size of another tensor can be."""


@part
def fixed_in(compile_: Compile, reader: Reader) -> dict[str, Fixed]:
    """Return the sizes and numbers (`L[…]` shortened) that a compile specialized."""
    results: dict[str, Fixed] = {}
    needed: set[object] = set()  # the numbers that code needed
    for record, _ in records_of(compile_, ("symbolic_shape_specialization",)):
        fields = reader.event(record)
        stack = frames_of(compile_.process, list_in(fields, "user_stack"))
        frames = (*user_frames(stack), *stack[-1:])
        line = _line(frames[0]) if frames else "a line of the program"
        value = fields.get("value")
        is_direct = any(frame.name in _NEEDS_NUMBER for frame in frames_of(compile_.process, list_in(fields, "stack")))
        is_found = text_in(fields, "reason") == "find"  # the symbol equals one that was specialized before
        if is_direct:
            needed.add(value)
        is_needed = value in needed if is_found else is_direct
        results |= {strip_local(str(source)): Fixed(line, is_needed) for source in list_in(fields, "sources")}
    return results


_NEEDS_NUMBER = ("guard_int", "guard_float")
"""Functions of torch (torch/fx/experimental/sym_node.py) that replace a symbol by its number."""


def _line(frame: StackFrame) -> str:
    place, who = f"{frame.file.rpartition('/')[2]}:{frame.line}", whose(frame.file)
    if who:
        return f"code of {who} ({place})"
    return f"the line {place}" if frame.file.startswith("<") else f"your line {place}"


@part
def symbols_of(compile_: Compile, reader: Reader) -> dict[str, tuple[str, str]]:
    """Return source (`L[…]` shortened) → (symbol, its value in this compile)."""
    results: dict[str, tuple[str, str]] = {}
    for record, _ in records_of(compile_, ("create_symbol",)):
        fields = reader.event(record)
        symbol, source, value = text_in(fields, "symbol"), text_in(fields, "source"), fields.get("val")
        if symbol and source:
            results[strip_local(source)] = symbol, str(value)[:80]
    return results


class Tensor(NamedTuple):
    """A tensor as a compile was given it."""

    is_view: bool
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


_TENSOR, _SOURCE = "describe_tensor", "describe_source"


@part
def tensors_in(compile_: Compile, reader: Reader) -> dict[str, Tensor]:
    """Return source (`L[…]` shortened) → the tensor that a compile was given; empty without their descriptions."""
    tensors: dict[tuple[object, object], Tensor] = {}
    results: dict[str, Tensor] = {}
    for record, event in records_of(compile_, (_TENSOR, _SOURCE)):
        fields = reader.event(record)
        if not isinstance(fields, dict):
            continue
        key = (fields.get("describer_id"), fields.get("id"))
        if not all(isinstance(number, int) for number in key):
            continue
        if event == _TENSOR:
            sizes, strides = (tuple(n for n in list_in(fields, name) if isinstance(n, int)) for name in ("size", "stride"))
            tensors[key] = Tensor(fields.get("is_view") is True, sizes, strides)
        elif isinstance(source := fields.get("source"), str):
            results[strip_local(source)] = tensors.get(key, Tensor(False, (), ()))
    return results


def sized(source: str, dim: int | None) -> str:
    """Format a number or a tensor size in the spelling of symbols."""
    return source if dim is None else f"{source}.size()[{dim}]"


def _dynamic(
    change: Became, symbols: dict[str, tuple[str, str]], guards: GuardText | None, fixed_here: Mapping[str, Fixed]
) -> Dynamic | None:
    """Return a change with its symbol; None where torch gave it none (an attribute of a module, a global)."""
    source = strip_local(change.source)
    symbol = symbols.get(sized(source, change.dim))
    if symbol is None or change.reason not in ("size change", "scalar change"):
        return None
    fixed = "" if guards is None else guards.fixes(source) if change.dim is None else guards.size(source, change.dim)
    if fixed and change.dim is None and guard_grammar.value_kind(fixed) == guard_grammar.VALUE:
        fixed = ""  # it equals another number or size of the call, and is as dynamic as that one
    reason = fixed_here.get(sized(source, change.dim)) if fixed else None
    return Dynamic(
        source, change.dim, change.before, change.now, symbol[0], value_of(fixed) if fixed else None,
        reason is not None and reason.needs_number,
    )  # fmt: skip


class _Failed(NamedTuple):
    """A failed guard of an older compile: the same for each call that it failed for."""

    reason: RecompileReason
    compile_: Compile | None
    """The older compile, if the log has it."""
    guards: GuardText | None
    cause: Cause
    comment: Comment
    where: tuple[str | None, int | None, str | None]
    """File, line and code that were being traced; of the file the end of its path only, unless the reason has a stack."""
    torch_line: str
    hint: str
    guard: str | None
    """The address of the guard's line."""
    guard_kind: str
    fixed_by: str
    files: frozenset[str]
    """The files in the graphs of the older compile whose path may end as that of `where`."""


def _failed(reason: RecompileReason, compile_: Compile, texts: _Texts) -> _Failed:
    """Return the failed guard of a reason. Torch repeats a reason for each later call, so the last ones are cached."""
    key = (compile_.frame, id(reason))
    entry = texts.cache.get(key)
    if entry is not None:
        failed: _Failed = entry[2]
        older = failed.compile_
        if failed.reason is reason and older is not None and (entry[0], entry[1]) == (older.stamp, compile_.process.naming.stamp):
            return failed  # the compile depends on the older one already: the reason comes from the same cache
    cause, earlier = cause_of(reason.text, reason.note), texts.earlier(reason.earlier)
    guards = texts.of(earlier) if earlier is not None else None
    guard = guards.failed(cause, reason.text) if guards else None
    if cause.kind != guard_grammar.OBJECT:  # the class of another object is in the guards of the call
        cause = _refined(cause, guards, None)
    comment = comment_of(guard.comment) if guard is not None and not reason.comment.origins else reason.comment
    where = _where(reason, guard, comment)
    failed = _Failed(
        reason, earlier, guards, cause, comment, where,
        reason.torch_line or next((str(origin.by) for origin in comment.origins if origin.by is not None), ""),
        reason.note or cause.note or comment.note, at_line(guards.ref, guard.line) if guards and guard else None,
        guard.node.kind if guard else "", texts.fixed(reason.earlier, cause), _files_with(where[0], earlier),
    )  # fmt: skip
    if earlier is not None and earlier is not compile_ and earlier.process is compile_.process:
        texts.cache.put(key, (earlier.stamp, compile_.process.naming.stamp, failed), len(reason.text) + FAILED)
    return failed


def _reason(
    reason: RecompileReason, compile_: Compile, texts: _Texts, symbols: dict[str, tuple[str, str]],
    became: tuple[Became, ...],
) -> Reason:  # fmt: skip
    failed = _failed(reason, compile_, texts)
    cause = failed.cause
    if cause.kind == guard_grammar.OBJECT:
        cause = _refined(cause, failed.guards, texts.of(compile_))
    actual = cause.actual or texts.actual(cause, symbols, became)
    cause = guard_grammar.by_number_type(cause, actual)
    actual = cause.actual or actual
    asker, origin, why = _NOBODY, "", ""
    met: tuple[Met, ...] = ()
    if cause.kind == guard_grammar.CONDITION and (condition := condition_of(strip_local(reason.text))) is not None:
        met = tuple(_met(condition, compile_, texts, symbols))
        asker = asked(condition, {item.term: item.value for item in met}, failed.comment)
        actual, origin, why = _values_text(met), _origin(asker, failed.compile_, texts), _why(asker, reason.text)
    file, line, code = failed.where
    if file is not None and not reason.stack:
        file = texts.full_path(file, failed.files)
    by = reason.torch_line or str(asker.origin.by or "") or failed.torch_line
    part = asker.part
    return Reason(
        reason.earlier, failed.compile_ is not None, reason.text,
        cause.kind, cause.source, cause.dim, cause.expected, actual, cause.value, cause.settings,
        part.text if part else "", part.kind if part else "", part.bound if part else None,
        origin, met, failed.guard, failed.guard_kind,
        file, line, code, whose(file) if file else "", by, why,
        failed.fixed_by, reason.stack, failed.hint,
    )  # fmt: skip


_NOBODY = Asked()


def _why(asker: Asked, text: str) -> str:
    by, place = asker.origin.by, asker.origin.place
    if by is None:
        return ""
    return meaning_of(by.file, by.name, text, asker.origin.code or "", bool(place is not None and whose(place.file)))


def _refined(cause: Cause, earlier: GuardText | None, guards: GuardText | None) -> Cause:
    """Refine a cause with the guards of the earlier compile and of the new one."""
    if earlier is None:
        return cause
    if cause.kind in guard_grammar.VALUES and earlier.is_module(cause.source):
        return guard_grammar.as_attribute(cause)
    if cause.kind == guard_grammar.TYPE and (tensor_class := earlier.tensor_class(cause.source)):
        return replace(cause, expected=tensor_class)
    if cause.kind == guard_grammar.SIZE and cause.dim is not None and earlier.marked_static(cause.source, cause.dim):
        return replace(cause, value="static")
    if cause.kind == guard_grammar.LENGTH:
        kind = class_name(earlier.manager_type(cause.source))
        return replace(cause, value="dict" if kind.endswith("dict") or kind.endswith("Dict") else kind)
    if cause.kind != guard_grammar.OBJECT:
        return cause
    before, now = earlier.manager_type(cause.source), guards.manager_type(cause.source) if guards is not None else ""
    kind, other = class_name(before), class_name(now)
    kind, other = OBJECTS.get(kind, kind), OBJECTS.get(other, other)
    value = "enum" if before.startswith(("<enum", "<flag")) else kind
    if kind == "class":
        is_class, same = cause.expected.removeprefix("a "), guards.same_object(cause.source) if guards is not None else ""
        actual = f"class {same}" if other == "class" and same else ""
        return replace(cause, expected=f"class {is_class}", actual=actual, value=value)
    actual = "" if not other else f"another {cause.expected.removeprefix('a ')}" if before == now else f"a {other}"
    return replace(cause, actual=actual or cause.actual, value=value)


def _where(
    reason: RecompileReason, guard: GuardLine | None, comment: Comment
) -> tuple[str | None, int | None, str | None]:
    """Return file, line and code that were being traced."""
    traced = comment.traced
    if reason.file is None and guard is not None and traced.place is not None:
        return traced.place.file, traced.place.line, traced.code
    return reason.file, reason.line, reason.code


def _origin(asker: Asked, earlier: Compile | None, texts: _Texts) -> str:
    """Return the origin of a condition: `your line` only for a path that is complete, so that it shows whose it is."""
    place = asker.origin.place
    if asker.who != guard_grammar.PROGRAM or place is None:
        return asker.who
    file = texts.full_path(place.file, _files_with(place.file, earlier))
    return whose(file) or (guard_grammar.PROGRAM if is_complete(file) else "")


def is_complete(path: str) -> bool:
    """Return whether a path is more than the end of one; also of code without a file (`<string>`)."""
    return path.startswith(("/", "<", "\\")) or path[1:2] == ":"


def _met(condition: Condition, compile_: Compile, texts: _Texts, symbols: dict[str, tuple[str, str]]) -> Iterable[Met]:
    """Yield the terms of a condition with their values in the new compile."""
    guards = texts.of(compile_)
    for term in condition.terms:
        symbol = symbols.get(term.text)
        value = symbol[1] if symbol is not None else ""
        if not value and guards is not None:
            value = guards.size(term.source, term.dim) if term.dim is not None else guards.fixes(term.text)
        yield Met(term.text, term.source, term.dim, value)


def _values_text(met: Iterable[Met]) -> str:
    """Format the values of terms; several with their names: `x dim 0 was 24, y dim 0 was 4`."""
    terms = list(met)
    if len(terms) == 1:
        return terms[0].value
    return ", ".join(f"{name_of(item.source, item.dim, item.term)} was {item.value}" for item in terms if item.value)


def name_of(source: str, dim: int | None, term: str = "") -> str:
    """Return `x dim 0`, `module.index`; for a stride or an offset torch's words."""
    return guard_grammar.without_numpy(f"{source} dim {dim}" if dim is not None else term or source)


def _files_with(end: str | None, compile_: Compile | None) -> frozenset[str]:
    """Return the files that the graphs of a compile name and whose path may end so."""
    if end is None or compile_ is None:
        return frozenset()
    return frozenset(name for name in files_in(compile_) if is_end_of(end, name))


_GRAPH = "dynamo_output_graph"
_FILE = re.compile(rb"# File: (/[^\n]{1,4000}?):\d{1,9} in ")


@part
def files_in(compile_: Compile, reader: Reader) -> tuple[str, ...]:
    """Return the paths of the source files that the graph of a compile names."""
    graphs = [record for record, _ in records_of(compile_, (_GRAPH,)) if compile_.process.log.has_payload(record)]
    names = dict.fromkeys(name for record in graphs for name in _FILE.findall(reader.payload(record)))
    return tuple(name.decode("utf-8", "replace") for name in names)
