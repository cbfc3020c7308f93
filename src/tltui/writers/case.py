"""Cases: every input of a job in one archive, optionally redacted."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, field
from pathlib import Path

from tltui import __version__
from tltui.documents.envelope import envelope
from tltui.documents.format import plural, size_of
from tltui.inputs.debug_directory import DebugLog
from tltui.inputs.directory_layouts import CACHED, INDUCTOR, RUN, SHARD, UNIT
from tltui.inputs.forms import DEBUG_DIR, TRACE
from tltui.inputs.text.line_grammar import head_of
from tltui.inputs.text.text_log import TextLog
from tltui.model.artifacts import artifact_name
from tltui.model.kinds import kind_of
from tltui.model.log_model import LogModel
from tltui.model.process_evidence import is_of_job
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Builder, Options, TextDocument
from tltui.text.frozen import frozen, mutable
from tltui.text.safe_files import replacing, safe_name
from tltui.trace.files import FileBytes
from tltui.trace.log import Log
from tltui.writers.bundle import LABEL, Bundle, is_complete, learn
from tltui.writers.redact.redact import Redactor
from tltui.writers.redact.torch_words import is_word
from tltui.writers.redact.user_names import NAME, Learned

INDEX = "case.json"
PIECE = 1 << 20
ONLY_INDEXED = "logs that exist only in an index"
KNOWN_LOGS = ("fusion", "guard_latency")
"""Loggers whose messages consist of known words: names of buffers and operators, sizes, torch's own sentences."""
BEGINNING_OF_ZIP = (1980, 1, 1, 0, 0, 0)
"""Earliest time in a zip archive, so that equal inputs give equal files."""


@frozen
class PackedFile:
    """A file of the case."""

    name: str
    form: str
    """Form of its input (`tltui.inputs.forms`); "output": the job's output, as `tltui run` stored it."""
    rank: int | None
    pids: tuple[int, ...]
    size_bytes: int
    md5: str


@frozen
class LeftOut:
    """Content that redaction omits."""

    reason: str
    count: int


@frozen
class CaseResult:
    """Contents of a case, also stored in it as `case.json`, with the fields of an `Envelope`."""

    tltui_version: str
    """The version that packed it."""
    redacted: bool
    files: tuple[PackedFile, ...]
    left_out: tuple[LeftOut, ...]


@mutable
class _Entry:
    """A file to be packed."""

    name: str
    form: str
    pieces: Callable[[], Iterator[bytes]]
    model: LogModel | None = None


@mutable
class Case:
    """The inputs of a run as files of an archive. Nothing is written before `write`."""

    run: Run
    redact: bool = False
    secrets: tuple[str, ...] = ()
    """Additional names of accounts and hosts."""
    _left_out: Counter[str] = field(default_factory=Counter)
    _redactor: Redactor | None = None

    def write(self, output: str, force: bool = False) -> CaseResult:
        """Write the archive atomically, readable for its owner only.

        Raises OSError, FileExistsError unless `force`, BadAddress if it would hold no file.
        """
        target = Path(output)
        if not target.parent.is_dir():
            raise FileNotFoundError(2, "no such directory", str(target.parent))
        with replacing(target, force=force, private=True) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            result = self._pack(archive)
            if self._left_out[ONLY_INDEXED] and not result.files:
                raise BadAddress("a case needs the logs, not only their index. Add the directory of the logs")
        return result

    def result(self) -> CaseResult:
        """Return the contents without writing the archive."""
        return self._pack(None)

    def _pack(self, archive: zipfile.ZipFile | None) -> CaseResult:
        self._left_out.clear()
        files = [self._add(archive, entry) for entry in self._entries()]
        omissions = tuple(LeftOut(reason, count) for reason, count in sorted(self._left_out.items()))
        result = CaseResult(__version__, self.redact, tuple(files), omissions)
        if archive is not None:
            archive.writestr(_info(INDEX), json.dumps(envelope("case", self.run.title, "", asdict(result)), indent=1))
        return result

    @staticmethod
    def _add(archive: zipfile.ZipFile | None, entry: _Entry) -> PackedFile:
        md5, size = hashlib.md5(usedforsecurity=False), 0
        out = archive.open(_info(entry.name), "w", force_zip64=True) if archive is not None else None
        try:
            for piece in entry.pieces():
                md5.update(piece)
                size += len(piece)
                if out is not None:
                    out.write(piece)
        finally:
            if out is not None:
                out.close()
        processes = entry.model.processes if entry.model is not None else []
        ranks = {process.rank for process in processes}
        rank = next(iter(ranks)) if len(ranks) == 1 else None
        pids = tuple(sorted({process.pid for process in processes if process.pid}))
        return PackedFile(entry.name, entry.form, rank, pids, size, md5.hexdigest())

    def _entries(self) -> Iterator[_Entry]:
        if self.redact:
            self._redactor = self._learn()
            yield from self._redacted(self._redactor)
            return
        names: set[str] = set()
        for model in self.run.models:
            if model.log.path in self.run.discovered.outputs:
                continue  # with its state, below
            if not is_complete(model):
                self._left_out[ONLY_INDEXED] += 1
            elif isinstance(model.log, DebugLog):
                yield from self._debug_files(model, model.log, names)
            else:
                name = _unique(os.path.join(model.form, *_labels(model.log.path)), names)
                yield _Entry(name, model.form, lambda log=model.log: _stored(log), model)  # type: ignore[misc]
        for path in self.run.discovered.outputs:
            for sibling in (path, os.path.join(os.path.dirname(path), "output.json")):
                if os.path.isfile(sibling):
                    name = _unique(os.path.join("output", safe_name(os.path.basename(sibling))), names)
                    yield _Entry(name, "output", lambda sibling=sibling: iter([Path(sibling).read_bytes()]))  # type: ignore[misc]

    @staticmethod
    def _debug_files(model: LogModel, log: DebugLog, names: set[str]) -> Iterator[_Entry]:
        """Yield the files below the debug directory of a process, at their relative paths."""
        for record in log.records():
            name = _unique(os.path.join(DEBUG_DIR, *_below(log, record)), names)
            yield _Entry(name, DEBUG_DIR, lambda record=record: _payload(log, record), model)  # type: ignore[misc]

    # redacted

    def _learn(self) -> Redactor:
        """Collect the user's names from all inputs, so that a name has one substitute everywhere."""
        learned = Learned()
        learned.people.update((name, None) for name in self.secrets if len(name) > 2)
        for model in filter(is_complete, self.run.models):
            strings = {process.pid: process.strings for process in model.processes}
            log = model.log
            for record in log.records():
                if log.kind(record).event == "text":
                    continue
                learned.table = strings.get(log.context(record).pid, {})
                learn(learned, log, record)
        return Redactor(learned)

    def _redacted(self, redactor: Redactor) -> Iterator[_Entry]:
        if missing := sum(not is_complete(model) for model in self.run.models):
            self._left_out[ONLY_INDEXED] += missing
        traces = [model for model in self.run.models if model.form == TRACE and is_complete(model)]
        if traces:
            bundle = Bundle(self.run, (), redact=True, redactor=redactor)
            for part in bundle.parts:
                yield _Entry(os.path.join(TRACE, part.name), TRACE, lambda part=part: bundle.pieces(part), part.model)  # type: ignore[misc]
            self._left_out["payloads and records of traces that are removed completely"] += bundle.removed
        names: set[str] = set()
        for number, model in enumerate(self.run.models):
            if isinstance(model.log, DebugLog):
                yield from self._redacted_files(model, model.log, redactor, names)
            elif isinstance(model.log, TextLog) and not any(is_of_job(model.form, process) for process in model.processes):
                self._left_out["files with the output of the job"] += 1
            elif isinstance(model.log, TextLog):
                name = f"text/{number:04}.txt"
                yield _Entry(name, model.form, lambda log=model.log: self._redacted_text(log, redactor), model)  # type: ignore[misc]
            elif model.form != TRACE:
                self._left_out["inputs in a format that cannot be redacted"] += 1
        if unread := set(self.run.discovered.outputs).difference(model.log.path for model in self.run.models):
            self._left_out["files with the output of the job"] += len(unread)

    def _redacted_files(self, model: LogModel, log: DebugLog, redactor: Redactor, names: set[str]) -> Iterator[_Entry]:
        for record in log.records():
            kind = log.kind(record)
            kind_info = kind_of(*kind)
            if artifact_name(kind) == "debug_log":
                self._left_out["logs of debug directories"] += 1
                continue
            if kind_info.generic or artifact_name(kind) == "autotuning_result_json_list":
                self._left_out["unknown files of debug directories"] += 1
                continue
            *above, filename = _below(log, record)
            name = _unique(os.path.join(DEBUG_DIR, *(_directory(part, redactor) for part in above), filename), names)

            def pieces(record: int = record, language: str = kind_info.language) -> Iterator[bytes]:
                yield redactor.payload(log.text(record, 1 << 40), language).encode("utf-8", "surrogateescape")

            yield _Entry(name, DEBUG_DIR, pieces, model)

    def _redacted_text(self, log: TextLog, redactor: Redactor) -> Iterator[bytes]:
        """Yield the redacted messages of torch's loggers about compiles, line by line."""
        for record in log.records():
            kind, first = log.kind(record), log.written(record)
            head = head_of(first, 0, len(first))
            if kind.event == "text" or head is None:
                self._left_out["lines not written by a torch logger"] += len(log.lines(record))
                continue
            form = kind_of(*kind)
            if form.language == "bytecode":
                self._left_out["bytecode listings"] += 1
                continue
            ours = head["path"].startswith(b"torch/")  # anybody may write to a logger of torch
            if not ours or head["artifact"] is None or (kind.name not in KNOWN_LOGS if kind.event == "log" else form.generic):
                self._left_out["messages of unknown loggers"] += 1
                continue
            text = redactor.payload(log.message(record).decode("utf-8", "replace"), form.language)
            prefix = _prefix(head, redactor)
            yield "".join(f"{prefix}{line}\n" for line in text.split("\n")).encode("utf-8", "surrogateescape")


def _directory(name: str, redactor: Redactor) -> str:
    """Return a directory name that torch chose; redact user-chosen parts."""
    if RUN.fullmatch(name) or CACHED.fullmatch(name) or SHARD.fullmatch(name) or name in (INDUCTOR, "torchdynamo"):
        return name
    unit = UNIT.fullmatch(name)
    if unit is None:
        return safe_name(redactor.text(name, True))
    model = unit["name"].removeprefix("model").removeprefix("_")
    directory_name = f"model_{safe_name(redactor.text(model, True))}" if model else "model"
    return directory_name + name[unit.end("name") :]


def _prefix(head: re.Match[bytes], redactor: Redactor) -> str:
    """Return the prefix of a message without the launcher's prefix and user paths."""
    parts = {name: (value or b"").decode("utf-8", "replace") for name, value in head.groupdict().items()}
    path = parts["path"]
    if not (path.startswith("torch/") and all(map(is_word, NAME.findall(path)))):
        path = redactor.path(path)
    rank = f"[rank{parts['rank']}]:" if parts["rank"] else ""
    ids = f"[{parts['ids']}] " if parts["ids"] else ""
    when = f"{parts['level']}{parts['day']} {parts['time']} {parts['pid']}"
    return f"{rank}{when} {path}:{parts['line']}] {ids}[__{parts['artifact']}] "


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, BEGINNING_OF_ZIP)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def _stored(log: Log) -> Iterator[bytes]:
    at = 0
    while data := log.source.read(at, PIECE):
        yield data
        at += len(data)


def _payload(log: Log, record: int) -> Iterator[bytes]:
    payload = log.payload(record)
    if payload is not None:
        yield payload.read()


def _labels(path: str) -> list[str]:
    """Return the name of a file, preceded by the directories with its rank or launch."""
    parts = path.replace("!", "/").split("/")
    return [*(safe_name(part) for part in parts[-4:-1] if LABEL.fullmatch(part)), safe_name(parts[-1])]


def _below(log: DebugLog, record: int) -> list[str]:
    """Return the path of a file relative to the debug directory's parent, as components."""
    assert isinstance(log.source, FileBytes)
    top = os.path.abspath(log.source.path)
    inner = os.path.relpath(os.path.abspath(log.path_of(record)), top).split(os.sep)
    return [safe_name(part) for part in (os.path.basename(top), *inner)]


def _unique(name: str, names: set[str]) -> str:
    candidate, number = name, 2
    while candidate in names:
        directory, filename = os.path.split(name)
        candidate, number = os.path.join(directory, str(number), filename), number + 1
    names.add(candidate)
    return candidate


def case_document(result: CaseResult, options: Options) -> TextDocument:
    """Return the contents and omissions of a case as a page."""
    builder = Builder("@case", "case", options)
    total = sum(file.size_bytes for file in result.files)
    builder.add((f"{plural(len(result.files), 'file')}, {size_of(total)}", tokens.STRONG))
    by_form: dict[str, list[PackedFile]] = {}
    for file in result.files:
        by_form.setdefault(file.form, []).append(file)
    for form, files in by_form.items():
        builder.heading(form)
        for file in files[:SHOWN]:
            builder.add(f"  {size_of(file.size_bytes):>10}  ", file.name)
        if len(files) > SHOWN:
            builder.add((f"  … and {len(files) - SHOWN:,} more", tokens.DIM))
    if result.redacted or result.left_out:
        builder.heading("Left out")
        _left_out(builder, result.left_out)
    builder.blank()
    if result.redacted:
        builder.add(("Check the case with tltui before you share it.", tokens.WARN))
    else:
        builder.add("Not redacted: the case contains code, paths and job output. To replace or omit them: --redact")
    return builder.document(result)


SHOWN = 40


def _left_out(builder: Builder, left_out: Iterable[LeftOut]) -> None:
    counted = [item for item in left_out if item.count]
    for item in counted:
        builder.add(f"  {item.count:>8,}  {item.reason}")
    if not counted:
        builder.add(("  nothing", tokens.DIM))
