"""The batch of a step of a text scan: what its records, kinds, contexts and strings are numbered by."""

from __future__ import annotations

from tltui.inputs.text.batch import TextBatch
from tltui.inputs.text.grammar import IDS
from tltui.trace.batch import Context, Damage, Kind


class Filling:
    """Fills batches. A scanner is one: this is where most of its time passes."""

    def __init__(self) -> None:
        self._batch = TextBatch(0)
        self._count = 0  # records of all batches
        self._kinds: dict[Kind, int] = {}
        self._contexts: dict[Context, int] = {}
        self._context_list: list[Context] = []
        self._known: dict[tuple[bytes | None, bytes, bytes | None], int] = {}  # rank, pid, id → context
        self._strings: dict[tuple[int, str], int] = {}

    def _context(self, rank: bytes | None, pid: bytes, ids: bytes | None) -> int:
        """The number of a context, by the texts of a prefix."""
        known = (rank, pid, ids)
        number = self._known.get(known)
        if number is None:
            autograd, frame, compile_, attempt = IDS.fullmatch(ids or b"").groups()  # type: ignore[union-attr]
            context = Context(
                int(pid), None if rank is None else int(rank), _number(autograd), _number(frame), _number(compile_),
                None if ids is None else int(attempt or 0),
            )  # fmt: skip
            number = self._contexts.get(context)
            if number is None:
                number = self._contexts[context] = len(self._contexts)
                self._context_list.append(context)
                self._batch.contexts.append(context)
            self._known[known] = number
        return number

    def _string(self, pid: int, text: str) -> int:
        """The id of a string, as the string table of a process has it."""
        found = self._strings.get((pid, text))
        if found is None:
            found = self._strings[pid, text] = len(self._strings)
            self._batch.strings.append((pid, found, text))
        return found

    def _append(self, offset: int, head: int, size: int, kind: Kind, context: int, flags: int) -> int:
        batch, columns = self._batch, self._batch.columns
        number = self._kinds.get(kind)
        if number is None:
            number = self._kinds[kind] = len(self._kinds)
            batch.kinds.append(kind)
        columns.offset.append(offset)
        columns.head.append(head)
        columns.size.append(size)
        columns.kind.append(number)
        columns.context.append(context)
        columns.flags.append(flags)
        batch.members[context].append(self._count)
        self._count += 1
        return number

    def _resize(self, record: int, size: int) -> None:
        batch = self._batch
        if record >= batch.first:
            batch.columns.size[record - batch.first] = size
        else:
            batch.resized[record] = size

    def _flag(self, record: int, flags: int) -> None:
        batch = self._batch
        if record >= batch.first:
            batch.columns.flags[record - batch.first] = flags
        else:
            batch.flags[record] = flags

    def _damage(self, offset: int, record: int, reason: str) -> None:
        self._batch.damage.append(Damage(offset, record, reason))


def _number(text: bytes | None) -> int | None:
    return None if text is None else int(text)
