"""What the commands print. Each is a generator of bytes: `| head` ends it early."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from tltui.cli_options import RECORD_HELP, hook
from tltui.documents.pages.table import BY_NAME, VIEWS


class Failure(Exception):
    """Something that the user can mend. Printed on stderr; exit code 2."""


def no_path() -> NoReturn:
    """There is nothing to open: say how to record a trace."""
    raise Failure(f"no PATH given, and TORCH_TRACE is not set.\n\n{RECORD_HELP}")


def _load(options: argparse.Namespace, paths: Sequence[str] = ()) -> Any:
    from tltui.model.follow import open_run
    from tltui.sources.discover import NothingFound, discover

    if not (paths or options.paths):
        no_path()
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


def write(chunks: Iterator[bytes]) -> None:
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


def _result(document: Any, options: argparse.Namespace) -> Iterator[bytes]:
    """A document, or with --json the result behind it."""
    if not options.json:
        yield from _print(document, options)
        return
    while not document.advance():
        pass
    yield from _json(document.data())


def _ls(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.tree.listing import listing_data, listing_document

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


def _view(name: str) -> Callable[[argparse.Namespace], Iterator[bytes]]:
    """The command that prints a view."""

    def command(options: argparse.Namespace) -> Iterator[bytes]:
        from tltui.documents.scope import scope_of, view_document
        from tltui.model.ref import BadAddress

        run = _load(options)
        try:
            instead = hook(name, "instead")
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
    yield from _result(document, options)


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
    from tltui.documents.pages.damage import damage_document

    document = damage_document(_load(options), _options(options), check=True)
    yield from _json(document.data()) if options.json else _print(document, options)


def _check(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.analyses.problems.gates import BadBar, gates, parse_bars
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
    from tltui.documents.pages.grep import BadPattern, Query, grep_document

    run = _load(options)
    query = Query(options.pattern, options.artifact, options.status or "", options.rank, options.frame, max(options.context, 0))
    try:
        document = grep_document(run, query, _options(options))
    except BadPattern as bad:
        raise Failure(str(bad)) from None
    yield from _result(document, options)


def _diff(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.compare.compare import compare_nodes, patch_of
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
