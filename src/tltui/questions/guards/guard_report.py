"""Guards of compiles: their trees as text, and which of them a pattern or a cause selects."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from tltui.model.derived_cache import MISSING
from tltui.model.node_answers import Count, counts, parsed, part, reader_of
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import Reader, address, list_in, records_of, text_in
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.failed_guard_text import cause_of, class_name, strip_local
from tltui.questions.recompiles.guard_grammar import Cause, split_comment, value_kind
from tltui.questions.recompiles.recompile_reasons import recompile_of
from tltui.questions.stacks.tracebacks import frames_of, user_frames
from tltui.text.frozen import frozen
from tltui.text.graphs.guard_tree import GuardNode, parse, walk
from tltui.text.search.child_process import compiled

TREE = "dynamo_cpp_guards_str"
LIMIT = 64 << 20
"""Stored bytes of a guard tree that are read."""
BLOCK = 400
"""Lines below a manager that are searched for its guards."""
LINES_CACHED = 4096
"""Lines of guard trees whose node is cached."""
_DEPTH = re.compile(r"(?:\| )*")
_TENSOR = re.compile(
    r"^(?P<class>[^,]*), (?:DispatchKeySet\((?P<keys>[^)]*)\)|[^,]*), (?:torch\.)?(?P<dtype>\w+), device=(?P<device>\w+), "
    r"requires_grad=(?P<grad>\w+), size=\[(?P<size>[^\]]*)\], stride=\[(?P<stride>[^\]]*)\]"
)


_KINDS = {"int": ("int value",), "float": ("float value",), "bool": ("bool value",), "str": ("str value",)}
"""The classes of the values of a type."""


@frozen
class GuardLine:
    """A line of a guard tree."""

    line: int
    """From 1."""
    node: GuardNode
    text: str = ""

    @property
    def comment(self) -> str:
        """Comment of the guard."""
        return split_comment(self.text)[1]


_IN_SENTENCES = (guard_grammar.KEY, guard_grammar.LENGTH, guard_grammar.TYPE, guard_grammar.MARK)
"""Causes whose messages may be sentences with the source, not the text of the guard."""


class GuardText:
    """The guard tree of a compile. Sources are given as reasons have them, without `L[…]`."""

    def __init__(self, text: str, ref: str) -> None:
        self.ref = ref
        """The address of the artifact."""
        self._text = strip_local(text)
        self._failed: dict[str, GuardLine | None] = {}
        self._actual: dict[tuple[str, str, int | None], str] = {}

    @property
    def characters(self) -> int:
        """The length of the text."""
        return len(self._text)

    def failed(self, cause: Cause, text: str) -> GuardLine | None:
        """Return the guard of a reason, cached."""
        if text not in self._failed:
            self._failed[text] = self._find(cause, text)
        return self._failed[text]

    def _find(self, cause: Cause, text: str) -> GuardLine | None:
        if cause.kind in guard_grammar.TENSORS or (cause.kind == guard_grammar.TYPE and text.startswith("expected type of")):
            return self._with(f"check_tensor({cause.source}, ") or self._source(cause.source)
        if text.startswith("GLOBAL_STATE"):
            return self._with("+- GLOBAL_STATE: ")
        if text.startswith("Duplicate tensor"):
            return self._with("+- NO_TENSOR_ALIASING: check_no_aliasing(")
        words = strip_local(text)
        results = self._with(f": {words}", to_end=True)
        return self._source(cause.source) if results is None and cause.source and cause.kind in _IN_SENTENCES else results

    def actual(self, cause: Cause) -> str:
        """Return the value that this compile expects in place of an earlier one's: the value it was made for."""
        key = (cause.kind, cause.source, cause.dim)
        if key not in self._actual:
            self._actual[key] = self._expected(cause)
        return self._actual[key]

    def _expected(self, cause: Cause) -> str:
        if cause.kind in guard_grammar.TENSORS or cause.kind == guard_grammar.CONDITION:
            return self._tensor(cause)
        if cause.kind == guard_grammar.LENGTH:
            line = self._with(f"len({cause.source}) == ")
            if line is not None:
                return line.node.expression.rpartition(" == ")[2]
            return "0" if self._with(f": not {cause.source}", to_end=True) else ""
        if cause.kind == guard_grammar.KEY and (line := self._with(f"{_of_keys(cause.source)} == ")) is not None:
            return line.node.expression.partition(" == ")[2]
        return self._manager_value(cause) if cause.kind in guard_grammar.VALUES | guard_grammar.NAMED | {guard_grammar.TYPE} else ""

    def size(self, source: str, dim: int) -> str:
        """Return the size of a dimension if it is static."""
        return self._tensor(Cause(guard_grammar.SIZE, source, dim))

    def fixes(self, source: str) -> str:
        """Return the number or constant that a source must equal; '' if it is unconstrained."""
        line = self._with(f": {source} == ")
        expression = line.node.expression if line is not None else ""
        return expression[len(source) + 4 :] if expression.startswith(f"{source} == ") else ""

    def marked_static(self, source: str, dim: int) -> bool:
        """Return whether a dimension was marked with mark_static."""
        words = f"getattr({source}, '_dynamo_static_indices', set()).issubset({{"
        at = self._text.find(words)
        dims = self._text[at + len(words) : at + len(words) + 200].partition("}")[0] if at >= 0 else ""
        return str(dim) in dims.replace(" ", "").split(",")

    def manager_type(self, source: str) -> str:
        """Return the type of a source in torch's notation: `<enum 'Color'>`."""
        at = self._place(f"source={source}", ",\n")
        node = _node(self._line(self._text.rfind("\n", 0, at) + 1)) if at >= 0 else None
        return node.type_name if node is not None else ""

    def same_object(self, source: str) -> str:
        """Return the expected object by the type in its guard; for a class, that class."""
        line = self._with(f"___check_obj_id({source}, ")
        return class_name(line.node.type_name) if line is not None else ""

    def is_module(self, source: str) -> bool:
        """Return whether the owner of an attribute is an nn.Module: Dynamo makes sure that it has no `forward` of its own."""
        owner, dot, _ = source.rpartition(".")
        return bool(dot) and f"not ___dict_contains('forward', {owner}.__dict__)" in self._text

    def tensor_class(self, source: str) -> str:
        """Return the class in the guard on a tensor: `Tensor`, `Parameter`."""
        start = self._text.find(f"check_tensor({source}, ")
        return "" if start < 0 else self._text[start:].partition("\n")[0].split(", ")[1]

    def _manager_value(self, cause: Cause) -> str:
        """Return the value of a constant or the type of an object, from the guards of its manager."""
        at = self._place(f"source={cause.source}", ",\n")
        if at < 0:
            return "" if cause.kind == guard_grammar.TYPE else self.fixes(cause.source)
        start = self._text.rfind("\n", 0, at) + 1
        depth = self._depth(start)
        manager = _node(self._line(start))
        kind = class_name(manager.type_name) if manager is not None else ""
        if cause.kind == guard_grammar.TYPE:
            return kind
        for _ in range(BLOCK):
            start = self._text.find("\n", start) + 1
            if not start or self._depth(start) <= depth:
                break
            node = _node(self._line(start)) if self._depth(start) == depth + 1 else None
            expression = node.expression if node is not None else ""
            if expression.startswith(f"{cause.source} == "):
                return expression[len(cause.source) + 4 :]
            if expression == f"{cause.source} is None":
                return "None"
        if value := self.fixes(cause.source):  # guards on symbols are not indented
            return value
        other = kind and cause.expected and value_kind(cause.expected) not in _KINDS.get(kind, (guard_grammar.VALUE,))
        return f"some {kind}" if other else ""  # of the same type: no value is known

    def _tensor(self, cause: Cause) -> str:
        start = self._text.find(f"check_tensor({cause.source}, ")
        match = _TENSOR.match(self._line(start).partition(", ")[2]) if start >= 0 else None
        if match is None:
            return ""
        if cause.kind in (guard_grammar.SIZE, guard_grammar.STRIDE, guard_grammar.CONDITION):
            parts = match["stride" if cause.kind == guard_grammar.STRIDE else "size"].split(", ")
            value = parts[cause.dim] if cause.dim is not None and cause.dim < len(parts) else ""
            return "" if value == "None" else value
        if cause.kind == guard_grammar.GRAD:
            return "yes" if match["grad"] == "True" else "no"
        if cause.kind == guard_grammar.DTYPE:
            return match["dtype"]
        return match["device"] if cause.kind == guard_grammar.DEVICE else ""

    def _source(self, source: str) -> GuardLine | None:
        at = self._place(f"source={source}", ",\n")
        return self._at(at) if at >= 0 else None

    def _with(self, words: str, to_end: bool = False) -> GuardLine | None:
        """Return the first line with some words; with `to_end`, the checked expression ends there."""
        at = self._place(words, "\n, #" if to_end else "")
        return self._at(at) if at >= 0 else None

    def _place(self, words: str, ends: str) -> int:
        """Return the offset of words that are followed by one of `ends` or the end of the text."""
        at = self._text.find(words)
        while at >= 0 and ends:
            after = self._text[at + len(words) : at + len(words) + 2]
            if not after or (after[0] in ends and (after[0] != " " or after in ("  ", " #"))):
                break
            at = self._text.find(words, at + 1)
        return at

    def _at(self, place: int) -> GuardLine | None:
        start = self._text.rfind("\n", 0, place) + 1
        text = self._line(start)
        node = _node(text)
        return GuardLine(self._text.count("\n", 0, start) + 1, node, text) if node is not None else None

    def _line(self, start: int) -> str:
        end = self._text.find("\n", start)
        return self._text[start:] if end < 0 else self._text[start:end]

    def _depth(self, start: int) -> int:
        match = _DEPTH.match(self._text, start)
        return (match.end() - start) // 2 if match else 0


@lru_cache(maxsize=LINES_CACHED)
def _node(line: str) -> GuardNode | None:
    """Parse a line of a guard tree, cached: the trees of a frame have most lines in common."""
    return next(iter(parse([line]).nodes), None)


def _of_keys(source: str) -> str:
    """Spell `list(d)[0]` as guards do: `list(dict.keys(d))[0]`."""
    match = re.match(r"^list\((.*)\)(\[\d+\])$", source)
    return f"list(dict.keys({match[1]})){match[2]}" if match else source


def guard_text(compile_: Compile, reader: Reader | None = None) -> GuardText | None:
    """Return the guard tree of a compile (the last of several); None if the log has none."""
    records = [record for record, _ in records_of(compile_, (TREE,)) if compile_.process.log.has_payload(record)]
    if not records:
        return None
    reader = reader or Reader(compile_.process.log)
    return GuardText(reader.text(records[-1], LIMIT), address(compile_, records[-1], TREE))


CACHED_BYTES = 1 << 18
"""Maximum bytes of a guard tree whose nodes are cached."""
_KIND = re.compile(rb"^(?:\| )*\+- (?:(?:Key|Value)Manager: )?(\w+)", re.MULTILINE)
_LATENCY = re.compile(rb"^Guard (?:eval )?latency = ([\d.]{1,20}) us", re.MULTILINE)


@frozen
class TreeCounts:
    """Counts of a guard tree."""

    guards: int
    managers: int
    kinds: tuple[Count, ...]
    """The most frequent first."""


@parsed
def tree_of(text: bytes) -> TreeCounts:
    """Count the guards of a tree: a search through the text, which is not parsed."""
    kinds = Counter(_KIND.findall(text))
    managers = sum(count for kind, count in kinds.items() if kind.endswith(b"Manager"))
    guards = Counter({k.decode("ascii", "replace"): n for k, n in kinds.items() if k.isupper()})
    return TreeCounts(guards.total(), managers, ordered(guards))


def ordered(kinds: Counter[str]) -> tuple[Count, ...]:
    """Return kinds of guards, the most frequent first."""
    return counts(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def without_latency(payload: bytes) -> tuple[bytes, float | None]:
    """Split a guard tree from the latency at its end, which differs between compiles with equal trees."""
    tail = max(len(payload) - 200, 0)
    match = _LATENCY.search(payload, tail)
    return (payload[: match.start()], _number(match[1])) if match else (payload, None)


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class GuardLines:
    """The lines of guards of a compile that recompiles name; each is searched once in each different tree."""

    def __init__(self, compile_: Compile, digest: bytes) -> None:
        """Make an index. `digest` is the md5 of the tree, b"" if there is none."""
        self._compile = compile_
        self._digest = digest
        self._text: GuardText | None = None

    def of(self, cause: Cause, text: str, hint: str) -> int | None:
        """Return the line number of a guard, from 1; None if it is not in the tree."""
        if not self._digest:
            return None
        parts, key = self._compile.process.parts, (self._digest, text, hint)
        cached = parts.get(GuardLines, key)
        if cached is not MISSING:
            return cached if isinstance(cached, int) else None
        self._text = self._text or guard_text(self._compile, reader_of(self._compile))
        guard = self._text.failed(cause, text) if self._text else None
        line = guard.line if guard else None
        parts.put(GuardLines, key, (), line)
        return line


def tree_nodes(compile_: Compile, record: int) -> Iterable[object]:
    """Iterate over the nodes of a guard tree; equal trees are parsed once."""
    text, _ = without_latency(reader_of(compile_).payload(record, LIMIT))
    return _nodes(compile_, text) if len(text) <= CACHED_BYTES else walk(text.decode("utf-8", "replace").split("\n"))


@parsed
def _nodes(text: bytes) -> tuple[GuardNode, ...]:
    return tuple(node for node in walk(text.decode("utf-8", "replace").split("\n")) if isinstance(node, GuardNode))


EVERY = 64
OLD = "dynamo_guards"
"""Record of 2024, in addition to the tree or instead of it."""

KINDS: dict[str, str] = {
    "TENSOR_MATCH": "a tensor: dtype, device, sizes, strides, requires_grad",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "how the dimensions of a tensor are marked: dynamic, static, unbacked",
    "NO_TENSOR_ALIASING": "tensors that must be different objects",
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
    "NO_HASATTR": "an attribute that must not exist",
    "HASATTR": "an attribute that must exist",
    "MAPPING_KEYS_MATCH": "the keys of a read-only dict, in their order",
    "TUPLE_ITERATOR_LEN": "the rest of an iterator over a tuple",
    "RANGE_ITERATOR_MATCH": "the rest of an iterator over a range",
    "FLOAT_IS_NAN": "a float that must be NaN",
    "COMPLEX_IS_NAN": "a complex number that must be NaN",
    "STORAGE_OVERLAPPING": "tensors that must share memory, or must not",
    "LAMBDA_GUARD": "a condition, most often on sizes",
    "SYMBOLIC_SHAPE_GUARD": "conditions on sizes, compiled to C++",
    "GLOBAL_STATE": "global state of torch: grad mode, autocast, number of threads, default dtype …",
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
    tree_line: int | None
    """Its line in the guard tree, from 1; None if it is not in it."""


@frozen
class GuardCounts:
    """The guards of a compile, counted."""

    ref: str
    """The address of the compile."""
    artifact: str
    """The address of the record that lists them."""
    leaf_guard_count: int
    """Leaf guards of the tree; the metrics' `guard_count` counts what Dynamo installed, and one may become several."""
    manager_count: int
    kinds: tuple[Count, ...]
    """The most frequent first."""
    latency_us: float | None
    """The time of one evaluation of all of them, as torch measured it."""
    failed: tuple[FailedGuard, ...]


@frozen
class Guard:
    """One guard."""

    tree_line: int | None
    """In the guard tree, from 1; None where the log has no tree."""
    kind: str
    source: str
    """The Python expression of the object that it checks; '' for modes and conditions."""
    expression: str
    user_file: str | None
    user_line: int | None
    code: str | None
    """The user's line that made it."""
    function: str | None
    hint: str
    failed_in: tuple[str, ...]
    """The recompiles for which it failed."""


def guards_record(compile_: Compile) -> tuple[int, str] | None:
    """Return the record with the guards: the tree, else the non-empty list of 2024."""
    log = compile_.process.log
    records = {name: record for record, name in records_of(compile_, (TREE, OLD)) if log.has_payload(record)}
    if TREE in records:
        return records[TREE], TREE
    if OLD in records and log.columns.size[records[OLD]] > 8:  # an empty list has two brackets and some tabs
        return records[OLD], OLD
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
        Failure(reason.earlier, ref, reason.text, reason.note)
        for reason in (recompile.reasons if recompile else ())
        if reason.earlier is not None
    )


@part
def failures_in(frame: Frame, reader: Reader) -> dict[str, tuple[Failure, ...]]:
    """Map compile addresses to the guard failures in later recompiles of the frame. Call once per frame."""
    failures: dict[str, list[Failure]] = {}
    for compile_ in frame.compiles:
        if compile_.is_recompile:
            for failure in _blamed(compile_):
                failures.setdefault(failure.earlier, []).append(failure)
    return {earlier: tuple(failures) for earlier, failures in failures.items()}


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
    counted = _counted(compile_)
    if counted is None:
        return None
    digest, counts = counted
    return replace(counts, failed=_failed(compile_, digest, failures)) if failures else counts


def _failed(compile_: Compile, tree: bytes, failures: tuple[Failure, ...]) -> tuple[FailedGuard, ...]:
    """Locate the guards that later recompiles name."""
    failed = []
    lines = GuardLines(compile_, tree)
    for failure in failures:
        cause = cause_of(failure.text, failure.hint)
        failed.append(FailedGuard(failure.ref, failure.text, cause.kind, lines.of(cause, failure.text, failure.hint)))
    return tuple(failed)


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
        frames = user_frames(frames_of(compile_.process, list_in(item, "user_stack")))
        kind = next((kind for start, kind in _BY_CODE if code.startswith(start)), "")
        if not kind:
            marks = "_dynamo_" in code and code.startswith("hasattr(")
            kind = "DIMENSION_DYNAMIC_MARKING_GUARD" if marks else "EQUALS_MATCH" if " == " in code else "LAMBDA_GUARD"
        source = _SOURCE.search(code)
        where = frames[0] if frames else None
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

    def matches(self, node: GuardNode, source: str, failed: bool) -> bool:
        """Return whether a guard matches. Lower case matches upper case too; the text may be a regular expression."""
        if self.failed and not failed:
            return False
        if self.kind not in node.kind.lower() or self.source not in source.lower():
            return False
        if not self.text:
            return True
        text = f"{node.kind} {source} {node.expression} {node.code} {node.path}:{node.place} {node.hint}"
        return compiled(self.text).search(text) is not None
