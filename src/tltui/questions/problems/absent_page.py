"""The page `absent`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.rank_groups import flow, on_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.run import Run
from tltui.model.torch_version import version_of
from tltui.questions.problems import absent_artifacts
from tltui.questions.problems.absent_artifacts import Absence, AbsentGroup, CompileArtifacts, Expected, PresentCount, read_absence
from tltui.questions.question import Question
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen

LINKS_SHOWN = 8
LINKS_FOLDED = 400
HEADINGS = {
    absent_artifacts.FAILED: "Not written because of a failure",
    absent_artifacts.CUT: "Cut off: the log ends earlier",
    absent_artifacts.UNEXPLAINED: "Absent for an unknown reason",
    absent_artifacts.PENDING: "Not written yet",
    absent_artifacts.EMPTY: "Empty",
    absent_artifacts.OPEN: "Unknown for this torch version",
    absent_artifacts.NOT_LOGGED: "Not logged with the settings of this job",
    absent_artifacts.CACHED: "Skipped: a cache had the result",
    absent_artifacts.NOTHING: "Nothing to write",
}
FOLDED = ("Absent as expected", "Not written by this torch version")
WORDS = {
    absent_artifacts.PRESENT: "present",
    absent_artifacts.FAILED: "failed",
    absent_artifacts.CUT: "cut off",
    absent_artifacts.UNEXPLAINED: "unknown",
    absent_artifacts.PENDING: "not yet",
    absent_artifacts.EMPTY: "empty",
    absent_artifacts.OPEN: "not known",
    absent_artifacts.NOT_LOGGED: "not logged",
    absent_artifacts.CACHED: "cached",
    absent_artifacts.OTHER_TORCH: "no support",
    absent_artifacts.NOTHING: "not needed",
}
STYLES = {
    absent_artifacts.PRESENT: tokens.OK,
    absent_artifacts.FAILED: tokens.ERROR,
    absent_artifacts.CUT: tokens.WARN,
    absent_artifacts.UNEXPLAINED: tokens.WARN,
    absent_artifacts.PENDING: tokens.DIM,
    absent_artifacts.EMPTY: tokens.WARN,
    absent_artifacts.OPEN: tokens.VALUE,
    absent_artifacts.NOT_LOGGED: tokens.VALUE,
    absent_artifacts.CACHED: tokens.VALUE,
    absent_artifacts.OTHER_TORCH: tokens.DIM,
    absent_artifacts.NOTHING: tokens.DIM,
}


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `absent` for the scope. It grows: every compile is examined first."""

    def fill(page: Page) -> Generator[None, None, Absence]:
        page.add((f"Absent artifacts{scope.title}" if scope.title else "Absent", tokens.TITLE))
        absence = yield from read_absence(scope.compiles)
        _versions(page, scope)
        if not absence.compiles:
            _add_no_compiles(page, bool(scope.compiles))
        elif len(absence.compiles) == 1 and (run.finished or len(scope.compiles) == 1):
            _compile(page, absence.compiles[0], run.finished)
        else:
            _many(page, absence, run.finished)
        return absence

    return GrowingDocument(scope.page("absent"), f"absent{scope.title}", options, fill, Page)


def _can_be(state: str) -> bool:
    """Return whether the torch version of the log can write it."""
    return state not in (absent_artifacts.OPEN, absent_artifacts.OTHER_TORCH)


def _place(row: Expected | AbsentGroup) -> int:
    """Return 0 for a visible group, else the number of its folded section, from 1."""
    return (2 if row.state == absent_artifacts.OTHER_TORCH else 1) if row.is_routine else 0


def _versions(page: Page, scope: Scope) -> None:
    """Add the inferred torch versions of logs that do not state them."""
    versions = (version_of(process) for process in scope.processes)
    for words in dict.fromkeys(version.description for version in versions if version.stated is None and version.description):
        page.say(f"The log does not record a torch version. It is {words}.", "", tokens.DIM)


def _add_no_compiles(page: Page, records: bool) -> None:
    page.blank()
    if records:
        text = "Only records without a compile id: their expected artifacts are unknown."
        page.say(page.so_far(text), "", tokens.DIM)
    else:
        page.say(page.so_far("No compiles."), "", tokens.DIM)


def _compile(page: Page, compile_: CompileArtifacts, finished: bool) -> None:
    """Add all artifacts of one compile, in the order of the compiler's work."""
    rows = compile_.expected
    present, can = sum(row.state == absent_artifacts.PRESENT for row in rows), sum(_can_be(row.state) for row in rows)
    page.row([(f"[{compile_.ref}]", tokens.LINK, compile_.ref), f"  {compile_.status or 'no compile'}: ",
              (f"{present} of {fmt.plural(can, 'possible artifact')} present{'' if finished else ' so far'}", tokens.STRONG),
              ], "")  # fmt: skip
    page.more("absent artifacts may still be written.")
    for place, title in enumerate(("Artifacts, in the order in which torch writes them", *FOLDED)):
        shown = [row for row in rows if _place(row) == place]
        if shown:
            page.heading(f"{title} ({len(shown)})" if place else title, folded=place > 0)
        for row in shown:
            _row(page, compile_.ref, row)


def _row(page: Page, ref: str, row: Expected) -> None:
    """Add an artifact: `there      Output code ×2  inductor_output_code`, or the state with its reason below."""
    times = f" ×{row.count}" if row.count > 1 else ""
    name = row.record_name or row.name
    if row.record_name is None:
        shown: Piece = (name, tokens.DIM, f"@records:{ref}" if row.state == absent_artifacts.PRESENT else "")
    else:
        shown = (name, tokens.LINK, f"{ref}:{name}" + ("#1" if row.count > 1 else ""))
    head: list[Piece] = [(WORDS[row.state].ljust(11), STYLES[row.state]), (f"{row.title}{times}  ", tokens.STRONG), shown]
    page.row(head)
    if row.reason is not None:
        page.say(row.reason, " " * 13, tokens.DIM)
        _setting(page, row.flag, row.reason, " " * 13)


def _many(page: Page, absence: Absence, finished: bool) -> None:
    """Add absent artifacts grouped by state, then by reason, with their compiles."""
    wanted = sum(_can_be(row.state) for compile_ in absence.compiles for row in compile_.expected)
    missing = sum(len(group.refs) for group in absence.groups if _can_be(group.state))
    routine = sum(len(group.refs) for group in absence.groups if _place(group) == 1)
    page.say(
        f"{fmt.plural(len(absence.compiles), 'compile')}: {fmt.count(wanted - missing)} of "
        f"{fmt.plural(wanted, 'possible artifact')} present{'' if finished else ' so far'}, {fmt.count(missing)} absent"
        + (f" ({'all' if routine == missing else fmt.count(routine)} of them as expected)." if routine else "."), "", tokens.STRONG,
    )  # fmt: skip
    page.more("absent artifacts may still be written.")
    groups = [group for group in absence.groups if not group.is_routine]
    for state, members in groupby(groups, key=lambda group: group.state):
        page.heading(HEADINGS[state])
        _reasons(page, list(members), state, "  ")
    for place, title in enumerate(FOLDED, 1):
        rest = [group for group in absence.groups if _place(group) == place]
        if rest:
            page.heading(f"{title} ({fmt.count(sum(len(group.refs) for group in rest))})", folded=True)
            _reasons(page, rest, "", "  ")
    _present(page, absence)


def _reasons(page: Page, groups: Sequence[AbsentGroup], state: str, indent: str) -> None:
    """Group artifacts that are absent from the same compiles for the same reason."""
    together: dict[tuple[str, str | None, tuple[str, ...]], list[AbsentGroup]] = {}
    for group in groups:
        together.setdefault((group.reason, group.flag, group.refs), []).append(group)
    for (reason, flag, refs), members in together.items():
        page.open(reason)
        style = STYLES.get(state, tokens.DIM)
        page.say(reason, indent, style)
        page.table(replace(NAMES, indent=indent + "  "), members)
        _setting(page, flag, reason, indent + "  ")
        _links(page, refs, indent + "  ")
        page.close()


def _setting(page: Page, flag: str | None, reason: str, indent: str) -> None:
    """Add the setting that enables an artifact, unless the reason names it."""
    if flag is None or flag in reason:
        return
    if "=" in flag:
        page.row([("set ", tokens.LABEL), (flag, tokens.NAME), (" to record it", tokens.LABEL)], indent)
    else:
        page.row([("setting: ", tokens.LABEL), (flag, tokens.NAME)], indent)


def _links(page: Page, refs: Sequence[str], indent: str) -> None:
    groups = on_ranks(refs, page.newest)
    flow(page, [group.pieces() for group in groups[:LINKS_SHOWN]], indent, [f"{fmt.plural(len(refs), 'compile')}  "])
    left = groups[LINKS_SHOWN : LINKS_SHOWN + LINKS_FOLDED]
    if not left:
        return
    more = sum(len(group.refs) for group in groups[LINKS_SHOWN:])
    title = fmt.plural(more, "more compile")
    if len(groups) > LINKS_SHOWN + LINKS_FOLDED:
        title += f", the first {fmt.count(sum(len(group.refs) for group in left))}"
    with page.fold(title, indent + "  "):
        page.joined([("".join(map(piece_text, group.pieces())), tokens.LINK, group.ref) for group in left], indent + "    ")


NAMES: Table[AbsentGroup] = Table((
    Column("", lambda row: (row.title, tokens.STRONG)),
    Column("", lambda row: ("" if row.title == row.name else row.name, tokens.DIM)),
))  # fmt: skip
PRESENT: Table[PresentCount] = Table((
    Column("", lambda row: row.title),
    Column("", lambda row: (f"in {fmt.count(row.compiles)} of {fmt.count(row.possible_compiles)}",
                            tokens.DIM if row.compiles == row.possible_compiles else tokens.VALUE)),
    Column("", lambda row: ("" if row.name == row.title else row.name, tokens.DIM)),
))  # fmt: skip


def _present(page: Page, absence: Absence) -> None:
    page.heading("Present artifacts", folded=True)
    page.table(PRESENT, absence.present)


@frozen
class AbsentRow:
    """One artifact that is not there, for one reason."""

    name: str
    """The artifact."""
    title: str
    """The title of its kind."""
    state: str
    """The state of the artifact."""
    reason: str
    """Why it is not there."""
    flag: str | None
    """The setting that has torch write it."""
    is_routine: bool
    """Whether that is as it should be."""
    count: int
    """From how many compiles it is absent."""
    first_ref: str
    """The address of the first of them."""


def absent_rows(data: Absence) -> Iterator[AbsentRow]:
    """Yield one row per group."""
    for group in data.groups:
        first = group.refs[0] if group.refs else ""
        yield AbsentRow(group.name, group.title, group.state, group.reason, group.flag, group.is_routine, len(group.refs), first)


QUESTION = Question(
    name="absent",
    help="absent artifacts and the reasons: failed, cut off, not logged, cached",
    group="look at a run",
    order=680,
    needs=Needs("does not show which artifacts a compile should have"),
    document=document,
    answer=Absence,
    rows=AbsentRow,
    records=absent_rows,
    doc="""
    Absent artifacts and the reasons: failed, cut off, not logged, cached. A row per artifact and reason.
    """,
)
