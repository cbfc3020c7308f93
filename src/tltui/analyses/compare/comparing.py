"""Two texts of the same kind → their lines in an order that can be compared, and what each line amounts to.

Guards are put in the order of their sources; the nodes of a graph are known by what they do, not by their names; JSON is laid
out by key; everything else is compared line by line. What only another run changes is left out of the comparison
(`text.diff.normalise`), and what is a rank's own (`text.diff.own`); it is counted, and what is shown is the text as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tltui.analyses.compare.graph_keys import graph_text, line_keys, paired_inputs
from tltui.text.diff.diff import Change, changes
from tltui.text.diff.normalise import Rule, normalised, rules_of
from tltui.text.diff.own import NOBODY, Own, own_rules
from tltui.text.graphs import guard_tree
from tltui.trace.grammar import parse_json


@dataclass(frozen=True, slots=True)
class Side:
    """One of two texts, ready to be compared."""

    lines: tuple[str, ...]
    """What is shown."""
    keys: tuple[Hashable, ...]
    """What is compared, one for each line."""
    numbers: tuple[int, ...]
    """The line of the text as it is stored, from 1, for each line shown; 0 where it has none (laid-out JSON)."""
    hidden: int = 0
    """Things that were left out of the comparison."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two sides."""

    left: Side
    right: Side
    changes: tuple[Change, ...]
    owns: tuple[Own, Own] = (NOBODY, NOBODY)
    """What each side called its own."""

    @property
    def added(self) -> int:
        """Lines that only the right has."""
        return sum(c.b1 - c.b0 for c in self.changes if not c.same)

    @property
    def removed(self) -> int:
        """Lines that only the left has."""
        return sum(c.a1 - c.a0 for c in self.changes if not c.same)

    @property
    def same(self) -> bool:
        """Whether nothing changed but what was left out."""
        return all(change.same for change in self.changes)

    @property
    def hidden(self) -> int:
        """Lines that look different and count as equal."""
        pairs = ((a, b) for c in self.changes if c.same for a, b in zip(range(c.a0, c.a1), range(c.b0, c.b1), strict=True))
        return sum(self.left.lines[a] != self.right.lines[b] for a, b in pairs)


def difference(left: str, right: str, language: str, raw: bool = False, owns: tuple[Own, Own] = (NOBODY, NOBODY)) -> Difference:
    """Compare two texts of a language of `text.highlight.LANGUAGES`; `raw`: line by line, nothing left out. `owns`: what each
    side may call its own."""
    if raw:
        a, b = _plain(left), _plain(right)
    elif language == "fx":
        a, b = _graphs(left, right, owns)
    else:
        a, b = side_of(left, language, owns[0]), side_of(right, language, owns[1])
    return Difference(a, b, tuple(changes(a.keys, b.keys)), owns)


def side_of(text: str, language: str, own: Own) -> Side:
    """One side of a comparison, of a language that can be laid out without knowing the other one: any but graphs."""
    make = {"guards": _guards, "json": _json, "traceback": _traceback}.get(language, _lines)
    return make(text, own)


def _plain(text: str) -> Side:
    lines = tuple(text.split("\n"))
    return Side(lines, lines, tuple(range(1, len(lines) + 1)))


_SETTING = re.compile(r"torch\._\w+\.config\.[\w.]+ = |os\.environ\[")


def _lines(text: str, own: Own) -> Side:
    """Line by line; settings that follow one another (`fx_graph_runnable` writes a set) in the order of the alphabet."""
    lines = text.split("\n")
    order = list(range(len(lines)))
    first = 0
    for n in range(len(lines) + 1):
        if n == len(lines) or not _SETTING.match(lines[n]):
            if n - first > 1:
                order[first:n] = sorted(range(first, n), key=lines.__getitem__)
            first = n + 1
    shown = [lines[n] for n in order]
    keys, hidden = _normalised(shown, rules_for(text, own))
    return Side(tuple(shown), keys, tuple(n + 1 for n in order), hidden)


_FRAME = re.compile(r"^ *File \"[^\"]*/(?:torch|torch_[\w.]+|torchgen|importlib|lib/python3\.\d+)/[^\"]*\", line \d+")


def _traceback(text: str, own: Own) -> Side:
    """Frames of torch and of Python's own library that follow one another count as one line: their number is no difference."""
    lines = text.split("\n")
    shown: list[str] = []
    numbers: list[int] = []
    keys: list[str] = []
    rules = rules_for(text, own)
    hidden = 0
    inside = 0
    for number, line in enumerate(lines, 1):
        is_frame = line.lstrip().startswith("File ")
        inside = (2 if _FRAME.match(line) else 0) if is_frame else inside
        if inside and (is_frame or line.startswith("    ")):
            key = "‹framework›"
            hidden += 1
            if keys and keys[-1] == key:
                shown[-1] = f"  ⋯ frames of the framework up to line {number}"
                continue
            shown.append(line)
        else:
            inside = 0
            key, count = normalised(line, rules)
            hidden += count
            shown.append(line)
        keys.append(key)
        numbers.append(number)
    return Side(tuple(shown), tuple(keys), tuple(numbers), hidden)


def rules_for(text: str, own: Own) -> tuple[Rule, ...]:
    """What is left out of a whole text: what varies between runs, then what is its rank's own."""
    return (*rules_of(text), *own_rules(own, text))


def _normalised(lines: Sequence[str], rules: Sequence[Rule]) -> tuple[tuple[str, ...], int]:
    found = [normalised(line, rules) for line in lines]
    return tuple(line for line, _ in found), sum(count for _, count in found)


def _guards(text: str, own: Own) -> Side:
    """Guards in the order of their sources, each manager with what is below it; the user's line belongs to a guard's key."""
    lines = text.split("\n")
    tree = guard_tree.parse(lines)
    if not tree.nodes:
        return _lines(text, own)
    below: dict[int, list[int]] = {}
    for place, node in enumerate(tree.nodes):
        below.setdefault(node.parent, []).append(place)
    order: list[int] = []
    rules = rules_for(text, own)
    names = {place: normalised(_guard_name(node), rules)[0] for place, node in enumerate(tree.nodes)}

    def walk(parent: int) -> None:
        # what a manager checks itself stands before the managers below it
        for place in sorted(below.get(parent, ()), key=lambda n: (tree.nodes[n].is_manager, names[n])):
            order.append(place)
            walk(place)

    walk(-1)
    used = {node.line for node in tree.nodes}
    rest = [n for n, line in enumerate(lines) if n not in used and line.strip()]
    numbers = [tree.nodes[place].line for place in order] + rest
    shown = tuple(lines[n] for n in numbers)
    keys, hidden = _normalised([_guard_key(line) for line in shown], rules)
    return Side(shown, keys, tuple(n + 1 for n in numbers), hidden)


_ALIASES = re.compile(r"\+- (?:LAMBDA_GUARD|OBJECT_ALIASING): [^#\n]{1,2000} is (?!not |None)")
"""Two names for one thing: torch notes the line of one of them, and which one depends on the run."""


def _guard_key(line: str) -> str:
    """A guard without how it is aligned, where the frame keeps the variable, and in which line the code stands."""
    code, mark, comment = line.partition("  # ")
    code = re.sub(r"framelocals_idx=\d+", "framelocals_idx", code.rstrip())
    if mark and _ALIASES.search(code):
        return code
    return code + mark + re.sub(r":\d+ in ", ":‹line› in ", comment.strip()) if mark else code


def _guard_name(node: guard_tree.GuardNode) -> str:
    return f"{node.source or node.kind} {node.kind} {node.expression}"


def _graphs(left: str, right: str, owns: tuple[Own, Own]) -> tuple[Side, Side]:
    """Graphs by structure, where both are graphs."""
    a, b = graph_text(left), graph_text(right)
    if not (a.understood and b.understood):
        return _lines(left, owns[0]), _lines(right, owns[1])
    rules = rules_for(left, owns[0]), rules_for(right, owns[1])
    names = paired_inputs(a.graph, b.graph, rules)
    sides = []
    for own, mapping, its_rules in zip((a, b), names, rules, strict=True):
        keys, hidden = line_keys(own, mapping, its_rules)
        sides.append(Side(own.lines, keys, tuple(range(1, len(own.lines) + 1)), hidden))
    return sides[0], sides[1]


def _json(text: str, own: Own) -> Side:
    """One value a line, keys in order."""
    try:
        value = parse_json(text.encode("utf-8", "surrogatepass"), exact=True)
    except ValueError:
        return _lines(text, own)
    lines = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=repr).split("\n")
    keys, hidden = _normalised([line.rstrip(",") for line in lines], rules_for("\n".join(lines), own))
    return Side(tuple(lines), keys, (0,) * len(lines), hidden)
