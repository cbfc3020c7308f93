"""Commands that print or write what is in the logs: ls, show, source, records, log, grep, diff, damage and extract."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from tltui.cli.exits import Failure
from tltui.cli.loading import load, load_other, one_ref
from tltui.cli.parser import Command, add_force, add_json, add_markdown, add_paths, argument, refs
from tltui.cli.printing import as_json, as_text, layout, message, printed, result_of
from tltui.documents.envelope import envelope
from tltui.model.ref import parse_ref
from tltui.model.status import Status


def ls(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the listing."""
    from tltui.tree.listing import listing_data, listing_document

    loaded = load(options)
    if options.json or options.check:
        yield from as_json(envelope("ls", loaded.title, "", listing_data(loaded, options.check)))
    else:
        yield from as_text(listing_document(loaded, layout(options)), options)


def show(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the document, its result, or the bytes."""
    from tltui.questions.artifacts.show_output import in_unit, raw_bytes, shown_data
    from tltui.questions.build import build

    loaded = load(options)
    ref = parse_ref(one_ref(options))
    if options.unit:
        ref = in_unit(loaded, ref, options.unit)
    if options.raw:
        yield from raw_bytes(loaded, ref)
        return
    document = build(loaded, ref, layout(options))
    yield from as_json(shown_data(loaded, ref, document)) if options.json else as_text(document, options)


def source(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page of the line."""
    from tltui.documents.scope import place_of
    from tltui.questions.build import build

    if not options.place:
        raise Failure("missing FILE:LINE, for example train.py:42")
    loaded = load(options)
    part = parse_ref(one_ref(options))
    ref = replace(place_of(part), artifact=options.place, view="source")
    yield from printed(loaded, build(loaded, ref, layout(options)), options, str(part))


def records(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the records."""
    from tltui.questions.build import build

    loaded = load(options)
    ref = parse_ref(one_ref(options))
    yield from printed(loaded, build(loaded, ref.at("records"), layout(options)), options, str(ref))


def log(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the lines."""
    from tltui.questions.records.log_page import log_document

    loaded = load(options)
    ref = parse_ref(one_ref(options))
    yield from printed(loaded, log_document(loaded, ref, layout(options)), options, str(ref), all_frames=True)


def grep(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the hits."""
    from tltui.questions.records.grep_page import BadPattern, Query, grep_document

    loaded = load(options)
    query = Query(options.pattern, options.artifact, options.status or "", options.rank, options.frame, max(options.context, 0))
    try:
        document = grep_document(loaded, query, layout(options))
    except BadPattern as bad:
        raise Failure(str(bad)) from None
    yield from printed(loaded, document, options)


def diff(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the comparison, its result, or a patch."""
    from tltui.questions.compare.page import compare_nodes, patch_of

    sides = _sides(options)
    first = load(options)
    other = load_other(options.other, options.latest) if options.other else first
    if options.raw and not options.json:  # as stored, for `patch` and `git apply`
        yield from (line + b"\n" for line in patch_of(first, sides[0], other, sides[1]))
        return
    document = compare_nodes(first, sides[0], other, sides[1], layout(options))
    result_of(document)  # what is folded is known of a whole page
    yield from printed(first, document, options, all_frames=True, folded=True)


def _sides(options: argparse.Namespace) -> list[str]:
    """Return the addresses of both sides."""
    refs: list[str] = options.refs
    if options.other:
        if len(refs) > 1:
            raise Failure("with --with there is one address for both runs, or none")
        return refs * 2 or ["", ""]
    if len(refs) != 2:
        two = f": tltui diff {options.paths[0]} --with {options.paths[1]}" if len(options.paths) == 2 and not refs else ""
        raise Failure(f"diff takes two addresses, or --with OTHER and one or none{two}")
    return refs


def damage(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield all damage, after checking every payload."""
    from tltui.questions.records.damage_page import damage_document

    loaded = load(options)
    yield from printed(loaded, damage_document(loaded, layout(options), check=True), options)


def extract_payloads(options: argparse.Namespace) -> Iterator[bytes]:
    """Write the files; yield their paths."""
    from tltui.inputs.index.indexed_log import Elsewhere
    from tltui.questions.artifacts.show_output import extract

    missing: list[Elsewhere] = []
    for path, size in extract(load(options), options.refs, options.output, options.force, missing):
        yield message(f"{path}  {size:,} bytes")
    if missing:
        more = f"{len(missing):,} payloads are neither in the index nor here, the first: " if len(missing) > 1 else ""
        raise Failure(f"{more}{missing[0]}")


COMMANDS = {
    "ls": Command(ls, (
        add_paths, add_json, argument("--check", action="store_true", help="read every payload: size, lines, md5"),
    ), """\
examples:
  tltui ls /tmp/tracedir
  tltui ls rank_0.log rank_1.log
  tltui ls /tmp/tracedir --json | jq '.result.ranks[].processes[].compiles[] | select(.status=="error").ref'
"""),
    "show": Command(show, (
        add_paths, add_json, refs("an address, e.g. 0/1 or 0/1:inductor_output_code"),
        argument("--unit", metavar="U", help="unit: forward, backward, inference …"),
        argument("--raw", action="store_true", help="the bytes as torch wrote them"),
    ), """\
examples:
  tltui show /tmp/tracedir                    the whole run
  tltui show /tmp/tracedir 0/1                one compile
  tltui show /tmp/tracedir 0/0:inductor_output_code --unit backward
  tltui show --demo 0:0/0:dynamo_output_graph --raw > graph.py
"""),
    "source": Command(source, (
        add_paths, add_json,
        argument("place", nargs="?", metavar="FILE:LINE", help="the line; the end of a path is enough: train.py:42"),
        refs("the part of the run (default: all)"),
        add_markdown,
    ), """\
examples:
  tltui source /tmp/tracedir train.py:42
  tltui source /tmp/tracedir models/block.py:7 0/1 --json
"""),
    "records": Command(records, (add_paths, add_json, refs("a compile, frame, process or rank")), """\
examples:
  tltui records /tmp/tracedir 0/1
  tltui records /tmp/tracedir 3: --json
"""),
    "log": Command(log, (
        add_paths, add_json, refs("a compile, frame, process or rank"),
        argument("--raw", action="store_true", help="as it was written, not as a terminal shows it"),
    ), """\
examples:
  tltui log job.err               every line
  tltui log job.err 0/1           the lines of one compile
  tltui log job.err 3:            the lines of rank 3, of a stream that all ranks print into
  tltui log job.err --json        what it tells of the end of the job
  tltui log job.err --raw         with what a terminal would not show: colours, the states of progress bars
"""),
    "grep": Command(grep, (
        argument("pattern", metavar="PATTERN", help="a regular expression; small letters match capitals too"),
        add_paths, add_json,
        argument("-C", "--context", metavar="N", type=int, default=0, help="show N lines around each hit"),
        argument("--artifact", metavar="GLOB", default="*", help="only artifacts of this name"),
        argument("--status", choices=list(map(str, Status)), help="only such compiles"),
        argument("--rank", metavar="N", type=int, help="only this rank"),
        argument("--frame", metavar="F", type=int, help="only this frame"),
    ), """\
examples:
  tltui grep addmm /tmp/tracedir
  tltui grep 'extern_kernels\\.\\w+' /tmp/tracedir --artifact inductor_output_code
"""),
    "diff": Command(diff, (
        add_paths, add_json, refs("two addresses; with --with one or none", several=True),
        argument("--with", dest="other", metavar="OTHER", action="append",
                 help="compare with another run (again for another log of it)"),
        argument("--raw", action="store_true", help="two artifacts as a patch, nothing left out"),
    ), """\
examples:
  tltui diff /tmp/tracedir 0/0 0/1
  tltui diff /tmp/tracedir 0: 3:
  tltui diff /tmp/tracedir 0/0:dynamo_cpp_guards_str 0/1:dynamo_cpp_guards_str
  tltui diff /tmp/before --with /tmp/after
"""),
    "damage": Command(damage, (add_paths, add_json), """\
example:
  tltui damage /tmp/tracedir
"""),
    "extract": Command(extract_payloads, (
        add_paths, refs("what to extract (default: everything)", several=True),
        argument("-o", "--output", metavar="DIR", required=True, help="directory to write into"),
        add_force,
    ), """\
examples:
  tltui extract /tmp/tracedir -o out
  tltui extract /tmp/tracedir -o out 0/1 0/2:inductor_output_code
"""),
}  # fmt: skip
