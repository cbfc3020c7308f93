"""`tltui guide [CHAPTER]` and `tltui glossary [WORD]`: the installed manual."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.parser import Parser
from tltui.cli.printing import as_text, layout

EXAMPLES = """\
examples:
  tltui guide
  tltui guide recompiles
  tltui guide hangs | less
  tltui glossary
  tltui glossary guard
"""


def add_arguments(parser: Parser) -> None:
    """Add the chapter or word."""
    if parser.command == "guide":
        parser.add_argument("wanted", nargs="?", default="", metavar="CHAPTER", help="its name (default: the list of all)")
    else:
        parser.add_argument("wanted", nargs="*", default=[], metavar="WORD", help="a word, or several as one (default: all)")
    parser.add_argument("--ascii", action="store_true", default=None, help="print ASCII characters only")
    parser.add_argument("--color", action="store_true", help="colours even when the output is not a terminal")
    parser.set_defaults(paths=[], profile=[], demo=False, all=False)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page."""
    from tltui.documents.manual import glossary_document, guide_document

    if options.command == "guide":
        yield from as_text(guide_document(options.wanted.removesuffix(".md"), layout(options)), options)
    else:
        yield from as_text(glossary_document(" ".join(options.wanted), layout(options)), options)
