"""The view `summary`: the overview of the selected node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tltui.documents.scope import Scope
from tltui.model.input_coverage import GRAPH_LOGS, Needs
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.model.status import total
from tltui.questions.build import build
from tltui.questions.overview.compile_sections import Study
from tltui.questions.overview.run_summary import Summary
from tltui.questions.question import Question
from tltui.text.document import Document, Options
from tltui.text.frozen import frozen


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the overview of the scope."""
    return build(run, scope.ref, options)


@frozen
class SummaryRow:
    """The counts of a run, or of a part of it."""

    ref: str
    """The address of the part; empty for the run."""
    ranks: int
    """Ranks with a compile in it; processes without a rank count as one."""
    compiles: int
    """Compiles. Each is counted in one of the next eight columns."""
    ok: int
    """Compiled without a graph break."""
    errors: int
    """Failed, and the exception reached the caller."""
    eager: int
    """Fell back to eager mode."""
    with_breaks: int
    """Compiled, with graph breaks."""
    empty: int
    """No operation was captured."""
    running: int
    """Not ended yet."""
    unfinished: int
    """Without an end, though the log has ended."""
    without_outcome: int
    """Without an outcome in the log."""
    breaks: int
    """Graph breaks, all of them."""
    recompiles: int
    """Recompiles."""
    restarts: int
    """Restarts of the analysis."""
    compile_s: float
    """The total time of the compiles, in seconds; those of ranks ran side by side."""
    torch_versions: tuple[str, ...]
    """The versions of torch that the log states."""


def summary_rows(data: Summary | Study, ref: str, compiles: Sequence[Compile]) -> Iterator[SummaryRow]:
    """Yield one row."""
    tally = total(compile_.tally for compile_ in compiles)
    versions = (data.torch_version,) if isinstance(data, Study) else data.versions if data is not None else ()
    torch = tuple(version for version in versions if version)
    yield SummaryRow(
        ref, len({compile_.process.rank for compile_ in compiles}),
        tally.compiles, tally.ok, tally.errors, tally.eager, tally.with_breaks,
        tally.empty, tally.running, tally.unfinished, tally.without_outcome, tally.breaks, tally.recompiles, tally.restarts,
        tally.compile_s, torch,
    )  # fmt: skip


QUESTION = Question(
    name="summary",
    help="outcome of the run, and where to look first",
    key="1",
    group="look at a run",
    order=10,
    needs=Needs(
        "has no timestamps and does not record whether a compilation succeeded",
        ("graph_breaks", "recompiles", "guards", *GRAPH_LOGS, "output_code"),
        in_debug_dir=True,
        is_overview=True,
        reads_output=True,
    ),
    document=document,
    answer=Summary | Study,
    rows=SummaryRow,
    doc="""
    The outcome of the run, and where to look first. One row: the counts. `data` is a `Study` for a single compile.

    >>> import tltui
    >>> run = tltui.open("tests/traces/torch-2.13/recompiles")
    >>> [(row.compiles, row.recompiles, row.breaks) for row in tltui.summary(run)]
    [(5, 4, 0)]
    """,
)
