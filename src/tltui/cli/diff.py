"""`tltui diff`: comparison of two artifacts, compiles, ranks or runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.exits import Failure
from tltui.cli.loading import load, load_other
from tltui.cli.parser import Parser, add_json, add_paths, add_refs
from tltui.cli.printing import as_json, as_text, layout, result_of

EXAMPLES = """\
examples:
  tltui diff /tmp/tracedir 0/0 0/1
  tltui diff /tmp/tracedir 0: 3:
  tltui diff /tmp/tracedir 0/0:dynamo_cpp_guards_str 0/1:dynamo_cpp_guards_str
  tltui diff /tmp/before --with /tmp/after
"""


def add_arguments(parser: Parser) -> None:
    """Add PATH, two addresses, or another run."""
    add_paths(parser)
    add_json(parser)
    add_refs(parser, "two addresses; with --with one or none", several=True)
    help_ = "compare with another run (again for another log of it)"
    parser.add_argument("--with", dest="other", metavar="OTHER", action="append", help=help_)
    parser.add_argument("--raw", action="store_true", help="two artifacts as a patch, nothing left out")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the comparison, its result, or a patch."""
    from tltui.questions.compare.page import compare_nodes, patch_of

    names = _names(options)
    first = load(options)
    other = load_other(options.other, options.latest) if options.other else first
    if options.raw and not options.json:  # as stored, for `patch` and `git apply`
        yield from (line + b"\n" for line in patch_of(first, names[0], other, names[1]))
        return
    document = compare_nodes(first, names[0], other, names[1], layout(options))
    result = result_of(document)  # what is folded is known of a whole page
    if options.json:
        yield from as_json(result)
    else:
        yield from as_text(document, options, whole=True, folded=True)


def _names(options: argparse.Namespace) -> list[str]:
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
