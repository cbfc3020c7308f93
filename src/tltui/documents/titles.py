"""What nodes are called in titles: with their rank, process and epoch where there is more than one of them."""

from __future__ import annotations

from tltui.analyses.ranks.ranges import ranges
from tltui.documents.format import plural
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
    """`rank 3`; of one that stands for others `ranks 0–6, 8–511`."""
    return f"ranks {ranges((rank.number, *rank.unread))}" if rank.unread and rank.number is not None else rank.title


def stands_for(run: Run) -> str:
    """What is to be said of a page about ranks of which not all were read; '' where all were."""
    unread = sum(len(rank.unread) for rank in run.ranks)
    if not unread or run.crowd is None:
        return ""
    did = plural(len(run.crowd.classes), "different thing")
    return (
        f"{len(run.crowd.newest):,} ranks did {did}, as their saved indexes say. Of those that did the same one was read, and "
        "stands for the others here."
    )


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
