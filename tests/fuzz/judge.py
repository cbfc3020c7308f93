"""What must hold of any log, whatever was done to it."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mutations import Case, cut

from tltui.export import lines_of, to_json
from tltui.inputs.forms import TEXT
from tltui.model.artifacts import artifacts_of
from tltui.model.follow import open_run
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.run import Run
from tltui.questions.artifacts.page import extract, raw_bytes, shown_data
from tltui.questions.build import build
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.compare.page import compare_nodes, patch_of
from tltui.questions.index import QUESTIONS
from tltui.questions.records.grep_page import Query, grep_document
from tltui.questions.records.records_page import damage_document, record_ref
from tltui.sources.discover import NothingFound, discover
from tltui.text.document import Document, Options
from tltui.text.sanitize import sanitize
from tltui.trace.batch import ORPHAN
from tltui.trace.log import Check, Log
from tltui.tree.listing import listing_data, listing_document
from tltui.tree.outline import Node, children, label, root
from tltui.writers.bundle import Bundle, bundle_document
from tltui.writers.check_reports import check_document
from tltui.writers.perfetto import Written, chunks

SGR = re.compile("\x1b\\[[0-9;]*m")
HYPERLINK = re.compile(r"\x1b\]8;;https://meta-pytorch\.github\.io/compile-graph-break-site/gb/gb\d+\.html\x1b\\([^\x1b]*)\x1b\]8;;\x1b\\")
"""A link to torch's page about a kind of graph break, the only escape sequence next to colors."""
BLANK = b"\r\n \x00\t"


def judge(case: Case, number: int, directory: Path) -> None:
    """Open a case, print all of it, and look whether what must hold does."""
    directory.mkdir()
    path = directory / "dedicated_log_torch_trace_fuzz.log"
    path.write_bytes(case.data)
    try:
        run = open_run(discover([str(path)]))
    except NothingFound as nothing:
        clean(str(nothing).split("\n"))
        assert len(case.untouched) < 4, f"not opened, although it has untouched records: {nothing}"
        return
    assert run.failures == {}
    [model] = run.models
    if model.form == TEXT:  # no record is left that is one of a trace: it is a text that was named
        assert len(case.untouched) < 4, "opened as a text, although it has untouched records"
        return
    compiles = (compile_ for process in model.processes for compile_ in process.compiles.values())
    nothing_is_swallowed(model.log, case.data, sum(len(compile_.records) for compile_ in compiles))
    untouched_is_as_it_was(run, case)
    Judge(run, random.Random(number), directory).everything()


def nothing_is_swallowed(log: Log, data: bytes, owned: int) -> None:
    """Every byte is in one record or is blank, and every record has one owner."""
    columns, at = log.columns, 0
    assert owned == len(log)
    for record in log.records():
        start = columns.offset[record]
        assert start >= at, f"record {record} begins in the one before it"
        assert not data[at:start].strip(BLANK), f"bytes {at} to {start} are in no record"
        head = 0 if columns.flags[record] & ORPHAN else columns.head[record] + (columns.size[record] > 0)
        at = start + head + columns.size[record]
    assert not data[at:].strip(BLANK), f"bytes from {at} on are in no record"


def untouched_is_as_it_was(run: Run, case: Case) -> None:
    """Records that were left alone are found, with their ids, payloads and md5."""
    model = run.models[0]
    columns = model.log.columns
    at = {columns.offset[record]: record for record in model.log.records()}
    for offset, data in case.untouched:
        record = at.get(offset)
        assert record is not None, f"the untouched record at {offset} is not found"
        _, envelope, payload = cut(data)
        assert columns.head[record] == data.index(b"\n"), offset
        size = len(data) - columns.head[record] - 2 if payload is not None else 0
        assert columns.size[record] == size, f"the payload of the untouched record at {offset}"
        assert model.log.head(record) == data[: columns.head[record]]
        assert model.log.envelope(record) == envelope
        context = model.log.context(record)
        assert (context.frame, context.compile) == (envelope.get("frame_id"), envelope.get("frame_compile_id"))
        if payload is not None and envelope.get("has_payload") == hashlib.md5(payload, usedforsecurity=False).hexdigest():
            checked = model.log.check(record)
            assert checked is not None and checked.check is Check.GOOD, f"the md5 of the untouched record at {offset}"
            assert b"".join(checked.payload.read().split(b"\n")) == payload.replace(b"\n", b"")


def clean(lines: Iterable[str]) -> None:
    """Nothing of it steers a terminal, or is two lines."""
    for line in lines:
        assert sanitize(line) == line, f"a control character: {line[:200]!r}"


def whole_json(value: Any) -> Any:
    """A result survives being printed."""
    data = to_json(value)
    text = data.decode()
    clean(text.split("\n"))
    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        return None


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not valid JSON")


class Judge:
    """Looks at everything that can be printed of a run."""

    def __init__(self, run: Run, rng: random.Random, directory: Path) -> None:
        self.run = run
        self.rng = rng
        self.directory = directory
        self.options = Options(width=rng.choice((40, 80, 100, 400)), ascii=rng.random() < 0.2)
        self.links: dict[str, str] = {}
        """Target of a link → a page that has it."""
        compiles = list(run.compiles())
        self.compiles = rng.sample(compiles, min(len(compiles), 4))
        self.artifacts = [artifact for compile_ in self.compiles for artifact in artifacts_of(compile_)]

    def everything(self) -> None:
        """All of it."""
        refs = ["", "@records", "@pages", *(f"@{view.name}" for view in QUESTIONS)]
        refs += [str(process.ref) for process in list(self.run.processes())[:3]]
        for compile_ in self.compiles[:2]:
            refs += [f"@{view.name}:{compile_.ref}" for view in QUESTIONS]
        model = self.run.models[0]
        refs += [str(record_ref(model.owner(record).process, record)) for record in self.some(range(len(model.log)), 5)]
        refs += [str(artifact.ref) for artifact in self.some(self.artifacts, 10)]
        for ref in refs:
            self.page(ref)
        self.tree()
        self.printed("ls", listing_document(self.run, self.options))
        whole_json(listing_data(self.run, True))
        self.printed("damage", damage_document(self.run, self.options, check=True))
        for artifact in self.some(self.artifacts, 3):
            b"".join(raw_bytes(self.run, artifact.ref))
        self.checked()
        self.compared()
        self.searched()
        self.written()
        for link in self.some(sorted(self.links), 60):
            self.follows(link, self.links[link])

    def some(self, items: Any, most: int) -> list[Any]:
        """A few of them."""
        items = list(items)
        return self.rng.sample(items, min(len(items), most))

    def page(self, ref: str) -> None:
        """A page as its address gives it, and as JSON."""
        document = build(self.run, ref, self.options)
        whole_json(shown_data(self.run, parse_ref(ref), document))
        self.printed(ref, document)

    def printed(self, what: str, document: Document) -> None:
        """A document in every form."""
        lines = list(lines_of(document))
        clean(lines)
        clean([document.title, document.badge])
        clean(HYPERLINK.sub(r"\1", SGR.sub("", line)) for line in lines_of(document, "ansi"))
        clean(lines_of(document, "markdown"))
        assert not any("tltui cannot show" in line for line in lines[:3]), (what, lines[:3])
        for section in document.sections():
            assert 0 <= section.first <= section.last < len(document), what
        for n in range(len(document)):
            self.links.update((link.target, what) for link in document.line(n).links)
        whole_json(document.data())

    def follows(self, target: str, page: str) -> None:
        """Where a link of a page leads."""
        if target.startswith(("file:", "line:", "http:", "https:")):
            return
        try:
            document = build(self.run, target, self.options)
        except BadAddress as bad:
            raise AssertionError(f"a link on {page} does not open: {bad}") from None
        assert list(lines_of(document)), target

    def tree(self) -> None:
        """The tree, down to its leaves; each of its lines has an address."""
        nodes: list[Node] = []
        stack = [root(self.run)]
        while stack and len(nodes) < 600:
            node = stack.pop()
            nodes.append(node)
            shown = label(node, self.options.ascii)
            clean(sanitize(piece if isinstance(piece, str) else piece[0]) for piece in (*shown.left, *shown.detail, *shown.right))
            stack.extend(children(node))
        for node in self.some(nodes, 12):
            self.follows(node.ref, "the tree")

    def checked(self) -> None:
        """The gates."""
        bars = parse_limits("error,break,recompiles=2,cache_miss,compile_time=1,empty,unfinished,damage", False)
        found = gates(self.run, bars, None)
        self.printed("check", check_document(found, self.run.title, self.options, 0))
        whole_json(found)

    def compared(self) -> None:
        """Two compiles, the run with itself, two artifacts."""
        refs = [str(compile_.ref) for compile_ in self.compiles if compile_.is_compile]
        pairs = [("", ""), *([tuple(self.rng.choices(refs, k=2))] if refs else [])]
        pairs += [tuple(str(a.ref) for a in self.rng.choices(self.artifacts, k=2)) for _ in range(2) if self.artifacts]
        for left, right in pairs:
            self.printed(f"diff {left} {right}", compare_nodes(self.run, left, self.run, right, self.options))
        if self.artifacts:
            b"".join(patch_of(self.run, pairs[-1][0], self.run, pairs[-1][1]))

    def searched(self) -> None:
        """Everywhere."""
        pattern = self.rng.choice(("a", "graph", "^$", "\\x1b", "[^a]b", "x{3,}"))
        query = Query(pattern, "*", "", None, None, self.rng.choice((0, 2)))
        self.printed(f"grep {pattern}", grep_document(self.run, query, self.options))
        files = sorted({text for process in self.run.processes() for text in process.strings.values()})
        for file in self.some(files, 2):
            try:
                self.page(str(Ref(view="source", artifact=f"{file.rpartition('/')[2]}:{self.rng.randrange(20)}")))
            except BadAddress:  # no name of a file
                continue

    def written(self) -> None:
        """What is written to files: payloads, events, a log of some compiles."""
        out = self.directory / "out"
        for path, size in extract(self.run, (), str(out), True):
            where = Path(path)
            assert where.resolve().is_relative_to(out.resolve()) and where.stat().st_size == size
        json.loads(b"".join(chunks(list(self.run.compiles()), Written())))
        for redact, some in ((False, False), (True, self.rng.random() < 0.5)):
            refs = [str(self.compiles[0].ref)] if some and self.compiles else []
            try:
                bundle = Bundle(self.run, refs, redact, ("someuser", "somehost") if redact else ())
            except BadAddress as bad:  # only lines that are no records
                assert "could not be opened" in str(bad)
                continue
            result = bundle.result()
            self.printed("bundle", bundle_document(result, self.options))
            whole_json(result)
            if not bundle.parts:
                continue
            target = self.directory / f"bundle{redact:d}.log"
            bundle.write(str(target), True)
            again = open_run(discover([str(target)]))
            if not redact:  # strings that a process inherited are written into its log
                assert len(again.models[0].log) >= len(self.run.models[0].log), "a bundle of everything lacks records"
                self.printed("diff of runs", compare_nodes(self.run, "", again, "", self.options))
