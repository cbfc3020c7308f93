"""A run as one HTML file for readers without tltui: the most valuable sections that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import IO

from tltui import __version__
from tltui.documents.format import plural, seconds, size_of
from tltui.documents.rank_groups import said_ranks
from tltui.export.html import GONE, fragment, html_file, line_id
from tltui.export.html import text as shown
from tltui.model.nodes import Compile, Frame, Rank
from tltui.model.ref import split_line
from tltui.model.run import Run
from tltui.model.status import TABLE, colour, glyph
from tltui.questions.build import build
from tltui.questions.records.index_page import pages
from tltui.text import tokens
from tltui.text.bad_input import BadInput
from tltui.text.document import Document, Options
from tltui.text.frozen import frozen, mutable
from tltui.text.sanitize import sanitize
from tltui.writers.report import OMITTED_REF as OMITTED
from tltui.writers.report import REF as LISTING
from tltui.writers.report import (
    Candidate,
    Contents,
    Cut,
    Ids,
    Omissions,
    command_for,
    compiles_document,
    contents_of,
    has_findings,
    omissions_document,
    representative_note,
    representative_of,
)

STYLE = """
.tltui body{max-width:96rem}
.tltui .rep-head{margin:0 -1.25rem 1.2em;padding:.9em 1.25rem;background:var(--bar)}
.tltui .rep-head h1{margin:0 0 .3em;font-size:1.5em}
.tltui .rep-head p{margin:.2em 0;max-width:100ch}
.tltui .rep-count{color:var(--dim);font-weight:400;font-size:.93em}
.tltui .rep-nav details,.tltui .rep-nav details[open]{border:0;padding:0;margin:0}
.tltui .rep-nav details[open]>:not(summary){padding:0}
.tltui .rep-nav summary{color:var(--tok-heading);font-weight:700}
.tltui .rep-nav h2{margin:1em 0 .3em;font-size:1em}
.tltui .rep-nav ul{margin:.2em 0;gap:.2em 1.4em}
.tltui .rep-nav li{overflow-wrap:anywhere}
.tltui .rep-nav a{text-decoration-color:var(--rule)}
.tltui .rep-page{border-top:2px solid var(--rule);margin-top:2.5em}
.tltui .rep-page>h2,.tltui .rep-page>summary>h2,.tltui .rep-part{font-size:1.35em;margin:.7em 0 .1em}
.tltui .rep-page>h2+p{margin:0 0 1em}
.tltui details.rep-page{padding-top:.7em}
.tltui details.rep-page,.tltui details.rep-page[open]{border-left:0;padding-left:0}
.tltui details.rep-page[open]>:not(summary){padding-left:0}
.tltui .rep-compile{border-top:1px solid var(--rule);margin:0;padding:.35em 0}
.tltui .rep-compile[open]{border-left:0;padding:.35em 0 1.2em}
.tltui .rep-compile>summary{font-weight:700;padding:.25em 0}
.tltui .rep-compile[open]>summary{background:var(--bar);padding:.25em .5em;margin:0 -.5em .8em}
.tltui .rep-compile[open]>:not(summary){padding-left:0}
.tltui .rep-artifact{margin:.15em 0 .15em 1ch}
.tltui section{scroll-margin-top:4em}
.tltui .rep-page section{scroll-margin-top:7em}
.tltui .rep-cut{color:var(--tok-break)}
.tltui .gone,.tltui .gone>.link{color:inherit}
.tltui .gone{text-decoration-color:var(--dim)}
@media(min-width:70rem){.tltui body{display:grid;grid-template-columns:15rem minmax(0,1fr);column-gap:2.5rem}
.tltui .rep-head{grid-column:1/-1}
.tltui .rep-nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:.5em .5em 1em 0;font-size:.93em}
.tltui .rep-nav ul{display:block}.tltui .rep-nav li{padding:.1em 0 .1em 2ch;text-indent:-2ch}
.tltui .rep-page:first-child{border-top:0;margin-top:0}}
@media(max-width:69.99rem){.tltui .rep-nav ul{max-height:14em;overflow-y:auto}}
@media print{.tltui .rep-nav{display:none}}
"""


@mutable
class Section:
    """A chosen candidate."""

    candidate: Candidate
    id: str
    lines: int
    """Lines in the file."""
    of: int
    """Lines of the document."""
    bytes: int
    """Upper bound of the bytes in the file."""
    document: Document | None = field(default=None, repr=False)
    """Document of a page about the run, which is slow to build again."""


def first_sentence(document: Document) -> str:
    """Return the first line below the title of a page without findings."""
    lines = [line for line in document.text(0, 8) if line.strip()]
    has_title = len(lines) > 1 and any(span.style == tokens.TITLE for span in document.line(0).spans)
    return lines[has_title] if lines else ""


def section_heading(name: str, description: str) -> str:
    """Return the heading of a group of sections."""
    return f"<div class=rep-page><h2>{name}</h2>\n<p><span class=dim>{description}</span></p></div>\n"


def length_of(pieces: Iterable[str]) -> int:
    """Return the bytes of pieces in a file."""
    return sum(len(piece.encode("utf-8", "backslashreplace")) for piece in pieces)


LEAST = 200_000
"""Minimum size of a report in bytes: its styles, the summary, the problems and the list of omissions."""
RESERVED = 40_000
"""Bytes reserved for the head, the table of contents, and the list of omissions."""
PAGES, PAGE, FIRST, LIST, ARTIFACT = 0.5, 0.06, 0.15, 0.08, 0.08
"""Shares of the size: of all pages about the run, of one of them, of the summary and the problems, of the list of compiles, and of
one artifact. What is longer is cut there."""
ROW = 450
"""Typical maximum bytes of a row of the list of compiles."""
MISSES = 60
"""Consecutive candidates that do not fit after which the search stops."""
SMALL = 1_500
"""Bytes below which no section fits."""
OPEN, OPEN_WORTH = 10, 0.5
"""Sections of compiles that are open at first: so many of them, as far as they are worth that much."""
COMPARED = 12
"""Maximum number of comparisons in the file."""
COMPARING = ("summary", "problems", "ranks", "recompiles", "caches")
"""Pages whose comparisons are included."""
FOLDED = 120
"""Minimum number of lines at which a page is folded at first."""
UNFOLDED = ("summary", "problems", "compiles", "recompiles", "ranks", "matrix", "contents not in this file")
"""Pages that are never folded."""
SHORTEST = 30
"""Minimum number of lines of a truncated section."""


class TooSmall(BadInput):
    """The requested size is too small for a report."""


@frozen
class ReportSummary:
    """The counts of a written report."""

    bytes: int
    pages: int
    compiles: int
    of_compiles: int
    artifacts: int
    of_artifacts: int
    cut: int


class Book:
    """A report of a run, of at most `limit` bytes.

    `path`: the opened path for the reader, '' to hide it. Raises `TooSmall`.
    """

    def __init__(self, run: Run, limit: int, path: str, options: Options) -> None:
        if limit < LEAST:
            raise TooSmall(f"too small for a report: '{size_of(limit)}'", f"the minimum is {LEAST // 1000 + 1}k")
        self._run, self._limit, self._path = run, limit, path
        self._options = replace(options, goes_on=run.goes_on, newest=run.restarted)
        self._ids = Ids()
        self._lines: dict[str, set[int]] = {}
        self._silent: list[tuple[str, str]] = []
        self._missing: list[tuple[str, str]] = []
        self._catalog: Contents = contents_of(run)
        self._remaining = limit - RESERVED - length_of(html_file("", [], STYLE))
        self._pages: list[Section] = []
        self._below: list[Section] = []
        self._help = {page.ref: page.help for page in pages(run)} | {LISTING: "all compiles, equal ones of several ranks once"}
        self._compared: list[Section] = []
        self._requested: dict[str, None] = {}
        self._choose_pages()
        self._choose_compared()
        self._choose_below()
        self._by_ref = {section.candidate.ref: section for section in (*self._pages, *self._compared, *self._below)}

    # choosing

    def _choose_pages(self) -> None:
        room = int(self._limit * PAGES)
        for candidate in self._catalog.pages:
            document = build(self._run, candidate.ref, self._options)
            while not document.advance():
                pass
            if not has_findings(candidate.name, document.data()):
                self._silent.append((candidate.name, first_sentence(document)))
                continue
            share = FIRST if candidate.name in ("summary", "problems") else PAGE
            room -= self._choose_page(candidate, document, min(int(self._limit * share), room))
            if candidate.name == "problems":
                most = int(self._limit * LIST) // ROW
                listed = compiles_document(self._run, self._catalog.equal, self._catalog.worth, most, self._options)
                room -= self._choose_page(Candidate(LISTING, 1.0, name="compiles"), listed, int(self._limit * LIST))

    def _choose_page(self, candidate: Candidate, document: Document, room: int) -> int:
        section = self._measured(candidate, document, min(room, self._remaining))
        if section is None:
            self._missing.append((candidate.name, command_for(candidate.ref)))
            return 0
        section.document = document
        self._pages.append(section)
        self._remaining -= section.bytes
        return section.bytes

    def _choose_compared(self) -> None:
        """Add the comparisons that the pages about the run link to."""
        for ref in list(self._requested)[:COMPARED]:
            document = self._built(Candidate(ref, 1.0))
            room = min(int(self._limit * PAGE), self._remaining)
            section = self._measured(Candidate(ref, 1.0, name=document.title), document, room)
            if section is not None:
                section.document = document
                self._compared.append(section)
                self._remaining -= section.bytes

    def _choose_below(self) -> None:
        chosen: set[str] = set()
        misses = 0
        for candidate in self._catalog.below:
            if misses > MISSES or self._remaining < SMALL:
                return
            if candidate.name and candidate.owner not in chosen:
                continue
            section = self._measured(candidate, self._built(candidate), min(int(self._limit * ARTIFACT), self._remaining))
            if section is None:
                misses += 1
                continue
            misses = 0
            chosen.add(candidate.owner)
            self._below.append(section)
            self._remaining -= section.bytes

    def _built(self, candidate: Candidate) -> Document:
        document = build(self._run, candidate.ref, self._options)
        while not document.advance():
            pass
        return document

    def _measured(self, candidate: Candidate, document: Document, room: int) -> Section | None:
        """Return the section with as many lines as fit into `room` bytes."""
        section = Section(candidate, self._ids.of(candidate.ref), len(document), len(document), 0)
        for _ in range(6):
            section.bytes = self._max_bytes(section, document)
            if section.bytes <= room:
                return section
            section.lines = int(section.lines * room / section.bytes * 0.95)
            if section.lines < min(SHORTEST, section.of):
                return None
        return None

    def _max_bytes(self, section: Section, document: Document) -> int:
        """Return an upper bound of a section's bytes: every link as long as it can be."""

        def target(to: str) -> str:
            command = self._command(to)
            ref, line = split_line(representative_of(self._catalog.representatives, to))
            if ref.startswith("@diff") and section.candidate.name in COMPARING:
                self._requested[ref] = None
            if line is not None:
                self._lines.setdefault(ref, set()).add(line)
            return command or (f"#{'x' * 60}{self._representative_note(to)}" if to else "")

        parts = (self._section(section, document, target, ()), self._entry(section))
        return sum(map(length_of, parts)) + 100

    # writing

    def write(self, file: IO[bytes]) -> ReportSummary:
        """Write the report."""
        while True:
            count = 0
            for piece in html_file(self._title(), self._body(), STYLE):
                data = piece.encode("utf-8", "backslashreplace")
                count += len(data)
                file.write(data)
            if count <= self._limit or not self._below:
                return self._summarize(count)
            file.seek(0)
            file.truncate()
            self._drop(count - self._limit)

    def _drop(self, size: int) -> None:
        """Drop the least valuable sections, `size` bytes of them."""
        while size > 0 and self._below:
            last = self._below.pop()
            del self._by_ref[last.candidate.ref]
            size -= last.bytes

    def _summarize(self, count: int) -> ReportSummary:
        compiles = {section.candidate.owner for section in self._below} - self._owners()
        artifacts = sum(number for number, _ in self._kinds().values())
        cut = sum(section.lines < section.of for section in self._by_ref.values())
        of_compiles = len(self._catalog.worth)
        return ReportSummary(count, len(self._pages), len(compiles), of_compiles, artifacts, sum(self._catalog.kinds.values()), cut)

    def _owners(self) -> set[str]:
        """Return the addresses of frames and ranks with a section."""
        return {section.candidate.owner for section in self._below if section.candidate.owner not in self._catalog.worth}

    def _title(self) -> str:
        return sanitize(f"{self._run.title}: torch.compile report")

    def _body(self) -> Iterator[str]:
        yield from self._head()
        yield from self._contents()
        yield "<main>\n"
        for section in self._pages:
            yield from self._section(section, section.document or self._built(section.candidate), self._target)
        yield from self._compiles()
        if self._compared:
            yield section_heading("comparisons", "the artifacts that the pages above compare")
        for section in self._compared:
            yield from self._section(section, section.document or self._built(section.candidate), self._target)
        omissions = Section(Candidate(OMITTED, 1.0, name="contents not in this file"), self._ids.of(OMITTED), 0, 0, 0)
        document = omissions_document(self._omissions(), self._path, self._options)
        omissions.lines = omissions.of = len(document)
        yield from self._section(omissions, document, self._target)
        yield "</main>\n"

    def _head(self) -> Iterator[str]:
        tally = self._run.tally
        yield f"<header class=rep-head>\n<h1>{shown(self._run.title)}</h1>\n<p>"
        marks = [
            f'<span class="{shown(row.colour)}">{row.glyph} {count:,} {shown(row.words)}</span>'
            for row in TABLE.values()
            if (count := getattr(tally, row.field))
        ]
        yield f"{plural(tally.compiles, 'compile')} of torch.compile in {seconds(tally.compile_s)}: {', '.join(marks)}</p>\n"
        yield f'<p class="dim">Written by tltui {shown(__version__)} from {shown(self._path or "a redacted copy of the trace")}. '
        yield "This file is self-contained: no scripts, no downloads. Text with a dotted underline "
        yield "refers to contents that are not in this file; its tooltip has the command that prints them. "
        if self._catalog.equal.representatives:
            yield "A link with a double underline leads to a compile of another rank with the same graphs, guards and code. "
        yield f'<a href="#{self._ids.of(OMITTED)}">Contents not in this file</a></p>\n</header>\n'

    def _contents(self) -> Iterator[str]:
        yield '<nav class=rep-nav><details open><summary>Contents</summary>\n<ul>\n'
        for section in self._pages:
            yield from self._entry(section)
        yield f'<li><a href="#{self._ids.of(OMITTED)}">contents not in this file</a>\n</ul>\n'
        groups = self._grouped()
        if groups:
            frames = self._owners()
            here = sum(owner not in frames for owner, _ in groups)
            different = " different" if self._catalog.equal.representatives else ""
            yield f"<h2>Compiles <span class=rep-count>{here:,} of {len(self._catalog.worth):,}{different}</span></h2>\n<ul>\n"
            for _, sections in groups:
                yield from self._entry(sections[0])
            yield "</ul>\n"
        if self._compared:
            yield f"<h2>Comparisons <span class=rep-count>{len(self._compared)}</span></h2>\n<ul>\n"
            for section in self._compared:
                yield from self._entry(section)
            yield "</ul>\n"
        yield "</details></nav>\n"

    def _entry(self, section: Section) -> Iterator[str]:
        """Yield a section's line of the table of contents; sections below a compile have none."""
        candidate = section.candidate
        if not candidate.owner:
            count = self._count_of(candidate.name)
            yield f'<li><a href="#{section.id}">{shown(candidate.name)}</a>{count}\n'
        elif not candidate.name:
            mark, title = self._mark(candidate.owner)
            yield f'<li><a href="#{section.id}">{mark}{shown(title)}</a>\n'

    def _count_of(self, page: str) -> str:
        tally = self._run.tally
        counts = {
            "problems": tally.errors + tally.eager + tally.breaks + tally.restarts, "recompiles": tally.recompiles,
            "ranks": len(self._run.ranks), "matrix": len(self._run.ranks), "compiles": tally.compiles,
        }  # fmt: skip
        return f" <span class=rep-count>{counts[page]:,}</span>" if counts.get(page) else ""

    def _grouped(self) -> list[tuple[str, list[Section]]]:
        """Return the sections about compiles and frames, in the order of the run; the overview of each first."""
        groups: dict[str, list[Section]] = {}
        for section in self._below:
            groups.setdefault(section.candidate.owner, []).append(section)
        for sections in groups.values():
            sections.sort(key=lambda section: section.candidate.place)
        return sorted(groups.items(), key=lambda group: self._catalog.order[group[0]])

    def _compiles(self) -> Iterator[str]:
        groups = self._grouped()
        if not groups:
            return
        opened = [owner for owner in self._catalog.worth if self._catalog.worth[owner] >= OPEN_WORTH][:OPEN]
        yield section_heading("sections of compiles", "outcome, code, graphs and guards of each compile")
        for owner, sections in groups:
            mark, title = self._mark(owner)
            yield f"<details class=rep-compile{' open' if owner in opened else ''}><summary>{mark}{shown(title)}"
            yield f"{self._about(owner)}</summary>\n"
            for section in sections:
                yield from self._section(section, self._built(section.candidate), self._target)
            yield "</details>\n"

    def _mark(self, owner: str) -> tuple[str, str]:
        node = self._run.resolve(owner)
        title = self._catalog.titles.get(owner, owner)
        if isinstance(node, Compile):
            return f'<span class="{shown(colour(node.status))}">{glyph(node.status)}</span> ', title
        return ("<span class=recompile>↻</span> " if isinstance(node, Frame) else ""), title

    def _about(self, owner: str) -> str:
        node = self._run.resolve(owner)
        if not isinstance(node, (Compile, Frame, Rank)):
            return ""
        facts = [seconds(node.tally.compile_s)] if node.tally.compile_s else []
        if not isinstance(node, Compile):
            facts.insert(0, plural(node.tally.compiles, "compile"))
        if len(same := self._catalog.equal.refs.get(owner, ())) > 1:
            facts.append(f"the same on {said_ranks(same)}")
        return f" <span class=rep-count>{shown(' · '.join(facts))}</span>" if facts else ""

    def _section(
        self, section: Section, document: Document, target: Callable[[str], str], marked: Iterable[int] | None = None
    ) -> Iterator[str]:
        candidate = section.candidate
        if marked is None:
            marked = self._lines.get(candidate.ref, ())
        before, behind = self._frame_of(section, document)
        yield before
        visible = [line for line in marked if line <= section.lines]
        yield from fragment(document, section.id, target, 0, section.lines, level=2, heading=False, marked=visible)
        if section.lines < section.of:
            yield f"<p class=rep-cut>{section.of - section.lines:,} more lines of {section.of:,} are not in this file: "
            yield f"<code>{shown(command_for(candidate.ref) or 'tltui ls PATH')}</code></p>\n"
        yield behind

    def _frame_of(self, section: Section, document: Document) -> tuple[str, str]:
        """Return the HTML before and after a section: the name of a page, `<details>` for a long section or one of a compile."""
        candidate = section.candidate
        if candidate.owner:
            if not candidate.name:
                return "", ""
            size = f" <span class=rep-count>{size_of(candidate.bytes)}</span>" if candidate.bytes else ""
            name = document.title.partition("] ")[2] if candidate.kind else candidate.name  # with its unit
            return f"<details class=rep-artifact><summary>{shown(name or candidate.name)}{size}</summary>\n", "</details>\n"
        if candidate.ref.startswith("@diff"):
            return f"<details class=rep-compile><summary>{shown(candidate.name)}</summary>\n", "</details>\n"
        description = f"<span class=dim>{shown(self._help.get(candidate.ref, ''))}</span>"
        name = f"<h2>{shown(candidate.name)}</h2>"
        if section.of > FOLDED and candidate.name not in UNFOLDED:
            return f"<details class=rep-page><summary>{name} {description}</summary>\n", "</details>\n"
        return f"<div class=rep-page>{name}\n<p>{description}</p>\n", "</div>\n"

    def _target(self, to: str) -> str:
        """Return the href of a link in this file, or the command for its target."""
        ref, line = split_line(representative_of(self._catalog.representatives, to))
        section = self._by_ref.get(ref or "@summary")
        if section is None:
            return self._command(to)
        if line is not None and line <= section.lines:
            return f"#{line_id(section.id, line)}{self._representative_note(to)}"
        return f"#{section.id}{self._representative_note(to)}"

    def _representative_note(self, to: str) -> str:
        """Return the tooltip of a link to one rank's node that leads to its equal on another rank."""
        note = representative_note(self._catalog.representatives, to)
        return f"{GONE}{note}" if note else ""

    @staticmethod
    def _command(to: str) -> str:
        command = command_for(to)
        return f"{GONE}{command}" if command else ""

    def _kinds(self) -> dict[str, tuple[int, int]]:
        """Return name of an artifact → its count in the file and in the run."""
        here = Counter(section.candidate.kind for section in self._below)
        return {name: (here[name], of) for name, of in self._catalog.kinds.items()}

    def _omissions(self) -> Omissions:
        cut = [
            Cut(part.candidate.ref, part.candidate.name or part.candidate.ref, part.lines, part.of, command_for(part.candidate.ref))
            for part in (*self._pages, *self._below)
            if part.lines < part.of
        ]
        frames = self._owners()
        compiles = len({part.candidate.owner for part in self._below if part.candidate.owner in self._catalog.worth} - frames)
        return Omissions(
            (compiles, len(self._catalog.worth)),
            self._kinds(),
            cut, self._silent, self._missing,
        )  # fmt: skip
