"""An address → the document that shows it. The one place that knows which page belongs to which node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tltui.documents.artifact import artifact_document, record_document
from tltui.documents.compare.compare import compare_document
from tltui.documents.manual.pages import glossary_document, guide_document
from tltui.documents.output import output_document
from tltui.documents.overview.attempt import attempt_document
from tltui.documents.overview.compile import compile_document
from tltui.documents.overview.frame import frame_document
from tltui.documents.overview.phase import phase_document, unit_document
from tltui.documents.overview.rank import process_document, rank_document
from tltui.documents.overview.run import run_document
from tltui.documents.pages.damage import damage_document
from tltui.documents.pages.grep import BadPattern, Query, grep_document, unsearched_document
from tltui.documents.pages.listed import pages_document
from tltui.documents.pages.log import log_document
from tltui.documents.pages.records import records_document
from tltui.documents.pages.source import source_document
from tltui.documents.pages.table import BY_NAME
from tltui.documents.scope import place_of, view_document
from tltui.documents.titles import in_output, whose
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.run import Run
from tltui.text.document import Document, Options


def build(run: Run, ref: Ref | str, options: Options) -> Document:
    """The document at an address, '' for the run's overview. Raises `BadAddress`, OSError."""
    if isinstance(ref, str):
        ref = parse_ref(ref)
    options = replace(options, goes_on=run.goes_on, newest=run.restarted)
    if ref.view:
        return _view(run, ref, options)
    node = run.resolve(ref)
    if isinstance(node, Artifact):
        return artifact_document(node, options)
    if isinstance(node, Compile):
        if ref.attempt is not None:
            return attempt_document(run, node, ref.attempt, options)
        return compile_document(run, node, options)
    if isinstance(node, Frame):
        return frame_document(run, node, options)
    if isinstance(node, Process):
        return process_document(run, node, options)
    if isinstance(node, Rank):
        return rank_document(run, node, options)
    return run_document(run, options)


def _view(run: Run, ref: Ref, options: Options) -> Document:
    if ref.view in BY_NAME:
        return view_document(run, BY_NAME[ref.view], ref, options)
    if ref.view not in PLACES:
        names = sorted((*PLACES, *BY_NAME))
        raise BadAddress(f"there is no page @{ref.view}. There are: {', '.join('@' + name for name in names)}")
    return PLACES[ref.view](run, ref, options)


def _records(run: Run, ref: Ref, options: Options) -> Document:
    place = place_of(ref)
    node = run.resolve(place)
    return records_document(node, list(run.processes()), place)


def _grep(run: Run, ref: Ref, options: Options) -> Document:
    pattern = ref.artifact or ""
    try:
        return grep_document(run, Query(pattern), options)
    except BadPattern as bad:
        return unsearched_document(pattern, bad, options)


def _record(run: Run, ref: Ref, options: Options) -> Document:
    node = run.resolve(Ref(ref.rank, ref.process))
    processes = [node] if isinstance(node, Process) else node.processes if isinstance(node, Rank) else list(run.processes())
    if len(processes) != 1:
        names = ", ".join(f"@record:{Ref(p.ref.rank, p.number)}#{ref.n}" for p in processes[:8])
        raise BadAddress(f"{ref} is not clear. It could be: {names}")
    log = processes[0].log
    if ref.n is None or not 1 <= ref.n <= len(log):
        raise BadAddress(f"there is no record {ref.n}: the log has {len(log)}")
    return record_document(log, ref.n - 1, ref, options, whose(processes[0]), in_output(run, processes[0], ref.n - 1))


def _of_compile(make: Callable[[Run, Compile, Ref, Options], Document]) -> Callable[[Run, Ref, Options], Document]:
    def page(run: Run, ref: Ref, options: Options) -> Document:
        node = run.resolve(place_of(ref))
        if not isinstance(node, Compile):
            raise BadAddress(f"{ref} is not about a compile")
        return make(run, node, ref, options)

    return page


PLACES: dict[str, Callable[[Run, Ref, Options], Document]] = {
    "run": lambda run, ref, options: run_document(run, options),
    "damage": lambda run, ref, options: damage_document(run, options),
    "pages": lambda run, ref, options: pages_document(run, options),
    "guide": lambda run, ref, options: guide_document(ref.artifact or "", options),
    "glossary": lambda run, ref, options: glossary_document(ref.artifact or "", options),
    "diff": compare_document,
    "grep": _grep,
    "source": source_document,
    "output": lambda run, ref, options: output_document(run, options),
    "records": _records,
    "log": log_document,
    "record": _record,
    "attempt": _of_compile(lambda run, node, ref, options: attempt_document(run, node, ref.attempt or 0, options)),
    "phase": _of_compile(lambda run, node, ref, options: phase_document(run, node, ref.artifact or "", ref.n, options)),
    "unit": _of_compile(lambda run, node, ref, options: unit_document(run, node, ref.n or 1, options)),
}
