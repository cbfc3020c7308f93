"""Graphs, code and node mappings of each unit, and the provenance information that a job wrote beside its trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from tltui.model.artifacts import OUTPUT_CODE, Artifact, Unit
from tltui.model.record_reader import Reader, list_in, text_in, whole_in
from tltui.questions.stacks.tracebacks import StackFrame, traceback_frames, user_frames
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_beside_log
from tltui.trace.grammar import parse_json

LIMIT = 64 << 20
"""Stored bytes up to which a mapping is read."""
DEPTH = 10_000
NODE_MAPPINGS = "inductor_provenance_tracking_node_mappings"
KERNEL_STACKS = "inductor_provenance_tracking_kernel_stack_traces"
KERNEL_NODES = "inductor_triton_kernel_to_post_grad_nodes"
POST_NODES = "inductor_post_to_pre_grad_nodes"
Names = dict[str, tuple[str, ...]]


@frozen
class NodeMapping:
    """Links by name in both directions. A kernel key is `NAME` or `NAME:HANDLE`."""

    version: float = 0.0
    """0 where there is no mapping, 1 for one without a version."""
    post_to_pre: Names = field(default_factory=dict)
    kernel_to_post: Names = field(default_factory=dict)

@frozen
class Stacks:
    """Stacks by kernel: the user's frames, nearest first, and the innermost frame."""

    frames: dict[str, tuple[tuple[StackFrame, ...], ...]] = field(default_factory=dict)

    def users(self, kernel: str) -> tuple[tuple[StackFrame, ...], ...]:
        """Return the user's frames of each stack of a kernel, nearest first; empty ones omitted."""
        return tuple(stacks for stack in self.frames.get(kernel, ()) if (stacks := user_frames(stack)))


def split_key(key: str) -> tuple[str, int | None]:
    """Split a key into name and handle.

    Names may contain colons (`ns::op:3`): only the last one before a number separates a handle.
    """
    name, colon, number = key.rpartition(":")
    if colon and name and number.isascii() and number.isdigit() and len(number) < 16 and not name.endswith(":"):
        return name, int(number)
    return key, None


def inverse(names: Mapping[str, Iterable[str]]) -> Names:
    """Return the inverse mapping."""
    results: dict[str, dict[str, None]] = {}
    for key, values in names.items():
        for value in values:
            results.setdefault(value, {})[key] = None
    return {key: tuple(values) for key, values in results.items()}


def merged(*parts: Mapping[str, Iterable[str]]) -> Names:
    """Merge mappings in order, without duplicate names."""
    names: dict[str, dict[str, None]] = {}
    for part in parts:
        for key, values in part.items():
            names.setdefault(key, {}).update(dict.fromkeys(values))
    return {key: tuple(values) for key, values in names.items()}


def _names(value: object) -> Names:
    if not isinstance(value, dict):
        return {}
    results = {}
    for key, names in value.items():
        if isinstance(key, str) and isinstance(names, list):
            results[key] = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
    return results


def node_mapping(value: object) -> NodeMapping:
    """Parse a node mapping, in both directions; any of the four parts may be missing."""
    if not isinstance(value, dict):
        return NodeMapping()
    version = value.get("version")
    has_version = isinstance(version, (int, float)) and not isinstance(version, bool)
    post_to_pre = merged(_names(value.get("postToPre")), inverse(_names(value.get("preToPost"))))
    kernels = merged(_names(value.get("cppCodeToPost")), inverse(_names(value.get("postToCppCode"))))
    return NodeMapping(float(version) if has_version and version is not None else 1.0, post_to_pre, kernels)


def older_mapping(kernels: object, nodes: object, graph_id: int | None) -> NodeMapping:
    """Combine two older artifacts: kernel → nodes, and node → tree of origins.

    In the tree, nodes of the pre-grad graph have its id at their end.
    """
    post_to_pre: dict[str, tuple[str, ...]] = {}
    for name in nodes if isinstance(nodes, dict) and graph_id is not None else ():
        if isinstance(name, str):
            result = dict.fromkeys(_ancestors(list_in(nodes, name), graph_id))
            if result:
                post_to_pre[name] = tuple(result)
    kernel_to_post = _names(kernels)
    if not post_to_pre and not kernel_to_post:
        return NodeMapping()
    return NodeMapping(1.0, post_to_pre, kernel_to_post)


def _ancestors(tree: list[object], graph_id: int | None) -> Iterator[str]:
    waiting, visited = list(reversed(tree)), 0
    while waiting and visited < DEPTH:
        node, visited = waiting.pop(), visited + 1
        if whole_in(node, "graph_id") == graph_id and (name := text_in(node, "name")):
            yield name
        waiting.extend(reversed(list_in(node, "from_node")))


def kernel_stacks(value: object) -> Stacks:
    """Parse kernel stack traces; older torch wrote line ends as a backslash and an n."""
    results = {}
    for key, texts in value.items() if isinstance(value, dict) else ():
        if isinstance(key, str) and isinstance(texts, list):
            frames = (traceback_frames(text.replace("\\n", "\n")) for text in texts if isinstance(text, str))
            results[key] = tuple(frame for frame in frames if frame)
    return Stacks(results)


def read_json(reader: Reader, record: int | None) -> object:
    """Return a JSON payload; None if there is none, or it is damaged."""
    return None if record is None else reader.json(record, LIMIT)


INFORMATION = ("kernel_information", "kernel_information.json")
OPERATIONS = ("inductor_triton_kernel_trace", "inductor_triton_kernel_trace.json")
"""As an artifact of the trace, and as a file."""
INFORMATION_LIMIT = 64 << 20
_NODES = ("post_grad_nodes", "origins", "nodes")
"""Where an operation, or a part of a kernel, names the nodes that it comes from."""


@frozen
class Operations:
    """The operations of a kernel, in order."""

    targets: tuple[str, ...] = ()
    """Inductor's own words: load, exp, store, …"""
    again: tuple[str, ...] = ()
    """Those that are computed again, each once."""
    nodes: tuple[str, ...] = ()
    """The post-grad nodes that they come from, where that is said."""


@frozen
class Left:
    """Provenance information of a job, by key (NAME:HANDLE, or NAME)."""

    post: Names = field(default_factory=dict)
    pre: Names = field(default_factory=dict)
    stacks: Stacks = field(default_factory=Stacks)
    operations: Mapping[str, Operations] = field(default_factory=dict)

    @property
    def keys(self) -> Iterable[str]:
        """Return all kernels with information."""
        return dict.fromkeys((*self.post, *self.pre, *self.stacks.frames, *self.operations))

    def is_of(self, keys: Iterable[str], has_node: Callable[[str], bool]) -> bool:
        """Return whether the information matches the code with these keys and a graph with these nodes.

        A file may be about another compile, and handles are small numbers.
        """
        kernel_keys = set(self.keys)
        names = (name for key in keys for name in self.post.get(key, ()))
        return bool(kernel_keys) and kernel_keys.issuperset(keys) and all(has_node(name) for name in names)


def left_of(information: object, operations: object) -> Left:
    """Combine the two parsed files; None for a missing one."""
    entries = dict(_entries(information))
    return Left(
        {key: result for key, entry in entries.items() if (result := _texts(entry, "post_grad_nodes"))},
        {key: result for key, entry in entries.items() if (result := _texts(entry, "pre_grad_nodes"))},
        kernel_stacks({key: list_in(entry, "stack_traces") for key, entry in entries.items()}),
        {key: _operations(entry) for key, entry in _entries(operations)},
    )  # fmt: skip


@lru_cache(maxsize=8)
def _parsed(text: bytes) -> object:
    try:
        return parse_json(text)
    except ValueError:
        return None


def parsed_beside(log: str, name: str) -> object:
    """Return a parsed JSON file beside a log; None if there is none, or it is no JSON."""
    text = read_beside_log(log, name, INFORMATION_LIMIT)
    return _parsed(text) if text else None


def _entries(value: object) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the kernels of a file: those in `kernels`, or in the file itself."""
    if not isinstance(value, dict):
        return
    inside = value.get("kernels")
    for key, entry in (inside if isinstance(inside, dict) else value).items():
        if isinstance(key, str) and isinstance(entry, dict):
            yield key, entry


def _texts(entry: object, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in list_in(entry, name) if isinstance(text, str)))


def _operations(entry: dict[str, object]) -> Operations:
    targets: list[str] = []
    again: dict[str, None] = {}
    nodes: dict[str, None] = {}
    leaves = list_in(entry, "leaves")
    for part in (entry, *leaves):
        nodes.update(dict.fromkeys(name for key in _NODES for name in _texts(part, key)))
        for op in list_in(part, "ops"):
            nodes.update(dict.fromkeys(name for key in _NODES for name in _texts(op, key)))
            if target := text_in(op, "target"):
                targets.append(target)
                if isinstance(op, dict) and op.get("rematerialized") is True:
                    again[target] = None
        if target := text_in(part, "extern_target"):
            targets.append(target)
    return Operations(tuple(targets), tuple(again), tuple(nodes))


PRE_GRAPHS = ("before_pre_grad_graph", "inductor_pre_grad_graph")
POST_GRAPHS = ("after_post_grad_graph", "inductor_post_grad_graph", "fx_graph_transformed", "fx_graph_readable")
DYNAMO_GRAPH = "dynamo_output_graph"
WRAPPER, KERNELS = "inductor_aot_wrapper_code", "inductor_aot_kernel_code"
_OF_UNIT = (
    *POST_GRAPHS, OUTPUT_CODE, WRAPPER, KERNELS, NODE_MAPPINGS, KERNEL_STACKS, KERNEL_NODES,
    POST_NODES, *INFORMATION, *OPERATIONS,
)  # fmt: skip
TEXTS = frozenset((*_OF_UNIT, *PRE_GRAPHS, DYNAMO_GRAPH))
"""Artifacts whose texts provenance reads."""
_AOT_ID = re.compile(rb"# AOT ID: \['(\d+)_(\w+)'\]")


@frozen
class Parts:
    """The artifacts of one unit."""

    unit: Unit
    members: dict[str, Artifact]
    """The last of each name in the unit, of those that provenance reads."""
    pre: Artifact | None
    pre_why: str
    """Said of the pre-grad pane: that there is none, or what stands in."""
    aot_number: str
    forward: int | None
    """Of a backward: the number of the unit that is its forward."""

    @property
    def post(self) -> Artifact | None:
        """The post-grad graph."""
        return next((self.members[name] for name in POST_GRAPHS if name in self.members), None)

    def record(self, name: str) -> int | None:
        """Return the record of an artifact."""
        artifact = self.members.get(name)
        return None if artifact is None else artifact.record


def parts_of(artifacts: Sequence[Artifact], units: Sequence[Unit], reader: Reader) -> list[Parts]:
    """Return the parts of each unit with a graph, code or a mapping."""
    members: dict[int, dict[str, Artifact]] = {}
    firsts: dict[int, int] = {}
    for artifact in artifacts:
        if artifact.unit is not None:
            firsts.setdefault(artifact.unit, artifact.record)
            if artifact.name in _OF_UNIT or artifact.name in PRE_GRAPHS:
                members.setdefault(artifact.unit, {})[artifact.name] = artifact
    numbers = {number: _aot_number(parts_list.get(OUTPUT_CODE), reader) for number, parts_list in members.items()}
    forwards = {
        numbers[unit.number]: unit.number for unit in reversed(units)
        if unit.direction == "forward" and numbers.get(unit.number)
    }  # fmt: skip
    parts_list: list[Parts] = []
    for unit in units:
        member = members.get(unit.number)
        if member is None or not any(name in member for name in _OF_UNIT):
            continue
        number = numbers[unit.number]
        forward = forwards.get(number) if unit.direction == "backward" and number else None
        before = firsts[unit.number] if forward is None else firsts[forward]
        pre, why = _pre_graph(artifacts, unit, member, before)
        parts_list.append(Parts(unit, member, pre, why, number, forward))
    return parts_list


def _aot_number(code: Artifact | None, reader: Reader) -> str:
    """Parse the number that forward and backward share: `# AOT ID: ['0_backward']`."""
    match = _AOT_ID.search(reader.payload(code.record, 400)) if code is not None else None
    return match[1].decode() if match else ""


def _pre_graph(
    artifacts: Sequence[Artifact], unit: Unit, members: dict[str, Artifact], before: int
) -> tuple[Artifact | None, str]:
    """Return Inductor's input graph: the last one before the unit, of its subgraph if it has one."""
    if name := next((name for name in PRE_GRAPHS if name in members), ""):
        return members[name], ""
    same = [a for a in artifacts if a.attempt == unit.attempt]
    for subgraph in dict.fromkeys((unit.subgraph, None)):
        for name in PRE_GRAPHS:
            candidates = [a for a in same if a.name == name and a.record < before and a.subgraph == subgraph]
            if candidates:
                return candidates[-1], ""
    graph = next((a for a in reversed(same) if a.name == DYNAMO_GRAPH), None)
    if graph is None and artifacts and not artifacts[0].owner.process.is_traced:
        return None, "only a trace has the pre-grad graph"
    if graph is None:
        return None, "torch wrote no pre-grad graph"
    hit = any(a.name in ("aotautograd_cache_hit", "fx_graph_cache_hit", "fx_graph_bundled_cache_hit") for a in same)
    cause = " (it came from a cache)" if hit else ""
    return graph, f"torch wrote no pre-grad graph{cause}: this is the graph of Dynamo, with the same names"
