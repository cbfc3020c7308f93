"""Compiles that failed, as a traceback in what the job printed says: text has no other word of it.

A line `torch._dynamo.exc.BackendCompilerFailed: …` ends the traceback of a failed compile. Which compile it was the text does not
say: probably the last one of the process that was seen before it and has no end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from tltui.inputs.text.grammar import OUTER
from tltui.trace.batch import Batch, Kind
from tltui.trace.files import Gone
from tltui.trace.log import Log

OTHER_TEXT = Kind("text", "")
"""Lines of an output that are no log records."""
LOOKED_BACK = 4096
"""Records before a traceback among which its compile is looked for."""
READ = 1 << 20
"""Bytes at the end of a run of lines that are looked at after each batch."""
FINISHED = frozenset(("dynamo_cpp_guards_str",))
"""Torch writes them at the end of a compile."""
_NEEDLE = b".exc."
_FAILED = re.compile(rb"^" + OUTER + rb"torch\.(?:_dynamo|_inductor)\.exc\.[A-Z]\w*(?::|\r?$)", re.MULTILINE)


class Recorded(Protocol):
    """A compile, as far as it matters here."""

    @property
    def records(self) -> Sequence[int]:
        """Numbers of its records in the log."""


C = TypeVar("C", bound=Recorded)


def failed_in(log: Log, owner_of: Callable[[int], C], batch: Batch) -> Iterator[C]:
    """The compiles that the text of a batch says have failed, probably. `owner_of`: record → its compile."""
    kinds = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    column = log.columns.kind
    records = [*(record for record in batch.resized if column[record] in kinds), *range(batch.first, len(log))]
    for record in records:
        if column[record] in kinds and _says_so(log, record):
            context = log.context(record)
            owner = unfinished_before(log, owner_of, record, context.pid, context.rank)
            if owner is not None:
                yield owner


def _says_so(log: Log, record: int) -> bool:
    log, record = log.origin(record)  # of several outputs joined the one that it is in
    columns = log.columns
    size = columns.size[record]
    begin = max(size - READ, 0)
    try:
        data = log.source_of(record).read(columns.offset[record] + begin, size - begin)
    except (Gone, OSError):
        return False
    return _NEEDLE in data and _FAILED.search(data) is not None


def unfinished_before(log: Log, owner_of: Callable[[int], C], record: int, pid: int | None, rank: int | None) -> C | None:
    """The last compile of a process that has records before `record` and no end."""
    for other in range(record - 1, max(record - LOOKED_BACK, 0) - 1, -1):
        context = log.context(other)
        if context.frame is None or (pid and context.pid != pid):
            continue
        if rank is not None and context.rank is not None and context.rank != rank:
            continue
        owner = owner_of(other)
        is_finished = any(log.kind(own).name in FINISHED for own in owner.records)
        return None if is_finished else owner
    return None
