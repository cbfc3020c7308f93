"""Configurations of Triton kernels that autotuning left in Inductor's cache: files `*.best_config`, read as JSON within limits.

Source: `AutotuneCache.save` in torch/_inductor/runtime/autotune_cache.py of torch 2.4 to 2.14. The name of a file is a hash of the
kernel and of torch; the kernel's name comes from Triton's cache next to it, or from the kernel's source in the same directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tltui.inputs.debug_directory import DebugLog
from tltui.inputs.directory_layouts import BEST_CONFIG
from tltui.inputs.vllm_cache import NotParsed, parse_object
from tltui.model.run import Run
from tltui.text.frozen import frozen

LIMIT = 64 << 10
"""Bytes of a file that is parsed: torch writes a few hundred."""
MOST = 10_000
"""Files that are parsed."""
PARAMETERS = 40
TEXT_LIMIT = 100
LISTED = 2000
"""Entries of a directory that are looked at."""
SOURCE_LIMIT = 256 << 10
_HASH = re.compile(r"[A-Za-z0-9]{16,128}")
_KERNEL = re.compile(rb"'kernel_name': '(\w{1,300})'")
_NOT_PARAMETERS = frozenset((
    "configs_hash", "found_by_coordesc", "time_taken_ms", "triton_cache_hash", "num_warps", "num_stages", "extra_options",
    "num_consumer_groups", "num_buffers_warp_spec",
))  # fmt: skip
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@frozen
class Parameter:
    """A parameter of a kernel."""

    name: str
    """Its name, such as `XBLOCK`."""
    value: int | str


@frozen
class Configuration:
    """The chosen configuration of one Triton kernel."""

    kernel: str
    """Its name; '' if the cache does not show it."""
    candidates: tuple[str, ...]
    """Kernels in its directory, if `kernel` is unknown: one of them has this configuration."""
    parameters: tuple[Parameter, ...]
    """Its parameters, without warps and stages."""
    num_warps: int | None
    num_stages: int | None
    search_s: float | None
    """Seconds of the search; torch rounds them down to milliseconds."""
    by_coordinate_descent: bool | None
    """Whether coordinate descent found it; None if not recorded."""
    file: str
    """The path of the file."""

    @property
    def text(self) -> str:
        """Return it as `XBLOCK=128 num_warps=4 num_stages=1`."""
        more = (("num_warps", self.num_warps), ("num_stages", self.num_stages))
        texts = [f"{item.name}={item.value}" for item in self.parameters]
        return " ".join((*texts, *(f"{name}={value}" for name, value in more if value is not None)))


@frozen
class Configurations:
    """The files of a run."""

    configurations: tuple[Configuration, ...]
    """The longest search first."""
    refused: tuple[str, ...]
    """Files that were not parsed, with reasons."""


@frozen
class ConfigurationChange:
    """A kernel with another configuration than in the baseline."""

    kernel: str
    old: str
    """`XBLOCK=128 num_warps=4 num_stages=1`."""
    new: str

    @property
    def text(self) -> str:
        """Return the parameters that differ: `XBLOCK 128 → 256, num_warps 4 → 8`."""
        old, new = (dict(item.split("=", 1) for item in side.split(" ") if "=" in item) for side in (self.old, self.new))
        names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
        return ", ".join(f"{name} {old.get(name, '–')} → {new.get(name, '–')}" for name in names)


NO_CONFIGURATIONS = Configurations((), ())


def configurations_of(run: Run) -> Configurations:
    """Read the configurations in the caches among the inputs of a run."""
    read: list[Configuration] = []
    refused: list[str] = []
    for log, record in _records(run):
        path = log.path_of(record)
        try:
            if len(read) >= MOST:
                raise NotParsed(f"more than {MOST:,} files")
            if log.columns.size[record] > LIMIT:
                raise NotParsed(f"larger than {LIMIT >> 10} KiB")
            fields = parse_object(log.source_of(record).read(0, LIMIT))
            read.append(_configuration(fields, path))
        except OSError as error:
            refused.append(f"{path}: {error.strerror or error}")
        except NotParsed as error:
            refused.append(f"{path}: {error}")
    read.sort(key=lambda item: (-(item.search_s or 0.0), item.kernel, item.file))
    return Configurations(tuple(read), tuple(refused))


def _records(run: Run) -> Iterator[tuple[DebugLog, int]]:
    for model in run.models:
        if isinstance(model.log, DebugLog) and any(kind.name == BEST_CONFIG for kind in model.log.kinds):
            yield from ((model.log, record) for record in model.log.records() if model.log.kind(record).name == BEST_CONFIG)


def _configuration(fields: dict[str, Any], path: str) -> Configuration:
    warps, stages = _count(fields.get("num_warps")), _count(fields.get("num_stages"))
    parameters = tuple(
        Parameter(str(name)[:TEXT_LIMIT], value[:TEXT_LIMIT] if isinstance(value, str) else int(value))
        for name, value in list(fields.items())[:PARAMETERS]
        if name not in _NOT_PARAMETERS and isinstance(value, (int, str))
    )
    if warps is None and not parameters:
        raise NotParsed("no configuration of a kernel")
    search = fields.get("time_taken_ms")
    is_time = isinstance(search, (int, float)) and not isinstance(search, bool) and 0 <= search < 1e12
    by_descent = fields.get("found_by_coordesc")
    names = _named_by_triton(path, fields.get("triton_cache_hash")) or _named_by_source(path)
    return Configuration(
        names[0] if len(names) == 1 else "", () if len(names) == 1 else names, parameters, warps, stages,
        float(search) / 1e3 if is_time and search is not None else None, by_descent if isinstance(by_descent, bool) else None, path,
    )  # fmt: skip


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _named_by_triton(path: str, cache_hash: object) -> tuple[str, ...]:
    """Return the kernel in the directory of that hash in Triton's cache: `CACHE/triton/DEVICE/HASH/NAME.json`."""
    if not isinstance(cache_hash, str) or not _HASH.fullmatch(cache_hash):
        return ()
    top = os.path.join(os.path.dirname(os.path.dirname(path)), "triton")
    for device in _names(top):
        files = _names(os.path.join(top, device, cache_hash))
        names = {name.removesuffix(".json") for name in files if name.endswith(".json") and not name.startswith("__grp__")}
        if len(names) == 1:
            return tuple(names)
    return ()


def _named_by_source(path: str) -> tuple[str, ...]:
    """Return the Triton kernels whose source is in the directory of a file."""
    directory = os.path.dirname(path)
    names: set[str] = set()
    for name in _names(directory):
        if name.endswith(".py"):
            names.update(match.decode() for match in _KERNEL.findall(_beginning(os.path.join(directory, name)))[:1])
    return tuple(sorted(names))


def _names(path: str) -> list[str]:
    """Return the names in a directory that is no link."""
    try:
        if os.path.islink(path):
            return []
        with os.scandir(path) as entries:
            return sorted(entry.name for _, entry in zip(range(LISTED), entries, strict=False))
    except OSError:
        return []


def _beginning(path: str) -> bytes:
    try:
        file = os.open(path, _FLAGS)
    except OSError:
        return b""
    try:
        return os.read(file, SOURCE_LIMIT)
    except OSError:
        return b""
    finally:
        os.close(file)


def changes(old: Sequence[Configuration], new: Sequence[Configuration]) -> tuple[ConfigurationChange, ...]:
    """Return the kernels whose configurations differ, paired by file name, else by a name that each side has once."""
    by_file = {os.path.basename(item.file): item for item in old}
    by_name, names = _once(old), _once(new)
    differing = []
    for item in new:
        before = by_file.get(os.path.basename(item.file))
        if before is None and names.get(item.kernel) is item:
            before = by_name.get(item.kernel)
        if before is not None and before.text != item.text:
            differing.append(ConfigurationChange(item.kernel or " or ".join(item.candidates), before.text, item.text))
    return tuple(differing)


def _once(items: Sequence[Configuration]) -> dict[str, Configuration]:
    """Return the configurations of the kernels with only one."""
    by_kernel: dict[str, list[Configuration]] = {}
    for item in items:
        by_kernel.setdefault(item.kernel, []).append(item)
    return {name: each[0] for name, each in by_kernel.items() if name and len(each) == 1}
