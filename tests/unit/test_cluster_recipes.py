"""The recipes of docs/clusters.md, run as they stand there, where what starts processes elsewhere starts them here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real import TRACES
from test_index_engines import SOURCES

from tltui.cli.registry import COMMANDS, parser_of
from tltui.cli.ui import ui_parser

DOC = (Path(__file__).resolve().parents[2] / "docs" / "clusters.md").read_text("utf-8")
BLOCKS = ["\n".join(line[4:] for line in block.split("\n")) for block in re.findall(r"(?m)(?:^ {4}.*\n)+", DOC)]
RUN = [block for block in BLOCKS if "--engine" not in block]
OPERATORS = {";", "&&", "|", "done", "<", ">", "<(", ")"}
STANDING_IN = r"""
set -eu
skip() { while [ "${1#-}" != "$1" ]; do shift; done; "$@"; }
srun() { skip "$@"; }
torchrun() { :; }
python() { :; }
kubectl() {
    case "$1" in
        get) printf 'pod/train-0\npod/train-1\n' ;;
        exec) [ "$3" = -- ]; shift 3; if [ "$1" = tar ]; then "$@"; else TLTUI_HOST=pod "$@"; fi ;;
    esac
}
ssh() { [ "$1" = -n ]; eval "$3"; }
scp() { [ "$1" = -- ]; shift; cp -- "${1#*:}" "$2"; }
tltui() {
    case "$1" in index) ;; *) set -- ls "$@" ;; esac
    PYTHONPATH="$SOURCES" "$PYTHON" -m tltui "$@"
}
"""


def tltui_lines(block: str) -> list[list[str]]:
    """The words of each call of tltui."""
    found = []
    for line in block.split("\n"):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
        for word in list(words):
            if word.startswith("tltui "):  # what ssh is given
                words += [";", *shlex.split(word)]
        while "tltui" in words:
            words = words[words.index("tltui") + 1 :]
            end = next((at for at, word in enumerate(words) if word in OPERATORS), len(words))
            found.append(words[:end])
    return found


LINES = [line for block in BLOCKS for line in tltui_lines(block)]


def test_there_are_recipes() -> None:
    assert len(BLOCKS) >= 11 and len(LINES) >= 14
    assert {"serial", "mpi", "dask://scheduler:8786"} >= {line[line.index("--engine") + 1] for line in LINES if "--engine" in line}


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_what_they_say_is_understood(words: list[str]) -> None:
    if words and words[0] in COMMANDS:
        options = parser_of(words[0]).read(words[1:])
        assert words[0] != "index" or (options.output and options.paths)
    else:
        assert ui_parser().read(words).paths


@pytest.mark.parametrize("block", RUN, ids=lambda block: block.split("\n")[-1])
def test_they_do_what_they_say(block: str, tmp_path: Path) -> None:
    """Everything that is called `/tmp` or `/shared` there is in a directory of the test."""
    tmp, shared = tmp_path / "tmp", tmp_path / "shared"
    for directory in (tmp, shared, shared / "indexes", tmp_path / "indexes", tmp_path / "traces"):
        directory.mkdir()
    shutil.copytree(TRACES / "torch-2.13" / "breaks", tmp / "trace")
    [log] = (tmp / "trace").iterdir()
    shutil.copyfile(log, tmp / "trace" / "dedicated_log_torch_trace_rank_56_x1.log")
    (tmp_path / "hosts.txt").write_text("node7\nnode8\n")
    if not any("index" in line for line in tltui_lines(block)):  # it opens what others have made
        make = f'cd "{tmp_path}"; tltui index "{tmp}/trace" -o "{shared}/indexes/a.tlx"\n'
    else:
        make = ""
    script = STANDING_IN + make + block.replace("/tmp", str(tmp)).replace("/shared", str(shared))
    own = {"SHARED": str(shared), "SLURM_NNODES": "1", "MASTER": "node7", "TLTUI_HOST": "node7", "SOURCES": SOURCES}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
                          env=os.environ | own | {"PYTHON": sys.executable})  # fmt: skip
    assert done.returncode == 0, done.stderr + script
    assert done.stderr == ""
    if "tltui" in block:
        assert "block" in done.stdout or "wrote " in done.stdout or "compiles" in done.stdout
