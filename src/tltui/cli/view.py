"""The views: pages about the run or a part of it, with one command each, which differ in their options only."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from tltui.cli.loading import load, one_ref
from tltui.cli.parser import Parser, add_json, add_markdown, add_paths, add_refs
from tltui.cli.printing import as_json, as_text, layout, result_of
from tltui.model.ref import NORANK, CompileId, Ref, parse_ref
from tltui.questions.index import BY_NAME
from tltui.questions.question import question_of

EXAMPLES = ""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of all views, and those of the question."""
    add_paths(parser)
    add_refs(parser, "a rank, process, frame or compile (default: the run)")
    parser.add_argument("--rank", metavar="N", type=rank, help="only this rank; `none` for processes without one")
    parser.add_argument("--frame", metavar="F", type=int, help="only this frame")
    add_markdown(parser)
    add_own = question_of(parser.command).add_arguments
    if add_own is not None:
        add_own(parser)
    add_json(parser)


def rank(text: str) -> int:
    """Parse the number of a rank. Raises ValueError."""
    return NORANK if text == "none" else int(text)


def part(options: argparse.Namespace) -> Ref:
    """Return the part of the run that REF, --rank and --frame name together."""
    ref = parse_ref(one_ref(options))
    if options.rank is not None:
        ref = replace(ref, rank=options.rank)
    if options.frame is not None and ref.id is None:
        ref = replace(ref, id=CompileId(None, options.frame, None))
    return ref


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    from tltui.questions.question import view_document

    document = view_document(load(options), BY_NAME[options.command], part(options), layout(options))
    if not options.json:
        yield from as_text(document, options)
        return
    result = result_of(document)
    has_schema = isinstance(result, dict) and "schema" in result  # a view with a shape of its own
    indent = not question_of(options.command).is_long
    yield from as_json(result if has_schema else {"schema": 1, "view": options.command, "result": result}, indent)
