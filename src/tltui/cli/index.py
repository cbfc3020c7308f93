"""`tltui index`: an index of logs in one file, which opens without them."""

from __future__ import annotations

import argparse
import errno
import os
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error, printable
from tltui.cli.loading import ProgressLine, discover_logs, no_path
from tltui.cli.options import REDACT, add_force, add_paths, no_text, path_words
from tltui.cli.parser import Command, argument
from tltui.cli.printing import message

if TYPE_CHECKING:
    from tltui.sources.discovery_results import FoundLog
    from tltui.work.engines.executors import Opened
    from tltui.work.engines.gather import Done, LogPart, PieceStore, Progress

HOST = "TLTUI_HOST"
"""Variable with the name of this host, if the system's own name is not useful."""
UNREADABLE = frozenset(map(os.strerror, errno.errorcode))
"""System errors of unreadable files; other skipped files are no logs."""
MAX_NAMES = 10
"""Maximum logs named in an error about many."""
EXAMPLES = """\
Write one file on each node, and open their directory: docs/clusters.md has examples for Slurm, Kubernetes, torchrun, MPI and dask.
An existing index is updated: only new records are read. In FILE, %h is the name of the host (or $TLTUI_HOST), and %% is a percent
sign. No other file is written.
Exit code: 0, 1 if some logs could not be read (FILE has the others), 2 if nothing could be written.

examples:
  tltui index /tmp/tracedir -o run.tlx
  tltui index /tmp/trace -o /shared/%h.tlx                                     on each node; then: tltui /shared
  tltui index /shared/traces -o run.tlx --engine dask://scheduler:8786         read by the workers of a dask cluster
  mpirun -n 64 tltui index /shared/traces -o run.tlx --engine mpi              read by the ranks of an MPI job
  mpirun -n 64 tltui index /tmp/trace -o /shared/%h.tlx --engine mpi --node-local
"""


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Write the index; yield a summary."""
    from tltui.work.engines.executors import MPI, check_engine, opened_engine

    if not options.paths:
        no_path(options.command, options.hint)
    host = os.environ.get(HOST) or socket.gethostname()
    target = _target(options, host)
    if options.node_local and (options.engine != MPI or target == _target(options, f"{host}-other")):
        raise Failure("--node-local needs --engine mpi and %h in FILE", "without MPI run tltui index on each node")
    check_engine(options.engine)
    with opened_engine(options.engine, options.workers, host if options.node_local else "") as opened:
        if opened is not None:  # else this process has done its part of what another one writes
            yield from _Indexing(options, target, host, opened).write()


def _count(text: str) -> int:
    """Parse a number of workers."""
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 4096):
        raise Failure(f"invalid number of workers: {text!r}", "use a number from 1 to 4096")
    return int(text)


def _target(options: argparse.Namespace, host: str) -> Path:
    """Return the path of the file to write."""
    from tltui.text.safe_files import quoted, safe_name

    output = options.output
    if not output:
        raise Failure("missing -o FILE.tlx", f"for example: tltui index {path_words(options)} -o run.tlx")

    def meant(match: re.Match[str]) -> str:
        if match[1] not in ("h", "%"):
            raise Failure(f"unknown {match[0]} in -o: '{output}'", "use %h for the name of the host, %% for a percent sign")
        return safe_name(host) if match[1] == "h" else "%"

    target = Path(os.path.expanduser(re.sub(r"%(.?)", meant, output, flags=re.DOTALL)))
    if target.is_dir():
        raise Failure(f"Is a directory: '{target}'", f"use -o {quoted(str(target / f'{safe_name(host)}.tlx'))}")
    if not target.parent.is_dir():
        raise Failure(f"No such file or directory: '{target.parent}'", f"mkdir -p {quoted(str(target.parent))}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target.parent))
    return target


class _Indexing:
    """One run of the command: discovery, reading and writing."""

    def __init__(self, options: argparse.Namespace, target: Path, host: str, opened: Opened) -> None:
        self._options, self._target, self._host, self._opened = options, target, host, opened
        self._began = time.monotonic()
        self._key = b""
        """The key of the substitutes of a redacted index."""
        self._faults: list[tuple[str, str]] = []
        """Names of logs that could not be read, and why."""
        self._local: list[str] = []
        """Logs that were read here, after the workers that had them died."""
        self._death = ""
        """The last error of these workers."""

    def write(self) -> Iterator[bytes]:
        """Write the index. Raises Failure if it would be empty."""
        from tltui.inputs.index.indexed_log import IndexFile
        from tltui.text.safe_files import replacing
        from tltui.work.engines.gather import PieceStore
        from tltui.writers.index import host_of, merged, new_key

        logs = self._logs()
        self._key = new_key() if self._options.redact else b""
        with PieceStore(self._target.parent) as store:
            self._gather(logs, store)
            self._print_faults(store)
            with replacing(self._target, private=True, durable=True) as out:
                for piece in merged(store.pieces(), host_of(self._key, self._host)):
                    out.write(piece)
        written = IndexFile(str(self._target))
        self._options.exit_code = 1 if self._faults else 0
        counts = {
            "logs": len(written.logs),
            "records": sum(log.records for log in written.logs),
            "compiles": sum(process.compiles for process in written.saved),
            "bytes": self._target.stat().st_size,
        }
        summary = ", ".join(f"{count:,} {noun}" for noun, count in counts.items())
        yield message(printable(f"wrote {self._target}: {summary}, {time.monotonic() - self._began:.1f} s, on {self._host}"))

    def _logs(self) -> Sequence[FoundLog]:
        """Return the logs of the index, in order. Raises Failure if there are none, or if it may not be written."""
        from tltui.inputs.forms import TRACE
        from tltui.writers.index import NO_TRACE, settled, to_index

        discovered = discover_logs([*self._options.paths, *([str(self._target)] if self._checked() else [])], self._options.latest)
        for note in discovered.notes:
            print_error(f"tltui: {note}")
        self._faults += [(path.path, path.reason) for path in discovered.skipped if path.reason in UNREADABLE]
        saved = () if discovered.crowd is None else discovered.crowd.saved
        hosts = {entry.host for entry in saved if entry.log.index == str(self._target) and not entry.log.is_here} - {self._host}
        if hosts:
            hosts_text = _names_text(sorted(hosts))
            raise Failure(f"{self._target}: has logs of {hosts_text} that are not on this host",
                          "use %h in FILE for one index per host, or --force to replace it")  # fmt: skip
        logs = to_index(discovered, str(self._target))
        for log in logs:
            if log.form != TRACE and (not log.is_output or log.path in self._options.paths):
                print_error(f"tltui: {log.name}: {NO_TRACE}")
        traces = settled([log for log in logs if log.form == TRACE])
        if not traces:
            raise Failure("no trace to index")
        return traces

    def _checked(self) -> bool:
        """Return whether an existing index is updated. Raises Failure for any other existing file."""
        from tltui.sources.saved_indexes import is_index

        if not os.path.lexists(self._target):
            return False
        for path in self._options.paths:
            if os.path.exists(self._target) and os.path.samefile(os.path.expanduser(path), self._target):
                raise Failure(f"-o names one of the inputs: '{self._target}'", "use another FILE")
        if self._options.force:
            return False
        head = _head(self._target)
        if head and not is_index(head):
            raise Failure(f"not an index: '{self._target}'", "use another FILE, or --force to replace it")
        return bool(head)

    def _gather(self, logs: Sequence[FoundLog], store: PieceStore) -> None:
        from tltui.work.engines.gather import gather, index_part

        parts = [part for log in logs if (part := self._part(log)) is not None]
        sizes = [part.unread for part in parts]
        engine = self._opened.engine(len(parts), sum(sizes))
        with _IndexingProgress() as progress, closing(gather(engine, index_part, parts, sizes, progress)) as coming:
            for done in coming:
                self._add_part(done, store)

    def _part(self, log: FoundLog) -> LogPart | None:
        """Return the task of a log; None, with a recorded error, if it cannot be indexed."""
        from tltui.work.engines.gather import LogPart, remote_part

        part = LogPart(log, self._options.lean, self._key)
        if not self._opened.is_remote:
            return part
        if log.label and log.is_here:
            self._faults.append((log.name, "workers cannot read unpacked files: index it without --engine"))
            return None
        try:
            return remote_part(part)
        except OSError as error:
            self._faults.append((log.name, error.strerror or str(error)))
            return None

    def _add_part(self, done: Done[LogPart, bytes], store: PieceStore) -> None:
        from tltui.work.engines.gather import Failure as Fault

        name = done.part.log.name
        if isinstance(done.result, Fault):
            self._faults.append((name, done.result.text))
        else:
            store.put(done.number, done.result)
        if done.fault is not None:
            self._local.append(name)
            self._death = done.fault

    def _print_faults(self, store: PieceStore) -> None:
        """Report the errors. Raises Failure if no log remains."""
        if self._local:
            names = _names_text(sorted(self._local))
            print_error(f"tltui: workers died repeatedly ({self._death}); read in this process instead: {names}")
        for name, text in sorted(self._faults)[:MAX_NAMES]:
            print_error(f"tltui: {name}: {text}")
        if len(self._faults) > MAX_NAMES:
            print_error(f"tltui: … and {len(self._faults) - MAX_NAMES:,} more logs could not be read")
        if not store:
            raise Failure(f"no log could be read; not written: '{self._target}'")


def _head(path: Path) -> bytes:
    """Return the first bytes of a file; for anything but a regular file bytes that no index begins with."""
    if not path.is_file():
        return b"?"
    with path.open("rb") as file:
        return file.read(64)


def _names_text(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


class _IndexingProgress(ProgressLine):
    """Progress of reading logs."""

    def __call__(self, progress: Progress) -> None:
        if self.is_due():
            lost = f", {progress.lost} restarted" if progress.lost else ""
            read = f"{progress.bytes >> 20:,} of {progress.all_bytes >> 20:,} MiB"
            self.update(f"tltui: {progress.done:,} of {progress.all:,} logs, {read}{lost} (ctrl+c stops)")


COMMANDS = {
    "index": Command(run, (
        partial(add_paths, profile=False),
        argument("-o", "--output", metavar="FILE", help="the index to write; %%h in it is the name of the host"),
        argument("--lean", action="store_true", help="omit the texts that pages show; tltui then reads them from the logs"),
        argument("--redact", action="store_true", help=REDACT),
        argument("--engine", metavar="ENGINE", default="process",
                 help="the readers of the logs: process (default), serial, dask://HOST:PORT or mpi"),
        argument("--workers", metavar="N", type=_count, default=0, help="number of processes (default: one per processor)"),
        argument("--node-local", action="store_true", help="with mpi: each host reads its own PATHs and writes its own FILE"),
        partial(add_force, help_="replace FILE, whatever it is, instead of updating it"),
        no_text,
    ), EXAMPLES),
}  # fmt: skip
