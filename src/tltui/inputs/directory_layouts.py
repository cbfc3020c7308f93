"""Recognition of debug directories of torch and of tlparse reports, by the names in them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from enum import Enum

from tltui.inputs.vllm_cache import vllm_layout
from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern
from tltui.text.sanitize import sanitize
from tltui.trace.batch import Kind

RAW_LOG = "raw.log"
"""A byte for byte copy of the trace."""
RAW_ROWS = "raw.jsonl"
"""Its envelopes, without payloads, strings and chromium events."""
EVENTS = "chromium_events.json"
_MARKS = frozenset(("compile_directory.json", "failures_and_restarts.html", EVENTS))


class Report(Enum):
    """The kind of a directory of reports."""

    NONE = ""
    """No report."""
    WITH_LOG = "with the trace"
    WITHOUT_LOG = "without the trace"


def report_in(names: Collection[str]) -> Report:
    """Classify a directory by its file names."""
    if not any(mark in names for mark in _MARKS) and not (RAW_LOG in names and "index.html" in names):
        return Report.NONE
    if RAW_LOG in names:
        return Report.WITH_LOG
    return Report.WITHOUT_LOG if RAW_ROWS in names else Report.NONE


def is_rows(head: bytes) -> bool:
    """Whether a file begins as `raw.jsonl` does: with the string table."""
    return head.startswith(b'{"string_table":[')


RUN = lazy_pattern(r"run_(\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d_\d{1,6})-pid_(\d{1,18})")
UNIT = lazy_pattern(r"(?P<name>.*)__(?P<aot>\d{1,9})_(?P<direction>forward|backward|inference)_\d{1,9}\.(?P<k>\d{1,9})", re.DOTALL)
CACHED = lazy_pattern(r"c[a-z0-9]{8,80}\.debug")
SHARD = lazy_pattern(r"[a-z0-9]{2}")
"""A directory of Inductor's cache: the second and third letter of the hash."""
SPYRE_CACHE = "inductor-spyre"
BEST_CONFIG = "best_config"
"""The artifact of a file of Inductor's autotuning cache, and the end of its name."""
SDSC = lazy_pattern(r"sdsc(?:_(\d{1,9}))?\.json")
SDSC_BEGINS = lazy_pattern(rb'\s*\{\s*"\d+_\w+"\s*:')
INDUCTOR, CODE, RUNNABLE, READABLE = "torchinductor", "output_code.py", "fx_graph_runnable.py", "fx_graph_readable.py"
_K = lazy_pattern(r"\.(\d{1,9})\Z")
_LAST = 1 << 40


@frozen
class Written:
    """The kind of a file, and the place of torch 2.13's code that writes it."""

    kind: Kind
    path: str
    line: int


_DEBUG = "torch/_inductor/debug.py"
FILES: dict[str, Written] = {
    RUNNABLE: Written(Kind("artifact", "fx_graph_runnable", "string"), _DEBUG, 586),
    READABLE: Written(Kind("artifact", "fx_graph_readable", "string"), _DEBUG, 608),
    "fx_graph_transformed.py": Written(Kind("artifact", "fx_graph_transformed", "string"), _DEBUG, 616),
    "ir_pre_fusion.txt": Written(Kind("artifact", "ir_pre_fusion", "string"), _DEBUG, 620),
    "ir_post_fusion.txt": Written(Kind("artifact", "ir_post_fusion", "string"), _DEBUG, 624),
    CODE: Written(Kind("inductor_output_code", ""), "torch/_inductor/graph.py", 2745),
    "output_code.cpp": Written(Kind("graph_dump", "inductor_aot_wrapper_code", "cpp"), "torch/_inductor/codecache.py", 2605),
    "autotuning_result_json_list.txt": Written(Kind("artifact", "autotuning_result_json_list", "string"), _DEBUG, 737),
    "inductor_provenance_tracking_node_mappings.json": Written(
        Kind("artifact", "inductor_provenance_tracking_node_mappings", "json"), "torch/_inductor/compile_fx.py", 1624
    ),
    "kernel_information.json": Written(Kind("artifact", "kernel_information", "json"), "torch/_inductor/codecache.py", 3471),
    "info.log": Written(Kind("artifact", "debug_log", "string"), _DEBUG, 512),
    "debug.log": Written(Kind("artifact", "debug_log", "string"), _DEBUG, 510),
}
"""In the order in which torch begins them."""
_ORDER = {name: place for place, name in enumerate(FILES)}


def written(name: str, is_of_unit: bool = True) -> Written:
    """Classify a file by its name relative to the unit, or to the directory of the process.

    An unknown file is an artifact of its own name.
    """
    if is_of_unit and (kind := FILES.get(name)) is not None:
        return kind
    if is_of_unit and SDSC.fullmatch(name):
        return Written(Kind("artifact", name.removesuffix(".json"), "json"), "torch_spyre/_inductor/codegen", 1)
    if name.endswith(f".{BEST_CONFIG}"):
        return Written(Kind("artifact", BEST_CONFIG, "json"), "torch/_inductor/runtime/autotune_cache.py", 303)
    if not is_of_unit and name.endswith("debug.log"):  # torchdynamo/debug.log, enable_aot_logging's aot_model___0_debug.log
        return FILES["debug.log"]
    return Written(Kind("artifact", name, "string"), _DEBUG, 1)


def file_order(name: str) -> tuple[int, int, str]:
    """Return a sort key of the files of a unit: torch's by creation order, torch-spyre's by number, unknown ones by name."""
    if name in _ORDER:
        return 0, _ORDER[name], name
    if match := SDSC.fullmatch(name):
        return 1, int(match[1] or 0), name
    return 2, 0, name


def unit_order(name: str) -> tuple[int, str]:
    """Sorts units: by the number that counts over the process, those without one by name."""
    match = _K.search(name)
    return (int(match[1]) if match else _LAST), name


def started_of(name: str) -> datetime | None:
    """Parse the start time of a process, in its local time, from the name of its directory."""
    match = RUN.fullmatch(name)
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], "%Y_%m_%d_%H_%M_%S_%f")
    except ValueError:
        return None


def pid_of(name: str) -> int:
    """Parse the process id of a directory; 0 if its name has none."""
    match = RUN.fullmatch(name)
    return int(match[2]) if match else 0


DEPTH = 4
"""Directories below a unit, or below the directory of a process, that are listed."""
MOST = 20_000
"""Files of one directory of units that are listed."""
SNIFFED = 400
NOT_REGULAR = "not a regular file: not opened"
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
Listing = Sequence["os.DirEntry[str]"]


@frozen
class Layout:
    """A recognised directory layout at a path."""

    pid: int
    """0: not known."""
    started: datetime | None
    """In local time of the job."""
    units: tuple[tuple[str, str], ...]
    """Name and path of each unit, in order."""
    rest: str
    """The directory whose other files belong to the process; '' for none."""
    inside: frozenset[str] | None
    """Directories at the path that belong to it; None: all that is below it does."""
    without: frozenset[str] = frozenset()
    """Paths of directories below the units whose files are not listed."""


@frozen
class UnitFile:
    """A file of a unit, or the reason why it is not read."""

    unit: str
    """'' for a file of the process."""
    name: str
    """Relative to the unit."""
    path: str
    size: int
    identity: tuple[int, int]
    changed: float
    """Seconds since the epoch."""
    reason: str = ""


def layout_of(path: str, listing: Listing | None = None) -> Layout | None:
    """Classify a directory or a file; None if it has no supported layout. Raises OSError."""
    if listing is None:
        if not os.path.isdir(path):
            return _of_file(path)
        listing = _listed(path)
    name = os.path.basename(os.path.abspath(path))
    if (vllm_cache := vllm_layout(path, listing)) is not None:
        return Layout(0, None, vllm_cache.units, "", None, vllm_cache.without)
    pid, started = process_of(path)
    directories = [entry.name for entry in listing if entry.is_dir(follow_symlinks=False)]
    files = [entry.name for entry in listing if not entry.is_dir(follow_symlinks=False)]
    if pid_of(name):
        return Layout(pid, started, _units(os.path.join(path, INDUCTOR)), path, None)
    if _is_unit(path, name, files):
        return Layout(pid, started, ((name, path),), "", None)
    if units := frozenset(unit for unit in directories if UNIT.fullmatch(unit)):
        if name == INDUCTOR:
            return Layout(pid, started, _units(path), path, None)
        return Layout(pid, started, tuple(unit for unit in _units(path) if unit[0] in units), "", units)
    if configurations := _configurations(path):
        return Layout(0, None, configurations, "", None)
    return _cache(path, name, directories)


def process_of(path: str) -> tuple[int, datetime | None]:
    """Parse the process id and start time from the name of its directory; 0 and None if unknown."""
    parts = os.path.abspath(path).split(os.sep)[-DEPTH:]
    name = next((part for part in reversed(parts) if pid_of(part)), "")
    return pid_of(name), started_of(name)


def files_of(layout: Layout) -> Iterator[UnitFile]:
    """Yield the files of all units, in order, then those of the process, without empty files."""
    count = 0
    places = [(name, path, layout.without) for name, path in layout.units]
    if layout.rest:
        places.append(("", layout.rest, frozenset(path for _, path in layout.units)))
    for unit, top, without in places:
        for file in _files(unit, top, without):
            count += 1
            if count > MOST:
                reason = f"more than {MOST:,} files: the rest was not read"
                yield UnitFile(unit, "", top, 0, (0, 0), 0.0, reason)
                return
            if file.size or file.reason:
                yield file


def _of_file(path: str) -> Layout | None:
    """Return the layout of a single file of torch-spyre."""
    name = os.path.basename(path)
    if SDSC.fullmatch(name) and _is_sdsc(path):
        return Layout(0, None, ((name, path),), "", None)
    if name.endswith(f".{BEST_CONFIG}"):
        return Layout(0, None, ((BEST_CONFIG, path),), "", None)
    return None


def _is_unit(path: str, name: str, files: Sequence[str]) -> bool:
    if {CODE, RUNNABLE} <= set(files):
        return True
    if (UNIT.fullmatch(name) or CACHED.fullmatch(name)) and any(file in FILES for file in files):
        return True
    return any(SDSC.fullmatch(file) and _is_sdsc(os.path.join(path, file)) for file in files)


def _units(path: str) -> tuple[tuple[str, str], ...]:
    try:
        names = [entry.name for entry in _listed(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return ()
    return tuple((name, os.path.join(path, name)) for name in sorted(names, key=unit_order))


def _cache(path: str, name: str, directories: Sequence[str]) -> Layout | None:
    """Recognise a cache of Inductor, a part of it, or a cache of torch-spyre."""
    if name == SPYRE_CACHE:
        spyre_kernels = _spyre(path)
        return Layout(0, None, spyre_kernels, "", None) if spyre_kernels else None
    units = [(unit, os.path.join(path, unit)) for unit in directories if CACHED.fullmatch(unit)]
    inside = {unit for unit, _ in units}
    for shard in directories:
        if not SHARD.fullmatch(shard):
            continue
        spyre_kernels = tuple((unit, place) for unit, place in _units(os.path.join(path, shard)) if CACHED.fullmatch(unit))
        configurations = _configurations(os.path.join(path, shard))
        if spyre_kernels or configurations:
            units += (*spyre_kernels, *configurations)
            inside.add(shard)
    kernels = _spyre(os.path.join(path, SPYRE_CACHE)) if SPYRE_CACHE in directories else ()
    if kernels:
        inside.add(SPYRE_CACHE)
    if not units and not kernels:
        return None
    return Layout(0, None, (*sorted(units), *kernels), "", frozenset(inside))


def _configurations(path: str) -> tuple[tuple[str, str], ...]:
    """Return the files of Inductor's autotuning cache in a directory, as files of one unit."""
    try:
        names = [entry.name for entry in _listed(path) if entry.name.endswith(f".{BEST_CONFIG}")]
    except OSError:
        return ()
    return tuple((BEST_CONFIG, os.path.join(path, name)) for name in sorted(names))


def _spyre(path: str) -> tuple[tuple[str, str], ...]:
    """Return the kernels of a cache of torch-spyre."""
    kernels = []
    for name, place in _units(path):
        try:
            names = [entry.name for entry in _listed(place)]
        except OSError:
            continue
        if any(SDSC.fullmatch(file) for file in names):
            kernels.append((name, place))
    return tuple(kernels)


def _is_sdsc(path: str) -> bool:
    try:
        fd = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(fd).st_mode) and SDSC_BEGINS.match(os.read(fd, SNIFFED)) is not None
    finally:
        os.close(fd)


def _listed(path: str) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return list(entries)


def _files(unit: str, top: str, without: frozenset[str]) -> Iterator[UnitFile]:
    """Yield the files below a directory, its direct files first. `without`: directories to skip."""
    if not os.path.isdir(top):
        yield _looked_at(unit, os.path.basename(top), top)
        return
    waiting = [("", top, 0)]
    while waiting:
        prefix, directory, depth = waiting.pop(0)
        try:
            listing = _listed(directory)
        except OSError as error:
            yield _refused(unit, prefix, directory, error.strerror or str(error))
            continue
        deeper = []
        for entry in sorted(listing, key=lambda entry: file_order(entry.name)):
            name = f"{prefix}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                yield _looked_at(unit, name, entry.path)
            elif entry.path in without:
                continue
            elif depth < DEPTH:
                deeper.append((f"{name}/", entry.path, depth + 1))
            else:
                yield _refused(unit, name, entry.path, f"more than {DEPTH} levels deep")
        waiting += deeper


def _looked_at(unit: str, name: str, path: str) -> UnitFile:
    """Stat a file and open it to detect an unreadable one; a pipe without writers opens at once."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return _refused(unit, name, path, "a symbolic link: not opened")
        if not stat.S_ISREG(mode):
            return _refused(unit, name, path, NOT_REGULAR)
        fd = os.open(path, _FLAGS)
    except OSError as error:
        return _refused(unit, name, path, error.strerror or str(error))
    try:
        status = os.fstat(fd)
    finally:
        os.close(fd)
    if not stat.S_ISREG(status.st_mode):
        return _refused(unit, name, path, NOT_REGULAR)
    return UnitFile(unit, name, path, status.st_size, (status.st_dev, status.st_ino), status.st_mtime)


def _refused(unit: str, name: str, path: str, reason: str) -> UnitFile:
    where = sanitize("/".join(part for part in (unit, name.rstrip("/")) if part)) or "."
    return UnitFile(unit, name, path, 0, (0, 0), 0.0, f"{where}: {reason}")
