"""Contents of a report file: pages and artifacts by worth per byte, the listing of compiles, section ids, omissions."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from tltui.documents.format import clip_middle, plural
from tltui.documents.page import Page
from tltui.documents.rank_groups import said_ranks
from tltui.documents.scope import DOES, called, process_title
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of
from tltui.model.kind import Phase
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.ref import NO_ID, BadAddress, Ref, at_line, parse_ref, split_line
from tltui.model.run import Run
from tltui.model.status import TABLE, Status, glyph
from tltui.questions.index import BY_NAME
from tltui.questions.ranks.compile_facets import course_of
from tltui.questions.ranks.rank_course import steps_in
from tltui.questions.records.index_page import pages
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import formatting, tokens
from tltui.text.document import Options, Piece, TextDocument, piece_text, with_text
from tltui.text.formatting import cells
from tltui.text.frozen import frozen
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short
from tltui.trace.files import Gone
from tltui.tree.outline import Label, compile_node, frame_node, label


@frozen
class Equal:
    """Compiles of a run, with duplicates across ranks removed."""

    compiles: tuple[Compile, ...]
    """The first compile of each equal group, in tree order, including records without an id."""
    representatives: dict[str, str]
    """Address of a compile or frame → its representative; representatives themselves are not included."""
    refs: dict[str, tuple[str, ...]]
    """Address of a representative → its group, its own address first."""


def equal_compiles(run: Run) -> Equal:
    """Return the compiles of a run, grouped by equality across ranks.

    Compiles are equal (`ranks/rank_course.py`) if they differ in nothing but the rank: same code object, same compile number, same
    graphs, guards, code and outcome. A run with one process is not read for this.
    """
    processes = list(run.processes())
    if len(processes) < 2:
        return Equal(tuple(compile_ for process in processes for compile_ in _distinct_compiles(process, {})), {}, {})
    firsts: dict[Hashable, Compile] = {}
    members: dict[str, list[str]] = {}
    representatives: dict[str, str] = {}
    frames: dict[str, Frame] = {}
    for process in processes:
        steps = {step.id: step for step in course_of(process).steps}
        for compile_, _, _ in steps_in(process):
            step = steps.get(str(process.named_id(compile_.id)))
            if step is None:
                continue
            first = firsts.setdefault((step.code, step.number, step.status, step.facets), compile_)
            members.setdefault(str(first.ref), []).append(str(compile_.ref))
            if first is not compile_:
                representatives[str(compile_.ref)] = str(first.ref)
                frames.setdefault(str(compile_.frame.ref), first.frame)
    duplicates = {ref: frame for ref, frame in frames.items() if ref != str(frame.ref)}
    remaining = tuple(compile_ for process in processes for compile_ in _distinct_compiles(process, representatives))
    frame_refs = {str(compile_.frame.ref) for compile_ in remaining}
    representatives.update((ref, str(frame.ref)) for ref, frame in duplicates.items() if ref not in frame_refs)
    return Equal(remaining, representatives, {ref: tuple(group) for ref, group in members.items() if len(group) > 1})


def _distinct_compiles(process: Process, representatives: dict[str, str]) -> list[Compile]:
    """Return the compiles of a process without a representative, records without an id last; none if all are equal to others."""
    every = [compile_ for frame in process.frames.values() for compile_ in frame.compiles]
    every.sort(key=lambda compile_: compile_.id == NO_ID)
    unique = [compile_ for compile_ in every if str(compile_.ref) not in representatives]
    return unique if any(compile_.is_compile for compile_ in unique) or not any(compile_.is_compile for compile_ in every) else []


BY_STATUS = {
    Status.ERROR: 1.0, Status.EAGER: 0.9, Status.BREAK: 0.75, Status.UNFINISHED: 0.6, Status.RUNNING: 0.6, Status.EMPTY: 0.3,
}  # fmt: skip
RECOMPILE, RECOMPILED, SLOWEST, LEAST = 0.6, 0.55, 0.7, 0.1
"""Of a recompile; of the compile whose guards failed; of the slowest compile, others in proportion; of any compile."""
HALF, HALF_OF_STATUS = 8.0, 24.0
"""After so many others of one function, and of one status, a compile is worth half as much."""
WORTH_BY_NAME = {
    "dynamo_graph_break_reason": 1.0, "recompile_reasons": 1.0, "inductor_output_code": 0.85, "dynamo_output_graph": 0.9,
    "inductor_post_grad_graph": 0.7, "dynamo_cpp_guards_str": 0.6, "dynamo_guards": 0.55, "aot_forward_graph": 0.6,
    "aot_backward_graph": 0.6, "aot_inference_graph": 0.6, "aot_joint_graph": 0.5, "compiled_autograd_graph": 0.6,
    "inductor_pre_grad_graph": 0.4, "compilation_metrics": 0.35, "bwd_compilation_metrics": 0.2,
    "aot_autograd_backward_compilation_metrics": 0.2, "fx_graph_runnable": 0.1, "fx_graph_cache_hash": 0.05,
    "aotautograd_cache_hash": 0.05,
}  # fmt: skip
BY_PHASE = {
    Phase.EXPORT: 0.8, Phase.SYMBOLS: 0.4, Phase.DISTRIBUTED: 0.4, Phase.CACHE: 0.15, Phase.METRICS: 0.2, Phase.INPUTS: 0.3,
    Phase.TRACE: 0.05, Phase.OTHER: 0.2,
}  # fmt: skip
BY_LANGUAGE = {"fx": 0.35, "cpp": 0.4, "traceback": 1.0, "guards": 0.5, "bytecode": 0.1, "ir": 0.2, "output_code": 0.6}
OTHER = 0.25
LARGE = 400_000
"""Bytes that halve the worth of an artifact."""


def worth_of_compiles(compiles: Iterable[Compile]) -> dict[str, float]:
    """Return address → worth of the compile, in descending order."""
    everything = [compile_ for compile_ in compiles if compile_.is_compile]
    longest = max((compile_.compile_s for compile_ in everything), default=0.0) or 1.0
    plain = [(_alone(compile_, longest), compile_) for compile_ in everything]
    counts: Counter[Hashable] = Counter()
    worths: dict[str, float] = {}
    for worth, compile_ in sorted(plain, key=lambda pair: -pair[0]):
        kind, status = _kind_worth(compile_), (compile_.status, compile_.is_recompile)
        worths[str(compile_.ref)] = worth * HALF / (HALF + counts[kind]) * HALF_OF_STATUS / (HALF_OF_STATUS + counts[status])
        counts.update((kind, status))
    return dict(sorted(worths.items(), key=lambda pair: -pair[1]))


def _alone(compile_: Compile, longest: float) -> float:
    status = compile_.status
    worth = BY_STATUS.get(status, LEAST) if status is not None else LEAST
    if compile_.is_recompile:
        worth = max(worth, RECOMPILE)
    elif len(compile_.frame.compiles) > 1:
        worth = max(worth, RECOMPILED)
    return max(worth, SLOWEST * compile_.compile_s / longest) + LEAST * compile_.compile_s / longest


def _kind_worth(compile_: Compile) -> Hashable:
    """Return the group in which repeated compiles lose worth."""
    facts = compile_.facts
    return compile_.status, compile_.is_recompile, facts.fail_type, compile_.frame.code[:2]


def worth_of_artifact(artifact: Artifact, size: int) -> float:
    """Return the worth of an artifact relative to its compile. `size`: its bytes."""
    kind = artifact.kind
    worth = WORTH_BY_NAME.get(artifact.name)
    if worth is None:
        worth = BY_PHASE.get(kind.phase) or BY_LANGUAGE.get(kind.language, OTHER)
    return worth * LARGE / (LARGE + size)


FIRST = ("summary", "problems")
NEVER = frozenset(("records", "output", "log"))
"""Pages that repeat the trace or the job's output."""
PAGES = {"guards": 0.5, "provenance": 0.45, "timing": 0.4, "layers": 0.2}
"""Candidate pages about a compile, and their worth relative to it."""
NAME = 60
"""Maximum cells of a function name in titles."""
NO_COMPILE = 0.25
"""Worth of records without a compile: an export writes nothing else."""
RANK, RANKS = 0.5, 16
"""Worth of the page of a rank, and the maximum of such candidates."""
LADDER = 0.95
"""Worth of a frame's page relative to its best compile."""
OF_ONE_RANK = frozenset(("record", "records", "log", "timing", "metrics", "caches", "runtime", "stragglers", "damage", "passes"))
"""Pages that differ between ranks with equal graphs, guards and code, so that no other rank's page can replace them."""
METRICS = "compilation_metrics"
"""Suffix of artifact names for which the same holds."""
MAX_COMPILES = 3000
"""Maximum compiles whose artifacts are candidates: more do not fit into a file of reasonable size."""


_OF_FUNCTION = re.compile(r"_(?:ORIGINAL|MODIFIED)_BYTECODE\Z")


@frozen
class Candidate:
    """A possible section of the report."""

    ref: str
    """Its address."""
    worth: float
    owner: str = ""
    """Address of its compile or frame, '' for the run."""
    name: str = ""
    """Name below its owner; '' for the overview of the owner."""
    kind: str = ""
    """Category in which an artifact is counted."""
    place: int = 0
    """Sort position below its owner: the overview first, then pages, then artifacts in write order."""
    bytes: int = 0
    """Stored bytes, if known before it is built."""


@frozen
class Contents:
    """All candidates, with their order and worth."""

    pages: tuple[Candidate, ...]
    """Pages about the run, in display order."""
    below: tuple[Candidate, ...]
    """Candidates about compiles and frames, in descending worth."""
    order: dict[str, int]
    """Address of a compile or frame → its place in the file."""
    equal: Equal
    worth: dict[str, float]
    """Address of a compile → its worth."""
    titles: dict[str, str]
    """Address of a compile or frame → `[0/1] forward`."""
    representatives: dict[str, str]
    """Address of a compile or frame → its representative: its equal on another rank, or the only compile of a frame."""
    kinds: dict[str, int]
    """Category of artifacts → their number in the run, equal ones of several ranks once."""


def contents_of(run: Run) -> Contents:
    """Return the candidates for a report of a run."""
    equal = equal_compiles(run)
    worth = worth_of_compiles(equal.compiles)
    order: dict[str, int] = {}
    titles: dict[str, str] = {}
    below: list[Candidate] = []
    representatives: dict[str, str] = {}
    ladders: dict[str, float] = {}
    for compile_ in equal.compiles:
        ref, frame = str(compile_.ref), str(compile_.frame.ref)
        below += _rank_of(compile_, order, titles)
        if len(compile_.frame.compiles) > 1 and compile_.is_compile:
            order.setdefault(frame, len(order))
            titles.setdefault(frame, _title(compile_.frame))
            ladders[frame] = max(ladders.get(frame, 0.0), worth[ref])
        elif compile_.is_compile:
            representatives[frame] = ref
        order[ref], titles[ref] = len(order), _title(compile_)
    below += [Candidate(ref, best * LADDER, ref) for ref, best in ladders.items() if ref not in equal.representatives]
    nodes = {str(compile_.ref): compile_ for compile_ in equal.compiles}
    alone = len(worth) == 1
    for ref in list(worth)[:MAX_COMPILES]:
        below += _of_compile(nodes[ref], worth[ref], alone)
    for compile_ in nodes.values():
        if not compile_.is_compile:
            below += _of_compile(compile_, NO_COMPILE, True)
    below.sort(key=lambda one: -one.worth)
    for ref, other in equal.representatives.items():
        representatives[ref] = representatives.get(other, other)
    if alone:
        representatives |= {f"@{name}:{ref}": f"@{name}" for ref in worth for name in PAGES}
    return Contents(tuple(_pages(run)), tuple(below), order, equal, worth, titles, representatives, _counted(equal.compiles))


def _title(node: Compile | Frame) -> str:
    name = (node.frame if isinstance(node, Compile) else node).code[0]
    if isinstance(node, Compile) and not node.is_compile and node.id == NO_ID:
        name = "records without a compile id"
    return f"{called(node)} {clip_middle(sanitize(short(name or '')), NAME)}".rstrip()


def _rank_of(compile_: Compile, order: dict[str, int], titles: dict[str, str]) -> Iterator[Candidate]:
    """Yield the rank page of a compile, for the first compile of each of several ranks."""
    process = compile_.process
    ref = str(Ref(process.ref.rank))
    if process.ranks_differ and process.rank is not None and ref not in order and sum(text.endswith(":") for text in order) < RANKS:
        order[ref], titles[ref] = len(order), f"rank {process.rank}"
        yield Candidate(ref, RANK, ref)


def _pages(run: Run) -> Iterator[Candidate]:
    candidates = [page for page in pages(run) if page.title not in NEVER]
    for page in sorted(candidates, key=lambda page: FIRST.index(page.title) if page.title in FIRST else len(FIRST)):
        yield Candidate(page.ref, 1.0, name=page.title)


def _of_compile(compile_: Compile, worth: float, alone: bool) -> Iterator[Candidate]:
    """Yield the overview, artifacts and pages of a compile."""
    ref = str(compile_.ref)
    yield Candidate(ref, worth, ref)
    artifacts = artifacts_of(compile_)
    for place, artifact in enumerate(artifacts, 1 + len(PAGES)):
        size = artifact.log.columns.size[artifact.record]
        if is_readable(artifact):
            artifact_worth = worth * worth_of_artifact(artifact, size)
            yield Candidate(str(artifact.ref), artifact_worth, ref, _name(artifact), _kind(artifact), place, size)
    if alone:  # the pages about the run are about it
        return
    has = {"provenance": any(artifact.name == OUTPUT_CODE for artifact in artifacts), "timing": compile_.compile_s > 0}
    has["layers"] = has["provenance"]
    has["guards"] = any(artifact.kind.language == "guards" for artifact in artifacts)
    for place, (name, share) in enumerate(PAGES.items(), 1):
        if has[name]:
            yield Candidate(str(compile_.ref.at(name)), worth * share, ref, name, place=place)


def _name(artifact: Artifact) -> str:
    return artifact.name if artifact.alone else f"{artifact.name} #{artifact.n}"


def is_readable(artifact: Artifact) -> bool:
    """Return whether the bytes of an artifact are readable here; those in a saved index may be on another machine."""
    try:
        return artifact.is_metrics or artifact.payload is not None
    except (Gone, Elsewhere):
        return False


def _counted(compiles: Iterable[Compile]) -> dict[str, int]:
    """Count the artifacts of each name by kinds of records, without reading them."""
    counts: dict[str, int] = {}
    for compile_ in compiles:
        for artifact in artifacts_of(compile_):
            kind = _kind(artifact)
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def _kind(artifact: Artifact) -> str:
    """Return the name of an artifact; for bytecode, which is named after its function, the common suffix."""
    return f"*{match[0]}" if (match := _OF_FUNCTION.search(artifact.name)) else artifact.name


def representative_note(representatives: Mapping[str, str], ref: str) -> str:
    """Return the note of a link that leads to an equal on another rank; '' for a direct link."""
    target = representative_of(representatives, ref)
    if target == ref:
        return ""
    linked, shown = parse_ref(split_line(ref)[0]), parse_ref(split_line(target)[0])
    if (linked.rank, linked.process) == (shown.rank, shown.process):
        return ""
    return f"[{_place(shown)}] is shown in place of [{_place(linked)}]: its graphs, guards and code are the same"


def _place(ref: Ref) -> str:
    return str(replace(ref, view="", artifact=None, n=None))


def representative_of(representatives: Mapping[str, str], ref: str) -> str:
    """Return the address that represents `ref`: the same place in the equal compile of another rank."""
    if ref in representatives:
        return representatives[ref]
    if not representatives or not (ref[:1].isalnum() or ref.startswith(("@", "+"))):
        return ref
    address, line = split_line(ref)
    try:
        parsed = parse_ref(address)
    except BadAddress:
        return ref
    equal = representatives.get(str(replace(parsed, attempt=None, artifact=None, n=None, view="")))
    if equal is None or parsed.view in OF_ONE_RANK or (parsed.artifact or "").endswith(METRICS):
        return ref
    target = replace(parse_ref(equal), attempt=parsed.attempt, artifact=parsed.artifact, n=parsed.n, view=parsed.view)
    return str(target) if line is None else at_line(target, line)


_OTHER = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 60


class Ids:
    """Unique HTML ids of addresses.

    >>> ids = Ids()
    >>> ids.of("0:0/1"), ids.of("0:0/1:dynamo_output_graph#2"), ids.of("@problems"), ids.of("0:0-1")
    ('at-0-0-1', 'at-0-0-1-dynamo-output-graph-2', 'problems', 'at-0-0-1-x2')
    """

    def __init__(self) -> None:
        self._id_of: dict[str, str] = {}
        self._used: set[str] = set()

    def of(self, ref: str) -> str:
        """Return the id of an address."""
        id_ = self._id_of.get(ref)
        if id_ is None:
            id_ = self._id_of[ref] = self._free(ref)
        return id_

    def _free(self, ref: str) -> str:
        words = _OTHER.sub("-", ref)[:_LONGEST].strip("-").lower() or "run"
        name = words if ref.startswith("@") and words[0].isalpha() else f"at-{words}"
        number, free = 1, name
        while free in self._used:
            number += 1
            free = f"{name}-x{number}"
        self._used.add(free)
        return free


ALWAYS = frozenset(("summary", "problems", "damage"))
"""Pages that are informative even if empty: nothing failed, nothing is damaged."""
_DEEP = 3


def has_findings(name: str, result: object) -> bool:
    """Return whether the page `name` has findings: whether any collection in its result has a member.

    Sentences about the absence of findings do not count; a matrix needs two ranks.
    """
    if name == "matrix" and getattr(result, "rank_count", 0) < 2:
        return False
    return name in ALWAYS or _has_any(result, _DEEP)


def _has_any(value: object, deep: int) -> bool:
    if isinstance(value, str) or not deep:
        return False
    if dataclasses.is_dataclass(value):
        return any(_has_any(getattr(value, field.name), deep - 1) for field in dataclasses.fields(value))
    if isinstance(value, dict):
        return any(_has_any(item, deep - 1) for item in value.values())
    return isinstance(value, Collection) and len(value) > 0


COMMANDS = frozenset(("damage", "records", "log", "source", "grep"))
"""Pages besides the views with a shell command."""


def command_for(target: str) -> str:
    """Return the command that prints a target, PATH being the trace.

    A place in the user's source is returned itself; '' for a target without a page.
    """
    if target.startswith("file:"):
        return sanitize(target.removeprefix("file:"))
    if target.startswith((DOES, "line:")):
        return ""
    ref, _ = split_line(target)
    try:
        parsed = parse_ref(ref)
    except BadAddress:
        return ""
    about = ref.partition(":")[2]
    if parsed.n is None and (parsed.view in BY_NAME or parsed.view in COMMANDS):
        return f"tltui {parsed.view} PATH{' ' + quoted(about) if about else ''}"
    return f"tltui show PATH{' ' + quoted(ref) if ref else ''}"


OMITTED_REF = "@left-out"
NAMES = 100
"""Maximum artifact names with a line."""


@frozen
class Cut:
    """A truncated section."""

    ref: str
    title: str
    lines: int
    of: int
    command: str
    """The command that prints all of it."""


@frozen
class Omissions:
    """Inclusions and omissions of a report."""

    compiles: tuple[int, int]
    """Compiles with a section of their own, and their total."""
    kinds: Mapping[str, tuple[int, int]]
    """Name of an artifact → its count in the file and in the run."""
    cut: Sequence[Cut]
    silent: Sequence[tuple[str, str]]
    """Pages without findings, and their first sentence."""
    missing: Sequence[tuple[str, str]]
    """Pages left out of this file, and the command that prints each."""


def omissions_document(omissions: Omissions, path: str, options: Options) -> TextDocument:
    """Return the page of omissions."""
    page = Page(OMITTED_REF, "contents not in this file", options)
    page.say("This file has the most important parts: failures, graph breaks, recompilations and slow compiles, with their "
             "code. The rest is in the trace; these commands print it:")  # fmt: skip
    path_means = f"the path of the trace: {path}" if path else "the path of the trace before it was redacted."
    page.say(f"In these commands, PATH is {path_means}", "  ", tokens.DIM)
    if omissions.missing:
        page.heading("Pages left out of this file")
        page.grid([[(name, tokens.VALUE), (command, tokens.DIM)] for name, command in omissions.missing])
    if omissions.cut:
        page.heading("Pages cut after their first lines")
        rows: list[list[Piece]] = [
            [(cut.title, tokens.LINK, cut.ref), f"{cut.lines:,} of {plural(cut.of, 'line')}", (cut.command, tokens.DIM)]
            for cut in omissions.cut
        ]
        page.grid(rows)
    _kinds(page, omissions)
    page.heading("Never in a report")
    page.grid([
        ["all records, including timing events", ("tltui records PATH", tokens.DIM)],
        ["the timeline for ui.perfetto.dev", ("tltui timing PATH --perfetto FILE", tokens.DIM)],
        ["everything as JSON", ("tltui ls PATH --json", tokens.DIM)],
        ["payloads as files, byte for byte", ("tltui extract PATH -o DIR", tokens.DIM)],
        ["the differences between compiles", ("tltui diff PATH 0/0 0/1", tokens.DIM)],
        ["a graph as a runnable script", ("tltui repro PATH 0/0 -o FILE", tokens.DIM)],
    ])  # fmt: skip
    if omissions.silent:
        page.heading("Pages without data for this run")
        for name, sentence in omissions.silent:
            page.labelled(name, sentence, gap=max(len(name) for name, _ in omissions.silent) + 2)
    return page.document()


def _kinds(page: Page, omissions: Omissions) -> None:
    rows: list[list[Piece]] = []
    here, total = omissions.compiles
    if here < total:
        rows.append(["summaries of compiles", f"{here:,} of {total:,}"])
    short = [(name, count, of) for name, (count, of) in omissions.kinds.items() if count < of]
    rows += [[(name, tokens.NAME), f"{count:,} of {of:,}"] for name, count, of in short[:NAMES]]
    if rows:
        page.heading("Partly included")
        page.say("Equal artifacts of several ranks count once. tltui show PATH 0/0:NAME prints one, tltui show PATH 0/0 a summary.",
                 "  ", tokens.DIM)  # fmt: skip
        page.grid(rows, right=(1,))
    if len(short) > NAMES:
        page.say(f"… artifacts of {len(short) - NAMES:,} more names: tltui ls PATH --json", "  ", tokens.DIM)


REF = "@compiles"
"""Address of the list of compiles in a report."""


def compiles_document(run: Run, equal: Equal, worth: Mapping[str, float], shown: int, options: Options) -> TextDocument:
    """Return a line for each of at most `shown` compiles, the most valuable ones, and the number of the others."""
    page = Page(REF, "compiles", options)
    ordered = [ref for ref in worth if ref not in equal.representatives]
    listed = frozenset(ordered[:shown])
    omitted = len(ordered) - len(listed)
    alike = sum(len(ref) - 1 for ref in equal.refs.values())
    page.add((plural(len(ordered) + alike, "compile"), tokens.STRONG))
    if alike:
        are = "is" if alike == 1 else "are"
        page.say(f"{plural(alike, 'compile')} of other ranks {are} omitted: same as a listed one.", "", tokens.DIM)
    if omitted:
        page.say(f"Most important compiles first; {plural(omitted, 'more compile')}: tltui ls PATH", "", tokens.DIM)
    several = len(list(run.processes())) > 1
    for process, ref in groupby(equal.compiles, key=lambda compile_: compile_.process):
        compiles = [compile_ for compile_ in ref if not compile_.is_compile or str(compile_.ref) in listed]
        if any(compile_.is_compile for compile_ in compiles):
            _process(page, process, compiles, equal, several)
    page.blank()
    used = {compile_.status for compile_ in equal.compiles}
    for status, row in TABLE.items():
        if status in used:
            page.say(f"{glyph(status, options.ascii)} {row.meaning}", "", tokens.DIM, hang="  ")
    return page.document()


def _process(page: Page, process: Process, compiles: list[Compile], equal: Equal, several: bool) -> None:
    page.blank()
    indent = ""
    if several:
        title = process_title(process) if not process.alone or process.rank is None else f"rank {process.rank}"
        page.add((title, tokens.HEADING))
        indent = "  "
    for frame, group in groupby(compiles, key=lambda compile_: compile_.frame):
        members = list(group)
        deeper = indent
        if len(frame.compiles) > 1 and members[0].is_compile:
            _row(page, label(frame_node(frame), page.ascii, display_name), indent, frame, "")
            deeper = f"{indent}  "
        for compile_ in members:
            ref = str(compile_.ref)
            ranks = said_ranks(equal.refs.get(ref, ()), page.newest)
            _row(page, label(compile_node(compile_), page.ascii, display_name), deeper, compile_, ranks)


def _row(page: Page, shown: Label, indent: str, node: Frame | Compile, ranks: str) -> None:
    """Add a row of the tree; the name of its node is a link."""
    ref, name = str(node.ref), str(node.key.frame) if isinstance(node, Frame) else node.label
    pieces: list[Piece] = [indent]
    for piece in shown.left:
        text = piece_text(piece)
        pieces.append((text, tokens.LINK, ref) if text.strip() == name or text.strip().startswith(f"{name}~") else piece)
    if ranks:
        pieces.append((f"  {ranks}", tokens.DIM))
    room = page.width - sum(cells(piece_text(piece)) for piece in shown.right) - 1
    row: list[Piece] = []
    for piece in (*pieces, *shown.detail):
        text = formatting.piece(piece_text(piece), room)
        room -= cells(text)
        row.append(with_text(piece, text))
        if room <= 0:
            break
    page.add(*row, " " * (room + 1), *shown.right)
