"""Parser of the fusion messages of Inductor's scheduler (TORCH_LOGS=fusion)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.scheduler_ir import is_node, members_of

LINES = 20_000
"""Characters of one record that are looked at for origins."""
_ROUND = re.compile(r"^===== attempting fusion \((\d{1,9})/\d+\): (\d{1,9}) nodes =====")
_CANDIDATE = re.compile(r"^\s*(\w+)\((?:name='|nodes=)(\w+)'?\)")
_INNER = re.compile(r"(\w+)\(name=\\*'(\w+)\\*'\)(?:, (\w+)\()?")
_ORIGINS = re.compile(r"origins=\w+\(\[?\{?([^\](){}\[]*)")
_PLACE = re.compile(r'File \\*"([^"\\]{1,1000})\\*", line (\d{1,9}), in ')
_CANNOT = re.compile(r"^cannot fuse (\S+) with (\S+): (.*)$", re.DOTALL)
_FUSING = re.compile(r"^fusing (\S+) with (\S+)\s*$")
_FOUND = re.compile(r"^found (\d{1,9}) possible fusions")
_DONE = re.compile(r"^completed fusion round \((\d{1,9})/\d+\): fused (\d{1,9}) nodes into (\d{1,9}) nodes")
_COMPLETE = re.compile(r"^===== fusion complete \((\d{1,9}) iterations\) =====")
_MEASURED = re.compile(r"(can|cannot) fuse \(benchmark\): fusing (?:(.*) with (.*) cause|causes) (\S+)x (speedup|slowdown)")
_BEGINNINGS = ("=====", "cannot fuse ", "can fuse ", "fusing ", "found ", "completed fusion", "fuse_nodes_once")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_QUOTED = re.compile(r"'(\w+)'")


@frozen
class Candidate:
    """A node before fusion, as the first round lists it."""

    name: str
    kind: str
    does: str = ""
    """Pointwise, Reduction, …; '' for external nodes."""
    origins: tuple[str, ...] = ()
    """Nodes of the post-grad graph that it computes."""
    place: tuple[str, int] = ("", 0)
    """File and line of the first stack that is named, ("", 0) without one."""


@frozen
class Refusal:
    """A pair of nodes that was not fused. `times` counts the rounds with the refusal."""

    first: str
    second: str
    reason: str
    times: int = 1


@frozen
class Measured:
    """Two nodes that were fused or not after both ways were timed. Buffers are named, not nodes."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    is_fused: bool
    factor: str


@frozen
class FusionRun:
    """The fusion of one graph."""

    candidates: tuple[Candidate, ...]
    fused: tuple[tuple[str, str], ...]
    """Names of the two nodes, in the order in which they were fused."""
    refused: tuple[Refusal, ...]
    """Each two nodes with one reason once."""
    measured: tuple[Measured, ...]
    rounds: tuple[tuple[int, int], ...]
    """Of each round the nodes before and after it."""
    is_complete: bool
    """Whether the log says that it came to its end."""
    announced: int
    """Nodes before the first round, as it says."""
    first: int
    last: int
    """The first and the last record of it, as numbers in what was given."""

    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Return the nodes after fusion, each as its original nodes, in the order in which these are listed."""
        place: dict[str, int] = {}
        group: dict[str, list[str]] = {}
        fusions = [*((candidate.name, candidate.name) for candidate in self.candidates), *self.fused]
        for pair in fusions:
            names = (*members_of(pair[0]), *members_of(pair[1]))
            for name in names:
                if name not in place:
                    place[name] = len(place)
                    group[name] = [name]
                _join(group, group[names[0]], group[name])
        different = {id(members): members for members in group.values()}.values()
        ordered = (tuple(sorted(members, key=place.__getitem__)) for members in different)
        return tuple(sorted(ordered, key=lambda members: place[members[0]]))


def _join(group: dict[str, list[str]], first: list[str], other: list[str]) -> None:
    """Make two groups one: the smaller is taken into the larger."""
    if first is not other:
        small, large = sorted((first, other), key=len)
        large += small
        group.update(dict.fromkeys(small, large))


@mutable
class _Open:
    """A graph whose fusion is being read."""

    first: int
    announced: int = 0
    last: int = 0
    listing: bool = False
    candidates: dict[str, Candidate] = field(default_factory=dict)
    fused: list[tuple[str, str]] = field(default_factory=list)
    refused: dict[tuple[str, str, str], int] = field(default_factory=dict)
    measured: list[Measured] = field(default_factory=list)
    rounds: list[tuple[int, int]] = field(default_factory=list)
    complete: bool = False


def parse(records: Iterable[str]) -> tuple[FusionRun, ...]:
    """Parse the graphs in the records of one compile, in their order.

    A record may hold several lines; unknown lines are skipped. Records before a round 1 that are cut off at their beginning are a
    graph too.
    """
    graphs: list[_Open] = []
    statements = ((number, text) for number, record in enumerate(records) for text in _statements(record))
    for number, text in statements:
        begins = _ROUND.match(text)
        if begins is not None and (begins[1] == "1" or not graphs):
            graphs.append(_Open(number, int(begins[2])))
            graphs[-1].listing = begins[1] == "1"
        elif begins is None and not graphs and _is_decision(text):
            graphs.append(_Open(number))
        if graphs:
            graphs[-1].last = number
            _record(graphs[-1], text)
    return tuple(map(_frozen, graphs))


def _statements(record: str) -> list[str]:
    """Split a record into statements: one, except for two interleaved records."""
    record = _COLOUR.sub("", record) if "\x1b" in record else record
    if "\n" not in record:
        return [record]
    statements: list[str] = []
    for line in record.split("\n"):
        if not statements or line.startswith(_BEGINNINGS) or _CANDIDATE.match(line):
            statements.append(line)
        else:
            statements[-1] += f"\n{line}"
    return statements


def _is_decision(text: str) -> bool:
    return any(pattern.match(text) for pattern in (_CANNOT, _FUSING, _DONE, _FOUND))


def _record(run: _Open, text: str) -> None:
    if match := _CANNOT.match(text):
        key = match[1], match[2], match[3].strip()
        run.refused[key] = run.refused.get(key, 0) + 1
    elif match := _FUSING.match(text):
        run.fused.append((match[1], match[2]))
        run.listing = False
    elif match := _DONE.match(text):
        run.rounds.append((int(match[2]), int(match[3])))
        run.listing = False
    elif _FOUND.match(text):
        run.listing = False
    elif _COMPLETE.match(text):
        run.complete = True
    elif match := _MEASURED.match(text):
        first, second = (tuple(_QUOTED.findall(part or "")) for part in (match[2], match[3]))
        run.measured.append(Measured(first, second, match[1] == "can", match[4]))
    elif run.listing and (match := _CANDIDATE.match(text)) and is_node(match[2]):
        for candidate in _candidates(match[1], match[2], text[:LINES]):
            run.candidates.setdefault(candidate.name, candidate)


def _candidates(kind: str, name: str, text: str) -> list[Candidate]:
    """Return the node of a line; for one that is fused already (foreach) its members."""
    inner = list(_INNER.finditer(text))
    if not inner:
        return [Candidate(member, kind) for member in members_of(name)]
    candidates = []
    for n, node in enumerate(inner):
        stop = inner[n + 1].start() if n + 1 < len(inner) else len(text)
        origins, place = _ORIGINS.search(text, node.end(), stop), _PLACE.search(text, node.end(), stop)
        names = tuple(part for item in (origins[1] if origins else "").split(",") if (part := item.strip()))
        at = (place[1], int(place[2])) if place else ("", 0)
        candidates.append(Candidate(node[2], node[1], node[3] or "", names, at))
    candidate_names = {candidate.name for candidate in candidates}
    return [*candidates, *(Candidate(member, kind) for member in members_of(name) if member not in candidate_names)]


def _frozen(run: _Open) -> FusionRun:
    refused = (Refusal(*key, times) for key, times in run.refused.items())
    return FusionRun(
        tuple(run.candidates.values()), tuple(run.fused), tuple(refused), tuple(run.measured), tuple(run.rounds), run.complete,
        run.announced, run.first, run.last,
    )  # fmt: skip
