"""The recipes of docs/clusters.md, run as they stand there, where what starts processes elsewhere starts them here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from index_runs import SOURCES
from real import TRACES

from tltui.cli import main
from tltui.cli.registry import COMMANDS, parser_of
from tltui.cli.ui import ui_parser

DOC = (Path(__file__).resolve().parents[2] / "docs" / "clusters.md").read_text("utf-8")
FENCED = re.findall(r"(?ms)^```yaml\n(.*?)^```", DOC)
INDENTED = re.findall(r"(?m)(?:^ {4}.*\n(?:\n(?= {4}))?)+", re.sub(r"(?ms)^```.*?^```\n", "", DOC))
BLOCKS = ["\n".join(line[4:] for line in block.split("\n")) for block in INDENTED]
BATCH = next(block for block in BLOCKS if "#SBATCH" in block)
RUN = [block for block in BLOCKS if "--engine" not in block]
OPERATORS = {";", "&&", "|", "done", "<", ">", "<(", ")"}
STANDING_IN = r"""
set -eu
skip() { while [ "${1#-}" != "$1" ]; do shift; done; "$@"; }
srun() { skip "$@"; }
torchrun() { return "${FAILS:-0}"; }
python() { if [ -n "${HANGS:-}" ]; then echo >"$HANGS"; exec sleep 30; else return "${FAILS:-0}"; fi; }
kubectl() {
    case "$1" in
        get) printf 'pod/train-0\npod/train-1\n' ;;
        logs) [ "$3" = -c ]; echo "srun: error: node01: task 1: Killed" ;;
        exec) [ "$3" = -c ] && [ "$5" = -- ]; shift 5; TLTUI_HOST=pod "$@" ;;
        cp) [ "$2" = -c ]; cp -r -- "${4#*:}" "$5" ;;
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
    assert len(BLOCKS) >= 12 and len(LINES) >= 16 and len(FENCED) == 2
    assert {"serial", "mpi", "dask://scheduler:8786"} >= {line[line.index("--engine") + 1] for line in LINES if "--engine" in line}


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_what_they_say_is_understood(words: list[str]) -> None:
    if words and words[0] in COMMANDS:
        options = parser_of(words[0]).read(words[1:])
        assert words[0] != "index" or (options.output and options.paths)
    else:
        assert ui_parser().read(words).paths


def prepared(top: Path) -> dict[str, str]:
    """Make what is called `/tmp`, `/shared` and `/trace` in a directory, with traces in it; the variables of a script."""
    tmp, shared = top / "tmp", top / "shared"
    for directory in (tmp, shared, shared / "indexes", shared / "4242", top / "indexes"):
        directory.mkdir()
    for name in ("trace", "trace-4242", "trace-4242-7-restart1"):
        shutil.copytree(TRACES / "torch-2.13" / "breaks", tmp / name)
    shutil.copytree(tmp / "trace", top / "trace")
    [log] = (tmp / "trace").iterdir()
    shutil.copyfile(log, tmp / "trace" / "dedicated_log_torch_trace_rank_56_x1.log")
    (top / "hosts.txt").write_text("node7\nnode8\n")
    (top / "train-4242.out").write_text("epoch 1\nsrun: error: node7: task 12: Out Of Memory\n")
    own = {
        "SHARED": str(shared), "SLURM_NNODES": "1", "SLURM_JOB_ID": "4242", "JOB": "4242", "MASTER": "node7", "TLTUI_HOST": "node7",
        "SOURCES": SOURCES, "PYTHON": sys.executable,
    }  # fmt: skip
    return os.environ | own


def script_of(block: str, top: Path) -> str:
    """The block with its own stand-ins, everything absolute below a directory."""
    return STANDING_IN + re.sub(r"(?<![\w/])/(tmp|shared|trace)\b", rf"{top}/\1", block)


def executed(script: str, top: Path, environment: dict[str, str], shell: str = "bash") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, "-c", script], cwd=top, capture_output=True, text=True, timeout=60, check=False, env=environment
    )  # fmt: skip


@pytest.mark.parametrize("block", RUN, ids=lambda block: block.strip().split("\n")[-1])
def test_they_do_what_they_say(block: str, tmp_path: Path) -> None:
    """Everything that is called `/tmp`, `/shared` or `/trace` there is in a directory of the test."""
    environment = prepared(tmp_path)
    assert subprocess.run(["bash", "-n", "-c", block], check=False).returncode == 0
    make = ""
    if not any("index" in line for line in tltui_lines(block)):  # it opens what others have made
        make = 'for to in indexes 4242; do tltui index /tmp/trace -o "$SHARED/$to/a.tlx"; done\n'
    done = executed(script_of(make + block, tmp_path), tmp_path, environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if "tltui" in block:
        assert "block" in done.stdout or "wrote " in done.stdout or "compiles" in done.stdout


# the batch script


@pytest.mark.parametrize(("variables", "directory"), [
    ({}, "4242"), ({"SLURM_ARRAY_TASK_ID": "7", "SLURM_RESTART_COUNT": "1"}, "4242-7-restart1"),
])  # fmt: skip
@pytest.mark.parametrize("code", [0, 3])
def test_the_batch_script_leaves_indexes_and_the_exit_code_of_the_job(
    code: int, variables: dict[str, str], directory: str, tmp_path: Path
) -> None:
    environment = prepared(tmp_path)
    done = executed(script_of(BATCH, tmp_path), tmp_path, environment | variables | {"FAILS": str(code)})
    assert done.returncode == code, done.stderr
    assert [path.name for path in (tmp_path / "shared" / directory).iterdir()] == ["node7.tlx"]


def test_the_batch_script_writes_the_indexes_when_the_time_is_up(tmp_path: Path) -> None:
    """SIGTERM comes to the script alone, while the job hangs."""
    environment = prepared(tmp_path)
    hangs = tmp_path / "hangs"
    os.mkfifo(hangs)
    script = tmp_path / "job.sh"
    script.write_text(script_of(BATCH, tmp_path))
    with subprocess.Popen(["bash", str(script)], cwd=tmp_path, env=environment | {"HANGS": str(hangs)}, text=True,
                          stdout=subprocess.PIPE) as process:  # fmt: skip
        hangs.read_bytes()  # it has begun
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 128 + signal.SIGTERM
    assert said.count("wrote ") == 2 and (tmp_path / "shared" / "4242" / "node7.tlx").exists()


def test_a_failed_torchrun_leaves_an_index_and_its_exit_code(tmp_path: Path) -> None:
    environment = prepared(tmp_path)
    [block] = [block for block in BLOCKS if "rdzv-endpoint" in block]
    done = executed(script_of(block, tmp_path), tmp_path, environment | {"FAILS": "3"})
    assert done.returncode == 3 and (tmp_path / "shared" / "4242" / "node7.tlx").exists()


# pods


def test_the_wrapper_of_a_pod_leaves_an_index_and_the_exit_code(tmp_path: Path) -> None:
    environment = prepared(tmp_path)
    (tmp_path / "artifacts").mkdir()
    found = re.search(r"- \|\n((?: {10}.*\n)+)", FENCED[0])
    assert found is not None
    wrapper = re.sub(r"(?m)^ {10}", "", found[1]).replace("/artifacts", f"{tmp_path}/artifacts")
    own = environment | {"TORCH_TRACE": str(tmp_path / "trace"), "HOSTNAME": "train-0", "FAILS": "3"}
    done = executed(STANDING_IN.replace("set -eu\n", "") + wrapper, tmp_path, own, "sh")
    assert done.returncode == 3, done.stderr
    assert [path.name for path in (tmp_path / "artifacts").iterdir()] == ["train-0.tlx"]


def test_both_containers_share_the_volume_of_the_trace() -> None:
    mounts = [re.findall(r"\{name: trace, mountPath: (\S+)\}", block) for block in FENCED]
    assert mounts == [["/trace"], ["/trace"]] and "{name: trace, emptyDir: {}}" in FENCED[0]


def test_a_missing_directory_is_named_with_the_command_that_makes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(TRACES / "torch-2.13" / "breaks"), "-o", str(tmp_path / "no dir" / "%h.tlx")]) == 2
    assert capsys.readouterr().err == (
        f"tltui: No such file or directory: '{tmp_path}/no dir'\n  mkdir -p '{tmp_path}/no dir'\n"
    )
