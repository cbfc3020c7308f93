"""What Inductor wrote about provenance: its node mappings of all versions, and the stacks of its kernels.

`inductor_provenance_tracking_node_mappings` comes without a version (up to 2025: kernels by name, all calls of one
external kernel together) and as version 2 (a key for each call: NAME:HANDLE). Backwards that are compiled lazily have an
empty one; backwards that are compiled with their forward have the kernels of both. Nothing of that is trusted: what
is not a string, or no list of them, is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tltui.analyses.prose.traceback import traceback_frames
from tltui.analyses.records import Reader, list_in, text_in, whole_in
from tltui.analyses.stacks.stacks import StackFrame, user_frames

LIMIT = 64 << 20
"""Stored bytes up to which a mapping is read."""
DEPTH = 10_000
NODE_MAPPINGS = "inductor_provenance_tracking_node_mappings"
KERNEL_STACKS = "inductor_provenance_tracking_kernel_stack_traces"
KERNEL_NODES = "inductor_triton_kernel_to_post_grad_nodes"
POST_NODES = "inductor_post_to_pre_grad_nodes"
Names = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NodeMapping:
    """Names ↔ names. A kernel is a key as the mapping has it: `NAME` or `NAME:HANDLE`."""

    version: float = 0.0
    """0 where there is no mapping, 1 for one without a version."""
    post_to_pre: Names = field(default_factory=dict)
    kernel_to_post: Names = field(default_factory=dict)

@dataclass(frozen=True, slots=True)
class Stacks:
    """Kernel → the stacks of the operations in it: the user's frames, the nearest first, and the innermost frame."""

    frames: dict[str, tuple[tuple[StackFrame, ...], ...]] = field(default_factory=dict)

    def users(self, kernel: str) -> tuple[tuple[StackFrame, ...], ...]:
        """The user's frames of each stack of a kernel, the nearest first; stacks without any are left out."""
        return tuple(found for stack in self.frames.get(kernel, ()) if (found := user_frames(stack)))


def split_key(key: str) -> tuple[str, int | None]:
    """A key → name and handle. Names may hold colons (`ns::op:3`), so the last one counts, and only before a number."""
    name, colon, number = key.rpartition(":")
    if colon and name and number.isascii() and number.isdigit() and len(number) < 16 and not name.endswith(":"):
        return name, int(number)
    return key, None


def inverse(names: Mapping[str, Iterable[str]]) -> Names:
    """The same the other way round."""
    found: dict[str, dict[str, None]] = {}
    for key, values in names.items():
        for value in values:
            found.setdefault(value, {})[key] = None
    return {key: tuple(values) for key, values in found.items()}


def merged(*parts: Mapping[str, Iterable[str]]) -> Names:
    """All that several mappings say, in order, each name once."""
    found: dict[str, dict[str, None]] = {}
    for part in parts:
        for key, values in part.items():
            found.setdefault(key, {}).update(dict.fromkeys(values))
    return {key: tuple(values) for key, values in found.items()}


def _names(value: object) -> Names:
    if not isinstance(value, dict):
        return {}
    found = {}
    for key, names in value.items():
        if isinstance(key, str) and isinstance(names, list):
            found[key] = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
    return found


def node_mapping(value: object) -> NodeMapping:
    """A parsed node mapping. Both directions are read: any of the four may be missing."""
    if not isinstance(value, dict):
        return NodeMapping()
    version = value.get("version")
    known = isinstance(version, (int, float)) and not isinstance(version, bool)
    post_to_pre = merged(_names(value.get("postToPre")), inverse(_names(value.get("preToPost"))))
    kernels = merged(_names(value.get("cppCodeToPost")), inverse(_names(value.get("postToCppCode"))))
    return NodeMapping(float(version) if known and version is not None else 1.0, post_to_pre, kernels)


def older_mapping(kernels: object, nodes: object, graph_id: int | None) -> NodeMapping:
    """The mapping that two older artifacts hold together: kernel → nodes, and node → the tree that it came from.

    Of the tree, the nodes of the pre-grad graph are meant, which is known by the id that stands at its end.
    """
    post_to_pre: dict[str, tuple[str, ...]] = {}
    for name in nodes if isinstance(nodes, dict) and graph_id is not None else ():
        if isinstance(name, str):
            found = dict.fromkeys(_ancestors(list_in(nodes, name), graph_id))
            if found:
                post_to_pre[name] = tuple(found)
    kernel_to_post = _names(kernels)
    if not post_to_pre and not kernel_to_post:
        return NodeMapping()
    return NodeMapping(1.0, post_to_pre, kernel_to_post)


def _ancestors(tree: list[object], graph_id: int | None) -> Iterator[str]:
    waiting, seen = list(reversed(tree)), 0
    while waiting and seen < DEPTH:
        node, seen = waiting.pop(), seen + 1
        if whole_in(node, "graph_id") == graph_id and (name := text_in(node, "name")):
            yield name
        waiting.extend(reversed(list_in(node, "from_node")))


def kernel_stacks(value: object) -> Stacks:
    """Parsed kernel stack traces. Older torch wrote the line ends as a backslash and an n."""
    found = {}
    for key, texts in value.items() if isinstance(value, dict) else ():
        if isinstance(key, str) and isinstance(texts, list):
            frames = (traceback_frames(text.replace("\\n", "\n")) for text in texts if isinstance(text, str))
            found[key] = tuple(frame for frame in frames if frame)
    return Stacks(found)


def read_json(reader: Reader, record: int | None) -> object:
    """A JSON payload; None where there is none, or it is damaged."""
    return None if record is None else reader.json(record, LIMIT)
