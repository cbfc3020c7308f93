"""Commands of the pages about the run or a part of it (`@timing`, `@recompiles` …): one for each `QUESTION`."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error
from tltui.cli.loading import load, load_other, part_of
from tltui.cli.options import add_json, add_output, add_part, add_paths, add_text, baseline, path_words, refs
from tltui.cli.parser import Argument, Command, Parser, argument, defaults
from tltui.cli.printing import as_json, as_text, layout, message, result_of
from tltui.documents.envelope import envelope
from tltui.model.input_coverage import HOW
from tltui.questions.index import BY_NAME
from tltui.questions.question import SORTED, has_engine_log, question_of

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.text.document import Document

DIAGNOSTICS = ("sarif", "quickfix", "rdjson", "github")
"""The formats of `problems --format`."""
SCRIPT = ".py"
"""The suffix of a warm-up script."""
OF_ALL_RANKS = ("ranks", "matrix")
"""Pages that show the run for each part of it: a single rank has nothing to compare with."""


def view(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    yield from _print_page(*_page(options), options)


def _page(options: argparse.Namespace) -> tuple[Run, Document]:
    from tltui.questions.question import view_document

    gc.disable()  # collections take a sixth of the time of a large page, and its reference cycles are few
    run = load(options)
    refuse_without_compiles(run, options)
    part = part_of(options)
    if options.command in OF_ALL_RANKS and str(part):
        print_error(f"tltui: {options.command} compares all ranks and ignores the part of the run: '{part}'")
    return run, view_document(run, BY_NAME[options.command], part, layout(options))


def refuse_without_compiles(run: Run, options: argparse.Namespace) -> None:
    """Raise `Failure` if the page needs compiles and the run is only output of a job without any."""
    from tltui.questions.job_failures.failure_sections import has_only_output, has_torch, size_of_output

    needs = question_of(options.command).needs
    if needs.reads_output or not has_only_output(run) or (needs.reads_engine_log and has_engine_log(run)):
        return
    paths = " ".join(options.paths)
    content = "no record of a compile" if has_torch(run) else "no torch.compile messages"
    raise Failure(f"{content} in {size_of_output(run)}: {paths!r}", f"{HOW}. To see the contents: tltui summary {paths}")


def _print_page(run: Run, document: Document, options: argparse.Namespace) -> Iterator[bytes]:
    """Yield a page, or with --json its result."""
    check_order(document, options)
    if not options.json:
        yield from as_text(document, options)
        return
    printed = envelope(options.command, run.title, str(part_of(options)), result_of(document))
    yield from as_json(printed, indent=not question_of(options.command).is_long)


def check_order(document: Document, options: argparse.Namespace) -> None:
    """Raise `Failure` if tables of a page have orders, and none of them has the chosen one; report a column without values."""
    question, sort = question_of(options.command), getattr(options, "sort", "")
    if not sort or question.sort_label != SORTED or sort == question.sorts[0] or options.json:
        return
    while not document.advance():
        pass
    orders = getattr(document, "all_orders", ())
    if not orders or sort in orders:
        return
    choices = ", ".join(order for order in question.sorts if order in orders)
    if sort in getattr(document, "absent_orders", ()):
        problem = f"this run has no values for the column {sort!r}, so --sort has no effect"
        print_error(f"tltui: {problem}\n  columns with values: {choices}")
    else:
        raise Failure(f"no table of this page is sorted by {sort}", f"use one of: {choices}")


def caches(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result; a baseline is one more input, compared with those before it.

    Raises `Failure` for a baseline without a cache directory of vLLM: nothing of it would be compared.
    """
    from tltui.inputs.debug_directory import DebugLog
    from tltui.text.safe_files import quoted

    for path in options.baseline or ():
        logs = [model.log for model in load_other([path], options.latest).models]
        if not any(isinstance(log, DebugLog) and log.is_vllm_cache for log in logs):
            compare = f"tltui diff {path_words(options)} --baseline {quoted(path)}"
            raise Failure(f"--baseline is not a cache directory of vLLM: '{path}'", f"to compare two runs: {compare}")
    options.paths = [*options.paths, *(options.baseline or ())]
    yield from view(options)


def guards(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result; exit code 1 if no guard matches the filter, as of grep."""
    from tltui.questions.guards.page import has_guards

    run, document = _page(options)
    yield from _print_page(run, document, options)
    if options.filter.strip() and not has_guards(result_of(document)):
        options.exit_code = 1


def problems(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result, or with `--format` its rows for an editor or a code review."""
    if options.format is None:
        yield from view(options)
        return
    from tltui.documents.format import plural
    from tltui.writers.diagnostics import annotation, base_directory, diagnostics_of, quickfix, rdjson, sarif

    if options.json or options.markdown:
        flag = "--json" if options.json else "--markdown"
        raise Failure(f"{flag} conflicts with --format: '{options.format}'", "leave one of them out")
    question, (_run, document) = question_of("problems"), _page(options)
    diagnostics = diagnostics_of(question.records(result_of(document)), base_directory())
    if options.format == "sarif":
        yield from as_json(sarif(diagnostics))
    elif options.format == "rdjson":
        yield from as_json(rdjson(diagnostics))
        if omitted := sum(not diagnostic.file for diagnostic in diagnostics):
            print_error(f"tltui: rdjson leaves out {plural(omitted, 'problem')} without a line of your code")
    else:
        make = quickfix if options.format == "quickfix" else annotation
        yield from (message(str(make(diagnostic))) for diagnostic in diagnostics)


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
    compiles = scope_of(model, part_of(options)).compiles
    target, written, size = Path(options.perfetto).expanduser(), Written(), 0
    with replacing(target, force=options.force) as file:
        for chunk in chunks(compiles, written, model):
            size += file.write(chunk)
    summary = f"{plural(written.events, 'event')} in {plural(written.lanes, 'lane')}, {size_of(size)}"
    if written.ran:
        summary += f", {plural(written.ran, 'run-time event')}"
    if written.unreadable:
        summary += f"; {plural(written.unreadable, 'event')} omitted: not JSON, or without a name or a time"
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
    yield from _print_page(opened, where_document(opened, scope_of(opened, part_of(options)), layout(options), here), options)


def runtime(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result. Raises `Failure` if no profile fits the trace."""
    from tltui.questions.question import view_document
    from tltui.questions.runtime.profile_results import Refused
    from tltui.questions.runtime.profile_sums import runtimes_of

    model = load(options)
    results = runtimes_of(model)
    if results and all(isinstance(item, Refused) for item in results):
        raise Failure("\n".join(f"{item.profile}: not joined: {item.reason}" for item in results if isinstance(item, Refused)))
    yield from _print_page(model, view_document(model, BY_NAME["runtime"], part_of(options), layout(options)), options)


def warmup(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result; with `-o FILE.py` or `-o -` the script. Raises `Failure` for names that are no modules."""
    from tltui.questions.warmup.recorded_calls import WarmupPlan
    from tltui.writers.warmup.script import BadModule, check_modules, script_of

    try:
        modules = check_modules(options.module)
    except BadModule as bad:
        raise Failure(f"not the name of a module: '{bad}'", "use a dotted name, as for import: --module package.train") from None
    is_printed = options.is_stdout and not options.json and not options.markdown
    is_script = is_printed or (options.to or "").lower().endswith(SCRIPT)
    if not is_script:
        if modules:
            raise Failure("--module needs a script to write", "add -o warmup.py, or -o - to print it")
        yield from view(options)
        return
    if not modules:
        raise Failure("missing --module NAME", f"the module that defines the functions: tltui warmup {path_words(options)} "
                      "--module train -o warmup.py")  # fmt: skip
    if options.to and (name := Path(options.to).stem) in modules:
        raise Failure(f"the script would import itself: {options.to!r}", f"give it another name than {name}.py")
    run, document = _page(options)
    plan = result_of(document)
    if not isinstance(plan, WarmupPlan) or not plan.calls:
        raise Failure("tltui cannot write a call", f"tltui warmup {path_words(options)} lists the reasons")
    yield script_of(plan.calls, plan.uncalled, modules, f"Trace: {run.title}").encode("ascii")


def compared(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result, with `--baseline` compared with another run."""
    if not options.baseline:
        yield from view(options)
        return
    from tltui.documents.scope import scope_of
    from tltui.questions.autotune import page as autotune_page
    from tltui.questions.cudagraphs import page as cudagraphs_page

    document = {"autotune": autotune_page.document, "cudagraphs": cudagraphs_page.document}[options.command]
    run, other = load(options), load_other(options.baseline, options.latest)
    yield from _print_page(run, document(run, scope_of(run, part_of(options)), layout(options), other), options)


def _add_question_arguments(parser: Parser) -> None:
    """Add the arguments that the `QUESTION` of the command declares."""
    question = question_of(parser.command)
    if question.add_arguments is not None:
        question.add_arguments(parser)
    if question.sorts and question.sort_label == SORTED:
        text = f"order of the tables (default: {question.sorts[0]})"
        parser.add_argument("--sort", choices=question.sorts, default="", help=text)


ARGUMENTS = (
    add_paths,
    refs("a rank, process, frame or compile (default: the run)"),
    _add_question_arguments,
    add_part,
    add_text,
    add_json,
    add_output,
)
EXAMPLES = {
    "summary": """\
  tltui summary /tmp/tracedir
  tltui summary /tmp/tracedir -o summary.html         one file to send
""",
    "problems": """\
  tltui problems /tmp/tracedir                        errors and graph breaks, the worst first
  tltui problems /tmp/tracedir --rank 3 --markdown    rank 3 alone, to paste into an issue
  tltui problems /tmp/tracedir --format sarif -o tltui.sarif    for code scanning; quickfix is for vim
""",
    "recompiles": """\
  tltui recompiles /tmp/tracedir                      each recompiled function: failed guards, changed values, fixes
  tltui recompiles /tmp/tracedir --frame 4            one function
""",
    "stacks": """\
  tltui stacks /tmp/tracedir                          all compilations as one tree of stacks
  tltui stacks /tmp/tracedir 0/1 --all                torch's own frames too
""",
    "guards": """\
  tltui guards /tmp/tracedir                          guards of each compile, and their cost
  tltui guards /tmp/tracedir 0/1 --filter size        the guards of [0/1] on sizes
""",
    "shapes": """\
  tltui shapes /tmp/tracedir                          dynamic and specialized sizes of the run
  tltui shapes /tmp/tracedir 0/1                      each symbol of [0/1], its range and its guards
""",
    "caches": """\
  tltui caches /tmp/tracedir                          hits, misses and bypasses, with reasons
  tltui caches /tmp/tracedir 0/1 --json               the cache lookups of [0/1]
  tltui caches NEW --baseline OLD                     why vLLM's cache directory OLD was not reused
""",
    "timing": """\
  tltui timing /tmp/tracedir --sort total             phases by wall time
  tltui timing /tmp/tracedir 0/1                      with a flame graph of the compile
  tltui timing /tmp/tracedir --perfetto trace.json    for ui.perfetto.dev
""",
    "runtime": """\
  tltui runtime /tmp/tracedir                         profiles next to the log; if there are none, how to record one
  tltui runtime /tmp/tracedir 0/1 --profile profile.json.gz --sort mean
  tltui runtime /tmp/tracedir --profile rank0.json --profile rank1.json --json
""",
    "ranks": """\
  tltui ranks /tmp/tracedir                           differences between ranks, the earliest first
  tltui ranks /tmp/tracedir 0/1                       only those in [0/1]
""",
    "matrix": """\
  tltui matrix /tmp/tracedir                          ranks by compiles: where they differ
  tltui matrix /tmp/tracedir --show time              compile times instead
""",
    "stragglers": """\
  tltui stragglers /tmp/tracedir                      late and slow ranks, and the ranks that waited
  tltui stragglers /tmp/tracedir --profile rank0.json --profile rank1.json
""",
    "where": """\
  tltui where /tmp/tracedir 7:           rank 7 alone
  tltui where /tmp/tracedir --pids       on the machine of the job: is each process alive, and is it working
  tltui where /tmp/tracedir --stacks     with Python stacks, equal ones once (needs py-spy and its permissions)
  tltui where /tmp/tracedir /tmp/fr      with dumps of torch's flight recorder: ranks that have not entered a collective
""",
    "provenance": """\
  tltui provenance /tmp/tracedir 0/1                  lines, graph nodes and kernels of [0/1]
  tltui provenance /tmp/tracedir 0/1 --unit backward
""",
    "layers": """\
  tltui layers /tmp/tracedir 0/0                          the layers of [0/0] as a tree
  tltui layers /tmp/tracedir 0/0 --merge                  show repeated layers as one row, layers.*
  tltui layers /tmp/tracedir 0/0 layers.3.attn            all kernels of that layer
  tltui layers /tmp/tracedir 0/0 'layers.*.attn' --json   for this layer in all repetitions
""",
    "blocks": """\
  tltui blocks /tmp/tracedir                              compiles with repeated blocks, and their predicted compile times
  tltui blocks /tmp/tracedir 0/0                          blocks, prediction, recompilations and lost fusions of [0/0]
""",
    "memory": """\
  tltui memory /tmp/tracedir                              saved bytes, and forward and backward peaks of each compile
  tltui memory /tmp/tracedir 0/0                          each saved tensor with its layer and line; storages at the peaks
  tltui memory /tmp/tracedir 0/0 --json                   the same, for programs
""",
    "fusion": """\
  tltui fusion /tmp/tracedir                          kernels and fusions of each compile
  tltui fusion /tmp/tracedir 0/1                      operations by kernel, and reasons against fusing
""",
    "passes": """\
  tltui passes /tmp/tracedir                          graph changes of each compile
  tltui passes /tmp/tracedir 0/1 --all                nodes added, removed and replaced in [0/1]
""",
    "absent": """\
  tltui absent /tmp/tracedir                          artifacts that the trace lacks, with reasons
  tltui absent /tmp/tracedir 0/1
""",
    "metrics": """\
  tltui metrics /tmp/tracedir                         the compilation metrics of the run
  tltui metrics /tmp/tracedir 0/1 --json              every field of one compile
""",
    "autotune": """\
  tltui autotune /tmp/tracedir job.err                winners and cost, with your lines (trace) and all times (output)
  tltui autotune new --baseline old                   other winners, and the cost of both searches
""",
    "cudagraphs": """\
  tltui cudagraphs /tmp/tracedir                      compiles without CUDA graphs, the reasons and lines
  tltui cudagraphs job.err                            from the warnings that torch prints by default
  tltui cudagraphs new --baseline old                 compiles that lost or gained CUDA graphs, with the new reasons
""",
    "exports": """\
  tltui exports /tmp/tracedir                         export runs: guessed values and errors
  tltui exports /tmp/tracedir --json
""",
    "warmup": """\
  tltui warmup /tmp/tracedir                              functions with recorded arguments, and those without a call
  tltui warmup /tmp/tracedir --module train -o warmup.py  the calls as a script; tltui never runs it
  tltui warmup /tmp/tracedir --module train -o -          the script on standard output
""",
    "vllm": """\
  tltui vllm /tmp/tracedir                            compile calls, piecewise graphs, passes
  tltui vllm /tmp/tracedir 0/1
""",
}
MORE = {
    "guards": "\nExit code: 1 if no guard matches --filter.\n",
    "layers": "\nExit code: 2 for an unknown layer; the error lists similar names.\n",
    "runtime": "\nExit code: 2 if profiles exist and all of them are of another run; 0 without a profile.\n",
    "provenance": "\nThe page is also on the screen: p shows source, graphs and code side by side.\n",
}


def _command(name: str) -> Command:
    """Return the command of a page."""
    examples = "examples:\n" + EXAMPLES.get(name, f"  tltui {name} /tmp/tracedir\n") + MORE.get(name, "")
    run, arguments = OWN.get(name, (view, ()))
    return Command(run, (*ARGUMENTS, *arguments), examples)


OWN: dict[str, tuple[Callable[[argparse.Namespace], Iterator[bytes]], tuple[Argument, ...]]] = {
    "caches": (caches, (baseline("an earlier cache directory of vLLM: list the factors that changed the hash"),)),
    "autotune": (compared, (baseline("compare winners and cost with this run"),)),
    "cudagraphs": (compared, (baseline("list the compiles whose use of CUDA graphs differs from this run"),)),
    "guards": (guards, ()),
    "problems": (problems, (
        argument("--format", choices=DIAGNOSTICS, help="print for code review (sarif, rdjson, github) or vim (quickfix)"),
    )),
    "layers": (layers, ()),
    "timing": (timing, (argument("--perfetto", metavar="FILE", help="write the events as JSON for ui.perfetto.dev instead"),)),
    "where": (where, (
        argument("--pids", action="store_true", help="also show the state of the processes on this machine that write these logs"),
        argument("--stacks", action="store_true", help="also show their Python stacks: runs py-spy dump, never as another user"),
    )),
    "runtime": (runtime, (defaults(reads_profiles=True),)),
    "warmup": (warmup, (defaults(script_suffix=SCRIPT),)),
}  # fmt: skip
"""Pages whose command has a function or options of its own."""
COMMANDS = {name: _command(name) for name in BY_NAME}
