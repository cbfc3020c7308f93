"""Loading of the run that the command-line arguments name: paths and addresses, standard input, progress of unpacking."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tltui.cli.exits import Failure, printable
from tltui.cli.options import path_words
from tltui.inputs.archives import SETTINGS, STANDARD_INPUT, Limits
from tltui.model.ref import BadAddress, CompileId, Ref, named_in, parse_ref
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

if TYPE_CHECKING:
    from typing_extensions import Self

    from tltui.model.run import Run
    from tltui.questions.check.limits import Limit
    from tltui.sources.discover import Found, NothingFound
    from tltui.sources.discovery_results import FoundProfile


RECORD_HELP = """\
tltui reads the logs that torch.compile writes into a directory. Record one with

    tltui run -- python train.py

or, on a machine without tltui, with

    TORCH_TRACE=/tmp/tracedir python train.py

(with torch 2.9 and later add INDUCTOR_PROVENANCE=1 to see which line became which kernel), then

    tltui /tmp/tracedir          open the terminal UI, also while the job runs
    tltui summary /tmp/tracedir  print the summary
    tltui --demo                 open the built-in demo trace
"""
RECORD = "to record a trace: tltui run -- python train.py"
RECORD_PROFILE = "to record a profile: tltui run --record-steps 5:10 -- python train.py"
LIKE = "0/1, 3:0/1_1, none, 0/1:inductor_output_code, 2/0:aot_joint_graph#2"


@frozen
class Arguments:
    """The positional arguments of a command by kind."""

    paths: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    place: str = ""
    """FILE:LINE or FILE."""

    @property
    def hint(self) -> str:
        """Return advice on addresses that were meant as paths, '' if no file has such a name."""
        existing = [ref for ref in self.refs if os.path.lexists(ref)]
        return "".join(f"\n  {ref} is an address; write the file of that name as ./{ref}" for ref in existing)


def split_arguments(
    words: Sequence[str], refs: bool = True, place: bool = False, another: bool = False, waits: bool = False
) -> Arguments:
    """Split the arguments of a command into addresses (`refs`), FILE:LINE or FILE (`place`), and paths.

    `another`: a trace is given elsewhere. `waits`: missing paths are allowed. Otherwise missing paths raise `Failure`, and
    addresses in a command without them always do.
    """
    if "" in words:
        raise Failure("empty PATH: ''", "give a file or a directory")
    refs_in_order = tuple(text for text in words if refs and is_address(text) and not _is_directory_here(text))
    texts = [text for text in words if not (refs and is_address(text)) or _is_directory_here(text)]
    if texts.count(STANDARD_INPUT) > 1:
        raise Failure("standard input is given twice: '-'", "give - once")
    line = _line_in(texts) if place else ""
    if line:
        texts.remove(line)
    absent = os.strerror(errno.ENOENT) if waits else ""
    lacking = {text: why for text in texts if ((why := _missing_reason(text)) and (why != absent or is_address(text)))}
    for text, why in lacking.items():
        if refs and text.endswith(":") and is_address(text[:-1]):
            raise Failure(f"missing artifact name after the colon: '{text}'", f"use {text}inductor_output_code, or {text[:-1]}")
        if not refs and is_address(text):
            raise Failure(f"this command takes no address: '{text}'", f"write a file of that name as ./{text}")
        raise Failure(f"{why}: '{text}'", _advice(text, refs, another or len(lacking) < len(texts)))
    return Arguments(tuple(texts), refs_in_order, line)


def _is_directory_here(text: str) -> bool:
    """Return whether a text that is also the address of a lowering, `model__0_forward_1.0`, is its directory, given as a path."""
    return "__" in text and not text.startswith("+") and os.path.isdir(text)


def is_address(text: str) -> bool:
    """Return whether a text has the form of an address."""
    try:
        parse_ref(text)
    except BadAddress:
        return False
    return True


def _line_in(texts: Sequence[str]) -> str:
    """Return the FILE:LINE or FILE among arguments.

    It is the first of that form that does not exist, else the first that does not exist, else the last Python file.
    """
    absent = [text for text in texts if _missing_reason(text)]
    place = next((text for text in absent if text.rpartition(":")[2].isdecimal()), next(iter(absent), ""))
    return place or next((text for text in reversed(texts) if text.endswith(".py")), "")


def _missing_reason(path: str) -> str:
    """Return why there is no such file, '' if it exists or cannot be checked."""
    if path == STANDARD_INPUT:
        return ""
    try:
        os.stat(os.path.expanduser(path))
    except PermissionError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _advice(text: str, refs: bool, has_path: bool) -> str:
    """Return other possible meanings of an argument that is not a path."""
    if refs and has_path and not text.startswith(("/", ".", "~")):
        return f"not an address either; examples: {LIKE}"
    from difflib import get_close_matches

    from tltui.text.safe_files import quoted

    directory, name = os.path.split(os.path.expanduser(text))
    try:
        near = get_close_matches(name, os.listdir(directory or "."), 1)
    except OSError:
        near = []
    return f"did you mean {quoted(os.path.join(os.path.dirname(text), near[0]))}?" if near else EXISTING


GLANCE = 0.06
"""Seconds that the UI waits for the discovery of logs, which suffices for small directories."""
EXISTING = "give a file or a directory that exists, or --demo"
DEMO = Path(__file__).parent.parent / "demo"


def resolve_arguments(options: argparse.Namespace) -> None:
    """Split paths from addresses; `--demo` replaces PATH, and TORCH_TRACE is the default."""
    refs = getattr(options, "refs", None)
    place = getattr(options, "place", None)
    words = [*options.paths, *([place] if place else ()), *([refs] if isinstance(refs, str) else refs or ())]
    default = str(DEMO) if options.demo else os.environ.get("TORCH_TRACE", "")
    refs_too, waits = getattr(options, "takes_refs", False), getattr(options, "waits_for_paths", False)
    arguments = split_arguments(words, refs_too, hasattr(options, "place"), bool(default), waits)
    if options.demo and arguments.paths:
        raise Failure(f"--demo replaces PATH: '{arguments.paths[0]}'", "leave one of them out")
    if STANDARD_INPUT in arguments.paths:
        _check_standard_input()
    options.paths = list(arguments.paths) or ([default] if default else [])
    options.refs, options.place = list(arguments.refs), arguments.place
    options.hint = arguments.hint


def _check_standard_input() -> None:
    if sys.stdin is None:
        raise Failure("standard input is closed: '-'", "pipe a log into it: torchrun … 2>&1 | tltui -")
    if sys.stdin.isatty():
        raise Failure("standard input is the terminal: '-'", "pipe a log into it: torchrun … 2>&1 | tltui -")


def no_path(command: str = "", hint: str = "") -> NoReturn:
    """Raise `Failure`: nothing to open, with advice on recording a trace and on similar command names."""
    if command and os.path.lexists(command):
        hint = f"\n  {command} is a command; to open the file of that name: tltui ./{command}" + hint
    raise Failure(f"no PATH given, and TORCH_TRACE is not set{hint}\n\n{RECORD_HELP}")


def discover_logs(
    paths: Sequence[str], latest: bool, printed: bool = False, ranks: Collection[int] = (), profiles: Sequence[str] = ()
) -> Found:
    """Return the logs of the paths.

    `printed`: job output suffices if there is no log. `ranks`: as in `Discovery`.
    """
    from tltui.sources.discover import Discovery, Found, NothingFound, without_logs

    discovery = Discovery(paths, latest, ranks, _requested_profiles(profiles))
    try:
        with _unpacking_progress(paths, waits=not printed):
            discovered = discovery.discover()
    except NothingFound as nothing:
        if printed and nothing.outputs:
            return without_logs(paths, nothing)
        if printed and STANDARD_INPUT in paths and not discovery.has_ended():
            return Found(tuple(paths), (), (), discovery=discovery)
        raise _without_log(nothing) from None
    # the demo may have been installed a minute ago
    return replace(discovered, is_over=True) if list(paths) == [str(DEMO)] else discovered


def _without_log(error: NothingFound) -> Failure:
    """Return the error that no input can be opened, with the reasons or with advice."""
    problem, _, reasons = str(error).partition("\n  ")
    if reasons:
        return Failure(problem, reasons)
    if problem.startswith(os.strerror(errno.ENOENT)):
        return Failure(problem, "give a file or a directory that exists")
    fault, _, remedy = problem.rpartition("; ")
    return Failure(fault, remedy) if fault else Failure(problem, RECORD)


def _requested_profiles(paths: Sequence[str]) -> tuple[FoundProfile, ...]:
    """Return the profiles of `--profile`."""
    if not paths:
        return ()
    from tltui.sources.discover import NoProfileThere, profiles_at

    try:
        return profiles_at(paths)
    except NoProfileThere as none:
        raise Failure(f"--profile: {none}", RECORD_PROFILE) from None


def search(paths: Sequence[str], latest: bool, profiles: Sequence[str] = ()) -> Found:
    """Return the logs for the UI; a longer discovery continues while the UI starts (`Found.search`).

    Standard input and archives are waited for, with progress, and ctrl+c stops it. In an empty directory the UI waits for the first
    log.
    """
    from tltui.sources.discover import Discovery, Found, NothingFound, Search

    has_directory = any(os.path.isdir(os.path.expanduser(path)) for path in paths)
    if not has_directory or STANDARD_INPUT in paths or list(paths) == [str(DEMO)]:
        return discover_logs(paths, latest, printed=True, profiles=profiles)
    looking = Search(Discovery(paths, latest, profiles=_requested_profiles(profiles)))
    with _unpacking_progress(paths, waits=False):
        looking.start()
        is_over = looking.wait(GLANCE)
        while not is_over and looking.discovery.unpacks:
            is_over = looking.wait(GLANCE)
    if is_over:
        try:
            return looking.result()
        except NothingFound as nothing:
            if nothing.is_empty:
                return Found(tuple(paths), (), (), discovery=looking.discovery)
            raise _without_log(nothing) from None
    looking.hold()
    return Found(tuple(paths), (), (), discovery=looking.discovery, search=looking)


def load(options: argparse.Namespace) -> Run:
    """Load the run of a command."""
    if not options.paths:
        no_path(options.command, options.hint)
    refs = [ref for text in options.refs for ref in named_in(parse_ref(text))]
    ranks = {getattr(options, "rank", None), *(ref.rank for ref in refs)}
    run = load_other(options.paths, options.latest, [rank for rank in ranks if rank is not None], options.profile)
    reads_all = getattr(options, "reads_profiles", False)
    if options.profile or reads_all:
        read_profiles(run)
    if options.profile and not reads_all:  # else the command reports them itself
        _print_refused(run)
    for ref in options.refs:
        if note := run.other_epochs(parse_ref(ref)):
            print(f"tltui: {note}", file=sys.stderr)
    return run


def load_other(paths: Sequence[str], latest: bool, ranks: Collection[int] = (), profiles: Sequence[str] = ()) -> Run:
    """Load a run to compare with."""
    from tltui.model.follow import open_run

    return open_run(discover_logs(paths, latest, ranks=ranks, profiles=profiles))


def read_profiles(run: Run) -> None:
    """Read the named and discovered profiles: a command that sets `reads_profiles` needs both."""
    run.profiles.read()
    for file in run.profiles.files:
        if file.fault and file.export.is_named:
            raise Failure(f"--profile {file.export.name}: {file.fault}", RECORD_PROFILE)
        if file.fault:
            print(printable(f"tltui: {file.export.name}: {file.fault}"), file=sys.stderr)


def limits_of(texts: Sequence[str], has_baseline: bool) -> tuple[Limit, ...]:
    """Parse the limits of `--fail-on`. Raises `BadLimit`."""
    from tltui.questions.check.limits import parse_limits

    return parse_limits(",".join(texts), has_baseline)


def one_ref(options: argparse.Namespace) -> str:
    """Return the only address, '' for none."""
    if len(options.refs) > 1:
        raise Failure(f"too many addresses: '{' '.join(options.refs)}'", "give one address")
    return options.refs[0] if options.refs else ""


def selected(options: argparse.Namespace) -> Ref:
    """Return the address that REF, --rank and --frame name together. Raises `Failure` if they conflict."""
    ref = parse_ref(one_ref(options))
    if options.rank is not None:
        if ref.rank not in (None, options.rank):
            raise Failure(f"--rank conflicts with the address: '{ref}'", "leave one of them out")
        ref = replace(ref, rank=options.rank)
    if options.frame is not None:
        if ref.id is not None and ref.id.frame != options.frame:
            raise Failure(f"--frame {options.frame} conflicts with the address: '{ref}'", "leave one of them out")
        ref = replace(ref, id=ref.id or CompileId(None, options.frame, None))
    return ref


def part_of(options: argparse.Namespace) -> Ref:
    """Return the part of the run that a page is about. Raises `Failure` for an address that is more than a part."""
    ref, command = selected(options), options.command
    if ref.view not in ("", command) or ref.artifact is not None or ref.attempt is not None:
        kind = "a page" if ref.view else "an attempt" if ref.artifact is None else "an artifact"
        from tltui.text.safe_files import quoted

        raise Failure(f"{command} takes a rank, process, frame or compile, not {kind}: '{ref}'",
                      f"tltui show {path_words(options)} {quoted(str(ref))}")  # fmt: skip
    return ref


def _print_refused(run: Run) -> None:
    """Report on stderr which named profiles are of another run, and the evidence."""
    from tltui.questions.runtime.profile_results import Refused
    from tltui.questions.runtime.profile_sums import runtimes_of

    requested = {file.export.name for file in run.profiles.files if file.export.is_named}
    for item in runtimes_of(run):
        if isinstance(item, Refused) and item.profile in requested:
            print(printable(f"tltui: --profile {item.profile} does not match this trace: {item.reason}"), file=sys.stderr)


def no_terminal() -> str:
    """Return why the UI cannot run here; '' if it can."""
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output"), (sys.stderr, "error")):
        if stream is None or not stream.isatty():
            return f"standard {name} is not a terminal" + (", where the UI is drawn" if name == "error" else "")
    if os.environ.get("TERM", "dumb") in ("dumb", ""):
        return "TERM=dumb: this terminal cannot draw the UI"
    return ""


PATIENCE = 0.5
"""Seconds after which progress is shown."""
BEGINNING = 0.3
"""Seconds that the UI waits for the first bytes of standard input: archives are read completely before the UI starts."""


@contextmanager
def _unpacking_progress(paths: Sequence[str], waits: bool) -> Iterator[None]:
    """Report unpacking on stderr within the context. With `waits` standard input is read to its end first."""
    with _UnpackingProgress(interval=0.25) as progress:
        SETTINGS.limits, SETTINGS.progress = _limits, progress
        try:
            if STANDARD_INPUT in paths:
                _read_standard_input(waits)
            yield
        finally:
            SETTINGS.progress = None


def _limits() -> Limits:
    """Return the unpacking limits of the settings."""
    from tltui.config import read_config

    config = read_config(())
    return Limits(config.unpack_member_mib << 20, config.unpack_total_mib << 20, config.unpack_members)


class ProgressLine:
    """Progress line on stderr if that is a terminal; removed at the end."""

    def __init__(self, interval: float = 0.0) -> None:
        self._interval = interval
        """Seconds between two updates."""
        self._next = time.monotonic() + PATIENCE
        self._width = 0

    def is_due(self) -> bool:
        """Return whether the line is to be updated."""
        now = time.monotonic()
        if now < self._next or sys.stderr is None or not sys.stderr.isatty():
            return False
        self._next = now + self._interval
        return True

    def update(self, text: str) -> None:
        """Replace the line."""
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)


class _UnpackingProgress(ProgressLine):
    """Progress of reading standard input or of unpacking a file."""

    def __call__(self, name: str, read: int, size: int, written: int) -> None:
        if not self.is_due():
            return
        if name == STANDARD_INPUT:
            self.update(f"tltui: reading standard input to its end: {read >> 20:,} MiB")
        else:
            part = f"{100 * read // size}%, " if size else ""
            self.update(f"tltui: unpacking {sanitize(os.path.basename(name))}: {part}{written >> 20:,} MiB (ctrl+c stops)")


def keys_from_terminal() -> None:
    """Read standard input as a file, and keys from the controlling terminal, which becomes descriptor 0.

    Without a terminal nothing changes.
    """
    from tltui.inputs.archives.cache import standard_input

    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    standard_input(os.dup(0))
    os.dup2(terminal, 0)
    os.close(terminal)


def _read_standard_input(waits: bool) -> None:
    from tltui.inputs.archives.cache import standard_input
    from tltui.inputs.archives.decompress import CannotUnpack

    try:
        stream = standard_input()
    except CannotUnpack as cannot:
        raise Failure(str(cannot)) from None
    stream.wait_for_beginning(BEGINNING)
    if waits or stream.packing:
        stream.wait()
