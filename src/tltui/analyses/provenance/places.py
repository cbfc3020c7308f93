"""Lines of source: which line of the user's code a node or a kernel comes from.

A `# File:` comment names the innermost frame. For a layer of `torch.nn`, or a graph that was exported, that is a line
inside of torch. The stacks of the kernels lead from there to the line of the user that called it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tltui.analyses.provenance.graph import GraphText
from tltui.analyses.provenance.links import KernelLink, Links, Texts
from tltui.analyses.provenance.result import Place
from tltui.analyses.stacks.stacks import StackFrame, nearest
from tltui.text.graphs.fx_graph import FxNode, Origin
from tltui.text.owner import Owner, is_framework, owner_of

Key = tuple[str, int]
_TELLING = (Owner.USER, Owner.LIBRARY)
"""Whose lines are worth more than the innermost one."""


@dataclass(slots=True)
class Places:
    """Every place once; nodes and kernels name theirs by (file, line)."""

    known: dict[Key, Place] = field(default_factory=dict)
    pre: dict[int, tuple[Key, ...]] = field(default_factory=dict)
    """Number of a node in its graph → its places, the user's own first."""
    post: dict[int, tuple[Key, ...]] = field(default_factory=dict)
    kernels: list[tuple[Key, ...]] = field(default_factory=list)
    from_stacks: list[bool] = field(default_factory=list)
    """Whether the places of a kernel come from its stacks."""
    own_callers: dict[Key, Key] = field(default_factory=dict)
    """Line of a library → the own line that calls it, where that is derived (`callers.py`)."""
    derived: list[bool] = field(default_factory=list)
    """Whether an own line of a kernel is one of those."""
    called: list[bool] = field(default_factory=list)
    """Whether of a kernel without a place only lines are named that own code calls: which of its lines does is not known."""

    def ordered(self) -> tuple[Place, ...]:
        """The user's own first, then those of libraries; by file and line."""
        return tuple(sorted(self.known.values(), key=lambda place: (owner_of(place.file).rank, place.file, place.line)))

    def of_origin(self, origin: Origin | None) -> Key | None:
        """The place that a comment names."""
        if origin is None:
            return None
        return self.add(Place(origin.path, origin.place, origin.function, origin.code.strip(), is_framework(origin.path)))

    def of_frame(self, frame: StackFrame) -> Key | None:
        """The place of a frame."""
        if frame.line is None:
            return None
        return self.add(Place(frame.file, frame.line, frame.name, (frame.code or "").strip(), frame.framework))

    def add(self, place: Place) -> Key:
        """Take a place in."""
        key = place.file, place.line
        old = self.known.get(key)
        if old is None or (not old.code and place.code):
            self.known[key] = place
        return key

    def own_first(self, keys: Iterable[Key]) -> tuple[Key, ...]:
        """Each once; the user's own before those of libraries, torch's last."""
        return tuple(sorted(dict.fromkeys(keys), key=_rank))


def places_of(
    texts: Texts, links: Links, inside: Owner = Owner.TORCH, lines: Mapping[Key, Place] | None = None
) -> Places:  # fmt: skip
    """The places of all nodes and kernels of a unit. `inside`: whose the compiled function is. All that it calls has a line of it
    in its stack, so a line of anybody whose lines tell less is not the one that is looked for. `lines`: of lines of libraries the
    own line that calls them, taken where there are no stacks."""
    places = Places()
    stacks = [_stacks(texts, kernel) for kernel in links.kernels]
    callers = _callers(places, links, stacks)
    if lines and not any(stacks):
        places.own_callers.update({key: places.add(place) for key, place in lines.items()})
    if texts.pre is not None:
        after: dict[str, list[str]] = {}
        for post, names in links.post_to_pre.items():
            for name in names:
                after.setdefault(name, []).append(post)
        for n, node in enumerate(texts.pre.nodes):
            _own(places, places.pre, n, texts.pre, node, (callers.get(name, {}) for name in after.get(node.name, ())))
    if texts.post is not None:
        _of_post(places, texts, links, callers)
    for kernel, own in zip(links.kernels, stacks, strict=True):
        leads = [lead for stack in own if (lead := nearest(stack)) is not None and lead.owner in _TELLING]
        keys = [key for frame in leads if (key := places.of_frame(frame)) is not None]
        named, derived = ((), False) if keys else _by_nodes(places, texts, kernel)
        told = tuple(key for key in named if _rank(key) <= inside.rank)
        places.from_stacks.append(bool(keys))
        places.kernels.append(places.own_first(keys) if keys else told)
        places.derived.append(derived)
        places.called.append(bool(named) and not told)
    return places


def _stacks(texts: Texts, kernel: KernelLink) -> tuple[tuple[StackFrame, ...], ...]:
    frames = (own.frames.get(key) for own in (texts.stacks, texts.left.stacks) for key in (kernel.key, kernel.name))
    return next((found for found in frames if found), ())


Callers = dict[str, dict[Key, dict[Key, None]]]


def _callers(places: Places, links: Links, stacks: list[tuple[tuple[StackFrame, ...], ...]]) -> Callers:
    """Post-grad node → innermost frame inside of torch → the lines of the user, else of a library, that the kernels' stacks
    lead to."""
    found: Callers = {}
    for kernel, own in zip(links.kernels, stacks, strict=True):
        for stack in own:
            lead, inner = nearest(stack), stack[-1]
            if lead is None or lead.owner.rank >= inner.owner.rank or inner.line is None:
                continue
            key = places.of_frame(lead)
            for name in kernel.post if key is not None else ():
                found.setdefault(name, {}).setdefault((inner.file, inner.line), {})[key] = None  # type: ignore[index]
    return found


def _own(
    places: Places, to: dict[int, tuple[Key, ...]], n: int, graph: GraphText, node: FxNode,
    callers: Iterable[dict[Key, dict[Key, None]]],
) -> None:  # fmt: skip
    """The place that the comment above a node names, and who called it."""
    key = places.of_origin(graph.origin(node)) if node.kind != "output" else None
    if key is None:
        return
    keys = [key]
    if places.known[key].framework:
        keys += [caller for known in callers for caller in known.get(key, ())]
        keys += [places.own_callers[key]] if key in places.own_callers else []
    to[n] = places.own_first(keys)


def _of_post(places: Places, texts: Texts, links: Links, callers: Callers) -> None:
    """Post-grad nodes: their own place, and those of the pre-grad nodes that they come from."""
    assert texts.post is not None
    for n, node in enumerate(texts.post.nodes):
        name = texts.post.key(node)
        _own(places, places.post, n, texts.post, node, (callers.get(name, {}),))
        if texts.pre is None:
            continue
        before = (texts.pre.numbers.get(name, -1) for name in links.post_to_pre.get(name, ()))
        keys = [key for other in before for key in places.pre.get(other, ())]
        if keys:
            places.post[n] = places.own_first((*places.post.get(n, ()), *keys))


def _by_nodes(places: Places, texts: Texts, kernel: KernelLink) -> tuple[tuple[Key, ...], bool]:
    """The places of the nodes in a kernel, where it has no stack, and whether one is derived."""
    keys: list[Key] = []
    for graph, found, names in ((texts.post, places.post, kernel.post), (texts.pre, places.pre, kernel.pre)):
        if graph is not None:
            keys += [key for name in names for key in found.get(graph.numbers.get(name, -1), ())]
    if kernel.function and kernel.definition is not None and keys:
        keys += _of_caller(places, texts, kernel.function)
    best = min(map(_rank, keys), default=0)
    return places.own_first(key for key in keys if _rank(key) == best), any(key in places.own_callers for key in keys)


def _of_caller(places: Places, texts: Texts, function: str) -> tuple[Key, ...]:
    """The places of the first node that runs the graph of a function. All that Inductor generates for such a graph counts as that
    node's too; what it calls as it is does not."""
    post = texts.post
    number = post.inner(function) if post is not None else None
    if post is None or number is None:
        return ()
    own = post.graph.graphs[number]
    name = own.path.rpartition(".")[2]
    runs = (n for n, node in enumerate(post.nodes) if node.kind == "call" and node.graph == own.parent and name in node.args)
    return places.post.get(next(runs, -1), ())


def _rank(key: Key) -> int:
    """Whose a place is: 0 for the user's own."""
    return owner_of(key[0]).rank
