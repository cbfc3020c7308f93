"""Names that torch gives to directories and files, and what each file is.

`_dynamo/utils.py: _get_debug_dir` names the directory of a process by its local time and pid; `_inductor/debug.py: DebugContext`
names a *unit* (one lowering) by its AOT name and a number that counts over the process, `DebugFormatter` writes its files. Inductor
copies a unit to its cache beside the code, as `c<hash>.debug`. torch-spyre writes `sdsc_<i>.json` into a unit, or into a directory
for each kernel of a cache of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from tltui.trace.batch import Kind

RUN = re.compile(r"run_(\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d_\d{1,6})-pid_(\d{1,18})")
UNIT = re.compile(r"(?P<name>.*)__(?P<aot>\d{1,9})_(?P<direction>forward|backward|inference)_\d{1,9}\.(?P<k>\d{1,9})", re.DOTALL)
CACHED = re.compile(r"c[a-z0-9]{8,80}\.debug")
SHARD = re.compile(r"[a-z0-9]{2}")
"""A directory of Inductor's cache: the second and third letter of the hash."""
SPYRE_CACHE = "inductor-spyre"
SDSC = re.compile(r"sdsc(?:_(\d{1,9}))?\.json")
SDSC_BEGINS = re.compile(rb'\s*\{\s*"\d+_\w+"\s*:')
INDUCTOR, CODE, RUNNABLE, READABLE = "torchinductor", "output_code.py", "fx_graph_runnable.py", "fx_graph_readable.py"
_K = re.compile(r"\.(\d{1,9})\Z")
_LAST = 1 << 40


@dataclass(frozen=True, slots=True)
class Written:
    """What a file is, and the place of torch 2.13's code that writes it."""

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
    """What a file is, by its name relative to the unit, or to the directory of the process. One that nobody knows is an artifact
    of its own name."""
    if is_of_unit and (known := FILES.get(name)) is not None:
        return known
    if is_of_unit and SDSC.fullmatch(name):
        return Written(Kind("artifact", name.removesuffix(".json"), "json"), "torch_spyre/_inductor/codegen", 1)
    if not is_of_unit and name.endswith("debug.log"):  # torchdynamo/debug.log, enable_aot_logging's aot_model___0_debug.log
        return FILES["debug.log"]
    return Written(Kind("artifact", name, "string"), _DEBUG, 1)


def file_order(name: str) -> tuple[int, int, str]:
    """Sorts the files of a unit: as torch begins them, then those of torch-spyre by number, then what is unknown by name."""
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
    """When a process began, in its local time, as the name of its directory says."""
    match = RUN.fullmatch(name)
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], "%Y_%m_%d_%H_%M_%S_%f")
    except ValueError:
        return None


def pid_of(name: str) -> int:
    """The process that a directory is of; 0 where its name does not say."""
    match = RUN.fullmatch(name)
    return int(match[2]) if match else 0
