"""The page of one artifact or record, with the tables of torch-spyre's operation files; output of `show` and `extract`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from tltui.documents.envelope import Envelope, envelope
from tltui.documents.format import plural, size_of
from tltui.documents.page import Page
from tltui.documents.scope import called, key_hint, place_of
from tltui.inputs.index.indexed_log import Elsewhere, IndexBytes
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.kind import Kind
from tltui.model.kinds import kind_of
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import BadAddress, Ref, at_line
from tltui.model.run import Run
from tltui.questions.fusion.sdsc_files import Operation, PerCore, SpyreFile, Tensor, files_of, is_sdsc, sdsc_of
from tltui.questions.provenance.unit_artifacts import DYNAMO_GRAPH, PRE_GRAPHS
from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument, json_document
from tltui.text.composite_documents import DocumentChain
from tltui.text.document import Builder, Document, Options, Piece
from tltui.text.json_codec import dumps
from tltui.text.payload import Payload
from tltui.text.safe_files import replacing, safe_name
from tltui.text.sanitize import sanitize
from tltui.trace.files import Gone
from tltui.trace.grammar import METRICS
from tltui.trace.log import Check, Checked, Log

HEAD = 1 << 20
"""Leading bytes of a graph that have its inputs."""
_FORWARD = re.compile(r"def forward\(self, ([^\n]*)\):")
_INPUT = re.compile(r"(\w+)\s*(?::\s*(?:\"[^\"]*\"|[^,\"]*))?(?:, |$)")
GAP = 11

CHECKED_AT_ONCE = 8 << 20
"""Stored bytes up to which the md5 is compared before the first page is shown (15 ms)."""
UNCHECKED = "md5 ?"
PIECE = 4 << 20
SUFFIX = {"fx": ".py", "output_code": ".py", "python": ".py", "cpp": ".cpp", "json": ".json"}


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


def artifact_document(artifact: Artifact, options: Options) -> Document:
    """Return the payload of an artifact in its language; for metrics the value of the envelope."""
    ref, title = str(artifact.ref), artifact_title(artifact)
    try:
        if artifact.is_metrics and artifact.payload is None:
            return _value(artifact.log, artifact.record, ref, title, options)
        inputs = named_inputs(artifact) if artifact.kind.language == "fx" else None
        shown = _payload(artifact.log, artifact.record, artifact.kind, ref, title, options, inputs)
        return sdsc_document(artifact, shown, title, options) if is_sdsc(artifact) and not options.raw else shown
    except Gone as error:
        return gone_document(ref, title, error, options)
    except Elsewhere as error:
        return elsewhere_document(ref, title, error, str(replace(artifact.ref, rank=None, process=None)))


def elsewhere_document(ref: str, title: str, error: Elsewhere, address: str = "") -> Document:
    """Return a note on bytes on another machine. `address`: the address within that log."""
    builder = Builder(ref, title)
    builder.add(("The payload is not in the index, and the log is on another machine:", tokens.WARN))
    builder.add(("host  ", tokens.LABEL), sanitize(error.host))
    builder.add(("file  ", tokens.LABEL), sanitize(error.path))
    if command := error.command(address):
        builder.blank()
        builder.add("To print it:")
        builder.add("  ", (command, tokens.STRONG))
    builder.blank()
    builder.add("If a copy of the log is on this machine, open its directory with the index: tltui FILE.tlx DIR")
    return builder.document()


def gone_document(ref: str, title: str, error: Gone, options: Options) -> Document:
    """Return a note on bytes that were removed."""
    builder = Builder(ref, title)
    builder.add((f"This is {error.strerror}.", tokens.WARN))
    builder.add(("file  ", tokens.LABEL), str(error.filename))
    builder.blank()
    builder.add("The tree and the pages show the content that was read before. The new content is a separate process in the tree")
    builder.add("if the run is followed.")
    follow, again = (key_hint(options, command, "{}") for command in ("app.follow", "app.read_again"))
    if follow[0] and again[0]:
        builder.add("  ", follow, "  starts or stops following the run")
        builder.add("  ", again, "  reads all logs again")
    return builder.document()


def artifact_title(artifact: Artifact) -> str:
    """`[0/1] inductor_output_code · backward`"""
    parts = [f"{called(artifact.owner)} {artifact.name}"]
    if artifact.unit is not None:
        units = units_of(artifacts_of(artifact.owner))
        if len(units) > 1:
            parts.append(next(unit.name for unit in units if unit.number == artifact.unit))
    elif not artifact.alone:
        parts[0] += f" #{artifact.n}"
    return sanitize(" · ".join(parts))


def _payload(
    log: Log, record: int, kind: Kind, ref: str, title: str, options: Options, inputs: Mapping[str, str] | None = None
) -> Document:
    payload = log.payload(record)
    if payload is None:
        checked = log.check(record)
        if checked is None or checked.check is not Check.GOOD:
            return _empty_document(ref, title)
        payload, badge = checked.payload, badge_of(checked, options.ascii)
    elif payload.size <= CHECKED_AT_ONCE:
        checked = log.check(record)
        payload = checked.payload if checked else payload
        badge = badge_of(checked, options.ascii)
    else:
        badge = UNCHECKED
    if told_by := log.origin(record)[0].told_by:
        badge = f"from {told_by}"  # nothing declares what its md5 should be
    if kind.language == "json":
        return json_document(payload, ref=ref, title=title, badge=badge, raw=options.raw)
    return BytesDocument(payload, kind.language, ref=ref, title=title, badge=badge, inputs=inputs)


def badge_of(checked: Checked | None, ascii_: bool = False) -> str:
    """Return the checksum status: `md5 ✓`, or the error."""
    if checked is None:
        return ""
    if checked.check is Check.UNDECLARED:
        return "no md5"
    if checked.check is Check.GOOD:
        return "md5 ok" if ascii_ else "md5 ✓"
    return "md5 wrong: damaged" if ascii_ else "md5 ✗ damaged"


def _empty_document(ref: str, title: str) -> Document:
    builder = Builder(ref, title)
    builder.add(("The payload of this record is missing.", tokens.WARN))
    builder.add("Its envelope declares a payload, but the log has no line of it: the writer was killed, or the log was cut.")
    return builder.document()


def _value(log: Log, record: int, ref: str, title: str, options: Options) -> Document:
    if options.raw:
        return BytesDocument(Payload.of(log.head(record)), "json", ref=ref, title=title)
    return json_document(Payload.of(_json(log.event(record))), ref=ref, title=title)


def _json(value: object) -> bytes:
    """Serialize a parsed value as JSON bytes, including values that only Python's json accepts."""
    try:
        return dumps(value, indent=True)
    except TypeError:
        return json.dumps(value, indent=2, default=repr).encode("utf-8", "backslashreplace")


def record_document(log: Log, record: int, ref: Ref, options: Options, whose: str = "", output: str = "") -> Document:
    """Return envelope and payload of one record, as in `raw.jsonl`.

    `whose`: rank and process, if there are several; `output`: the address of its lines in the job output, if it is from there.
    """
    lead = f"{whose} · " if whose else ""
    try:
        return _record(log, record, ref, options, lead, output)
    except Gone as error:
        return gone_document(str(ref), f"{lead}record {record + 1}", error, options)
    except Elsewhere as error:
        return elsewhere_document(str(ref), f"{lead}record {record + 1}", error)


def _record(log: Log, record: int, ref: Ref, options: Options, lead: str, output: str) -> Document:
    kind, context = log.kind(record), log.context(record)
    name = kind.name or kind.event
    head = Builder(str(ref), f"{lead}record {record + 1} · {name}")
    prefix = log.prefix(record)
    if prefix is not None:
        head.add(("time     ", tokens.LABEL), f"{prefix.month:02}-{prefix.day:02} {prefix.time}  local time of the job")
        head.add(("site     ", tokens.LABEL), f"{prefix.path}:{prefix.line}")
        head.add(("process  ", tokens.LABEL), f"pid {prefix.pid}")
    path, offset = log.place(record)
    head.add(("place    ", tokens.LABEL), (f"byte {offset:,} of {path}", tokens.LINK if output else "", output))
    head.add(("kind     ", tokens.LABEL), kind_of(*kind).help)
    for damage in log.damage:
        if damage.record == record:
            head.add(("damage   ", tokens.LABEL), (damage.reason, tokens.WARN))
    head.heading("Envelope")
    envelope = log.envelope(record)
    line = log.head(record)
    if envelope and not options.raw:
        shown: Document = json_document(Payload.of(_json(envelope)))
    else:
        shown = BytesDocument(Payload.of(line), "text")
    while not shown.advance():
        pass
    parts: list[Document] = [head.document(), shown]
    badge = ""
    if log.has_payload(record):
        body = _payload(log, record, kind_of(*kind), "", "", options)
        badge = body.badge
        separator = Builder("", "")
        separator.add()
        size = log.columns.size[record]
        separator.add(("Payload", tokens.HEADING), (f"  {size_of(size)} stored", tokens.DIM))
        parts += [separator.document(), body]
    elif kind.event not in METRICS:
        none = Builder("", "")
        none.add()
        none.add(("No payload.", tokens.DIM))
        parts.append(none.document())
    title = sanitize(f"{lead}record {record + 1} of {plural(len(log), 'record')} · {name}")
    return DocumentChain(str(ref), title if context else f"{lead}{name}", parts, badge)


def named_inputs(artifact: Artifact) -> dict[str, str]:
    """Map the inputs that AOTAutograd renamed to their original names, by order.

    Empty if several graphs of the compile could be the source.
    """
    before = (*PRE_GRAPHS, DYNAMO_GRAPH)
    if artifact.name in before:
        return {}
    artifacts = [other for other in artifacts_of(artifact.owner) if other.attempt == artifact.attempt]
    if sum(unit.direction in ("forward", "inference") for unit in units_of(artifacts)) != 1:
        return {}
    graphs = [other for other in artifacts if other.name in before and other.record < artifact.record]
    if not graphs:
        return {}
    head = _FORWARD.search(reader_of(artifact.owner).payload(graphs[-1].record, HEAD).decode("utf-8", "replace"))
    names = _INPUT.findall(head[1]) if head else []
    return {called: name for n, name in enumerate(names) for called in (f"primals_{n + 1}", f"arg{n}_1")}


def sdsc_document(artifact: Artifact, below: Document, title: str, options: Options) -> Document:
    """Return the document of an operation file. `below`: its raw JSON. Raises OSError."""
    sdsc = sdsc_of(artifact.owner, artifact.record)
    page = Page(str(artifact.ref), title, options)
    if sdsc.problem:
        page.say(f"Unexpected content for torch-spyre: {sanitize(sdsc.problem)}.", "", tokens.WARN)
    file = next((sdsc_file for sdsc_file in files_of(artifact.owner) if sdsc_file.record == artifact.record), None)
    for operation in sdsc.operations:
        _operation(page, operation, file)
    page.blank()
    page.add(("Raw JSON", tokens.HEADING))
    return DocumentChain(str(artifact.ref), title, [page.document(sdsc), below], below.badge)


def kernel_pieces(file: SpyreFile) -> list[Piece]:
    """`sdsc_fused_add_mul_0, operation 1 of 2`"""
    assert file.of is not None
    target = at_line(file.code, file.of.line) if file.code and file.of.line else ""
    name = sanitize(file.of.kernel)
    pieces: list[Piece] = [(name, tokens.LINK, target) if target else (name, tokens.NAME)]
    pieces.append(f", operation {file.of.place} of {file.of.of}")
    if not file.of.agrees:
        pieces.append((" by order: the names of the operations differ", tokens.WARN))
    return pieces


def _operation(page: Page, operation: Operation, file: SpyreFile | None) -> None:
    page.heading(sanitize(operation.key))
    if file is not None and file.of is not None:
        page.row([("kernel".ljust(GAP), tokens.LABEL), *kernel_pieces(file)])
    for label, text in (
        ("operation", operation.op), ("aten", operation.aten), ("nodes", ", ".join(operation.nodes)),
        ("fused from", ", ".join(operation.fused)),
        ("id", operation.handle),
    ):  # fmt: skip
        if text:
            page.labelled(label, sanitize(text), gap=GAP)
    if operation.file:
        page.row([("source".ljust(GAP), tokens.LABEL), page.place(operation.file, operation.line)])
    else:
        page.labelled("source", "unknown", gap=GAP)
    for compute in operation.computes:
        reads, writes = ", ".join(compute.inputs), ", ".join(compute.outputs)
        page.labelled("computes", sanitize(f"{compute.function} on {compute.unit}: {reads} → {writes}"), gap=GAP)
    for remark in operation.odd:
        page.say(sanitize(remark), "  ", tokens.WARN)
    _dims(page, operation)
    _tensors(page, operation.tensors)
    for layout in operation.layouts:
        sticks = ", ".join(f"{dim} of {size:,}" for dim, size in zip(layout.sticks, layout.sizes, strict=False))
        sentence = f"{', '.join(layout.dims)}; stick: {sticks or ', '.join(layout.sticks) or 'none'}"
        page.labelled(sanitize(layout.role), sanitize(sentence), gap=GAP)
    tables = [(f"slice of {dim}", table) for dim, table in operation.slice_of]
    tables += [(f"address of {tensor.name}", tensor.addresses) for tensor in operation.tensors]
    for heading, table in tables:
        if table.values and table.line is None and len(table.values) > 1:
            _each_core(page, heading, table)


def _dims(page: Page, operation: Operation) -> None:
    page.blank()
    page.add("  ", ("cores".ljust(GAP), tokens.LABEL), "unknown" if operation.cores is None else f"{operation.cores:,}")
    slices, places = dict(operation.slices), dict(operation.slice_of)
    sizes = dict(operation.dims)
    rows: list[list[Piece]] = []
    for dim in dict.fromkeys((*sizes, *slices, *places)):
        rows.append([
            (sanitize(dim), tokens.NAME), f"{sizes[dim]:,}" if dim in sizes else "–", f"{slices[dim]:,}" if dim in slices else "–",
            per_core(places[dim]) if dim in places else "",
        ])  # fmt: skip
    if rows:
        head = ("dimension", "size", "slices", "slice of core c")
        page.grid([[(text, tokens.LABEL) for text in head], *rows])


def _tensors(page: Page, tensors: Sequence[Tensor]) -> None:
    rows: list[list[Piece]] = []
    for tensor in tensors:
        rows.append([
            (sanitize(tensor.name), tokens.NAME), sanitize(tensor.kind), sanitize(tensor.dtype),
            sanitize(", ".join(tensor.memory)) or "–",
            sanitize(", ".join(tensor.dims)), per_core(tensor.addresses),
        ])  # fmt: skip
    if rows:
        page.blank()
        head = ("tensor", "role", "dtype", "memory", "layout", "address of core c")
        page.grid([[(text, tokens.LABEL) for text in head], *rows])


def _each_core(page: Page, noun: str, table: PerCore) -> None:
    """Add a folded table with one line per core, for values without a common rule."""
    title = sanitize(f"{noun}, core by core")
    page.blank()
    page.open(title, folded=True)
    page.add("  ", (title, tokens.LABEL))
    for core, value in table.values:
        page.add("    ", (f"{core:>6,}", tokens.LABEL), f"  {_signed(value)}")
    page.close()


def per_core(table: PerCore) -> str:
    """`8,192 × c`, where the values of all cores lie on a line."""
    if table.line is None:
        return _signed(table.values[0][1]) if len(table.values) == 1 else "differs: below" if table.values else ""
    base, step = table.line
    if not step:
        return _signed(base)
    factor = "c" if abs(step) == 1 else f"{abs(step):,} × c"
    if not base:
        return factor if step > 0 else f"−{factor}"
    return f"{_signed(base)} {'+' if step > 0 else '−'} {factor}"


def _signed(number: int) -> str:
    return f"{number:,}".replace("-", "−")


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
