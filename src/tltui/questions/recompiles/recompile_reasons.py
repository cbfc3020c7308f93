"""Recompile reasons: the failed guards of earlier compiles of a frame, and the warning of torch at the recompile limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from tltui.model.kinds import kind_of
from tltui.model.node_answers import part, reader_of, reads
from tltui.model.nodes import Compile, frame_key
from tltui.model.record_reader import (
    Reader,
    address,
    list_in,
    logged,
    number_in,
    records_of,
    text_in,
    whole_in,
)
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.status import LIMIT
from tltui.model.torch_version import version_by_metrics
from tltui.questions.recompiles.failed_guard_text import cause_of
from tltui.questions.recompiles.guard_grammar import NO_COMMENT, Comment, comment_of, split_comment
from tltui.questions.shapes.shape_env import Value, value_of
from tltui.questions.stacks.tracebacks import StackFrame, traceback_frames, user_frames
from tltui.questions.timing.timing_events import Event
from tltui.text.frozen import frozen
from tltui.trace.grammar import parse_json

T = TypeVar("T")
NAME = "recompile_reasons"
GUARDS = "dynamo_cpp_guards_str"
INSTANT = 4096
"""Maximum stored bytes of an `automatic_dynamic` timing event."""
MOST_VERSIONS = 64
"""Different compiled versions that a call is compared with."""
MANY_RECOMPILES = 256
"""Recompiles of a frame (torch's `accumulated_recompile_limit`) after which calls are compared with `FEW_VERSIONS`."""
FEW_VERSIONS = 6
REASONS_CACHED = 2048
"""Parsed reasons and stacks that are cached."""
_EARLIER = re.compile(r"^\[?(!?\d+(?:/\d+){1,2})(?:_\d+)?\]?:\s*(.*)$", re.DOTALL)
_MARKED = re.compile(r"marking (.+) as dynamic \(from automatic dynamic/PGO\)$")
_VARIED = re.compile(r"automatic dynamic (?:int (.+) val|(size|stride) (.+) (?:(?:size|stride)\((\d+)\)|dim|other)) (.+) != (.+)$")
_SIZE = re.compile(r"(.+)\.size\(\)\[(\d+)\]")
_STACK = re.compile(r"\n\s*User stack trace:\s*\n")
_HIT = re.compile(r"torch\._dynamo hit config\.(?P<setting>\w+) \((?P<limit>\d{1,18})\)")
_REASON = re.compile(r"^ +last reason: (?P<reason>.*?)(?=^To log all recompilation reasons|\Z)", re.DOTALL | re.MULTILINE)
_WARNING_STACK = "User stack trace:"
_NONE = frozenset(("", "None", "Unable to find recompilation reasons"))


@frozen
class RecompileReason:
    """Why one earlier compile could not be used."""

    text: str
    """The guard that failed, or torch's words for it. '': torch wrote no reason."""
    earlier: str | None = None
    """The address of the earlier compile."""
    guards: str | None = None
    """The address of its guard tree, if the log has it."""
    code: str | None = None
    """The user's line that the guard comes from."""
    file: str | None = None
    line: int | None = None
    stack: tuple[StackFrame, ...] = ()
    """The user stack at which the guard was created, innermost first."""
    note: str = ""
    """Torch's note on the guard."""
    torch_line: str = ""
    """The line of torch that asked for the guard, as torch names it: `_prims_common/__init__.py:1118 in infer_size`."""
    comment: Comment = NO_COMMENT
    """The parsed comment behind the guard."""


@frozen
class Became:
    """A size, stride or number that varied, and that torch marked as dynamic for it (`automatic_dynamic`)."""

    source: str
    dim: int | None
    reason: str
    before: Value | None
    """Null if the log lacks it."""
    now: Value | None

    @property
    def lacks_values(self) -> bool:
        """Whether the log lacks the old and the new value: their message is of a lower level."""
        return self.before is None and self.now is None


@frozen
class Recompile:
    """Why a compile is a recompile."""

    reasons: tuple[RecompileReason, ...]
    reasons_from: str
    """`artifact`, `metrics`, `exception` (`error_on_recompile`), `warning` (of the recompile limit, in TORCH_LOGS text), `never`
    (this torch writes none), '' where none was logged."""
    ref: str | None = None
    """The address of the record."""
    became_dynamic: tuple[Became, ...] = ()
    is_cut: bool = False
    """Whether the record was too large to be read in full."""
    contexts: tuple[str, ...] = ()
    """The texts that the program's hooks gave at this recompilation."""


_TRIGGERED = "triggered by the following guard failure(s):\n"
_RAISED = re.compile(r"^ *- (\d+/\d+: .+(?:\n(?! *- \d+/\d+: ).+)*)", re.MULTILINE)


def versions_compared(compile_: Compile) -> int:
    """Return how many older versions of its frame a recompile is compared with, at most."""
    return MOST_VERSIONS if (compile_.id.compile or 0) <= MANY_RECOMPILES else FEW_VERSIONS


def ends_of(items: Sequence[T], most: int) -> tuple[Sequence[T], Sequence[T]]:
    """Return at most so many items, half of them the first and half the last ones, and the others."""
    start = (most + 1) // 2
    end = max(len(items) - most + start, start)
    return (*items[:start], *items[end:]), items[start:end]


def recompile_of(compile_: Compile, events: list[Event], reader: Reader | None = None) -> Recompile | None:
    """Return why this compile was needed; None for the first of its frame without recorded reasons."""
    return selected_reasons(compile_, events, reader or reader_of(compile_), None)[0]


def selected_reasons(
    compile_: Compile, events: list[Event], reader: Reader, most: int | None
) -> tuple[Recompile | None, int]:
    """Return at most `most` reasons, beside those that name another cause, and the number of reasons that are left out."""
    became = tuple(became_of(event) for event in events if event.name == "automatic_dynamic")
    contexts = _user_contexts(compile_, reader)
    record = next((n for n, _ in records_of(compile_, (NAME,)) if compile_.process.log.has_payload(n)), None)
    ref, is_cut = None, False
    if record is not None:
        texts, source = parse_payload(reader.payload(record)), "artifact"
        ref, is_cut = address(compile_, record, NAME), compile_.process.log.columns.size[record] > 1 << 20
    elif texts := [m.recompile_reason for m in compile_.metrics if m.recompile_reason]:
        source = "metrics"
    elif texts := in_exception(compile_.facts.fail_reason or ""):
        source = "exception"
    elif (warning := limit_warning(compile_)) is not None and warning.reason:
        texts, source, ref = [warning.reason], "warning", warning.ref
    elif not compile_.is_recompile:
        return None, 0
    else:
        source = "never" if never_logged(compile_, reader) else ""
    selected, others = _selected(texts, most)
    return Recompile(_parsed_for(compile_, selected), source, ref, became, is_cut, contexts), others


def in_exception(text: str) -> list[str]:
    """Return the guards in a `RecompileError`: with `error_on_recompile` torch raises before it writes a record.

    See `get_and_maybe_log_recompilation_reasons` in torch/_dynamo/guards.py.
    """
    return _RAISED.findall(text.partition(_TRIGGERED)[2])


def never_logged(compile_: Compile, reader: Reader) -> bool:
    """Return whether the metrics show a version of torch that does not log recompile reasons."""
    return version_by_metrics(compile_, reader).has(kind_of("artifact", NAME).span) is False


@part
def cached_recompile(compile_: Compile, reader: Reader) -> Recompile | None:
    """Return the reasons of a recompile, cached."""
    return recompile_of(compile_, instants_of(compile_, reader), reader)


def instants_of(compile_: Compile, reader: Reader, limit: int = INSTANT) -> list[Event]:
    """Return the `automatic_dynamic` events of at most `limit` stored bytes; other events are not parsed."""
    results = automatic_in_text(compile_, reader)
    for record, _ in records_of(compile_, ("chromium_event",)):
        if reader.log.columns.size[record] <= limit and b'"automatic_dynamic"' in reader.payload(record):
            value = reader.json(record)
            args = value.get("args") if isinstance(value, dict) else None
            if text_in(value, "name") == "automatic_dynamic" and isinstance(args, dict):
                results.append(Event("automatic_dynamic", "i", number_in(value, "ts") or 0.0, args))
    return results


def automatic_in_text(compile_: Compile, reader: Reader) -> list[Event]:
    """Return the `automatic_dynamic` events of TORCH_LOGS text.

    Details are in a separate message of a lower level; without it, the symbols of the compile show which sizes varied.
    """
    marked: list[str] = []
    events: dict[tuple[str, object], Event] = {}
    for record in logged(compile_, "automatic_dynamic"):
        message = reader.text(record, INSTANT)
        if match := _MARKED.match(message):
            marked.append(match[1])
        elif match := _VARIED.match(message):
            number, property_, tensor, length, now, before = match.groups()
            dim: object = "scalar" if number else int(length) if length else "all"
            why = "scalar change" if number else f"{property_} change" if length else "other"
            events.setdefault((number or tensor, dim), _automatic(number or tensor, dim, why, before, now))
    exact = {source for source, _ in events}
    sizes = _symbol_sources(compile_, reader) if set(marked) - exact else []
    for source in marked:
        if source in exact:
            continue
        for symbol in sizes:
            dim = "scalar" if symbol == source else _dim_of(symbol, source)
            if dim is not None:
                events.setdefault((source, dim), _automatic(source, dim, "scalar change" if dim == "scalar" else "size change"))
    return list(events.values())


def _automatic(source: str, dim: object, why: str, before: str | None = None, now: str | None = None) -> Event:
    return Event("automatic_dynamic", "i", 0.0, {"name": source, "dim_changed": dim, "reason": why, "cached": before, "new": now})


def _symbol_sources(compile_: Compile, reader: Reader) -> list[str]:
    """Return the sources of the symbols of a compile."""
    return [source for record, _ in records_of(compile_, ("create_symbol",)) if (source := text_in(reader.event(record), "source"))]


def _dim_of(size: str, tensor: str) -> int | None:
    """Return the tensor dim of a symbol source: 0 for `x.size()[0]` of `x`."""
    match = _SIZE.fullmatch(size)
    return int(match[2]) if match and match[1] == tensor else None


def parse_payload(payload: bytes) -> list[str]:
    """Parse the reasons of a `recompile_reasons` record: a JSON list, or the bare text of one reason."""
    stripped = payload.strip()
    if stripped[:1] in (b"[", b'"'):
        try:
            value = parse_json(stripped)
        except ValueError:
            value = None
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            return [item if isinstance(item, str) else repr(item) for item in value]
    return [payload.decode("utf-8", "replace")] if stripped else []


def parse_reason(text: str, compile_: Compile | None = None) -> RecompileReason:
    """Parse one reason: `0/1: n == 2     # return x * n  # models/f.py:4 in f`, optionally with a user stack below it."""
    if compile_ is None:
        name, text = _split_earlier(text)
        return _parsed(text, _address_in(name) if name is not None else None, None)
    return _parsed_for(compile_, (text,))[0]


def _parsed_for(compile_: Compile, texts: Iterable[str]) -> tuple[RecompileReason, ...]:
    """Parse the reasons of a recompile. Torch repeats a reason for each later call, so they are cached."""
    cache, frame, process = reader_of(compile_).cache, compile_.frame, compile_.process
    naming = process.naming.stamp
    results: list[RecompileReason] = []
    compiles: list[Compile] = []
    for text in texts:
        entry = cache.get((frame, text))
        if entry is not None and entry[1] == entry[0].stamp and entry[2] == naming:
            compiles.append(entry[0])
            results.append(entry[3])
            continue
        name, guard = _split_earlier(text)
        if name is None:
            results.append(_parsed(guard, None, None))
            continue
        older, earlier, guards = _resolve(name, compile_)
        reason = _parsed(guard, earlier, guards)
        if older is not None and older.process is process:
            cache.put((frame, text), (older, older.stamp, naming, reason), len(text))
        results.append(reason)
    reads(compile_, *compiles)
    return tuple(results)


def _selected(texts: Sequence[str], most: int | None) -> tuple[Sequence[str], int]:
    """Return the reasons for the newest and the oldest versions, those that name another cause, and the number of others."""
    if most is None or len(texts) <= most:
        return texts, 0
    ends, others = ends_of(texts, most)
    present = set(map(_cause_in, ends))
    more: dict[tuple[str, str, int | None], str] = {}
    for text in others:
        cause = _cause_in(text)
        if cause not in present:
            more.setdefault(cause, text)
    return (*ends, *more.values()), len(others) - len(more)


@lru_cache(maxsize=REASONS_CACHED)
def _cause_in(text: str) -> tuple[str, str, int | None]:
    """Return the identity of the cause that a reason names."""
    reason = _guard_in(_split_earlier(text)[1])
    cause = cause_of(reason.text, reason.note)
    return cause.kind, cause.source, cause.dim


def _split_earlier(text: str) -> tuple[str | None, str]:
    """Split a reason from the id of the earlier compile; None without one."""
    match = _EARLIER.match(text.strip())
    return (match[1], match[2]) if match is not None else (None, text)


def _parsed(text: str, earlier: str | None, guards: str | None) -> RecompileReason:
    """Parse a reason without the id of the earlier compile."""
    one = _guard_in(text)
    if earlier is None and guards is None:
        return one
    return RecompileReason(
        one.text, earlier, guards, one.code, one.file, one.line, one.stack, one.note, one.torch_line, one.comment
    )  # fmt: skip


@lru_cache(maxsize=REASONS_CACHED)
def _guard_in(text: str) -> RecompileReason:
    """Parse the failed guard of a reason, cached: later recompiles repeat it."""
    head, *rest = _STACK.split(text, maxsplit=1)
    stack = _user_stack(rest[0]) if rest else ()
    head, note = split_comment(head)
    comment = comment_of(note)
    traced = comment.traced
    place, code, file, line = traced.place, traced.code, None, None
    if place is not None:
        file, line = place.file, place.line
    if stack:  # the stack has the full path, the comment only its end
        file, line = stack[0].file, stack[0].line
    by = next((str(origin.by) for origin in comment.origins if origin.by is not None), "")
    return RecompileReason(head, None, None, code, file, line, stack, comment.note, by, comment)


@lru_cache(maxsize=REASONS_CACHED)
def _user_stack(text: str) -> tuple[StackFrame, ...]:
    return user_frames(traceback_frames(text))


def _address_in(name: str) -> str:
    """Return the address that a reason has for an earlier compile."""
    ref = parsed_ref(name)
    return name if ref is None else str(ref)


def _resolve(name: str, compile_: Compile) -> tuple[Compile | None, str, str | None]:
    """Return an earlier compile, if the log has it, its address, and that of its guard tree."""
    ref = parsed_ref(name)
    if ref is None or ref.id is None:
        return None, _address_in(name), None
    process = compile_.process
    compile_id = ref.id.of(compile_.id.epoch)  # a guard of an earlier epoch is gone
    earlier = process.compiles.get(compile_id)
    if earlier is None:  # it may still come: with the frame that it is of
        frame = process.frames.get(frame_key(compile_id))
        reads(compile_, frame if frame is not None else process)
    if earlier is None and process.parent is not None:  # a forked child has the compiles of its parent
        earlier = process.parent.find(ref.id)
        if earlier is None:
            reads(compile_, process.parent)
    if earlier is None:
        return None, str(process.ref_of(compile_id)), None
    return earlier, *guards_at(earlier)


@lru_cache(maxsize=4096)
def parsed_ref(name: str) -> Ref | None:
    """Parse an address in a reason, cached: recompiles of a frame name the same few repeatedly."""
    try:
        return parse_ref(name)
    except BadAddress:
        return None


@part
def guards_at(compile_: Compile, reader: Reader) -> tuple[str, str | None]:
    """Return the addresses of a compile and of its last guard tree, if the log has one."""
    trees = [record for record, _ in records_of(compile_, (GUARDS,))]
    return compile_.address, address(compile_, trees[-1], GUARDS) if trees else None


def became_of(event: Event) -> Became:
    """Convert an `automatic_dynamic` event."""
    args = event.args

    def read(key: str) -> Value | None:
        value = args.get(key)
        return None if value is None else value_of(value)

    source = text_in(args, "name") or "?"
    return Became(source, whole_in(args, "dim_changed"), text_in(args, "reason") or "", read("cached"), read("new"))


def _user_contexts(compile_: Compile, reader: Reader) -> tuple[str, ...]:
    """Return the texts of hooks (`torch._dynamo.register_hook_for_recompile_user_context`), sorted: torch writes a set."""
    records = (metrics.record for metrics in compile_.metrics if not metrics.is_runtime)
    with_contexts = [record for record in records if _CONTEXTS.encode() in reader.head(record)]
    values = (text for record in with_contexts for text in list_in(reader.event(record), _CONTEXTS))
    return tuple(sorted({text for text in values if isinstance(text, str)}))


_CONTEXTS = "recompile_user_contexts"


@frozen
class LimitWarning:
    """One such warning."""

    ref: str
    """The address of the record."""
    setting: str
    """`recompile_limit`, `accumulated_recompile_limit`; `cache_size_limit` before torch 2.7."""
    limit: int
    reason: str
    """The guard that failed last, with its user stack, as `recompile_reasons` has it; '' where torch found none."""


@part
def limit_warning(compile_: Compile, reader: Reader) -> LimitWarning | None:
    """Return the warning that torch refused a compile; None for none."""
    for record, _ in records_of(compile_, (LIMIT,)):
        text = reader.payload(record).decode("utf-8", "replace")
        if hit := _HIT.match(text):
            match = _REASON.search(text)
            reason = _stripped(match["reason"]) if match else ""
            return LimitWarning(address(compile_, record, LIMIT), hit["setting"], int(hit["limit"]), reason)
    return None


def _stripped(reason: str) -> str:
    """Remove blanks at the end; '' for torch's words that no reason is known."""
    text = reason.rstrip()
    return "" if text.partition(_WARNING_STACK)[0].strip() in _NONE else text
