"""Run as a program: prints what many commands say of logs, each behind a line with its exit code (`test_json_commands.py`).

Its arguments are a directory to write into, and what is opened.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr

from tltui.cli import main
from tltui.questions.index import QUESTIONS
from tltui.text.json_codec import BACKEND


def output_of(arguments: list[str]) -> bytes:
    """Return the output of a command, behind a line with its exit code."""
    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before, sys.stdout = sys.stdout, out
    try:
        with redirect_stderr(errors):
            try:
                code = main(arguments)
            except SystemExit as left:  # an option that this command does not have
                code = int(left.code or 0)
        out.flush()
        return f"\n== {' '.join(arguments)}: {code} {errors.getvalue()}\n".encode() + out.buffer.getvalue()  # type: ignore[attr-defined]
    finally:
        sys.stdout = before


def commands(path: str, out: str) -> list[list[str]]:
    """Return the commands for one path."""
    pages = [[view.name, path] for view in QUESTIONS]
    others = [["ls", path], ["records", path], ["damage", path], ["show", path, "0/0"], ["diff", path, "0/0", "0/1"]]
    target = os.path.join(out, "perfetto.json")
    asked = [*pages, *others, *([*words, "--json"] for words in (*pages, *others))]
    return [*asked, ["timing", path, "--perfetto", target, "--force"], ["index", path, "-o", os.path.join(out, "x.tlx"), "--force"]]


if __name__ == "__main__":
    directory, *given = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    sys.stderr.write(BACKEND)
    for one in given:
        for command in commands(one, directory):
            sys.stdout.buffer.write(output_of(command).replace(directory.encode(), b"OUT"))
        with open(os.path.join(directory, "perfetto.json"), "rb") as file:
            sys.stdout.buffer.write(b"\n== perfetto.json\n" + file.read())
        summary = output_of(["summary", os.path.join(directory, "x.tlx"), "--json"])
        sys.stdout.buffer.write(summary.replace(directory.encode(), b"OUT"))
