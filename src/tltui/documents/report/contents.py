"""What a report may hold, and in which order it is looked at: what is worth most for its size first.

Nothing is built here but what says where to look: candidates have an address, and what they are worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tltui.documents.format import clip_middle
from tltui.documents.pages.listed import pages
from tltui.documents.report.equal import Equal, equal_compiles
from tltui.documents.report.worth import worth_of_artifact, worth_of_compiles
from tltui.documents.titles import called
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of
from tltui.model.nodes import Compile, Frame
from tltui.model.ref import NO_ID, BadAddress, Ref, at_line, parse_ref, split_line
from tltui.model.run import Run
from tltui.text.resume_names import short
from tltui.text.sanitize import sanitize
from tltui.trace.files import Gone

FIRST = ("summary", "problems")
NEVER = frozenset(("records", "output", "log"))
"""Pages that say again what is in the trace, or what the job printed."""
PAGES = {"guards": 0.5, "provenance": 0.45, "timing": 0.4, "layers": 0.2}
"""Pages about a compile that are candidates, and what they are worth of what it is."""
NAME = 60
"""Cells of the name of a function in titles."""
NO_COMPILE = 0.25
"""What records without a compile are worth: an export writes nothing else."""
RANK, RANKS = 0.5, 16
"""What the page of a rank is worth, and how many of them are candidates."""
LADDER = 0.95
"""What the page of a frame is worth of its best compile."""
OF_ONE_RANK = frozenset(("record", "records", "log", "timing", "metrics", "caches", "runtime", "stragglers", "damage", "passes"))
"""Pages that differ between ranks whose graphs, guards and code are the same: no other rank's page stands for one of them."""
METRICS = "compilation_metrics"
"""How names of artifacts end of which that is true too."""
LOOKED_AT = 3000
"""Compiles whose artifacts are candidates: more do not fit into any file that people send around."""


_OF_FUNCTION = re.compile(r"_(?:ORIGINAL|MODIFIED)_BYTECODE\Z")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be in the report."""

    ref: str
    """Its address."""
    worth: float
    owner: str = ""
    """The compile or frame that it is about, '' for the run."""
    name: str = ""
    """What it is called below its owner; '' for the overview of the owner."""
    kind: str = ""
    """Of an artifact what it is counted as."""
    place: int = 0
    """Among what is about its owner: the overview first, then pages, then artifacts in the order in which they were written."""
    bytes: int = 0
    """Stored bytes, as far as they are known before it is built."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What there is."""

    pages: tuple[Candidate, ...]
    """About the run, in the order in which they are shown."""
    below: tuple[Candidate, ...]
    """About compiles and frames, what is worth most first."""
    order: dict[str, int]
    """Address of a compile or frame → its place in the file."""
    equal: Equal
    worth: dict[str, float]
    """Address of a compile → what it is worth."""
    titles: dict[str, str]
    """Address of a compile or frame → `[0/1] forward`."""
    standing: dict[str, str]
    """Address of a compile or frame → that of what tells of it: of its equal on another rank, of the only compile of a frame."""
    kinds: dict[str, int]
    """What artifacts are counted as → how many there are in the run, equal ones of several ranks once."""


def contents_of(run: Run) -> Contents:
    """What a report of a run may hold."""
    equal = equal_compiles(run)
    worth = worth_of_compiles(equal.compiles)
    order: dict[str, int] = {}
    titles: dict[str, str] = {}
    below: list[Candidate] = []
    standing: dict[str, str] = {}
    ladders: dict[str, float] = {}
    for own in equal.compiles:
        ref, frame = str(own.ref), str(own.frame.ref)
        below += _rank_of(own, order, titles)
        if len(own.frame.compiles) > 1 and own.is_compile:
            order.setdefault(frame, len(order))
            titles.setdefault(frame, _title(own.frame))
            ladders[frame] = max(ladders.get(frame, 0.0), worth[ref])
        elif own.is_compile:
            standing[frame] = ref
        order[ref], titles[ref] = len(order), _title(own)
    below += [Candidate(ref, best * LADDER, ref) for ref, best in ladders.items() if ref not in equal.standing]
    nodes = {str(own.ref): own for own in equal.compiles}
    alone = len(worth) == 1
    for ref in list(worth)[:LOOKED_AT]:
        below += _of_compile(nodes[ref], worth[ref], alone)
    for own in nodes.values():
        if not own.is_compile:
            below += _of_compile(own, NO_COMPILE, True)
    below.sort(key=lambda one: -one.worth)
    for ref, other in equal.standing.items():
        standing[ref] = standing.get(other, other)
    if alone:
        standing |= {f"@{name}:{ref}": f"@{name}" for ref in worth for name in PAGES}
    return Contents(tuple(_pages(run)), tuple(below), order, equal, worth, titles, standing, _counted(equal.compiles))


def _title(node: Compile | Frame) -> str:
    name = (node.frame if isinstance(node, Compile) else node).code[0]
    if isinstance(node, Compile) and not node.is_compile and node.id == NO_ID:
        name = "records without a compile id"
    return f"{called(node)} {clip_middle(sanitize(short(name or '')), NAME)}".rstrip()


def _rank_of(compile_: Compile, order: dict[str, int], titles: dict[str, str]) -> Iterator[Candidate]:
    """The page of the rank of a compile, where there are several, when it is the first of it."""
    process = compile_.process
    ref = str(Ref(process.ref.rank))
    if process.ranks_differ and process.rank is not None and ref not in order and sum(own.endswith(":") for own in order) < RANKS:
        order[ref], titles[ref] = len(order), f"rank {process.rank}"
        yield Candidate(ref, RANK, ref)


def _pages(run: Run) -> Iterator[Candidate]:
    known = [page for page in pages(run) if page.title not in NEVER]
    for page in sorted(known, key=lambda page: FIRST.index(page.title) if page.title in FIRST else len(FIRST)):
        yield Candidate(page.ref, 1.0, name=page.title)


def _of_compile(compile_: Compile, worth: float, alone: bool) -> Iterator[Candidate]:
    """Its overview, its artifacts, and pages about it alone."""
    ref = str(compile_.ref)
    yield Candidate(ref, worth, ref)
    artifacts = artifacts_of(compile_)
    for place, artifact in enumerate(artifacts, 1 + len(PAGES)):
        size = artifact.log.columns.size[artifact.record]
        if is_here(artifact):
            own = worth * worth_of_artifact(artifact, size)
            yield Candidate(str(artifact.ref), own, ref, _name(artifact), _kind(artifact), place, size)
    if alone:  # the pages about the run are about it
        return
    has = {"provenance": any(artifact.name == OUTPUT_CODE for artifact in artifacts), "timing": compile_.tally.seconds > 0}
    has["layers"] = has["provenance"]
    has["guards"] = any(artifact.kind.language == "guards" for artifact in artifacts)
    for place, (name, share) in enumerate(PAGES.items(), 1):
        if has[name]:
            yield Candidate(str(compile_.ref.at(name)), worth * share, ref, name, place=place)


def _name(artifact: Artifact) -> str:
    return artifact.name if artifact.alone else f"{artifact.name} #{artifact.n}"


def is_here(artifact: Artifact) -> bool:
    """Whether its bytes can be read: those that a saved index tells of may be on another machine."""
    try:
        return artifact.is_metrics or artifact.payload is not None
    except (Gone, Elsewhere):
        return False


def _counted(compiles: Iterable[Compile]) -> dict[str, int]:
    """How many artifacts of each name there are. Counted by kinds of records: nothing is read."""
    found: dict[str, int] = {}
    for compile_ in compiles:
        for artifact in artifacts_of(compile_):
            kind = _kind(artifact)
            found[kind] = found.get(kind, 0) + 1
    return dict(sorted(found.items()))


def _kind(artifact: Artifact) -> str:
    """Its name; of bytecode, which is called after its function, what all of it ends in."""
    return f"*{match[0]}" if (match := _OF_FUNCTION.search(artifact.name)) else artifact.name


def stood_for(standing: Mapping[str, str], ref: str) -> str:
    """What a reader of a link has to know that leads to the equal of another rank; '' where it leads to what it names."""
    found = standing_for(standing, ref)
    if found == ref:
        return ""
    named, stands = parse_ref(split_line(ref)[0]), parse_ref(split_line(found)[0])
    if (named.rank, named.process) == (stands.rank, stands.process):
        return ""
    return f"[{_place(stands)}] stands here for [{_place(named)}]: its graphs, guards and code are the same"


def _place(ref: Ref) -> str:
    return str(replace(ref, view="", artifact=None, n=None))


def standing_for(standing: Mapping[str, str], ref: str) -> str:
    """The address of what tells of `ref`: of a compile that is equal to one of another rank the same place in that one."""
    if ref in standing:
        return standing[ref]
    if not standing or not (ref[:1].isalnum() or ref.startswith(("@", "+"))):
        return ref
    address, line = split_line(ref)
    try:
        own = parse_ref(address)
    except BadAddress:
        return ref
    stood = standing.get(str(replace(own, attempt=None, artifact=None, n=None, view="")))
    if stood is None or own.view in OF_ONE_RANK or (own.artifact or "").endswith(METRICS):
        return ref
    found = replace(parse_ref(stood), attempt=own.attempt, artifact=own.artifact, n=own.n, view=own.view)
    return str(found) if line is None else at_line(found, line)
