"""One artifact, and one record, as documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tltui.analyses.provenance.graph_inputs import named_inputs
from tltui.analyses.sdsc.files import is_sdsc
from tltui.documents.format import plural, size_of
from tltui.documents.hints import key_hint
from tltui.documents.sdsc import sdsc_document
from tltui.documents.titles import called
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.kind import Kind
from tltui.model.kinds import kind_of
from tltui.model.ref import Ref
from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument
from tltui.text.chain import Chain
from tltui.text.document import Builder, Document, Options
from tltui.text.json_codec import dumps
from tltui.text.json_document import json_document
from tltui.text.payload import Payload
from tltui.text.sanitize import sanitize
from tltui.trace.envelope import METRICS
from tltui.trace.files import Gone
from tltui.trace.log import Check, Checked, Log

CHECKED_AT_ONCE = 8 << 20
"""Stored bytes up to which the md5 is compared before the first page is shown (15 ms)."""
UNCHECKED = "md5 ?"


def artifact_document(artifact: Artifact, options: Options) -> Document:
    """The payload of an artifact in its language; the envelope's value for metrics."""
    ref, title = str(artifact.ref), artifact_title(artifact)
    try:
        if artifact.is_metrics and artifact.payload is None:
            return _value(artifact.log, artifact.record, ref, title, options)
        inputs = named_inputs(artifact) if artifact.kind.language == "fx" else None
        shown = _payload(artifact.log, artifact.record, artifact.kind, ref, title, options, inputs)
        return sdsc_document(artifact, shown, title, options) if is_sdsc(artifact) and not options.raw else shown
    except Gone as gone:
        return gone_document(ref, title, gone, options)
    except Elsewhere as elsewhere:
        return elsewhere_document(ref, title, elsewhere, str(replace(artifact.ref, rank=None, process=None)))


def elsewhere_document(ref: str, title: str, elsewhere: Elsewhere, there: str = "") -> Document:
    """What can be said of bytes that are on another machine. `there`: the address in the log by itself."""
    builder = Builder(ref, title)
    builder.add(("The payload is not in the index, and the log is not here. It is on", tokens.WARN))
    builder.add(("host  ", tokens.LABEL), sanitize(elsewhere.host))
    builder.add(("file  ", tokens.LABEL), sanitize(elsewhere.path))
    if command := elsewhere.command(there):
        builder.blank()
        builder.add("This prints it:")
        builder.add("  ", (command, tokens.STRONG))
    builder.blank()
    builder.add("Where a copy of the log is here, give its directory beside the index: tltui FILE.tlx DIR")
    return builder.document()


def gone_document(ref: str, title: str, gone: Gone, options: Options) -> Document:
    """What can be said of bytes that are not there any more."""
    builder = Builder(ref, title)
    builder.add((f"This is {gone.strerror}.", tokens.WARN))
    builder.add(("file  ", tokens.LABEL), str(gone.filename))
    builder.blank()
    builder.add("The tree and the pages say what was read before that. What the file holds now is another process in the tree,")
    builder.add("where the run is followed.")
    follow, again = (key_hint(options, command, "{}") for command in ("app.follow", "app.read_again"))
    if follow[0] and again[0]:
        builder.add("  ", follow, "  follows the run, or stops")
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
            return _nothing(ref, title)
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
    """`md5 ✓`, or what is wrong."""
    if checked is None:
        return ""
    if checked.check is Check.UNDECLARED:
        return "no md5"
    if checked.check is Check.GOOD:
        return "md5 ok" if ascii_ else "md5 ✓"
    return "md5 wrong: damaged" if ascii_ else "md5 ✗ damaged"


def _nothing(ref: str, title: str) -> Document:
    builder = Builder(ref, title)
    builder.add(("The payload of this record is missing.", tokens.WARN))
    builder.add("Its envelope declares one, but no line of it is in the log: the writer was killed, or the log was cut.")
    return builder.document()


def _value(log: Log, record: int, ref: str, title: str, options: Options) -> Document:
    if options.raw:
        return BytesDocument(Payload.of(log.head(record)), "json", ref=ref, title=title)
    return json_document(Payload.of(_json(log.event(record))), ref=ref, title=title)


def _json(value: object) -> bytes:
    """A parsed value as JSON bytes again, whatever Python's json accepted."""
    try:
        return dumps(value, indent=True)
    except TypeError:
        import json

        return json.dumps(value, indent=2, default=repr).encode("utf-8", "backslashreplace")


def record_document(log: Log, record: int, ref: Ref, options: Options, whose: str = "", output: str = "") -> Document:
    """Envelope and payload of one record: what people open `raw.jsonl` for. `whose`: rank and process, where there are several;
    `output`: the address of its lines, where it is from what the job printed."""
    lead = f"{whose} · " if whose else ""
    try:
        return _record(log, record, ref, options, lead, output)
    except Gone as gone:
        return gone_document(str(ref), f"{lead}record {record + 1}", gone, options)
    except Elsewhere as elsewhere:
        return elsewhere_document(str(ref), f"{lead}record {record + 1}", elsewhere)


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
        between = Builder("", "")
        between.add()
        size = log.columns.size[record]
        between.add(("Payload", tokens.HEADING), (f"  {size_of(size)} stored", tokens.DIM))
        parts += [between.document(), body]
    elif kind.event not in METRICS:
        none = Builder("", "")
        none.add()
        none.add(("No payload.", tokens.DIM))
        parts.append(none.document())
    title = sanitize(f"{lead}record {record + 1} of {plural(len(log), 'record')} · {name}")
    return Chain(str(ref), title if context else f"{lead}{name}", parts, badge)
