"""`tltui try --edit`: a unified diff with the remedies that need an edit of the program. No file is changed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from tltui.cli.exits import Failure, print_error


def write_edits(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the diff, or write it to the file of -o."""
    from tltui.cli.loading import discover_logs
    from tltui.model.follow import open_run
    from tltui.questions.trials.edits import proposed_edits
    from tltui.text.safe_files import replacing
    from tltui.writers.edit_diff import diff_of

    missing = next((word for word in options.words if not os.path.exists(word)), None)
    if missing is not None and missing.startswith("-"):
        raise Failure(f"with --edit, options go before the trace: '{missing}'", "tltui try --edit --cwd DIR -o FILE TRACE")
    if not options.words or missing is not None:
        raise Failure("--edit needs a trace" + (f", no such file: '{missing}'" if missing is not None else ""),
                      "tltui run -- COMMAND records a trace; then: tltui try --edit DIR")  # fmt: skip
    if options.cwd and not os.path.isdir(options.cwd):
        raise Failure(f"--cwd: no such directory: '{options.cwd}'", "give the directory of the sources in the trace")
    run = open_run(discover_logs(options.words, False))
    frames, others = proposed_edits(run)
    diff = diff_of(frames, options.cwd or ".")
    for text in diff.refused:
        print_error(f"tltui: left unchanged: {text}")
    for other in others:
        print_error(f"tltui: no edit for {other.function}: {other.source}: {other.advice}")
    if not diff.text:
        print_error("tltui: no edits" if diff.refused or others else "tltui: no recompilation has a remedy that needs an edit")
    data = diff.text.encode()
    if not options.directory:
        yield data
        return
    try:
        with replacing(Path(options.directory), force=False, private=True) as file:
            file.write(data)
    except OSError as error:
        raise Failure(f"{error.strerror}: '{options.directory}'") from None
    print_error(f"wrote {options.directory}\n  patch -p1 < {options.directory}")
