"""`tltui runtime`: a view whose profile may be rejected."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli import view
from tltui.cli.exits import Failure
from tltui.cli.loading import load
from tltui.cli.parser import Parser
from tltui.cli.printing import as_json, as_text, layout, result_of
from tltui.questions.index import BY_NAME

EXAMPLES = """\
examples:
  tltui runtime /tmp/tracedir                             profiles that lie beside the log; without one, how to record it
  tltui runtime /tmp/tracedir --profile profile.json.gz
  tltui runtime /tmp/tracedir 0/1 --profile profile.json --sort mean
  tltui runtime /tmp/tracedir --profile rank0.json --profile rank1.json --json

Exit code: 2 when there are profiles and none of them fits the trace; 0 without one.
"""


def add_arguments(parser: Parser) -> None:
    """Add those of the view."""
    view.add_arguments(parser)
    parser.set_defaults(reads_profiles=True)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result. Raises `Failure` if no profile fits the trace."""
    from tltui.questions.question import view_document
    from tltui.questions.runtime.profile_results import Refused
    from tltui.questions.runtime.profile_sums import runtimes_of

    model = load(options)
    results = runtimes_of(model)
    if results and all(isinstance(item, Refused) for item in results):
        raise Failure("\n".join(f"{item.profile}: not joined: {item.why}" for item in results if isinstance(item, Refused)))
    document = view_document(model, BY_NAME["runtime"], view.part(options), layout(options))
    yield from as_json(result_of(document)) if options.json else as_text(document, options)
