"""Inputs of a run: contributions and contradictions of each kind, unreadable files, ranks without a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from tltui.inputs.forms import FORMS
from tltui.model.artifacts import artifact_name
from tltui.model.nodes import Compile
from tltui.model.process_evidence import EXACT, is_of_job
from tltui.model.record_reader import records_of
from tltui.model.ref import Range, Ranks, counted, gaps, listed
from tltui.model.run import Run
from tltui.questions.ranks.lanes import indexed_lanes
from tltui.text.frozen import frozen

SCRIPT = "fx_graph_runnable"
STATES_SIZE: Mapping[str, re.Pattern[bytes]] = {
    "fx_collectives_node_runtime_estimation": re.compile(rb"\A# World size: (\d{1,7})\n"),
    "fx_collectives_analytical_estimation": re.compile(rb"\A# World size: (\d{1,7})\n"),
    "inductor_spmd_graph_mismatch": re.compile(rb"\A=+\nSPMD GRAPH MISMATCH[^\n]*, world_size=(\d{1,7})\n"),
    SCRIPT: re.compile(rb"^ *setup_fake_process_groups\(\{.*'0': \{'size': (\d{1,7}), ", re.MULTILINE),
}
"""Artifact → where it states the world size (torch/_inductor/fx_passes: node_runtime_estimation.py, spmd_check.py;
torch/_dynamo/repro/after_aot.py). The process group `0` is the one of `init_process_group`, with all ranks in it
(`_process_group_name` in torch/distributed/distributed_c10d.py)."""
READ = 4096
"""Bytes at the beginning of such an artifact that are read, of a script at its end."""
PROCESSES_READ, COMPILES_READ = 8, 32
"""Processes, and compiles of each, in which a world size is looked for."""


@frozen
class Missing:
    """Ranks of the job without any input."""

    ranks: Ranks
    """At most 65,536 of them."""
    count: int
    """The number of all of them."""
    highest_rank: int
    """The highest rank that is here."""
    world_size: int | None
    """What a record states; None where none was seen to."""
    ref: str
    """The address of the artifact that states it; '' for none."""
    ranks_per_node: int
    """How many ranks each node has that is here, where they are as many on all of them and those that are missing are those of
    whole nodes; 0 where that is not so."""
    node_count: int
    """How many nodes are here; 0 where `ranks_of_node` is."""


def missing_ranks(run: Run) -> Missing | None:
    """Find the ranks of a job without any input; None if none is known to be missing.

    Logs that were named one by one are a choice: nothing is missing.
    """
    have = ranks_here(run)
    if not have or run.is_sought or _are_chosen(run):
        return None
    size, ref = world_size(run)
    highest = max(have)
    lacking = gaps({*have, size} if size is not None else have)
    if size is not None:
        lacking = [(first, min(last, size - 1)) for first, last in lacking if first < size]
    if not lacking:
        return None
    of_node, nodes = _nodes(run, lacking)
    return Missing(listed(lacking), counted(lacking), highest, size, ref if size is not None else "", of_node, nodes)


def ranks_here(run: Run) -> set[int]:
    """Return the ranks with a log or an index, including unreadable logs."""
    ranks = {rank.number for rank in run.ranks if rank.number is not None}
    ranks.update(log.rank for log in run.discovered.logs if log.rank is not None and log.name in run.failures)
    ranks.update(() if run.crowd is None else run.crowd.newest)
    return ranks


def _are_chosen(run: Run) -> bool:
    return all(log.is_here and log.path in run.discovered.paths for log in run.discovered.logs)


def world_size(run: Run) -> tuple[int | None, str]:
    """Return the world size in a record, and the address of its artifact. Only some records are read."""
    for process in islice(run.processes(), PROCESSES_READ):
        for compile_ in islice(process.compiles.values(), COMPILES_READ):
            for size, ref in _stated(compile_):
                return size, ref
    return None, ""


def _stated(compile_: Compile) -> Iterator[tuple[int, str]]:
    for record, name in records_of(compile_, STATES_SIZE):
        try:
            payload = compile_.process.log.payload(record)
            if payload is None:
                continue
            begin = max(payload.size - READ, 0) if name == SCRIPT else 0
            data = payload.source.read(payload.offset + begin, min(payload.size, READ))
        except OSError:  # not in the file any more, or not in the index
            continue
        if match := STATES_SIZE[name].search(data.replace(b"\n\t", b"\n").removeprefix(b"\t")):
            yield int(match[1]), str(compile_.ref)


def _nodes(run: Run, lacking: list[Range]) -> tuple[int, int]:
    """Return ranks per node and the number of nodes, if whole nodes of equal size are missing."""
    if run.crowd is None:
        return 0, 0
    hosts = Counter(saved.host for saved in run.crowd.newest.values())
    sizes = set(hosts.values())
    if "" in hosts or len(hosts) < 2 or len(sizes) != 1:
        return 0, 0
    [size] = sizes
    blocks = {(rank // size, saved.host) for rank, saved in run.crowd.newest.items()}
    are_nodes = len(blocks) == len(hosts) and not any(first % size or (last + 1) % size for first, last in lacking)
    return (size, len(hosts)) if are_nodes and size > 1 else (0, 0)


@frozen
class Holding:
    """Inputs of one form."""

    form: str
    """The name of the form in `tltui.inputs.forms`."""
    title: str
    ranks: tuple[int, ...]
    """Ranks of its processes that have one."""
    processes: int
    files: int


@frozen
class Conflict:
    """Fact that differs between two inputs, or different processes with one number."""

    ref: str
    """The artifact as the first input has it; '' for processes."""
    name: str
    """Of the artifact; for processes their pid."""
    first_input: str
    """Names of the two inputs."""
    second_input: str
    reason: str


def holdings(run: Run) -> list[Holding]:
    """Return the inputs by form, the most complete form first."""
    results = []
    for name, form in FORMS.items():
        models = [model for model in run.models if model.form == name]
        processes = [process for model in models for process in model.processes if is_of_job(name, process)]
        if processes:
            ranks = sorted({process.rank for process in processes if process.rank is not None})
            results.append(Holding(name, form.title, tuple(ranks), len(processes), len(models)))
    return results


def is_plain(run: Run) -> bool:
    """Return whether all processes have only traces, so that no note is needed."""
    models = [model for model in run.models if any(is_of_job(model.form, process) for process in model.processes)]
    return run.joining.is_plain(models)


def conflicts(run: Run) -> Iterator[Conflict | None]:
    """Yield contradictions between texts that should be byte-identical; None in between. Reads those texts.

    Inputs that still grow are skipped: the missing part may follow.
    """
    for apart in run.joining.apart:
        yield Conflict("", str(apart.other.pid), apart.base.log.path, apart.other.log.path, apart.why)
    for merged in run.joining.merged:
        if not all(process.log.ended for process in merged.members):
            continue
        for twins in merged.twins:
            (member, record), (other, again) = twins.first, twins.second
            base, left = merged.members[member].log, merged.members[other].log
            name = artifact_name(base.kind(record))
            if name not in EXACT:
                continue
            try:
                same = (base.md5(record) or "").lower() == (left.md5(again) or "").lower()
            except OSError:
                same = True  # unreadable files are reported by `not_read`
            if same:
                yield None
                continue
            owner = merged.model.owner(merged.places[member][record])
            yield Conflict(f"{owner.ref}:{name}", name, base.path, left.path, "they differ")


@frozen
class NotRead:
    """A file that could not be read, or not all of it."""

    path: str
    reason: str
    ranks: Ranks = Ranks()
    """The ranks that it has and that are therefore left out, as far as that is known."""


def not_read(run: Run) -> tuple[NotRead, ...]:
    """List the files that could not be read, and those that were not opened."""
    return (*failed_files(run), *(NotRead(file.path, file.reason) for file in run.discovered.skipped))


def failed_files(run: Run) -> tuple[NotRead, ...]:
    """List the files that were opened and could not be read to their ends. A saved index is one file, however many logs it has."""
    logs = {log.name: log for log in run.discovered.logs}
    ranks: dict[tuple[str, str], set[int]] = {}
    for name, reason in run.failures.items():
        log = logs.get(name)
        path = name if log is None or log.is_here else log.index
        ranks.setdefault((path, reason), set()).update(_ranks_of(run, name))
    if run.crowd is not None:
        for path, reason in indexed_lanes(run.crowd).damaged.items():
            ranks.setdefault((path, reason), set())
    return tuple(NotRead(path, reason, Ranks(numbers)) for (path, reason), numbers in ranks.items())


def _ranks_of(run: Run, name: str) -> Iterator[int]:
    """Yield the ranks of a log."""
    for log in run.discovered.logs:
        if log.name == name and log.rank is not None:
            yield log.rank
    for saved in run.crowd.saved if run.crowd is not None else ():
        if saved.log.name == name and saved.rank is not None:
            yield saved.rank
