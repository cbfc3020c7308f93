"""Guard lookup in the text of a guard tree, without parsing it whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tltui.model.derived_cache import MISSING
from tltui.model.node_answers import Count, counts, parsed, reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, address, records_of
from tltui.questions.recompiles.failed_guard_text import class_name, strip_local
from tltui.questions.recompiles.guard_grammar import (
    CONDITION,
    DEVICE,
    DTYPE,
    GRAD,
    KEY,
    LENGTH,
    MARK,
    NAMED,
    SIZE,
    STRIDE,
    TENSORS,
    TYPE,
    VALUE,
    VALUES,
    Cause,
    split_comment,
    value_kind,
)
from tltui.text.frozen import frozen
from tltui.text.graphs.guard_tree import GuardNode, parse, walk

TREE = "dynamo_cpp_guards_str"
LIMIT = 64 << 20
"""Stored bytes of a guard tree that are read."""
BLOCK = 400
"""Lines below a manager in which a guard of its own is looked for."""
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
        """How large it is."""
        return len(self._text)

    def failed(self, cause: Cause, text: str) -> GuardLine | None:
        """Return the guard of a reason, cached."""
        if text not in self._failed:
            self._failed[text] = self._find(cause, text)
        return self._failed[text]

    def _find(self, cause: Cause, text: str) -> GuardLine | None:
        if cause.kind in TENSORS or (cause.kind == TYPE and text.startswith("expected type of")):
            return self._with(f"check_tensor({cause.source}, ") or self._source(cause.source)
        if text.startswith("GLOBAL_STATE"):
            return self._with("+- GLOBAL_STATE: ")
        if text.startswith("Duplicate tensor"):
            return self._with("+- NO_TENSOR_ALIASING: check_no_aliasing(")
        words = strip_local(text)
        results = self._with(f": {words}", whole=True)
        if results is None and cause.source and cause.kind in (KEY, LENGTH, TYPE, MARK):  # a sentence: it names what it looked at
            return self._source(cause.source)
        return results

    def actual(self, cause: Cause) -> str:
        """Return the value that this compile expects in place of an earlier one's: the value it was made for."""
        key = (cause.kind, cause.source, cause.dim)
        if key not in self._actual:
            self._actual[key] = self._expected(cause)
        return self._actual[key]

    def _expected(self, cause: Cause) -> str:
        if cause.kind in TENSORS or cause.kind == CONDITION:
            return self._tensor(cause)
        if cause.kind == LENGTH:
            found = self._with(f"len({cause.source}) == ")
            if found is not None:
                return found.node.expression.rpartition(" == ")[2]
            return "0" if self._with(f": not {cause.source}", whole=True) else ""
        if cause.kind == KEY and (found := self._with(f"{_of_keys(cause.source)} == ")) is not None:
            return found.node.expression.partition(" == ")[2]
        return self._manager_value(cause) if cause.kind in VALUES | NAMED | {TYPE} else ""

    def size(self, source: str, dim: int) -> str:
        """Return the size of a dimension if it is static."""
        return self._tensor(Cause(SIZE, source, dim))

    def fixes(self, source: str) -> str:
        """Return the number or constant that a source must equal; '' if it is unconstrained."""
        found = self._with(f": {source} == ")
        said = found.node.expression if found is not None else ""
        return said[len(source) + 4 :] if said.startswith(f"{source} == ") else ""

    def marked_static(self, source: str, dim: int) -> bool:
        """Return whether a dimension was marked with mark_static."""
        words = f"getattr({source}, '_dynamo_static_indices', set()).issubset({{"
        at = self._text.find(words)
        dims = self._text[at + len(words) : at + len(words) + 200].partition("}")[0] if at >= 0 else ""
        return str(dim) in dims.replace(" ", "").split(",")

    def manager_type(self, source: str) -> str:
        """Return the type of a source in torch's notation: `<enum 'Color'>`."""
        at = self._place(f"source={source}", ",\n")
        nodes = parse([self._line(self._text.rfind("\n", 0, at) + 1)]).nodes if at >= 0 else ()
        return nodes[0].type_name if nodes else ""

    def same_object(self, source: str) -> str:
        """Return the expected object by the type in its guard; for a class, that class."""
        found = self._with(f"___check_obj_id({source}, ")
        return class_name(found.node.type_name) if found is not None else ""

    def is_module(self, source: str) -> bool:
        """Return whether the owner of an attribute is an nn.Module: Dynamo makes sure that it has no `forward` of its own."""
        owner, dot, _ = source.rpartition(".")
        return bool(dot) and f"not ___dict_contains('forward', {owner}.__dict__)" in self._text

    def tensor_class(self, source: str) -> str:
        """`Tensor` or `Parameter`, as the guard on a tensor has it."""
        start = self._text.find(f"check_tensor({source}, ")
        return "" if start < 0 else self._text[start:].partition("\n")[0].split(", ")[1]

    def _manager_value(self, cause: Cause) -> str:
        """Return the value of a constant or the type of an object, from the guards of its manager."""
        at = self._place(f"source={cause.source}", ",\n")
        if at < 0:
            return "" if cause.kind == TYPE else self.fixes(cause.source)
        start = self._text.rfind("\n", 0, at) + 1
        depth = self._depth(start)
        kind = class_name(parse([self._line(start)]).nodes[0].type_name) if self._line(start) else ""
        if cause.kind == TYPE:
            return kind
        for _ in range(BLOCK):
            start = self._text.find("\n", start) + 1
            if not start or self._depth(start) <= depth:
                break
            nodes = parse([self._line(start)]).nodes
            said = nodes[0].expression if nodes and self._depth(start) == depth + 1 else ""
            if said.startswith(f"{cause.source} == "):
                return said[len(cause.source) + 4 :]
            if said == f"{cause.source} is None":
                return "None"
        if value := self.fixes(cause.source):  # a guard on a symbol stands at the margin
            return value
        other = kind and cause.expected and value_kind(cause.expected) not in _KINDS.get(kind, (VALUE,))
        return f"some {kind}" if other else ""  # of the same type: no value is known

    def _tensor(self, cause: Cause) -> str:
        start = self._text.find(f"check_tensor({cause.source}, ")
        match = _TENSOR.match(self._line(start).partition(", ")[2]) if start >= 0 else None
        if match is None:
            return ""
        if cause.kind in (SIZE, STRIDE, CONDITION):
            parts = match["stride" if cause.kind == STRIDE else "size"].split(", ")
            value = parts[cause.dim] if cause.dim is not None and cause.dim < len(parts) else ""
            return "" if value == "None" else value
        if cause.kind == GRAD:
            return "yes" if match["grad"] == "True" else "no"
        return match["dtype"] if cause.kind == DTYPE else match["device"] if cause.kind == DEVICE else ""

    def _source(self, source: str) -> GuardLine | None:
        at = self._place(f"source={source}", ",\n")
        return self._at(at) if at >= 0 else None

    def _with(self, words: str, whole: bool = False) -> GuardLine | None:
        """Return the first line with some words; with `whole`, the checked expression ends there."""
        at = self._place(words, "\n, #" if whole else "")
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
        nodes = parse([text]).nodes
        return GuardLine(self._text.count("\n", 0, start) + 1, nodes[0], text) if nodes else None

    def _line(self, start: int) -> str:
        end = self._text.find("\n", start)
        return self._text[start:] if end < 0 else self._text[start:end]

    def _depth(self, start: int) -> int:
        match = _DEPTH.match(self._text, start)
        return (match.end() - start) // 2 if match else 0


def _of_keys(source: str) -> str:
    """`list(d)[0]`, as guards have it: `list(dict.keys(d))[0]`"""
    match = re.match(r"^list\((.*)\)(\[\d+\])$", source)
    return f"list(dict.keys({match[1]})){match[2]}" if match else source


def guard_text(compile_: Compile, reader: Reader | None = None) -> GuardText | None:
    """Return the guard tree of a compile (the last of several); None if the log has none."""
    records = [record for record, _ in records_of(compile_, (TREE,)) if compile_.process.log.has_payload(record)]
    if not records:
        return None
    reader = reader or Reader(compile_.process.log)
    return GuardText(reader.text(records[-1], LIMIT), address(compile_, records[-1], TREE))


KEPT = 1 << 18
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
    """Kinds of guards, the most frequent first."""
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
    """The lines of the guards of one compile that recompiles name. Each is looked for once in each different tree."""

    def __init__(self, compile_: Compile, digest: bytes) -> None:
        """`digest` is the md5 of its tree, b"" where it has none."""
        self._compile = compile_
        self._digest = digest
        self._text: GuardText | None = None

    def of(self, cause: Cause, text: str, hint: str) -> int | None:
        """Return the line number of a guard, from 1; None if it is not in the tree."""
        if not self._digest:
            return None
        parts, key = self._compile.process.parts, (self._digest, text, hint)
        known = parts.get(GuardLines, key)
        if known is not MISSING:
            return known if isinstance(known, int) else None
        self._text = self._text or guard_text(self._compile, reader_of(self._compile))
        guard = self._text.failed(cause, text) if self._text else None
        line = guard.line if guard else None
        parts.put(GuardLines, key, (), line)
        return line


def tree_nodes(compile_: Compile, record: int) -> Iterable[object]:
    """Iterate over the nodes of a guard tree; equal trees are parsed once."""
    text, _ = without_latency(reader_of(compile_).payload(record, LIMIT))
    return _nodes(compile_, text) if len(text) <= KEPT else walk(text.decode("utf-8", "replace").split("\n"))


@parsed
def _nodes(text: bytes) -> tuple[GuardNode, ...]:
    return tuple(node for node in walk(text.decode("utf-8", "replace").split("\n")) if isinstance(node, GuardNode))
