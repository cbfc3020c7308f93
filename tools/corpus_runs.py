"""Runs of the programs of tests/live/corpus, each with its trace, kept from one call of tools/corpus.py to the next."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.trials.changes import Change
from tltui.questions.trials.outcomes import Counts, Series, counts_of, series_of
from tltui.running.job_trace import logs_in
from tltui.running.trial import Surroundings, run_trial

ROOT = Path(__file__).resolve().parent.parent
HOOK = Path(__file__).resolve().parent / "corpus_hook"
PYTHON = os.environ.get("TLTUI_TORCH_PYTHON", "python")
LIMIT_S = 400.0
THREADS = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1",
           "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}  # fmt: skip

FrameKey = tuple[str, str, str, int]
"""Rank, name and file of a code object, and its number among those of this name."""


NO_CHANGE = Change("")
_NOTHING = re.compile(r"'NoneType' object|^KeyError")
_ERROR = re.compile(r"[\w.]+(?:Error|Exception|Unsupported)\b")


@dataclass(frozen=True)
class Mark:
    """Calls of torch that run before each compile of a code object."""

    name: str
    line: int
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Application:
    """Remedies as the tool carries them out: settings, calls of torch, and edits of the program."""

    change: Change = NO_CHANGE
    marks: tuple[Mark, ...] = ()
    edits: tuple[tuple[str, str], ...] = ()
    """(text, its replacement)."""
    reports_guards: bool = False
    """Whether the failed guards of each recompilation are written."""

    def __add__(self, other: Application) -> Application:
        """Return both as one."""
        edits = tuple(dict.fromkeys((*self.edits, *other.edits)))
        variables: dict[str, list[str]] = {}
        for name, value in (*self.change.environment, *other.change.environment):
            variables.setdefault(name, []).append(value)
        change = replace(self.change + other.change, environment=tuple((name, ",".join(v)) for name, v in variables.items()))
        return Application(change, tuple(dict.fromkeys((*self.marks, *other.marks))), edits)

    def program(self, text: str) -> str:
        """Return the program with the edits. Raises ValueError for an edit that does not fit."""
        for before, after in self.edits:
            if before not in text:
                raise ValueError(f"the program has no line {before!r}")
            text = text.replace(before, after)
        return text


@dataclass(frozen=True)
class Ended:
    """What a run left."""

    directory: str
    code: int
    counts: Counts
    printed: Series
    frames: Counter[FrameKey] = field(default_factory=Counter)
    """Recompilations of each code object."""
    problem: str = ""
    """The last line that a failed run printed, or a call of a mark that failed."""


class InUse(Exception):
    """Another process writes into the directory of the runs."""


def lock(place: Path) -> IO[str]:
    """Lock the directory of the runs until the returned file is closed. Raises `InUse`.

    Worker processes inherit the lock, so it lasts as long as any of them writes.
    """
    file = (place / "lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read().strip()
        file.close()
        raise InUse(f"{place} is in use by process {owner or '?'}") from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


class NotRun(Exception):
    """No run like this is kept, and none was to be made."""


def run_program(program: Path, place: Path, how: Application, is_kept: bool = False) -> Ended:
    """Run a program with remedies, unless an equal run is kept in `place`.

    `is_kept`: raise `NotRun` where none is kept.
    """
    source = how.program(program.read_text())
    key = json.dumps([source, how.change.environment, how.change.arguments, how.change.config, [asdict(m) for m in how.marks],
                      "guards" if how.reports_guards else ""])  # fmt: skip
    directory = place / program.stem / hashlib.sha1(key.encode()).hexdigest()[:12]
    stored = directory / "ended.json"
    if is_kept and not stored.exists():
        raise NotRun
    if not stored.exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        (directory / program.name).write_text(source)
        environment = {**os.environ, **THREADS, "PYTHONPATH": str(HOOK), "HF_HOME": str(place / "hf")}
        environment |= {"CORPUS_MARKS": json.dumps([asdict(mark) for mark in how.marks]),
                        "CORPUS_RECORDER": str(ROOT / "src" / "tltui" / "running" / "hook"),
                        "CORPUS_GUARDS": "1" if how.reports_guards else ""}  # fmt: skip
        shared = Surroundings((PYTHON, program.name), environment, str(directory), str(directory))
        ended = run_trial(shared, 1, how.change, LIMIT_S)
        code = 124 if ended.timed_out else ended.code
        stored.write_text(json.dumps({"code": code, "trace": ended.trace, "seconds": ended.seconds, "change": how.change.title,
                                      "unsupported": ended.unsupported}))  # fmt: skip
    return _read(directory, json.loads(stored.read_text()))


def _read(directory: Path, stored: Mapping[str, Any]) -> Ended:
    output = (directory / "run-1" / "output.txt").read_text(errors="replace")
    run = run_of(directory)
    failed_marks = [f"{entry['call']}: {entry['error']}" for entry in lines_of(directory, "marks")
                    if not _NOTHING.search(entry["error"])]  # there is nothing to mark in a call without the argument
    printed = [line.strip() for line in reversed(output.splitlines()) if line.strip()]
    last = next((line for line in printed if _ERROR.match(line)), next(iter(printed), "no output"))
    problem = last[:160] if stored["code"] else failed_marks[0][:160] if failed_marks else ""
    frames = recompiles_of_frames(run) if run is not None else Counter()
    return Ended(str(directory), stored["code"], counts_of(run), series_of(output.splitlines()), frames, problem)


def run_of(directory: Path) -> Run | None:
    """Open the trace of a run."""
    discovered, _ = logs_in(str(directory / "run-1" / "trace"), frozenset())
    return open_run(discovered) if discovered is not None else None


def lines_of(directory: Path, kind: str) -> list[dict[str, Any]]:
    """Return what the hook wrote, of all processes."""
    paths = sorted((directory / "run-1").glob(f"{kind}_*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def frame_keys(run: Run) -> dict[str, FrameKey]:
    """Return the identity of each frame that survives edits and other runs: its address → its code object."""
    numbers: Counter[tuple[str, str, str]] = Counter()
    keys: dict[str, FrameKey] = {}
    frames = {str(c.frame.ref): c.frame for c in run.compiles() if c.is_compile}
    for ref, frame in frames.items():
        name, file, _ = frame.code
        short = ((name or "").split("_at_")[0], os.path.basename(file or ""))
        owner = (ref.rpartition(":")[0], *short)
        keys[ref] = (*owner, numbers[owner])
        numbers[owner] += 1
    return keys


def recompiles_of_frames(run: Run) -> Counter[FrameKey]:
    """Count the recompilations of each code object."""
    keys = frame_keys(run)
    return Counter(keys[str(c.frame.ref)] for c in run.compiles() if c.is_compile and c.is_recompile)
