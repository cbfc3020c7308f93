"""Bundles: the records of some compiles as a small trace, optionally redacted."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import os
import re
import socket
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from tltui.documents.format import plural, size_of, wrap
from tltui.inputs.archives import COMPRESSED_NAME, STANDARD_INPUT
from tltui.inputs.index.indexed_log import IndexBytes
from tltui.model.artifacts import Artifact, artifact_name
from tltui.model.kinds import kind_of
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import NO_ID, BadAddress, parse_ref
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Builder, Options, TextDocument
from tltui.text.frozen import frozen, mutable
from tltui.text.safe_files import replacing, safe_name
from tltui.trace.batch import ORPHAN
from tltui.trace.grammar import PREFIX, whole_number
from tltui.trace.log import JoinedLog, Log
from tltui.writers.redact.redact import Redacted, Redactor
from tltui.writers.redact.torch_words import is_word
from tltui.writers.redact.user_names import NAME, Learned, nested_json

_FILENAME = re.compile(rb'"filename": (\d{1,9})\b')
_MD5 = re.compile(r'"has_payload": "[^"]*"\}\s*$')
REMOVED = ("dump_file",)
PIECE = 1 << 20
"""Bytes that are copied at once."""
_BYTECODE = ("_ORIGINAL_BYTECODE", "_MODIFIED_BYTECODE")
LEGEND = (
    "Not replaced: torch's own operators, events, settings, files, lines and message texts. Also kept: shapes, "
    "dtypes, sizes, times, ids, other numbers, names of one or two letters, and your names that torch also uses "
    "(forward, layer, weight). Your source lines keep only the kind of statement (if, return). Everything else becomes anonN, "
    "the same name everywhere."
)
_RANKED = re.compile(r"rank_\d+_(?:dp_\d+_)?")
LABEL = re.compile(r"(?:attempt_\d+|\d+|rank[_-]?\d+(?:_dp_\d+)?)")


@frozen
class BundledKind:
    """The records of one kind that leave."""

    name: str
    records: int
    stored_bytes: int
    """As they are stored: first lines and payloads."""


@frozen
class BundleResult:
    """What a bundle holds."""

    compiles: tuple[str, ...]
    kinds: tuple[BundledKind, ...]
    files: tuple[str, ...]
    """Names of the files, one for each log."""
    records: int
    size_bytes: int
    redacted: Redacted | None
    removed: int
    """Payloads and records that redaction takes out whole: byte code, dumped files, damaged lines."""


@mutable
class _Part:
    """The selected records of one log."""

    model: LogModel
    records: list[int]
    strings: dict[int, set[int]]
    """pid → the ids of the string table that its records use."""
    name: str
    size: int = 0


class Bundle:
    """The records of some compiles. `pieces` gives the bytes of each file; nothing is written here."""

    def __init__(
        self, run: Run, refs: Sequence[str] = (), redact: bool = False, secrets: Iterable[str] = (),
        redactor: Redactor | None = None, key: bytes = b"",
    ) -> None:
        """Select the records of the addresses, and learn what to redact. Raises `BadAddress`, OSError.

        `secrets`: names of accounts and hosts that need not be in the trace. `redactor`: one that learned from more than the traces
        of the run. `key`: see `Names`.
        """
        self.run = run
        self.compiles = compiles_at(run, refs)
        self.removed = 0
        everything = not refs
        traces = [model for model in run.models if not model.log.is_made]
        if traces and not any(is_complete(model) for model in traces):
            raise BadAddress("a bundle needs the trace, not only its index. Add the directory of the logs")
        traces = [model for model in traces if is_complete(model)]
        if not traces:
            raise BadAddress("a bundle needs a trace. To pack other inputs, use tltui case")
        self.parts = [part for model in traces if (part := self._part(model, everything)) is not None]
        if not self.parts:
            raise BadAddress("the selection has no records, so its bundle could not be opened")
        for number, name in enumerate(_file_names([part.model for part in self.parts], redact)):
            self.parts[number].name = name
        self.redactor = (redactor or self._redactor(secrets, key)) if redact else None
        self._kinds: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._spools: dict[str, IO[bytes]] = {}
        """Files that were made already, by name: redaction takes seconds for every 10 MB."""

    def _part(self, model: LogModel, everything: bool) -> _Part | None:
        log = model.log
        wanted: set[int] = set()
        for compile_ in self.compiles:
            held = compile_.process.log
            if held is log:
                wanted.update(compile_.records)
            elif isinstance(held, JoinedLog) and held.members[0] is log:
                wanted.update(held.origin(record)[1] for record in compile_.records if held.is_stored(record))
        if not any(log.kind(record).event not in ("", "str") for record in wanted):
            return None  # nothing, or only lines that are no records: nobody could open it
        strings: dict[int, set[int]] = {}
        for record in wanted:
            if log.kind(record).event != "str":
                used = strings.setdefault(log.context(record).pid, set())
                used.update(map(int, _FILENAME.findall(log.head(record))))
                if log.kind(record).event == "dynamo_guards" and (payload := log.payload(record)) is not None:
                    used.update(map(int, _FILENAME.findall(payload.read())))
        for record in log.records():
            kind = log.kind(record)
            if kind.event == "str":
                wanted.discard(record)
                value = log.event(record)
                number = whole_number(value[1]) if isinstance(value, list) and len(value) == 2 else None
                if everything or number in strings.get(log.context(record).pid, ()):
                    wanted.add(record)
            elif artifact_name(kind) == "torch_version":
                wanted.add(record)
        return _Part(model, sorted(wanted), strings, "")

    def _redactor(self, secrets: Iterable[str], key: bytes) -> Redactor:
        learned = Learned()
        learned.people.update((name, None) for name in secrets if len(name) > 2)
        for part in self.parts:
            log = part.model.log
            for record in part.records:
                learned.table = _strings(part.model, log.context(record).pid)
                learn(learned, log, record)
        return Redactor(learned, key)

    def pieces(self, part: _Part) -> Iterator[bytes]:
        """Yield the bytes of one file, record by record."""
        log = part.model.log
        yield from self._inherited(part)
        for record in part.records:
            data = self._plain(log, record) if self.redactor is None else self._redacted(log, record, self.redactor)
            if data:
                name = artifact_name(log.kind(record))
                name = name if self.redactor is None else self.redactor.text(name, True)
                self._kinds[name] += 1
                self._bytes[name] += len(data)
                yield data

    def _inherited(self, part: _Part) -> Iterator[bytes]:
        """Yield the strings that a forked child uses of its parent's table, as records of its own log."""
        for process in part.model.processes:
            used = part.strings.get(process.pid, set())
            first = next((r for r in part.records if part.model.log.context(r).pid == process.pid), None)
            if process.twin or process.parent is None or first is None:
                continue
            match = PREFIX.match(part.model.log.head(first))
            for number in sorted(used - process.strings.keys()):
                if match is not None and (text := process.parent.strings.get(number)) is not None:
                    line = json.dumps({"str": [text, number]})
                    line = self.redactor.json(line) if self.redactor is not None else line
                    yield self._head(match[0]) + line.encode() + b"\n"

    @staticmethod
    def _plain(log: Log, record: int) -> bytes:
        """Return a record as it is stored."""
        columns = log.columns
        length = columns.size[record]
        if not columns.flags[record] & ORPHAN:
            length += columns.head[record] + (1 if columns.size[record] else 0)
        return log.source.read(columns.offset[record], length) + b"\n"

    def _head(self, prefix: bytes) -> bytes:
        """Return the prefix of an envelope, without that of a launcher and with a redacted path unless it is torch's."""
        if self.redactor is None or (match := PREFIX.match(prefix)) is None:
            return prefix
        path = match[9].decode("utf-8", "surrogateescape")
        if not (path.startswith("torch/") and all(map(is_word, NAME.findall(path)))):
            path = self.redactor.path(path)
        start = prefix[match.start(1) : match.start(9)]
        return start + path.encode("utf-8", "surrogateescape") + prefix[match.end(9) :]

    def _redacted(self, log: Log, record: int, redactor: Redactor) -> bytes:
        head = log.head(record)
        match = PREFIX.match(head)
        if match is None or log.columns.flags[record] & ORPHAN or not log.envelope(record):
            self.removed += 1
            return b""
        line = redactor.json(head[match.end() :].rstrip(b"\x00\r").decode("utf-8", "surrogateescape"))
        text = self._payload(log, record, redactor)
        if text is None:
            return self._head(match[0]) + line.encode("utf-8", "surrogateescape") + b"\n"
        data = text.encode("utf-8", "surrogateescape")
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        line = _MD5.sub(f'"has_payload": "{digest}"}}', line)
        stored = b"\t" + data.replace(b"\n", b"\n\t")
        return self._head(match[0]) + line.encode("utf-8", "surrogateescape") + b"\n" + stored + b"\n"

    def _payload(self, log: Log, record: int, redactor: Redactor) -> str | None:
        checked = log.check(record)
        if checked is None:
            return None
        kind = log.kind(record)
        if kind.event in REMOVED or kind.name.endswith(_BYTECODE):
            self.removed += 1
            return f"Removed by tltui bundle --redact: {checked.size:,} bytes of {artifact_name(kind).rpartition('_')[2]}."
        text = checked.payload.read().decode("utf-8", "surrogateescape")
        return redactor.payload(text, kind_of(*kind).language)

    def _spool(self, part: _Part) -> int:
        """Make one file in temporary storage, if there is room for it; return its size in bytes."""
        spool: IO[bytes] | None = None
        with contextlib.suppress(OSError):
            spool = tempfile.TemporaryFile()  # noqa: SIM115 - `_bytes_of` closes it
        size = 0
        for piece in self.pieces(part):
            size += len(piece)
            if spool is not None and not _has_room(spool, piece):
                spool = None
        if spool is not None and _has_room(spool, b""):
            self._spools[part.name] = spool
        return size

    def _bytes_of(self, part: _Part) -> Iterator[bytes]:
        """Yield the bytes of one file, from temporary storage if they are there."""
        spool = self._spools.pop(part.name, None)
        if spool is None:
            yield from self.pieces(part)
            return
        with spool:
            spool.seek(0)
            while piece := spool.read(PIECE):
                yield piece

    def result(self, spool: bool = False) -> BundleResult:
        """Return the contents. Makes every file once, without writing it; with `spool` into temporary storage for `write`."""
        self._kinds.clear()
        self._bytes.clear()
        self.removed = 0
        for part in self.parts:
            part.size = self._spool(part) if spool and self.redactor is not None else sum(map(len, self.pieces(part)))
        kinds = [BundledKind(name, self._kinds[name], self._bytes[name]) for name in self._kinds]
        return BundleResult(
            tuple(str(c.ref) for c in self.compiles), tuple(sorted(kinds, key=lambda kind: (-kind.stored_bytes, kind.name))),
            tuple(part.name for part in self.parts), sum(self._kinds.values()), sum(part.size for part in self.parts),
            None if self.redactor is None else self.redactor.counts, self.removed,
        )  # fmt: skip

    def write(self, output: str, force: bool = False) -> list[tuple[str, int]]:
        """Write the file, or with several logs files below the directory `output`; return path and size of each.

        Files appear whole and are readable for their owner only. Raises FileExistsError unless `force`, FileNotFoundError for a
        directory that is not there, OSError.
        """
        target = Path(output)
        single = len(self.parts) == 1 and not (target.is_dir() or output.endswith(os.sep))
        paths = [target] if single else [target / part.name for part in self.parts]
        if not target.parent.is_dir():
            raise FileNotFoundError(2, "no such directory", str(target.parent))
        for path in paths:
            if not force and path.exists():
                raise FileExistsError(17, "exists", str(path))
            if not force and any(path.parent.resolve() == Path(model.log.path).parent.resolve() for model in self.run.models):
                raise FileExistsError(17, "is in the directory of the trace", str(path))
        written = []
        for part, path in zip(self.parts, paths, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, private=True) as out:
                out.writelines(self._bytes_of(part))
            written.append((str(path), path.stat().st_size))
        return written


def _has_room(spool: IO[bytes], piece: bytes) -> bool:
    """Write a piece into temporary storage; close it and return False if there is no room."""
    try:
        spool.write(piece)
        if not piece:
            spool.flush()
    except OSError:
        with contextlib.suppress(OSError):
            spool.close()
        return False
    return True


def is_complete(model: LogModel) -> bool:
    """Return whether all bytes of a log can be read: an index alone does not have them."""
    return not isinstance(model.source, IndexBytes)


def learn(learned: Learned, log: Log, record: int) -> None:
    """Learn the user's names in a record: in its envelope, and in its payload, JSON or not. Raises OSError."""
    learned.value(log.envelope(record))
    if log.columns.size[record]:
        text = log.text(record, 1 << 40)
        value = nested_json(text)
        if value is None:
            learned.text(text)
        else:
            learned.value(value)


def local_names() -> list[str]:
    """Return the names of this account and host: a trace often comes from the same machine."""
    names = [socket.gethostname().partition(".")[0]]
    with contextlib.suppress(KeyError, OSError, ImportError):
        names.append(getpass.getuser())
    return names


def compiles_at(run: Run, refs: Sequence[str]) -> list[Compile]:
    """Return the compiles at addresses: of a frame, a process or a rank all of them. Raises `BadAddress`."""
    if not refs:
        return list(run.compiles())
    selected: set[int] = set()
    for text in refs:
        ref = parse_ref(text)
        if ref.artifact is not None or ref.view:
            raise BadAddress(f"{text} is a part of a compile, but a bundle contains whole "
                             "compiles. Give the address of a compile, frame or rank")  # fmt: skip
        node = run.resolve(replace(ref, attempt=None))
        for compile_ in _compiles_of(run, node):
            selected.add(id(compile_))
    compiles = [compile_ for compile_ in run.compiles() if id(compile_) in selected]
    if not compiles:
        raise BadAddress(f"no compiles at {' '.join(refs)}")
    return compiles


def _compiles_of(run: Run, node: object) -> Iterable[Compile]:
    if isinstance(node, Compile):
        return [node]
    if isinstance(node, Frame):
        return node.compiles
    processes = [node] if isinstance(node, Process) else node.processes if isinstance(node, Rank) else list(run.processes())
    assert not isinstance(node, Artifact)
    compiles = [compile_ for process in processes for compile_ in process.compiles.values()]
    return compiles if any(compile_.id != NO_ID for compile_ in compiles) or node is not None else list(run.compiles())


def _strings(model: LogModel, pid: int) -> dict[int, str]:
    process = next((process for process in model.processes if process.pid == pid), None)
    if process is None:
        return {}
    return {**(process.parent.strings if process.parent is not None else {}), **process.strings}


def _file_names(models: Sequence[LogModel], redact: bool) -> list[str]:
    """Return a path for each log below one directory: its name, with the directories that name its rank or launch."""
    names: list[str] = []
    for number, model in enumerate(models):
        path = Path(model.log.path)
        above = [safe_name(part) for part in path.parent.parts[-3:] if LABEL.fullmatch(part)]
        file_name = safe_name(COMPRESSED_NAME.sub("", path.name) if path.name != STANDARD_INPUT else "standard_input.log")
        if redact:
            rank = _RANKED.search(file_name)
            file_name = f"dedicated_log_torch_trace_{rank[0] if rank else ''}{number:08}.log"
        name = os.path.join(*above, file_name)
        while name in names:
            numbered = os.path.join(str(number), file_name)
            name = numbered if numbered not in names else f"{number}_{file_name}"
        names.append(name)
    return names


def bundle_document(result: BundleResult, options: Options) -> TextDocument:
    """Return the page about the contents of a bundle."""
    builder = Builder("@bundle", "bundle", options)
    files = plural(len(result.files), "file")
    counts = (plural(len(result.compiles), "compile"), plural(result.records, "record"), size_of(result.size_bytes))
    builder.add((", ".join(counts), tokens.STRONG), f" in {files}")
    shown = ", ".join(result.compiles[:12])
    builder.add("  ", shown + (f" and {len(result.compiles) - 12:,} more" if len(result.compiles) > 12 else ""))
    builder.heading("Contents of the bundle")
    for kind in result.kinds:
        times = "x" if options.ascii else "×"
        builder.add(f"  {size_of(kind.stored_bytes):>10}  {kind.records:>6,} {times} ", kind.name)
    builder.heading("Replaced" if result.redacted else "Not redacted")
    if result.redacted is None:
        builder.add("  The payloads contain the model's code: paths, names, source lines, strings. To replace them: --redact")
        return builder.document(result)
    redacted = result.redacted
    for number, word in ((redacted.paths, "path"), (redacted.lines, "line of source"), (redacted.names, "name"),
                         (redacted.people, "account or host"), (redacted.texts, "string or value")):  # fmt: skip
        plain = {"line of source": "lines of source", "account or host": "accounts or hosts",
                 "string or value": "strings or values"}.get(word, word + "s")
        builder.add(f"  {number:>6,} {word if number == 1 else plain}")
    if result.removed:
        builder.add(f"  {result.removed:>6,} removed completely: bytecode, dumped files, damaged lines")
    builder.blank()
    for line in wrap(LEGEND, options.width):
        builder.add((line, tokens.DIM))
    builder.add(("Check the bundle with tltui before you share it.", tokens.WARN))
    return builder.document(result)
