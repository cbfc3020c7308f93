"""Scope of a view: the part of a run it is about; titles of nodes and key hints."""

from __future__ import annotations

from dataclasses import replace

from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import CompileId, Ref, parse_ref, ranges
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Options, Piece
from tltui.text.frozen import frozen


def called(node: Compile | Frame) -> str:
    """Return the label of a node: `[0/1]`, on rank 3 `[3:0/1]`, in its second process `[3.2:0/1]`, in epoch 2 `[3:0/1~2]`.

    The label of a directory is its name or address.
    """
    process = node.process
    if process.alone and not process.ranks_differ:
        return node.label
    return f"[{node.ref}]" if node.label[:1] != "[" else f"[{process.ref}{node.label.removeprefix('[')}"


def process_title(process: Process) -> str:
    """`process 2`; of a run with several ranks `rank 3 process 2`."""
    return f"{_rank(process)}process {process.number}"


def whose(process: Process) -> str:
    """Return `rank 3 process 2`, each only if there are several; else ''."""
    return _rank(process).rstrip() if process.alone else process_title(process)


def _rank(process: Process) -> str:
    if not process.ranks_differ:
        return ""
    return "no rank " if process.rank is None else f"rank {process.rank} "


def rank_title(rank: Rank) -> str:
    """Return `rank 3`; for a representative rank `511 ranks: 0–6, 8–511`."""
    if not rank.unread or rank.number is None:
        return rank.title
    return f"{1 + len(rank.unread):,} ranks: {ranges((rank.number, *rank.unread))}"


def rank_count(run: Run) -> int:
    """Return the number of ranks of the run, including unread ones."""
    unread = () if run.crowd is None else run.crowd.newest
    return len({*unread, *(rank.number for rank in run.ranks if rank.number is not None)})


def stands_for(run: Run) -> str:
    """Return the note on a page about ranks that were not all read; '' if all were."""
    if run.crowd is None:
        return ""
    read = {rank.number for rank in run.ranks}
    if read.issuperset(run.crowd.newest):
        return ""
    all_of = f"{len(run.crowd.newest):,} ranks"
    if len(run.crowd.classes) == 1:
        return f"According to their saved indexes, {all_of} have the same compiles: rank {min(run.crowd.newest)} represents them."
    left = sum(not read.intersection(class_) for class_ in run.crowd.classes)
    return (
        f"According to their saved indexes, {all_of} form {len(run.crowd.classes):,} groups. Ranks of a group have the same "
        f"compiles. Each rank that was read represents its group{f'; for {left:,} groups, no rank was read' if left else ''}."
    )


def part_title(node: Compile | Frame | Process | Rank | None) -> str:
    """Return the title of a part of the run: `[3:0/1]`, `rank 3`; '' for the run."""
    if isinstance(node, (Compile, Frame)):
        return called(node)
    return process_title(node) if isinstance(node, Process) else "" if node is None else node.title


def in_output(run: Run, process: Process, record: int) -> str:
    """Return the address of a record's lines in the job output; '' for records of other inputs."""
    log, _ = process.log.origin(record)
    if not any(model.form == "text" and model.log is log for model in run.models):
        return ""
    return str(Ref(process.ref.rank, process.number, view="log", n=record + 1))


DOES = "key:"
"""Prefix of a hint's target; the name of the command follows."""
FOLLOW = "document.follow"


def key_of(options: Options, command: str) -> str:
    """Return the key of a command; '' without a binding or without a screen."""
    return options.key_of(command) if options.key_of is not None else ""


def key_hint(options: Options, command: str, template: str = "press {}", instead: str = "") -> Piece:
    """Return `press e`, or `instead` without such a key."""
    key = key_of(options, command)
    return (template.format(key), tokens.KEY, f"{DOES}{command}") if key else (instead, tokens.KEY)


def link_hint(options: Options, ref: str, instead: str = "", page: str = "") -> Piece:
    """`press enter`, on a line whose first link leads to an address; without such a key `instead`, a command that prints `page`."""
    key = key_of(options, FOLLOW)
    return (f"press {key}", tokens.KEY, ref) if key else (instead, tokens.KEY, page)


@frozen
class Scope:
    """The compiles that are meant, in the order of the tree, records without an id last in each process."""

    ref: Ref
    """The address of the part; empty for the whole run."""
    processes: tuple[Process, ...]
    compiles: tuple[Compile, ...]
    called: str = ""
    """What is named by it, as `part_title` has it."""
    n: int | None = None
    """The number that the address of the page ends with, for a view that numbers what it shows: `@stacks:#4`."""

    @property
    def title(self) -> str:
        """` of [0/1]`, ` of rank 3`, '' for the whole run."""
        return f" of {self.called}" if str(self.ref) and self.called else ""

    def page(self, view: str) -> str:
        """Return the address of a view of this scope."""
        return str(self.ref.at(view))


def place_of(ref: Ref) -> Ref:
    """Strip artifact, attempt and page from an address. `3/-` stays distinct from the frame `3/`."""
    return replace(ref, attempt=None, artifact=None, n=None, view="")


def scope_of(run: Run, ref: Ref | str = "") -> Scope:
    """Return the scope of an address: the run, a rank, a process, a frame or a compile (for an artifact, its compile).

    Raises `BadAddress`.
    """
    if isinstance(ref, str):
        ref = parse_ref(ref)
    place = place_of(ref)
    node = run.resolve(place)
    if isinstance(node, Artifact):
        node = node.owner
    if isinstance(node, Compile):
        return Scope(_with_epoch(place, node.process, node.id), (node.process,), (node,), part_title(node))
    if isinstance(node, Frame):
        return Scope(_with_epoch(place, node.process, node.key), (node.process,), tuple(node.compiles), part_title(node))
    if isinstance(node, Process):
        processes: tuple[Process, ...] = (node,)
    elif isinstance(node, Rank):
        processes = tuple(node.processes)
    else:
        processes = tuple(run.processes())
    return Scope(place, processes, tuple(c for process in processes for c in _in_order(process)), part_title(node))


def _with_epoch(place: Ref, process: Process, compile_id: CompileId) -> Ref:
    """Add the epoch to an address if the process has several epochs."""
    return replace(place, id=process.named_id(compile_id)) if process.epochs > 1 else place


def _in_order(process: Process) -> list[Compile]:
    compiles = [c for frame in process.frames.values() for c in frame.compiles]
    return [c for c in compiles if c.is_compile] + [c for c in compiles if not c.is_compile]
