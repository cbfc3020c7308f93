"""Commands of the pages about the run or a part of it (`@timing`, `@recompiles` …): one for each `QUESTION`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure
from tltui.cli.loading import load, one_ref
from tltui.cli.parser import Command, Parser, add_json, add_markdown, add_paths, argument, defaults, refs
from tltui.cli.printing import as_json, as_text, layout, message, result_of
from tltui.documents.envelope import envelope
from tltui.model.ref import NORANK, CompileId, Ref, parse_ref
from tltui.questions.index import BY_NAME
from tltui.questions.question import question_of

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.text.document import Document


def view(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    from tltui.questions.question import view_document

    run = load(options)
    yield from _print_page(run, view_document(run, BY_NAME[options.command], _part(options), layout(options)), options)


def _print_page(run: Run, document: Document, options: argparse.Namespace) -> Iterator[bytes]:
    """Yield a page, or with --json its result."""
    if not options.json:
        yield from as_text(document, options)
        return
    printed = envelope(options.command, run.title, str(_part(options)), result_of(document))
    yield from as_json(printed, indent=not question_of(options.command).is_long)


def _part(options: argparse.Namespace) -> Ref:
    """Return the part of the run that REF, --rank and --frame name together."""
    ref = parse_ref(one_ref(options))
    if options.rank is not None:
        ref = replace(ref, rank=options.rank)
    if options.frame is not None and ref.id is None:
        ref = replace(ref, id=CompileId(None, options.frame, None))
    return ref


def layers(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    options.filter = options.filter or options.place or ""
    yield from view(options)


def timing(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or the counts of the written file."""
    return _perfetto(options) if options.perfetto else view(options)


def _perfetto(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.format import plural, size_of
    from tltui.documents.scope import scope_of
    from tltui.text.safe_files import replacing
    from tltui.writers.perfetto import Written, chunks

    model = load(options)
    compiles = scope_of(model, _part(options)).compiles
    target, written, size = Path(options.perfetto).expanduser(), Written(), 0
    with replacing(target, force=options.force) as file:
        for chunk in chunks(compiles, written, model):
            size += file.write(chunk)
    summary = f"{plural(written.events, 'event')} in {plural(written.lanes, 'lane')}, {size_of(size)}"
    if written.ran:
        summary += f", {plural(written.ran, 'event')} of what ran"
    if written.unreadable:
        summary += f"; {plural(written.unreadable, 'event')} left out: no JSON, or without name and time"
    yield message(f"{target}  {summary}")


def where(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    if not (options.pids or options.stacks):
        yield from view(options)
        return
    from tltui.documents.scope import scope_of
    from tltui.questions.hang.page import where_document
    from tltui.questions.hang.process_sections import files_of, sample_processes

    opened = load(options)
    here = sample_processes(files_of(opened), options.stacks)
    yield from _print_page(opened, where_document(opened, scope_of(opened, _part(options)), layout(options), here), options)


def runtime(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result. Raises `Failure` if no profile fits the trace."""
    from tltui.questions.question import view_document
    from tltui.questions.runtime.profile_results import Refused
    from tltui.questions.runtime.profile_sums import runtimes_of

    model = load(options)
    results = runtimes_of(model)
    if results and all(isinstance(item, Refused) for item in results):
        raise Failure("\n".join(f"{item.profile}: not joined: {item.reason}" for item in results if isinstance(item, Refused)))
    yield from _print_page(model, view_document(model, BY_NAME["runtime"], _part(options), layout(options)), options)


def _rank(text: str) -> int:
    """Parse the number of a rank. Raises ValueError."""
    return NORANK if text == "none" else int(text)


def _add_question_arguments(parser: Parser) -> None:
    """Add the arguments that the `QUESTION` of the command declares."""
    if (add_arguments := question_of(parser.command).add_arguments) is not None:
        add_arguments(parser)


ARGUMENTS = (
    add_paths,
    refs("a rank, process, frame or compile (default: the run)"),
    argument("--rank", metavar="N", type=_rank, help="only this rank; `none` for processes without one"),
    argument("--frame", metavar="F", type=int, help="only this frame"),
    add_markdown,
    _add_question_arguments,
    add_json,
)
COMMANDS = {
    **{name: Command(view, ARGUMENTS) for name in BY_NAME},
    "layers": Command(layers, ARGUMENTS, """\
examples:
  tltui layers /tmp/tracedir 0/0                          the tree of its layers
  tltui layers /tmp/tracedir 0/0 --merge                  iterations as one: layers.*
  tltui layers /tmp/tracedir 0/0 layers.3.attn            all kernels of that layer
  tltui layers /tmp/tracedir 0/0 'layers.*.attn' --json   of all iterations

Exit code: 2 for a layer that there is not; layers that are called like it are named.
"""),
    "timing": Command(timing, (
        *ARGUMENTS, argument("--perfetto", metavar="FILE", help="write the events as JSON for ui.perfetto.dev instead"),
    ), """\
examples:
  tltui timing /tmp/tracedir
  tltui timing /tmp/tracedir 0/1
  tltui timing /tmp/tracedir --perfetto trace.json        open it in ui.perfetto.dev
  tltui timing /tmp/tracedir --profile profile.json --perfetto both.json    compile and run time on one time line
"""),
    "where": Command(where, (
        *ARGUMENTS,
        argument("--pids", action="store_true", help="what the processes that write these logs on this machine do"),
        argument("--stacks", action="store_true", help="their Python stacks too: runs py-spy dump, never as another user"),
    ), """\
examples:
  tltui where /tmp/tracedir
  tltui where /tmp/tracedir 7:           rank 7 alone
  tltui where /tmp/tracedir --pids       on the machine of the job: are its processes alive, and what do they do
  tltui where /tmp/tracedir --stacks     with their Python stacks, equal ones once: py-spy, where it is installed and permitted
  tltui where /tmp/tracedir /tmp/fr      with dumps of torch's flight recorder: who has not entered which collective
  tltui where /tmp/tracedir --json
"""),
    "runtime": Command(runtime, (*ARGUMENTS, defaults(reads_profiles=True)), """\
examples:
  tltui runtime /tmp/tracedir                             profiles that lie beside the log; without one, how to record it
  tltui runtime /tmp/tracedir --profile profile.json.gz
  tltui runtime /tmp/tracedir 0/1 --profile profile.json --sort mean
  tltui runtime /tmp/tracedir --profile rank0.json --profile rank1.json --json

Exit code: 2 when there are profiles and none of them fits the trace; 0 without one.
"""),
}  # fmt: skip
