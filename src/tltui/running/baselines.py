"""Kept baselines: counts of passing runs, per name and branch, that `tltui check --baseline auto` compares with.

A baseline is one JSON file of about 20 KB: the values of the limits of `tltui check`, a digest per occurrence, and settings of
torch. No name, path or text of the program is in it, except the name and the branch of the baseline itself. A file is written
once, under a name that no other writer uses, and never changed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tltui.documents.format import plural
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.node_answers import reader_of
from tltui.model.record_reader import json_in, metrics_fields, records_of
from tltui.model.run import Run
from tltui.model.torch_version import version_of
from tltui.questions.check.limits import MEASURES, RUNTIME_MEASURES, Facts
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_small_json, replacing

SUFFIX = ".baseline.json"
SCHEMA = 1
MOST_BYTES = 1 << 20
MOST_KEYS = 5_000
"""Digests kept per limit. Beyond them nothing counts as new."""
MOST_RUNS = 20
"""Runs kept per name and branch; the oldest are removed."""
RUNS_OF_INTERVAL = 3
"""Least runs from which an interval of times is computed."""
LEAST_MARGIN = 0.1
"""Margin of the interval, as a share of the longest time, if the runs differ less."""
FAIL_ON = ("error", "eager", "break", "recompiles", "recompile_limit", "kernels", "no_graph")
"""Limits that a kept baseline implies; `compile_time` in addition from three runs on."""
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH", "BUILDKITE_BRANCH")
_BASES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "BUILDKITE_PULL_REQUEST_BASE_BRANCH")
_COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT")
_OF_MACHINE = re.compile(r"(?:^|[._])(?:dir|path|compile_threads|worker_logpath)$")
"""Settings whose value depends on the machine."""
_DEVICE = re.compile(r"\](cpu|cuda|xpu|mps|hpu|meta|privateuseone)\b")


class BaselineError(Exception):
    """No baseline can be used or kept; the text has the reason, a second line the remedy."""


@frozen
class Identity:
    """Facts that must be equal for a comparison."""

    program: str
    """Digest of the command; '' if it was not recorded."""
    torch: tuple[str, ...]
    """Versions."""
    devices: tuple[str, ...]
    """Types of the devices of the tensors in the first graphs."""
    ranks: int
    settings: Mapping[str, object]
    """Settings of Dynamo and Inductor that do not depend on the machine."""


@frozen
class KeptRun:
    """A passing run."""

    name: str
    branch: str
    """'' without a git repository."""
    commit: str
    at: float
    """Time in seconds since 1970."""
    identity: Identity
    values: Mapping[str, float]
    """Limit → value; without limits that need a profile."""
    keys: Mapping[str, tuple[str, ...] | None]
    """Limit → digests of the keys of its occurrences; None beyond `MOST_KEYS`."""


class KeptBaseline:
    """Comparable kept runs, as the limits see them (`Baseline` of questions/check/limits.py)."""

    def __init__(self, runs: Sequence[KeptRun]) -> None:
        """Take the runs, the newest first."""
        self.runs = runs

    def value_of(self, name: str) -> float:
        """Return the value of a measure in the newest run."""
        return self.runs[0].values.get(name, 0.0)

    def keys_of(self, name: str) -> Callable[[str], bool]:
        """Return whether the newest run has an occurrence with a key; True for any if its digests are not complete."""
        digests = self.runs[0].keys.get(name)
        if digests is None:
            return lambda _key: True
        complete = frozenset(digests)
        return lambda key: digest(key) in complete

    def most_of(self, name: str) -> float:
        """Return the maximum that a later run may have: the newest count, or the upper end of the interval of times."""
        if not MEASURES[name].seconds:
            return self.value_of(name)
        times = [run.values[name] for run in self.runs if name in run.values]
        if len(times) < RUNS_OF_INTERVAL:
            return math.inf
        return max(times) + max(max(times) - min(times), LEAST_MARGIN * max(times))

    @property
    def fail_on(self) -> str:
        """Return the limits to check by default."""
        return ",".join((*FAIL_ON, *(("compile_time",) if len(self.runs) >= RUNS_OF_INTERVAL else ())))

    def __str__(self) -> str:
        """Return the origin in a line: name, branch, commit, time, number of runs."""
        newest = self.runs[0]
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(newest.at))
        branch = f"branch {newest.branch}" if newest.branch else ""
        words = [newest.name, branch, f"commit {newest.commit[:10]}" if newest.commit else ""]
        return ", ".join(filter(None, (*words, f"{when} ({plural(len(self.runs), 'run')})")))


def digest(text: str) -> str:
    """Return 16 hexadecimal digits for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def identity_of(run: Run, command: Sequence[str]) -> Identity:
    """Return what makes a run comparable. `command`: the words of the job, () if unknown."""
    versions = {stated for process in run.processes() if (stated := version_of(process).stated)}
    settings: dict[str, object] = {}
    devices: set[str] = set()
    for compile_ in list(run.compiles())[:8]:
        for _, fields in metrics_fields(compile_) if not settings else ():
            for part in ("dynamo_config", "inductor_config"):
                prefix = part.removesuffix("_config")
                settings |= {f"{prefix}.{key}": value for key, value in json_in(fields, part).items() if _is_flag(key, value)}
        reader = reader_of(compile_)
        for record, _ in records_of(compile_, ("dynamo_output_graph",)):
            devices.update(_DEVICE.findall(reader.text(record, 1 << 20)))
    program = digest("\0".join(_without_directories(command))) if command else ""
    return Identity(program, tuple(sorted(versions)), tuple(sorted(devices)), len(run.ranks), settings)


def _is_flag(key: str, value: object) -> bool:
    if _OF_MACHINE.search(key) or not isinstance(value, (bool, int, float, str)):
        return False
    return not (isinstance(value, str) and (len(value) > 60 or "/" in value))


def _without_directories(command: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command; of absolute paths only the last part, which other checkouts share."""
    yield from (os.path.basename(word) if os.path.isabs(word) else word for word in command)


def differences(one: Identity, other: Identity) -> list[str]:
    """Return why two runs are not comparable, a phrase each: that of `one` first."""
    phrases = []
    if one.program != other.program:
        phrases.append("another command" if one.program and other.program else "one of the two commands is unknown")
    for noun, a, b in (("torch", one.torch, other.torch), ("devices", one.devices, other.devices)):
        if a != b:
            phrases.append(f"{noun} {', '.join(a) or 'unknown'} instead of {', '.join(b) or 'unknown'}")
    if one.ranks != other.ranks:
        phrases.append(f"{plural(one.ranks, 'rank')} instead of {other.ranks}")
    keys = sorted(key for key in {*one.settings, *other.settings} if one.settings.get(key) != other.settings.get(key))
    if keys:
        more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
        phrases.append(f"other settings: {', '.join(keys[:3])}{more}")
    return phrases


def keep(run: Run, name: str, command: Sequence[str], directory: Path, now: float) -> tuple[Path, int]:
    """Write a baseline; return its file, and how many runs of its name and branch are kept now. Raises `BaselineError`.

    `directory`: of all baselines; `now`: time in seconds since 1970.
    """
    facts = Facts(run)
    names = [measure for measure in MEASURES if measure not in RUNTIME_MEASURES]
    try:
        values = {measure: facts.value_of(measure) for measure in names}
        keys = {measure: _digests(facts, measure) for measure in names if not MEASURES[measure].seconds}
    except Elsewhere as error:
        raise BaselineError(f"no baseline was kept: {error}") from None
    branch, identity = branch_of(os.environ), identity_of(run, command)
    content = {
        "written_by": "tltui", "schema": SCHEMA, "name": name, "branch": branch, "commit": commit_of(os.environ), "at": now,
        "program": identity.program, "torch": identity.torch, "devices": identity.devices, "ranks": identity.ranks,
        "settings": dict(identity.settings), "values": values, "keys": keys,
    }  # fmt: skip
    place = directory / encoded(name) / encoded(branch)
    target = place / f"{int(now * 1000):015d}-{os.urandom(4).hex()}{SUFFIX}"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(target, force=False, private=True, durable=True) as file:
            file.write(json.dumps(content, separators=(",", ":")).encode("ascii"))
        files = sorted(place.glob(f"*{SUFFIX}"))
        for oldest in files[:-MOST_RUNS]:
            oldest.unlink(missing_ok=True)
    except OSError as error:
        reason = f"no baseline was kept: {error.strerror}: '{place}'"
        raise BaselineError(f"{reason}\n  set TLTUI_BASELINES to another directory") from None
    return target, min(len(files), MOST_RUNS)


def _digests(facts: Facts, name: str) -> tuple[str, ...] | None:
    digests = sorted({digest(occurrence.key) for occurrence in MEASURES[name].reasons(facts)})
    return tuple(digests) if len(digests) <= MOST_KEYS else None


def choose(run: Run, name: str, command: Sequence[str], directory: Path) -> tuple[KeptBaseline, list[str]]:
    """Return the newest comparable runs, and a sentence for each file that cannot be read.

    Runs of this branch come first, then those of the branch that the change goes to, then of main and master, then others.
    `name`: '' for all names. Raises `BaselineError`.
    """
    files = sorted(directory.glob(f"{encoded(name) if name else '*'}/*/*{SUFFIX}"))
    runs, problems = [], []
    for file in files:
        try:
            runs.append(read(file))
        except BaselineError as error:
            problems.append(str(error))
    if not runs:
        of = f" named {name!r}" if name else ""
        unreadable = f"; {problems[0]}" if problems else ""
        raise BaselineError(f"no baseline{of} in '{directory}'{unreadable}\n  keep one: tltui run --keep-baseline NAME -- COMMAND")
    identity = identity_of(run, command)
    comparable = [one for one in runs if not differences(identity, one.identity)]
    if not comparable:
        newest = max(runs, key=lambda one: one.at)
        why = "; ".join(differences(identity, newest.identity))
        raise BaselineError(f"no comparable baseline among {len(runs)}; the newest ({KeptBaseline([newest])}) differs: {why}")
    branches = (branch_of(os.environ), *_first_of(os.environ, _BASES), "main", "master")
    of_branch = next((branch for branch in branches if any(one.branch == branch for one in comparable)), None)
    if of_branch is None:
        of_branch = max(comparable, key=lambda one: one.at).branch
    newest = max((one for one in comparable if one.branch == of_branch), key=lambda one: one.at)
    series = [one for one in comparable if (one.branch, one.name) == (of_branch, newest.name)]
    return KeptBaseline(sorted(series, key=lambda one: -one.at)[:MOST_RUNS]), problems


def read(path: Path) -> KeptRun:
    """Read a baseline. Raises `BaselineError` for a damaged or newer file."""
    try:
        stored = read_small_json(path, MOST_BYTES)
        if isinstance(stored, dict) and isinstance(stored.get("schema"), int) and stored["schema"] > SCHEMA:
            raise BaselineError(f"baseline of a newer tltui, ignored: '{path}'")
        return _parsed(stored)
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = error.strerror if isinstance(error, OSError) else "damaged"
        raise BaselineError(f"baseline ignored ({reason}): '{path}'") from None


def _parsed(stored: Any) -> KeptRun:
    """Return the run of a parsed file. Raises ValueError, TypeError or KeyError for anything that `keep` does not write."""
    texts = {key: _checked(stored[key], str) for key in ("name", "branch", "commit", "program")}
    settings = _checked(stored["settings"], dict)
    identity = Identity(
        texts["program"], _texts(stored["torch"]), _texts(stored["devices"]), _checked(stored["ranks"], int), settings,
    )  # fmt: skip
    values = {name: float(value) for name, value in _checked(stored["values"], dict).items() if name in MEASURES}
    if not all(map(math.isfinite, values.values())) or not set(FAIL_ON) <= set(values):
        raise ValueError("values")
    keys = {
        name: None if digests is None else _texts(digests)
        for name, digests in _checked(stored["keys"], dict).items()
        if name in MEASURES
    }
    at = float(_checked(stored["at"], (int, float)))
    if not 0 <= at < 1e11:
        raise ValueError("at")
    return KeptRun(texts["name"], texts["branch"], texts["commit"], at, identity, values, keys)


def _checked(value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(str(kind))
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_checked(item, str) for item in _checked(value, list))


def encoded(text: str) -> str:
    """Return a directory name for a name or branch: never a path, `.` or `..`; the end of a long one is a digest."""
    name = "_" + quote(text, safe="", errors="replace").replace(".", "%2E")
    return name if len(name) <= 150 else f"{name[:100]}+{digest(text)}"


def branch_of(environment: Mapping[str, str]) -> str:
    """Return the branch of the CI job, or of the repository in the current directory; '' for none."""
    return next(_first_of(environment, _BRANCHES), "") or _git("rev-parse", "--abbrev-ref", "HEAD")


def commit_of(environment: Mapping[str, str]) -> str:
    """Return the commit of the CI job, or of the repository in the current directory; '' for none."""
    return next(_first_of(environment, _COMMITS), "") or _git("rev-parse", "HEAD")


def _first_of(environment: Mapping[str, str], names: Sequence[str]) -> Iterator[str]:
    yield from (environment[name] for name in names if environment.get(name))


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(("git", *arguments), capture_output=True, text=True, errors="replace", timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
