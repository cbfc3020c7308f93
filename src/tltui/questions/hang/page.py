"""The page `where`: remarks, collectives in dumps of torch's flight recorder, stacks and next steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.scope import Scope
from tltui.inputs.flight_recorder import Dump, DumpEntry, DumpFrame
from tltui.model.input_coverage import Needs
from tltui.model.profiles_and_dumps import RefusedDump
from tltui.model.ref import Ranks, and_more, is_several, with_noun
from tltui.model.run import Run
from tltui.questions.coverage.input_sections import add_not_read
from tltui.questions.coverage.job_inputs import not_read
from tltui.questions.hang.open_phases import INTERRUPTED, Inside
from tltui.questions.hang.process_sections import Here, StackGroup, add_processes, stack_groups, stacks_answer
from tltui.questions.hang.where import INSIDE, Group, Older, Where, read_where
from tltui.questions.hang.where_sections import (
    FEW,
    GROUPS_SHOWN,
    add_group,
    add_rest,
    answer,
    doing,
    is_cause_unknown,
    short,
    subject,
    these,
)
from tltui.questions.job_failures.failure_sections import CAUSE_UNKNOWN, add_ends, add_overlaps, end_answer
from tltui.questions.job_failures.job_failures import RunFailure, run_failures
from tltui.questions.question import Question
from tltui.questions.ranks.rank_chart import read_chart
from tltui.questions.ranks.rank_chart_sections import add_chart
from tltui.questions.ranks.stragglers_page import clock_sentence
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen, mutable
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import PREFIX, RESUMED, Owner, owner_of

DEFAULT_GROUP = "default_pg"
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

SHOWN = 4
"""Collectives, mismatches and dumps that could not be read, of each as many."""
NAME_WIDTH = 40

OTHERS_SHOWN = 3
PID_MAX = 1 << 22
"""No process of Linux has a greater number."""
Line = tuple[str, str]
"""A text, and the address that it leads to; '' for none."""


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
    """The ranks without a dump that is new enough."""
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


@frozen
class WhereReport:
    """Where a job is."""

    answer: str
    """In a sentence."""
    where: Where
    processes: Here | None = None
    """What the processes of the run on this machine do, where that was asked for."""
    stacks: tuple[StackGroup, ...] = ()
    """Their Python stacks in groups, the odd one first, where these were asked for."""
    collectives: Collectives | None = None
    """The collectives in dumps of torch's flight recorder; None without a dump."""
    failures: tuple[RunFailure, ...] = ()
    """How the processes of an ended job failed, as its output reports it: causes before consequences."""


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
    return set(world) if key[1] == DEFAULT_GROUP else set(use.calls)


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


def collectives_answer(recorded: Collectives, over: bool = False) -> str:
    """Return the answer in a sentence; '' where no dump names a rank. `over`: the job has ended, so that no rank waits any more."""
    first = next((item for item in recorded.pending if item.missing_ranks), None)
    if first is not None:
        return _not_entered(first, over)
    if recorded.mismatches:
        return f"{_mismatch(recorded.mismatches[0])}."
    unknown = next((item for item in recorded.pending if item.unknown_ranks), None)
    if unknown is not None:
        who = _these(_waiting(unknown))
        return (
            f"{who} {_wait(_waiting(unknown), over)} in {_call(unknown)}; no dump of the flight recorder shows whether "
            f"{with_noun(short(unknown.unknown_ranks))} entered it."
        )
    return ""


def _not_entered(item: Pending, over: bool) -> str:
    """`Rank 1 has not entered barrier, number 2 of the group of all ranks, in which ranks 0, 2 have waited since 14:25:02.`"""
    waiting, have = _waiting(item), "had" if over else "have" if is_several(item.missing_ranks) else "has"
    waited = "had waited" if over else "have waited" if is_several(waiting) else "has waited"
    text = f"{_these(item.missing_ranks)} {have} not entered {_call(item)}, in which {with_noun(short(waiting))} {waited}"
    text += f" since {fmt.clock(item.since_at_us)}"
    if len(item.last_calls) == 1:
        last = item.last_calls[0]
        whose = "Their" if is_several(item.missing_ranks) else "Its"
        text += f". {whose} last call in this group was {_operation(last)}{_at(last)}"
    return f"{text}."


def _call(item: Pending) -> str:
    return f"{_name(item.operation)}, number {item.sequence} of {_group(item.group)}{_at(item.waiting_calls[-1])}"


def _operation(call: Call) -> str:
    return f"{_name(call.operation)}, number {call.sequence}"


def _at(call: Call) -> str:
    """` (job.py:288 in sync)`"""
    if call.frame is None or not call.frame.file:
        return ""
    return f" ({sanitize(fmt.place(call.frame.file, call.frame.line))} in {_name(call.frame.function)})"


def _group(group: GroupName) -> str:
    if group.description == DEFAULT_GROUP:
        return "the group of all ranks"
    described = "" if group.description in ("", "undefined") else f" ({_name(group.description)})"
    return f"process group {_name(group.name)}{described}"


def _name(text: str) -> str:
    return fmt.clip_middle(sanitize(text), NAME_WIDTH)


def _waiting(item: Pending) -> Ranks:
    return Ranks(rank for call in item.waiting_calls for rank in call.ranks)


def _wait(ranks: Ranks, over: bool) -> str:
    return "waited" if over else "wait" if is_several(ranks) else "waits"


def _these(ranks: Ranks) -> str:
    return these(short(ranks))


def _mismatch(item: Mismatch) -> str:
    calls = [f"{with_noun(short(call.ranks))}: {_call_words(call, item.difference)}{_at(call)}" for call in item.calls[:SHOWN]]
    return f"Call number {item.sequence} of {_group(item.group)} differs between ranks: {'; '.join(calls)}"


def _call_words(call: Call, differs: str) -> str:
    if differs == "operation":
        return _name(call.operation)
    if differs == "dtypes":
        return f"{_name(call.operation)} of {', '.join(map(_name, call.dtypes[:SHOWN]))}"
    return f"{_name(call.operation)} of {_sizes(call.input_sizes)}"


def _sizes(sizes: Sequence[Sequence[int]]) -> str:
    shown = ", ".join(f"[{', '.join(map(str, item))}]" for item in sizes[:SHOWN])
    return shown + (", …" if len(sizes) > SHOWN else "") if sizes else "no tensors"


def add_collectives(page: Page, recorded: Collectives, refused: Sequence[RefusedDump]) -> None:
    """Add each collective in which ranks wait, calls that do not match, and dumps that could not be read."""
    page.heading(f"Flight recorder of {with_noun(short(recorded.ranks))}" if recorded.ranks else "Flight recorder")
    for item in recorded.pending[:SHOWN]:
        _add_pending(page, item)
    if (more := len(recorded.pending) - SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more collective')} in which ranks wait", "  ", tokens.DIM)
    for mismatch in recorded.mismatches[:SHOWN]:
        page.say(f"{_mismatch(mismatch)}.", "  ", tokens.WARN)
    if recorded.is_older:
        page.say("These dumps are older than this run, so they belong to another run.", "  ")
    elif recorded.ranks and not recorded.pending and not recorded.mismatches:
        page.say("Every collective in a dump had finished when that dump was written.", "  ")
    for dump in refused[:SHOWN]:
        page.say(f"not read: {fmt.home(sanitize(dump.path))}: {dump.reason}", "  ", tokens.WARN)
    if (more := len(refused) - SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more dump')} not read", "  ", tokens.DIM)


def _add_pending(page: Page, item: Pending) -> None:
    number = f"  number {item.sequence} of {_group(item.group)}"
    page.row([(_name(item.operation), tokens.STRONG), number, (f"  {_name(item.backend)}", tokens.DIM)])
    for call in item.waiting_calls:
        pieces: list[Piece] = [f"{with_noun(short(call.ranks))}: {_name(call.state)}"]
        if call.input_sizes:
            pieces.append((f"  {_sizes(call.input_sizes)} {', '.join(map(_name, call.dtypes[:SHOWN]))}", tokens.DIM))
        page.row([*pieces, *_frame(page, call)], "    ")
    for call in item.last_calls:
        page.row([f"{with_noun(short(call.ranks))}: not entered; last call {_operation(call)}", *_frame(page, call)], "    ")
    if item.missing_ranks and not item.last_calls:
        page.say(f"{with_noun(short(item.missing_ranks))}: not entered, and no other call of this group recorded", "    ")
    if item.unknown_ranks:
        page.say(f"{with_noun(short(item.unknown_ranks))}: no dump, or an older one", "    ", tokens.DIM)


def _frame(page: Page, call: Call) -> list[Piece]:
    if call.frame is None or not call.frame.file:
        return []
    return ["  ", page.place(call.frame.file, call.frame.line), f" {_name(call.frame.function)}"]


def add_remarks(page: Page, places: Where) -> None:
    """Add the remarks about clocks, ranks without a log, earlier processes, and other processes with open phases."""
    remarks = [f"{clock_sentence(clock)} Times on this page are corrected." for clock in places.clocks[:OTHERS_SHOWN]]
    if len(places.clocks) > OTHERS_SHOWN:
        remarks.append(f"{len(places.clocks) - OTHERS_SHOWN} more clocks differ and are corrected too.")
    if places.ranks_without_log:
        lacking = and_more(places.ranks_without_log, places.ranks_without_log_count)
        remarks.append(page.so_far(f"No log of {with_noun(short(lacking))}."))
    lines = [(text, "") for text in remarks]
    lines += _restarted(places.restarted) + _additional(places)
    if lines:
        page.blank()
    for text, ref in lines:
        if ref:
            page.row([f"{text} ", (f"[{ref}]", tokens.LINK, ref)], "")
        else:
            page.say(text, "", tokens.DIM)


def _restarted(restarted: Sequence[Older]) -> list[Line]:
    """Describe the earlier processes of ranks: those that ended with open phases, then the number of the others."""
    lines = []
    for one in [one for one in restarted if one.open is not None][:OTHERS_SHOWN]:
        assert one.open is not None
        whose = f"Rank {one.rank} was started again" if one.rank is not None else "An earlier log"
        verb = "was in" if one.has_ended else "is in"
        lines.append((f"{whose}: its earlier process, pid {one.pid}, {verb} {_open(one.open)}", one.open.ref))
    rest = len(restarted) - len(lines)
    if rest:
        is_rank, s = restarted[0].rank is not None, "" if rest == 1 else "s"
        noun = f"earlier process{'es' * bool(s)} of the same ranks" if is_rank else f"earlier log{s}"
        lines.append((f"{fmt.count(rest)}{' more' if lines else ''} {noun} {'are' if s else 'is'} not shown.", ""))
    return lines


def _additional(places: Where) -> list[Line]:
    """Describe processes without a rank, forked ones, and other threads."""
    lines = []
    for one in places.other_processes[:OTHERS_SHOWN]:
        assert one.open is not None
        lines.append((f"In addition, process {one.pid} {'was' if one.has_ended else 'is'} in {_open(one.open)}", one.open.ref))
    rest = len(places.other_processes) - len(lines)
    if rest:
        lines.append((f"{fmt.plural(rest, 'more process', 'more processes')} with open compile phases.", ""))
    if places.other_threads:
        first, more = places.other_threads[0], len(places.other_threads) - 1
        whose = f"Also open on rank {first.rank}" if places.has_ranks else "Also open"
        text = f"{whose}, in another thread: {_open(first.open)}"
        lines.append((text + (f" (and {fmt.count(more)} more)" if more else ""), first.open.ref))
    return lines


def _open(one: Inside) -> str:
    text = doing(one, one.id)
    return f"{text}: {sanitize(one.trail)}" if one.trail else text


def add_advice(page: Page, places: Where, asked: bool = False, missing: tuple[int, int] | None = None) -> None:
    """Add the next step in a line or two.

    `asked`: the page has the state of its processes already. `missing`: a rank that others wait for by the flight recorder, and
    its process: the one to look at.
    """
    running = [group for group in places.groups if not group.has_ended and group.activity != INTERRUPTED]
    if not running:
        if not asked:
            _still_alive(page, places)
        return
    page.blank()
    first = running[0]
    if any(group.waits_for_ranks for group in running):
        waits = f"A rank in {running[-1].collective} only waits for the others"
        page.say(f"{waits}. Look at {subject(first, places)}.", "", tokens.DIM)
    elif first.state == INSIDE and any(group.state != INSIDE for group in running):
        page.say(
            f"The logs do not show yet whether the ranks that are not compiling compute or wait for {subject(first, places)}.", "",
            tokens.DIM,
        )  # fmt: skip
    elif first.state != INSIDE:
        page.say(
            "According to its logs, the job is not compiling. If it hangs now, it hangs in a kernel, a collective, data "
            "loading or code that is not compiled.", "", tokens.DIM,
        )  # fmt: skip
    rank, pid = missing or (first.first_rank, first.pid)
    if not asked:
        _suggest_stacks(page, pid, f"where rank {rank} runs" if places.has_ranks else "of the job")


def _still_alive(page: Page, places: Where) -> None:
    """Suggest to sample stacks of a job that seems over: a log without a write for ten minutes counts as ended."""
    open_group = next((group for group in places.groups if group.state == INSIDE and group.activity != INTERRUPTED), None)
    if open_group is not None:
        page.blank()
        _suggest_stacks(page, open_group.pid, "where it runs")


def _suggest_stacks(page: Page, pid: int, place: str) -> None:
    """Suggest how to see where a process is now."""
    # logs of torch 2.4 and older have the number of the thread in place of the process
    command = f" (py-spy dump --pid {pid})" if 0 < pid <= PID_MAX else ""
    page.say(
        f"To see whether the process is alive, run `tltui where {page.options.path} --pids` on the machine {place} (on screen: P). "
        f"Add --stacks for its Python stacks{command}.", "", tokens.DIM,
    )  # fmt: skip


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page with the positions of the processes of the scope."""
    return where_document(run, scope, options, None)


def where_document(run: Run, scope: Scope, options: Options, here: Here | None, ref: str = "") -> Document:
    """Return the page `where` with the processes on this machine; `ref`: its address, where it is not that of the view."""

    def fill(page: Page) -> Generator[None, None, WhereReport]:
        page.add((f"Where{scope.title}", tokens.TITLE))
        places = yield from read_where(run, scope.processes if str(scope.ref) else None)
        yield from run.dumps.steps()
        recorded = _recorded(run, scope)
        groups = stack_groups(run, here) if here is not None else ()
        failures = () if places.goes_on or str(scope.ref) else run_failures(run)
        if failures:
            places = replace(places, groups=_causes_first(places.groups, failures))
        by_dumps = collectives_answer(recorded, not places.goes_on) if recorded is not None else ""
        end = end_answer(failures)
        first, *others = [sentence for sentence in (stacks_answer(groups), by_dumps, answer(places)) if sentence]
        report = WhereReport(f"{end} {first}".strip(), places, here, groups, recorded, failures)
        at_once = frozenset() if str(scope.ref) else add_overlaps(page, run)
        if at_once:  # processes of another job, not older ones of this job
            places = replace(places, restarted=tuple(one for one in places.restarted if one.pid not in at_once))
        if failures:
            add_ends(page, run, failures)
        elif is_cause_unknown(run, places):
            page.say(CAUSE_UNKNOWN, "", tokens.WARN)
        page.say(first, "", "" if failures else tokens.STRONG)
        for sentence in others:
            page.say(sentence)
        if any(PREFIX in (group.function or "") for group in places.groups):
            page.say(f"{RESUMED}.", "", tokens.DIM)
        add_not_read(page, not_read(run))
        page.more("this page shows only the records written so far")
        _groups(page, places)
        if recorded is not None:
            add_collectives(page, recorded, run.dumps.refused)
        add_remarks(page, places)
        if here is not None:
            add_processes(page, run, here)
        add_advice(page, places, here is not None or bool(failures), _missing(run, recorded))
        if not str(scope.ref):
            add_chart(page, (yield from read_chart(run)))
        return report

    return GrowingDocument(ref or scope.page("where"), f"where{scope.title}", options, fill, Page)


def _causes_first(groups: Sequence[Group], failures: Sequence[RunFailure]) -> tuple[Group, ...]:
    """Order groups of ranks: those that failed by themselves first, those that the launcher ended last."""
    newest = max(failure.launch for failure in failures)
    culprits = {item.rank for item in failures if item.launch == newest and not item.is_consequence}
    followers = {item.ranks for item in failures if item.launch == newest and item.is_consequence}
    return tuple(sorted(groups, key=lambda group: 0 if group.first_rank in culprits else 2 if group.ranks in followers else 1))


def _recorded(run: Run, scope: Scope) -> Collectives | None:
    """Return the collectives in the dumps of the run's flight recorder; None without a dump."""
    if str(scope.ref) or not (run.dumps.dumps or run.dumps.refused):
        return None
    ranks = [rank.number for rank in run.ranks if rank.number is not None]
    began = min((process.started for process in run.processes() if process.is_traced and process.started), default=0.0)
    return compare_dumps(run.dumps.dumps, ranks, began * 1e6)


def _missing(run: Run, recorded: Collectives | None) -> tuple[int, int] | None:
    """Return a rank that has not entered a collective in which others wait, and its newest process; None if no dump shows one."""
    rank = next((item.first_missing for item in recorded.pending if item.missing_ranks), None) if recorded is not None else None
    processes = [process for process in run.processes() if process.rank == rank and process.is_traced] if rank is not None else []
    return (rank, processes[-1].pid) if rank is not None and processes else None


def _groups(page: Page, places: Where) -> None:
    if len(places.groups) > 1 or (places.groups and places.groups[0].state == INSIDE):
        page.blank()
        for number, group in enumerate(places.groups[:GROUPS_SHOWN]):
            add_group(page, group, places, number < FEW)
        add_rest(page, places.groups[GROUPS_SHOWN:], places)


@frozen
class WhereRow:
    """Ranks at the same place; the ranks with the least progress come first."""

    ranks: Ranks
    """The ranks."""
    count: int
    """How many they are."""
    state: str
    """`inside`: something is open; `between`: nothing is; `empty`: no compile was begun."""
    has_ended: bool
    """Whether their logs have ended: then they were there."""
    activity: str
    """The open operation."""
    function: str | None
    """That is compiled, or was compiled last."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    ref: str
    """The address of the compile on the first of them."""
    phase_path: tuple[str, ...]
    """The most informative open phases, the outermost first."""
    since_at_us: float | None
    """When the innermost of them began, in microseconds since 1970 (UTC)."""
    finished_compiles: int
    """Compiles that each has finished at least."""
    is_behind: bool
    """Nothing is open, and they have made less progress than others."""


def where_rows(data: WhereReport) -> Iterator[WhereRow]:
    """Yield a row for each group of ranks."""
    for group in data.where.groups:
        yield WhereRow(
            group.ranks, group.count, group.state, group.has_ended, group.activity, group.function, group.file, group.line,
            group.ref, group.phase_path, group.since_at_us, group.finished_compiles, group.is_behind,
        )  # fmt: skip


QUESTION = Question(
    name="where",
    help="where a job hangs: the compile phase of each rank, its start, and ranks that are not compiling",
    key="W",
    group="ranks and hangs",
    order=130,
    needs=Needs("does not record open phases", reads_output=True),
    document=document,
    answer=WhereReport,
    rows=WhereRow,
    records=where_rows,
    doc="""
    Where a job hangs: the compile phase of each rank, its start, and ranks that are not compiling. A row per group of ranks.
    """,
)
