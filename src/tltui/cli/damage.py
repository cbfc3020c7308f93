"""`tltui damage`: what is broken in the logs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.loading import load
from tltui.cli.parser import Parser, add_json, add_paths
from tltui.cli.printing import layout, printed

EXAMPLES = """\
example:
  tltui damage /tmp/tracedir
"""


def add_arguments(parser: Parser) -> None:
    """PATH."""
    add_paths(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """All damage, every payload checked."""
    from tltui.questions.records.damage_page import damage_document

    yield from printed(damage_document(load(options), layout(options), check=True), options)
