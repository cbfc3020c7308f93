"""`tltui where`: a view."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli import view
from tltui.cli.parser import Parser

EXAMPLES = """\
examples:
  tltui where /tmp/tracedir
  tltui where /tmp/tracedir 7:           rank 7 alone
  tltui where /tmp/tracedir --json
"""


def add_arguments(parser: Parser) -> None:
    """Those of the view."""
    view.add_arguments(parser)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """The page, or its result."""
    return view.run(options)
