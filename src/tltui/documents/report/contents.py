"""What a report may hold, and in which order it is looked at: what is worth most for its size first.

Nothing is built here but what says where to look: candidates have an address, and what they are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tltui.documents.pages.listed import pages
from tltui.documents.report.equal import Equal, equal_compiles
from tltui.documents.report.worth import worth_of_artifact, worth_of_compiles
from tltui.documents.titles import called
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of
from tltui.model.nodes import Compile, Frame
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.trace.files import Gone

FIRST = ("summary", "problems")
NEVER = frozenset(("records", "output", "log"))
"""Pages that say again what is in the trace, or what the job printed."""
PAGES = {"guards": 0.5, "provenance": 0.45}
"""Pages about a compile that are candidates, and what they are worth of what it is."""
LADDER = 0.95
"""What the page of a frame is worth of its best compile."""
LOOKED_AT = 3000
"""Compiles whose artifacts are candidates: more do not fit into any file that people send around."""


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
    kinds: dict[str, int]
    """Name of an artifact → how many there are in the run, equal ones of several ranks once."""


def contents_of(run: Run) -> Contents:
    """What a report of a run may hold."""
    equal = equal_compiles(run)
    worth = worth_of_compiles(equal.compiles)
    order: dict[str, int] = {}
    titles: dict[str, str] = {}
    nodes = {str(own.ref): own for own in equal.compiles}
    ladders: dict[str, tuple[float, Frame]] = {}
    for own in equal.compiles:
        if len(own.frame.compiles) > 1 and own.is_compile:
            ref = str(own.frame.ref)
            order.setdefault(ref, len(order))
            titles.setdefault(ref, f"{called(own.frame)} {own.frame.code[0] or ''}".rstrip())
            ladders[ref] = max(ladders.get(ref, (0.0, own.frame)), (worth[str(own.ref)], own.frame), key=lambda pair: pair[0])
        order[str(own.ref)] = len(order)
        titles[str(own.ref)] = f"{called(own)} {own.frame.code[0] or ''}".rstrip()
    below = [Candidate(ref, best * LADDER, ref) for ref, (best, _) in ladders.items() if ref not in equal.standing]
    for ref in list(worth)[:LOOKED_AT]:
        below += _of_compile(nodes[ref], worth[ref])
    below += [Candidate(ref, 0.05, ref) for ref, own in nodes.items() if not own.is_compile]
    below.sort(key=lambda one: -one.worth)
    return Contents(tuple(_pages(run)), tuple(below), order, equal, worth, titles, _counted(equal.compiles))


def _pages(run: Run) -> Iterator[Candidate]:
    known = [page for page in pages(run) if page.title not in NEVER]
    for page in sorted(known, key=lambda page: FIRST.index(page.title) if page.title in FIRST else len(FIRST)):
        yield Candidate(page.ref, 1.0, name=page.title)


def _of_compile(compile_: Compile, worth: float) -> Iterator[Candidate]:
    """Its overview, its artifacts, and pages about it alone."""
    ref = str(compile_.ref)
    yield Candidate(ref, worth, ref)
    artifacts = artifacts_of(compile_)
    for artifact in artifacts:
        size = artifact.log.columns.size[artifact.record]
        if is_here(artifact):
            yield Candidate(str(artifact.ref), worth * worth_of_artifact(artifact, size), ref, _name(artifact), size)
    if any(artifact.name == OUTPUT_CODE for artifact in artifacts):
        yield Candidate(str(compile_.ref.at("provenance")), worth * PAGES["provenance"], ref, "provenance")
    if any(artifact.kind.language == "guards" for artifact in artifacts):
        yield Candidate(str(compile_.ref.at("guards")), worth * PAGES["guards"], ref, "guards")


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
            found[artifact.name] = found.get(artifact.name, 0) + 1
    return dict(sorted(found.items()))


def standing_for(equal: Equal, ref: str) -> str:
    """The address of what tells of `ref`: of a compile that is equal to one of another rank the same place in that one."""
    if not equal.standing:
        return ref
    try:
        own = parse_ref(ref)
    except BadAddress:
        return ref
    stood = equal.standing.get(str(replace(own, attempt=None, artifact=None, n=None, view="")))
    if stood is None:
        return ref
    return str(replace(parse_ref(stood), attempt=own.attempt, artifact=own.artifact, n=own.n, view=own.view))
