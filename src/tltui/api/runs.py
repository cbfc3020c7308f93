"""The run that `tltui.open` returns."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from tltui.api.errors import BadAddress, BadArgument, NothingFound, ProfileError, TltuiWarning, safe, translated
from tltui.api.functions import FUNCTIONS
from tltui.api.nodes import Artifact, Compile, Frame, Node, Nodes, Process, Rank, Session, artifacts_of, compiles_of, node_at
from tltui.api.results import CheckResult, Result, page_html
from tltui.api.run_views import RunViews
from tltui.documents.format import plural
from tltui.inputs.archives import SETTINGS, STANDARD_INPUT, Limits
from tltui.model.ref import parse_ref
from tltui.model.run import Run as ModelRun
from tltui.questions.artifacts.page import in_unit
from tltui.questions.build import build
from tltui.questions.check.limits import DEFAULT
from tltui.sources.discover import Discovery, profiles_at
from tltui.text.document import Options

if TYPE_CHECKING:
    from tltui.api.rows import LimitRow
    from tltui.questions.check.limits import Gates
    from tltui.questions.problems.page import ProblemRow
    from tltui.questions.problems.problem_list import Problems

PathLike = str | os.PathLike[str]
DEMO = Path(__file__).parent.parent / "demo"
KEYS = 2_000
"""Maximum addresses that a notebook gets for the completion of `run["`."""


class Run(RunViews):
    """The files of one job, read by `tltui.open`.

    `run["0/1"]` is the place at an address: `3:` a rank, `0/` a frame, `0/1` a compile, `0/1:inductor_output_code` an artifact.
    Each view is a method, `run.problems(rank=0)`, and a function, `tltui.problems(run, "0:")`. Several threads can use a run; they
    take turns. `close()` or the end of a `with` block closes it; results remain valid.
    """

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def title(self) -> str:
        """The name of the opened input."""
        with self._session.reading() as run:
            return run.title

    @property
    def paths(self) -> tuple[str, ...]:
        """The logs that are read."""
        with self._session.reading() as run:
            return tuple(model.log.path for model in run.models)

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """Files that were not opened, with reasons; logs that could not be read to the end."""
        with self._session.reading() as run:
            return (*((item.path, item.reason) for item in run.discovered.skipped), *run.failures.items())

    @property
    def goes_on(self) -> str:
        """The reason why more records may come, in a few words; '' if none will. `refresh()` reads new ones."""
        with self._session.reading() as run:
            return run.goes_on

    @property
    def ranks(self) -> Nodes[Rank]:
        """The ranks by number; processes without a rank last."""
        with self._session.reading() as run:
            return Nodes("ranks", [Rank(self._session, rank) for rank in run.ranks])

    @property
    def processes(self) -> Nodes[Process]:
        """The processes, rank by rank, the newest last."""
        with self._session.reading() as run:
            return Nodes("processes", [Process(self._session, process) for process in run.processes()])

    @property
    def frames(self) -> Nodes[Frame]:
        """The frames that were compiled, rank by rank."""
        with self._session.reading():
            return Nodes("frames", [frame for rank in self.ranks for frame in rank.frames])

    @property
    def compiles(self) -> Nodes[Compile]:
        """The compiles, in the order of the tree. Records without a compile id are not compiles: `run["none"]` has them."""
        return compiles_of(self._session, ModelRun.processes)

    @property
    def artifacts(self) -> Nodes[Artifact]:
        """All artifacts, compile by compile."""
        return artifacts_of(self._session, ModelRun.processes)

    def __getitem__(self, address: str) -> Node:
        """Return the place at an address. Raises `BadAddress`, which lists near addresses.

        `run.compile(…)`, `run.artifact(…)` and `run.rank(…)` have precise types for a type checker.
        """
        if not isinstance(address, str):
            raise TypeError(f'an address must be a string such as "0/1" or "3:", not {address!r}')
        node = node_at(self._session, address)
        with self._session.reading() as run:
            if note := run.other_epochs(parse_ref(address)):
                warnings.warn(TltuiWarning(safe(note)), stacklevel=2)
        return node

    def compile(self, address: str) -> Compile:
        """Return the compile at an address. Raises `BadAddress`."""
        node = self[address]
        return node if isinstance(node, Compile) else _other_kind(address, node, "a compile")

    def artifact(self, address: str, *, unit: str = "") -> Artifact:
        """Return the artifact at an address: `0/1:inductor_output_code`. Raises `BadAddress`.

        `unit`: the lowering of several with this name: `forward`, `backward`.
        """
        if unit:
            with self._session.reading() as run:
                address = str(in_unit(run, parse_ref(address), unit))
        node = self[address]
        return node if isinstance(node, Artifact) else _other_kind(address, node, "an artifact")

    def rank(self, number: int | None) -> Rank:
        """Return the rank of a number; None for the processes without one. Raises `BadAddress`."""
        address = "norank:" if number is None else f"{number}:"
        node = self[address]
        return node if isinstance(node, Rank) else _other_kind(address, node, "a rank")

    def breaks(self, ref: str | Node = "") -> Result[ProblemRow, Problems]:
        """List the graph breaks, as `tltui.breaks`."""
        result: Result[ProblemRow, Problems] = FUNCTIONS["breaks"](self, ref)
        return result

    def check(self, fail_on: str | Iterable[str] = DEFAULT, *, baseline: Run | None = None) -> CheckResult[LimitRow, Gates]:
        """Check limits, as `tltui.check`."""
        result: CheckResult[LimitRow, Gates] = FUNCTIONS["check"](self, fail_on, baseline=baseline)
        return result

    def __contains__(self, address: object) -> bool:
        try:
            return isinstance(address, str) and node_at(self._session, address) is not None
        except BadAddress:
            return False

    def __iter__(self) -> NoReturn:
        raise TypeError("a run is not iterable. Use run.ranks, run.frames, run.compiles or run.artifacts")

    def refresh(self) -> bool:
        """Read new records of the job; return whether there were any.

        `run` includes them from now on; existing results do not change.
        """
        return self._session.refresh()

    def close(self) -> None:
        """Release the data. Results remain valid; the run and its places raise `Closed`."""
        self._session.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[ModelRun]:
        with self._session.reading() as run:
            yield run

    def __reduce__(self) -> NoReturn:
        raise TypeError("an open run cannot be pickled. Pickle results, or open the path again in the other process")

    def __str__(self) -> str:
        if self._session.is_closed:
            return repr(self)
        with self._session.reading() as run:
            document = build(run, "", Options())
            while not document.advance():
                pass
            return "\n".join(document.text())

    def __repr__(self) -> str:
        if self._session.is_closed:
            return "<tltui run, closed>"
        with self._session.reading() as run:
            ranks, processes = sum(rank.number is not None for rank in run.ranks), sum(1 for _ in run.processes())
            who = plural(ranks, "rank") if ranks else plural(processes, "process", "processes")
            return f"<tltui run {safe(run.title)}: {who}, {plural(run.tally.compiles, 'compile')}>"

    def _repr_html_(self) -> str | None:
        if self._session.is_closed:
            return None  # a notebook shows `repr` then
        with self._session.reading() as run:
            return page_html(build(run, "", Options()))

    def _ipython_key_completions_(self) -> list[str]:
        if self._session.is_closed:
            return []
        with self._session.reading() as run:
            addresses = [str(rank.ref) for rank in run.ranks]
            for compile_ in run.compiles():
                addresses.append(str(compile_.ref))
                if len(addresses) >= KEYS:
                    break
            return addresses


@contextmanager
def reading_both(run: Run, other: Run) -> Iterator[tuple[ModelRun, ModelRun]]:
    """Lock two runs, always in the same order, so that two threads that compare them in opposite directions do not deadlock."""
    first, second = sorted((run, other), key=lambda session: id(session._session))
    with first._reading(), second._reading(), run._reading() as model, other._reading() as compared:
        yield model, compared


def _other_kind(address: str, node: Node, expected: str) -> NoReturn:
    more = f"; its artifacts: {', '.join(dict.fromkeys(item.name for item in node.artifacts))}" if expected == "an artifact" else ""
    raise BadAddress(f"{address} is not {expected}, but {node!r}{more}")


def open(*paths: PathLike, profiles: PathLike | Iterable[PathLike] = (), latest: bool = False) -> Run:  # noqa: A001
    """Open traces, TORCH_LOGS text, `torch_compile_debug`, archives, saved indexes, or directories of them, as one run.

    `paths`: as on the command line (default: the variable TORCH_TRACE). `profiles`: exports of `torch.profiler` for the
    run, files or directories. `latest`: only the newest run in a directory.

    Reads all records written until now, and writes no file. Raises `NothingFound`, `ProfileError`.

    >>> import tltui
    >>> run = tltui.open("tests/traces/torch-2.13/recompiles")
    >>> run
    <tltui run recompiles: 1 process, 5 compiles>
    """
    if strange := [path for path in paths if not isinstance(path, (str, os.PathLike))]:
        raise TypeError(f"a path must be a str or a Path, not {strange[0]!r}. For several paths: tltui.open(*paths)")
    texts = [os.fspath(path) for path in paths] or [path for path in (os.environ.get("TORCH_TRACE", ""),) if path]
    if not texts:
        raise NothingFound("no path given, and TORCH_TRACE is not set. To open the bundled example trace: tltui.demo()")
    _check_exists(texts)
    SETTINGS.limits = _limits
    named_profiles = [profiles] if isinstance(profiles, (str, os.PathLike)) else profiles
    with translated():
        discovered = Discovery(texts, latest, (), profiles_at([os.fspath(path) for path in named_profiles])).discover()
    session = Session(ModelRun(replace(discovered, is_over=True) if texts == [str(DEMO)] else discovered))
    session.read()
    if named_profiles:
        read_profiles(session)
    return Run(session)


def demo() -> Run:
    """Open the bundled example trace: two ranks, with recompiles, graph breaks and an error.

    >>> import tltui
    >>> len(tltui.demo().ranks)
    2
    """
    return open(DEMO)


def read_profiles(session: Session) -> None:
    """Read the named profiles and those next to the logs. Raises `ProfileError`."""
    with session.reading() as run:
        run.profiles.read()
        for file in run.profiles.files:
            if file.fault and file.export.is_named:
                raise ProfileError(safe(f"profile {file.export.name}: {file.fault}"))
            if file.fault:
                warnings.warn(TltuiWarning(safe(f"{file.export.name}: {file.fault}")), stacklevel=3)


def _check_exists(paths: Iterable[str]) -> None:
    for path in paths:
        if path == STANDARD_INPUT:
            raise BadArgument("'-' (standard input) works only on the command line. Save the input to a file and open the file")
        try:
            os.stat(os.path.expanduser(path))
        except PermissionError:
            continue  # what is below may be readable, and else it is said why not
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or os.strerror(errno.ENOENT)
            raise NothingFound(safe(f"{reason}: '{path}'")) from None


def _limits() -> Limits:
    """Return the unpacking limits of the config file."""
    from tltui.config import read_config

    config = read_config(())
    return Limits(config.unpack_member_mib << 20, config.unpack_total_mib << 20, config.unpack_members)
