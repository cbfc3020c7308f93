"""The command line: `tltui PATH` opens the terminal UI, every other command prints a document and needs no terminal.

Textual is imported only when the UI starts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from tltui import __version__
from tltui.documents.view_table import BY_NAME, VIEWS

RECORD_HELP = """\
tltui reads what torch.compile wrote into a directory. To record one, run your job with

    TORCH_TRACE=/tmp/tracedir python train.py

(add INDUCTOR_PROVENANCE=1 to see later which line became which kernel), then

    tltui /tmp/tracedir          look at it, also while the job runs
    tltui ls /tmp/tracedir       print what is in it
    tltui --demo                 look at a trace that comes with tltui
"""

EXAMPLES = """\
examples:
  tltui /tmp/tracedir                                 the terminal UI
  tltui --demo                                        the same on a small built-in trace
  tltui /tmp/traces --latest                          only the newest run in a directory
  tltui ls /tmp/tracedir                              compiles with status and time
  tltui show /tmp/tracedir 0/1                        what happened in [0/1], and why
  tltui show /tmp/tracedir 0/1:inductor_output_code   an artifact
  tltui records /tmp/tracedir 3:0/1                   every record of [0/1] on rank 3
  tltui damage /tmp/tracedir                          what is broken in the logs
  tltui extract /tmp/tracedir -o out 0/1              payloads as files

addresses: [RANK[.PROCESS]:]FRAME/COMPILE[_ATTEMPT][:ARTIFACT[#N]], for example 0/1, 3:0/1_1, none:torch_version
"""

DEMO = Path(__file__).parent / "demo"


class Failure(Exception):
    """Something that the user can mend. Printed on stderr; exit code 2."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code: 0, or 2 with a message on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except Failure as failure:
        print(f"tltui: {failure}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # `| head` closed our output: not an error, and nothing may be written any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"tltui: {error.filename or 'input or output'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS:
        name, *rest = arguments
        parser = _command_parser(name)
        options = parser.parse_intermixed_args(rest)
        _take_demo(options)
        _write(COMMANDS[name][1](options))
        return int(getattr(options, "exit_code", 0))
    options = _main_parser().parse_intermixed_args(arguments)
    _take_demo(options)
    if not options.paths:
        _no_path()
    return _open(options)


def _no_path() -> NoReturn:
    raise Failure(f"no PATH given, and TORCH_TRACE is not set.\n\n{RECORD_HELP}")


def _take_demo(options: argparse.Namespace) -> None:
    """`--demo` stands wherever PATH may stand; without either, TORCH_TRACE does."""
    single = hasattr(options, "path")
    if options.demo:
        if single and options.path is not None:
            # the first positional was not PATH but what follows it
            options.rest = [options.path, *getattr(options, "rest", [])]
        found = [str(DEMO)]
    else:
        given = [options.path] if single and options.path is not None else getattr(options, "paths", [])
        found = given or ([os.environ["TORCH_TRACE"]] if os.environ.get("TORCH_TRACE") else [])
    options.paths = found


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--demo", action="store_true", help="use the built-in demo trace instead of PATH")
    parser.add_argument("--latest", action="store_true", help="only the newest run in the directory")


def _looks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ascii", action="store_true", default=None, help="draw with ASCII characters only")
    parser.add_argument("--color", action="store_true", help="colours even when the output is not a terminal")


def _main_parser() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {name:<10} {help_}" for name, (help_, _) in COMMANDS.items())
    parser = _Parser(
        prog="tltui",
        description="The terminal workbench for torch.compile. PATH is a directory of TORCH_TRACE logs, or such logs.",
        epilog=f"commands (tltui COMMAND --help):\n{commands}\n\n{EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="default: $TORCH_TRACE")
    _common(parser)
    _looks(parser)
    parser.add_argument("--theme", metavar="NAME", help="auto, dark, light, ansi-dark, ansi-light or mono")
    parser.add_argument("--no-mouse", action="store_true", default=None, help="leave the mouse to the terminal")
    parser.add_argument("--version", action="version", version=f"tltui {__version__}")
    return parser


def _command_parser(name: str) -> argparse.ArgumentParser:
    help_, _ = COMMANDS[name]
    epilog = _EPILOGS.get(name, f"examples:\n  tltui {name} /tmp/tracedir\n  tltui {name} /tmp/tracedir 0/1 --json\n")
    description = help_[0].upper() + help_[1:] + "."
    parser = _Parser(prog=f"tltui {name}", description=description, epilog=epilog,
                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    if name == "grep":
        parser.add_argument("pattern", metavar="PATTERN", help="a regular expression; small letters match capitals too")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a log or a directory of logs (default: $TORCH_TRACE)")
    _common(parser)
    _looks(parser)
    if name in BY_NAME:
        parser.add_argument("rest", nargs="*", metavar="REF", help="a rank, process, frame or compile (default: the run)")
        parser.add_argument("--rank", metavar="N", help="only this rank; `none` for processes without one")
        parser.add_argument("--frame", metavar="F", type=int, help="only this frame")
        parser.add_argument("--markdown", action="store_true", help="print markdown, to paste into an issue")
        if (add_arguments := _hook(name, "add_arguments")) is not None:
            add_arguments(parser)
    if name != "extract":
        parser.add_argument("--json", action="store_true", help="print JSON (documented in docs/json.md)")
    if name == "diff":
        parser.add_argument("rest", nargs="*", metavar="REF", help="two addresses; with --with one or none")
        parser.add_argument("--with", dest="other", metavar="OTHER", help="compare with another run")
        parser.add_argument("--raw", action="store_true", help="two artifacts as a patch, nothing left out")
    if name == "grep":
        parser.add_argument("-C", "--context", metavar="N", type=int, default=0, help="show N lines around each hit")
        parser.add_argument("--artifact", metavar="GLOB", default="*", help="only artifacts of this name")
        parser.add_argument("--status", choices=["ok", "break", "error", "empty", "missing"], help="only such compiles")
        parser.add_argument("--rank", metavar="N", type=int, help="only this rank")
        parser.add_argument("--frame", metavar="F", type=int, help="only this frame")
    if name == "ls":
        parser.add_argument("--check", action="store_true", help="read every payload: size, lines, md5")
    elif name == "show":
        parser.add_argument("rest", nargs="*", metavar="REF", help="an address, e.g. 0/1 or 0/1:inductor_output_code")
        parser.add_argument("--unit", metavar="U", help="which unit is meant: forward, backward, inference …")
        parser.add_argument("--raw", action="store_true", help="the bytes as torch wrote them")
    elif name == "source":
        help_ = "the line (the end of a path is enough: train.py:42), and the part of the run (default: all)"
        parser.add_argument("rest", nargs="*", metavar="FILE:LINE [REF]", help=help_)
        parser.add_argument("--markdown", action="store_true", help="print markdown, to paste into an issue")
    elif name == "records":
        parser.add_argument("rest", nargs="*", metavar="REF", help="a compile, frame, process or rank")
    elif name == "check":
        parser.add_argument("--fail-on", metavar="BARS", action="append", help="bars with the most that is allowed, by commas "
                            "(default: error)")  # fmt: skip
        parser.add_argument("--baseline", metavar="OLD", help="a trace to compare with: a bar without a number allows what it has")
    elif name == "bundle":
        parser.add_argument("rest", nargs="*", metavar="REF", help="compiles, frames or ranks (default: the whole run)")
        parser.add_argument("-o", "--output", metavar="FILE", help="the log to write; of several processes a directory")
        parser.add_argument("--redact", action="store_true", help="replace paths, source lines, names and hosts, everywhere alike")
        parser.add_argument("-n", "--preview", action="store_true", help="only say what would leave, write nothing")
        parser.add_argument("--force", action="store_true", help="replace files that exist")
    elif name == "extract":
        parser.add_argument("rest", nargs="*", metavar="REF", help="what to extract (default: everything)")
        parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory to write into")
        parser.add_argument("--force", action="store_true", help="replace files that exist")
    return parser


def _open(options: argparse.Namespace) -> int:
    """The terminal UI, or its listing where there is no terminal."""
    why = _no_terminal()
    if why:
        print(f"tltui: {why}; printing what `tltui ls` prints", file=sys.stderr)
        options.json = options.check = False
        _write(_ls(options))
        return 0
    from tltui.sources.discover import NothingFound, discover

    try:
        found = discover(options.paths, options.latest)
    except NothingFound as nothing:
        raise Failure(str(nothing)) from None
    from tltui.app import start

    return start(found, options)


def _no_terminal() -> str:
    """Why the UI cannot run here; '' when it can."""
    if not sys.stdin.isatty():
        return "standard input is not a terminal"
    if not sys.stdout.isatty():
        return "standard output is not a terminal"
    if not sys.stderr.isatty():
        return "standard error is not a terminal, and the UI is drawn there"
    if os.environ.get("TERM", "dumb") in ("dumb", ""):
        return "TERM=dumb: this terminal cannot draw"
    return ""


def _load(options: argparse.Namespace, paths: Sequence[str] = ()) -> Any:
    from tltui.model.run import open_run
    from tltui.sources.discover import NothingFound, discover

    if not (paths or options.paths):
        _no_path()
    try:
        return open_run(discover(paths or options.paths, options.latest))
    except NothingFound as nothing:
        raise Failure(str(nothing)) from None


def _options(options: argparse.Namespace) -> Any:
    from tltui.text.document import Options

    width = _width()
    sort = str(getattr(options, "sort", ""))
    filtered = str(getattr(options, "filter", ""))
    return Options(width=width, sort=sort, filter=filtered, raw=bool(getattr(options, "raw", False)), ascii=_ascii(options))


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return min(max(int(columns), 40), 400)
    try:
        return min(max(os.get_terminal_size(sys.stdout.fileno()).columns, 40), 200)
    except (OSError, ValueError):
        return 100


def _ascii(options: argparse.Namespace) -> bool:
    if options.ascii is not None:
        return bool(options.ascii)
    return (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf16", "utf32")


def _style(options: argparse.Namespace) -> str:
    """Colours on a terminal or when asked for."""
    if getattr(options, "markdown", False):
        return "markdown"
    if options.color:
        return "ansi"
    return "ansi" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" else "text"


def _write(chunks: Iterator[bytes]) -> None:
    """Print: in blocks, so that `| head` ends us early."""
    out = sys.stdout.buffer
    for chunk in chunks:
        out.write(chunk)
    out.flush()


def _print(document: Any, options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.export import lines_of

    encoding = sys.stdout.encoding or "utf-8"
    for line in lines_of(document, _style(options)):
        yield (line + "\n").encode(encoding, "backslashreplace")


def _json(value: object) -> Iterator[bytes]:
    from tltui.export import to_json

    yield to_json(value) + b"\n"


def _ls(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.listing import listing_data, listing_document

    run = _load(options)
    if options.json or options.check:
        yield from _json(listing_data(run, options.check))
    else:
        yield from _print(listing_document(run, _options(options)), options)


def _one_ref(options: argparse.Namespace) -> str:
    if len(options.rest) > 1:
        raise Failure(f"one address at a time, not {' '.join(options.rest)}")
    return options.rest[0] if options.rest else ""


def _show(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.build import build
    from tltui.documents.shown import in_unit, raw_bytes, shown_data
    from tltui.model.ref import BadAddress, parse_ref

    run = _load(options)
    try:
        ref = parse_ref(_one_ref(options))
        if options.unit:
            ref = in_unit(run, ref, options.unit)
        if options.raw:
            yield from raw_bytes(run, ref)
            return
        document = build(run, ref, _options(options))
    except BadAddress as bad:
        raise Failure(str(bad)) from None
    except OSError as error:
        raise Failure(f"{error.filename or options.paths[0]}: {error.strerror or error}") from None
    if options.json:
        yield from _json(shown_data(run, ref, document))
    else:
        yield from _print(document, options)


def _hook(view: str, name: str) -> Any:
    """What the module of a view adds to its command: `add_arguments(parser)` for options of its own, and
    `instead(run, scope, options)`, which gives what to print in place of the page, or None. None where there is none.
    """
    return getattr(import_module(f"tltui.documents.{BY_NAME[view].module}"), name, None)


def _view(name: str) -> Callable[[argparse.Namespace], Iterator[bytes]]:
    """The command that prints a view."""

    def command(options: argparse.Namespace) -> Iterator[bytes]:
        from tltui.documents.scope import scope_of, view_document
        from tltui.model.ref import BadAddress

        run = _load(options)
        try:
            instead = _hook(name, "instead")
            if instead is not None and (chunks := instead(run, scope_of(run, _part(options)), options)) is not None:
                yield from chunks
                return
            document = view_document(run, BY_NAME[name], _part(options), _options(options))
        except BadAddress as bad:
            raise Failure(str(bad)) from None
        except FileExistsError as error:
            raise Failure(f"{error.filename}: exists; --force replaces it") from None
        if options.json:
            while not document.advance():
                pass
            found = document.data()
            whole = isinstance(found, dict) and "schema" in found  # a view with a shape of its own
            yield from _json(found if whole else {"schema": 1, "view": name, "result": found})
        else:
            yield from _print(document, options)

    return command


def _part(options: argparse.Namespace) -> Any:
    """The part of the run that REF, --rank and --frame name together."""
    from tltui.model.ref import NORANK, CompileId, Ref, parse_ref

    ref = parse_ref(_one_ref(options))
    if options.rank is not None:
        ref = Ref(NORANK if options.rank == "none" else int(options.rank), ref.process, ref.id)
    if options.frame is not None and ref.id is None:
        ref = Ref(ref.rank, ref.process, CompileId(None, options.frame, None))
    return ref


def _source(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.build import build
    from tltui.model.ref import BadAddress, Ref, parse_ref

    run = _load(options)
    try:
        if not options.rest:
            raise Failure("which line? FILE:LINE is meant, for example train.py:42")
        place, *options.rest = options.rest
        part = parse_ref(_one_ref(options))
        ref = Ref(part.rank, part.process, part.id, artifact=place, view="source")
        document = build(run, ref, _options(options))
    except BadAddress as bad:
        raise Failure(str(bad)) from None
    if options.json:
        while not document.advance():
            pass
        yield from _json(document.data())
    else:
        yield from _print(document, options)


def _records(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.build import build
    from tltui.model.ref import BadAddress, parse_ref

    run = _load(options)
    try:
        document = build(run, parse_ref(_one_ref(options)).at("records"), _options(options))
    except BadAddress as bad:
        raise Failure(str(bad)) from None
    yield from _json(document.data()) if options.json else _print(document, options)


def _damage(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.damage import damage_document

    document = damage_document(_load(options), _options(options), check=True)
    yield from _json(document.data()) if options.json else _print(document, options)


def _check(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.analyses.gates import BadBar, gates, parse_bars
    from tltui.documents.check import check_document

    try:
        bars = parse_bars(",".join(options.fail_on or ["error"]), options.baseline is not None)
    except BadBar as bad:
        raise Failure(str(bad)) from None
    run = _load(options)
    found = gates(run, bars, _load(options, [options.baseline]) if options.baseline is not None else None)
    options.exit_code = 0 if found.passed else 1
    if options.json:
        yield from _json(found)
    else:
        yield from _print(check_document(found, run.title, _options(options), len(run.failures)), options)


def _extract(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.shown import extract
    from tltui.model.ref import BadAddress

    run = _load(options)
    try:
        for path, size in extract(run, options.rest, options.output, options.force):
            yield f"{path}  {size:,} bytes\n".encode("utf-8", "backslashreplace")
    except BadAddress as bad:
        raise Failure(str(bad)) from None
    except FileExistsError as error:
        raise Failure(f"{error.filename}: exists; --force replaces it") from None
    except OSError as error:
        raise Failure(f"{error.filename or options.output}: {error.strerror or error}") from None


def _bundle(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.bundle import Bundle, bundle_document, known_secrets
    from tltui.model.ref import BadAddress

    if not options.preview and not options.output:
        raise Failure("where to? -o FILE writes the bundle, --preview only says what would leave")
    run = _load(options)
    try:
        bundle = Bundle(run, options.rest, options.redact, known_secrets() if options.redact else ())
        result = bundle.result()
        if options.json:
            yield from _json(result)
        else:
            yield from _print(bundle_document(result, _options(options)), options)
        if not options.preview:
            for path, size in bundle.write(options.output, options.force):
                print(f"wrote {path}  {size:,} bytes", file=sys.stderr)
    except BadAddress as bad:
        raise Failure(str(bad)) from None
    except FileExistsError as error:
        raise Failure(f"{error.filename}: {error.strerror}; --force writes it there") from None


def _grep(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.grep import BadPattern, Query, grep_document

    run = _load(options)
    query = Query(options.pattern, options.artifact, options.status or "", options.rank, options.frame, max(options.context, 0))
    try:
        document = grep_document(run, query, _options(options))
    except BadPattern as bad:
        raise Failure(str(bad)) from None
    if options.json:
        while not document.advance():
            pass
        yield from _json(document.data())
    else:
        yield from _print(document, options)


def _diff(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.compare import compare_nodes, patch_of
    from tltui.model.ref import BadAddress

    run = _load(options)
    if options.other:
        if len(options.rest) > 1:
            raise Failure("with --with there is one address for both runs, or none")
        other, names = _load(argparse.Namespace(paths=[options.other], latest=options.latest)), options.rest * 2 or ["", ""]
    elif len(options.rest) == 2:
        other, names = run, options.rest
    else:
        raise Failure("diff takes two addresses, or --with OTHER and one or none")
    try:
        if options.raw and not options.json:  # as stored, for `patch` and `git apply`
            yield from (line + b"\n" for line in patch_of(run, names[0], other, names[1]))
            return
        document = compare_nodes(run, names[0], other, names[1], _options(options))
    except BadAddress as bad:
        raise Failure(str(bad)) from None
    if options.json:
        while not document.advance():
            pass
        yield from _json(document.data())
    else:
        hidden = {line for s in document.sections() if s.folded for line in range(s.first + 1, s.last + 1)}
        yield from (line for n, line in enumerate(_print(document, options)) if n not in hidden)


COMMANDS: dict[str, tuple[str, Callable[[argparse.Namespace], Iterator[bytes]]]] = {
    **{view.name: (view.help, _view(view.name)) for view in VIEWS},
    "ls": ("list ranks, frames and compiles with status and time", _ls),
    "show": ("print what an address shows: an overview, or an artifact", _show),
    "source": ("what became of a line of source: nodes, kernels, guards, graph breaks, recompiles", _source),
    "records": ("list every record in file order, with time, site and size", _records),
    "grep": ("search every payload, envelope and page", _grep),
    "diff": ("compare two artifacts, compiles, ranks or runs", _diff),
    "damage": ("check every payload and list what is damaged", _damage),
    "check": ("fail when a run has more errors, breaks, recompiles … than allowed (for CI)", _check),
    "extract": ("write payloads to files", _extract),
    "bundle": ("write a small log of some compiles to share, on request redacted", _bundle),
}

_EPILOGS = {
    "timing": "examples:\n  tltui timing /tmp/tracedir\n  tltui timing /tmp/tracedir 0/1\n"
    "  tltui timing /tmp/tracedir --perfetto trace.json        open it in ui.perfetto.dev\n",
    "ls": "examples:\n  tltui ls /tmp/tracedir\n  tltui ls /tmp/tracedir --json | jq '.ranks[].processes[].compiles[] | select(.status==\"error\").ref'\n",
    "show": "examples:\n  tltui show /tmp/tracedir                    the whole run\n  tltui show /tmp/tracedir 0/1                one compile\n"
    "  tltui show /tmp/tracedir 0/0:inductor_output_code --unit backward\n  tltui show --demo 0:0/0:dynamo_output_graph --raw > graph.py\n",
    "records": "examples:\n  tltui records /tmp/tracedir 0/1\n  tltui records /tmp/tracedir 3: --json\n",
    "source": "examples:\n  tltui source /tmp/tracedir train.py:42\n  tltui source /tmp/tracedir models/block.py:7 0/1 --json\n",
    "damage": "example:\n  tltui damage /tmp/tracedir\n",
    "grep": "examples:\n  tltui grep addmm /tmp/tracedir\n  tltui grep 'extern_kernels\\.\\w+' /tmp/tracedir --artifact inductor_output_code\n",
    "check": "bars: error break distinct_break recompiles frame_recompiles recompile_limit cache_miss compile_time empty unfinished damage\n"
    "A bar without a number allows none; with --baseline what OLD has, and +N or +N% that much more.\n"
    "Exit code: 0 when every bar holds, 1 when one is broken, 2 for anything that could not be checked.\n\n"
    "examples:\n  tltui check /tmp/tracedir --fail-on error,break,recompiles=2,cache_miss,compile_time=60\n"
    "  tltui check new --baseline old --fail-on error,break,recompiles=+1,compile_time=+10%\n",
    "diff": "examples:\n  tltui diff /tmp/tracedir 0/0 0/1\n  tltui diff /tmp/tracedir 0: 3:\n"
    "  tltui diff /tmp/tracedir 0/0:dynamo_cpp_guards_str 0/1:dynamo_cpp_guards_str\n  tltui diff /tmp/before --with /tmp/after\n",
    "bundle": "The preview says what leaves and how large it is; nothing is written beside the trace.\n\n"
    "examples:\n  tltui bundle /tmp/tracedir 0/1 --redact --preview\n  tltui bundle /tmp/tracedir 0/1 0/2 --redact -o bundle.log\n",
    "extract": "examples:\n  tltui extract /tmp/tracedir -o out\n  tltui extract /tmp/tracedir -o out 0/1 0/2:inductor_output_code\n",
}
