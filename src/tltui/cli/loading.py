"""From the paths that were given to the run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tltui.cli.arguments import told_apart
from tltui.cli.failure import Failure, safe
from tltui.cli.parser import RECORD_HELP
from tltui.inputs.archives.magic import STANDARD_INPUT
from tltui.model.ref import named_in, parse_ref

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.sources.discover import Found
    from tltui.sources.found import FoundProfile

GLANCE = 0.06
"""Seconds that the UI waits for logs to be found: in small directories they are."""
DEMO = Path(__file__).parent.parent / "demo"


def take(options: argparse.Namespace) -> None:
    """Tell paths from addresses; `--demo` stands in place of PATH, and without either TORCH_TRACE does."""
    refs = getattr(options, "refs", None)
    place = getattr(options, "place", None)
    given = [*options.paths, *([place] if place else ()), *([refs] if isinstance(refs, str) else refs or ())]
    default = str(DEMO) if options.demo else os.environ.get("TORCH_TRACE", "")
    refs_too, waits = getattr(options, "takes_refs", False), getattr(options, "waits_for_paths", False)
    found = told_apart(given, refs_too, hasattr(options, "place"), bool(default), waits)
    if options.demo and found.paths:
        raise Failure(f"--demo stands in place of PATH, and {found.paths[0]} is one")
    if STANDARD_INPUT in found.paths:
        _may_read_standard_input()
    options.paths, options.refs, options.place = list(found.paths) or ([default] if default else []), list(found.refs), found.place
    options.hint = found.hint


def _may_read_standard_input() -> None:
    if sys.stdin is None:
        raise Failure("- is standard input, and that is closed")
    if sys.stdin.isatty():
        raise Failure("- is standard input, and that is the terminal: pipe something into it, as in torchrun … 2>&1 | tltui -")


def no_path(command: str = "", hint: str = "") -> NoReturn:
    """There is nothing to open: say how to record a trace, and what of this name could have been meant."""
    if command and os.path.lexists(command):
        hint = f"\n{command} is a command; the file of that name is opened by tltui ./{command}" + hint
    raise Failure(f"no PATH given, and TORCH_TRACE is not set.{hint}\n\n{RECORD_HELP}")


def look(
    paths: Sequence[str], latest: bool, printed: bool = False, ranks: Collection[int] = (), profiles: Sequence[str] = ()
) -> Found:
    """What the paths hold. `printed`: what a job printed will do, where there is no log. `ranks`: as `Discovery` has them."""
    from tltui.cli.unpacking import telling
    from tltui.sources.discover import Discovery, Found, NothingFound, without_logs

    discovery = Discovery(paths, latest, ranks, profiles_named(profiles))
    try:
        with telling(paths, waits=not printed):
            found = discovery.look()
    except NothingFound as nothing:
        if printed and nothing.outputs:
            return without_logs(paths, nothing)
        if printed and STANDARD_INPUT in paths and not discovery.has_ended():
            return Found(tuple(paths), (), (), discovery=discovery)
        raise Failure(str(nothing)) from None
    # the demo may have been installed a minute ago
    return replace(found, is_over=True) if list(paths) == [str(DEMO)] else found


def profiles_named(paths: Sequence[str]) -> tuple[FoundProfile, ...]:
    """The profiles that `--profile` names."""
    if not paths:
        return ()
    from tltui.sources.profiles import NoProfileThere, named

    try:
        return named(paths)
    except NoProfileThere as none:
        raise Failure(f"--profile {none}") from None


def search(paths: Sequence[str], latest: bool, profiles: Sequence[str] = ()) -> Found:
    """`look`, for the UI: where that takes longer than a glance it goes on while the UI starts (`Found.search`).

    Standard input and what is packed are waited for: it is told how far they are, and ctrl+c stops it. In an empty directory the UI
    waits for the first log.
    """
    from tltui.cli.unpacking import telling
    from tltui.sources.discover import Discovery, Found, NothingFound
    from tltui.sources.search import Search

    has_directory = any(os.path.isdir(os.path.expanduser(path)) for path in paths)
    if not has_directory or STANDARD_INPUT in paths or list(paths) == [str(DEMO)]:
        return look(paths, latest, printed=True, profiles=profiles)
    looking = Search(Discovery(paths, latest, profiles=profiles_named(profiles)))
    with telling(paths, waits=False):
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
            raise Failure(str(nothing)) from None
    looking.hold()
    return Found(tuple(paths), (), (), discovery=looking.discovery, search=looking)


def load(options: argparse.Namespace) -> Run:
    """The run that a command is about."""
    if not options.paths:
        no_path(options.command, options.hint)
    refs = [ref for text in options.refs for ref in named_in(parse_ref(text))]
    asked = {getattr(options, "rank", None), *(ref.rank for ref in refs)}
    run = load_other(options.paths, options.latest, [rank for rank in asked if rank is not None], options.profile)
    says = getattr(options, "reads_profiles", False)
    if options.profile or says:
        read_profiles(run)
    if options.profile and not says:  # else the command tells it itself
        tell_refused(run)
    for ref in options.refs:
        if note := run.other_epochs(parse_ref(ref)):
            print(f"tltui: {note}", file=sys.stderr)
    return run


def load_other(paths: Sequence[str], latest: bool, ranks: Collection[int] = (), profiles: Sequence[str] = ()) -> Run:
    """A run that is compared with."""
    from tltui.model.follow import open_run

    return open_run(look(paths, latest, ranks=ranks, profiles=profiles))


def read_profiles(run: Run) -> None:
    """Read the profiles that were named, or found: a command that sets `reads_profiles` wants both."""
    run.profiles.read()
    for file in run.profiles.files:
        if file.fault and file.found.is_named:
            raise Failure(f"--profile {file.found.name}: {file.fault}")
        if file.fault:
            print(safe(f"tltui: {file.found.name}: {file.fault}"), file=sys.stderr)


def one_ref(options: argparse.Namespace) -> str:
    """The only address that was given, '' for none."""
    if len(options.refs) > 1:
        raise Failure(f"one address at a time, not {' '.join(options.refs)}")
    return options.refs[0] if options.refs else ""


def tell_refused(run: Run) -> None:
    """Say on stderr which profiles that were named are of another run, and how that is known."""
    from tltui.analyses.runtime.result import Refused
    from tltui.analyses.runtime.runtimes import runtimes_of

    named = {file.found.name for file in run.profiles.files if file.found.is_named}
    for item in runtimes_of(run):
        if isinstance(item, Refused) and item.profile in named:
            print(safe(f"tltui: --profile {item.profile} was not joined: {item.why}"), file=sys.stderr)
