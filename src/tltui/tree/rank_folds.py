"""Folds of the ranks with the same outcomes, and the difference of the other ranks from the largest fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from tltui.documents.format import plural
from tltui.model.nodes import Compile, Rank
from tltui.model.ref import CompileId
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.text.torch_names import short
from tltui.tree.outline import Node, RankGroup

MANY_RANKS = 9
"""Ranks of a run from which the tree folds them: fewer fit below each other."""
MOST_COMPILES = 20_000
"""Compiles up to which ranks are folded: comparing them takes 12 µs each before the tree opens."""
LEAST_FOLDED = 3
"""Ranks with the same outcomes that are folded."""


class Outcome(NamedTuple):
    """A compile of a rank, as far as the tree compares ranks: no payload is read, so that thousands of ranks open at once."""

    name: str
    """Function name, '' without one."""
    line: int | None
    id: CompileId
    """The id as addresses have it: with its epoch where the process has several."""
    is_recompile: bool
    status: Status | None

    @property
    def label(self) -> str:
        """Return `[3/0] block3`."""
        return f"{self.id.bracketed} {short(self.name)}".rstrip()


Outcomes = tuple[Outcome, ...]


class RankFolds:
    """Nodes of ranks with folds among them. They are made again when a compile has changed."""

    def __init__(self) -> None:
        self._state: tuple[int, ...] = ()
        self._nodes: list[Node] = []
        self._members: dict[str, list[Node]] = {}
        self._fold_keys: dict[str, str] = {}

    def folded(self, run: Run, nodes: list[Node]) -> list[Node]:
        """Return the nodes of ranks, with a fold in place of those that are alike.

        While records may still come nothing is folded: the ranks of a running job differ for a moment all the time.
        """
        if not (len(nodes) >= MANY_RANKS and run.tally.compiles <= MOST_COMPILES and run.finished) or run.crowd is not None:
            self._state, self._members, self._fold_keys = (), {}, {}
            return nodes
        state = (len(nodes), *(process.stamp + process.naming.stamp for process in run.processes()))
        if state != self._state:
            self._state = state
            self._fold(nodes)
        return self._nodes

    def members(self, node: Node) -> list[Node]:
        """Return the nodes of the ranks in a fold."""
        return self._members.get(node.key, [])

    def fold_of(self, key: str) -> str | None:
        """Return the key of the fold that contains the node of a rank, None outside of folds."""
        return self._fold_keys.get(key)

    def _fold(self, nodes: Sequence[Node]) -> None:
        groups = groups_of([node.target for node in nodes if isinstance(node.target, Rank)])
        by_rank = {id(rank): group for group in groups for rank in group.ranks}
        self._nodes, self._members, self._fold_keys = [], {}, {}
        for node in nodes:
            group = by_rank.get(id(node.target))
            if group is None:
                self._nodes.append(node)
            elif len(group.ranks) < LEAST_FOLDED:
                self._nodes.append(replace(node, remark=group.remark))
            else:
                key = f"@fold\0{group.ranks[0].ref}"
                if key not in self._members:
                    self._nodes.append(Node(key, group, "@ranks", True))
                self._members.setdefault(key, []).append(node)
                self._fold_keys[node.key] = key


def groups_of(ranks: Sequence[Rank]) -> list[RankGroup]:
    """Return the groups of ranks with equal outcomes and without a difference in time, the largest first.

    The remark of a group is its difference from the largest one.
    """
    by_outcomes: dict[Outcomes, list[Rank]] = {}
    for rank in ranks:
        by_outcomes.setdefault(_outcomes(rank), []).append(rank)
    usual = max(by_outcomes, key=lambda outcomes: len(by_outcomes[outcomes]), default=())
    groups: list[RankGroup] = []
    for outcomes, members in by_outcomes.items():
        remark = "" if outcomes == usual else difference(outcomes, usual)
        for slow, alike in _by_slowness(outcomes, members).items():
            groups.append(RankGroup(tuple(alike), remark or slow))
    return sorted(groups, key=lambda group: -len(group.ranks))


def _outcomes(rank: Rank) -> Outcomes:
    """Return the compiles of a rank in the order of the tree."""
    outcomes: list[Outcome] = []
    for process in rank.processes:
        for frame in process.frames.values():
            (name, _, line), first = frame.code, frame.first_code
            for compile_ in frame.compiles:
                id_ = compile_.id
                outcomes.append(Outcome(name or "", line, process.named_id(id_), (id_.compile or 0) > first, compile_.status))
    return tuple(outcomes)


def _compiles(rank: Rank) -> Iterator[Compile]:
    return (compile_ for process in rank.processes for frame in process.frames.values() for compile_ in frame.compiles)


def _by_slowness(outcomes: Outcomes, ranks: Sequence[Rank]) -> dict[str, list[Rank]]:
    """Group ranks with equal outcomes by the compile in which they took much longer than the median."""
    from tltui.questions.ranks.pace import stands_out  # not before the first frame

    durations = [[compile_.duration_s or 0.0 for compile_ in _compiles(rank)] for rank in ranks]
    groups: dict[str, list[Rank]] = {}
    typical = [median(column) for column in zip(*durations, strict=True)] if len(ranks) >= LEAST_FOLDED else []
    for rank, row in zip(ranks, durations, strict=True):
        compared = enumerate(zip(row, typical, strict=False))
        over = [(took - usual, place) for place, (took, usual) in compared if stands_out(took, usual)]
        groups.setdefault(f"slow in {outcomes[max(over)[1]].label}" if over else "", []).append(rank)
    return groups


def difference(outcomes: Outcomes, usual: Outcomes) -> str:
    """Return the first difference from the usual outcomes: a status, a number of compiles, an order, an id."""
    by_place = dict(_numbered(usual))
    for key, outcome in _numbered(outcomes):
        other = by_place.get(key)
        if other is not None and other.status != outcome.status:
            return f"{outcome.label} {outcome.status or 'no outcome'}, elsewhere {other.status or 'no outcome'}"
    counts, usual_counts = (Counter(short(outcome.name) for outcome in each) for each in (outcomes, usual))
    for name in {**usual_counts, **counts}:
        if counts[name] != usual_counts[name]:
            return f"{name or 'no name'}: {plural(counts[name], 'compile')}, elsewhere {usual_counts[name]}"
    for outcome, other in zip(outcomes, usual, strict=False):
        if (outcome.name, outcome.line) != (other.name, other.line):
            return f"order: {outcome.label}, elsewhere {other.label}"
        if outcome != other:
            return f"{outcome.label}, elsewhere {other.label}"
    return ""


def _numbered(outcomes: Outcomes) -> list[tuple[tuple[str, int | None, int], Outcome]]:
    """Return (name, line, count of the function so far) and outcome of each compile."""
    counts: Counter[tuple[str, int | None]] = Counter()
    numbered = []
    for outcome in outcomes:
        code = (outcome.name, outcome.line)
        counts[code] += 1
        numbered.append(((*code, counts[code]), outcome))
    return numbered
