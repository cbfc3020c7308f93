"""Guards of a compile, their cost, and those that failed later."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tltui.model.node_answers import Count, part, reader_of
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import Reader, address, list_in, records_of, text_in
from tltui.questions.guards.guard_tree_text import LIMIT, TREE, GuardLines, ordered, tree_of, without_latency
from tltui.questions.recompiles.failed_guard_text import cause_of
from tltui.questions.recompiles.recompile_reasons import recompile_of
from tltui.questions.stacks.tracebacks import frames_of, user_frames
from tltui.text.frozen import frozen
from tltui.text.graphs.guard_tree import GuardNode
from tltui.text.search.child_process import compiled

EVERY = 64
OLD = "dynamo_guards"
"""Record of 2024, in addition to the tree or instead of it."""

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
    "MAPPING_KEYS_MATCH": "the keys of a read-only dict, in their order",
    "TUPLE_ITERATOR_LEN": "what is left of an iterator over a tuple",
    "RANGE_ITERATOR_MATCH": "what is left of an iterator over a range",
    "FLOAT_IS_NAN": "a float that must be NaN",
    "COMPLEX_IS_NAN": "a complex number that must be NaN",
    "STORAGE_OVERLAPPING": "tensors that must share memory, or must not",
    "LAMBDA_GUARD": "a condition, most often on sizes",
    "SYMBOLIC_SHAPE_GUARD": "conditions on sizes, compiled to C++",
    "GLOBAL_STATE": "modes of torch: grad mode, autocast, threads, default dtype …",
    "TORCH_FUNCTION_MODE_STACK": "the torch function modes that are active",
    "DEFAULT_DEVICE": "the default device",
    "DUAL_LEVEL_MATCH": "the level of forward-mode differentiation",
    "DISPATCH_KEY_SET_MATCH": "a set of dispatch keys",
    "RELATIONAL_GUARD": "how several values relate",
}
"""Kinds of guards with their checks."""

_BY_CODE = (
    ("check_tensor(", "TENSOR_MATCH"), ("___check_type_id(", "TYPE_MATCH"), ("___check_obj_id(", "ID_MATCH"),
    ("___check_global_state(", "GLOBAL_STATE"), ("utils_device.CURRENT_DEVICE", "DEFAULT_DEVICE"),
    ("len(", "LENGTH_CHECK"), ("___dict_contains(", "DICT_CONTAINS"), ("not ___dict_contains(", "DICT_CONTAINS"),
    ("not hasattr(", "NO_HASATTR"), ("___dict_version(", "DICT_VERSION"),
)  # fmt: skip
_SOURCE = re.compile(r"[LG]\['[^']*'\](?:\.\w+|\[[^\]]*\])*")


@frozen
class Failure:
    """Failed guard of an earlier compile, from a recompile reason."""

    earlier: str
    """The address of the earlier compile."""
    ref: str
    """The address of the recompile."""
    text: str
    """Torch's words."""
    hint: str


@frozen
class FailedGuard:
    """A guard that did not hold later."""

    ref: str
    """The address of the recompile."""
    text: str
    """Torch's words."""
    cause: str
    """A key of `tltui.questions.recompiles.guard_grammar.CAUSES`."""
    line: int | None
    """Its line in the guard tree, from 1; None where it is not found."""


@frozen
class GuardCounts:
    """The guards of a compile, counted."""

    ref: str
    """The address of the compile."""
    artifact: str
    """The address of the record that lists them."""
    guards: int
    managers: int
    kinds: tuple[Count, ...]
    """The most frequent first."""
    latency_us: float | None
    """What one evaluation of all of them took, as torch measured it."""
    failed: tuple[FailedGuard, ...]


@frozen
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
    """Return the record with the guards: the tree, else the non-empty list of 2024."""
    log = compile_.process.log
    found = {name: record for record, name in records_of(compile_, (TREE, OLD)) if log.has_payload(record)}
    if TREE in found:
        return found[TREE], TREE
    if OLD in found and log.columns.size[found[OLD]] > 8:  # an empty list has two brackets and some tabs
        return found[OLD], OLD
    return None


@part
def _blamed(compile_: Compile, reader: Reader) -> tuple[Failure, ...]:
    """Return the guard failures of earlier compiles in the reasons of a recompile."""
    process = compile_.process
    if process.parent is not None:  # a forked child may name compiles of its parent
        process.parts.reads(process.parent, process.parent.naming)
    recompile = recompile_of(compile_, [], reader)
    ref = str(compile_.ref)
    return tuple(
        Failure(reason.earlier, ref, reason.text, reason.hint)
        for reason in (recompile.reasons if recompile else ())
        if reason.earlier is not None
    )


@part
def failures_in(frame: Frame, reader: Reader) -> dict[str, tuple[Failure, ...]]:
    """Map compile addresses to the guard failures in later recompiles of the frame. Call once per frame."""
    found: dict[str, list[Failure]] = {}
    for compile_ in frame.compiles:
        if compile_.is_recompile:
            for failure in _blamed(compile_):
                found.setdefault(failure.earlier, []).append(failure)
    return {earlier: tuple(failures) for earlier, failures in found.items()}


def each_with_failures(compiles: Iterable[Compile]) -> Iterator[tuple[Compile, tuple[Failure, ...]] | None]:
    """Yield compiles with the guard failures in later recompiles, and None now and then for interruption.

    Compiles of a frame must be adjacent.
    """
    frame: Frame | None = None
    failures: dict[str, tuple[Failure, ...]] = {}
    for compile_ in compiles:
        if frame is not compile_.frame:
            frame = compile_.frame
            for n, other in enumerate(frame.compiles):
                if other.is_recompile:
                    _blamed(other)
                if n % EVERY == EVERY - 1:
                    yield None
            failures = failures_in(frame) if len(frame.compiles) > 1 else {}
        yield compile_, failures.get(str(compile_.ref), ()) if failures else ()


@part
def _counted(compile_: Compile, reader: Reader) -> tuple[bytes, GuardCounts] | None:
    """Count the guards of a compile by a text search; return them with the md5 of the tree."""
    where = guards_record(compile_)
    if where is None:
        return None
    record, name = where
    ref, artifact = str(compile_.ref), address(compile_, record, name)
    if name == OLD:
        counted = Counter(node.kind for node in old_guards(compile_, record, reader))
        return b"", GuardCounts(ref, artifact, counted.total(), 0, ordered(counted), None, ())
    text, latency = without_latency(reader.payload(record, LIMIT))
    tree = tree_of(compile_, text)
    digest = hashlib.md5(text, usedforsecurity=False).digest()
    return digest, GuardCounts(ref, artifact, tree.guards, tree.managers, tree.kinds, latency, ())


def counts_of(compile_: Compile, failures: tuple[Failure, ...]) -> GuardCounts | None:
    """Return the guard counts of a compile; None if the log has no guards. `failures`: those of later recompiles."""
    found = _counted(compile_)
    if found is None:
        return None
    digest, counts = found
    return replace(counts, failed=_failed(compile_, digest, failures)) if failures else counts


def _failed(compile_: Compile, tree: bytes, failures: tuple[Failure, ...]) -> tuple[FailedGuard, ...]:
    """Locate the guards that later recompiles name."""
    found = []
    lines = GuardLines(compile_, tree)
    for failure in failures:
        cause = cause_of(failure.text, failure.hint)
        found.append(FailedGuard(failure.ref, failure.text, cause.kind, lines.of(cause, failure.text, failure.hint)))
    return tuple(found)


def old_nodes(compile_: Compile, record: int) -> Iterator[GuardNode]:
    """Yield the guards of a list of 2024 as a tree, grouped by source."""
    by_source: dict[str, list[GuardNode]] = {}
    for guard in old_guards(compile_, record, reader_of(compile_)):
        by_source.setdefault(guard.source, []).append(guard)
    yield GuardNode(-1, 0, -1, "RootGuardManager")
    number = 0
    for source, guards in sorted(by_source.items()):
        parent = 0
        if source:
            number += 1
            parent = number
            yield GuardNode(-1, 1, 0, "GuardManager", source)
        for guard in guards:
            number += 1
            yield guard._replace(depth=2 if source else 1, parent=parent)


def old_guards(compile_: Compile, record: int, reader: Reader) -> list[GuardNode]:
    """Parse the guards of a `dynamo_guards` record: a list of `{code, stack, user_stack}`."""
    guard_nodes: list[GuardNode] = []
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
        guard_nodes.append(
            GuardNode(
                -1, 1, 0, kind, source[0] if source else "", expression=code, code=(where.code or "") if where else "",
                path=where.file if where else "", place=(where.line or 0) if where else 0, function=where.name if where else "",
            )
        )  # fmt: skip
    return guard_nodes


@frozen
class GuardFilter:
    """Filter of guards: `kind:TENSOR source:L['x'] is:failed TEXT`, each part optional."""

    kind: str = ""
    source: str = ""
    text: str = ""
    failed: bool = False

    @classmethod
    def of(cls, text: str) -> GuardFilter:
        """Parse the typed filter."""
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
        """Return whether a guard matches. Lower case matches upper case too; the text may be a regular expression."""
        if self.failed and not failed:
            return False
        if self.kind not in node.kind.lower() or self.source not in source.lower():
            return False
        if not self.text:
            return True
        text = f"{node.kind} {source} {node.expression} {node.code} {node.path}:{node.place} {node.hint}"
        return compiled(self.text).search(text) is not None
