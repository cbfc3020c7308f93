"""`tltui repro`: the graph of a compile as a script."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error, printable
from tltui.cli.loading import load, one_ref
from tltui.cli.parser import Parser, add_force, add_paths, add_refs, size
from tltui.cli.printing import message

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.writers.repro.script import Repro

EXAMPLES = """\
The script makes inputs as the trace describes them, compiles the graph, runs it, and compares with eager mode. It does so in a
child process with limits of CPU time, memory and time. If the trace is a stranger's, so is the graph: read the script first, and
run it in a container (SECURITY.md). tltui itself runs nothing of a trace.

examples:
  tltui repro /tmp/tracedir                        of which compiles a script can be made
  tltui repro /tmp/tracedir 0/1 -o repro.py
  tltui repro /tmp/tracedir 0/1 --from aot_forward_graph -o -
  tltui repro /tmp/tracedir 0/1:fx_graph_runnable#2 -o repro.py
"""


def add_arguments(parser: Parser) -> None:
    """Add PATH, REF, graph and output."""
    add_paths(parser)
    add_refs(parser, "a compile, or one of its graphs (default: list what there is)")
    parser.add_argument("-o", "--output", metavar="FILE", help="the script to write; - prints it")
    parser.add_argument("--from", dest="source", metavar="NAME", help="the graph to take (default: the best that will do)")
    parser.add_argument(
        "--max-bytes", metavar="SIZE", type=size, help="what its tensors may take together, as 800M, 16G (default: 4 GiB)"
    )
    add_force(parser, "replace FILE if it exists")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the script, its path, or the list."""
    loaded = load(options)
    ref = one_ref(options)
    if not ref:
        if options.output:
            raise Failure("which compile? REF is meant, for example 0/1; without -o all of them are listed")
        yield from _listed(loaded, _limit(options))
        return
    if not options.output:
        raise Failure("where to? -o FILE writes the script, -o - prints it")
    repro = _repro(loaded, ref, options)
    if not repro.script:
        raise Failure(repro.refused)
    if options.output == "-":
        yield repro.script.encode("ascii")
        return
    _write(Path(options.output).expanduser(), repro.script, options.force)
    for each in repro.tried:
        print_error(f"not of {each.ref}: {each.why}")
    yield message(printable(f"{options.output}: a script of {repro.graph}. It comes from a trace: read before running."))


def _repro(run: Run, ref: str, options: argparse.Namespace) -> Repro:
    from tltui.model.artifacts import Artifact
    from tltui.model.nodes import Compile, Frame
    from tltui.writers.repro.script import repro_of

    node, source, limit = run.resolve(ref), options.source, _limit(options)
    if isinstance(node, Frame) and len(node.compiles) == 1:
        node = node.compiles[0]
    if isinstance(node, Artifact):
        if source is not None and source != node.name:
            raise Failure(f"{ref} is a graph by itself; --from {source} needs the address of a compile")
        return repro_of(node.owner, artifact=node, max_bytes=limit)
    if not isinstance(node, Compile):
        raise Failure(f"{ref} is no compile; tltui repro without REF lists those that a script can be made of")
    return repro_of(node, source, max_bytes=limit)


def _limit(options: argparse.Namespace) -> int:
    from tltui.writers.repro.tensor_bounds import MAX_BYTES

    return MAX_BYTES if options.max_bytes is None else int(options.max_bytes)


def _listed(run: Run, limit: int) -> Iterator[bytes]:
    """Yield a line per compile: the source graph of its script, or why there is none."""
    from tltui.model.run import in_order
    from tltui.writers.repro.script import repro_of

    count = scripts = 0
    for compile_ in in_order(run):
        repro = repro_of(compile_, max_bytes=limit)
        count += 1
        scripts += bool(repro.script)
        yield message(printable(f"{repro.ref}  a script of {repro.graph.rpartition(':')[2]}" if repro.script else repro.refused))
    yield message(f"{scripts} of {count} compiles can be made a script: tltui repro PATH REF -o repro.py")


def _write(target: Path, script: str, force: bool) -> None:
    from tltui.text.safe_files import replacing

    try:
        with replacing(target, force=force) as file:
            file.write(script.encode("ascii"))
    except FileExistsError as error:
        raise Failure(f"{error.filename}: {error.strerror}; --force writes it there") from None
    except OSError as error:
        raise Failure(f"{error.filename or target}: {error.strerror}") from None
