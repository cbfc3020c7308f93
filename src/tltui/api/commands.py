"""Functions for the commands that print and are not views."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace

from tltui.api.errors import BadArgument, ProfileError, Unavailable, safe
from tltui.api.functions import FUNCTIONS
from tltui.api.nodes import WIDTH, Node, options_of
from tltui.api.renamed import with_earlier_names
from tltui.api.results import CheckResult, Result, snapshot
from tltui.api.rows import (
    CompileRow,
    DamageRow,
    DiffRow,
    FailureRow,
    HitRow,
    LimitRow,
    SourceRow,
    damage_rows,
    diff_rows,
    failure_rows,
    hit_rows,
    limit_rows,
    record_rows,
    source_rows,
)
from tltui.api.runs import Run, reading_both
from tltui.api.views import answer, one_of, part_of, view, wide, with_profiles
from tltui.documents.envelope import envelope
from tltui.documents.scope import place_of
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.input_coverage import untold
from tltui.model.run import Run as ModelRun
from tltui.model.status import Status
from tltui.questions.artifacts.page import extract as extracted
from tltui.questions.build import build
from tltui.questions.check.limits import (
    DEFAULT,
    Gates,
    gates,
    needing_a_profile,
    needing_a_trace,
    parse_limits,
    why_a_profile,
    why_a_trace,
)
from tltui.questions.compare.artifacts_page import CompareResult, DiffResult
from tltui.questions.compare.page import compare_nodes
from tltui.questions.problems.page import ProblemRow
from tltui.questions.problems.problem_list import Problems
from tltui.questions.question import question_of
from tltui.questions.records.grep_page import GrepResult, Query, grep_document
from tltui.questions.records.log_page import OutputReport, log_document
from tltui.questions.records.records_page import DamageReport, RecordRow, Records, damage_document
from tltui.questions.source_lines.page import SourceFile, SourceLine
from tltui.text.document import Document, Options
from tltui.trace.files import Gone
from tltui.tree.listing import Listing, listing_data, listing_document
from tltui.writers.check_reports import check_document


def ls(run: Run, *, width: int = WIDTH) -> Result[CompileRow, Listing]:
    """List ranks, frames and compiles with status and time: one row per compile. `data` also has each artifact.

    >>> import tltui
    >>> tltui.ls(tltui.demo())
    <tltui ls: 25 rows; print() shows the page>
    """
    part = part_of(run, "")
    with run._reading() as model:
        data = listing_data(model)
        document = listing_document(model, options_of(model, wide(width)))
        rows = tuple(CompileRow.of(compile_) for compile_ in model.compiles() if compile_.is_compile)
        return Result("ls", str(part.ref), document.title, data, rows, snapshot(document), envelope("ls", model.title, "", data))


def check(
    run: Run, fail_on: str | Iterable[str] = DEFAULT, *, baseline: Run | None = None,
    limits: str | Iterable[str] | None = None, width: int = WIDTH,
) -> CheckResult[LimitRow, Gates]:  # fmt: skip
    """Check a run against limits on errors, breaks, recompiles …: one row per limit. True if none is exceeded.

    `fail_on`: limits, as `tltui check --fail-on` takes them: `"error,break"`, `["recompiles=2", "compile_time=60"]`; `limits` is
    its earlier name. `baseline`: a run to
    compare with: a name without a number allows what that has, `+N` or `+N%` that much more. Raises `BadArgument`,
    `ProfileError`.

    >>> import tltui
    >>> bool(tltui.check(tltui.open("tests/traces/torch-2.13/breaks"), "error,break"))
    False
    """
    part_of(run, "")
    if limits is not None:
        warnings.warn("check(limits=…) was renamed to check(fail_on=…)", DeprecationWarning, stacklevel=2)
        fail_on = limits
    with reading_both(run, baseline or run) as (model, other):
        parsed = parse_limits(fail_on if isinstance(fail_on, str) else ",".join(fail_on), baseline is not None)
        measured = needing_a_profile(parsed)
        if untraced := needing_a_trace(model, parsed):
            raise BadArgument(safe(why_a_trace(model, untraced)))
        for part in (run, baseline) if measured else ():
            _check_profiles(part, measured)
        result = gates(model, parsed, other if baseline else None)
        lacks = untold(list(model.processes()), question_of("problems").needs)
        document = check_document(result, model.title, options_of(model, wide(width)), len(model.failures), lacks)
        printed = envelope("check", model.title, "", result)
        return CheckResult("check", "", document.title, result, tuple(limit_rows(result)), snapshot(document), printed)


def breaks(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[ProblemRow, Problems]:
    """List the graph breaks: the rows of `problems` of this kind, a row for each kind of break at each place.

    >>> import tltui
    >>> [row.count for row in tltui.breaks(tltui.demo())]
    [3, 1, 1]
    """
    part = part_of(run, ref)
    with_earlier_names(ProblemRow)
    result = view("problems", part, Options(width=wide(width)))
    return replace(result, rows=tuple(row for row in result.rows if row.kind == "break"))


def _check_profiles(run: Run | None, measured: tuple[str, ...]) -> None:
    """Read the profiles that limits on run times need. Raises `ProfileError`."""
    if run is None:
        return
    with_profiles(part_of(run, ""))
    with run._reading() as model:
        if why := why_a_profile(model, measured):
            raise ProfileError(safe(f"{model.title}: {why}"))


def diff(
    run: Run, left: str | Node = "", right: str | Node = "", *, other: Run | None = None, width: int = WIDTH
) -> Result[DiffRow, DiffResult | CompareResult]:
    """Compare two artifacts, compiles, ranks or runs: one row per changed lines, or per pair and fact.

    Examples: `diff(run, "0/0", "0/1")`, `diff(before, other=after)`. With `other`, one address means the same place in both runs.

    >>> import tltui
    >>> run = tltui.open("tests/traces/torch-2.13/recompiles")
    >>> found = tltui.diff(run, "0/0:dynamo_cpp_guards_str", "0/1:dynamo_cpp_guards_str")
    >>> found.data.same
    False
    """
    first, second = (str(part_of(run, ref).ref) for ref in (left, right))
    if other is None and not (first and second):
        raise BadArgument('diff needs two addresses, diff(run, "0/0", "0/1"), or another run and at most one address')
    if other is not None and not second:
        second = first
    second_run = other or run
    with reading_both(run, second_run) as (_, compared):

        def make(model: ModelRun, options: Options) -> Document:
            return compare_nodes(model, first, model if other is None else compared, second, options)

        return answer("diff", part_of(run, ""), make, diff_rows, width)


def grep(
    run: Run, pattern: str, *, artifact: str = "*", status: str = "", rank: int | None = None, frame: int | None = None,
    context: int = 0, width: int = WIDTH,
) -> Result[HitRow, GrepResult]:  # fmt: skip
    """Search every payload, envelope and page: one row per line.

    `pattern`: a regular expression; lowercase letters also match uppercase. `artifact`: only artifacts whose
    name matches this glob. `status`, `rank`, `frame`: only such compiles. `context`: lines around each match, on the page and in
    `data`. Raises `BadArgument`.

    >>> import tltui
    >>> tltui.grep(tltui.demo(), "addmm", artifact="inductor_output_code", rank=0)[0].ref
    '0:0/0:inductor_output_code#1'
    """
    one_of("status", status, map(str, Status))
    query = Query(pattern, artifact, status, rank, frame, max(context, 0))
    return answer("grep", part_of(run, ""), lambda model, options: grep_document(model, query, options), hit_rows, width)


def source(run: Run | Node, place: str, ref: str | Node = "", *, width: int = WIDTH) -> Result[SourceRow, SourceLine | SourceFile]:
    """Trace a line, `"train.py:42"`, to nodes, kernels, guards, breaks, recompiles; or a file to its findings: one row each."""
    part = part_of(run, ref)
    address = replace(place_of(part.ref), artifact=place, view="source")
    return answer("source", part, lambda model, options: build(model, address, options), source_rows, width)


def records(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[RecordRow, Records]:
    """List every record in file order, with time, code location and size: one row each. Payloads are `run[…].bytes`."""
    part = part_of(run, ref)
    return answer("records", part, lambda model, options: build(model, part.ref.at("records"), options), record_rows, width)


def log(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[FailureRow, OutputReport]:
    """Show the job's output, if it was opened (`tltui.open("trace", "job.err")`): every line on the page, one row per failure."""
    part = part_of(run, ref)
    return answer("log", part, lambda model, options: log_document(model, part.ref, options), failure_rows, width)


def damage(run: Run, *, width: int = WIDTH) -> Result[DamageRow, DamageReport]:
    """Read every payload and list damaged places: one row each."""
    part = part_of(run, "")
    return answer("damage", part, lambda model, options: damage_document(model, options, check=True), damage_rows, width)


def extract(run: Run, directory: str, *refs: str | Node, force: bool = False) -> tuple[str, ...]:
    """Write artifacts to files below a directory; return the paths. `refs`: the addresses to write (default: all).

    Names of the trace are labels, never paths: no file is written outside of `directory`. Existing files are replaced only with
    `force`. Raises `BadAddress`, `Unavailable`, and FileExistsError or another OSError for the written files.
    """
    part = part_of(run, "")
    addresses = [ref.ref if isinstance(ref, Node) else ref for ref in refs]
    try:
        with part.run._reading() as model:
            return tuple(path for path, _ in extracted(model, addresses, directory, force))
    except Unavailable as error:
        if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, (Gone, Elsewhere)):
            raise error.__cause__ from None  # of the files that are written
        raise


FUNCTIONS.update(breaks=breaks, check=check)
