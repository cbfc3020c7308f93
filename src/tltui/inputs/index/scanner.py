"""What an index says of a log, as the batches of a scan; and the scan of what has come since, where the log is here."""

from __future__ import annotations

from tltui.inputs.index.checking import check_log
from tltui.inputs.index.format import BadIndex
from tltui.inputs.index.reader import RECORDS, IndexFile
from tltui.inputs.index.records import Saved, unpack_records
from tltui.inputs.index.source import IndexBytes, KnownFile, opened
from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes
from tltui.trace.scan import STEP, Scanner, State


def saved_of(index: IndexFile, number: int) -> Saved:
    """What an index knows of a log. Raises `BadIndex`, OSError."""
    log = index.logs[number]
    try:
        saved = unpack_records(index.section(number, RECORDS))
    except BadIndex as bad:
        raise BadIndex(str(bad.strerror), index.path) from None
    batches = [own for own in (saved.batch, saved.last) if own is not None]
    ends = [own.columns.offset[-1] for own in batches if len(own.columns)]
    if saved.state.reached != log.reached or log.reached > log.size or any(end >= log.size for end in ends):
        raise BadIndex("it is damaged: records behind the end of a log", index.path)
    return saved


class IndexScanner:
    """Gives what the index knows, and goes on in the log where there is one."""

    def __init__(self, source: FileBytes) -> None:
        assert isinstance(source, IndexBytes | KnownFile)
        self._source = source
        self._scanner = Scanner(source)
        self._saved: Saved | None = None
        self._begun = False

    @property
    def reached(self) -> int:
        """Bytes of the log that have been taken; 0 where it is not here: the size of an index says nothing of that of a log."""
        return self._scanner.reached if isinstance(self._source, KnownFile) else 0

    @property
    def state(self) -> State:
        """Where the scan of a log that is here stands after a batch that said `waiting`."""
        return self._scanner.state

    def step(self, size: int = STEP, last: bool = True) -> Batch:
        """The next batch. Raises OSError, `BadIndex` where the log is not here and the index is damaged."""
        if isinstance(self._source, KnownFile):
            return self._here(self._source, size, last)
        if not self._begun:
            check_log(self._source.index, self._source.number)
            self._saved = saved_of(self._source.index, self._source.number)
            self._begun = True
            batch = self._saved.batch
            batch.waiting = self._saved.last is None
            return batch
        assert self._saved is not None
        if self._saved.last is not None:
            return self._saved.last
        return Batch(self._saved.state.taken, scanned=self._saved.state.reached, waiting=True)

    def _here(self, source: KnownFile, size: int, last: bool) -> Batch:
        if not self._begun:
            self._begun = True
            try:
                saved = saved_of(opened(source.index), source.number)
            except OSError:  # the log itself says it too
                return self._scanner.step(size, last)
            self._scanner.resume(saved.state, saved.batch.kinds, saved.batch.contexts)
            saved.batch.waiting, saved.batch.tail = False, None
            return saved.batch
        return self._scanner.step(size, last)
