"""Commands that print or write the contents of the logs: ls, show, source, records, log, grep, diff, damage and extract."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tltui.cli.exits import Failure
from tltui.cli.loading import load, load_other, part_of, read_profiles, selected
from tltui.cli.options import add_force, add_json, add_output, add_part, add_paths, add_text, count, no_text, path_words, refs
from tltui.cli.parser import Command, argument
from tltui.cli.printing import as_json, as_text, layout, message, printed, result_of
from tltui.documents.envelope import envelope
from tltui.model.status import Status

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.text.document import Document


def ls(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the listing."""
    from tltui.tree.listing import listing_data, listing_document

    loaded = load(options)
    part = part_of(options)
    if part.id is not None and not any(compile_.id.frame == options.frame for compile_ in loaded.compiles()):
        raise Failure(f"unknown frame: '{options.frame}'", "tltui ls without --frame lists all compiles")
    loaded.resolve(replace(part, id=None))
    if options.json or options.check:
        yield from as_json(envelope("ls", loaded.title, str(part), listing_data(loaded, options.check, part)))
    else:
        yield from as_text(listing_document(loaded, layout(options), part), options)


def show(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the document, its result, or the bytes."""
    from tltui.questions.artifacts.page import in_unit, raw_bytes, shown_data
    from tltui.questions.build import build

    loaded = load(options)
    ref = selected(options)
    if options.unit:
        ref = in_unit(loaded, ref, options.unit)
    if options.raw:
        yield from raw_bytes(loaded, ref)
        return
    document = build(loaded, ref, layout(options))
    yield from as_json(shown_data(loaded, ref, document)) if options.json else as_text(document, options)


def source(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page of the line or of the file."""
    from tltui.documents.scope import place_of
    from tltui.questions.build import build
    from tltui.questions.source_lines.file_page import SourceFile

    if not options.place:
        raise Failure("missing source FILE or FILE:LINE", f"for example: tltui source {path_words(options)} train.py:42")
    loaded = load(options)
    part = part_of(options)
    ref = replace(place_of(part), artifact=options.place, view="source")
    document = build(loaded, ref, layout(options))
    yield from _looked_up(
        loaded, document, options, lambda answer: answer.files if isinstance(answer, SourceFile) else answer.compiles, str(part)
    )


def records(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the records."""
    from tltui.questions.build import build

    loaded = load(options)
    part = part_of(options)
    yield from printed(loaded, build(loaded, part.at("records"), layout(options)), options, str(part))


def log(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the lines."""
    from tltui.questions.records.log_page import log_document

    loaded, part = load(options), selected(options)
    document = log_document(loaded, part, layout(options))
    yield from _looked_up(loaded, document, options, lambda report: report.outputs, str(part), complete=True)


def grep(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the hits."""
    from tltui.questions.records.grep_page import Query, grep_document

    if options.pattern is None:
        raise Failure("missing PATTERN", f"for example: tltui grep addmm {path_words(options)}")
    loaded = load(options)
    query = Query(options.pattern, options.artifact, options.status or "", options.rank, options.frame, max(options.context, 0))
    yield from _looked_up(loaded, grep_document(loaded, query, layout(options)), options, lambda result: result.hits)


def _looked_up(
    run: Run, document: Document, options: argparse.Namespace, hits: Callable[[Any], object], ref: str = "", complete: bool = False
) -> Iterator[bytes]:
    """Yield a document, or with --json its result; exit code 1 if it has no `hits`, as of grep."""
    yield from printed(run, document, options, ref, complete)
    if not hits(result_of(document)):
        options.exit_code = 1


def diff(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the comparison, its result, or a patch."""
    from tltui.questions.compare.page import compare_nodes, patch_of

    if len(options.paths) == 2 and not (options.refs or options.baseline or options.other):
        options.baseline, options.paths = options.paths[:1], options.paths[1:]
    sides = _sides(options)
    first = load(options)
    other_paths = options.baseline or options.other
    other = load_other(other_paths, options.latest) if other_paths else first
    if options.baseline:
        first, other = other, first
    if first is not other and all(run.profiles.files for run in (first, other)):
        read_profiles(first)
        read_profiles(other)
    if options.raw:  # as stored, for `patch` and `git apply`
        yield from (line + b"\n" for line in patch_of(first, sides[0], other, sides[1]))
        return
    document = compare_nodes(first, sides[0], other, sides[1], layout(options))
    yield from printed(first, document, options)


def _sides(options: argparse.Namespace) -> list[str]:
    """Return the addresses of both sides."""
    refs: list[str] = options.refs
    if options.baseline and options.other:
        raise Failure("--baseline and --with cannot be combined", "--baseline OLD is the left side, --with NEW the right side")
    if options.baseline or options.other:
        if len(refs) > 1:
            raise Failure(f"too many addresses: '{' '.join(refs)}'", "with another run give one address for both, or none")
        return refs * 2 or ["", ""]
    if len(refs) != 2:
        path = path_words(options)
        problem = f"diff needs two addresses: '{' '.join(refs)}'" if refs else "diff needs two addresses, such as 0/0 and 0/1"
        raise Failure(problem, f"tltui diff {path} 0/0 0/1, or tltui diff {path} --baseline OLD")
    return refs


def damage(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield all damage, after checking every payload."""
    from tltui.questions.records.records_page import damage_document

    loaded = load(options)
    yield from printed(loaded, damage_document(loaded, layout(options), check=True), options)


def extract_payloads(options: argparse.Namespace) -> Iterator[bytes]:
    """Write the files; yield their paths."""
    from tltui.inputs.index.indexed_log import Elsewhere
    from tltui.questions.artifacts.page import extract

    missing: list[Elsewhere] = []
    loaded = load(options)
    for ref in options.refs:
        loaded.resolve(ref)
    if options.output is None:
        raise Failure("missing -o DIR", f"for example: tltui extract {path_words(options)} -o out")
    for path, size in extract(loaded, options.refs, options.output, options.force, missing):
        yield message(f"{path}  {size:,} bytes")
    if missing:
        more = f"{len(missing):,} payloads are neither in the index nor on this machine. The first: " if len(missing) > 1 else ""
        raise Failure(f"{more}{missing[0]}")


paths_only = partial(add_paths, profile=False)
text_only = partial(add_text, folds=False)
PART = "a compile, frame, process or rank (default: the run)"
NO_MATCH = "\nExit code: 0 with a match, 1 without.\n"
COMMANDS = {
    "ls": Command(ls, (
        add_paths, argument("--check", action="store_true", help="read every payload and print its size, lines and md5 as JSON"),
        add_part, text_only, add_json, add_output,
    ), """\
examples:
  tltui ls /tmp/tracedir --rank 0
  tltui ls rank_0.log rank_1.log                 several logs as one run
  tltui ls /tmp/tracedir --json | jq '.result.ranks[].processes[].compiles[] | select(.status=="error").ref'
"""),
    "show": Command(show, (
        add_paths, refs("an address, for example 0/1 or 0/1:inductor_output_code (default: the run)"),
        argument("--unit", metavar="U", help="the unit of the artifact: forward, backward, inference …"),
        argument("--raw", action="store_true", help="print the bytes as torch wrote them"),
        add_part, add_text, add_json, add_output,
    ), """\
examples:
  tltui show /tmp/tracedir 0/1                   one compile: why it recompiled, broke or failed
  tltui show /tmp/tracedir 0/0:inductor_output_code --unit backward
  tltui show --demo 0:0/0:dynamo_output_graph --raw > graph.py
"""),
    "source": Command(source, (
        add_paths,
        argument("place", nargs="?", metavar="FILE[:LINE]", help="a line or a file; the end of a path is enough: train.py:42"),
        refs("a part of the run (default: the whole run)"),
        add_part, add_text, add_json, add_output,
    ), """\
examples:
  tltui source /tmp/tracedir train.py            every finding of the file, by line
  tltui source /tmp/tracedir train.py:42         all that comes from the line
  tltui source /tmp/tracedir models/block.py:7 0/1 --json
""" + NO_MATCH),
    "records": Command(records, (paths_only, refs(PART), add_part, text_only, add_json, add_output), """\
examples:
  tltui records /tmp/tracedir 0/1
  tltui records /tmp/tracedir 3: --json          every record of rank 3
"""),
    "log": Command(log, (
        paths_only, refs(PART),
        argument("--raw", action="store_true", help="print the output as written, not as a terminal shows it"),
        add_part, text_only, add_json, add_output,
    ), """\
examples:
  tltui log job.err               every line
  tltui log job.err 0/1           the lines of one compile
  tltui log job.err 3:            the lines of rank 3 in the output of all ranks
  tltui log job.err --json        the failures that end the job
  tltui log job.err --raw         with colors and all states of progress bars

Exit code: 0, or 1 if there is no output of the job.
"""),
    "grep": Command(grep, (
        argument("pattern", nargs="?", metavar="PATTERN", help="a regular expression; without capitals it ignores case"),
        add_paths,
        argument("-C", "--context", metavar="N", type=count, default=0, help="print N lines around each hit"),
        argument("--artifact", metavar="GLOB", default="*", help="only artifacts of this name"),
        argument("--status", choices=list(map(str, Status)), help="only compiles of this status"),
        add_part, text_only, add_json, add_output,
    ), """\
examples:
  tltui grep addmm /tmp/tracedir --rank 0
  tltui grep 'extern_kernels\\.\\w+' /tmp/tracedir --artifact inductor_output_code
""" + NO_MATCH),
    "diff": Command(diff, (
        add_paths, refs("two addresses; of two runs one for both, or none", several=True),
        argument("--baseline", metavar="OLD", action="append", help="the run on the left side (repeat it for another log)"),
        argument("--with", dest="other", metavar="NEW", action="append", help="the run on the right side"),
        argument("--raw", action="store_true", help="print two artifacts as a complete patch"),
        add_text, add_json, add_output,
    ), """\
examples:
  tltui diff /tmp/tracedir 0/0 0/1               two compiles
  tltui diff /tmp/tracedir 0: 3:                 two ranks
  tltui diff /tmp/tracedir 0/0:dynamo_cpp_guards_str 0/1:dynamo_cpp_guards_str
  tltui diff /tmp/before /tmp/after              two runs: the largest differences first, then all
  tltui diff /tmp/after --baseline /tmp/before 0/0  one compile of two runs

Two paths without an address are two runs. Otherwise all paths are one run.
"""),
    "damage": Command(damage, (paths_only, text_only, add_json, add_output), """\
examples:
  tltui damage /tmp/tracedir
  tltui damage rank_0.log rank_1.log --json
"""),
    "extract": Command(extract_payloads, (
        paths_only, refs("compiles, frames, ranks or artifacts (default: the run)", several=True),
        argument("-o", "--output", metavar="DIR", help="the directory to write into"),
        add_force, no_text,
    ), """\
examples:
  tltui extract /tmp/tracedir -o out             every payload
  tltui extract /tmp/tracedir -o out 0/1 0/2:inductor_output_code
"""),
}  # fmt: skip
