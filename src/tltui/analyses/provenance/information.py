"""What a job left of its kernels besides the mapping in its trace.

`kernel_information.json` (`torch/_inductor/debug.py: create_kernel_information_json`, pytorch #160540; in AOTInductor's packages
and beside their code): NAME:HANDLE → `stack_traces`, `post_grad_nodes`, `pre_grad_nodes`. A list of the operations that run in each
kernel (`inductor_triton_kernel_trace`, pytorch #189270): `kernels`: NAME:HANDLE → `leaves`, each with its `ops` in order (`target`,
`rematerialized`: computed again instead of loaded), and with the graph nodes of them where the writer says those. Nothing of
that is trusted: what has not this form is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tltui.analyses.provenance.mapping import Names, Stacks, kernel_stacks
from tltui.analyses.records import list_in, text_in
from tltui.sources.beside import beside
from tltui.trace.grammar import parse_json

INFORMATION = ("kernel_information", "kernel_information.json")
OPERATIONS = ("inductor_triton_kernel_trace", "inductor_triton_kernel_trace.json")
"""As an artifact of the trace, and as a file."""
LIMIT = 64 << 20
_NODES = ("post_grad_nodes", "origins", "nodes")
"""Where an operation, or a part of a kernel, names the nodes that it comes from."""


@dataclass(frozen=True, slots=True)
class Operations:
    """What runs in a kernel, in order."""

    targets: tuple[str, ...] = ()
    """Inductor's own words: load, exp, store, …"""
    again: tuple[str, ...] = ()
    """Those that are computed again, each once."""
    nodes: tuple[str, ...] = ()
    """The post-grad nodes that they come from, where that is said."""


@dataclass(frozen=True, slots=True)
class Left:
    """What was left, by key as it is written: NAME:HANDLE, or NAME."""

    post: Names = field(default_factory=dict)
    pre: Names = field(default_factory=dict)
    stacks: Stacks = field(default_factory=Stacks)
    operations: Mapping[str, Operations] = field(default_factory=dict)

    @property
    def keys(self) -> Iterable[str]:
        """All kernels that something is said of."""
        return dict.fromkeys((*self.post, *self.pre, *self.stacks.frames, *self.operations))

    def is_of(self, keys: Iterable[str], has_node: Callable[[str], bool]) -> bool:
        """Whether it is about the code with these keys, and the graph that has these nodes. A file that lies somewhere may be about
        any other one, and handles are small numbers."""
        own = set(self.keys)
        named = (name for key in keys for name in self.post.get(key, ()))
        return bool(own) and own.issuperset(keys) and all(has_node(name) for name in named)


def left_of(information: object, operations: object) -> Left:
    """What the two parsed files say; None for one that is not there."""
    known = dict(_entries(information))
    return Left(
        {key: found for key, entry in known.items() if (found := _texts(entry, "post_grad_nodes"))},
        {key: found for key, entry in known.items() if (found := _texts(entry, "pre_grad_nodes"))},
        kernel_stacks({key: list_in(entry, "stack_traces") for key, entry in known.items()}),
        {key: _operations(entry) for key, entry in _entries(operations)},
    )  # fmt: skip


@lru_cache(maxsize=8)
def _parsed(text: bytes) -> object:
    try:
        return parse_json(text)
    except ValueError:
        return None


def parsed_beside(log: str, name: str) -> object:
    """The parsed file of a name beside a log; None where there is none, or it is no JSON."""
    text = beside(log, name, LIMIT)
    return _parsed(text) if text else None


def _entries(value: object) -> Iterator[tuple[str, dict[str, object]]]:
    """The kernels of a file: of `kernels`, or of the file itself."""
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
