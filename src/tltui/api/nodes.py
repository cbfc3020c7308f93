"""Places of a run: ranks, processes, frames, compiles and artifacts, and the open run that they belong to.

Their properties are read on access, so that they are current after `Run.refresh`.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NoReturn, TypeVar, overload

from tltui.api.errors import BadAddress, BadArgument, Closed, safe, translated
from tltui.api.functions import FUNCTIONS
from tltui.api.renamed import with_earlier_names
from tltui.api.results import Plain, Result, page_html, record, table_html
from tltui.api.rows import ArtifactRow, CompileRow, FrameRow, ProcessRow, RankRow
from tltui.documents.format import seconds
from tltui.export import to_json
from tltui.model import artifacts as model_artifacts
from tltui.model import nodes as model
from tltui.model.follow import Follower
from tltui.model.ref import BadAddress as BadModelAddress
from tltui.model.ref import Ref, parse_ref
from tltui.model.run import Node as ModelNode
from tltui.model.run import Run as ModelRun
from tltui.model.run import settle
from tltui.model.status import Facts
from tltui.questions.artifacts.page import raw_bytes, shown_data
from tltui.questions.build import build
from tltui.questions.problems.compile_problems import GraphBreak, breaks_of
from tltui.questions.stacks.tracebacks import display_name, qualified_name
from tltui.text.document import Document, Options
from tltui.text.safe_files import quoted
from tltui.trace.grammar import parse_json
from tltui.trace.log import Check

PIECE = 8 << 20
"""Bytes that are read at a time."""
WIDTH = 100
"""Columns of a page, as of a command that prints into a file."""
Processes = Callable[[ModelRun], Iterable[model.Process]]


class Session:
    """An open run. Any thread may use it, one at a time (`Run.reading`)."""

    def __init__(self, run: ModelRun) -> None:
        self._run: ModelRun | None = run
        self._lock = run.reading
        self._follower = Follower(run, run.discovered.discovery)

    @contextmanager
    def reading(self) -> Iterator[ModelRun]:
        """Lock the model for the block. Raises `Closed`, and exceptions of the block as errors of the API."""
        with self._lock:
            if self._run is None:
                raise Closed("this run is closed. To open it again: tltui.open(path)")
            with translated():
                yield self._run

    def read(self) -> None:
        """Read newly written records."""
        with self.reading() as run:
            for event in self._follower.read(PIECE):
                run.update(event)
            settle(run)

    def refresh(self) -> bool:
        """Read new records and detect ended logs; return whether anything changed."""
        with self.reading() as run:
            before = _state(run)
            self.read()
            for event in self._follower.poll():
                run.update(event)
            settle(run)
            return _state(run) != before

    @property
    def is_closed(self) -> bool:
        """Return whether it was closed."""
        return self._run is None

    def close(self) -> None:
        """Release the data."""
        with self._lock:
            self._run = None
            self._follower.stop()


def _state(run: ModelRun) -> tuple[object, ...]:
    """Return the properties of a run that change with its files."""
    ended = [model.log.ended for model in run.models]
    return run.scanned, ended, len(run.lost), dict(run.unreadable), dict(run.failures), [file.export for file in run.profiles.files]


def options_of(run: ModelRun, width: int = WIDTH, **options: Any) -> Options:
    """Return the layout of a page, whose hints name the paths of the run."""
    return Options(width=width, path=" ".join(map(quoted, run.discovered.paths)), **options)


class Node(ABC):
    """A place of a run. `print(node)` prints the output of `tltui show PATH ADDRESS`."""

    __slots__ = ("_node", "_session")
    _kind = "node"

    def __init__(self, session: Session, node: ModelNode) -> None:
        self._session = session
        self._node = node

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to an open run and cannot be pickled. Pickle results, or the output of to_dict()")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._session is other._session and self._node == other._node

    def __hash__(self) -> int:
        return hash((id(self._session), self.ref))

    @property
    def ref(self) -> str:
        """The address, as accepted by every function and command."""
        return str(self._node.ref)

    @property
    def title(self) -> str:
        """The title of the page."""
        with self._document() as (_, document):
            return document.title

    @property
    def text(self) -> str:
        """Its page, as `tltui show` prints it."""
        return self._printed()

    @property
    @abstractmethod
    def compiles(self) -> Nodes[Compile]:
        """The compiles of this place, in the order of the tree; for an artifact its own compile."""

    @property
    @abstractmethod
    def artifacts(self) -> Nodes[Artifact]:
        """The artifacts of this place, including those of records without a compile id."""

    @abstractmethod
    def row(self) -> object:
        """Return its row of a table, a frozen dataclass."""

    def to_json(self) -> str:
        """Return the output of `tltui show --json`."""
        with self._document() as (run, document):
            return to_json(shown_data(run, self._node.ref, document)).decode()

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as dictionaries and lists."""
        parsed: dict[str, Any] = json.loads(self.to_json())
        return parsed

    @contextmanager
    def _document(self) -> Iterator[tuple[ModelRun, Document]]:
        with self._session.reading() as run:
            yield run, build(run, self._node.ref, options_of(run))

    def _printed(self) -> str:
        with self._document() as (_, document):
            while not document.advance():
                pass
            return "\n".join(document.text())

    def __str__(self) -> str:
        return repr(self) if self._session.is_closed else self._printed()

    def __repr__(self) -> str:
        return f"<tltui {self._kind} {self.ref or 'norank:'}>"

    def _repr_html_(self) -> str | None:
        if self._session.is_closed:
            return None  # a notebook shows `repr` then
        with self._document() as (_, document):
            return page_html(document)


N = TypeVar("N", bound=Node, covariant=True)


class Nodes(Sequence[N], Generic[N]):
    """Places of one kind: a sequence indexed by number, by address and, for artifacts, by name."""

    __slots__ = ("_kind", "_nodes")

    def __init__(self, kind: str, nodes: Iterable[N]) -> None:
        self._kind = kind
        self._nodes = tuple(nodes)

    @overload
    def __getitem__(self, index: int | str) -> N: ...
    @overload
    def __getitem__(self, index: slice) -> Nodes[N]: ...
    def __getitem__(self, index: int | str | slice) -> N | Nodes[N]:
        if isinstance(index, str):
            return self._called(index)
        if isinstance(index, slice):
            return Nodes(self._kind, self._nodes[index])
        return self._nodes[index]

    def _called(self, name: str) -> N:
        matches = [node for node in self._nodes if name in (node.ref, _name_of(node))]
        if not matches and any(isinstance(node, Rank) for node in self._nodes):
            matches = [node for node in self._nodes if node.ref.rstrip(":") == name.rstrip(":")]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise BadAddress(f"{name} is ambiguous. Use one of: {_listed(node.ref for node in matches)}")
        raise BadAddress(f"unknown name: {name}. Available: {_listed(dict.fromkeys(map(_name_of, self._nodes)))}")

    def __len__(self) -> int:
        return len(self._nodes)

    def to_records(self) -> list[dict[str, Plain]]:
        """Return a flat dictionary per place, all with the same keys, as `Result.to_records`."""
        return [record(node.row()) for node in self._nodes]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belong to an open run and cannot be pickled. Pickle the output of to_records()")

    def __repr__(self) -> str:
        return f"<tltui {self._kind}: {len(self._nodes):,}>"

    def _repr_html_(self) -> str | None:
        if any(node._session.is_closed for node in self._nodes[:1]):
            return None
        rows = [record(node.row()) for node in self._nodes[:50]]
        title = f"{len(self._nodes):,} {self._kind}"
        return table_html(title, list(rows[0]) if rows else [], [list(row.values()) for row in rows], len(self._nodes))

    def _ipython_key_completions_(self) -> list[str]:
        return list(dict.fromkeys(map(_name_of, self._nodes)))


def _name_of(node: Node) -> str:
    return node.name if isinstance(node, Artifact) else node.ref


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return (", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")) or "none"


class Rank(Node):
    """All processes of one distributed rank."""

    __slots__ = ()
    _kind = "rank"
    _node: model.Rank

    @property
    def number(self) -> int | None:
        """Its number; None for processes whose rank is unknown."""
        return self._node.number

    @property
    def processes(self) -> Nodes[Process]:
        """Its processes, the newest last."""
        with self._session.reading():
            return Nodes("processes", [Process(self._session, process) for process in self._node.processes])

    @property
    def frames(self) -> Nodes[Frame]:
        """The frames of its processes."""
        return _frames(self._session, self._node.processes)

    @property
    def compiles(self) -> Nodes[Compile]:
        return compiles_of(self._session, lambda _: self._node.processes)

    @property
    def artifacts(self) -> Nodes[Artifact]:
        return artifacts_of(self._session, lambda _: self._node.processes)

    def row(self) -> RankRow:
        with self._session.reading():
            return RankRow.of(self._node)


class Process(Node):
    """One Python process: a rank, a pid, a log."""

    __slots__ = ()
    _kind = "process"
    _node: model.Process

    @property
    def rank(self) -> int | None:
        """Its rank; None if unknown."""
        return self._node.rank

    @property
    def pid(self) -> int:
        """Its process id on the machine of the job."""
        return self._node.pid

    @property
    def path(self) -> str:
        """Its log."""
        return self._node.log.path

    @property
    def torch_version(self) -> str | None:
        """The version of torch, if the log states it."""
        return self.row().torch_version

    @property
    def frames(self) -> Nodes[Frame]:
        """The frames that it compiled."""
        return _frames(self._session, [self._node])

    @property
    def compiles(self) -> Nodes[Compile]:
        return compiles_of(self._session, lambda _: [self._node])

    @property
    def artifacts(self) -> Nodes[Artifact]:
        return artifacts_of(self._session, lambda _: [self._node])

    def row(self) -> ProcessRow:
        with self._session.reading():
            return ProcessRow.of(self._node)


class Frame(Node):
    """A Python code object that Dynamo compiles."""

    __slots__ = ()
    _kind = "frame"
    _node: model.Frame

    @property
    def function(self) -> str | None:
        """The qualified name of the function, `Model.forward`."""
        return display_name(self._node)

    @property
    def file(self) -> str | None:
        """The file with its source."""
        return self._node.code[1]

    @property
    def line(self) -> int | None:
        """Its first line, from 1."""
        return self._node.code[2]

    @property
    def process(self) -> Process:
        """The process that compiled it."""
        return Process(self._session, self._node.process)

    @property
    def compiles(self) -> Nodes[Compile]:
        with self._session.reading():
            return Nodes("compiles", [Compile(self._session, compile_) for compile_ in self._node.compiles if compile_.is_compile])

    @property
    def artifacts(self) -> Nodes[Artifact]:
        with self._session.reading():
            return Nodes("artifacts", _artifacts(self._session, self._node.compiles))

    def row(self) -> FrameRow:
        with self._session.reading():
            return FrameRow.of(self._node)


class Compile(Node):
    """`[frame/compile]`: one (re)compilation of a frame, all its attempts together."""

    __slots__ = ()
    _kind = "compile"
    _node: model.Compile

    @property
    def id(self) -> str:
        """The id as torch prints it: `[0/1]`."""
        return self._node.label

    @property
    def rank(self) -> int | None:
        """The rank that compiled it; None if unknown."""
        return self._node.process.rank

    @property
    def status(self) -> str | None:
        """`ok`, `error`, `eager`, `break`, `empty`, `running`, `unfinished`, `seen` (docs/glossary.md).

        None for records without an id.
        """
        return self.row().status

    @property
    def function(self) -> str | None:
        """The qualified name of the function that it compiles, `Model.forward`."""
        return display_name(self._node.frame)

    @property
    def file(self) -> str | None:
        """The file of the function."""
        return self._node.frame.code[1]

    @property
    def line(self) -> int | None:
        """The first line of the function, from 1."""
        return self._node.frame.code[2]

    @property
    def name(self) -> str | None:
        """The function that it compiles."""
        return self.function

    @property
    def qualified_name(self) -> str | None:
        """The name of the function with its class, `Net.forward`, as far as the log states it."""
        with self._session.reading():
            return qualified_name(self._node.frame) or self.function

    @property
    def breaks(self) -> tuple[GraphBreak, ...]:
        """Its graph breaks."""
        with self._session.reading():
            return breaks_of(self._node)

    @property
    def guards(self) -> Result[Any, Any]:
        """Its guards, as `tltui.guards`."""
        guards: Result[Any, Any] = FUNCTIONS["function_of"]("guards")(self)
        return guards

    @property
    def recompile_reason(self) -> str | None:
        """The first guard that failed, in torch's words; None where the log has no reason."""
        reasons = FUNCTIONS["function_of"]("recompiles")(self).rows
        return reasons[0].guard or None if reasons else None

    @property
    def duration_s(self) -> float | None:
        """The compile time in seconds, forward and backward together; None if the log does not state the time."""
        return self._node.duration_s

    @property
    def is_recompile(self) -> bool:
        """Whether the guards of earlier compiled code of the frame failed."""
        with self._session.reading():
            return self._node.is_recompile

    @property
    def attempts(self) -> tuple[int, ...]:
        """Its attempts: a restart of the analysis begins another one."""
        return tuple(sorted(self._node.attempts))

    @property
    def facts(self) -> Facts:
        """Facts other than the status."""
        with self._session.reading():
            return self._node.all_facts

    @property
    def units(self) -> tuple[str, ...]:
        """Its lowerings: forward, backward, inference, a subgraph."""
        with self._session.reading():
            return tuple(unit.name for unit in model_artifacts.units_of(model_artifacts.artifacts_of(self._node)))

    @property
    def frame(self) -> Frame:
        """The frame that it compiles."""
        return Frame(self._session, self._node.frame)

    @property
    def process(self) -> Process:
        """The process that compiled it."""
        return Process(self._session, self._node.process)

    @property
    def compiles(self) -> Nodes[Compile]:
        return Nodes("compiles", [self])

    @property
    def artifacts(self) -> Nodes[Artifact]:
        with self._session.reading():
            return Nodes("artifacts", _artifacts(self._session, [self._node]))

    def __repr__(self) -> str:
        if self._session.is_closed:
            return f"<Compile {self.ref}>"
        row = self.row()
        place = None if row.file is None else f"{os.path.basename(row.file)}:{row.line}"
        duration = None if row.duration_s is None else seconds(row.duration_s)
        return safe(f"<Compile {' '.join(filter(None, (row.ref, row.function, place, row.status, duration)))}>")

    def row(self) -> CompileRow:
        with self._session.reading():
            return CompileRow.of(self._node)


class Artifact(Node):
    """A record with a payload: a graph, generated code, guards, a cache's answer … and the metrics."""

    __slots__ = ()
    _kind = "artifact"
    _node: model_artifacts.Artifact

    @property
    def name(self) -> str:
        """The name that torch gave it: `inductor_output_code`."""
        return self._node.name

    @property
    def unit(self) -> str | None:
        """The lowering that it belongs to: `forward`; None: it belongs to the compile."""
        return self.row().unit

    @property
    def attempt(self) -> int:
        """The attempt of the compile that wrote it, from 0."""
        return self._node.attempt

    @property
    def phase(self) -> str:
        """The step of the compiler that wrote it: `dynamo`, `inductor` …"""
        return self._node.kind.phase.key

    @property
    def language(self) -> str:
        """The language: `fx`, `output_code`, `cpp`, `json` …; '' for plain text."""
        return self._node.kind.language

    @property
    def bytes(self) -> bytes:
        """The payload as torch wrote it; for metrics, the line of the log. Raises `Unavailable`."""
        with self._session.reading() as run:
            return b"".join(raw_bytes(run, self._node.ref))

    @property
    def text(self) -> str:
        r"""The payload as text: `bytes` decoded as UTF-8, with invalid bytes as `\xff`.

        `print(artifact)` escapes terminal control characters.
        """
        return self.bytes.decode("utf-8", "backslashreplace")

    def json(self) -> Any:
        """Parse the payload; for metrics, the record. Raises `BadArgument` if it is not JSON, and `Unavailable`."""
        if self._node.is_metrics and self._node.payload is None:
            with self._session.reading():
                return self._node.log.event(self._node.record)
        try:
            return parse_json(self.bytes)
        except ValueError as error:
            raise BadArgument(f"{self.ref} is not JSON: {error}") from None

    @property
    def md5_ok(self) -> bool | None:
        """Whether the payload has the md5 that torch declared; None if torch declared none."""
        with self._session.reading():
            checked = self._node.log.check(self._node.record)
            return None if checked is None or checked.check is Check.UNDECLARED else checked.check is Check.GOOD

    @property
    def compile(self) -> Compile:
        """The compile that it belongs to."""
        return Compile(self._session, self._node.owner)

    @property
    def compiles(self) -> Nodes[Compile]:
        return Nodes("compiles", [self.compile])

    @property
    def artifacts(self) -> Nodes[Artifact]:
        return Nodes("artifacts", [self])

    def row(self) -> ArtifactRow:
        with self._session.reading():
            return ArtifactRow.of(self._node)


def compiles_of(session: Session, processes: Processes) -> Nodes[Compile]:
    """Return the compiles of processes, in the order of the tree."""
    with session.reading() as run:
        return Nodes("compiles", [
            Compile(session, compile_)
            for process in processes(run) for frame in process.frames.values() for compile_ in frame.compiles if compile_.is_compile
        ])  # fmt: skip


def artifacts_of(session: Session, processes: Processes) -> Nodes[Artifact]:
    """Return the artifacts of processes, compile by compile."""
    with session.reading() as run:
        return Nodes("artifacts", [
            artifact for process in processes(run) for artifact in _artifacts(session, process.ordered())
        ])  # fmt: skip


def _artifacts(session: Session, compiles: Iterable[model.Compile]) -> list[Artifact]:
    return [Artifact(session, artifact) for compile_ in compiles for artifact in model_artifacts.artifacts_of(compile_)]


def _frames(session: Session, processes: Iterable[model.Process]) -> Nodes[Frame]:
    with session.reading():
        return Nodes("frames", [
            Frame(session, frame) for process in processes for frame in process.frames.values()
            if any(compile_.is_compile for compile_ in frame.compiles)
        ])  # fmt: skip


with_earlier_names(Compile)
KINDS: dict[type, Callable[[Session, Any], Node]] = {
    model.Rank: Rank, model.Process: Process, model.Frame: Frame, model.Compile: Compile, model_artifacts.Artifact: Artifact,
}  # fmt: skip


def node_at(session: Session, address: str) -> Node:
    """Return the place at an address. Raises `BadAddress`."""
    with session.reading() as run:
        ref = parse_ref(address)
        node = run.resolve(ref)
        if ref.view or node is None:
            raise BadModelAddress(f"{address!r} is not a part of a run. For the page: tltui.{ref.view or 'summary'}(run)")
        return KINDS[type(node)](session, node)


def place(address: str | Node) -> Ref:
    """Return the part of the run that an argument names, '' for all of it."""
    return parse_ref(address.ref if isinstance(address, Node) else address)
