"""The view `fusion`: which operations went into which kernel, what was not fused, and why.

Of one compile in full, also where only its generated code tells; of several those that have IR or the fusion log.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from tltui.analyses.fusion.fusion import fusion_of_compile, has_fusion, tells_of_fusion
from tltui.analyses.fusion.result import CompileFusion, FusionSums, UnitFusion, sums_of
from tltui.analyses.torch_version import version_of
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.elsewhere import Away, add_elsewhere
from tltui.documents.parts.fusion import add_unit, calls_said, reasons_said
from tltui.documents.scope import Scope
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

FULL = 6
"""Compiles that are told in full where there are several; of further ones the sums."""
AT_ONCE = 64
"""Compiles that are looked at between two moments at which a reader may leave."""
NOTHING = "Nothing was lowered here: there is no generated code, no IR and no record of fusion."
NO_IR = "Single operations are not known here: set TORCH_COMPILE_DEBUG=1, or TORCH_LOGS=ir_pre_fusion,ir_post_fusion."
NO_LOG = "Why not more was fused is not known here: set TORCH_LOGS=fusion."


@dataclass(frozen=True, slots=True)
class FusionReport:
    """The fusion of the compiles of a part of a run."""

    schema: int
    ref: str
    sums: FusionSums
    compiles: tuple[CompileFusion, ...]
    elsewhere: tuple[str, ...] = ()
    """Compiles of which the texts are not in the index, and their logs not here."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The fusion of the compiles of the scope."""

    def fill(page: Page) -> Generator[None, None, FusionReport]:
        page.add((f"Fusion{scope.title}", tokens.TITLE))
        found: list[CompileFusion] = []
        away: list[Away] = []
        asked = _asked(scope)
        for number, compile_ in enumerate(asked):
            if number % AT_ONCE == 0 or found:
                yield
            try:
                own = fusion_of_compile(compile_, version_of(compile_.process))
            except Elsewhere as error:
                if len(asked) == 1:
                    raise
                away.append((str(compile_.ref), error))
                continue
            if own.units:
                found.append(own)
        sums = sums_of(tuple(unit for own in found for unit in own.units))
        report = FusionReport(1, str(scope.ref), sums, tuple(found), tuple(ref for ref, _ in away))
        if found or not away:
            yield from _page(page, scope, report)
        add_elsewhere(page, away, "fusion")
        return report

    return GrowingDocument(scope.page("fusion"), f"fusion{scope.title}", options, fill, Page)


def _asked(scope: Scope) -> list[Compile]:
    """The compiles that are looked at."""
    if len(scope.compiles) == 1:
        return list(scope.compiles)
    telling = {id(process) for process in scope.processes if tells_of_fusion(process)}
    return [compile_ for compile_ in scope.compiles if id(compile_.process) in telling and has_fusion(compile_)]


def _page(page: Page, scope: Scope, report: FusionReport) -> Generator[None, None, None]:
    units = [unit for own in report.compiles for unit in own.units]
    if not units:
        _nothing(page, scope)
        return
    page.say(calls_said(report.sums), "", tokens.STRONG)
    page.row(reasons_said(report.sums, units), "")
    _missing(page, units)
    for number, own in enumerate(report.compiles):
        if number < FULL:
            yield from _compile(page, own, len(scope.compiles) > 1)
        else:
            if number == FULL:
                page.heading("Further compiles, by their sums")
            name = (sanitize(own.function or ""), tokens.FUNCTION)
            sums = sums_of(own.units)
            page.row([(f"[{own.ref}]", tokens.LINK, f"@fusion:{own.ref}"), " ", name, f"  {calls_said(sums)}"])
            page.row(reasons_said(sums, own.units), "    ")
        yield


def _missing(page: Page, units: list[UnitFusion]) -> None:
    """What cannot be told here, and how to have it."""
    if not all(unit.has_ir or unit.has_log for unit in units):
        page.say(page.so_far(NO_IR), "", tokens.DIM)
    if not all(unit.has_log for unit in units):
        page.say(page.so_far(NO_LOG), "", tokens.DIM)
    elif not all(unit.is_complete for unit in units):
        page.say("The fusion log ends before the fusion does: what follows may not be all.", "", tokens.WARN)
    if any(unit.agrees is False for unit in units):
        page.say("The IR was not fused as the log says: operations were put together later (combo kernels), or the two are not "
                 "of the same compile. What follows is the IR.", "", tokens.WARN)  # fmt: skip


def _nothing(page: Page, scope: Scope) -> None:
    if len(scope.compiles) == 1:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
        return
    page.say(page.so_far("Nothing here tells of fusion as a whole."), "", tokens.DIM)
    page.say(NO_IR, "", tokens.DIM)
    page.say(NO_LOG, "", tokens.DIM)
    page.say("What generated code alone tells, which nodes are in which kernel, stands on the page of each compile: @fusion:0/0.",
             "", tokens.DIM)  # fmt: skip


def _compile(page: Page, own: CompileFusion, several: bool) -> Generator[None, None, None]:
    """Each unit of a compile."""
    if several:
        page.heading(f"[{own.ref}] {own.function or ''}".rstrip())
    for unit in own.units:
        page.close(1 if several else 0)
        page.blank()
        page.open(unit.unit)
        head = f"{fmt.plural(unit.ops, 'operation')} → {fmt.plural(len(unit.nodes), 'node')}" if unit.nodes else ""
        page.add((sanitize(unit.unit), tokens.HEADING), (f"  {head}" if head else "", tokens.DIM))
        yield from add_unit(page, unit)
    page.close(0)
