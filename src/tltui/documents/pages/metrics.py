"""The view `metrics`: all fields that torch wrote about a compile, or what they amount to in a run."""

from __future__ import annotations

from collections.abc import Generator

from tltui.analyses.metrics.metrics import CompileMetrics, RunMetrics, metrics_of
from tltui.analyses.metrics.sums import run_metrics
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.pages.table import BY_NAME
from tltui.documents.parts.metric_record import add_meanings, add_record
from tltui.documents.parts.metrics import add_configs, add_differences, add_empty, add_list, add_texts, add_totals
from tltui.documents.scope import Scope
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

SYMBOLS_SHOWN = 100


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The metrics of the scope."""

    def fill(page: Page) -> Generator[None, None, CompileMetrics | RunMetrics]:
        if scope.ref.id is not None and not scope.ref.is_frame and scope.compiles:
            return _compile(page, run, scope.compiles[0])
        return (yield from _fill(page, run, scope))

    return GrowingDocument(scope.page("metrics"), f"metrics{scope.title}", options, fill, Page)


def _compile(page: Page, run: Run, compile_: Compile) -> CompileMetrics:
    first = next((c for c in run.compiles() if c.metrics), None)
    found = metrics_of(compile_, first)
    page.add(("Metrics", tokens.TITLE), " of ", (f"[{found.ref}]", tokens.LINK, found.ref))
    name, file, line = compile_.frame.code
    words: list[Piece] = []
    if name:
        words += [(fmt.clip_middle(sanitize(name), 40), tokens.FUNCTION), page.place(file, line)]
    words.append(fmt.plural(len(found.records), "record"))
    page.joined(words)
    if not found.records:
        page.blank()
        page.say(_no_metrics(compile_, page.goes_on))
    for record in found.records:
        add_record(page, found, record)
    _symbols(page, found)
    add_meanings(page, [field.name for record in found.records for field in record.fields if field.value is not None])
    return found


def _no_metrics(compile_: Compile, goes_on: str) -> str:
    if not compile_.is_compile:
        return "Records without the id of a frame have no metrics: torch writes them when the compile of a frame ends."
    if goes_on:
        return f"There are none yet: torch writes the metrics when a compile ends, and {goes_on}."
    return (
        "torch writes the metrics when a compile ends, as the last record. This one has none: it is still running, it was "
        "killed, or the log was cut off."
    )


def _symbols(page: Page, found: CompileMetrics) -> None:
    """Facts that tlparse shows with the metrics, and that have records of their own."""
    if not found.specializations and not found.guards_added:
        return
    page.heading("Symbols")
    for item in found.specializations[:SYMBOLS_SHOWN]:
        what = f"{item.symbol} = {item.value}"
        page.row([
            (what, tokens.WARN, item.record), "  ", (", ".join(item.sources), tokens.NAME),
            (f"  fixed: {item.reason}" if item.reason else "  fixed", tokens.DIM),
        ])  # fmt: skip
    for guard in found.guards_added[:SYMBOLS_SHOWN]:
        page.row([(guard.expression, tokens.NAME, guard.record), ("  guard added", tokens.DIM)])
    left = sum(max(len(items) - SYMBOLS_SHOWN, 0) for items in (found.specializations, found.guards_added))
    if left:
        page.add("  ", (f"and {fmt.count(left)} more", tokens.DIM))
    if "shapes" in BY_NAME:
        page.add("  more about them: ", ("shapes", tokens.LINK, f"@shapes:{found.ref}"))


def _fill(page: Page, run: Run, scope: Scope) -> Generator[None, None, RunMetrics]:
    ref = str(scope.ref)
    part: list[Piece] = [" of ", (f"[{ref}]", tokens.LINK, ref)] if ref else [" of the run"]
    page.add(("Metrics", tokens.TITLE), *part)
    measured = [compile_ for compile_ in scope.compiles if compile_.metrics]
    real = sum(compile_.is_compile for compile_ in scope.compiles)
    words: list[Piece] = [f"{fmt.count(len(measured))} of {fmt.plural(real, 'compile')} have metrics"]
    page.joined([*words, fmt.plural(sum(len(c.metrics) for c in measured), "record")])
    page.more("everything below is preliminary")
    if not measured:
        page.blank()
        page.say("torch writes the metrics when the compile of a frame ends. " + page.so_far(
                 "No compile here has ended, or the log is of a run that compiles no frames, such as torch.export or "
                 "AOTInductor."))  # fmt: skip
    else:
        add_list(page, measured)
    yield
    found = yield from run_metrics(ref, scope.compiles)
    if measured:
        add_differences(page, found)
        add_texts(page, found)
        add_totals(page, found)
        add_configs(page, found)
        if not page.goes_on:
            add_empty(page, found.empty, "without a value in any record")
        add_meanings(page, [total.name for total in found.totals])
    return found
