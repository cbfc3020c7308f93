"""Names ↔ names → lines ↔ lines: the groups that light up together, and the line maps of the JSON.

A group is one operation: a post-grad node with the kernels that compute it, the pre-grad nodes that it comes from and
their lines of source. So the cursor on a node lights up exactly what belongs to it, and on a fused kernel, which is in a
group for each of its nodes, all of them. What no post-grad node connects has a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tltui.analyses.provenance.graph import COMPUTED
from tltui.analyses.provenance.links import KernelLink, Links, Texts
from tltui.analyses.provenance.places import Key, Places
from tltui.analyses.provenance.result import CPP, PY, Born, LineMap, Node, Place
from tltui.text.correspondence import Group, Range, joined, of_lines
from tltui.text.owner import Owner, owner_of


@dataclass(slots=True)
class Woven:
    """A unit whose names became lines. Lines count from 0."""

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
        """The lines of pre-grad nodes."""
        graph = self.texts.pre
        return [] if graph is None else [node.line for name in names if (node := graph.find(name)) is not None]

    def post_lines(self, names: Iterable[str]) -> list[int]:
        """The lines of post-grad nodes."""
        graph = self.texts.post
        return [] if graph is None else [node.line for name in names if (node := graph.find(name)) is not None]


def weave(texts: Texts, links: Links, places: Places) -> Woven:
    """Join what is known of a unit."""
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
    """Where a kernel stands: its calls with the comments above them, and its definition."""
    found: dict[int, list[Range]] = {}
    for call in kernel.calls:
        found.setdefault(kernel.call_pane, []).append((call.first, call.last))
    own = kernel.definition
    if own is not None:
        found.setdefault(kernel.definition_pane, []).append((own.above if own.above >= 0 else own.first, own.last))
    return found


def groups_of(woven: Woven) -> tuple[Group, ...]:
    """All groups of a unit. Bands: one for each line of source, further ones for what has none."""
    bands = _Bands(len(woven.numbers))
    found = [*_of_nodes(woven, bands), *_of_kernels(woven, bands)]
    if _joins_by_place(woven):
        found += _of_places(woven)
    found += _of_signature(woven, bands)
    return tuple(found)


class _Bands:
    """Numbers of bands: those of the places first."""

    def __init__(self, places: int) -> None:
        self._next = places
        self._known: dict[object, int] = {}

    def of(self, places: list[int], key: object) -> int:
        """The band of a group: of its first place, else its own."""
        if places:
            return places[0]
        if key not in self._known:
            self._known[key] = self._next
            self._next += 1
        return self._known[key]


def _group(
    band: int, source: Iterable[int], pre: Iterable[int], post: Iterable[int], code: Iterable[dict[int, list[Range]]]
) -> Group:
    ranges: list[tuple[Range, ...]] = [of_lines(source), of_lines(pre), of_lines(post), (), (), ()]
    more: dict[int, set[Range]] = {}
    for found in code:
        for pane, own in found.items():
            more.setdefault(pane, set()).update(own)
    for pane, all_of_them in more.items():
        ranges[pane] = tuple(joined(all_of_them))
    return Group(tuple(ranges), band)


def _of_nodes(woven: Woven, bands: _Bands) -> Iterator[Group]:
    """A group for each node of the graphs that leads somewhere."""
    ranges = [code_ranges(kernel) for kernel in woven.links.kernels]
    post, pre = woven.texts.post, woven.texts.pre
    for n, node in enumerate(post.nodes if post is not None else ()):
        key = post.key(node) if post is not None else ""
        kernels = woven.node_kernels.get(key, [])
        before = woven.pre_lines(woven.links.post_to_pre.get(key, ()))
        places = [woven.numbers[key] for key in woven.places.post.get(n, ())]
        if kernels or before or places:
            band = bands.of(places, ("kernel", kernels[0]) if kernels else ("post", n))
            yield _group(band, places, before, (node.line,), (ranges[kernel] for kernel in kernels))
    for n, node in enumerate(pre.nodes if pre is not None else ()):
        places = [woven.numbers[key] for key in woven.places.pre.get(n, ())]
        if places and not (pre is not None and pre.named(node) and woven.post_lines(woven.after.get(node.name, ()))):
            yield _group(places[0], places, (node.line,), (), ())


def _of_kernels(woven: Woven, bands: _Bands) -> Iterator[Group]:
    """A group for each kernel: its lines of source, and the pre-grad nodes that only its comments name."""
    for n, kernel in enumerate(woven.links.kernels):
        places = [woven.numbers[key] for key in woven.places.kernels[n]]
        code = code_ranges(kernel)
        if code and (places or kernel.pre or kernel.post):
            band = bands.of(places, ("kernel", n))
            yield _group(band, places, woven.pre_lines(kernel.pre), (), (code,))


def _joins_by_place(woven: Woven) -> bool:
    """Whether nodes of the two graphs are joined by their lines of source: where torch did not map them itself. Of a
    backward it maps only what is computed again."""
    return not woven.links.own_nodes or woven.texts.direction == "backward"


def _at_places(woven: Woven) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Place → lines of pre-grad nodes, and of post-grad nodes that are linked to none."""
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
            yield _group(place, (place,), pre[place], lines, ())


def _of_signature(woven: Woven, bands: _Bands) -> Iterator[Group]:
    """The inputs of the graphs and of the code belong together, and so do the outputs; a backward has others than the
    pre-grad graph."""
    texts = woven.texts
    backward = texts.direction == "backward"
    for which in ("inputs", "outputs"):
        pre: tuple[int, ...] = getattr(texts.pre, which)() if texts.pre is not None and not backward else ()
        post: tuple[int, ...] = getattr(texts.post, which)() if texts.post is not None else ()
        code: tuple[int, ...] = getattr(texts.code, which)
        if bool(pre) + bool(post) + bool(code) > 1:
            yield _group(bands.of([], which), (), pre, post, ({texts.code_pane: [(n, n) for n in code]},))


MOST_PAIRS = 64
"""Pairs of nodes that one line of source joins in the maps. A line that each of thirty layers runs would join every node of one
with every node of the others; what is born of it stands in `born_of`."""
MAP_NAMES = ("preToPost", "postToPre", "pyCodeToPost", "postToPyCode", "cppCodeToPost", "postToCppCode")


def maps_of(woven: Woven) -> dict[str, LineMap]:
    """The line maps, lines from 1. Nodes that are only joined by their line of source are in it where torch mapped no
    nodes at all."""
    pairs: dict[str, set[tuple[int, int]]] = {name: set() for name in ("pre", "py", "cpp")}
    for name in woven.links.post_to_pre:
        for post in woven.post_lines((name,)):
            pairs["pre"].update((line, post) for line in woven.pre_lines(woven.links.post_to_pre[name]))
    if not woven.links.own_nodes:
        pre, rest = _at_places(woven)
        joined_here = ((pre.get(place, ()), lines) for place, lines in rest.items())
        few = ((before, lines) for before, lines in joined_here if len(before) * len(lines) <= MOST_PAIRS)
        pairs["pre"].update((a, b) for before, lines in few for b in lines for a in before)
    for kernel in woven.links.kernels:
        posts = woven.post_lines(kernel.post)
        for pane, line in kernel_lines(kernel):
            if pane in (PY, CPP):
                pairs["py" if pane == PY else "cpp"].update((line, post) for post in posts)
    forward, backward = zip(*((_map(found), _map({(b, a) for a, b in found})) for found in pairs.values()), strict=True)
    return dict(zip(MAP_NAMES, (found for both in zip(forward, backward, strict=True) for found in both), strict=True))


def kernel_lines(kernel: KernelLink) -> Iterator[tuple[int, int]]:
    """(pane, line) of its calls, and of the first line of its definition."""
    for call in kernel.calls:
        for line in call.lines:
            yield kernel.call_pane, line
    if kernel.definition is not None:
        yield kernel.definition_pane, kernel.definition.first


def _map(pairs: set[tuple[int, int]]) -> LineMap:
    found: dict[int, list[int]] = {}
    for key, line in sorted(pairs):
        found.setdefault(key + 1, []).append(line + 1)
    return {key: tuple(lines) for key, lines in found.items()}


def born_of(woven: Woven, ordered: tuple[Place, ...], keys: list[str]) -> Iterator[Born]:
    """For each line of source what was born of it; at the end what has no known line. `keys` are those of the kernels.

    The nodes of a library's line stand there: the one line of yours that calls a whole model has its kernels, not all nodes again.
    """
    homeless = len(ordered)
    libraries = [owner_of(place.file) is Owner.LIBRARY for place in ordered]
    pre: list[list[Node]] = [[] for _ in range(homeless + 1)]
    post: list[list[Node]] = [[] for _ in range(homeless + 1)]
    kernels: list[set[int]] = [set() for _ in range(homeless + 1)]
    for graph, found, to in ((woven.texts.pre, woven.places.pre, pre), (woven.texts.post, woven.places.post, post)):
        for n, node in enumerate(graph.nodes if graph is not None else ()):
            homes = [woven.numbers[key] for key in found.get(n, ())]
            if not homes and node.kind in COMPUTED:
                homes = [homeless]
            inside = [home for home in homes if home < homeless and libraries[home]]
            for home in inside or homes:
                to[home].append(Node(node.name, node.line + 1))
            for home in homes:
                if to is post and graph is not None:
                    kernels[home].update(woven.node_kernels.get(graph.key(node), ()))
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
