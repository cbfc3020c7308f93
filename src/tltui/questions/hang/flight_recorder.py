"""Collectives in dumps of torch's flight recorder: who waits, and who has not entered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tltui.inputs.flight_recorder import Dump, DumpEntry, DumpFrame
from tltui.model.ref import Ranks
from tltui.text.frozen import frozen, mutable
from tltui.text.torch_names import Owner, owner_of

DEFAULT = "default_pg"
"""torch's description of the group of all ranks (`torch/distributed/distributed_c10d.py`)."""
SAME_SIZES = frozenset((
    "all_reduce", "allreduce", "allreduce_coalesced", "broadcast", "_broadcast_oop", "reduce", "_reduce_oop", "_all_gather_base",
    "all_gather_single", "_reduce_scatter_base", "reduce_scatter_single",
))  # fmt: skip
"""Operations whose inputs have the same sizes on all ranks. Those with lists of tensors may be uneven by design."""
MISMATCHES = 8
"""Maximum number of reported mismatches."""
Key = tuple[str, str, tuple[int, ...]]
"""A process group: its name, its description, and its ranks where a dump has them. Names are not unique over all ranks."""


@frozen
class GroupName:
    """A process group."""

    name: str
    description: str
    ranks: Ranks
    """Its ranks where that is known, else those that have used it."""


@frozen
class Call:
    """Identical calls on some ranks."""

    ranks: Ranks
    operation: str
    sequence: int
    state: str
    """`scheduled`, `started` or `completed`; `ended` where torch knew no more of the device."""
    input_sizes: tuple[tuple[int, ...], ...]
    output_sizes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    frame: DumpFrame | None
    """The innermost frame of the user's code; None where the dump has no stacks."""


@frozen
class Pending:
    """A collective with waiting ranks."""

    group: GroupName
    operation: str
    backend: str
    sequence: int
    since_at_us: float
    """When the first of them entered it, in microseconds since the epoch."""
    waiting_calls: tuple[Call, ...]
    missing_ranks: Ranks
    """The ranks that have not entered it."""
    unknown_ranks: Ranks
    """The ranks of which there is no dump, or none that is new enough."""
    last_calls: tuple[Call, ...]
    """What the missing ranks entered last in this group."""
    first_missing: int | None
    """The first of the missing ranks."""


@frozen
class Mismatch:
    """A sequence number of a process group with different calls on its ranks."""

    group: GroupName
    sequence: int
    difference: str
    """`operation`, `sizes` or `dtypes`"""
    calls: tuple[Call, ...]
    """The rarest first."""


@frozen
class Collectives:
    """The results from the dumps of a run."""

    ranks: Ranks
    """Ranks with dumps."""
    pending: tuple[Pending, ...]
    """The one that others follow from first."""
    mismatches: tuple[Mismatch, ...]
    is_older: bool = False
    """Whether all that they have is older than the run: they are of another one, and nothing is taken from them."""


@mutable
class _Use:
    """The calls of a process group by rank."""

    members: tuple[int, ...]
    calls: dict[int, dict[int, DumpEntry]]
    """Rank → number → the call; of a number with several (a coalesced call) the last one."""
    several: set[int]
    """Numbers with several calls."""
    entered: dict[int, int]
    """Rank → its last number."""


def compare_dumps(dumps: Sequence[Dump], ranks: Iterable[int] = (), began: float = 0.0) -> Collectives:
    """Compare the dumps of a run.

    `ranks`: those of the run; `began`: its begin, in microseconds since the epoch.
    """
    newest = max((entry.created for dump in dumps for entry in dump.entries if entry.created), default=began)
    if newest < began:
        return Collectives(Ranks(dump.rank for dump in dumps), (), (), True)
    world = {dump.rank for dump in dumps} | set(ranks)
    uses = _uses(dumps)
    written = {dump.rank: dump.written for dump in dumps}
    pending = [item for key, use in uses.items() if (item := _pending(key, use, world, written)) is not None]
    waiting = {rank for _, absent, present in pending for rank in present}
    # first the collective with a missing rank that waits nowhere: it blocks the others
    pending.sort(key=lambda item: (not item[1], bool(item[1] & waiting), item[0].since_at_us))
    mismatches = [item for key, use in uses.items() for item in _mismatches(key, use)]
    return Collectives(Ranks(written), tuple(item for item, _, _ in pending), tuple(mismatches[:MISMATCHES]))


def _uses(dumps: Sequence[Dump]) -> dict[Key, _Use]:
    uses: dict[Key, _Use] = {}
    for dump in dumps:
        for entry in dump.entries:
            if entry.is_message:
                continue
            members = dump.members.get(entry.group, ())
            key = entry.group, entry.description, members
            use = uses.setdefault(key, _Use(members, {}, set(), {}))
            item = use.calls.setdefault(dump.rank, {})
            if entry.sequence in item:
                use.several.add(entry.sequence)
            item[entry.sequence] = entry
            use.entered[dump.rank] = max(use.entered.get(dump.rank, 0), entry.sequence, dump.entered.get(entry.group, 0))
    return uses


def _pending(
    key: Key, use: _Use, world: set[int], written: Mapping[int, float]
) -> tuple[Pending, set[int], set[int]] | None:
    """Return a group's first collective with waiting ranks, its missing ranks, and the waiting ones.

    None if no rank waits.
    """
    open_ = {rank: min((n for n, call in calls.items() if not call.is_over), default=None) for rank, calls in use.calls.items()}
    sequence = min((number for number in open_.values() if number is not None), default=None)
    if sequence is None:
        return None
    waiting = {rank: use.calls[rank][sequence] for rank, number in open_.items() if number == sequence}
    since = min(call.created for call in waiting.values())
    members = _members(key, use, world)
    behind = {rank for rank in members if rank in written and use.entered.get(rank, 0) < sequence}
    missing = {rank for rank in behind if written[rank] >= since}
    unknown = {rank for rank in members if rank not in written} | (behind - missing)
    first = next(iter(waiting.values()))
    last = {rank: calls[max(calls)] for rank in missing if (calls := use.calls.get(rank))}
    result = Pending(
        _group_name(key, members), first.operation, first.backend,
        sequence, since, _calls(waiting), Ranks(missing), Ranks(unknown),
        _calls(last), min(missing, default=None),
    )  # fmt: skip
    return result, missing, set(waiting)


def _members(key: Key, use: _Use, world: set[int]) -> set[int]:
    """Return a group's ranks: from the dump, all for the default group, else those with calls."""
    if use.members:
        return set(use.members)
    return set(world) if key[1] == DEFAULT else set(use.calls)


def _group_name(key: Key, members: Iterable[int]) -> GroupName:
    return GroupName(key[0], key[1], Ranks(members))


def _mismatches(key: Key, use: _Use) -> list[Mismatch]:
    """Return the first mismatch of each kind; later ones are consequences."""
    numbers = sorted({number for calls in use.calls.values() for number in calls} - use.several)
    result: dict[str, Mismatch] = {}
    for number in numbers:
        calls = {rank: item[number] for rank, item in use.calls.items() if number in item}
        differs = _differs(list(calls.values()))
        if differs and differs not in result:
            result[differs] = Mismatch(_group_name(key, use.members or use.calls), number, differs, _calls(calls))
    return list(result.values())


def _differs(calls: Sequence[DumpEntry]) -> str:
    if len({call.operation for call in calls}) > 1:
        return "operation"
    if calls[0].operation not in SAME_SIZES:
        return ""
    if len({call.input_sizes for call in calls}) > 1:
        return "sizes"
    return "dtypes" if len({call.dtypes for call in calls}) > 1 else ""


def _calls(calls: Mapping[int, DumpEntry]) -> tuple[Call, ...]:
    """Group identical calls, rarest first."""
    ranks_by_call: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for rank, call in calls.items():
        state = "ended" if call.is_over and call.state != "completed" else call.state
        key = (call.operation, call.sequence, state, call.input_sizes, call.output_sizes, call.dtypes, user_frame(call.frames))
        ranks_by_call[key].append(rank)
    return tuple(
        Call(Ranks(ranks), *key)  # type: ignore[arg-type]
        for key, ranks in sorted(ranks_by_call.items(), key=lambda item: (len(item[1]), item[1]))
    )


def user_frame(frames: Sequence[DumpFrame]) -> DumpFrame | None:
    """Return the innermost frame of user code, else of a library, else the innermost."""
    for owner in (Owner.USER, Owner.LIBRARY):
        if (item := next((frame for frame in frames if owner_of(frame.file) is owner), None)) is not None:
            return item
    return frames[0] if frames else None
