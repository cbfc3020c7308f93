"""Output of `show --json`, `show --raw`, `show --unit` and `extract`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from tltui.documents.envelope import Envelope, envelope
from tltui.documents.scope import place_of
from tltui.inputs.index.indexed_log import Elsewhere, IndexBytes
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import BadAddress, Ref
from tltui.model.run import Run
from tltui.text.document import Document
from tltui.text.payload import Payload
from tltui.text.safe_files import replacing, safe_name

PIECE = 4 << 20


class ShownArtifact(TypedDict):
    """An artifact with its text."""

    name: str
    title: str
    """The title of its kind."""
    phase: str
    """The step of the compiler that wrote it."""
    unit: str | None
    """The lowering that it belongs to."""
    attempt: int
    badge: str
    """A remark: whether its md5 is right."""
    text: str


class ShownText(TypedDict):
    """A page that is text only."""

    title: str
    text: str


def in_unit(run: Run, ref: Ref, unit: str) -> Ref:
    """Return the address of the artifact of that name in a unit. Raises `BadAddress` with the existing units."""
    node = run.resolve(replace(ref, artifact=None, n=None))
    if not isinstance(node, Compile) or ref.artifact is None:
        raise BadAddress(f"--unit needs the address of an artifact: '{ref}'", "for example 0/0:inductor_output_code")
    artifacts = artifacts_of(node)
    units = units_of(artifacts)
    wanted = next((unit_ for unit_ in units if unit_.name == unit or unit_.direction == unit), None)
    if wanted is None:
        raise BadAddress(f"unknown unit of {node.ref}: {unit!r}", f"units: {', '.join(unit_.name for unit_ in units) or 'none'}")
    for artifact in artifacts:
        if artifact.unit == wanted.number and artifact.name == ref.artifact:
            return artifact.ref
    names = sorted({a.name for a in artifacts if a.unit == wanted.number})
    raise BadAddress(f"{node.ref} has no {ref.artifact} in its {wanted.name} unit", f"artifacts: {', '.join(names)}")


def shown_data(run: Run, ref: Ref, document: Document) -> Envelope:
    """Return the JSON of an address: the result of a page, an artifact with its text, or the text of a page without a result."""
    node = None if ref.view else run.resolve(ref)
    if isinstance(node, Artifact):
        units = {unit.number: unit.name for unit in units_of(artifacts_of(node.owner))}
        artifact = ShownArtifact(
            name=node.name, title=node.kind.title, phase=node.kind.phase.key,
            unit=units.get(node.unit) if node.unit is not None else None, attempt=node.attempt, badge=document.badge,
            text="\n".join(document.text()),
        )  # fmt: skip
        return envelope("show", run.title, str(node.ref), artifact)
    while not document.advance():  # a page that grows has its result when it is whole
        pass
    result = document.data()
    if result is None:
        result = ShownText(title=document.title, text="\n".join(document.text()))
    return envelope(ref.view or "show", run.title, str(place_of(ref)), result)


def raw_bytes(run: Run, ref: Ref) -> Iterator[bytes]:
    """Yield the unsanitized payload (for metrics, the stored first line). Raises `BadAddress`, OSError."""
    node = run.resolve(ref)
    if not isinstance(node, Artifact):
        raise BadAddress(f"--raw needs the address of an artifact: '{ref}'", "for example 0/0:inductor_output_code")
    yield from _bytes_of(node)


def _bytes_of(artifact: Artifact) -> Iterator[bytes]:
    if artifact.payload is None and artifact.is_metrics:
        yield artifact.log.head(artifact.record) + b"\n"
        return
    checked = artifact.log.check(artifact.record)
    if checked is not None:
        yield from _pieces(checked.payload)


def _pieces(payload: Payload) -> Iterator[bytes]:
    """Yield a payload in pieces that end at line ends, to bound memory."""
    at, carry = 0, b""
    while at < payload.size:
        data = payload.source.read(payload.offset + at, min(PIECE, payload.size - at))
        if not data:
            break
        at += len(data)
        data = carry + data
        cut = len(data) if at >= payload.size else data.rfind(b"\n") + 1
        complete, carry = data[:cut], data[cut:]
        if complete:
            yield _stripped(payload, complete)


def _stripped(payload: Payload, lines: bytes) -> bytes:
    if payload.crlf:
        lines = lines.replace(b"\r\n", b"\n").removesuffix(b"\r")
    if payload.strip:
        lines = lines.removeprefix(payload.strip).replace(b"\n" + payload.strip, b"\n")
    return lines


SUFFIX = {"fx": ".py", "output_code": ".py", "python": ".py", "cpp": ".cpp", "json": ".json"}


def extract(
    run: Run, refs: Sequence[str], output: str, force: bool = False, missing: list[Elsewhere] | None = None
) -> Iterator[tuple[str, int]]:
    """Write artifacts below a directory: `rank_0/0_1/dynamo_output_graph.py`. Yields (path, bytes) of each.

    Artifacts that are neither in an index nor on this machine are added to `missing`; without it they raise.
    Names of the trace are labels, never paths: nothing is written outside of the directory.
    Raises `BadAddress`, FileExistsError, OSError.
    """
    chosen = list(_chosen(run, refs))
    top = Path(output).expanduser()
    if top.exists() and not top.is_dir():
        raise NotADirectoryError(None, "is not a directory", str(top))
    top.mkdir(parents=True, exist_ok=True)
    used_names: set[str] = set()
    for artifact in chosen:
        try:
            is_indexed = isinstance(artifact.log.source, IndexBytes)
            pieces: Iterable[bytes] = _bytes_of(artifact)
            if is_indexed:
                pieces = [b"".join(pieces)]  # all of it or none: an index keeps no more than 1 MiB
        except Elsewhere as elsewhere:
            if missing is None:
                raise
            missing.append(elsewhere)
            continue
        rank, directory, name = _place(artifact)
        inside = _below(_below(top, rank), directory)
        target = inside / _untaken(name, str(inside), used_names)
        if force and not target.is_file():
            target.unlink(missing_ok=True)  # a link or a pipe is replaced, not written through
        size = 0
        with replacing(target, force=force) as file:
            for piece in pieces:
                size += file.write(piece)
        yield str(target), size


def _below(parent: Path, name: str) -> Path:
    """Create a directory in `parent` if it is absent. Raises PermissionError for a symbolic link."""
    path = parent / name
    if path.is_symlink():
        raise PermissionError(None, "is a symbolic link and may lead elsewhere", str(path))
    path.mkdir(exist_ok=True)
    return path


def _untaken(name: str, directory: str, used_names: set[str]) -> str:
    """Append a number to a name that is taken, ignoring case."""
    stem, dot, suffix = name.rpartition(".")
    free, number = name, 1
    while f"{directory}/{free}".lower() in used_names:
        number += 1
        free = f"{stem}~{number}{dot}{suffix}"
    used_names.add(f"{directory}/{free}".lower())
    return free


def _chosen(run: Run, refs: Sequence[str]) -> Iterator[Artifact]:
    for text in refs or ("",):
        node = run.resolve(text)
        if isinstance(node, Artifact):
            yield node
        elif isinstance(node, Compile):
            yield from artifacts_of(node)
        elif isinstance(node, Frame):
            for compile_ in node.compiles:
                yield from artifacts_of(compile_)
        else:
            for process in _processes(run, node):
                for compile_ in process.ordered():
                    yield from artifacts_of(compile_)


def _processes(run: Run, node: Process | Rank | None) -> list[Process]:
    if isinstance(node, Process):
        return [node]
    return node.processes if isinstance(node, Rank) else list(run.processes())


def _place(artifact: Artifact) -> tuple[str, ...]:
    process = artifact.owner.process
    rank = "norank" if process.rank is None else f"rank_{process.rank}"
    if not process.alone:
        rank += f".{process.number}"
    directory = safe_name(artifact.owner.process.named_id(artifact.owner.id).address.replace("/", "_"))
    number = "" if artifact.alone else f"_{artifact.n}"
    suffix = ".json" if artifact.is_metrics else SUFFIX.get(artifact.kind.language, ".txt")
    return rank, directory, safe_name(artifact.name, number + suffix)
