"""`tltui bundle`: a small log to share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.exits import Failure, print_error
from tltui.cli.loading import load
from tltui.cli.parser import Parser, add_force, add_json, add_paths, add_refs
from tltui.cli.printing import as_json, as_text, layout

EXAMPLES = """\
The preview says what leaves and how large it is; nothing is written beside the trace.

examples:
  tltui bundle /tmp/tracedir 0/1 --redact --preview
  tltui bundle /tmp/tracedir 0/1 0/2 --redact -o bundle.log
"""


def add_arguments(parser: Parser) -> None:
    """PATH, what of it, and where to."""
    add_paths(parser)
    add_json(parser)
    add_refs(parser, "compiles, frames or ranks (default: the whole run)", several=True)
    parser.add_argument("-o", "--output", metavar="FILE", help="the log to write; of several processes a directory")
    parser.add_argument(
        "--redact", action="store_true", help="replace all that is not torch's own: names, paths, source lines, strings, hosts"
    )
    parser.add_argument("-n", "--preview", action="store_true", help="only say what would leave, write nothing")
    add_force(parser)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """What leaves."""
    from tltui.writers.bundle import Bundle, bundle_document, known_secrets

    if not options.preview and not options.output:
        raise Failure("where to? -o FILE writes the bundle, --preview only says what would leave")
    bundle = Bundle(load(options), options.refs, options.redact, known_secrets() if options.redact else ())
    result = bundle.result()
    yield from as_json(result) if options.json else as_text(bundle_document(result, layout(options)), options)
    if not options.preview:
        try:
            written = bundle.write(options.output, options.force)
        except FileExistsError as error:
            raise Failure(f"{error.filename}: {error.strerror}; --force writes it there") from None
        except FileNotFoundError as error:
            raise Failure(f"{error.filename}: {error.strerror}") from None
        for path, size in written:
            print_error(f"wrote {path}  {size:,} bytes")
