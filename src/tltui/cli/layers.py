"""`tltui layers`: a view with the name of a layer as an argument."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli import view
from tltui.cli.parser import Parser

EXAMPLES = """\
examples:
  tltui layers /tmp/tracedir 0/0                          the tree of its layers
  tltui layers /tmp/tracedir 0/0 --merge                  iterations as one: layers.*
  tltui layers /tmp/tracedir 0/0 layers.3.attn            all kernels of that layer
  tltui layers /tmp/tracedir 0/0 'layers.*.attn' --json   of all iterations

Exit code: 2 for a layer that there is not; layers that are called like it are named.
"""


def add_arguments(parser: Parser) -> None:
    """Add those of the view."""
    view.add_arguments(parser)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    options.filter = options.filter or options.place or ""
    yield from view.run(options)
