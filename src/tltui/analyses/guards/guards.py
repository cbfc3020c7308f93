"""The guards of a compile: what the compiled code relies on, and which of it did not hold later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tltui.analyses.guards.guard_lines import LIMIT, TREE, GuardText
from tltui.analyses.recompiles.causes import cause_of
from tltui.analyses.recompiles.reasons import RecompileReason, recompile_of
from tltui.analyses.records import Reader, address, list_in, named, text_in
from tltui.analyses.stacks.stacks import frames_of, user_frames
from tltui.model.nodes import Compile, Frame
from tltui.text.graphs.guard_tree import GuardNode
from tltui.text.pattern import compiled

OLD = "dynamo_guards"
"""The record of 2024, beside the tree or in place of it."""

KINDS: dict[str, str] = {
    "TENSOR_MATCH": "a tensor: dtype, device, sizes, strides, requires_grad",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "how the dimensions of a tensor are marked: dynamic, static, unbacked",
    "NO_TENSOR_ALIASING": "tensors that must not be the same one",
    "OBJECT_ALIASING": "two places that must hold the same object",
    "EQUALS_MATCH": "a Python value: int, float, string, tuple …",
    "TRUE_MATCH": "a bool that must be True",
    "FALSE_MATCH": "a bool that must be False",
    "NONE_MATCH": "something that must be None",
    "NOT_NONE": "something that must not be None",
    "TYPE_MATCH": "the type of an object",
    "FAKE_SCRIPT_TYPE_MATCH": "the type of an opaque object, a process group for example",
    "ID_MATCH": "the very same object: a function, a class, a module",
    "WEAKREF_ALIVE": "an object that must still exist",
    "LENGTH_CHECK": "the length of a list or tuple",
    "DICT_LENGTH": "the length of a dict",
    "DICT_CONTAINS": "a key that must be in a dict, or must not",
    "SET_CONTAINS": "a value that must be in a set, or must not",
    "DICT_VERSION": "a dict that must not have changed at all",
    "NO_HASATTR": "an attribute that must not be there",
    "HASATTR": "an attribute that must be there",
    "LAMBDA_GUARD": "a condition, most often on sizes",
    "SYMBOLIC_SHAPE_GUARD": "conditions on sizes, compiled to C++",
    "GLOBAL_STATE": "modes of torch: grad mode, autocast, threads, default dtype …",
    "TORCH_FUNCTION_MODE_STACK": "the torch function modes that are active",
    "DEFAULT_DEVICE": "the default device",
    "DUAL_LEVEL_MATCH": "the level of forward-mode differentiation",
    "DISPATCH_KEY_SET_MATCH": "a set of dispatch keys",
    "RELATIONAL_GUARD": "how several values relate",
}
"""What each kind of guard checks."""

_KIND = re.compile(rb"^(?:\| )*\+- (?:(?:Key|Value)Manager: )?(\w+)", re.MULTILINE)
_LATENCY = re.compile(rb"^Guard (?:eval )?latency = ([\d.]{1,20}) us", re.MULTILINE)
_BY_CODE = (
    ("check_tensor(", "TENSOR_MATCH"), ("___check_type_id(", "TYPE_MATCH"), ("___check_obj_id(", "ID_MATCH"),
    ("___check_global_state(", "GLOBAL_STATE"), ("utils_device.CURRENT_DEVICE", "DEFAULT_DEVICE"),
    ("len(", "LENGTH_CHECK"), ("___dict_contains(", "DICT_CONTAINS"), ("not ___dict_contains(", "DICT_CONTAINS"),
    ("not hasattr(", "NO_HASATTR"), ("___dict_version(", "DICT_VERSION"),
)  # fmt: skip
_SOURCE = re.compile(r"[LG]\['[^']*'\](?:\.\w+|\[[^\]]*\])*")


@dataclass(frozen=True, slots=True)
class FailedGuard:
    """A guard that did not hold later."""

    ref: str
    """The address of the recompile."""
    text: str
    """Torch's words."""
    cause: str
    """A key of `tltui.analyses.recompiles.causes.CAUSES`."""
    line: int | None
    """Its line in the guard tree, from 1; None where it is not found."""


@dataclass(frozen=True, slots=True)
class GuardCounts:
    """The guards of a compile, counted."""

    ref: str
    """The address of the compile."""
    artifact: str
    """The address of the record that lists them."""
    guards: int
    managers: int
    kinds: tuple[tuple[str, int], ...]
    """The most frequent first."""
    latency_us: float | None
    """What one evaluation of all of them took, as torch measured it."""
    failed: tuple[FailedGuard, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard."""

    line: int | None
    """In the guard tree, from 1; None where the log has no tree."""
    kind: str
    source: str
    """The Python expression of the object that it looks at; '' for modes and conditions."""
    expression: str
    file: str | None
    place: int | None
    code: str | None
    """The user's line that made it."""
    function: str | None
    hint: str
    failed: tuple[str, ...]
    """The recompiles for which it failed."""


def guards_record(compile_: Compile) -> tuple[int, str] | None:
    """The record that lists the guards: the tree, else the list of 2024 where it is not empty."""
    log = compile_.process.log
    found = {name: record for record, name in named(compile_, (TREE, OLD)) if log.has_payload(record)}
    if TREE in found:
        return found[TREE], TREE
    if OLD in found and log.columns.size[found[OLD]] > 8:  # an empty list has two brackets and some tabs
        return found[OLD], OLD
    return None


def failures_in(frame: Frame) -> Iterator[tuple[str, Compile, RecompileReason]]:
    """(earlier compile, recompile, reason) of all recompiles of a frame."""
    readers: dict[int, Reader] = {}
    for compile_ in frame.compiles:
        if not compile_.is_recompile:
            continue
        log = compile_.process.log
        found = recompile_of(compile_, [], readers.setdefault(id(log), Reader(log)))
        for reason in found.reasons if found else ():
            if reason.earlier is not None:
                yield reason.earlier, compile_, reason


def counts_of(
    compile_: Compile, failures: list[tuple[Compile, RecompileReason]], reader: Reader | None = None
) -> GuardCounts | None:
    """Count the guards of a compile: a search through the text, which is parsed only for guards that failed."""
    where = guards_record(compile_)
    if where is None:
        return None
    record, name = where
    reader = reader or Reader(compile_.process.log)
    artifact = address(compile_, record, name)
    if name == OLD:
        guards = old_guards(compile_, record, reader)
        counted = Counter(node.kind for node in guards)
        return _counts(compile_, artifact, counted, 0, None, failed_in(failures, None))
    payload = reader.payload(record, LIMIT)
    kinds = Counter(_KIND.findall(payload))
    managers = sum(count for kind, count in kinds.items() if kind.endswith(b"Manager"))
    guards_by_kind = Counter({k.decode("ascii", "replace"): n for k, n in kinds.items() if k.isupper()})
    latency = _LATENCY.search(payload[-200:])
    text = GuardText(payload.decode("utf-8", "replace"), artifact) if failures else None
    measured = _number(latency[1]) if latency else None
    return _counts(compile_, artifact, guards_by_kind, managers, measured, failed_in(failures, text))


def _counts(
    compile_: Compile, artifact: str, kinds: Counter[str], managers: int, latency: float | None,
    failed: tuple[FailedGuard, ...],
) -> GuardCounts:  # fmt: skip
    ordered = tuple(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))
    return GuardCounts(str(compile_.ref), artifact, kinds.total(), managers, ordered, latency, failed)


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def failed_in(failures: list[tuple[Compile, RecompileReason]], text: GuardText | None) -> tuple[FailedGuard, ...]:
    """Where the guards stand that later recompiles name."""
    found = []
    for compile_, reason in failures:
        cause = cause_of(reason.text, reason.hint)
        guard = text.failed(cause, reason.text) if text else None
        found.append(FailedGuard(str(compile_.ref), reason.text, cause.kind, guard.line if guard else None))
    return tuple(found)


def old_guards(compile_: Compile, record: int, reader: Reader) -> list[GuardNode]:
    """The guards of a `dynamo_guards` record: a list of `{code, stack, user_stack}`."""
    found: list[GuardNode] = []
    value = reader.json(record, LIMIT)
    for item in value if isinstance(value, list) else ():
        code = text_in(item, "code")
        if code is None:
            continue
        own = user_frames(frames_of(compile_.process, list_in(item, "user_stack")))
        kind = next((kind for start, kind in _BY_CODE if code.startswith(start)), "")
        if not kind:
            marks = "_dynamo_" in code and code.startswith("hasattr(")
            kind = "DIMENSION_DYNAMIC_MARKING_GUARD" if marks else "EQUALS_MATCH" if " == " in code else "LAMBDA_GUARD"
        source = _SOURCE.search(code)
        where = own[0] if own else None
        found.append(
            GuardNode(
                -1, 1, 0, kind, source[0] if source else "", expression=code, code=(where.code or "") if where else "",
                path=where.file if where else "", place=(where.line or 0) if where else 0, function=where.name if where else "",
            )
        )  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class GuardFilter:
    """Which guards are meant: `kind:TENSOR source:L['x'] is:failed TEXT`, each part of it optional."""

    kind: str = ""
    source: str = ""
    text: str = ""
    failed: bool = False

    @classmethod
    def of(cls, text: str) -> GuardFilter:
        """Parse what was typed."""
        kind = source = ""
        failed = False
        rest = []
        for word in text.split():
            if word.startswith("kind:"):
                kind = word[5:]
            elif word.startswith("source:"):
                source = word[7:]
            elif word == "is:failed":
                failed = True
            else:
                rest.append(word)
        return cls(kind.lower(), source.lower(), " ".join(rest), failed)

    def __bool__(self) -> bool:
        return bool(self.kind or self.source or self.text or self.failed)

    def takes(self, node: GuardNode, source: str, failed: bool) -> bool:
        """Whether a guard is meant. Small letters match capitals too; the text may be a regular expression."""
        if self.failed and not failed:
            return False
        if self.kind not in node.kind.lower() or self.source not in source.lower():
            return False
        if not self.text:
            return True
        said = f"{node.kind} {source} {node.expression} {node.code} {node.path}:{node.place} {node.hint}"
        return compiled(self.text).search(said) is not None
