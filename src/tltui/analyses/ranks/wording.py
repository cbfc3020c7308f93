"""What is printed of each side of a difference: the lines that only it has, in words that differ from those of the other sides.

A line of a facet is compared up to its tab, and printed from there on where it has one: that is the value with the paths that the
comparison leaves out (`facets/settings.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from tltui.analyses.ranks.facets.inputs import PARTS

BREAKS, FAILED, COLLECTIVES, DEVICES = "breaks", "failure", "collectives", "devices"
INPUTS, GUARDS, CODE, CACHE, ESTIMATES = "inputs", "guards", "code", "cache", "estimates"
NOTHING = {BREAKS: "no break", FAILED: "no failure", DEVICES: "all on its own device", COLLECTIVES: "no collectives",
           CACHE: "no answer logged"}  # fmt: skip
"""What is said of ranks that have nothing of a facet."""
WITHOUT = "without that"
"""What is said of ranks that have all lines in common with the others, which have more."""
SHOWN = 1
SHOWN_OF = {COLLECTIVES: 3, "settings": 3, "recompile": 3, "parity": 3, FAILED: 3, "version": 3, "graph": 3}
"""Lines of a facet that are printed; of the others `SHOWN`."""
DIGITS = 8
"""Digits of a digest that are printed."""
Lines = Mapping[Hashable, Sequence[str]]
"""What a facet is on some ranks → its lines."""


def words(facet: str, lines: Lines) -> dict[Hashable, str]:
    """Say of each value of a facet in what it is unlike the others; '' only where words cannot tell any of them."""
    if facet == CACHE:
        return {value: _answers(own) for value, own in lines.items()}
    if facet == CODE:
        return _code(lines)
    compared = {value: {line.partition("\t")[0]: line.partition("\t")[2] or line for line in own} for value, own in lines.items()}
    same = set.intersection(*(set(own) for own in compared.values()))
    apart = {value: [shown for plain, shown in own.items() if plain not in same] for value, own in compared.items()}
    if facet == INPUTS:
        apart = _inputs_apart(apart)
    said = {value: _said(facet, own, apart[value]) for value, own in lines.items()}
    if any(said.values()):
        return {value: one or WITHOUT for value, one in said.items()}
    return said


def shared_inputs(lines: Lines) -> Lines:
    """The inputs whose source all sides describe: ranks that did not finish had not described the others yet."""
    sources = set.intersection(*({line.partition(": ")[0] for line in own} for own in lines.values()))
    return {value: [line for line in own if line.partition(": ")[0] in sources] for value, own in lines.items()}


def _inputs_apart(lines: Mapping[Hashable, Sequence[str]]) -> dict[Hashable, list[str]]:
    """Of inputs that all have, only what is different of them."""
    inputs = {value: dict(line.split(": ", 1) for line in own if ": " in line) for value, own in lines.items()}
    found: dict[Hashable, list[str]] = {}
    for value, own in inputs.items():
        found[value] = []
        for source, what in own.items():
            others = [set(other[source].split(PARTS)) for other in inputs.values() if source in other]
            same = set.intersection(*others) if len(others) == len(inputs) else set()
            found[value].append(f"{PARTS.join(part for part in what.split(PARTS) if part not in same) or what} of {source}")
    return found


def _said(facet: str, told: Sequence[str], lines: Sequence[str]) -> str:
    """What only these ranks have, in a line."""
    if not told:
        return NOTHING.get(facet, "")
    if not lines:
        return ""
    if facet == DEVICES:
        return f"{lines[0]}{''.join(', ' + line.removeprefix('tensors on ') for line in lines[1:])}, not its own device"
    shown = SHOWN_OF.get(facet, SHOWN)
    left = len(lines) - shown
    return "; ".join(line.strip() for line in lines[:shown]) + (f" and {left} more" if left > 0 else "")


def _answers(lines: Sequence[str]) -> str:
    """Count what the caches answered: `3 hits, 1 miss`; with the name of the cache where there are several."""
    if not lines:
        return NOTHING[CACHE]
    caches: dict[str, Counter[str]] = {}
    for line in lines:
        cache, _, state = line.rpartition(" ")
        caches.setdefault(cache, Counter())[state] += 1
    told = {cache: ", ".join(_count(state, n) for state, n in sorted(own.items())) for cache, own in sorted(caches.items())}
    return "; ".join(f"{cache}: {said}" for cache, said in told.items()) if len(told) > 1 else next(iter(told.values()))


def _count(state: str, count: int) -> str:
    return f"{count} {state}" if count == 1 else f"{count} {state}{'es' if state.endswith('s') else 's'}"


def _code(lines: Lines) -> dict[Hashable, str]:
    """Number the codes where there are not as many; else name the first that differs by its digest."""
    counts = {value: len(own) for value, own in lines.items()}
    if len(set(counts.values())) > 1:
        return {value: f"code of {count} graph{'s' * (count != 1)}" if count else "no code" for value, count in counts.items()}
    rows = list(zip(*lines.values(), strict=True))
    first = next((n for n, row in enumerate(rows) if len(set(row)) > 1), 0)
    of = f" of graph {first + 1}" if len(rows) > 1 else ""
    return {value: f"code {own[first][:DIGITS]}{of}" if own else "" for value, own in lines.items()}
