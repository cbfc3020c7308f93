"""Commands that write a file for somebody else: bundle, case, report and repro."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error, printable
from tltui.cli.loading import discover_logs, load, one_ref
from tltui.cli.options import REDACT, add_force, add_json, add_paths, add_text, no_text, path_words, refs, size
from tltui.cli.parser import Command, argument, defaults
from tltui.cli.printing import as_json, as_text, layout, message
from tltui.documents.envelope import envelope
from tltui.text.safe_files import quoted

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.writers.repro.script import Repro

REPORT_WIDTH = 100
"""Columns of the pages of a report."""
REPORT_SIZE = "5M"


def bundle(options: argparse.Namespace) -> Iterator[bytes]:
    """Write the bundle; yield its contents."""
    from tltui.writers.bundle import Bundle, bundle_document, local_names

    run = load(options)
    writer = Bundle(run, options.refs, options.redact, local_names() if options.redact else ())
    _check_target(options)
    result = writer.result(spool=not options.preview)
    if options.json:
        yield from as_json(envelope("bundle", run.title, "", result))
    else:
        yield from as_text(bundle_document(result, layout(options)), options)
    if not options.preview:
        for path, size in writer.write(options.output, options.force):
            print_error(f"wrote {path}  {size:,} bytes")


def case(options: argparse.Namespace) -> Iterator[bytes]:
    """Write the case; yield its contents."""
    from tltui.writers.bundle import local_names
    from tltui.writers.case import Case, case_document

    run = load(options)
    writer = Case(run, options.redact, tuple(local_names()) if options.redact else ())
    _check_target(options)
    result = writer.result() if options.preview else writer.write(options.output, options.force)
    if options.json:
        yield from as_json(envelope("case", run.title, "", result))
    else:
        yield from as_text(case_document(result, layout(options)), options)
    if not options.preview:
        print_error(f"wrote {options.output}")


def _check_target(options: argparse.Namespace) -> None:
    """Raise `Failure` without a file to write."""
    if not options.preview and not options.output:
        raise Failure("missing -o FILE", "--preview lists the contents without writing them")


def report(options: argparse.Namespace) -> Iterator[bytes]:
    """Write the file; yield a summary line."""
    from tltui.documents.format import plural, size_of
    from tltui.export.report_book import Book, TooSmall
    from tltui.text.safe_files import replacing

    if options.output is None:
        raise Failure("missing -o FILE.html", f"for example: tltui report {path_words(options)} -o report.html")
    target = Path(options.output).expanduser()
    if target.suffix.lower() not in (".html", ".htm"):
        raise Failure(f"not the name of an HTML file: '{options.output}'", f"use -o {quoted(str(target.with_suffix('.html')))}")
    if os.path.lexists(target) and not options.force:
        raise Failure(f"{options.output}: exists", "--force replaces it")
    source_run, path = load(options), " ".join(options.paths)
    try:
        with ExitStack() as stack:
            if options.redact:
                source_run, path = stack.enter_context(_redacted(source_run)), ""
            book = Book(source_run, options.max_size, path, replace(layout(options), width=REPORT_WIDTH, path="PATH"))
            file = stack.enter_context(replacing(target, force=options.force, private=True))
            counts = book.write(file)
    except TooSmall as small:
        raise Failure(f"--max-size: {small.problem}", small.advice) from None
    summary = f"{plural(counts.pages, 'page')}, {counts.compiles:,} of {plural(counts.of_compiles, 'compile')}"
    artifacts = f"{counts.artifacts:,} of {plural(counts.of_artifacts, 'artifact')}"
    cut = f", {plural(counts.cut, 'section')} cut" if counts.cut else ""
    yield message(f"wrote {options.output}  {size_of(counts.bytes)}: {summary}, {artifacts}{cut}")


@contextmanager
def _redacted(run: Run) -> Iterator[Run]:
    """Yield the redacted run, whose logs exist within the context only and whose paths are hidden."""
    from tltui.model.follow import open_run
    from tltui.writers.bundle import Bundle, local_names

    with TemporaryDirectory(prefix="tltui-") as directory:
        copy = f"{directory}/redacted/"
        Bundle(run, (), True, local_names()).write(copy)
        discovered = discover_logs([copy], False)
        logs = tuple(replace(log, label=os.path.relpath(log.name, directory)) for log in discovered.logs)
        yield open_run(replace(discovered, logs=logs))


def repro(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the script, its path, or the list."""
    from tltui.model.run import in_order

    loaded = load(options)
    ref = one_ref(options)
    if not ref:
        if (options.output or options.bisect) and next(in_order(loaded), None) is None:
            raise Failure("the run has no compile")
        if options.output or options.bisect:
            raise Failure("missing REF", f"for example 0/1; tltui repro {path_words(options)} lists all compiles")
        yield from _listed(loaded, _limit(options), path_words(options))
        return
    reproduction = _repro(loaded, ref, options)
    if not options.output:
        raise Failure("missing -o FILE", "-o repro.py writes the script, -o - prints it")
    if not reproduction.script:
        problem, _, advice = reproduction.refused.rstrip(".").partition("; ")
        raise Failure(problem, advice or f"tltui repro {path_words(options)} lists all compiles")
    if options.output == "-":
        yield reproduction.script.encode("ascii")
        return
    _write(Path(options.output).expanduser(), reproduction.script, options.force)
    for each in reproduction.tried:
        print_error(f"graph not used: {each.ref}: {each.why}")
    origin = "Its code comes from a trace: read it before you run it."
    yield message(printable(f"{options.output}: a script of {reproduction.graph}. {origin}"))


def _repro(run: Run, ref: str, options: argparse.Namespace) -> Repro:
    from tltui.model.artifacts import Artifact
    from tltui.model.nodes import Compile, Frame
    from tltui.writers.repro.script import repro_of

    node, source, limit = run.resolve(ref), options.source, _limit(options)
    if isinstance(node, Frame) and len(node.compiles) == 1:
        node = node.compiles[0]
    if isinstance(node, Artifact):
        if source is not None and source != node.name:
            raise Failure(f"--from needs the address of a compile, not of a graph: '{ref}'", f"use {node.owner.ref}")
        return repro_of(node.owner, artifact=node, max_bytes=limit, bisects=options.bisect)
    if not isinstance(node, Compile):
        raise Failure(f"not a compile: '{ref}'", f"tltui repro {path_words(options)} lists all compiles")
    return repro_of(node, source, max_bytes=limit, bisects=options.bisect)


def _limit(options: argparse.Namespace) -> int:
    from tltui.writers.repro.tensor_bounds import MAX_BYTES

    return MAX_BYTES if options.max_bytes is None else int(options.max_bytes)


def _listed(run: Run, limit: int, path: str) -> Iterator[bytes]:
    """Yield a line per compile: the source graph of its script, or why there is none."""
    from tltui.model.run import in_order
    from tltui.writers.repro.script import repro_of

    count = scripts = 0
    for compile_ in in_order(run):
        reproduction = repro_of(compile_, max_bytes=limit)
        count += 1
        scripts += bool(reproduction.script)
        graph = reproduction.graph.rpartition(":")[2]
        yield message(printable(f"{reproduction.ref}  a script of {graph}" if reproduction.script else reproduction.refused))
    yield message(f"{scripts} of {count} compiles can be written as a script: tltui repro {path} REF -o repro.py")


def _write(target: Path, script: str, force: bool) -> None:
    from tltui.text.safe_files import replacing

    with replacing(target, force=force) as file:
        file.write(script.encode("ascii"))


COMMANDS = {
    "bundle": Command(bundle, (
        partial(add_paths, profile=False), refs("compiles, frames or ranks (default: the whole run)", several=True),
        argument("-o", "--output", metavar="FILE", help="the log to write; a directory for several processes"),
        argument("--redact", action="store_true", help=REDACT),
        argument("-n", "--preview", action="store_true", help="list the contents and their sizes, write nothing"),
        partial(add_text, folds=False), add_json, add_force,
    ), """\
The preview lists the records that would leave your machine, and their sizes.

examples:
  tltui bundle /tmp/tracedir 0/1 --redact --preview
  tltui bundle /tmp/tracedir 0/1 0/2 --redact -o bundle.log
"""),
    "case": Command(case, (
        add_paths,
        argument("-o", "--output", metavar="FILE", help="the zip archive to write"),
        argument("--redact", action="store_true", help=f"{REDACT}; list everything that was left out"),
        argument("-n", "--preview", action="store_true", help="list the contents, write nothing"),
        partial(add_text, folds=False), add_json, add_force,
    ), """\
tltui case.zip opens the file and shows the same pages.

examples:
  tltui case trace/ torch_compile_debug/ job.err -o case.zip
  tltui case trace/ job.err --redact --preview
"""),
    "report": Command(report, (
        add_paths,
        argument("-o", "--output", metavar="FILE", help="the file to write: .html"),
        argument("--max-size", metavar="SIZE", type=size, default=size(REPORT_SIZE),
                 help=f"the maximum size of the file, as 800k, 5M, 1G (default: {REPORT_SIZE})"),
        argument("--redact", action="store_true", help=REDACT),
        partial(add_force, help_="replace FILE if it exists"), no_text,
        defaults(reads_profiles=True),
    ), """\
The file has the summary, problems, every page with data, all compiles, and code, graphs and guards of the compiles that matter, up
to --max-size. It lists omitted parts and how to get them. It loads nothing and runs no script.

examples:
  tltui report /tmp/tracedir -o report.html
  tltui report /tmp/tracedir -o report.html --max-size 20M
  tltui report /tmp/tracedir -o report.html --redact
"""),
    "repro": Command(repro, (
        partial(add_paths, profile=False), refs("a compile, or one of its graphs (default: list all compiles)"),
        argument("-o", "--output", metavar="FILE", help="the script to write; - prints it"),
        argument("--from", dest="source", metavar="NAME", help="the graph to use (default: the most complete usable one)"),
        argument("--bisect", action="store_true",
                 help="write a script that names the first node whose compiled result differs from eager mode"),
        argument("--max-bytes", metavar="SIZE", type=size,
                 help="the maximum size of all tensors together, as 800M, 16G (default: 4 GiB)"),
        partial(add_force, help_="replace FILE if it exists"), no_text,
    ), """\
The script creates inputs as the trace describes them, compiles the graph, runs it, and compares the result with eager mode. It runs
in a child process with limits on CPU time, memory and wall time. If you do not trust the source of the trace, read the script first
and run it in a container (SECURITY.md). tltui itself never runs code from a trace.

With --bisect the script compiles parts of the graph and names the first node whose result or gradient differs, with its source line
and its kernel. Then it runs torch's compiler bisector, which names the decomposition, pass or lowering (docs/guide/kernels.md).

examples:
  tltui repro /tmp/tracedir                        list the compiles, with the graph of each script
  tltui repro /tmp/tracedir 0/1 -o repro.py
  tltui repro /tmp/tracedir 0/1 --bisect -o differs.py
  tltui repro /tmp/tracedir 0/1 --from aot_forward_graph -o -
  tltui repro /tmp/tracedir 0/1:fx_graph_runnable#2 -o repro.py
"""),
}  # fmt: skip
