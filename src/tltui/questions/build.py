"""Address to document: the mapping of nodes and pages to the modules that build them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tltui.documents.scope import place_of
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.run import Run
from tltui.questions.index import BY_NAME
from tltui.questions.question import view_document
from tltui.text.document import Document, Options


def build(run: Run, ref: Ref | str, options: Options) -> Document:
    """Return the document at an address; the run's overview for ''. Raises `BadAddress`, OSError."""
    if isinstance(ref, str):
        ref = parse_ref(ref)
    options = replace(options, goes_on=run.goes_on, newest=run.restarted)
    if ref.view:
        return _view(run, ref, options)
    node = run.resolve(ref)
    if isinstance(node, Artifact):
        from tltui.questions.artifacts.page import artifact_document

        return artifact_document(node, options)
    if isinstance(node, Compile):
        if ref.attempt is not None:
            return _attempt(run, node, ref, options)
        from tltui.questions.overview.compile_page import compile_document

        return compile_document(run, node, options)
    if isinstance(node, Frame):
        from tltui.questions.overview.rank_page import frame_document

        return frame_document(run, node, options)
    if isinstance(node, Process):
        from tltui.questions.overview.rank_page import process_document

        return process_document(run, node, options)
    if isinstance(node, Rank):
        from tltui.questions.overview.rank_page import rank_document

        return rank_document(run, node, options)
    return _run(run, ref, options)


def module_of(ref: Ref) -> str:
    """Return the module of a page that imports much, so that it can be imported before the run is held; '' for other addresses."""
    if ref.view in BY_NAME and ref.view != "summary":
        return BY_NAME[ref.view].module
    return "" if ref.id is not None or ref.view not in ("", "run", "summary") else "tltui.questions.overview.run_page"


def _view(run: Run, ref: Ref, options: Options) -> Document:
    if ref.view in BY_NAME:
        return view_document(run, BY_NAME[ref.view], ref, options)
    if ref.view not in PLACES:
        names = sorted((*PLACES, *BY_NAME))
        raise BadAddress(f"unknown page: '@{ref.view}'", f"pages: {', '.join('@' + name for name in names)}")
    return PLACES[ref.view](run, ref, options)


def _run(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.overview.run_page import run_document

    return run_document(run, options)


def _damage(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.records.records_page import damage_document

    return damage_document(run, options)


def _pages(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.records.index_page import pages_document

    return pages_document(run, options)


def _guide(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.documents.manual import guide_document

    return guide_document(ref.artifact or "", options)


def _glossary(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.documents.manual import glossary_document

    return glossary_document(ref.artifact or "", options)


def _diff(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.compare.page import compare_document

    return compare_document(run, ref, options)


def _grep(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.records.grep_page import BadPattern, Query, grep_document, unsearched_document

    pattern = ref.artifact or ""
    try:
        return grep_document(run, Query(pattern), options)
    except BadPattern as bad:
        return unsearched_document(pattern, bad, options)


def _source(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.source_lines.page import source_document

    return source_document(run, ref, options)


def _output(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.records.output_page import output_document

    return output_document(run, options)


def _records(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.records.records_page import records_document

    place = place_of(ref)
    node = run.resolve(place)
    return records_document(node, list(run.processes()), place)


def _log(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.questions.records.log_page import log_document

    return log_document(run, ref, options)


def _record(run: Run, ref: Ref, options: Options) -> Document:
    from tltui.documents.scope import in_output, whose
    from tltui.questions.artifacts.page import record_document

    node = run.resolve(Ref(ref.rank, ref.process))
    processes = [node] if isinstance(node, Process) else node.processes if isinstance(node, Rank) else list(run.processes())
    if len(processes) != 1:
        names = ", ".join(f"@record:{Ref(p.ref.rank, p.number)}#{ref.n}" for p in processes[:8])
        raise BadAddress(f"ambiguous address: '{ref}'", f"use {names}")
    log = processes[0].log
    if ref.n is None or not 1 <= ref.n <= len(log):
        raise BadAddress(f"unknown record: {ref.n}", f"the number of records is {len(log)}")
    return record_document(log, ref.n - 1, ref, options, whose(processes[0]), in_output(run, processes[0], ref.n - 1))


def _of_compile(make: Callable[[Run, Compile, Ref, Options], Document]) -> Callable[[Run, Ref, Options], Document]:
    def page(run: Run, ref: Ref, options: Options) -> Document:
        node = run.resolve(place_of(ref))
        if not isinstance(node, Compile):
            raise BadAddress(f"{ref} is not an address of a compile")
        return make(run, node, ref, options)

    return page


def _attempt(run: Run, node: Compile, ref: Ref, options: Options) -> Document:
    from tltui.questions.overview.compile_page import attempt_document

    return attempt_document(run, node, ref.attempt or 0, options)


def _phase(run: Run, node: Compile, ref: Ref, options: Options) -> Document:
    from tltui.questions.overview.compile_page import phase_document

    return phase_document(run, node, ref.artifact or "", ref.n, options)


def _unit(run: Run, node: Compile, ref: Ref, options: Options) -> Document:
    from tltui.questions.overview.compile_page import unit_document

    return unit_document(run, node, ref.n or 1, options)


PLACES: dict[str, Callable[[Run, Ref, Options], Document]] = {
    "run": _run,
    "damage": _damage,
    "pages": _pages,
    "guide": _guide,
    "glossary": _glossary,
    "diff": _diff,
    "grep": _grep,
    "source": _source,
    "output": _output,
    "records": _records,
    "log": _log,
    "record": _record,
    "attempt": _of_compile(_attempt),
    "phase": _of_compile(_phase),
    "unit": _of_compile(_unit),
}
