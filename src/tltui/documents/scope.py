"""Scope of a view: the part of a run it is about; titles of nodes and key hints."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.rank_ranges import ranges
from tltui.model.ref import CompileId, Ref, parse_ref
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Options, Piece


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


DOES = "key:"
"""How the target of a hint begins: the name of the command follows."""
FOLLOW = "document.follow"


def key_of(options: Options, command: str) -> str:
    """The key of a command, '' where it has none or where there is no screen."""
    return options.key_of(command) if options.key_of is not None else ""


def key_hint(options: Options, command: str, says: str = "press {}", instead: str = "") -> Piece:
    """`press e`; `instead` where there is no such key."""
    key = key_of(options, command)
    return (says.format(key), tokens.KEY, f"{DOES}{command}") if key else (instead, tokens.KEY)


def link_hint(options: Options, ref: str, instead: str = "", page: str = "") -> Piece:
    """`enter`, on a line whose first link leads to an address; without such a key `instead`, a command that prints `page`."""
    key = key_of(options, FOLLOW)
    return (key, tokens.KEY, ref) if key else (instead, tokens.KEY, page)


@dataclass(frozen=True, slots=True)
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
        """The address of a view about this part."""
        return str(self.ref.at(view))


def place_of(ref: Ref) -> Ref:
    """The part of the run in an address: no artifact, no attempt, no page. `3/-` stays `3/-`, which is not the frame `3/`."""
    return replace(ref, attempt=None, artifact=None, n=None, view="")


def scope_of(run: Run, ref: Ref | str = "") -> Scope:
    """The scope that an address names: the run, a rank, a process, a frame or a compile (of an artifact: its compile).

    Raises `BadAddress`.
    """
    if isinstance(ref, str):
        ref = parse_ref(ref)
    place = place_of(ref)
    node = run.resolve(place)
    if isinstance(node, Artifact):
        node = node.owner
    if isinstance(node, Compile):
        return Scope(_named(place, node.process, node.id), (node.process,), (node,), part_title(node))
    if isinstance(node, Frame):
        return Scope(_named(place, node.process, node.key), (node.process,), tuple(node.compiles), part_title(node))
    if isinstance(node, Process):
        processes: tuple[Process, ...] = (node,)
    elif isinstance(node, Rank):
        processes = tuple(node.processes)
    else:
        processes = tuple(run.processes())
    return Scope(place, processes, tuple(c for process in processes for c in _in_order(process)), part_title(node))


def _named(place: Ref, process: Process, compile_id: CompileId) -> Ref:
    """The place with its epoch, where there are several."""
    return replace(place, id=process.named_id(compile_id)) if process.epochs > 1 else place


def _in_order(process: Process) -> list[Compile]:
    found = [c for frame in process.frames.values() for c in frame.compiles]
    return [c for c in found if c.is_compile] + [c for c in found if not c.is_compile]
