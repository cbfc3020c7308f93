"""`tltui ls`: ranks, processes, frames and compiles as text, and everything with its artifacts as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

from tltui.analyses.torch_version import torch_version
from tltui.documents.format import plural
from tltui.documents.tree.outline import Node, children, label, root
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Process
from tltui.model.run import Run
from tltui.model.status import MEANING, Facts, glyph, tlparse_status
from tltui.text import tokens
from tltui.text.document import Builder, Options, Piece, TextDocument
from tltui.text.width import cells, fit
from tltui.trace.log import Check

SCHEMA = 1
FACTS = tuple(each.name for each in fields(Facts))


def listing_document(run: Run, options: Options) -> TextDocument:
    """The tree down to the compiles."""
    builder = Builder("", run.title, options)
    _lines(builder, root(run), 0, options)
    builder.blank()
    used = {compile_.status for compile_ in run.compiles()}
    legend = [f"{glyph(status, options.ascii)} {meaning}" for status, meaning in MEANING.items() if status in used]
    for entry in legend:
        builder.add((entry, tokens.DIM))
    if run.damaged:
        builder.add((plural(run.damaged, "damaged record"), tokens.WARN), ": tltui damage PATH")
    for path, _ in run.tails:
        builder.add((f"incomplete record at the end of {path}: {run.goes_on}", tokens.DIM))
    for path, reason in run.lost:
        builder.add((f"{path}: what was read before is {reason}", tokens.WARN))
    for skipped in run.found.skipped:
        builder.add((f"not opened: {skipped.path}: {skipped.reason}", tokens.WARN))
    return builder.document()


def _lines(builder: Builder, node: Node, depth: int, options: Options) -> None:
    shown = label(node, options.ascii)
    left: list[Piece] = ["  " * depth, *shown.left, *shown.detail]
    width = options.width - sum(cells(_text(piece)) for piece in shown.right) - 1
    builder.add(*_fitted(left, width), *shown.right)
    if isinstance(node.target, Compile):
        return
    for child in children(node):
        _lines(builder, child, depth + 1, options)


def _text(piece: Piece) -> str:
    return piece if isinstance(piece, str) else piece[0]


def _fitted(pieces: list[Piece], width: int) -> Iterator[Piece]:
    """The pieces, cut or padded to `width` columns."""
    left = width
    for piece in pieces:
        text = fit(_text(piece), left)
        left -= cells(text)
        yield text if isinstance(piece, str) else (text, *piece[1:])
        if left <= 0:
            break
    yield " " * (left + 1)


@dataclass(frozen=True, slots=True)
class FrameRow:
    """The code object of a compile."""

    name: str | None
    file: str | None
    line: int | None


def listing_data(run: Run, check: bool = False) -> dict[str, Any]:
    """What `ls --json` prints: documented in docs/json.md, stable within a schema number.

    With `check` every payload is read: sizes and lines as torch wrote them, and whether the md5 matches.
    """
    damaged = _damaged(run)
    ranks = [
        {"rank": rank.number, "processes": [_process(process, damaged[process], check) for process in rank.processes]}
        for rank in run.ranks
    ]
    return {
        "schema": SCHEMA,
        "path": list(run.found.paths) if len(run.found.paths) != 1 else run.found.paths[0],
        "ranks": ranks,
        "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in run.found.skipped],
    }


def _damaged(run: Run) -> Counter[Process]:
    """How many damaged records each process has. One log may be that of very many processes."""
    return Counter(
        model.owner(damage.record).process for model in run.models for damage in model.log.damage if damage.record >= 0
    )


def _process(process: Process, damaged: int, check: bool) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "file": process.log.path,
        "started": _iso(process),
        "torch_version": torch_version(process),
        "damaged": damaged,
        "compiles": [_compile(compile_, check) for compile_ in process.ordered()],
    }


def _iso(process: Process) -> str | None:
    try:
        return datetime.fromtimestamp(process.started, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return None


def _compile(compile_: Compile, check: bool) -> dict[str, Any]:
    artifacts = artifacts_of(compile_)
    units = {unit.number: unit.name for unit in units_of(artifacts)}
    code = FrameRow(*compile_.frame.code)
    return {
        "id": compile_.id.bracketed,
        "ref": str(compile_.ref),
        "status": str(compile_.status) if compile_.status else None,
        "tlparse_status": tlparse_status(compile_),
        "frame": {"name": code.name, "file": code.file, "line": code.line} if code.name else None,
        "duration_s": compile_.facts.duration_s,
        "attempts": sorted(compile_.attempts),
        "facts": {name: getattr(compile_.facts, name) for name in FACTS},
        "artifacts": [_artifact(artifact, units, check) for artifact in artifacts],
    }


def _artifact(artifact: Artifact, units: dict[int, str], check: bool) -> dict[str, Any]:
    log, record = artifact.log, artifact.record
    row: dict[str, Any] = {
        "ref": str(artifact.ref),
        "name": artifact.name,
        "unit": units.get(artifact.unit) if artifact.unit is not None else None,
        "attempt": artifact.attempt,
        "stored_bytes": log.columns.size[record],
        "md5": log.md5(record),
    }
    if check:
        checked = log.check(record)
        row["bytes"] = checked.size if checked else 0
        row["lines"] = checked.lines if checked else 0
        row["md5_ok"] = checked.check is Check.GOOD if checked and checked.check is not Check.UNDECLARED else None
    return row
