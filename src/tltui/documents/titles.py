"""What nodes are called in titles: with their rank, process and epoch where there is more than one of them."""

from __future__ import annotations

from tltui.analyses.ranks.ranges import ranges
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import Ref
from tltui.model.run import Run


def called(node: Compile | Frame) -> str:
    """`[0/1]`; of rank 3 `[3:0/1]`, of its second process `[3.2:0/1]`, in the second epoch `[3:0/1~2]`; of a directory its
    name, or address."""
    process = node.process
    if process.alone and not process.ranks_differ:
        return node.label
    return f"[{node.ref}]" if node.label[:1] != "[" else f"[{process.ref}{node.label.removeprefix('[')}"


def process_title(process: Process) -> str:
    """`process 2`; of a run with several ranks `rank 3 process 2`."""
    return f"{_rank(process)}process {process.number}"


def whose(process: Process) -> str:
    """`rank 3 process 2`, as far as there is more than one; else ''."""
    return _rank(process).rstrip() if process.alone else process_title(process)


def _rank(process: Process) -> str:
    if not process.ranks_differ:
        return ""
    return "no rank " if process.rank is None else f"rank {process.rank} "


def rank_title(rank: Rank) -> str:
    """`rank 3`; of one that stands for others `511 ranks: 0–6, 8–511`."""
    if not rank.unread or rank.number is None:
        return rank.title
    return f"{1 + len(rank.unread):,} ranks: {ranges((rank.number, *rank.unread))}"


def rank_count(run: Run) -> int:
    """How many ranks the run has, also those that were not read."""
    told = () if run.crowd is None else run.crowd.newest
    return len({*told, *(rank.number for rank in run.ranks if rank.number is not None)})


def stands_for(run: Run) -> str:
    """What is to be said of a page about ranks of which not all were read; '' where all were."""
    if run.crowd is None:
        return ""
    read = {rank.number for rank in run.ranks}
    if read.issuperset(run.crowd.newest):
        return ""
    all_of = f"{len(run.crowd.newest):,} ranks"
    if len(run.crowd.classes) == 1:
        return f"{all_of} did the same, as their saved indexes say: rank {min(run.crowd.newest)} was read, and stands for all here."
    left = sum(not read.intersection(own) for own in run.crowd.classes)
    said = f"{all_of} did {len(run.crowd.classes):,} different things, as their saved indexes say. Of those that did the same one "
    return f"{said}was read, and stands for the others here" + (f"; of {left:,} things none was." if left else ".")


def part_title(node: Compile | Frame | Process | Rank | None) -> str:
    """What a page about a part of the run is about: `[3:0/1]`, `rank 3`; '' for the run."""
    if isinstance(node, (Compile, Frame)):
        return called(node)
    return process_title(node) if isinstance(node, Process) else "" if node is None else node.title


def in_output(run: Run, process: Process, record: int) -> str:
    """The address of the lines of a record in what the job printed; '' for one that is from elsewhere."""
    log, _ = process.log.origin(record)
    if not any(model.form == "text" and model.log is log for model in run.models):
        return ""
    return str(Ref(process.ref.rank, process.number, view="log", n=record + 1))
