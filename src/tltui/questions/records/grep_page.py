"""The page `@grep`: search in the text of all records, and in the pages about the run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase

from tltui.documents.format import place, plural
from tltui.documents.page import Page
from tltui.inputs.index.indexed_log import Elsewhere, IndexBytes
from tltui.model.artifacts import artifact_name, artifacts_of
from tltui.model.kind import Phase
from tltui.model.kinds import kind_of
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID, NORANK, Ref, at_line, parse_ref
from tltui.model.run import Run
from tltui.questions.index import BY_NAME
from tltui.questions.question import view_document
from tltui.questions.records.records_page import record_ref
from tltui.questions.stacks.tracebacks import display_code
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Builder, Document, Options, Piece
from tltui.text.formatting import ELLIPSIS, cells, crop_left, fit
from tltui.text.frozen import frozen
from tltui.text.payload import decode
from tltui.text.sanitize import sanitize
from tltui.text.search.byte_search import BadPattern, Finder, child_for, finder, first_hits
from tltui.text.search.child_process import Child, compiled
from tltui.text.torch_names import in_payloads
from tltui.trace.batch import ORPHAN
from tltui.trace.log import Log

PIECE = 4 << 20
AROUND = 1 << 12
"""Bytes that are read for each line of context."""
AT_ONCE = 256
"""Records of an index that are searched without a pause."""
MOST = 10_000
"""Hits that are shown; then the search ends and says so."""
SHOWN = 400
"""Characters of a line that are shown around a hit."""
MARGIN = 10
"""Cells before the text of a hit: its line number and two blanks."""
_CODE, _GRAPHS, _GUARDS, _TEXTS, _DATA, _METRICS = range(6)
LANGUAGES_IN_ORDER = {
    "output_code": _CODE, "cpp": _CODE, "fx": _GRAPHS, "ir": _GRAPHS, "guards": _GUARDS,
    "python": _TEXTS, "bytecode": _TEXTS, "text": _TEXTS, "traceback": _TEXTS,
}  # fmt: skip
"""Language of an artifact → its place among the others of a compile."""
PAGES = ("summary", "problems", "recompiles")
"""Views whose text is searched as well."""
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")


@frozen
class Query:
    """A search: pattern, filters, and lines of context."""

    pattern: str
    """A regular expression over a line; small letters match capitals too, unless there is a capital in it."""
    artifact: str = "*"
    """A glob of names of artifacts or events."""
    status: str = ""
    rank: int | None = None
    frame: int | None = None
    context: int = 0
    """Lines before and after each hit that are shown too."""

    @property
    def is_filtered(self) -> bool:
        """Whether only a part of the records is meant."""
        return self != Query(self.pattern, context=self.context)


@frozen
class GrepHit:
    """One line that matches."""

    ref: str
    """The artifact, or the record."""
    name: str
    line: int
    """Line of the payload from 1; 0 for a hit in an envelope."""
    column: int
    """From 0, in `text`."""
    length: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@frozen
class GrepResult:
    """All of them, for JSON."""

    pattern: str
    hits: tuple[GrepHit, ...]
    is_complete: bool


def hits(run: Run, query: Query) -> Iterator[GrepHit | None]:
    """Yield the hits in file order, log by log in the order of the tree, at most one for each line. Raises `BadPattern`, OSError.

    None comes after each piece without a hit, so that the search can be left.
    """
    with closing(_by_log(run, query)) as logs:
        for log in logs:
            yield from log


def _by_log(run: Run, query: Query) -> Generator[Iterator[GrepHit | None], None, None]:
    """Yield the searches of each log, rank by rank."""
    wanted = finder(in_payloads(query.pattern))
    places = {id(process.log): place for place, process in enumerate(run.processes())}
    with child_for(wanted) or nullcontext() as child:
        for model in sorted(run.models, key=lambda model: places.get(id(model.log), len(places))):
            search = _in_made if model.log.is_made else _in_index if isinstance(model.source, IndexBytes) else _in_log
            yield search(run, model, query, wanted, child)


def _in_log(run: Run, model: LogModel, query: Query, wanted: Finder, child: Child | None) -> Iterator[GrepHit | None]:
    log = model.log
    places = _Places(run, model, query)
    at, carry, size = 0, b"", log.scanned
    while at < size:
        data = log.source.read(at, min(PIECE, size - at))
        if not data:
            break
        begin, at = at - len(carry), at + len(data)
        data = carry + data
        cut = len(data) if at >= size else data.rfind(b"\n") + 1
        data, carry = data[:cut], data[cut:]
        for match in first_hits(data if wanted.cased else data.lower(), wanted, child):
            if match is None:
                yield None
                continue
            line, end, start, stop = match
            hit = places.hit(begin + line, data[line:end], start - line, stop - start)
            if hit is not None:
                yield hit
        yield None


def _in_made(run: Run, model: LogModel, query: Query, wanted: Finder, child: Child | None) -> Iterator[GrepHit | None]:
    """Yield the hits in texts that are not stored as in a trace, some records at once."""
    log, places = model.log, _Places(run, model, query)
    texts: list[bytes] = []
    starts: list[int] = []
    numbers: list[int] = []
    size = 0
    for record in log.records():
        payload = log.payload(record) if places.is_shown(record) else None
        if payload is None:
            continue
        numbers.append(record)
        starts.append(size)
        texts.append(payload.read())
        size += len(texts[-1]) + 1
        if size >= PIECE:
            yield from _in_texts(places, texts, starts, numbers, wanted, child)
            texts, starts, numbers, size = [], [], [], 0
    yield from _in_texts(places, texts, starts, numbers, wanted, child)


def _in_index(run: Run, model: LogModel, query: Query, wanted: Finder, child: Child | None) -> Iterator[GrepHit | None]:
    """Yield the hits in the texts that an index has of a log that is not here, record by record."""
    log, places, source = model.log, _Places(run, model, query), model.source
    offset, head, size, flags = log.columns.offset, log.columns.head, log.columns.size, log.columns.flags
    for record in log.records():
        begin = offset[record]
        try:
            text = source.read(begin, head[record] + 1 + size[record] if not flags[record] & ORPHAN else size[record])
        except Elsewhere:
            continue
        for match in first_hits(text if wanted.cased else text.lower(), wanted, child):
            if match is not None:
                line, end, start, stop = match
                if (hit := places.hit(begin + line, text[line:end], start - line, stop - start)) is not None:
                    yield hit
        if record % AT_ONCE == 0:
            yield None


def _in_texts(
    places: _Places, texts: list[bytes], starts: list[int], numbers: list[int], wanted: Finder, child: Child | None
) -> Iterator[GrepHit | None]:
    data = b"\n".join(texts)
    for match in first_hits(data if wanted.cased else data.lower(), wanted, child):
        if match is None:
            yield None
            continue
        line, end, start, stop = match
        place = bisect_right(starts, line) - 1
        yield places.hit_in(numbers[place], texts[place], line - starts[place], end - line, start - line, stop - start)
    yield None


class _Places:
    """Offsets of a log → records, artifacts and lines. Hits come in order, so that lines are counted once."""

    def __init__(self, run: Run, model: LogModel, query: Query) -> None:
        self._run = run
        self._model = model
        self._log: Log = model.log
        self._query = query
        self._kinds: dict[int, bool] = {}
        self._refs: dict[int, dict[int, Ref]] = {}
        self._counted = (-1, 0, 0)  # record, offset up to which lines were counted, lines before it

    def hit(self, line_offset: int, line: bytes, column: int, length: int) -> GrepHit | None:
        columns = self._log.columns
        record = bisect_right(columns.offset, line_offset) - 1
        if record < 0 or not self._wanted(record):
            return None
        kind = self._log.kind(record)
        name = artifact_name(kind)
        stored = len(line)
        in_envelope = line_offset == columns.offset[record] and not columns.flags[record] & ORPHAN
        if in_envelope:
            text, column = _decoded(line, column)
            number = 0
        else:
            number = self._line_of(record, line_offset)
            if line.startswith(b"\t"):
                line, column = line[1:], max(column - 1, 0)
            text, column = _window(line, column)
        result = GrepHit(str(self._ref(record)), name, number, column, length, text)
        if number and self._query.context:
            before, after = self._context(record, line_offset, stored)
            result = replace(result, before=before, after=after)
        return result

    def is_shown(self, record: int) -> bool:
        """Return whether a record is wanted, and is not that of another input again."""
        if not self._wanted(record):
            return False
        owner, number = self._run.joining.home(self._model, record)
        return owner.process.log.origin(number)[0] is self._log

    def hit_in(self, record: int, text: bytes, at: int, size: int, column: int, length: int) -> GrepHit:
        """Return a hit in the text of a record: in the line of `size` bytes at `at`."""
        shown, column = _window(text[at : at + size], column)
        result = GrepHit(
            str(self._ref(record)), artifact_name(self._log.kind(record)), text.count(b"\n", 0, at) + 1, column, length, shown
        )
        if lines := self._query.context:
            above, below = text[:at].split(b"\n")[:-1], text[at + size + 1 :].split(b"\n", lines)
            result = replace(result, before=_shown(above[-lines:]), after=_shown(below[:lines] if at + size < len(text) else []))
        return result

    def _context(self, record: int, offset: int, size: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the lines of the payload before and after the one of `size` stored bytes at `offset`."""
        payload = self._log.payload(record)
        if payload is None:
            return (), ()
        lines = self._query.context
        start = max(payload.offset, offset - lines * AROUND)
        above = payload.source.read(start, max(offset - 1 - start, 0)).split(b"\n") if offset > payload.offset else []
        below = offset + size + 1
        room = min(payload.offset + payload.size - below, lines * AROUND)
        rest = payload.source.read(below, room).split(b"\n") if room >= 0 else []
        return _shown(above[-lines:]), _shown(rest[:lines])

    def _wanted(self, record: int) -> bool:
        query = self._query
        if not query.is_filtered:
            return True
        number = self._log.columns.kind[record]
        if number not in self._kinds:
            kind = self._log.kinds[number]
            names = (artifact_name(kind), kind.event)
            self._kinds[number] = any(fnmatchcase(name, query.artifact) for name in names)
        if not self._kinds[number]:
            return False
        context = self._log.context(record)
        if query.frame is not None and context.frame != query.frame:
            return False
        owner = self._owner(record)
        if query.rank is not None and query.rank != (NORANK if owner.process.rank is None else owner.process.rank):
            return False
        return not query.status or str(owner.status) == query.status

    def _owner(self, record: int) -> Compile:
        return self._run.joining.home(self._model, record)[0]

    def _ref(self, record: int) -> Ref:
        """Return the address of the artifact that the record is, else of the record."""
        owner, record = self._run.joining.home(self._model, record)
        refs = self._refs.get(id(owner))
        if refs is None:
            refs = self._refs[id(owner)] = {artifact.record: artifact.ref for artifact in artifacts_of(owner)}
        return refs.get(record) or record_ref(owner.process, record)

    def _line_of(self, record: int, offset: int) -> int:
        """Return the line of the payload, from 1, that begins at `offset`."""
        last, counted, lines = self._counted
        if last != record:
            payload = self._log.payload(record)
            counted, lines = (payload.offset if payload else offset), 0
        while counted < offset:
            data = self._log.source.read(counted, min(PIECE, offset - counted))
            if not data:
                break
            lines += data.count(b"\n")
            counted += len(data)
        self._counted = (record, counted, lines)
        return lines + 1


def _shown(lines: list[bytes]) -> tuple[str, ...]:
    return tuple(decode(line.removeprefix(b"\t")[:SHOWN]) for line in lines)


def _window(line: bytes, column: int) -> tuple[str, int]:
    """Return the part of a line around a hit, as text, and the column of the hit in it."""
    start = max(column - SHOWN // 2, 0) if column > SHOWN // 2 else 0
    before = decode(line[start:column])
    return before + decode(line[column : start + SHOWN]), len(before)


def _decoded(line: bytes, column: int) -> tuple[str, int]:
    """Return the part of an envelope around a hit, with JSON's escapes of line ends and quotes resolved."""
    text, place = _window(line, column)
    head, tail = text[:place], text[place:]
    for escape, sign in (('\\"', '"'), ("\\n", "␊"), ("\\\\", "\\")):
        head, tail = head.replace(escape, sign), tail.replace(escape, sign)
    head, tail = (_UNICODE.sub(lambda match: chr(int(match[1], 16)), part) for part in (head, tail))
    return head + tail, len(head)


def page_hits(run: Run, pattern: re.Pattern[str], options: Options) -> Iterator[GrepHit | None]:
    """Yield the hits in the pages about the run; None where the search may be left."""
    for name in PAGES:
        if name not in BY_NAME:
            continue
        document = view_document(run, BY_NAME[name], Ref(), options)
        while not document.advance():
            yield None
        for hit in document.find(pattern):
            if hit is None:
                yield None
                continue
            line = document.line(hit.line)
            yield GrepHit(f"@{name}", name, hit.line + 1, hit.start, hit.end - hit.start, line.text)


def grep_document(run: Run, query: Query, options: Options) -> Document:
    """Return the page of hits, grouped by artifact. Raises `BadPattern`."""
    finder(query.pattern)
    ref = str(Ref(view="grep", artifact=query.pattern))

    def fill(builder: Builder) -> Generator[None, None, object]:
        matches: list[GrepHit] = []
        count = 0
        yield
        with closing(_searches(run, query, options)) as searches:
            for search in searches:
                groups: dict[str, list[GrepHit]] = {}
                is_cut = False
                try:
                    for hit in search:
                        if hit is None:
                            yield
                        elif is_cut := count == MOST:
                            break
                        else:
                            count += 1
                            groups.setdefault(hit.ref, []).append(hit)
                finally:  # also where the search is stopped
                    for ref in sorted(groups, key=_group_order):
                        _add_group(builder, run, groups[ref])
                        matches += groups[ref]
                if is_cut:
                    builder.blank()
                    builder.add((f"Only the first {MOST:,} hits are shown. Use a longer pattern to get fewer.", tokens.WARN))
                    return GrepResult(query.pattern, tuple(matches), False)
        builder.blank()
        places = len({hit.ref for hit in matches})
        if matches:
            builder.add((f"{plural(len(matches), 'line')} in {plural(places, 'place')}", tokens.STRONG))
        else:
            builder.add((f"No matches for '{query.pattern}'", tokens.WARN))
        return GrepResult(query.pattern, tuple(matches), True)

    return GrowingDocument(ref, f"search: {query.pattern}", options, fill)


def unsearched_document(pattern: str, bad: BadPattern, options: Options) -> Document:
    """Return the page for a pattern that is empty, or no regular expression."""
    page = Page(str(Ref(view="grep", artifact=pattern)), f"search: {pattern}", options)
    page.say(str(bad), style=tokens.WARN)
    if not pattern:
        return page.document()
    page.add()
    literal = re.escape(pattern).replace("\\ ", " ")
    page.say("The characters ( [ { * + ? | . are special in patterns. Put a backslash before one to match it literally.")
    page.add("literal pattern: ", (literal, tokens.LINK, str(Ref(view="grep", artifact=literal))))
    return page.document()


def _group_order(ref: str) -> tuple[object, ...]:
    """Return the place of an artifact among those of its log: compiles as in the tree, in each of them code before metrics."""
    parsed = parse_ref(ref)
    if parsed.view or parsed.id is None:
        return (1, (), 0)
    kind = kind_of(parsed.artifact or "", parsed.artifact)
    place = _METRICS if kind.phase is Phase.METRICS else LANGUAGES_IN_ORDER.get(kind.language, _DATA)
    numbers = tuple(-1 if number is None else number for number in parsed.id[:4])
    return (parsed.id == NO_ID, numbers, place)


def _add_group(builder: Builder, run: Run, matches: Sequence[GrepHit]) -> None:
    """Add the hits in one artifact below their number and its address: `6  0:0/1:inductor_output_code   forward model.py:30`."""
    builder.close(0)
    builder.blank()
    ref = matches[0].ref
    builder.open(f"{len(matches):,}  {ref}")
    parsed = parse_ref(ref)
    code = ""
    if parsed.id is not None and not parsed.view:
        node = run.resolve(replace(parsed, artifact=None, n=None, attempt=None))
        if isinstance(node, Compile):
            name, file, line = display_code(node.frame)
            code = f"   {name or ''}  {place(file, line)}" if file else ""
    builder.add((f"{len(matches):,}", tokens.STRONG), "  ", (ref, tokens.LINK, ref), (code, tokens.DIM))
    last: GrepHit | None = None
    for hit in matches:
        _add(builder, hit, _add_after(builder, last, hit))
        last = hit
    _add_after(builder, last)


def _searches(run: Run, query: Query, options: Options) -> Generator[Iterator[GrepHit | None], None, None]:
    yield from _by_log(run, query)
    if not query.is_filtered:
        yield page_hits(run, compiled(query.pattern), replace(options, filter=""))


def _add(builder: Builder, hit: GrepHit, shown: int) -> None:
    """Add a hit and the lines before it; `shown` is the last line of the same artifact on the page."""
    first = hit.line - len(hit.before)
    if shown and (hit.before or hit.after) and first > shown + 1:
        builder.add(("       …" if not builder.options.ascii else "     ...", tokens.DIM))
    for number, text in enumerate(hit.before, first):
        if number > shown:
            builder.add((f"{number:>8}", tokens.DIM, at_line(hit.ref, number)), "  ", (text, tokens.DIM))
    builder.add(*_line(hit, builder.options))


def _add_after(builder: Builder, hit: GrepHit | None, before: GrepHit | None = None) -> int:
    """Add the lines after a hit, up to the next hit in the same artifact; return the last line on the page."""
    if hit is None:
        return 0
    end = before.line if before is not None and before.ref == hit.ref and before.line else 1 << 60
    number = hit.line
    for number, text in enumerate(hit.after[: max(end - hit.line - 1, 0)], hit.line + 1):
        builder.add((f"{number:>8}", tokens.DIM, at_line(hit.ref, number)), "  ", (text, tokens.DIM))
    return number


def _line(hit: GrepHit, options: Options) -> Sequence[Piece]:
    where = at_line(hit.ref, hit.line) if hit.line else hit.ref
    number = f"{hit.line:>7}" if hit.line else "envelope"
    end = hit.column + hit.length
    before, match, after = hit.text[: hit.column], hit.text[hit.column : end], hit.text[end:]
    if options.key_of is not None:  # a printed line has no edge
        before, match, after = _in_sight(sanitize(before), sanitize(match), sanitize(after), options.width - MARGIN)
    return (f"{number:>8}", tokens.LINK, where), "  ", before, (match, tokens.CHANGED), after


def _in_sight(before: str, match: str, after: str, width: int) -> tuple[str, str, str]:
    """Cut a line around a hit, so that the hit is in its first half and whole, as far as `width` cells allow."""
    if cells(before + match + after) <= width:
        return before, match, after
    room = max(width - cells(match), 0)
    if cells(before) > room // 2:
        tail = crop_left(before, max(room // 2 - len(ELLIPSIS), 0))
        before = f"{ELLIPSIS}{tail}"
    match = fit(match, width - cells(before))
    return before, match, fit(after, width - cells(before + match))


__all__ = ["BadPattern", "GrepHit", "GrepResult", "Query", "grep_document", "hits", "page_hits", "unsearched_document"]
