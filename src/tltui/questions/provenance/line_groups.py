"""Groups of corresponding lines, and the source line of each node or kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from tltui.questions.provenance.graph_names import COMPUTED, GraphText
from tltui.questions.provenance.links import KernelLink, Links, Texts
from tltui.questions.provenance.records import CALL_SITE, CPP, GUARDS, PY, Born, LineMap, Node, Place
from tltui.questions.stacks.tracebacks import StackFrame, nearest
from tltui.text.frozen import mutable
from tltui.text.graphs.fx_graph import FxNode, Origin
from tltui.text.line_correspondence import Group, Range, joined, of_lines
from tltui.text.torch_names import Owner, is_framework, owner_of

Key = tuple[str, int]
_TELLING = (Owner.USER, Owner.LIBRARY)
"""Whose lines are worth more than the innermost one."""


@mutable
class Places:
    """Distinct source places; nodes and kernels refer to them by (file, line)."""

    by_key: dict[Key, Place] = field(default_factory=dict)
    pre: dict[int, tuple[Key, ...]] = field(default_factory=dict)
    """Number of a node in its graph → its places, the user's own first."""
    post: dict[int, tuple[Key, ...]] = field(default_factory=dict)
    kernels: list[tuple[Key, ...]] = field(default_factory=list)
    from_stacks: list[bool] = field(default_factory=list)
    """Whether the places of a kernel come from its stacks."""
    own_callers: dict[Key, Key] = field(default_factory=dict)
    """Line of a library or of torch → the line that calls it, where that is derived."""
    callers_from: str = GUARDS
    """The source of these."""
    derived: list[bool] = field(default_factory=list)
    """Whether a line of a kernel is one of those."""
    called: list[bool] = field(default_factory=list)
    """Whether of a kernel without a place only lines are named that own code calls: which of its lines does is not known."""

    def ordered(self) -> tuple[Place, ...]:
        """Return the user's places, then those of libraries, each by file and line."""
        return tuple(sorted(self.by_key.values(), key=lambda place: (owner_of(place.file).rank, place.file, place.line)))

    def of_origin(self, origin: Origin | None) -> Key | None:
        """Return the key of the place in a comment; None without a place."""
        if origin is None:
            return None
        return self.add(Place(origin.path, origin.place, origin.function, origin.code.strip(), is_framework(origin.path)))

    def of_frame(self, frame: StackFrame) -> Key | None:
        """Return the key of a stack frame's place."""
        if frame.line is None:
            return None
        return self.add(Place(frame.file, frame.line, frame.name, (frame.code or "").strip(), frame.is_framework))

    def add(self, place: Place) -> Key:
        """Add a place and return its key."""
        key = place.file, place.line
        old = self.by_key.get(key)
        if old is None or (not old.code and place.code):
            self.by_key[key] = place
        return key

    def own_first(self, keys: Iterable[Key]) -> tuple[Key, ...]:
        """Return distinct keys: user code before libraries, torch last."""
        return tuple(sorted(dict.fromkeys(keys), key=_rank))


def places_of(
    texts: Texts, links: Links, inside: Owner = Owner.TORCH, lines: Mapping[Key, Place] | None = None
) -> Places:  # fmt: skip
    """Return the places of all nodes and kernels of a unit.

    `inside` is the owner of the compiled function. Each call below it has one of its lines in the stack, so lines of
    less specific owners are not the origin. `lines` maps lines of libraries or of torch to the lines that call them.
    """
    places = Places(callers_from=CALL_SITE if inside is Owner.TORCH else GUARDS)
    stacks = [_stacks(texts, kernel) for kernel in links.kernels]
    callers = _callers(places, links, stacks)
    if lines:
        places.own_callers.update({key: places.add(place) for key, place in lines.items()})
    if texts.pre is not None:
        after: dict[str, list[str]] = {}
        for post, names in links.post_to_pre.items():
            for name in names:
                after.setdefault(name, []).append(post)
        for n, node in enumerate(texts.pre.nodes):
            _add_node_places(places, places.pre, n, texts.pre, node, (callers.get(name, {}) for name in after.get(node.name, ())))
    if texts.post is not None:
        _of_post(places, texts, links, callers)
    for kernel, kernel_stacks in zip(links.kernels, stacks, strict=True):
        leads = [lead for stack in kernel_stacks if (lead := nearest(stack)) is not None and lead.owner in _TELLING]
        keys = [key for frame in leads if (key := places.of_frame(frame)) is not None]
        keys_by_name, derived = ((), False) if keys else _by_nodes(places, texts, kernel)
        specific = tuple(key for key in keys_by_name if _rank(key) <= inside.rank)
        places.from_stacks.append(bool(keys))
        places.kernels.append(places.own_first(keys) if keys else specific)
        places.derived.append(derived)
        places.called.append(bool(keys_by_name) and not specific)
    return places


def _stacks(texts: Texts, kernel: KernelLink) -> tuple[tuple[StackFrame, ...], ...]:
    frames = (stack.frames.get(key) for stack in (texts.stacks, texts.left.stacks) for key in (kernel.key, kernel.name))
    return next((frame for frame in frames if frame), ())


Callers = dict[str, dict[Key, dict[Key, None]]]


def _callers(places: Places, links: Links, stacks: list[tuple[tuple[StackFrame, ...], ...]]) -> Callers:
    """Map each post-grad node to the caller lines in its kernels' stacks.

    Keyed by the innermost torch frame; the lines are the user's, else a library's.
    """
    callers: Callers = {}
    for kernel, kernel_stacks in zip(links.kernels, stacks, strict=True):
        for stack in kernel_stacks:
            lead, inner = nearest(stack), stack[-1]
            if lead is None or lead.owner.rank >= inner.owner.rank or inner.line is None:
                continue
            key = places.of_frame(lead)
            for name in kernel.post if key is not None else ():
                callers.setdefault(name, {}).setdefault((inner.file, inner.line), {})[key] = None  # type: ignore[index]
    return callers


def _add_node_places(
    places: Places, to: dict[int, tuple[Key, ...]], n: int, graph: GraphText, node: FxNode,
    callers: Iterable[dict[Key, dict[Key, None]]],
) -> None:  # fmt: skip
    """Add the place in the comment above a node, and its callers."""
    key = places.of_origin(graph.origin(node)) if node.kind != "output" else None
    if key is None:
        return
    keys = [key]
    if places.by_key[key].framework:
        keys += [caller for by_key in callers for caller in by_key.get(key, ())]
        keys += [places.own_callers[key]] if key in places.own_callers else []
    to[n] = places.own_first(keys)


def _of_post(places: Places, texts: Texts, links: Links, callers: Callers) -> None:
    """Add the places of post-grad nodes: their comments', and those of their pre-grad nodes.

    Torch maps a pre-grad node that it leaves out (a view, `detach`) to the node that makes its value. The comment of that
    node wins.
    """
    assert texts.post is not None
    for n, node in enumerate(texts.post.nodes):
        name = texts.post.key(node)
        _add_node_places(places, places.post, n, texts.post, node, (callers.get(name, {}),))
        if texts.pre is None:
            continue
        before = (texts.pre.numbers.get(name, -1) for name in links.post_to_pre.get(name, ()))
        commented = places.post.get(n, ())
        best = min(map(_rank, commented), default=len(Owner))
        wins = best <= Owner.LIBRARY.rank
        keys = [key for other in before for key in places.pre.get(other, ()) if _rank(key) < best or not wins]
        if keys:
            places.post[n] = places.own_first((*commented, *keys))


def _by_nodes(places: Places, texts: Texts, kernel: KernelLink) -> tuple[tuple[Key, ...], bool]:
    """Return the places of a kernel's nodes if it has no stack, and whether any is derived."""
    keys: list[Key] = []
    for graph, node_keys, names in ((texts.post, places.post, kernel.post), (texts.pre, places.pre, kernel.pre)):
        if graph is not None:
            keys += [key for name in names for key in node_keys.get(graph.numbers.get(name, -1), ())]
    if kernel.function and kernel.definition is not None and keys:
        keys += _of_caller(places, texts, kernel.function)
    best = min(map(_rank, keys), default=0)
    return places.own_first(key for key in keys if _rank(key) == best), any(key in places.own_callers for key in keys)


def _of_caller(places: Places, texts: Texts, function: str) -> tuple[Key, ...]:
    """Return the places of the first node that calls a function's subgraph.

    Kernels that Inductor generated for the subgraph also count for that node; external kernels do not.
    """
    post = texts.post
    number = post.inner(function) if post is not None else None
    if post is None or number is None:
        return ()
    graph = post.graph.graphs[number]
    name = graph.path.rpartition(".")[2]
    runs = (n for n, node in enumerate(post.nodes) if node.kind == "call" and node.graph == graph.parent and name in node.args)
    return places.post.get(next(runs, -1), ())


def _rank(key: Key) -> int:
    """Return the sort rank of a place's owner; 0 is the user."""
    return owner_of(key[0]).rank


@mutable
class Woven:
    """A unit with names resolved to lines. Lines count from 0."""

    texts: Texts
    links: Links
    places: Places
    numbers: dict[Key, int]
    """Place → its line of the pane `source`."""
    node_kernels: dict[str, list[int]] = field(default_factory=dict)
    """Post-grad node → kernels."""
    after: dict[str, list[str]] = field(default_factory=dict)
    """Pre-grad node → post-grad nodes."""

    def pre_lines(self, names: Iterable[str]) -> list[int]:
        """Return the lines of pre-grad nodes."""
        graph = self.texts.pre
        return [] if graph is None else [node.line for name in names if (node := graph.find(name)) is not None]

    def post_lines(self, names: Iterable[str]) -> list[int]:
        """Return the lines of post-grad nodes."""
        graph = self.texts.post
        return [] if graph is None else [node.line for name in names if (node := graph.find(name)) is not None]


def weave(texts: Texts, links: Links, places: Places) -> Woven:
    """Resolve the names of a unit to lines."""
    numbers = {(place.file, place.line): n for n, place in enumerate(places.ordered())}
    woven = Woven(texts, links, places, numbers)
    for n, kernel in enumerate(links.kernels):
        for name in kernel.post:
            woven.node_kernels.setdefault(name, []).append(n)
    for name, before in links.post_to_pre.items():
        for other in before:
            woven.after.setdefault(other, []).append(name)
    return woven


def code_ranges(kernel: KernelLink) -> dict[int, list[Range]]:
    """Return the line ranges of a kernel: its calls with their comments, and its definition."""
    ranges: dict[int, list[Range]] = {}
    for call in kernel.calls:
        ranges.setdefault(kernel.call_pane, []).append((call.first, call.last))
    definition = kernel.definition
    if definition is not None:
        first = definition.above if definition.above >= 0 else definition.first
        ranges.setdefault(kernel.definition_pane, []).append((first, definition.last))
    return ranges


def groups_of(woven: Woven) -> tuple[Group, ...]:
    """Return all line groups of a unit."""
    groups = [*_of_nodes(woven), *_of_kernels(woven)]
    if _joins_by_place(woven):
        groups += _of_places(woven)
    groups += _of_signature(woven)
    return tuple(groups)


def _group(
    source: Iterable[int], pre: Iterable[int], post: Iterable[int], code: Iterable[dict[int, list[Range]]]
) -> Group:
    ranges: list[tuple[Range, ...]] = [of_lines(source), of_lines(pre), of_lines(post), (), (), ()]
    more: dict[int, set[Range]] = {}
    for by_pane in code:
        for pane, pane_ranges in by_pane.items():
            more.setdefault(pane, set()).update(pane_ranges)
    for pane, all_of_them in more.items():
        ranges[pane] = tuple(joined(all_of_them))
    return Group(tuple(ranges))


def _of_nodes(woven: Woven) -> Iterator[Group]:
    """Yield a group per graph node with a link."""
    ranges = [code_ranges(kernel) for kernel in woven.links.kernels]
    post, pre = woven.texts.post, woven.texts.pre
    for n, node in enumerate(post.nodes if post is not None else ()):
        key = post.key(node) if post is not None else ""
        kernels = woven.node_kernels.get(key, [])
        before = woven.pre_lines(woven.links.post_to_pre.get(key, ()))
        places = [woven.numbers[key] for key in woven.places.post.get(n, ())]
        if kernels or before or places:
            yield _group(places, before, (node.line,), (ranges[kernel] for kernel in kernels))
    for n, node in enumerate(pre.nodes if pre is not None else ()):
        places = [woven.numbers[key] for key in woven.places.pre.get(n, ())]
        if places and not (pre is not None and pre.is_outermost(node) and woven.post_lines(woven.after.get(node.name, ()))):
            yield _group(places, (node.line,), (), ())


def _of_kernels(woven: Woven) -> Iterator[Group]:
    """Yield a group per kernel: its source lines, and the pre-grad nodes named only in its comments."""
    for n, kernel in enumerate(woven.links.kernels):
        places = [woven.numbers[key] for key in woven.places.kernels[n]]
        code = code_ranges(kernel)
        if code and (places or kernel.pre or kernel.post):
            yield _group(places, woven.pre_lines(kernel.pre), (), (code,))


def _joins_by_place(woven: Woven) -> bool:
    """Return whether to join nodes of the two graphs by source line.

    True where torch did not map them: in a backward it maps only recomputed nodes.
    """
    return not woven.links.own_nodes or woven.texts.direction == "backward"


def _at_places(woven: Woven) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return lines by place: of pre-grad nodes, and of unlinked post-grad nodes."""
    pre: dict[int, list[int]] = {}
    post: dict[int, list[int]] = {}
    if woven.texts.pre is not None:
        for n, keys in woven.places.pre.items():
            for key in keys:
                pre.setdefault(woven.numbers[key], []).append(woven.texts.pre.nodes[n].line)
    if woven.texts.post is not None:
        for n, keys in woven.places.post.items():
            node = woven.texts.post.nodes[n]
            if woven.pre_lines(woven.links.post_to_pre.get(node.name, ())):
                continue
            for key in keys:
                post.setdefault(woven.numbers[key], []).append(node.line)
    return pre, post


def _of_places(woven: Woven) -> Iterator[Group]:
    pre, post = _at_places(woven)
    for place, lines in post.items():
        if place in pre:
            yield _group((place,), pre[place], lines, ())


def _of_signature(woven: Woven) -> Iterator[Group]:
    """Yield groups of the inputs and of the outputs of graphs and code.

    The inputs and outputs of a backward differ from those of the pre-grad graph.
    """
    texts = woven.texts
    backward = texts.direction == "backward"
    for side in ("inputs", "outputs"):
        pre: tuple[int, ...] = getattr(texts.pre, side)() if texts.pre is not None and not backward else ()
        post: tuple[int, ...] = getattr(texts.post, side)() if texts.post is not None else ()
        code: tuple[int, ...] = getattr(texts.code, side)
        if bool(pre) + bool(post) + bool(code) > 1:
            yield _group((), pre, post, ({texts.code_pane: [(n, n) for n in code]},))


MOST_PAIRS = 64
"""Pairs of nodes that one line of source joins in the maps. A line that each of thirty layers runs would join every node of one
with every node of the others; what is born of it stands in `born_of`."""
MAP_NAMES = ("pre_to_post", "post_to_pre", "py_code_to_post", "post_to_py_code", "cpp_code_to_post", "post_to_cpp_code")


def maps_of(woven: Woven) -> dict[str, LineMap]:
    """Return the line maps; lines count from 1.

    Nodes joined only by source line are included if torch mapped no nodes at all.
    """
    pairs: dict[str, set[tuple[int, int]]] = {name: set() for name in ("pre", "py", "cpp")}
    for name in woven.links.post_to_pre:
        for post in woven.post_lines((name,)):
            pairs["pre"].update((line, post) for line in woven.pre_lines(woven.links.post_to_pre[name]))
    if not woven.links.own_nodes:
        pre, unlinked = _at_places(woven)
        joined_here = ((pre.get(place, ()), lines) for place, lines in unlinked.items())
        few = ((before, lines) for before, lines in joined_here if len(before) * len(lines) <= MOST_PAIRS)
        pairs["pre"].update((a, b) for before, lines in few for b in lines for a in before)
    for kernel in woven.links.kernels:
        posts = woven.post_lines(kernel.post)
        for pane, line in kernel_lines(kernel):
            if pane in (PY, CPP):
                pairs["py" if pane == PY else "cpp"].update((line, post) for post in posts)
    forward, backward = zip(*((_map(links), _map({(b, a) for a, b in links})) for links in pairs.values()), strict=True)
    return dict(zip(MAP_NAMES, (links for both in zip(forward, backward, strict=True) for links in both), strict=True))


def kernel_lines(kernel: KernelLink) -> Iterator[tuple[int, int]]:
    """Yield (pane, line) of a kernel's calls and of its definition's first line."""
    for call in kernel.calls:
        for line in call.lines:
            yield kernel.call_pane, line
    if kernel.definition is not None:
        yield kernel.definition_pane, kernel.definition.first


def _map(pairs: set[tuple[int, int]]) -> LineMap:
    targets: dict[int, list[int]] = {}
    for key, line in sorted(pairs):
        targets.setdefault(key + 1, []).append(line + 1)
    return {key: tuple(lines) for key, lines in targets.items()}


def born_of(woven: Woven, ordered: tuple[Place, ...], keys: list[str]) -> Iterator[Born]:
    """Yield the nodes and kernels of each source line; last, those without a known line.

    `keys` are the keys of the kernels.

    A user line that calls a whole library model lists the model's kernels; the nodes are listed only under the
    library's lines. Where torch recorded the stacks of a kernel, a user line that is in none of them does not list it.
    """
    homeless = len(ordered)
    owners = [owner_of(place.file) for place in ordered]
    stacked = [
        {woven.numbers[key] for key in keys} if from_stacks else None
        for keys, from_stacks in zip(woven.places.kernels, woven.places.from_stacks, strict=True)
    ]
    pre: list[list[Node]] = [[] for _ in range(homeless + 1)]
    post: list[list[Node]] = [[] for _ in range(homeless + 1)]
    kernels: list[set[int]] = [set() for _ in range(homeless + 1)]
    for graph, node_places, to in ((woven.texts.pre, woven.places.pre, pre), (woven.texts.post, woven.places.post, post)):
        for n, node in enumerate(graph.nodes if graph is not None else ()):
            homes = [woven.numbers[key] for key in node_places.get(n, ())]
            if not homes and node.kind in COMPUTED:
                homes = [homeless]
            inside = [home for home in homes if home < homeless and owners[home] is Owner.LIBRARY]
            for home in inside or homes:
                to[home].append(Node(node.name, node.line + 1))
            for home in homes:
                of_node = woven.node_kernels.get(graph.key(node), ()) if to is post and graph is not None else ()
                exact = home < homeless and owners[home] is Owner.USER
                kernels[home].update(kernel for kernel in of_node if not exact or home in (stacked[kernel] or (home,)))
    for n, places in enumerate(woven.places.kernels):
        for key in places:
            kernels[woven.numbers[key]].add(n)
        if not places:
            kernels[homeless].add(n)
    kernels[homeless] = {n for n in kernels[homeless] if not woven.places.kernels[n]}
    for n in range(homeless + 1):
        place = ordered[n] if n < homeless else Place("", 0)
        names = tuple(keys[kernel] for kernel in sorted(kernels[n]))
        if n < homeless or pre[n] or post[n] or names:
            yield Born(
                place.file, place.line, place.function, place.code, place.framework, place.owner if place.file else "",
                tuple(pre[n]), tuple(post[n]), names,
            )  # fmt: skip
