"""Layers by name: which ones a user means, and iterations as one."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from tltui.analyses.provenance.cost import together
from tltui.analyses.provenance.layer_names import merged
from tltui.analyses.provenance.layered import MERGED, Layer, Layers, UnitLayers

NEAR = 5
ROOT = "(model)"
"""What the outermost layer is called."""


def named(found: Layers) -> tuple[str, ...]:
    """All layers of a compile, in the order in which they first run, each once, those of merged iterations behind them."""
    paths = dict.fromkeys(layer.path for unit in found.units for layer in unit.layers)
    return (*paths, *dict.fromkeys(whole for path, whole in iterations(paths).items() if whole != path))


def iterations(paths: Collection[str]) -> dict[str, str]:
    """Path → that of all its iterations: `layers.*.attn`. Only what is in a list is one: the parts of a module that runs itself
    (`Sequential`) follow each other."""
    known, found = set(paths), {}
    for path in paths:
        parts = path.split(".")
        found[path] = ".".join(
            MERGED if part.isdecimal() and ".".join(parts[:n]) not in known else part for n, part in enumerate(parts)
        )
    return found


def matches(path: str, wanted: str) -> bool:
    """Whether a layer is meant by a name, in which `*` stands for any number; the end of a path is enough."""
    whole, parts = path.split("."), wanted.split(".")
    if wanted in ("", ROOT):
        return not path
    if len(parts) > len(whole):
        return False
    return all(a == b or (b == MERGED and a.isdecimal()) for a, b in zip(whole[-len(parts) :], parts, strict=True))


def chosen(paths: Iterable[str], wanted: str) -> tuple[str, ...]:
    """The layers that a name means: those of that path; else those whose path ends so, where they are of one kind."""
    known = list(paths)
    exact = [path for path in known if len(path.split(".")) == len(wanted.split(".")) and matches(path, wanted)]
    if exact:
        return tuple(exact)
    ends = [path for path in known if matches(path, wanted)]
    return tuple(ends) if len({merged(path) if MERGED in wanted else path for path in ends}) <= 1 else ()


def near(paths: Iterable[str], wanted: str) -> tuple[str, ...]:
    """Layers whose names are like one that there is not."""
    known = [path for path in paths if path]
    ends = [path for path in known if matches(path, wanted)]
    last = wanted.rpartition(".")[2]
    alike = difflib.get_close_matches(wanted, known, NEAR, 0.5)
    return tuple(dict.fromkeys((*ends, *alike, *(path for path in known if last and path.rpartition(".")[2] == last))))[:NEAR]


def layers_in(unit: UnitLayers, merge: bool) -> tuple[tuple[Layer, int], ...]:
    """The layers of a unit and how many each stands for: with `merge` those that differ in numbers only are one, whose parent is
    the place of the merged one around it."""
    if not merge:
        return tuple((layer, 1) for layer in unit.layers)
    groups: dict[str, list[Layer]] = {}
    whole = iterations([layer.path for layer in unit.layers])
    for layer in unit.layers:
        groups.setdefault(whole[layer.path], []).append(layer)
    places = {path: n for n, path in enumerate(groups)}
    found = []
    for path, same in groups.items():
        around = unit.layers[same[0].parent].path if same[0].parent >= 0 else None
        found.append((union(unit, path, same, -1 if around is None else places[whole[around]]), len(same)))
    return tuple(found)


def union(unit: UnitLayers, path: str, layers: Iterable[Layer], parent: int = -1) -> Layer:
    """Several layers as one. A kernel that is in two of them counts once, and is alone where it computes nothing outside of all."""
    own = list(layers)
    if len(own) == 1:
        one = own[0]
        return Layer(path, parent, one.pre, one.post, one.kernels, one.alone, one.lines, one.cost, one.priced)
    inside = {name for layer in own for name in layer.kernels}
    kernels = tuple(key for key in unit.of_kernel if key in inside)
    paths = {layer.path for layer in own}
    alone = tuple(key for key in kernels if all(_in(path, paths) for path in unit.of_kernel[key]))
    priced = [unit.costs[key] for key in kernels if key in unit.costs]
    return Layer(
        path, parent, tuple(dict.fromkeys(name for layer in own for name in layer.pre)),
        tuple(dict.fromkeys(name for layer in own for name in layer.post)), kernels, alone,
        tuple(dict.fromkeys(line for layer in own for line in layer.lines)), together(priced),
        sum(cost.bytes is not None for cost in priced),
    )  # fmt: skip


def _in(path: str, paths: set[str]) -> bool:
    while path:
        if path in paths:
            return True
        path = path.rpartition(".")[0]
    return "" in paths
