"""The view `runtime`: where the time of a run goes, as profiles of `torch.profiler` say: compiles, graphs, kernels, lines, layers,
guards, what ran eagerly and why, what never ran.

Of several profiles the ranks beside each other; of a part of the run, its own profile in full.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator, Mapping, Sequence

from tltui.analyses.provenance.layers import layers_of
from tltui.analyses.runtime.findings import findings_of
from tltui.analyses.runtime.nodes import compile_at, process_of
from tltui.analyses.runtime.recording import recording_of
from tltui.analyses.runtime.result import CompileTime, Refused, Runtime
from tltui.analyses.runtime.runtime_json import RuntimeJson, RuntimesJson, runtimes_json
from tltui.analyses.runtime.runtimes import runtimes_of
from tltui.analyses.runtime.spans import compiling_us, step_flames
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.recording import add_recording
from tltui.documents.parts.runtime import add_findings, add_share, add_window
from tltui.documents.parts.runtime_eager import add_breaks, add_fallbacks, add_never, add_outside
from tltui.documents.parts.runtime_flame import add_step
from tltui.documents.parts.runtime_graphs import SORTS, Told, add_compile, add_compiles, by_cost
from tltui.documents.parts.runtime_ranks import add_rank_kernels, add_ranks
from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

FULL = 12
"""Compiles that are told with their graphs; the table has a link to each of the others."""
FLAME = "flame"
"""As `Options.filter`: the flame alone."""
TOLD = 4
"""Profiles of one process that are told, one after the other."""
Made = Generator[None, None, RuntimeJson | RuntimesJson]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command has beside the options of every view."""
    parser.add_argument("--flame", action="store_const", dest="filter", const=FLAME, default="",
                        help="one step as a flame: what ran in what, and when")  # fmt: skip
    parser.add_argument("--sort", choices=SORTS, default="time", help="the order of the tables (default: time)")


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The run time of the scope."""

    def fill(page: Page) -> Made:
        return (yield from _fill(page, run, scope, options.sort if options.sort in SORTS else "time"))

    return GrowingDocument(scope.page("runtime"), f"run time{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope, sort: str) -> Made:
    page.add((f"Run time{scope.title}", tokens.TITLE))
    found = runtimes_of(run)
    yield
    refused = [item for item in found if isinstance(item, Refused)]
    runtimes = [item for item in found if isinstance(item, Runtime) and _is_of(run, item, scope)]
    refs = {str(compile_.ref) for compile_ in scope.compiles} if scope.ref.id is not None else None
    _refused(page, refused)
    if not runtimes:
        _nothing(page, run, scope, bool(found))
    elif len({runtime.rank if runtime.rank is not None else -1 - runtime.pid for runtime in runtimes}) > 1 and refs is None:
        add_ranks(page, runtimes)
        yield
        add_rank_kernels(page, runtimes)
    else:
        for number, runtime in enumerate(runtimes[:TOLD]):
            if number:
                page.close(0)
                page.blank()
            yield from _one(page, Told(run, runtime, sort), refs)
        if len(runtimes) > TOLD:
            page.say(f"and {fmt.plural(len(runtimes) - TOLD, 'more profile')}: --json has all of them", "", tokens.DIM)
    return runtimes_json(runtimes, refused, refs)


def _is_of(run: Run, runtime: Runtime, scope: Scope) -> bool:
    """Whether a profile is of a process of the scope."""
    return not str(scope.ref) or process_of(run, runtime) in scope.processes


def _refused(page: Page, refused: Sequence[Refused]) -> None:
    for item in refused:
        name = fmt.clip_middle(sanitize(fmt.file_name(item.profile)), page.width)
        page.row([(name, tokens.NAME), (" was not joined to this trace:", tokens.WARN)], "")
        page.say(f"{sanitize(item.why)}.", "  ")


def _nothing(page: Page, run: Run, scope: Scope, has_profiles: bool) -> None:
    """Why there is nothing to tell, and how to record a profile."""
    if has_profiles:
        page.say(f"No profile here tells of {scope.title.removeprefix(' of ') or 'this run'}.", "", tokens.STRONG)
        return
    page.say(page.so_far("There is no profile: what is compiled is known, and not how long it takes to run."), "", tokens.STRONG)
    page.blank()
    add_recording(page, recording_of(run))


def _one(page: Page, told: Told, refs: set[str] | None) -> Generator[None, None, None]:
    """One profile, of one process."""
    runtime = told.runtime
    found = findings_of(told.run, runtime)
    add_findings(page, [item for item in found if refs is None or item.ref in refs], runtime)
    add_window(page, runtime)
    if page.options.filter == FLAME:
        yield from _flame(page, told, folded=False)
        return
    if refs is None:
        add_share(page, runtime, compiling_us(told.run, runtime))
    yield
    compiles = by_cost([own for own in runtime.compiles if refs is None or own.ref in refs], told.sort)
    if refs is not None and not compiles:
        page.say("It did not run while the profiler did.", "", tokens.STRONG)
    if len(compiles) > 1 or refs is None:
        add_compiles(page, told, compiles)
    yield
    add_breaks(page, told, refs)
    add_fallbacks(page, told, refs)
    if refs is None:
        add_outside(page, told)
    yield
    for own in compiles[:FULL]:
        yield from add_compile(page, told, own, _layers(told.run, own))
    if len(compiles) > FULL:
        page.close(0)
        page.blank()
        what = f"and {fmt.plural(len(compiles) - FULL, 'more compile')}: the table above has a link to each"
        page.say(what, "", tokens.DIM)
    add_never(page, told, refs)
    yield
    if refs is None:
        if page.options.key_of is not None:
            yield from _flame(page, told, folded=True)
        page.blank()
        on_screen = page.options.key_of is not None
        what = "for ui.perfetto.dev, with compiling: " if on_screen else "one step as a flame: "
        page.row([(what, tokens.DIM), "tltui timing PATH --perfetto FILE" if on_screen else "tltui runtime PATH --flame"], "")


def _flame(page: Page, told: Told, folded: bool) -> Generator[None, None, None]:
    flames = yield from step_flames(told.run, told.runtime)
    add_step(page, flames, folded)


def _layers(run: Run, own: CompileTime) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Unit → key of a kernel → the layers that it is in."""
    compile_ = compile_at(run, own.ref)
    return {unit.unit: unit.of_kernel for unit in layers_of(compile_).units} if compile_ is not None else {}
