"""`tltui index`: what logs tell, in one file that opens without them."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Iterator
from pathlib import Path

from tltui.cli.failure import Failure, tell
from tltui.cli.loading import look, no_path
from tltui.cli.parser import Parser, add_paths
from tltui.cli.printing import message

EXAMPLES = """\
examples:
  tltui index /tmp/tracedir -o run.tlx
"""


def add_arguments(parser: Parser) -> None:
    """PATHs and where to."""
    add_paths(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the index to write")
    parser.add_argument("--lean", action="store_true", help="leave out the texts that pages show: they are read from the logs")
    parser.add_argument(
        "--redact", action="store_true", help="replace all that is not torch's own: names, paths, source lines, strings, hosts"
    )
    parser.set_defaults(refs=[])


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Write it."""
    from tltui.documents.indexing import log_part, merged, settled, to_index
    from tltui.text.atomic import replacing

    if not options.paths:
        no_path(options.command, options.hint)
    target = Path(options.output)
    logs = to_index(look([*options.paths, *([options.output] if target.is_file() else [])], options.latest), options.output)

    def parts() -> Iterator[bytes]:
        for log in settled(logs):
            try:
                yield log_part(log, options.lean)
            except OSError as error:
                tell(f"tltui: {log.name}: {error.strerror or error}")

    if not logs:
        raise Failure("there is no log to index")
    with replacing(target, durable=True) as out:
        for piece in merged(parts(), socket.gethostname()):
            out.write(piece)
    yield message(f"wrote {target}: {len(logs):,} logs, {target.stat().st_size:,} bytes")
