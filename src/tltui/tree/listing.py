"""Output of `tltui ls`, as text and JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import TypedDict

from tltui.documents.format import plural, wrap
from tltui.documents.scope import stands_for
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import NORANK, Ref
from tltui.model.run import Run
from tltui.model.status import TABLE, Facts, glyph, tlparse_status
from tltui.model.torch_version import torch_version
from tltui.questions.runtime.costs import Costs, costs_of
from tltui.questions.stacks.tracebacks import display_code, display_name
from tltui.text import formatting, tokens
from tltui.text.document import Builder, Options, Piece, TextDocument, piece_text, with_text
from tltui.text.formatting import cells
from tltui.text.frozen import frozen
from tltui.text.torch_names import ASCII_MARK, MARK, RESUMED
from tltui.trace.log import Check
from tltui.tree.outline import Node, children, label, root

RUN = Ref()
"""The part that is the whole run."""


def listing_document(run: Run, options: Options, part: Ref = RUN) -> TextDocument:
    """Return the tree down to the compiles, restricted to the rank and the frame of `part`."""
    builder = Builder("", run.title, options)
    if about := stands_for(run):
        for line in wrap(about, max(options.width, 20)):
            builder.add((line, tokens.DIM))
    _lines(builder, root(run), 0, options, costs_of(run), part)
    builder.blank()
    used = {compile_.status for compile_ in run.compiles() if _is_in(compile_, part)}
    for status, row in TABLE.items():
        if status in used:
            for n, line in enumerate(wrap(row.meaning, max(options.width - 2, 20))):
                builder.add((f"{' ' if n else glyph(status, options.ascii)} {line}", tokens.DIM))
    mark = ASCII_MARK if options.ascii else MARK
    if any(re.search(rf"\w {mark}\d", line.text) for line in builder.growing().lines):
        builder.add((RESUMED.replace(MARK, mark), tokens.DIM))
    if run.damaged:
        builder.add((plural(run.damaged, "damaged record"), tokens.WARN), f": tltui damage {options.path}")
    for path, _ in run.tails:
        builder.add((f"incomplete record at the end of {path}: {run.goes_on}", tokens.DIM))
    for path, reason in run.lost:
        builder.add((f"{path}: the part read before is {reason}", tokens.WARN))
    for skipped in run.discovered.skipped:
        builder.add((f"not opened: {skipped.path}: {skipped.reason}", tokens.WARN))
    return builder.document()


def _is_in(target: object, part: Ref) -> bool:
    """Return whether a node of the tree belongs to a rank and a frame."""
    if isinstance(target, Rank):
        return part.rank in (None, NORANK if target.number is None else target.number)
    if isinstance(target, Process):
        return part.rank in (None, NORANK if target.rank is None else target.rank)
    if isinstance(target, (Frame, Compile)):
        key = target.key if isinstance(target, Frame) else target.id
        return _is_in(target.process, part) and (part.id is None or part.id.frame == key.frame)
    return True


def _lines(builder: Builder, node: Node, depth: int, options: Options, costs: Costs | None, part: Ref) -> None:
    shown = label(node, options.ascii, display_name, costs)
    pieces_left: list[Piece] = ["  " * depth, *shown.left, *shown.detail]
    width = options.width - sum(cells(piece_text(piece)) for piece in shown.right) - 1
    builder.add(*_fitted(pieces_left, width), *shown.right)
    if isinstance(node.target, Compile):
        return
    for child in children(node):
        if _is_in(child.target, part):
            _lines(builder, child, depth + 1, options, costs, part)


def _fitted(pieces: list[Piece], width: int) -> Iterator[Piece]:
    """Yield the pieces, cut or padded to `width` columns."""
    remaining = width
    for piece in pieces:
        text = formatting.piece(piece_text(piece), remaining)
        remaining -= cells(text)
        yield with_text(piece, text)
        if remaining <= 0:
            break
    yield " " * (remaining + 1)


@frozen
class FrameRow:
    """The code object of a compile."""

    name: str | None
    file: str | None
    line: int | None


class ArtifactRow(TypedDict):
    """An artifact."""

    ref: str
    """Its address."""
    name: str
    unit: str | None
    """The lowering that it belongs to."""
    attempt: int
    stored_bytes: int
    """Bytes in the log, tabs included; 0 for metrics."""
    md5: str | None
    """The md5 that torch logged."""


class CheckedRow(ArtifactRow, total=False):
    """An artifact; with `--check` what its payload is."""

    size_bytes: int
    line_count: int
    md5_ok: bool | None
    """Whether the payload has the md5; null where none was declared."""


class CompileRow(TypedDict):
    """A compile, or the records without a compile id."""

    id: str
    """`[0/1]`; `[-/-]`: records without an id."""
    ref: str
    """Its address, as every command takes it."""
    epoch: int | None
    """How often ids had begun again (`torch._dynamo.reset()`), from 1; null for records without an id."""
    status: str | None
    tlparse_status: str | None
    """What tlparse shows; null where it lists nothing."""
    frame: FrameRow | None
    """The code object; null where the log does not name it."""
    duration_s: float | None
    """Forward and backward compile."""
    attempts: list[int]
    facts: Facts
    artifacts: list[CheckedRow]
    """In record order."""


class ProcessRow(TypedDict):
    """A process of a rank."""

    pid: int
    file: str
    started_at: str | None
    """UTC."""
    torch_version: str | None
    damaged_records: int
    """Damaged records (`tltui damage` lists them)."""
    compiles: list[CompileRow]
    """In the order of their first records."""


class UnreadRow(TypedDict, total=False):
    """What a rank has that stands for others."""

    unread_ranks: list[int]
    """Ranks that did the same, as their saved indexes say, and were not read."""


class RankRow(UnreadRow):
    """A rank."""

    rank: int | None
    """null: no record and no name tells one."""
    processes: list[ProcessRow]
    """Newest last."""


class SkippedRow(TypedDict):
    """A file that was not opened."""

    path: str
    reason: str


class Listing(TypedDict):
    """Everything that there is."""

    path: str | list[str]
    """As given."""
    ranks: list[RankRow]
    skipped: list[SkippedRow]


def listing_data(run: Run, check: bool = False, part: Ref = RUN) -> Listing:
    """Return the JSON of `ls --json`: documented in docs/json.md, stable within a schema number.

    With `check` every payload is read: sizes and lines as torch wrote them, and whether the md5 matches. `part` restricts it to a
    rank and a frame.
    """
    damaged = _damaged(run)
    ranks: list[RankRow] = []
    for rank in (rank for rank in run.ranks if _is_in(rank, part)):
        processes = [_process(process, damaged[process], check, part) for process in rank.processes]
        row: RankRow = {"rank": rank.number, "processes": processes}
        if rank.unread:
            row["unread_ranks"] = list(rank.unread)
        ranks.append(row)
    return {
        "path": list(run.discovered.paths) if len(run.discovered.paths) != 1 else run.discovered.paths[0],
        "ranks": ranks,
        "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in run.discovered.skipped],
    }


def _damaged(run: Run) -> Counter[Process]:
    """Count the damaged records of each process. One log may belong to very many processes."""
    return Counter(
        run.joining.home(model, damage.record)[0].process
        for model in run.models
        for damage in model.log.damage
        if damage.record >= 0
    )


def _process(process: Process, damaged: int, check: bool, part: Ref) -> ProcessRow:
    return {
        "pid": process.pid,
        "file": process.log.path,
        "started_at": _iso(process),
        "torch_version": torch_version(process),
        "damaged_records": damaged,
        "compiles": [_compile(compile_, check) for compile_ in process.ordered() if _is_in(compile_, part)],
    }


def _iso(process: Process) -> str | None:
    if not process.is_dated:
        return None
    try:
        return datetime.fromtimestamp(process.started, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return None


def _compile(compile_: Compile, check: bool) -> CompileRow:
    artifacts = artifacts_of(compile_)
    units = {unit.number: unit.name for unit in units_of(artifacts)}
    code = FrameRow(*display_code(compile_.frame))
    return {
        "id": compile_.label,
        "ref": str(compile_.ref),
        "epoch": compile_.id.epoch or None,
        "status": str(compile_.status) if compile_.status else None,
        "tlparse_status": tlparse_status(compile_),
        "frame": code if code.name else None,
        "duration_s": compile_.duration_s,
        "attempts": sorted(compile_.attempts),
        "facts": compile_.all_facts,
        "artifacts": [_artifact(artifact, units, check) for artifact in artifacts],
    }


def _artifact(artifact: Artifact, units: dict[int, str], check: bool) -> CheckedRow:
    log, record = artifact.log, artifact.record
    row: CheckedRow = {
        "ref": str(artifact.ref),
        "name": artifact.name,
        "unit": units.get(artifact.unit) if artifact.unit is not None else None,
        "attempt": artifact.attempt,
        "stored_bytes": log.columns.size[record],
        "md5": log.md5(record),
    }
    if check:
        checked = log.check(record)
        row["size_bytes"] = checked.size if checked else 0
        row["line_count"] = checked.lines if checked else 0
        row["md5_ok"] = checked.check is Check.GOOD if checked and checked.check is not Check.UNDECLARED else None
    return row
