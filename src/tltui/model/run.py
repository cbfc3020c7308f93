"""A run: logs, processes by rank, events of reading, and lookup of nodes by address."""

from __future__ import annotations

import difflib
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tltui.inputs.archives import STANDARD_INPUT
from tltui.inputs.forms import FORMS, TEXT, StepScanner, scanner_of
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.derived_cache import Parts
from tltui.model.input_joining import Joining, JoinResult
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.process_evidence import Steps, processes_of_job
from tltui.model.profiles_and_dumps import Dumps, Profiles
from tltui.model.ref import NO_ID, NORANK, AmbiguousAddress, BadAddress, CompileId, Ref, parse_ref
from tltui.model.status import NO_TALLY, Tally, is_visited, total
from tltui.sources.discover import Found, FoundLog
from tltui.sources.saved_indexes import Crowd
from tltui.text.frozen import frozen
from tltui.text.steps import run_steps
from tltui.trace.batch import Batch, Damage, Tail
from tltui.trace.files import FileBytes


@frozen
class Delta:
    """The changes of a batch."""

    compiles: tuple[Compile, ...]
    new: bool
    """Whether processes, frames or compiles were added, or a rank became known."""


@frozen
class Read:
    """The next piece of a log."""

    log: int
    """Its number in `Run.models`."""
    batch: Batch


@frozen
class Failed:
    """A log could not be read on."""

    log: int
    error: OSError


@frozen
class Added:
    """A log that was not there before: the next number is its own."""

    entry: FoundLog
    source: FileBytes
    instead_of: int | None = None
    """The number of the log that had its name before."""


@frozen
class Moved:
    """A log has another name now."""

    log: int
    path: str


@frozen
class Lost:
    """A loss of bytes: read data of a log is no longer in its file."""

    log: int
    reason: str


@frozen
class Unreadable:
    """A log that was read cannot be looked at now; or with '' as its reason it can again."""

    log: int
    reason: str


@frozen
class Looked:
    """The current contents of the paths of the run."""

    discovered: Found


@frozen
class Nothing:
    """The paths of the run hold no log, and none will come."""

    reason: str


Event = Read | Failed | Added | Moved | Lost | Unreadable | Looked | Nothing
"""What `tltui.model.follow` finds out about the files of a run."""


def find_parents(processes: list[Process]) -> None:
    """Find the parents of forked processes: a child shares its parent's string table but writes a log of its own.

    Evidence: its first own string id is above 0, or its stacks name ids that it does not define. The parent is the
    youngest older process of the same directory that defines them.
    """
    wanting = [(child, undefined) for child in processes if not child.inherits and (undefined := child.undefined_strings())]
    if not wanting:
        return
    older: dict[str, list[Process]] = {}
    for process in sorted(processes, key=lambda process: process.started):
        older.setdefault(os.path.dirname(process.log.path), []).append(process)
    for child, undefined in wanting:
        near = older[os.path.dirname(child.log.path)]
        parent: Process | None = None
        for other in reversed(near[: bisect_right(near, child.started, key=lambda process: process.started)]):
            if parent is not None and other.started < parent.started:
                break
            if other is not child and other.pid != child.pid and undefined <= other.strings.keys():
                parent = other  # of several that began at once the first one
        if parent is not None and parent is not child.parent:
            child.forked_from(parent)


Node = Rank | Process | Frame | Compile | Artifact


class Run:
    """The files of one job. `tltui.model.follow` reads them and `update` applies its events; everything else reads."""

    def __init__(self, discovered: Found) -> None:
        self.discovered = discovered
        self.parts = Parts()
        """What was derived from its nodes."""
        self.reading = threading.RLock()
        """The gate: held while nodes are read off the UI thread, in slices, and while a batch is applied."""
        self.models = [self._model(log, log.source()) for log in discovered.logs]
        """The logs, in the order in which they were found."""
        self.version = 0
        """Bumped by every batch."""
        self.profiles = Profiles(discovered.profiles)
        """What torch.profiler exported of it: read when somebody asks for run times."""
        self.dumps = Dumps(discovered.dumps)
        """What torch's flight recorder wrote of it: read when somebody asks where it is."""
        self.failures: dict[str, str] = {}
        """Path of a log → why it could not be read to its end."""
        self.lost: list[tuple[str, str]] = []
        """Path of a log, and why what was read of it is not in the file any more."""
        self.unreadable: dict[str, str] = {}
        """Path of a log that was read and cannot be looked at now → why: it was deleted, the file system fails."""
        self.joining = Joining()
        """What several inputs tell of the same processes."""
        self._ranks: list[Rank] = []
        self._counted = (-1, NO_TALLY)
        """For which version the counts of the run are."""
        self._stale = False

    def _model(self, opened: FoundLog, source: FileBytes, generation: int = 0) -> LogModel:
        log = FORMS[opened.form].log(opened.name, source, generation)
        if opened.fault:
            log.damage.append(Damage(opened.size, -1, opened.fault))
        return LogModel(log, opened.rank, opened.launch, opened.started, self.parts, opened.clock is not None, opened.form)

    def scanners(self) -> list[StepScanner]:
        """One scanner for each log, in the order of `models`."""
        return [scanner_of(model.form, model.source) for model in self.models]

    def update(self, event: Event) -> Delta:
        """Apply an event about the files."""
        with self.reading:
            if isinstance(event, Read):
                return self.apply(event.log, event.batch)
            self.version += 1
            if isinstance(event, Failed):
                self.fail(event.log, event.error)
            elif isinstance(event, Added):
                self._add(event)
            elif isinstance(event, Moved):
                self.models[event.log].log.path = event.path
            elif isinstance(event, Lost):
                self._lose(event)
            elif isinstance(event, Unreadable):
                self._say_unreadable(event)
            elif isinstance(event, Looked):
                self._set_discovered(event.discovered)
        return Delta((), True)

    def _add(self, event: Added) -> None:
        opened, before = event.entry, event.instead_of
        generation = 0
        if before is not None:
            generation = sum(model.log.path == opened.name for model in self.models)
            same = next((log for log in self.discovered.logs if log.path == opened.path), opened)
            opened = replace(opened, rank=same.rank, launch=same.launch)
        self.models.append(self._model(opened, event.source, generation))

    def _lose(self, event: Lost) -> None:
        model = self.models[event.log]
        self.lost.append((model.log.path, event.reason))
        model.end()

    def _say_unreadable(self, event: Unreadable) -> None:
        path = self.models[event.log].log.path
        if event.reason:
            self.unreadable[path] = event.reason
        else:
            self.unreadable.pop(path, None)

    def _set_discovered(self, results: Found) -> None:
        """Update the sizes and start times of the logs and the list of profiles."""
        self.discovered = results
        self.profiles.add(results.profiles)
        self.dumps.add(results.dumps)
        began = {log.name: (log.started, log.clock is not None) for log in results.logs}
        for model in self.models:
            if not model.log.ended and model.log.path in began and model.began(*began[model.log.path]):
                self._stale = True

    def apply(self, number: int, batch: Batch) -> Delta:
        """Take over a batch of the log `models[number]`."""
        model = self.models[number]
        compiles = tuple(model.apply(batch))
        self.version += 1
        self._stale |= model.rearranged or (model.form == TEXT and bool(batch.contexts))
        return Delta(compiles, model.rearranged or bool(batch.contexts) or self.joining.has(model))

    def join(self) -> Steps[JoinResult | None]:
        """Join the inputs of each process, as far as they are read; `apply_joined` makes the result visible."""
        return self.joining.join(self.models, self.finished)

    def apply_joined(self, result: JoinResult | None) -> None:
        """Show joined processes."""
        if result is not None:
            self.joining.apply(result)
            self._stale = True
            self.version += 1
        self._counted = (-1, NO_TALLY)

    def fail(self, number: int, error: OSError) -> None:
        """Record that a log cannot be read further; its records are kept."""
        log = self.models[number].log
        self.failures[log.path] = error.strerror or str(error)
        self.models[number].end()
        self.version += 1

    @property
    def finished(self) -> bool:
        """Whether all logs have ended and have been read, so that missing records will not come."""
        return not self.is_sought and all(model.log.ended for model in self.models) and not self.is_awaited

    @property
    def is_sought(self) -> bool:
        """Whether the search for its logs is still running."""
        return self.discovered.search is not None

    @property
    def is_awaited(self) -> bool:
        """Whether there is no log yet, and a job may run that writes one."""
        return not self.models and not self.discovered.is_over and not self.is_sought

    @property
    def is_read(self) -> bool:
        """Whether everything that is written by now has been read."""
        return not self.is_sought and all(model.log.ended or model.log.waiting for model in self.models)

    @property
    def goes_on(self) -> str:
        """Why more may come; '' when it is known that nothing will."""
        if self.finished:
            return ""
        if self.is_awaited:
            return "no record yet"
        if self.is_sought:
            return "tltui is still searching for its logs"
        return "the job may still be writing the log" if self.is_read else "the log is still being read"

    @property
    def clock(self) -> str:
        """`MMDD HH:MM:SS.micros` of the last record of the run, in local time of the job; '' where that is not known."""
        return max((model.log.clock for model in self.models), default="")

    @property
    def tails(self) -> list[tuple[str, Tail]]:
        """Logs that end in a record that is not complete yet: path, and where."""
        return [(model.log.path, model.log.tail) for model in self.models if model.log.tail is not None]

    @property
    def scanned(self) -> int:
        """Bytes read so far."""
        return sum(model.log.scanned for model in self.models)

    @property
    def size(self) -> int:
        """Bytes of all logs when they were found."""
        return max(sum(log.size for log in self.discovered.logs), 1)

    @property
    def title(self) -> str:
        """The name of the opened input."""
        names = [
            "standard input" if path == STANDARD_INPUT else os.path.basename(os.path.abspath(os.path.expanduser(path)))
            for path in self.discovered.paths
        ]
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    def processes(self) -> Iterator[Process]:
        """All processes, rank by rank, newest last."""
        for rank in self.ranks:
            yield from rank.processes

    def compiles(self) -> Iterator[Compile]:
        """All compiles of the run in the order of the tree, also `[-/-]`."""
        for process in self.processes():
            for frame in process.frames.values():
                yield from frame.compiles

    @property
    def ranks(self) -> list[Rank]:
        """The ranks in the order of their numbers; the processes without one last."""
        if self._stale:
            self._arrange()
        return self._ranks

    @property
    def crowd(self) -> Crowd | None:
        """The processes listed in saved indexes, unread ones included."""
        return self.discovered.crowd

    def unread(self, refs: Iterable[Ref]) -> list[FoundLog]:
        """Return the indexed but unread logs of the ranks in these addresses."""
        if self.crowd is None:
            return []
        read = {rank.number for rank in self.ranks}
        unread_ranks = {ref.rank for ref in refs if ref.rank is not None and ref.rank not in read}
        return [log for log in self.crowd.logs_of(unread_ranks) if log not in self.discovered.logs]

    @property
    def restarted(self) -> frozenset[str]:
        """The addresses of the newest processes of ranks that have several: `50.2`."""
        return frozenset(str(rank.processes[-1].ref).rstrip(":") for rank in self.ranks if len(rank.processes) > 1)

    @property
    def tally(self) -> Tally:
        """The counts over the complete run."""
        if self._counted[0] != self.version or self._stale:
            self._counted = self.version, total(process.tally for process in self.processes())
        return self._counted[1]

    @property
    def damaged(self) -> int:
        """Damaged places found while scanning."""
        return sum(len(model.log.damage) for model in self.models)

    def _arrange(self) -> None:
        """Sort the processes into ranks."""
        self._stale = False
        models = sorted(self.models, key=lambda model: (model.started, model.log.path))
        everyone = self.joining.shown(processes_of_job((model.form, process) for model in models for process in model.processes))
        by_rank: dict[int | None, list[Process]] = {}
        for process in everyone:
            by_rank.setdefault(process.rank, []).append(process)
        numbers = sorted(by_rank, key=lambda rank: (rank is None, rank or 0))
        self._ranks = [Rank(number, sorted(by_rank[number], key=_age)) for number in numbers]
        if self.crowd is not None:
            self._let_stand_for(self.crowd)
        for rank in self._ranks:
            for place, process in enumerate(rank.processes, 1):
                process.set_name(place, len(rank.processes) == 1, len(self._ranks) > 1)
        self.joining.name_members()

    def _let_stand_for(self, crowd: Crowd) -> None:
        """Let the first rank read of each class represent the unread ranks."""
        read = {rank.number for rank in self._ranks}
        stood: set[tuple[int, ...]] = set()
        for rank in self._ranks:
            equivalent = crowd.like(rank.number) if rank.number is not None else ()
            if equivalent and equivalent not in stood:
                stood.add(equivalent)
                rank.unread = tuple(number for number in equivalent if number not in read)

    def resolve(self, ref: Ref | str) -> Node | None:
        """Return the node at an address; None for the run itself. Raises `BadAddress` with near ones or the candidates."""
        if isinstance(ref, str):
            ref = parse_ref(ref)
        if ref.id is None:
            return self._place(ref)
        nodes = self._at(ref)
        if not nodes:
            raise self._unknown(ref)
        if ref.artifact is not None:
            return self._artifact(ref, nodes)
        if len(nodes) > 1:
            raise AmbiguousAddress(ref, _listed(f"{node.ref} ({_place_name(node.process)})" for node in nodes), "rank")
        return nodes[0]

    def other_epochs(self, ref: Ref) -> str:
        """Return a remark on an address without an epoch where there are several, '' otherwise."""
        if ref.id is None or ref.id.epoch or ref.bare:
            return ""
        processes = self._candidates(ref)
        if len(processes) != 1 or processes[0].epochs == 1:
            return ""
        nodes: list[Frame] | list[Compile] = processes[0].frames_of(ref.id) if ref.is_frame else processes[0].epochs_of(ref.id)
        if len(nodes) < 2:
            return ""
        newest, older = Ref(ref.rank, ref.process, ref.id), _listed(str(node.ref) for node in nodes[:-1])
        return f"{newest} is the newest of {len(nodes)} with this id, {nodes[-1].ref}: compile ids restarted. Older: {older}"

    def _place(self, ref: Ref) -> Rank | Process | None:
        if ref.rank is None:
            return None
        number = None if ref.rank == NORANK else ref.rank
        rank = next((rank for rank in self.ranks if rank.number == number), None)
        if rank is None and number is not None and self.crowd is not None and number in self.crowd.newest:
            raise BadAddress(f"rank {number} was not read: rank {self.crowd.like(number)[0]} has the same contents")
        if rank is None:
            there_are = _listed(str(item.ref).rstrip(":") for item in self.ranks) or "none"
            raise BadAddress(f"unknown rank: '{'norank' if number is None else number}'", f"ranks of this run: {there_are}")
        if ref.process is None:
            return rank
        if not 1 <= ref.process <= len(rank.processes):
            processes = _listed(str(process.ref) for process in rank.processes)
            raise BadAddress(f"unknown process: '{ref}'", f"processes of {rank.title}: {processes}")
        return rank.processes[ref.process - 1]

    def _candidates(self, ref: Ref) -> list[Process]:
        place = self._place(Ref(ref.rank, ref.process))
        if place is None:
            return list(self.processes())
        return place.processes if isinstance(place, Rank) else [place]

    def _at(self, ref: Ref) -> list[Frame] | list[Compile]:
        assert ref.id is not None
        processes = self._candidates(ref)
        if ref.is_frame and ref.artifact is None:
            return [frame for process in processes if (frame := process.find_frame(ref.id)) is not None]
        compiles = [match for process in processes if (match := process.find(ref.id)) is not None]
        if ref.attempt is not None:
            compiles = [compile_ for compile_ in compiles if ref.attempt in compile_.attempts]
        return compiles

    def _artifact(self, ref: Ref, nodes: list[Frame] | list[Compile]) -> Artifact:
        owners = [node for node in nodes if isinstance(node, Compile)]
        all_of_them = [artifact for owner in owners for artifact in artifacts_of(owner)]
        matching = [artifact for artifact in all_of_them if artifact.name == ref.artifact]
        if ref.attempt is not None:
            matching = [artifact for artifact in matching if artifact.attempt == ref.attempt]
        matches = matching if ref.n is None else [artifact for artifact in matching if artifact.n == ref.n]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise AmbiguousAddress(ref, _choices(matches), "unit" if len(nodes) == 1 else "rank")
        if matching:
            raise BadAddress(f"unknown address: '{ref}'", f"use {_choices(matching)}")
        near = difflib.get_close_matches(ref.artifact or "", {artifact.name for artifact in all_of_them}, 6, 0.4)
        names = near or sorted({artifact.name for artifact in all_of_them})
        owner = str(replace(ref, artifact=None, n=None))
        advice = f"artifacts of {owner}: {_listed(names)}" if names else f"{owner} has no artifacts"
        raise BadAddress(f"unknown address: '{ref}'", advice)

    def _unknown(self, ref: Ref) -> BadAddress:
        assert ref.id is not None
        processes = list(enumerate(self._candidates(ref)))
        ids = {str(c.ref): (place, c.id) for place, process in processes for c in process.compiles.values()}
        if not ids:
            return BadAddress(f"unknown address: '{ref}'", "the log has no records with a compile id")

        def distance(other: CompileId) -> tuple[int, int]:
            if ref.id is None or other.frame is None or ref.id.frame is None:
                return (1 << 30, 0)
            return (abs(other.frame - ref.id.frame), abs((other.compile or 0) - (ref.id.compile or 0)))

        near = sorted(sorted(ids, key=lambda name: distance(ids[name][1]))[:6], key=lambda name: _order(*ids[name]))
        unknown = f"unknown frame: '{str(ref).rstrip('/')}'" if ref.is_frame else f"unknown address: '{ref}'"
        return BadAddress(unknown, f"near it: {_listed(near)}")


def _order(place: int, compile_id: CompileId) -> tuple[int, bool, int, int]:
    """Return the sort key of an address: records without an id come last."""
    return place, compile_id.frame is None, compile_id.frame or 0, compile_id.compile or 0


def _place_name(process: Process) -> str:
    """Return `rank 0`, `rank 0, process 2`, each only where the run has several."""
    rank = "no rank" if process.rank is None else f"rank {process.rank}"
    return rank if process.alone else f"{rank}, process {process.number}" if process.ranks_differ else f"process {process.number}"


def _choices(artifacts: Sequence[Artifact]) -> str:
    """Return the addresses of artifacts of one name, and their differences: rank, attempt and unit."""
    is_placed = len({artifact.owner for artifact in artifacts}) > 1
    has_attempts = len({artifact.attempt for artifact in artifacts}) > 1
    choices = []
    for artifact in artifacts:
        owner = artifact.owner
        words = [_place_name(owner.process)] * is_placed + [f"attempt {artifact.attempt}"] * has_attempts
        words += [unit.name for unit in units_of(artifacts_of(owner)) if unit.number == artifact.unit]
        choices.append(f"{artifact.ref} ({', '.join(words)})" if words else str(artifact.ref))
    return _listed(choices)


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")


def _age(process: Process) -> tuple[int, float, int, int]:
    launch = process.launch.rpartition("_")[2]
    return (int(launch) if launch else -1, process.started, process.pid, process.twin)


def settle(run: Run) -> None:
    """Find the parents of forked processes and join processes, after a scan or a part of one."""
    settle_joined(run, run_steps(run.join()))


def settle_joined(run: Run, result: JoinResult | None) -> None:
    """Do the same once `Run.join` has ended."""
    run.apply_joined(result)
    find_parents(list(run.processes()))


T = TypeVar("T")


def in_order(run: Run) -> Iterator[Compile]:
    """Yield the compiles in the order of the tree, without the nodes of records without an id."""
    for process in run.processes():
        for frame in process.frames.values():
            if frame.key != NO_ID:
                yield from frame.compiles


def has_error(compile_: Compile) -> bool:
    """Return whether a compile failed or runs in eager mode (a predicate for `next_compile`)."""
    return is_visited(compile_, "e")


def has_break(compile_: Compile) -> bool:
    """For `next_compile`: also of compiles that failed."""
    return is_visited(compile_, "b")


def next_compile(
    run: Run, current: Compile | None, matches: Callable[[Compile], bool], back: bool = False
) -> Compile | None:
    """Return the next matching compile in tree order; without a current one from the beginning (or the end)."""
    order = list(in_order(run))
    if back:
        order.reverse()
    start = order.index(current) + 1 if current in order else 0
    return next((compile_ for compile_ in order[start:] if matches(compile_)), None)


def next_in_frame(current: Compile, back: bool = False) -> Compile | None:
    """Return the compile of the same frame after (or before) this one."""
    return _after(current.frame.compiles, current, back)


def next_artifact(compile_: Compile, current: Artifact | None, back: bool = False) -> Artifact | None:
    """Return the artifact of the compile after (or before) the current one, in record order."""
    artifacts = artifacts_of(compile_)
    if current is None:
        return (artifacts[-1] if back else artifacts[0]) if artifacts else None
    records = [artifact.record for artifact in artifacts]
    place = records.index(current.record) + (-1 if back else 1) if current.record in records else 0
    return artifacts[place] if 0 <= place < len(artifacts) else None


def on_next_rank(run: Run, current: Compile, back: bool = False) -> tuple[Compile | None, str]:
    """Return the compile of the same code object on the next rank that has it, and a remark.

    The same code object: same name, file and line, and ordinal. The remark: ids differ between ranks, or there is no such compile.
    """
    processes = [rank.processes[-1] for rank in run.ranks]
    index = next((place for place, rank in enumerate(run.ranks) if current.process in rank.processes), 0)
    code, ordinal = current.frame.code, _ordinal(current)
    candidates = processes[index + 1 :] if not back else list(reversed(processes[:index]))
    if code[0] is None:
        return None, f"no code object is recorded for {current.label}, so it cannot be looked up on other ranks"
    for passed, process in enumerate(candidates):
        same = _same_code(process, code)
        if len(same) > ordinal:
            target = same[ordinal]
            remark = "" if target.id == current.id else f"on this rank the compile is {target.label}, not {current.label}"
            if passed:
                remark = f"{remark}; " * bool(remark) + f"{passed} skipped rank{'s' * (passed > 1)} did not compile it"
            return target, remark
    if not candidates:
        return None, f"no {'earlier' if back else 'later'} rank"
    return None, f"no {'earlier' if back else 'later'} rank compiled {code[0]} that many times"


def _same_code(process: Process, code: tuple[str | None, str | None, int | None]) -> list[Compile]:
    return [c for frame in process.frames.values() if frame.code == code for c in frame.compiles]


def _ordinal(compile_: Compile) -> int:
    return _same_code(compile_.process, compile_.frame.code).index(compile_)


def _after(items: Sequence[T], current: T, back: bool) -> T | None:
    place = items.index(current) + (-1 if back else 1)
    return items[place] if 0 <= place < len(items) else None
